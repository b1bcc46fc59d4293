"""All documents of a call, and exposure and its target as sparse matrices [queries, documents].

Joint multisided exposure fairness: users, or groups of them, on one side, documents or groups on the other.

Exposure is a matrix of users (the queries) by documents (all that are judged or ranked for any query). Each measure
averages it over blocks, compares the averages with the target's and takes the mean square: over individual users (I),
groups of them (G) or all together (A), and over individual documents (I) or groups of them (G).

Nothing dense of [users, documents] is formed: a matrix is a number for each row, which holds for all its cells, and the
cells that differ from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from lightmeter.arrays import Floats, Integers
from lightmeter.data.judgments import Judgments
from lightmeter.data.rankings import Ranked
from lightmeter.data.values import Values, sum_by
from lightmeter.errors import LightmeterError, TermError
from lightmeter.exposure.ideal import level_targets
from lightmeter.measures.base import BY, Measure
from lightmeter.measures.candidates import candidate_exposure, candidates
from lightmeter.measures.context import Context
from lightmeter.measures.exposure_sums import spread_memberships
from lightmeter.measures.relevance import RBP
from lightmeter.measures.target_exposure import target_exposure
from lightmeter.models.targets import Equal, Given, Ideal, Target
from lightmeter.models.users import User
from lightmeter.terms.parameters import Choice, Maybe, Number, TermOf, param

if TYPE_CHECKING:
    from lightmeter.measures.context import Context


@dataclass(frozen=True)
class Catalogue:
    """Every document that is judged or ranked, for any query evaluated and by any compared run.

    Attributes
    ----------
    docs
        Their ids.
    of_run
        The code of each row of each run, -1 for queries that are not evaluated.
    judged
        The code of each judgment, likewise.
    """

    docs: pl.Series
    of_run: dict[str, Integers]
    judged: Integers

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.docs)


def catalogue(context: Context) -> Catalogue:
    """The documents of a call."""
    return context.once("catalogue", lambda: _catalogue(context))


def _catalogue(context: Context) -> Catalogue:
    runs, judgments = context.ranked, _judgments(context)
    counts = context.collection.counts
    docs = [r.run.doc.gather(np.arange(len(r.run))) for r in runs.values()]
    inside = [counts[r.run.query[r.run.ranking_of_row]] for r in runs.values()]
    docs.append(judgments.doc)
    inside.append(counts[judgments.query])
    here = np.concatenate(inside)
    frame = pl.DataFrame({"doc": pl.concat(docs).filter(pl.Series(here))}).with_row_index("row")
    first = frame.select(pl.col("row").first().over("doc"))["row"].to_numpy()
    unique, found = np.unique(first, return_inverse=True)
    code = np.full(len(here), -1, dtype=np.int64)
    code[here] = found
    ends = np.cumsum([len(d) for d in docs])
    parts = np.split(code, ends[:-1])
    return Catalogue(frame["doc"].gather(unique), dict(zip(runs, parts, strict=False)), parts[-1])


def _judgments(context: Context) -> Judgments:
    judgments = context.collection.judgments
    if judgments is None:
        raise LightmeterError("target exposure needs judgments. Give them with --qrels FILE (in Python: qrels=).")
    return judgments


@dataclass(frozen=True)
class Entries:
    """A matrix [queries, documents]: ``base[query]`` everywhere, plus entries.

    Attributes
    ----------
    base
        One number a query.
    query, item, value
        What some cells have above their query's base.
    """

    base: Floats
    query: Integers
    item: Integers
    value: Floats


def system_entries(context: Context, ranked: Ranked, user: User, cutoff: int | None) -> Entries:
    """Expected exposure under a run's policy; 0 for what it does not rank."""
    found = candidates(context, ranked, "ranked")
    exposure = candidate_exposure(context, ranked, found, user, cutoff)
    seen = np.flatnonzero(exposure)
    item = catalogue(context).of_run[ranked.run.name][found.row[seen]]
    return Entries(np.zeros(len(context.collection.queries)), found.query[seen], item, exposure[seen])


def target_entries(context: Context, target: Target, user: User, cutoff: int | None) -> Entries:
    """Target exposure where every document of the catalogue is a candidate for every query."""
    return context.once(("target entries", target, user, cutoff), lambda: _target(context, target, user, cutoff))


def _target(context: Context, target: Target, user: User, cutoff: int | None) -> Entries:
    return _entries(target, context, _judgments(context), catalogue(context), user, cutoff)


@singledispatch
def _entries(
    target: Target, context: Context, judgments: Judgments, cat: Catalogue, user: User, cutoff: int | None
) -> Entries:
    raise TermError(
        f"the target {target} has no form for all documents and {user}. Accepted: Ideal, Given(file='..') or, for a "
        "position model such as RBP(p=0.8), Equal."
    )


@_entries.register(Equal)
def _equal(
    target: Equal, context: Context, judgments: Judgments, cat: Catalogue, user: User, cutoff: int | None
) -> Entries:
    if user.by_document:
        return _entries.dispatch(Target)(target, context, judgments, cat, user, cutoff)
    seen = cat.size if cutoff is None else min(cutoff, cat.size)
    base = np.full(len(context.collection.queries), user.view_at(np.arange(1.0, seen + 1)).sum() / cat.size)
    none = np.zeros(0, dtype=np.int64)
    return Entries(base, none, none, np.zeros(0))


@_entries.register(Given)
def _given(
    target: Given, context: Context, judgments: Judgments, cat: Catalogue, user: User, cutoff: int | None
) -> Entries:
    value = target_exposure(context, target, user, cutoff).judged
    some = np.flatnonzero(value)
    base = np.zeros(len(context.collection.queries))
    return Entries(base, judgments.query[some].astype(np.int64), cat.judged[some], value[some])


@_entries.register(Ideal)
def _ideal(
    target: Ideal, context: Context, judgments: Judgments, cat: Catalogue, user: User, cutoff: int | None
) -> Entries:
    queries = len(context.collection.queries)
    rows = np.flatnonzero(judgments.gain > 0)
    rows = rows[np.lexsort((-judgments.gain[rows], judgments.query[rows]))]
    query, gain = judgments.query[rows].astype(np.int64), judgments.gain[rows]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (query[1:] != query[:-1]) | (gain[1:] != gain[:-1])
    level = np.cumsum(fresh) - 1
    owner = query[fresh]
    column = np.arange(len(owner)) - np.searchsorted(owner, owner)
    width = int(column.max(initial=-1)) + 2
    gains, counts = np.zeros((queries, width)), np.zeros((queries, width), dtype=np.int64)
    gains[owner, column], counts[owner, column] = gain[fresh], np.bincount(level, minlength=len(owner))
    last = np.bincount(owner, minlength=queries)  # the level of grade 0, after the others
    each = np.arange(queries)
    counts[each, last] = cat.size - counts.sum(axis=1)
    eps = level_targets(user, gains, counts, cutoff)
    base = eps[each, last] if target.complete else np.zeros(queries)
    return Entries(base, query, cat.judged[rows], eps[owner, column][level] - base[query])


USER_DOC = "user model whose view is exposure"
COLLECTION_DOC = "collection exposure, what a document gets by chance; None: the mean of the target"
PART_DOC = "'F': the whole; 'D': its disparity part; 'R': its relevance part"


@dataclass(frozen=True)
class Rows:
    """Which users are averaged to one row.

    Attributes
    ----------
    of
        The row of each query, -1 for none.
    share
        The share that each query has of its row.
    weight
        The weight of each row.
    """

    of: Integers
    share: Floats
    weight: Floats


@dataclass(frozen=True)
class Columns:
    """Which documents are averaged to one column, by entries (document, column, share); shares sum to 1 by column."""

    item: Integers
    column: Integers
    share: Floats
    size: int


@dataclass(frozen=True)
class Blocks:
    """Averages ``[rows, columns]``: ``base[row]`` plus the value of some cells."""

    base: Floats
    row: Integers
    value: Floats


def mean_product(a: Blocks, b: Blocks, weight: Floats, columns: int) -> float:
    """Mean over the cells of the product of two matrices with entries in the same cells, rows weighted."""
    whole = columns * a.base * b.base
    some = a.base[a.row] * b.value + b.base[a.row] * a.value + a.value * b.value
    return float((weight * (whole + sum_by(a.row, some, len(weight)))).sum() / (weight.sum() * columns))


class _JME(Measure, abstract=True):
    """Base of the six measures."""

    across_queries = True
    counts_unanswered = True
    invariant_to = frozenset({"query_order", "scores", "below_cutoff"})
    #: how users are averaged: each, by group, all
    users: ClassVar[Literal["each", "groups", "all"]] = "each"
    user: User = param(default=RBP(p=0.8), accepts=TermOf("user"), doc=USER_DOC, always=True)
    target: Target = param(default=Ideal(complete=True), accepts=TermOf("target"), doc="target exposure")
    collection: float | None = param(default=None, accepts=Maybe(Number(low=0)), doc=COLLECTION_DOC)
    part: Literal["F", "D", "R"] = param(default="F", accepts=Choice(("F", "D", "R")), doc=PART_DOC)

    def check(self) -> None:
        super().check()
        if not self.target.of_exposure:
            raise TermError(f"{self}: {self.target} is a target for groups. Accepted: Ideal, Equal, Given(file='..').")

    @property
    def better(self) -> str:  # type: ignore[override]
        return "higher" if self.part == "R" else "lower"

    @property
    def bounds(self) -> tuple[float, float]:
        return (-np.inf if self.part == "R" else 0.0), np.inf

    @property
    def needs(self) -> frozenset[str]:
        groups = {"segments"} if self.users == "groups" else set()
        return frozenset({"judgments", *groups, *(set() if getattr(self, "by", None) is None else {"groups"})})

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        by = measure.attribute
        if by is not None and context.collection.attribute(by).by_query:
            raise LightmeterError(
                f"{self}: the membership of a document in {by!r} depends on the query. Accepted: an attribute of "
                "documents alone."
            )
        return measure

    def unanswered(self, context: Context, query: Integers) -> Values:
        return Values(np.full(len(query), np.nan)).because(np.ones(len(query), dtype=bool), "not_in_run")

    def across(self, context: Context, ranked: Ranked, weight: Floats) -> Values:
        rows, columns = self._rows(context, weight), self._columns(context)
        if not len(rows.weight):
            return Values(np.full(1, np.nan)).because(np.ones(1, dtype=bool), "no_segment")
        if not columns.size:
            return Values(np.full(1, np.nan)).because(np.ones(1, dtype=bool), "no_known_member")
        target = target_entries(context, self.target, self.user, self.cutoff)
        chance = self.collection
        if chance is None:
            filled = sum_by(target.query, target.value, len(weight)) / catalogue(context).size
            chance = float((weight * (target.base + filled)).sum() / weight.sum())
        system, goal = _averaged(
            [system_entries(context, ranked, self.user, self.cutoff), target], rows, columns, chance
        )
        if self.part == "D":
            value = mean_product(system, system, rows.weight, columns.size)
        elif self.part == "R":
            value = 2.0 * mean_product(system, goal, rows.weight, columns.size)
        else:
            gap = Blocks(system.base - goal.base, system.row, system.value - goal.value)
            value = mean_product(gap, gap, rows.weight, columns.size)
        return Values(np.array([value]))

    def _rows(self, context: Context, weight: Floats) -> Rows:
        """Users, their groups with equal weight, or all users."""
        if self.users == "each":
            of = np.where(weight > 0, np.cumsum(weight > 0) - 1, -1)
            return Rows(of, np.ones(len(weight)), weight[weight > 0])
        if self.users == "all":
            return Rows(np.where(weight > 0, 0, -1), weight / weight.sum(), np.ones(1))
        labels = context.collection.segments or []
        counts = [label if w > 0 else None for label, w in zip(labels, weight, strict=True)]
        named = {label: i for i, label in enumerate(sorted({label for label in counts if label is not None}))}
        of = np.array([-1 if label is None else named[label] for label in counts], dtype=np.int64)
        mine = of >= 0
        total = sum_by(of[mine], weight[mine], len(named))
        share = np.zeros(len(weight))
        share[mine] = weight[mine] / total[of[mine]]
        return Rows(of, share, np.ones(len(named)))

    def _columns(self, context: Context) -> Columns:
        """Documents, or their groups."""
        cat = catalogue(context)
        if self.attribute is None:
            every = np.arange(cat.size)
            return Columns(every, every, np.ones(cat.size), cat.size)
        return context.once(("columns", self.attribute), lambda: self._groups(context, str(self.attribute)))

    @staticmethod
    def _groups(context: Context, by: str) -> Columns:
        docs, attribute = catalogue(context).docs, context.collection.attribute(by)
        item, value, weight, _ = spread_memberships(
            context, attribute, attribute.index.find(docs), lambda: docs, "(all)"
        )
        groups, column = np.unique(value, return_inverse=True)
        return Columns(item, column, weight / sum_by(column, weight, len(groups))[column], len(groups))


def _averaged(matrices: list[Entries], rows: Rows, columns: Columns, chance: float) -> list[Blocks]:
    """The matrices averaged over blocks, less what comes by chance; entries of all in the same cells."""
    order = np.argsort(columns.item, kind="stable")
    item = columns.item[order]
    cells, values = [], []
    for m in matrices:
        keep = np.flatnonzero(rows.of[m.query] >= 0)
        first = np.searchsorted(item, m.item[keep])
        count = np.searchsorted(item, m.item[keep], side="right") - first
        at = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        entry, mine = np.repeat(keep, count), order[at]
        cells.append(rows.of[m.query[entry]] * np.int64(columns.size) + columns.column[mine])
        values.append(m.value[entry] * rows.share[m.query[entry]] * columns.share[mine])
    keys, at = np.unique(np.concatenate(cells), return_inverse=True)
    row = keys // columns.size
    out = []
    for m, part, value in zip(matrices, np.split(at, np.cumsum([len(c) for c in cells])[:-1]), values, strict=True):
        inside = rows.of >= 0
        base = sum_by(rows.of[inside], rows.share[inside] * m.base[inside], len(rows.weight))
        out.append(Blocks(base - chance, row, sum_by(part, value, len(keys))))
    return out


class _JMEGroups(_JME, abstract=True):
    """Base of the measures of groups of documents."""

    by: str = param(accepts=BY, doc="attribute whose groups of documents are averaged")


class JME_II(_JME):
    """Individual users to individual documents: ``mean over u, i of (E_ui - E*_ui)^2``.

    At least 0, lower is better. E is expected exposure, E* its target, E~ the ``collection`` exposure; ``part='D'`` is
    ``mean (E - E~)^2``, disparity, and ``part='R'`` is ``2 mean (E - E~) (E* - E~)``, relevance (higher is better):
    whole = D - R + mean (E* - E~)^2. Users are queries; every document that is judged or ranked for any query is a
    candidate for all. One value for all queries together. A user whom the run does not answer counts with exposure 0.
    Source: Wu et al. 2022; agrees with the authors' program.

    Examples
    --------
    >>> from lightmeter import JME_II, TopK, evaluate, load
    >>> c = load(run={"u": ["a", "b"], "v": ["a", "b"]}, qrels={"u": {"a": 1}, "v": {"b": 1}})
    >>> evaluate(c, [JME_II(user=TopK(k=1))]).mean()["value"].to_list()
    [0.5]
    """


class JME_IG(_JMEGroups):
    """Individual users to groups of documents: ``mean over u, g of (mean over i in g of (E_ui - E*_ui))^2``.

    At least 0, lower is better; parts, users and candidates as in :class:`JME_II`. Groups weigh alike; a document of
    several values counts in each. Source: Wu et al. 2022; agrees with the authors' program.

    Examples
    --------
    >>> from lightmeter import JME_IG, TopK, evaluate, load
    >>> groups = {"genre": {"a": "x", "b": "y"}}
    >>> c = load(run={"u": ["a", "b"], "v": ["a", "b"]}, qrels={"u": {"a": 1}, "v": {"b": 1}}, groups=groups)
    >>> evaluate(c, [JME_IG(user=TopK(k=1), by="genre")]).mean()["value"].to_list()
    [0.5]
    """


class JME_GI(_JME):
    """Groups of users to individual documents: ``mean over G, i of (mean over u in G of (E_ui - E*_ui))^2``.

    At least 0, lower is better; parts and candidates as in :class:`JME_II`. The groups of users are the segments of the
    queries (``--segment``), which weigh alike; a query without a label is left out. Source: Wu et al. 2022; agrees with
    the authors' program.

    Examples
    --------
    >>> import polars as pl
    >>> from lightmeter import JME_GI, TopK, evaluate, load
    >>> users = pl.DataFrame({"query": ["u", "v"], "region": ["east", "east"]})
    >>> run, qrels = {"u": ["a", "b"], "v": ["b", "a"]}, {"u": {"a": 1, "b": 1}, "v": {"a": 1, "b": 1}}
    >>> c = load(run=run, qrels=qrels, queries=users, segment="region")
    >>> evaluate(c, [JME_GI(user=TopK(k=1))]).mean()["value"].to_list()[:1]
    [0.0]
    """

    users = "groups"


class JME_GG(_JMEGroups):
    """Groups of users to groups of documents: ``mean over G, g of (mean over u in G, i in g of (E_ui - E*_ui))^2``.

    At least 0, lower is better; parts and candidates as in :class:`JME_II`, users as in :class:`JME_GI`. Groups weigh
    alike on both sides. Source: Wu et al. 2022; agrees with the authors' program.

    Examples
    --------
    >>> import polars as pl
    >>> from lightmeter import JME_GG, TopK, evaluate, load
    >>> users = pl.DataFrame({"query": ["u", "v"], "region": ["east", "west"]})
    >>> run, qrels = {"u": ["a", "b"], "v": ["b", "a"]}, {"u": {"a": 1}, "v": {"b": 1}}
    >>> c = load(run=run, qrels=qrels, groups={"genre": {"a": "x", "b": "y"}}, queries=users, segment="region")
    >>> evaluate(c, [JME_GG(user=TopK(k=1), by="genre")]).mean()["value"].to_list()[:1]
    [0.0]
    """

    users = "groups"


class JME_AI(_JME):
    """All users to individual documents: ``mean over i of (mean over u of (E_ui - E*_ui))^2``.

    At least 0, lower is better; parts, users and candidates as in :class:`JME_II`. Source: Wu et al. 2022; agrees with
    the authors' program.

    Examples
    --------
    >>> from lightmeter import JME_AI, TopK, evaluate, load
    >>> c = load(run={"u": ["a", "b"], "v": ["a", "b"]}, qrels={"u": {"a": 1}, "v": {"b": 1}})
    >>> evaluate(c, [JME_AI(user=TopK(k=1))]).mean()["value"].to_list()
    [0.25]
    """

    users = "all"


class JME_AG(_JMEGroups):
    """All users to groups of documents: ``mean over g of (mean over u, i in g of (E_ui - E*_ui))^2``.

    At least 0, lower is better; parts, users and candidates as in :class:`JME_II`, groups as in :class:`JME_IG`.
    Source: Wu et al. 2022; agrees with the authors' program.

    Examples
    --------
    >>> from lightmeter import JME_AG, TopK, evaluate, load
    >>> groups = {"genre": {"a": "x", "b": "y"}}
    >>> c = load(run={"u": ["a", "b"], "v": ["a", "b"]}, qrels={"u": {"a": 1}, "v": {"b": 1}}, groups=groups)
    >>> evaluate(c, [JME_AG(user=TopK(k=1), by="genre")]).mean()["value"].to_list()
    [0.25]
    """

    users = "all"
