"""Evaluation: measures of runs, under one set of conventions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans, Rng
from lightmeter.data.collection import Collection
from lightmeter.data.rankings import Ranked, TieCount, Ties
from lightmeter.data.run import Run
from lightmeter.errors import LightmeterError, TermError, choice, seed, suggest, whole_number
from lightmeter.evaluation.computing import Counter, Progress, cells_of, how_computed, steps_of, values_of_run
from lightmeter.evaluation.conventions import conventions, manifest
from lightmeter.measures.base import Measure
from lightmeter.measures.context import MISSING, UNKNOWN, Context, Missing, Unknown
from lightmeter.models.policies import Policy, Samples, Static
from lightmeter.models.users import User
from lightmeter.results.result import Cell, Result
from lightmeter.terms.notation import parse


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
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Result:
    """Compute measures for every run and query of a collection.

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`.
    measures
        Measures, or their notation, such as ``"nDCG@10"``.
    policy
        How rankings are taken: ``Static()``, or ``Samples(weight=..)`` where a query has several; by default whichever
        the run calls for. Or how they are made: ``PlackettLuce(alpha=..)``, ``RankTransposition(theta=..)``,
        ``Uniform()``, ``Oracle()``, ``Static(ties='expected')``. Expected values of measures that are linear in
        exposure, of EED and of EEL are then exact; others are means over sampled rankings, with a standard error.
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
        Sampled rankings per query and their seed (a number, a generator that gives one, or None for a fresh one), where
        a policy's expected value is not computed exactly.
    depth
        How many ranks of each ranking are read; None for all.
    progress
        Called now and then with the steps done so far and the steps in all.

    Returns
    -------
    Result
        Values by query; means, tables and the manifest derive from it.

    Raises
    ------
    LightmeterError
        Where a measure is not known, or needs data that the collection does not have.

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
    requested = _measures(measures)
    if not requested:
        raise LightmeterError("no measure is asked for. Name at least one, such as nDCG@10.")
    requested = list(dict.fromkeys(requested))
    choice("unknown", unknown, UNKNOWN)
    choice("missing", missing, MISSING)
    if depth is not None:
        whole_number("depth", depth)
    whole_number("samples", samples)
    rng = seed(rng)
    policy = chosen_policy(policy, ties, collection)
    ranked, tied = _rank(collection, policy, depth, every_query=False)
    context = Context(collection, ranked, policy, unknown)
    parts = _parts(requested)
    _check_needs(collection, parts)
    resolved = {m: m.resolve(context) for m in _leaves(requested)}
    counter = Counter(progress, sum(steps_of(resolved.values(), rankings) for rankings in ranked.values()))
    cells: list[Cell] = []
    answered: dict[str, Booleans] = {}
    for name, rankings in ranked.items():
        is_answered = np.bincount(rankings.query, minlength=len(collection.queries))[collection.evaluated] > 0
        answered[name] = is_answered
        if missing == "error" and not is_answered.all():
            unanswered = collection.queries[collection.evaluated[int(np.flatnonzero(~is_answered)[0])]]
            raise LightmeterError(
                f"run {name} does not answer query {unanswered!r}. Accepted with missing='error': a ranking of every "
                "query evaluated."
            )
        computed = values_of_run(context, rankings, resolved, counter, samples, rng)
        for measure in requested:
            cells += cells_of(context, name, measure, computed, is_answered, missing)
    segments = None if collection.segments is None else [collection.segments[q] for q in collection.evaluated]
    weight = None if collection.query_weight is None else collection.query_weight[collection.evaluated]
    rules = how_computed(context, resolved, samples, rng)
    rules |= conventions(context, {m: m.resolve(context) for m in parts}, missing, depth, tied, answered)
    queries = [collection.queries[q] for q in collection.evaluated]
    return Result(queries, cells, answered, segments, weight, rules, manifest(context, rules, tied, requested, parts))


def ranked_context(
    collection: Collection,
    policy: Policy | str | None = None,
    ties: Ties | None = None,
    depth: int | None = None,
    unknown: Unknown = "uniform",
    *,
    every_query: bool = False,
) -> Context:
    """The rankings that an evaluation with these options is computed from.

    With ``every_query`` the rankings of queries that are not evaluated are among them.
    """
    policy = chosen_policy(policy, ties, collection)
    ranked, _ = _rank(collection, policy, depth, every_query=every_query)
    return Context(collection, ranked, policy, unknown)


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


def chosen_policy(policy: Policy | str | type | None, ties: Ties | None, collection: Collection) -> Policy:
    """The policy of a call, if it fits the runs; by default the one that suits them."""
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
            f"run {sampled[0]} has several rankings per query, so it is not static. Accepted: a run of one ranking "
            "per query, or, where it is evaluated, policy=Samples()."
        )
    if ties is not None and not hasattr(policy, "ties"):
        raise LightmeterError(f"the policy {policy} takes no rule for ties, and ties={ties!r} is given. Leave it out.")
    if ties is not None and getattr(policy, "ties", ties) not in ("docno", ties):
        raise LightmeterError(f"the policy {policy} and ties={ties!r} disagree. Accepted: one rule for ties.")
    return policy if ties is None else policy(ties=ties)


def _rank(
    collection: Collection, policy: Policy, depth: int | None, *, every_query: bool
) -> tuple[dict[str, Ranked], dict[str, TieCount]]:
    """Every run in rank order. Nothing may depend on queries that are not evaluated."""
    ranked, tied = {}, {}
    for name, run in collection.runs.items():
        ranked[name], tied[name] = Ranked.of(collection, run, policy.base_ties, depth, every_query=every_query)
    return ranked, tied


def _leaves(measures: Iterable[Measure]) -> list[Measure]:
    """The measures that are computed: a measure that is made of others is replaced by its components."""
    out: dict[Measure, None] = {}
    for measure in measures:
        for leaf in [measure] if measure.whole else _leaves(measure.components()):
            out[leaf] = None
    return list(out)


def _parts(measures: Iterable[Measure]) -> list[Measure]:
    """All measures without components, at any depth: the measures themselves, or what they are made of."""
    nested = [_parts(m.components()) or [m] for m in measures]
    return list(dict.fromkeys(m for some in nested for m in some))


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
        if collection.intents is None and "intents" in needs:
            raise LightmeterError(f"{measure} needs intents. Give them with --intents FILE (in Python: intents=).")
        if collection.segments is None and "segments" in needs:
            raise LightmeterError(
                f"{measure} needs groups of queries. Name the column that labels them with --segment COLUMN (in "
                "Python: segment=)."
            )
        ranks_only = [r.name for r in collection.runs.values() if r.by_rank]
        if "scores" in needs and ranks_only:
            raise LightmeterError(
                f"{measure} needs scores, and run {ranks_only[0]} gives ranks only. Accepted: runs with scores."
            )


def run_of(collection: Collection, name: str) -> Run:
    """A run by name, with a suggestion where there is none."""
    if name not in collection.runs:
        raise LightmeterError(
            f"there is no run {name!r}.{suggest(name, collection.runs)} Runs: {', '.join(collection.runs)}."
        )
    return collection.runs[name]
