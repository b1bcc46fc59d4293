"""The values of measures for one run: computed exactly, block by block, or from sampled rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.rankings import CELLS, Ranked, chunks_of_like_length
from lightmeter.data.values import Values, as_values, by_name
from lightmeter.io.threads import in_threads
from lightmeter.measures.base import BY_QUERY, Measure, value_of
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context, Missing
from lightmeter.results.result import Cell, Mean

Progress = Callable[[int, int], None]


@dataclass
class Counter:
    """Counts the steps that are done, and reports them.

    Attributes
    ----------
    progress
        Called with ``steps`` and ``total`` after each step; None: nothing is reported.
    total
        How many steps there are.
    steps
        How many are done.
    """

    progress: Progress | None
    total: int
    steps: int = 0

    def step(self, amount: int) -> None:
        """Add to the steps that are done."""
        self.steps += amount
        if self.progress is not None:
            self.progress(self.steps, self.total)


Key = tuple[Measure, str | None]


@dataclass
class Computed:
    """What was computed for one run.

    Attributes
    ----------
    values
        Values by query code, for every measure (and group).
    rankings
        For measures that are reduced over queries, the rankings to reduce.
    """

    values: dict[Key, Values] = field(default_factory=dict)
    rankings: dict[Measure, Ranked] = field(default_factory=dict)


def steps_of(measures: Iterable[Measure], ranked: Ranked) -> int:
    """How many steps the measures of one run take: one per ranking, and as many again for each
    measure of whole runs.
    """
    return len(ranked.offsets) - 1 + sum(len(ranked.offsets) - 1 for m in measures if m.whole_run)


def values_of_run(
    context: Context, ranked: Ranked, resolved: dict[Measure, Measure], counter: Counter, samples: int, seed: int
) -> Computed:
    """The values of every measure for one run, given each measure with the one it resolves to."""
    out = Computed()
    if not context.policy.stochastic:
        _of_rankings(context, ranked, resolved, counter, out)
        return out
    exact = {m: r for m, r in resolved.items() if _exact(r, context)}
    _of_rankings(context, ranked, exact, counter, out)
    rest = {m: r for m, r in resolved.items() if m not in exact}
    if rest:
        from lightmeter.exposure.sampling import sample_rankings

        _of_rankings(context, sample_rankings(context.policy, ranked, samples, seed), rest, counter, out)
    return out


def _exact(measure: Measure, context: Context) -> bool:
    """Whether no rankings need to be sampled for a measure."""
    dropped = measure.divides_by_known and context.unknown == "drop"
    return measure.exactly_under(context.policy) and not dropped


def how_computed(context: Context, resolved: dict[Measure, Measure], samples: int, seed: int) -> dict[str, str]:
    """Which measures were computed exactly under a policy, and which from sampled rankings."""
    if not context.policy.stochastic:
        return {}
    exact = [str(m) for m, r in resolved.items() if _exact(r, context)]
    sampled = [str(m) for m, r in resolved.items() if not _exact(r, context)]
    out = {"exact": ", ".join(exact)} if exact else {}
    if sampled:
        out["drawn"] = f"{', '.join(sampled)}: means over {samples} rankings per query, seed {seed}"
    return out


def _of_rankings(
    context: Context, ranked: Ranked, resolved: dict[Measure, Measure], counter: Counter, out: Computed
) -> None:
    plain: dict[Measure, Measure] = {}
    for measure, ready in resolved.items():
        if ready.across_queries:
            out.rankings[measure] = ranked
        elif ready.whole_run:
            out.values |= {(measure, g): v for g, v in _whole_run(context, ready, ranked, counter).items()}
        else:
            plain[measure] = ready
    for judged in (None, "judgments", "intents"):
        some = {m: r for m, r in plain.items() if _judged(r) == judged}
        if some:
            out.values |= _by_blocks(context, _without_unjudged(context, ranked, judged), some, counter)


def _judged(measure: Measure) -> str | None:
    """Where a document must be judged to stay in a measure's rankings; None where all documents stay."""
    if not getattr(measure, "judged_only", False):
        return None
    return "intents" if "intents" in measure.needs else "judgments"


def _without_unjudged(context: Context, ranked: Ranked, judged: str | None) -> Ranked:
    if judged == "intents":
        from lightmeter.measures.diversity import judged_for_intents

        return judged_for_intents(context, ranked)
    return ranked.judged_only() if judged else ranked


def _whole_run(context: Context, measure: Measure, ranked: Ranked, counter: Counter) -> dict[str | None, Values]:
    """The values of a measure of whole policies, without a standard error where nothing is estimated."""
    with np.errstate(all="ignore"):
        by_group = by_name(measure.of_run(context, ranked))
    exact = True
    if ranked.sampled:
        from lightmeter.measures.candidates import mixture

        exact = bool(mixture(context, ranked).exact.all())
    if exact:
        by_group = {group: Values(values.value, values.reason) for group, values in by_group.items()}
    counter.step(len(ranked.offsets) - 1)
    return {group: as_values(values) for group, values in by_group.items()}


def _by_blocks(
    context: Context, ranked: Ranked, resolved: dict[Measure, Measure], counter: Counter
) -> dict[Key, Values]:
    rankings = len(ranked.offsets) - 1
    depth = None if context.policy.stochastic and not ranked.sampled else _depth(resolved.values())
    gathered: dict[Key, Values] = {}
    lengths = ranked.lengths if depth is None else np.minimum(ranked.lengths, depth)
    if any("judgments" in ready.needs for ready in resolved.values()):
        ranked.judged_row()  # looked up with all threads, before each of them needs it

    def compute(part: Integers) -> list[tuple[Key, Values]]:
        block = Block(context, ranked, part, depth)
        with np.errstate(all="ignore"):  # what overflows or is no number is undefined, with a reason
            return [((m, group), values) for m, ready in resolved.items() for group, values in _of_block(ready, block)]

    for part, computed in in_threads(compute, chunks_of_like_length(lengths, CELLS)):
        for key, values in computed:
            into = gathered.setdefault(key, Values(np.full(rankings, np.nan)))
            into.value[part] = values.value
            if values.reason is not None:
                if into.reason is None:
                    into.reason = np.full(rankings, None, dtype=object)
                into.reason[part] = values.reason
        counter.step(len(part))
    return {key: _by_query(context, ranked, values) for key, values in gathered.items()}


def _depth(measures: Iterable[Measure]) -> int | None:
    """The largest cutoff of the measures; None, whole rankings, if a measure also depends on ranks below its cutoff."""
    depths = [m.depth if "below_cutoff" in m.invariant_to else None for m in measures]
    return None if None in depths else max(d for d in depths if d is not None)


def _of_block(measure: Measure, block: Block) -> Iterator[tuple[str | None, Values]]:
    if measure.by_group:
        names, values = measure.groups(block)
        reasons = values.reasons()
        for i, name in enumerate(names):
            yield name, as_values(Values(values.value[:, i], reasons[:, i]))
    elif block.context.policy.stochastic and not block.ranked.sampled:
        yield None, as_values(measure.expected(block))
    else:
        yield None, value_of(measure, block)


def _by_query(context: Context, ranked: Ranked, values: Values) -> Values:
    queries = len(context.collection.queries)
    query = ranked.query
    if not ranked.sampled:
        value = np.full(queries, np.nan)
        value[query] = values.value
        out = Values(value)
        if values.reason is not None:
            out.reason = np.full(queries, None, dtype=object)
            out.reason[query] = values.reason
        return out
    from lightmeter.measures.candidates import mixture

    mix = mixture(context, ranked)
    mean, se = mix.mean(values.value, queries)
    out = Values(mean, se=None if mix.exact.all() else se)
    reasons = values.reasons()
    for reason in sorted({r for r in reasons if r is not None}):
        selected = np.equal(reasons, reason)
        # a sample without a value leaves its query without one; a remark beside a value stays a remark
        out.because(np.bincount(query[selected & np.isnan(values.value)], minlength=queries) > 0, reason)
        out.because(np.bincount(query[selected], minlength=queries) > 0, reason, None)
    return out


def cells_of(
    context: Context, run: str, measure: Measure, computed: Computed, answered: Booleans, missing: Missing
) -> list[Cell]:
    """The cells of one measure, one per group, aligned with the evaluated queries."""
    if not measure.whole:
        parts = [cells_of(context, run, m, computed, answered, missing)[0].values for m in measure.components()]
        return [Cell(run, measure, None, measure.combine(parts))]
    if measure.across_queries:
        return _reduced(context, run, measure, computed.rankings[measure], answered, missing)
    evaluated = context.collection.evaluated
    out = []
    for (m, group), by_query in computed.values.items():
        if m != measure:
            continue
        reason = None if by_query.reason is None else by_query.reason[evaluated]
        selected = Values(by_query.value[evaluated], reason, None if by_query.se is None else by_query.se[evaluated])
        if not answered.all():
            unanswered_at = np.flatnonzero(~answered)
            selected.value, selected.reason = selected.value.copy(), selected.reasons().copy()
            if missing == "skip":
                selected.value[unanswered_at], selected.reason[unanswered_at] = np.nan, "not_in_run"
            else:
                worst = measure.resolve(context).unanswered(context, evaluated[unanswered_at])
                selected.value[unanswered_at], selected.reason[unanswered_at] = worst.value, worst.reasons()
            if selected.se is not None:
                selected.se = selected.se.copy()
                selected.se[unanswered_at] = np.nan
        out.append(Cell(run, measure, group, selected))
    return out


def _reduced(
    context: Context, run: str, measure: Measure, ranked: Ranked, answered: Booleans, missing: Missing
) -> list[Cell]:
    """Cells of a measure that is reduced over queries: none has a value per query, but one for any weights of them."""
    reduction = Reduction(measure.resolve(context), context, ranked, answered, missing)
    values = Values(np.full(len(answered), np.nan)).because(~answered, "not_in_run").because(answered, BY_QUERY)
    return [
        Cell(run, measure, group, values, partial(reduction.mean, group), partial(reduction.error, group))
        for group in reduction.groups()
    ]


@dataclass
class Reduction:
    """A measure of one run that is reduced over queries: one value for any weights of the evaluated queries.

    A query that the run does not answer adds nothing, unless the measure counts such queries itself. With
    ``missing='zero'`` it weighs in with the measure's worst value, as in a mean, where there is one; in any case the
    value says ``not_in_run``.

    Attributes
    ----------
    measure
        The measure, resolved.
    is_answered
        Which evaluated queries the run answers.
    """

    measure: Measure
    context: Context
    ranked: Ranked
    is_answered: Booleans
    missing: Missing
    _last: tuple[bytes, dict[str | None, Mean]] | None = field(default=None, repr=False)
    _errors: tuple[bytes, dict[str | None, float]] | None = field(default=None, repr=False)

    def groups(self) -> list[str | None]:
        """The groups that have a value; None alone for a measure without groups."""
        weight = self.context.collection.query_weight
        weights = np.ones(len(self.is_answered)) if weight is None else weight[self.context.collection.evaluated]
        return list(self.means(weights))

    def error(self, group: str | None, weight: Floats) -> float | None:
        """The standard error of a group's value; None where nothing is estimated."""
        if self.missing == "zero" and (~self.is_answered & (weight > 0)).any():
            return None  # as in a mean: the value of an unanswered query is a convention, not an estimate
        key = weight.tobytes()
        if self._errors is None or self._errors[0] != key:
            full = np.zeros(len(self.context.collection.queries))
            full[self.context.collection.evaluated] = np.where(self.is_answered, weight, 0.0)
            with np.errstate(all="ignore"):
                self._errors = (key, self.measure.across_error(self.context, self.ranked, full))
        se = self._errors[1].get(group)
        return None if se is None or np.isnan(se) else se

    def mean(self, group: str | None, weight: Floats) -> Mean:
        """The value of a group."""
        return self.means(weight)[group]

    def means(self, weight: Floats) -> dict[str | None, Mean]:
        """The value of every group."""
        key = weight.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = (key, self._means(weight))
        return self._last[1]

    def _means(self, weight: Floats) -> dict[str | None, Mean]:
        collection = self.context.collection
        all_count = self.measure.counts_unanswered and self.missing != "skip"
        answered = weight if all_count else np.where(self.is_answered, weight, 0.0)
        full = np.zeros(len(collection.queries))
        full[collection.evaluated] = answered
        with np.errstate(all="ignore"):
            by_group = by_name(self.measure.across(self.context, self.ranked, full))
        unanswered_at = np.flatnonzero(~self.is_answered & (weight > 0))
        n, mass = int((answered > 0).sum()), float(answered.sum())
        out = {}
        for group, values in by_group.items():
            checked = as_values(values)
            value, reason = float(checked.value[0]), checked.reasons()[0]
            if not n or not full.any():
                value, reason = np.nan, "not_in_run" if len(unanswered_at) else "no_query"
            elif len(unanswered_at):
                worst = self.measure.unanswered(self.context, collection.evaluated[unanswered_at]).value
                if self.missing == "zero" and not all_count and not np.isnan(worst).any():
                    lost = weight[unanswered_at]
                    value = (mass * value + float((lost * worst).sum())) / (mass + float(lost.sum()))
                reason = reason or "not_in_run"
            out[group] = Mean(value, None, 0 if np.isnan(value) else n, reason)
        return out
