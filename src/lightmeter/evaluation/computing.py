"""Computing measures of one run: exactly, by blocks of rankings, or from drawn rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from lightmeter.arrays import Booleans, Integers
from lightmeter.data.rankings import CELLS, Ranked, chunks_of_like_length
from lightmeter.data.values import Values, as_values, by_name
from lightmeter.evaluation.reduction import Reduction
from lightmeter.io.threads import in_threads
from lightmeter.measures.base import BY_QUERY, Measure, value_of
from lightmeter.measures.block import Block
from lightmeter.measures.candidates import mixture
from lightmeter.measures.context import Context, Missing
from lightmeter.results.result import Cell

Progress = Callable[[int, int], None]


@dataclass
class Counter:
    progress: Progress | None
    total: int
    done: int = 0

    def step(self, amount: int) -> None:
        self.done += amount
        if self.progress is not None:
            self.progress(self.done, self.total)


Key = tuple[Measure, str | None]


@dataclass
class Computed:
    """What was computed of one run.

    Attributes
    ----------
    values
        Values by query code, for every measure (and group).
    rankings
        For measures that are reduced over queries, the rankings to reduce.
    """

    values: dict[Key, Values] = field(default_factory=dict)
    rankings: dict[Measure, Ranked] = field(default_factory=dict)


def work(measures: Iterable[Measure], ranked: Ranked) -> int:
    return len(ranked.offsets) - 1 + sum(len(ranked.offsets) - 1 for m in measures if m.whole_run)


def values_of_run(
    context: Context, ranked: Ranked, plan: dict[Measure, Measure], counter: Counter, samples: int, seed: int
) -> Computed:
    """Every measure of one run."""
    out = Computed()
    if not context.policy.stochastic:
        _of_rankings(context, ranked, plan, counter, out)
        return out
    exact = {m: r for m, r in plan.items() if _exact(r, context)}
    _of_rankings(context, ranked, exact, counter, out)
    rest = {m: r for m, r in plan.items() if m not in exact}
    if rest:
        from lightmeter.exposure.sampling import sample_rankings

        _of_rankings(context, sample_rankings(context.policy, ranked, samples, seed), rest, counter, out)
    return out


def _exact(measure: Measure, context: Context) -> bool:
    """Whether no rankings need to be sampled for a measure."""
    dropped = measure.divides_by_known and context.unknown == "drop"
    return measure.exactly_under(context.policy) and not dropped


def how_computed(context: Context, plan: dict[Measure, Measure], samples: int, seed: int) -> dict[str, str]:
    """What was computed exactly under a policy, and what from drawn rankings."""
    if not context.policy.stochastic:
        return {}
    exact = [str(m) for m, r in plan.items() if _exact(r, context)]
    drawn = [str(m) for m, r in plan.items() if not _exact(r, context)]
    out = {"exact": ", ".join(exact)} if exact else {}
    if drawn:
        out["drawn"] = f"{', '.join(drawn)}: means over {samples} rankings per query, seed {seed}"
    return out


def _of_rankings(
    context: Context, ranked: Ranked, plan: dict[Measure, Measure], counter: Counter, out: Computed
) -> None:
    plain: dict[Measure, Measure] = {}
    for measure, ready in plan.items():
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
    """What documents have to be judged in to stay in a measure's rankings; None: all documents stay."""
    if not getattr(measure, "judged_only", False):
        return None
    return "intents" if "intents" in measure.needs else "judgments"


def _without_unjudged(context: Context, ranked: Ranked, judged: str | None) -> Ranked:
    if judged == "intents":
        from lightmeter.measures.diversity import judged_for_intents

        return judged_for_intents(context, ranked)
    return ranked.judged_only() if judged else ranked


def _whole_run(context: Context, measure: Measure, ranked: Ranked, counter: Counter) -> dict[str | None, Values]:
    """What is defined on whole policies; without an error where nothing is estimated."""
    with np.errstate(all="ignore"):
        computed_values = measure.of_run(context, ranked)
    by_group = by_name(computed_values)
    if not ranked.sampled or mixture(context, ranked).exact.all():
        by_group = {group: Values(values.value, values.reason) for group, values in by_group.items()}
    counter.step(len(ranked.offsets) - 1)
    return {group: as_values(values) for group, values in by_group.items()}


def _by_blocks(context: Context, ranked: Ranked, plan: dict[Measure, Measure], counter: Counter) -> dict[Key, Values]:
    rankings = len(ranked.offsets) - 1
    depth = None if context.policy.stochastic and not ranked.sampled else _depth(plan.values())
    gathered: dict[Key, Values] = {}
    lengths = ranked.lengths if depth is None else np.minimum(ranked.lengths, depth)
    if any("judgments" in ready.needs for ready in plan.values()):
        ranked.judged_row()  # looked up by all threads here, or by one of them for the others

    def compute(part: Integers) -> list[tuple[Key, Values]]:
        block = Block(context, ranked, part, depth)
        with np.errstate(all="ignore"):  # what overflows or is no number is undefined, with a reason
            return [((m, group), values) for m, ready in plan.items() for group, values in _of_block(ready, block)]

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
    """The first ranks that the measures look at; measures that look at more than a cutoff are shown whole rankings."""
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
    """Cells of a measure that is reduced over queries: nothing by query, one value for any weights of them."""
    reduction = Reduction(measure.resolve(context), context, ranked, answered, missing)
    values = Values(np.full(len(answered), np.nan)).because(~answered, "not_in_run").because(answered, BY_QUERY)
    groups = reduction.groups()
    return [Cell(run, measure, g, values, reduction.of(g), reduction.error_of(g)) for g in groups]
