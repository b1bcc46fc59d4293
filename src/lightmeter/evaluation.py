"""Evaluation: measures of runs, under one set of conventions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lightmeter.block import Block
from lightmeter.collection import Collection
from lightmeter.context import MISSING, UNKNOWN, Context, Missing, Unknown
from lightmeter.conventions import conventions, manifest
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.exposure.estimates import mixture
from lightmeter.measures.attention import ByGroup
from lightmeter.measures.base import Measure, value_of
from lightmeter.measures.exposure import ExposureMeasure
from lightmeter.measures.gfr import GFR
from lightmeter.measures.relevance import LinearMeasure
from lightmeter.notation import parse
from lightmeter.policies import Policy, Samples, Static, Ties
from lightmeter.rankings import CELLS, Ranked, TieCount, chunks_of_like_length
from lightmeter.result import Cell, Result
from lightmeter.run import Run
from lightmeter.threads import in_threads
from lightmeter.users import User
from lightmeter.values import Values, as_values

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]


def evaluate(
    collection: Collection,
    measures: Iterable[Measure | str | type] | Measure | str,
    *,
    policy: Policy | str | None = None,
    ties: Ties | None = None,
    unknown: Unknown = "uniform",
    missing: Missing = "zero",
    depth: int | None = None,
    samples: int = 100,
    rng: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Compute measures for every run and query of a collection.

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`.
    measures
        Measures or their notation, such as ``"nDCG@10"``.
    policy
        How rankings are taken: ``Static()``, or ``Samples(weight=..)`` where a query has several; by default whichever
        the run calls for. Or how they are made: ``PlackettLuce(alpha=..)``, ``RankTransposition(theta=..)``,
        ``Uniform()``, ``Oracle()``, ``Static(ties='expected')``. Expected values of measures that are linear in
        exposure, of EED and of EEL are then exact; others are means over drawn rankings, with a standard error.
    ties
        Order of documents with equal scores: ``'docno'`` (score descending, then document id descending), ``'file'``
        or ``'error'``.
    unknown
        Documents of unknown membership: ``'uniform'`` (count for all values alike), ``'drop'`` (keep their rank,
        belong to no group), ``'distinct'`` (each a value
        of its own) or ``'error'``.
    missing
        Queries that are judged but not in a run: ``'zero'`` (0, or the worst bound where lower is better), ``'skip'``
        or ``'error'``.
    samples, rng
        Rankings a query that are drawn, and their seed, where a policy's expected value is not computed exactly.
    depth
        Ranks of each ranking that are looked at at all; None for all.
    progress
        Called with (done, total) now and then.

    Returns
    -------
    Result
        Values by query; means, tables and the manifest derive from it.

    Raises
    ------
    LightmeterError
        Where a measure is not known or needs what is not there.

    Examples
    --------
    >>> import lightmeter as lm
    >>> c = lm.load(run={"q1": ["d1", "d2"]}, qrels={"q1": {"d1": 0, "d2": 1}})
    >>> lm.evaluate(c, ["nDCG@10", lm.RR]).mean().select("measure", "value").rows()
    [('nDCG@10', 0.6309297535714575), ('RR', 0.5)]
    """
    if not isinstance(collection, Collection):
        raise LightmeterError(
            f"evaluate was given a {type(collection).__name__}. Accepted: what lightmeter.load returns."
        )
    asked = _measures(measures)
    if not asked:
        raise LightmeterError("no measure is asked for. Name at least one, such as nDCG@10.")
    asked = list(dict.fromkeys(asked))
    _check_choice("unknown", unknown, UNKNOWN)
    _check_choice("missing", missing, MISSING)
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 1):
        raise LightmeterError(f"depth is {depth!r}. Accepted: a whole number of at least 1, or None.")
    chosen = _policy(policy, ties, collection)
    ranked, tied = _rank(collection, chosen, depth)
    context = Context(collection, ranked, chosen, unknown)
    leaves = _leaves(asked)
    parts = _parts(asked)
    _check_needs(collection, parts)
    plan = {m: m.resolve(context) for m in leaves}
    counter = _Counter(progress, sum(_work(plan.values(), r) for r in ranked.values()))
    cells: list[Cell] = []
    answered: dict[str, NDArray[np.bool_]] = {}
    for name, one in ranked.items():
        here = np.bincount(one.query, minlength=len(collection.queries))[collection.evaluated] > 0
        answered[name] = here
        if missing == "error" and not here.all():
            gone = collection.queries[collection.evaluated[int(np.flatnonzero(~here)[0])]]
            raise LightmeterError(
                f"run {name} does not answer query {gone!r}. Accepted with missing='error': a ranking of every query "
                "evaluated."
            )
        values = _values(context, one, plan, counter, samples, rng)
        for measure in asked:
            cells += _cells(context, name, measure, values, here, missing)
    segments = None if collection.segments is None else [collection.segments[q] for q in collection.evaluated]
    weight = None if collection.query_weight is None else collection.query_weight[collection.evaluated]
    how = _how(chosen, plan, samples, rng)
    rules = how | conventions(
        context, {m: m.resolve(context) for m in parts}, chosen, unknown, missing, depth, tied, answered
    )
    queries = [collection.queries[q] for q in collection.evaluated]
    return Result(queries, cells, answered, segments, weight, rules, manifest(context, rules, tied, asked, parts))


def _measures(given: Any) -> list[Measure]:
    if given is None or (not isinstance(given, str | Measure | type) and not isinstance(given, Iterable)):
        raise LightmeterError(f"the measures are {given!r}. Accepted: a measure or its notation, or a list of them.")
    return [_measure(m) for m in ([given] if isinstance(given, str | Measure | type) else given)]


def _measure(given: Any) -> Measure:
    if isinstance(given, str):
        given = parse(given, kind="measure")
    if isinstance(given, type) and issubclass(given, Measure):
        given = parse(given.__name__, kind="measure")  # says which parameters it needs
    if not isinstance(given, Measure):
        raise TermError(f"found {given!r}. Accepted: a measure such as nDCG@10 or its notation in quotes.")
    return given


def _check_choice(name: str, value: Any, options: Iterable[str]) -> None:
    if value not in tuple(options):
        raise LightmeterError(f"{name} is {value!r}.{suggest(str(value), options)} Accepted: {', '.join(options)}.")


def _policy(policy: Policy | str | type | None, ties: Ties | None, collection: Collection) -> Policy:
    if isinstance(policy, str):
        policy = parse(policy, kind="policy")
    if isinstance(policy, type) and issubclass(policy, Policy):
        policy = policy()
    sampled = [r.name for r in collection.runs.values() if r.sample is not None]
    if policy is None:
        policy = Samples() if sampled else Static()
    if not isinstance(policy, Policy):
        raise TermError(
            f"the policy is {policy!r}. Accepted: a policy such as Static(ties=..) or PlackettLuce(alpha=1)."
        )
    if not isinstance(policy, Samples) and sampled:
        raise LightmeterError(
            f"run {sampled[0]} has several rankings a query, so it is not static. Accepted: policy=Samples(), or a "
            "run of one ranking a query."
        )
    if ties is not None and not hasattr(policy, "ties"):
        raise LightmeterError(f"the policy {policy} takes no rule for ties, and ties={ties!r} is given. Leave it out.")
    if ties is not None and getattr(policy, "ties", ties) not in ("docno", ties):
        raise LightmeterError(f"the policy {policy} and ties={ties!r} disagree. Accepted: one rule for ties.")
    return policy if ties is None else policy(ties=ties)


def _rank(collection: Collection, policy: Policy, depth: int | None) -> tuple[dict[str, Ranked], dict[str, TieCount]]:
    ranked, tied = {}, {}
    for name, run in collection.runs.items():
        ranked[name], tied[name] = Ranked.of(collection, run, policy.base_ties, depth)
    return ranked, tied


def _leaves(measures: Iterable[Measure]) -> list[Measure]:
    """The measures to compute: components in place of the measures made of them."""
    out: dict[Measure, None] = {}
    for measure in measures:
        for leaf in [measure] if _is_leaf(measure) else _leaves(measure.components()):  # type: ignore[attr-defined]
            out[leaf] = None
    return list(out)


def _parts(measures: Iterable[Measure]) -> list[Measure]:
    """The measures with all their components in place of those made of them."""
    nested = [_parts(m.components()) if isinstance(m, GFR) else [m] for m in measures]
    return list(dict.fromkeys(m for some in nested for m in some))


def _is_leaf(measure: Measure) -> bool:
    return not isinstance(measure, GFR) or measure.whole


def _check_needs(collection: Collection, measures: Iterable[Measure]) -> None:
    for measure in measures:
        needs = set(measure.needs)
        user = getattr(measure, "user", None)
        if collection.judgments is None and "judgments" in needs:
            raise LightmeterError(f"{measure} needs judgments. Give them with --qrels FILE (in Python: qrels=).")
        if collection.judgments is None and isinstance(user, User) and user.by_document:
            raise LightmeterError(
                f"{measure} needs judgments, since its user {user} stops at relevant documents. Give them with "
                "--qrels FILE (in Python: qrels=), "
                "or choose a user that does not: user=RBP(p=0.8)."
            )
        if measure.attribute is not None:
            collection.attribute(measure.attribute)
        ranks_only = [r.name for r in collection.runs.values() if r.by_rank]
        if "scores" in needs and ranks_only:
            raise LightmeterError(
                f"{measure} needs scores, and run {ranks_only[0]} gives ranks only. Accepted: runs with scores."
            )


@dataclass
class _Counter:
    progress: Progress | None
    total: int
    done: int = 0

    def step(self, amount: int) -> None:
        self.done += amount
        if self.progress is not None:
            self.progress(self.done, self.total)


Key = tuple[Measure, str | None]


def _work(measures: Iterable[Measure], ranked: Ranked) -> int:
    return len(ranked.offsets) - 1 + sum(len(ranked.offsets) - 1 for m in measures if isinstance(m, ExposureMeasure))


def _values(
    context: Context, ranked: Ranked, plan: dict[Measure, Measure], counter: _Counter, samples: int, seed: int
) -> dict[Key, Values]:
    """Values by query code for every measure (and group)."""
    if not context.policy.stochastic:
        return _of_rankings(context, ranked, plan, counter)
    exact = {m: r for m, r in plan.items() if _exactly(context.policy, r)}
    out: dict[Key, Values] = {}
    for measure, ready in exact.items():
        if isinstance(ready, ExposureMeasure):
            out[measure, None] = _plain(context, ready, ranked, counter)
    linear: dict[Measure, Measure] = {m: r for m, r in exact.items() if isinstance(r, LinearMeasure)}
    if linear:
        out |= _by_blocks(context, ranked, linear, counter)
    rest = {m: r for m, r in plan.items() if m not in exact}
    if rest:
        from lightmeter.exposure.sampling import sample_rankings

        out |= _of_rankings(context, sample_rankings(context.policy, ranked, samples, seed), rest, counter)
    return out


def _how(policy: Policy, plan: dict[Measure, Measure], samples: int, seed: int) -> dict[str, str]:
    """What was computed exactly under a policy, and what from drawn rankings."""
    if not policy.stochastic:
        return {}
    exact = [str(m) for m, r in plan.items() if _exactly(policy, r)]
    drawn = [str(m) for m, r in plan.items() if not _exactly(policy, r)]
    out = {"exact": ", ".join(exact)} if exact else {}
    if drawn:
        out["drawn"] = f"{', '.join(drawn)}: means over {samples} rankings a query, seed {seed}"
    return out


def _exactly(policy: Policy, measure: Measure) -> bool:
    """Whether the expected value of a measure is computed without sampling."""
    from lightmeter.exposure.policy import is_exact

    if isinstance(measure, ExposureMeasure):
        return is_exact(policy, measure.user)  # type: ignore[attr-defined]
    if isinstance(measure, LinearMeasure):
        return is_exact(policy, measure.reader()) and not getattr(measure, "judged_only", False)
    return False


def _plain(context: Context, measure: ExposureMeasure, ranked: Ranked, counter: _Counter) -> Values:
    """An exposure measure of a run's rankings; without an error where nothing is estimated."""
    with np.errstate(all="ignore"):
        values = measure.of_run(context, ranked)
    if not ranked.sampled or mixture(context, ranked).exact.all():
        values = Values(values.value, values.reason)
    counter.step(len(ranked.offsets) - 1)
    return as_values(values)


def _of_rankings(
    context: Context, ranked: Ranked, plan: dict[Measure, Measure], counter: _Counter
) -> dict[Key, Values]:
    out: dict[Key, Values] = {}
    for measure, ready in plan.items():
        if isinstance(ready, ExposureMeasure):
            out[measure, None] = _plain(context, ready, ranked, counter)
    plain = {m: r for m, r in plan.items() if not isinstance(r, ExposureMeasure)}
    for judged_only in (False, True):
        some = {m: r for m, r in plain.items() if getattr(r, "judged_only", False) == judged_only}
        if some:
            out |= _by_blocks(context, ranked.judged_only() if judged_only else ranked, some, counter)
    return out


def _by_blocks(context: Context, ranked: Ranked, plan: dict[Measure, Measure], counter: _Counter) -> dict[Key, Values]:
    rankings = len(ranked.offsets) - 1
    depth = None if context.policy.stochastic and not ranked.sampled else _depth(plan.values())
    gathered: dict[Key, Values] = {}
    lengths = ranked.lengths if depth is None else np.minimum(ranked.lengths, depth)

    def compute(part: NDArray[np.int64]) -> list[tuple[Key, Values]]:
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
    cutoffs = [m.cutoff if "below_cutoff" in m.invariant_to else None for m in measures]
    return None if None in cutoffs else max(c for c in cutoffs if c is not None)


def _of_block(measure: Measure, block: Block) -> Iterator[tuple[str | None, Values]]:
    if isinstance(measure, ByGroup):
        names, values = measure.groups(block)
        reasons = values.reasons()
        for i, name in enumerate(names):
            yield name, as_values(Values(values.value[:, i], reasons[:, i]))
    elif isinstance(measure, LinearMeasure) and block.context.policy.stochastic and not block.ranked.sampled:
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
        mine = np.equal(reasons, reason)
        # a sample without a value leaves its query without one; a remark beside a value stays a remark
        out.because(np.bincount(query[mine & np.isnan(values.value)], minlength=queries) > 0, reason)
        out.because(np.bincount(query[mine], minlength=queries) > 0, reason, None)
    return out


def _cells(
    context: Context, run: str, measure: Measure, values: dict[Key, Values], here: NDArray[np.bool_], missing: Missing
) -> list[Cell]:
    if isinstance(measure, GFR) and not measure.whole:
        parts = [_cells(context, run, m, values, here, missing)[0].values for m in measure.components()]
        return [Cell(run, measure, None, measure.combine(parts))]
    evaluated = context.collection.evaluated
    out = []
    for (m, group), by_query in values.items():
        if m != measure:
            continue
        reason = None if by_query.reason is None else by_query.reason[evaluated]
        mine = Values(by_query.value[evaluated], reason, None if by_query.se is None else by_query.se[evaluated])
        if not here.all():
            gone = np.flatnonzero(~here)
            mine.value, mine.reason = mine.value.copy(), mine.reasons().copy()
            if missing == "skip":
                mine.value[gone], mine.reason[gone] = np.nan, "not_in_run"
            else:
                worst = measure.resolve(context).unanswered(context, evaluated[gone])
                mine.value[gone], mine.reason[gone] = worst.value, worst.reasons()
            if mine.se is not None:
                mine.se = mine.se.copy()
                mine.se[gone] = np.nan
        out.append(Cell(run, measure, group, mine))
    return out


def run_of(collection: Collection, name: str) -> Run:
    """A run by name, with a suggestion where there is none."""
    if name not in collection.runs:
        raise LightmeterError(
            f"there is no run {name!r}.{suggest(name, collection.runs)} Runs: {', '.join(collection.runs)}."
        )
    return collection.runs[name]
