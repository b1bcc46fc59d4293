"""What candidates add up to: exposure, members, merit and clicks by document or group, by query or over queries.

Measures of how exposure is shared out by a policy, for each query or amortised over queries.

A reader who comes back sees several rankings, and a document that stands low in one may stand high in the next. What is
amortised adds up over the queries, as often as each is asked, before it is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.attributes import Attribute
from lightmeter.data.rankings import Ranked
from lightmeter.data.values import Values, by_name, sum_by
from lightmeter.exposure.sampling import FEW_SAMPLES
from lightmeter.measures.base import BY, Measure
from lightmeter.measures.candidates import (
    FEWEST,
    Candidates,
    candidate_exposure,
    candidates,
    exposure_without,
    flat_exposure,
    mixture,
    seen_of,
)
from lightmeter.measures.context import Context
from lightmeter.measures.group_measure import NOTHING_KNOWN
from lightmeter.measures.relevance import DCG
from lightmeter.models.users import User
from lightmeter.terms.parameters import Choice, Flag, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

#: Sums by (query, value) are made in a full table as long as it is not larger than this, or than the rows themselves.
FULL = 1 << 20


@dataclass(frozen=True)
class Totals:
    """Sums, one row an (owner, key): sorted by owner, keys of no member left out.

    Attributes
    ----------
    owner
        Whose sum it is: a query; a ranking that is left out; or 0 for many queries together.
    key
        The group's value, or the document.
    exposure, members, merit, clicks
        Sums of exposure, of memberships, of grades, and of exposure times grade.
    owners
        Number of owners.
    """

    owner: Integers
    key: Integers
    exposure: Floats
    members: Floats
    merit: Floats
    clicks: Floats
    owners: int

    @classmethod
    def of(cls, owner: Integers, key: Integers, sums: list[Floats], owners: int) -> Totals:
        """From the four sums in order."""
        return cls(owner, key, sums[0], sums[1], sums[2], sums[3], owners)

    def lowest(self, value: Floats, where: Booleans) -> Floats:
        """The lowest value of each owner, infinite for one without any."""
        out = np.full(self.owners, np.inf)
        np.minimum.at(out, self.owner[where], value[where])
        return out

    def sum(self, value: Floats) -> Floats:
        """The sum of each owner."""
        return sum_by(self.owner, value, self.owners)

    def at(self, value: Floats, key: int, where: Booleans) -> Floats:
        """The value of one key for each owner, NaN for one without it."""
        out = np.full(self.owners, np.nan)
        mine = where & (self.key == key)
        out[self.owner[mine]] = value[mine]
        return out


@dataclass(frozen=True)
class Shared:
    """Candidates with the keys that they count for.

    Attributes
    ----------
    position, key, weight
        One entry a (candidate, key), positions rising; ``position`` None where every candidate has just one.
    size
        Number of keys.
    known
        Queries with a candidate of known membership.
    """

    found: Candidates
    position: Integers | None
    key: Integers
    weight: Floats | None
    size: int
    known: Booleans

    def spread(self, amount: Floats) -> Floats:
        """Amounts of candidates as amounts of entries."""
        out = amount if self.position is None else amount[self.position]
        return out if self.weight is None else out * self.weight

    @property
    def query(self) -> Integers:
        """The query of each entry."""
        return self.found.query if self.position is None else self.found.query[self.position]


def shared(context: Context, ranked: Ranked, by: str | None, docs: str) -> Shared:
    """The candidates with their groups under the call's rule for unknown ones, or as documents."""
    return context.once(("shared", ranked.key, by, docs), lambda: _shared(context, ranked, by, docs))


def _shared(context: Context, ranked: Ranked, by: str | None, docs: str) -> Shared:
    found = candidates(context, ranked, docs)
    queries = len(context.collection.queries)
    if by is None:
        every = np.ones(queries, dtype=bool)
        return Shared(found, None, np.arange(len(found.row)), None, len(found.row), every)
    attribute = context.collection.attribute(by)
    entry = found.entries(attribute)
    there = entry >= 0
    known = np.zeros(queries, dtype=bool)
    known[found.query[there]] = True
    if context.unknown == "distinct":
        known[:] = True
    size = len(attribute.values)
    if attribute.indptr is None and there.all():
        return Shared(found, None, attribute.codes[entry].astype(np.int64), None, size, known)
    position, value, weight, size = spread_memberships(
        context, attribute, entry, found.docs, ranked.run.name, found.query
    )
    return Shared(found, position, value, weight, size, known)


def document_codes(context: Context, ranked: Ranked, docs: str) -> Integers:
    """A code for each candidate's document, the same in every query."""
    return context.once(("doc codes", ranked.key, docs), lambda: _documents(candidates(context, ranked, docs)))


def _documents(found: Candidates) -> Integers:
    frame = pl.DataFrame({"doc": found.docs()}).with_row_index("row")
    return frame.select(pl.col("row").first().over("doc"))["row"].to_numpy().astype(np.int64)


def spread_memberships(
    context: Context,
    attribute: Attribute,
    entry: NDArray[np.integer],
    docs: Callable[[], pl.Series],
    run: str,
    query: Integers | None = None,
) -> tuple[Integers, Integers, Floats, int]:
    """Memberships of documents in long form, unknown ones by the call's rule; of several values each counts fully.

    With the ``query`` of each document, none is refused for a query that is not evaluated.

    Returns
    -------
    position, value, weight
        One entry a (document, value), positions rising.
    size
        Number of values.
    """
    position, codes, weight = attribute.pairs(entry, split=False)
    value = codes.astype(np.int64)
    unknown = np.flatnonzero(entry < 0)
    size = len(attribute.values)
    if not len(unknown) or context.unknown == "drop":
        return position, value, weight, size
    if context.unknown == "error":
        asked = unknown if query is None else unknown[context.collection.counts[query[unknown]]]
        if len(asked):
            context.refuse_unknown(attribute, run, docs().gather(asked))
        return position, value, weight, size
    if context.unknown == "uniform":
        more = np.repeat(unknown, size), np.tile(np.arange(size), len(unknown)), np.full(len(unknown) * size, 1 / size)
    else:
        own = context.own_value(attribute, docs().gather(unknown))
        more, size = (unknown, own, np.ones(len(unknown))), max(size, int(own.max()) + 1)
    position = np.concatenate([position, more[0]])
    order = np.argsort(position, kind="stable")
    return position[order], np.concatenate([value, more[1]])[order], np.concatenate([weight, more[2]])[order], size


def totals_by_query(
    context: Context, ranked: Ranked, by: str | None, docs: str, user: User, cutoff: int | None, graded: bool
) -> Totals:
    """Sums by query; without ``graded`` none of merit and clicks."""
    key = ("totals", ranked.key, by, docs, user, cutoff, graded)
    return context.once(key, lambda: _by_query(context, ranked, by, docs, user, cutoff, graded))


def _by_query(
    context: Context, ranked: Ranked, by: str | None, docs: str, user: User, cutoff: int | None, graded: bool
) -> Totals:
    exposure = candidate_exposure(context, ranked, shared(context, ranked, by, docs).found, user, cutoff)
    return totals_of(context, ranked, by, docs, exposure, graded)


def totals_of(context: Context, ranked: Ranked, by: str | None, docs: str, exposure: Floats, graded: bool) -> Totals:
    """Sums by query of an exposure of each candidate."""
    mine = shared(context, ranked, by, docs)
    queries = len(context.collection.queries)
    query = mine.query
    gain = mine.found.gain if graded else np.zeros(len(exposure))
    if by is None:  # a candidate stands once in its query: nothing to add up
        amounts = [exposure, np.ones(len(exposure)), gain, exposure * gain if graded else gain]
        if (query[1:] >= query[:-1]).all():
            return Totals.of(query, mine.key, amounts, queries)
        order = np.argsort(query, kind="stable")
        return Totals.of(query[order], mine.key[order], [a[order] for a in amounts], queries)
    rows = max(len(query), 1)
    cell = query * mine.size + mine.key
    if queries * mine.size <= max(FULL, rows):
        owner_key, at, cells = np.arange(queries * mine.size), cell, queries * mine.size
    else:
        owner_key, at = np.unique(cell, return_inverse=True)
        cells = len(owner_key)
    members = (
        np.bincount(at, minlength=cells).astype(np.float64) if mine.weight is None else sum_by(at, mine.weight, cells)
    )
    sums = [sum_by(at, mine.spread(exposure), cells), members]
    if graded:  # few documents have a grade
        worth = mine.spread(gain)
        hit = np.flatnonzero(worth)
        seen = exposure[hit if mine.position is None else mine.position[hit]]
        sums += [sum_by(at[hit], worth[hit], cells), sum_by(at[hit], worth[hit] * seen, cells)]
    else:
        sums += [np.zeros(cells)] * 2
    keep = sums[1] > 0
    owner, value = np.divmod(owner_key[keep], max(mine.size, 1))
    return Totals.of(owner, value, [s[keep] for s in sums], queries)


def totals_over(totals: Totals, weight: Floats, members: Floats | None = None) -> Totals:
    """Sums over queries by their weights, per unit of weight; ``members`` by key in place of theirs."""
    keep = weight[totals.owner] > 0
    w = weight[totals.owner[keep]] / max(float(weight.sum()), 1e-300)
    keys, at = np.unique(totals.key[keep], return_inverse=True)
    sums = [sum_by(at, w * a[keep], len(keys)) for a in (totals.exposure, totals.members, totals.merit, totals.clicks)]
    if members is not None:
        sums[1] = members[keys]
    return Totals.of(np.zeros(len(keys), dtype=np.int64), keys, sums, 1)


def distinct_members(context: Context, ranked: Ranked, by: str, docs: str, weight: Floats) -> Floats:
    """How many distinct documents of the queries of some weight each group has, by value.

    A document whose membership depends on the query counts by its mean membership.
    """
    mine = shared(context, ranked, by, docs)
    doc = _members(context, ranked, context.collection.attribute(by), docs)
    w = weight[mine.found.query]
    share = w / np.maximum(sum_by(doc, w, int(doc.max(initial=-1)) + 1)[doc], 1e-300)
    return sum_by(mine.key, mine.spread(share), mine.size)


def _members(context: Context, ranked: Ranked, attribute: Attribute, docs: str) -> Integers:
    """A code for each candidate's document: its entry in the attribute where every one has one."""
    found = candidates(context, ranked, docs)
    entry = found.entries(attribute)
    if attribute.by_query or (entry < 0).any():
        return document_codes(context, ranked, docs)
    return entry.astype(np.int64)


def totals_without(
    context: Context, ranked: Ranked, totals: Totals, by: str | None, docs: str, user: User, cutoff: int | None
) -> Totals:
    """Sums by query with each ranking left out in turn; owners are the rankings."""
    mine, mix = shared(context, ranked, by, docs), mixture(context, ranked)
    ranking, candidate, view = seen_of(mine.found, flat_exposure(context, ranked, user, cutoff))
    query = mix.query.astype(np.int64)
    start = np.searchsorted(totals.owner, np.arange(totals.owners + 1))
    count = start[query + 1] - start[query]
    first = np.cumsum(count) - count
    owner = np.repeat(np.arange(len(query)), count)
    source = np.arange(len(owner)) - np.repeat(first - start[query], count)
    # from a candidate to its rows of the sums
    cell = totals.owner * np.int64(max(mine.size, 1)) + totals.key
    order = np.argsort(cell, kind="stable")
    row = order[np.searchsorted(cell[order], mine.query * np.int64(max(mine.size, 1)) + mine.key)]
    if mine.position is None:
        entry, each = candidate, np.arange(len(candidate))
    else:
        begin = np.searchsorted(mine.position, np.arange(len(mine.found.query) + 1))
        number = begin[candidate + 1] - begin[candidate]
        each = np.repeat(np.arange(len(candidate)), number)
        entry = np.arange(len(each)) - np.repeat(np.cumsum(number) - number - begin[candidate], number)
    share = 1.0 if mine.weight is None else mine.weight[entry]
    gone = ranking[each]
    at = first[gone] + row[entry] - start[query[gone]]
    left = 1.0 - mix.unit[owner]
    with np.errstate(all="ignore"):
        gain = mine.found.gain[candidate][each]
        out = []
        for whole, part in ((totals.exposure, view[each] * share), (totals.clicks, view[each] * share * gain)):
            less = mix.unit[owner] * sum_by(at, part, len(owner))
            out.append(np.maximum(whole[source] - less, 0.0) / left)
    same = replace(totals, owner=owner, key=totals.key[source], members=totals.members[source])
    return replace(same, exposure=out[0], clicks=out[1], merit=totals.merit[source], owners=len(query))


Docs = Literal["ranked", "all", "relevant"]
DOCS = Choice(("ranked", "all", "relevant"))
DOCS_DOC = "whose exposure: 'ranked' documents, 'all' ranked or judged ones, or 'relevant' ones, ranked or not"
USER_DOC = "user model whose view is exposure"
AMORTISED_DOC = "add up over the queries, by their weights, before comparing: one value for all queries"


class OfExposure(Measure, abstract=True):
    """Base of measures that compare what a policy's expected exposure adds up to, by document or by group.

    A subclass has the parameters ``user``, ``docs`` and ``amortised``, and ``by`` where it looks at groups, and says in
    :meth:`reduce` what it makes of the sums. Under a policy the expected exposure is exact wherever the policy's is;
    the measure is then that of the policy, not the mean over rankings. From sampled rankings it is the measure of their
    mean exposure, with a delete-one standard error.
    """

    needs: ClassVar[Any] = frozenset()
    invariant_to = frozenset({"query_order", "scores", "below_cutoff"})
    #: whether grades play a part
    graded: ClassVar[bool] = False

    @property
    def across_queries(self) -> bool:  # type: ignore[override]
        return bool(getattr(self, "amortised", False))

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        if measure.attribute is not None:
            context.collection.attribute(measure.attribute)
        return measure

    def reduce(self, totals: Totals, context: Context) -> Values | dict[str, Values]:
        """One value for each owner of the sums, or several by group."""
        raise NotImplementedError

    def prepare(self, totals: Totals) -> Totals:
        """The sums of queries as they are added up over queries."""
        return totals

    @property
    def _candidates(self) -> tuple[str | None, str]:
        """Their groups and which they are."""
        return self.attribute, self._given.docs

    @property
    def _given(self) -> Any:
        """Itself, for the parameters of subclasses."""
        return self

    def _sums(self, context: Context, ranked: Ranked) -> Totals:
        return totals_by_query(context, ranked, *self._candidates, self._given.user, self.cutoff, self.graded)

    def of_run(self, context: Context, ranked: Ranked) -> Values | dict[str, Values]:
        sums = self._sums(context, ranked)
        found = self.reduce(self.prepare(sums), context)
        values = {name: self._explained(v, context, ranked) for name, v in by_name(found).items()}
        if ranked.sampled:
            self._add_errors(values, sums, context, ranked)
        return _like(found, values)

    def _explained(self, values: Values, context: Context, ranked: Ranked) -> Values:
        """Why a query has no value: nothing relevant and nothing known come before what the sums tell."""
        out = Values(values.value)
        if self._given.docs == "relevant" and context.collection.judgments is not None:
            out.because(context.collection.judgments.relevant(np.nextafter(0, 1)) == 0, "no_relevant")
        if self.attribute is not None:
            out.because(~shared(context, ranked, *self._candidates).known, NOTHING_KNOWN)
        if values.reason is not None:
            for reason in sorted({r for r in values.reason if r is not None}):
                mine = np.equal(values.reason, reason)
                out.because(mine & np.isnan(values.value), reason)
                out.because(mine, reason, None)
        return out

    def _add_errors(self, values: dict[str | None, Values], sums: Totals, context: Context, ranked: Ranked) -> None:
        """Delete-one standard errors over a query's rankings."""
        mix = mixture(context, ranked)
        if mix.exact.all():
            return
        less = totals_without(context, ranked, sums, *self._candidates, self._given.user, self.cutoff)
        for name, without in by_name(self.reduce(self.prepare(less), context)).items():
            mine = values[name]
            q, queries = mix.query, len(mine.value)
            centre = sum_by(q, mix.copies * without.value, queries) / mix.draws
            spread = sum_by(q, mix.copies * (without.value - centre[q]) ** 2, queries)
            few = ~mix.exact & (mix.draws < FEWEST)
            se = np.where(few | np.isnan(mine.value), np.nan, np.sqrt((mix.draws - 1.0) / mix.draws * spread))
            mine.se = np.where(mix.exact, 0.0, se)
            mine.because(few, FEW_SAMPLES, None)

    def across(self, context: Context, ranked: Ranked, weight: Floats) -> Values | dict[str, Values]:
        members = self._members(context, ranked, weight)
        return self._across(context, ranked, weight, self.prepare(self._sums(context, ranked)), members)

    def across_error(self, context: Context, ranked: Ranked, weight: Floats) -> dict[str | None, float]:
        """Standard errors of sampled rankings, by folds: the rankings of every query are dealt out at random, and one
        fold after the other is left out.
        """
        if not ranked.sampled:
            return {}
        parts = context.once(("without folds", self, ranked.key), lambda: self._without_folds(context, ranked))
        if not parts:
            return {}
        members = self._members(context, ranked, weight)
        found = [by_name(self._across(context, ranked, weight, p, members)) for p in parts]
        out = {}
        for name in found[0]:
            value = np.array([float(f[name].value[0]) for f in found])
            out[name] = float(np.sqrt((len(value) - 1.0) * np.var(value)))
        return out

    def _without_folds(self, context: Context, ranked: Ranked) -> list[Totals]:
        """The sums by query without each fold in turn; none where nothing is estimated or rankings are too few."""
        found = shared(context, ranked, *self._candidates).found
        return [
            self.prepare(totals_of(context, ranked, *self._candidates, exposure, self.graded))
            for exposure in exposure_without(context, ranked, found, self._given.user, self.cutoff)
        ]

    def _members(self, context: Context, ranked: Ranked, weight: Floats) -> Floats | None:
        by = self.attribute
        return None if by is None else distinct_members(context, ranked, by, self._given.docs, weight)

    def _across(
        self, context: Context, ranked: Ranked, weight: Floats, prepared: Totals, members: Floats | None
    ) -> Values | dict[str, Values]:
        by = self.attribute
        if by is None:
            prepared = replace(prepared, key=document_codes(context, ranked, self._given.docs)[prepared.key])
        found = self.reduce(totals_over(prepared, self.counted(prepared, weight), members), context)
        if by is not None:
            nothing = not shared(context, ranked, *self._candidates).known[weight > 0].any()
            for values in by_name(found).values():
                values.because(np.full(1, nothing), NOTHING_KNOWN)
        return found

    def counted(self, prepared: Totals, weight: Floats) -> Floats:
        """The weights of the queries that can add something, 0 for the others."""
        return weight


def _like(found: Values | dict[str, Values], values: dict[str | None, Values]) -> Values | dict[str, Values]:
    """Values by name in the form in which they were found."""
    return {name: values[name] for name in found} if isinstance(found, dict) else values[None]


class MeanExposure(OfExposure):
    """Mean exposure of each group: ``E_a = sum_d G[d,a] eps_d / sum_d G[d,a]``, a value for each group.

    At least 0. All candidates count, those that are not seen with exposure 0; a multi-valued document counts fully in
    each of its groups. Amortised: exposure is per request, and the members are the distinct documents of the queries.
    Undefined (``empty_group``) for a group without a candidate. Source: Singh and Joachims 2018.

    Examples
    --------
    >>> from lightmeter import MeanExposure, TopK, evaluate, load
    >>> c = load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "f", "b": "m", "c": "m"}})
    >>> evaluate(c, [MeanExposure(by="gender", user=TopK(k=2))]).mean().select("group", "value").rows()
    [('f', 1.0), ('m', 0.5)]
    """

    better = "none"
    bounds = (0.0, np.inf)
    by: str = param(accepts=BY, doc="attribute whose groups are looked at")
    user: User = param(default=DCG(), accepts=TermOf("user"), doc=USER_DOC, always=True)
    docs: Docs = param(default="ranked", accepts=DOCS, doc=DOCS_DOC)
    amortised: bool = param(default=False, accepts=Flag(), doc=AMORTISED_DOC)
    linear = True

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"groups"} if self.docs == "ranked" else {"groups", "judgments"})

    def reduce(self, totals: Totals, context: Context) -> dict[str, Values]:
        names = context.collection.attribute(str(self.attribute)).values
        mean = totals.exposure / totals.members
        order = np.argsort(totals.key, kind="stable")
        ends = np.searchsorted(totals.key[order], np.arange(len(names) + 1))
        out = {}
        for code, name in enumerate(names):
            mine = order[ends[code] : ends[code + 1]]
            value = np.full(totals.owners, np.nan)
            value[totals.owner[mine]] = mean[mine]
            out[name] = Values(value).because(np.isnan(value), "empty_group")
        return out
