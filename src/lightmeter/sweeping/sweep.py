"""The sweep: curves of runs under families of policies, for user models, by documents and by groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Rng
from lightmeter.data.collection import Collection
from lightmeter.data.rankings import TIES, Ranked, TieCount
from lightmeter.errors import LightmeterError, choice, seed, whole_number
from lightmeter.evaluation.computing import Progress
from lightmeter.evaluation.conventions import conventions, manifest
from lightmeter.exposure.frontier import frontiers
from lightmeter.measures.base import Measure
from lightmeter.measures.context import MISSING, UNKNOWN, Context, Missing, Unknown
from lightmeter.measures.exposure import EED, EER
from lightmeter.models.policies import Static
from lightmeter.models.users import User, user_of
from lightmeter.sweeping.candidates import NO_RANGE, Scale, judged_ideal, unset
from lightmeter.sweeping.curve import LEVEL, Best, Curve
from lightmeter.sweeping.families import Family, families_of
from lightmeter.sweeping.points import By, Lists, exact_points, sampled_points
from lightmeter.sweeping.result import SweepResult

#: Standard error of mean disparity and relevance for which rankings are sampled.
ERROR = 2e-3


def sweep(
    collection: Collection,
    policies: Any = "PlackettLuce",
    users: Any = "RBP(p=0.5)",
    by: Iterable[str | None] | str | None = None,
    *,
    depth: int | None = 100,
    ties: str = "docno",
    unknown: Unknown = "uniform",
    missing: Missing = "zero",
    samples: int | None = None,
    resamples: int = 1000,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> SweepResult:
    """The disparity-relevance curve of every run, policy and user, and the area below it, EEAUC.

    A run's candidate list is reranked by a policy that goes from uniformly random to the ranking as given. Disparity
    is ``x = (EED - uniform's)/(static's - uniform's)``, relevance ``y = EER/E`` with E that of the judged ideal; the
    curve joins means over queries by straight lines, and EEAUC is its area over x in [0, 1].

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`, with judgments.
    policies
        ``'PlackettLuce'``, ``"PlackettLuce(scores='raw')"``, ``'RankTransposition'``, or a list of these.
    users
        User models or their notation, such as ``'RBP(p=0.5)'`` or ``'Cascade(p=0.5, u=0.5)'``; a cutoff is written
        with the user, ``'RBP(p=0.9)@20'``.
    by
        None for documents, an attribute for its groups (of relevant documents), or a list of these.
    depth
        Candidates: the first ranks of each ranking; None for all.
    ties
        Order of documents with equal scores in the ranking as given: ``'docno'``, ``'file'`` or ``'error'``.
    unknown
        Documents of unknown membership, as for :func:`lightmeter.evaluate`.
    missing
        Judged queries that a run does not answer: ``'zero'`` (relevance 0 at every disparity), ``'skip'`` or
        ``'error'``.
    samples
        Sampled rankings per query and parameter where exposure is not known exactly (rank transposition with a
        user who reads the documents), at least 3; by default as many as bring the standard error of mean disparity and
        relevance to 2e-3.
    resamples
        Resamples of the bootstrap over queries, for 95% percentile intervals.
    rng
        Seed of everything random: a number, a generator that gives one, or None for a fresh one.
    progress
        Called with how much is done, and of how much.

    Returns
    -------
    SweepResult
        Curves, areas and how they were made.

    Raises
    ------
    LightmeterError
        Where a policy has no parameter to sweep, judgments are missing, or a run has several rankings per query.

    Examples
    --------
    >>> import lightmeter as lm
    >>> c = lm.load(run={"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, qrels={"q": {"a": 1, "c": 1}})
    >>> r = lm.sweep(c, ["PlackettLuce", "RankTransposition"], "RBP(p=0.5)")
    >>> [round(r.area(policy), 4) for policy in ("PlackettLuce", "RankTransposition")]
    [0.8021, 0.8148]
    """
    if not isinstance(collection, Collection):
        raise LightmeterError(f"sweep was given a {type(collection).__name__}. Accepted: what lightmeter.load returns.")
    families, models, bys = families_of(policies), _users(users), _bys(by)
    _check(collection, bys, depth, ties, unknown, missing, samples, resamples)
    rng = seed(rng)
    ranked, tied = {}, {}
    for name, run in collection.runs.items():
        ranked[name], tied[name] = Ranked.of(collection, run, ties, depth, every_query=False)  # type: ignore[arg-type]
    context = Context(collection, ranked, Static(ties=ties), unknown)  # type: ignore[arg-type]
    users_of = [(str(user), *_parts(context, user)) for user in models]
    total = len(ranked) * len(users_of) * len(families)
    curves: list[Curve] = []
    for name, one in ranked.items():
        for label, user, cutoff in users_of:
            run_curves = _RunCurves(context, name, one, label, user, cutoff, bys, missing)
            for family in families:
                with np.errstate(over="ignore", under="ignore"):
                    curves += run_curves.curves(family, samples, resamples, rng)
                if progress is not None:
                    progress(len(curves) // len(bys), total)
    order = {key: i for i, key in enumerate((str(f.name), u[0], b) for f in families for u in users_of for b in bys)}
    place = {name: i for i, name in enumerate(ranked)}
    curves.sort(key=lambda c: (place[c.run], order[c.policy, c.user, c.by]))
    rules, manifest = _conventions_and_manifest(
        context, tied, curves, families, users_of, bys, depth, ties, missing, samples, resamples, rng
    )
    return SweepResult([collection.queries[q] for q in collection.evaluated], curves, rules, manifest)


class _RunCurves:
    """One run for one user: its lists, units and frontiers, which all policies share."""

    def __init__(
        self,
        context: Context,
        name: str,
        ranked: Ranked,
        label: str,
        user: User,
        cutoff: int | None,
        bys: list[By],
        missing: Missing,
    ) -> None:
        self.name, self.label, self.user, self.cutoff, self.bys = name, label, user, cutoff, bys
        evaluated = context.collection.evaluated
        at = np.full(len(context.collection.queries), -1)
        at[evaluated] = np.arange(len(evaluated))
        self.lists = Lists.of(context, ranked, at[ranked.query], user, cutoff, bys, len(evaluated))
        self.ends: dict[float, dict[By, tuple[Floats, Floats]]] = {}
        self.context, self.ranked, self.missing = context, ranked, missing
        family = families_of("PlackettLuce")[0]
        uniform, static = (self.lists.exactly(family, end, user, cutoff, bys) for end in family.ends)
        self.scales = {by: self._scale(by, uniform[by][0], static[by][0]) for by in bys}
        self.best = self._best(self.scales[None]) if None in bys and not user.by_document else None

    def _scale(self, by: By, uniform: Floats, static: Floats) -> Scale:
        context, evaluated = self.context, self.context.collection.evaluated
        known = judged_ideal(context, self.user, self.cutoff, by)
        reason, most = known.reason[evaluated].copy(), known.most[evaluated]
        unanswered = np.isnan(uniform)
        if unanswered.any() and self.missing == "error":
            query = context.collection.queries[evaluated[int(np.flatnonzero(unanswered)[0])]]
            raise LightmeterError(
                f"run {self.name} does not answer query {query!r}. Accepted with missing='error': a ranking of every "
                "query evaluated."
            )
        absent = unanswered & unset(reason)
        reason[absent] = "not_in_run"
        if by is not None and context.unknown != "distinct":
            unknown = ~self.ranked.anything_known(by)[evaluated]
            reason[unknown & unset(reason)] = "no_known_member"
        of_means = by is not None or self.user.by_document
        weight = context.collection.query_weight
        weight = np.ones(len(evaluated)) if weight is None else weight[evaluated].astype(np.float64)
        counts = absent if self.missing == "zero" else np.zeros(len(absent), dtype=bool)
        scale = Scale(uniform, static, most, reason, counts, weight, of_means)
        if not of_means:
            reason[scale.answered & ~scale.ranged] = NO_RANGE
        return scale

    def _best(self, scale: Scale) -> Best:
        view = self.user.view_at(np.arange(1.0, max((b.score.shape[1] for b in self.lists.blocks), default=0) + 1))
        parts, query = [], []
        for block, rows in zip(self.lists.blocks, self.lists.rows, strict=True):
            mine = scale.answered[rows]
            seen = view[: block.score.shape[1]][: self.cutoff]
            goal = np.where(block.block.valid, block.target, np.nan)[mine]
            for part, q in zip(frontiers(goal, seen) if mine.any() else [], rows[mine].tolist(), strict=True):
                low, wide = scale.uniform[q], scale.static[q] - scale.uniform[q]
                parts.append(part.rescaled(low, wide, 0.0, scale.most[q]))
                query.append(q)
        return Best(parts, np.array(query, dtype=np.int64))

    def curves(self, family: Family, samples: int | None, resamples: int, rng: int) -> list[Curve]:
        """The curve of each way of counting."""
        fitted = self.lists.fitted(family)
        if fitted.exact(self.user) or not self.lists.blocks:
            points = exact_points(self.lists, fitted, self.user, self.cutoff, self.scales)
        else:
            points = sampled_points(self.lists, fitted, self.user, self.cutoff, self.scales, samples, ERROR, rng)
        return [
            Curve(
                self.name,
                family.name,
                self.label,
                by,
                points[by],
                self.scales[by],
                self.best if by is None else None,
                resampled_counts(self.scales[by].counted, resamples, rng),
            )
            for by in self.bys
        ]


def resampled_counts(counted: Booleans, resamples: int, seed: int) -> Floats:
    """How often each query counts in each resample of those that count, ``[resamples, queries]``.

    Examples
    --------
    >>> resampled_counts(np.array([True, False, True]), 2, 0).sum(axis=1).tolist()
    [2.0, 2.0]
    """
    n = int(counted.sum())
    out = np.zeros((resamples, len(counted)))
    if n:
        out[:, counted] = np.random.default_rng([seed, n]).multinomial(n, np.full(n, 1.0 / n), size=resamples)
    return out


def _users(given: Any) -> list[User]:
    several = given if isinstance(given, Iterable) and not isinstance(given, str | type | User) else [given]
    out = list(dict.fromkeys(user_of(one) for one in several))
    if not out:
        raise LightmeterError("no user model is given. Name at least one, such as RBP(p=0.5).")
    return out


def _bys(given: Any) -> list[By]:
    several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for one in several:
        if one is not None and not isinstance(one, str):
            raise LightmeterError(f"by is {one!r}. Accepted: None for documents, an attribute's name, or several.")
    if not several:
        raise LightmeterError("by is an empty list. Accepted: None for documents, an attribute's name, or several.")
    return list(dict.fromkeys(several))


def _parts(context: Context, user: User) -> tuple[User, int | None]:
    """The user model with what it needs from the judgments, and its cutoff."""
    cutoff = getattr(user, "cutoff", None)
    plain = user if cutoff is None else dataclasses.replace(user, cutoff=None)  # type: ignore[call-arg]
    return context.user(plain), cutoff


def _check(
    collection: Collection,
    bys: list[By],
    depth: Any,
    ties: Any,
    unknown: Any,
    missing: Any,
    samples: Any,
    resamples: Any,
) -> None:
    if collection.judgments is None:
        raise LightmeterError("a sweep needs judgments. Give them with --qrels FILE (in Python: qrels=).")
    for name, value, options in (("ties", ties, TIES), ("unknown", unknown, UNKNOWN), ("missing", missing, MISSING)):
        choice(name, value, options)
    for name, value, least in (("depth", depth, 1), ("samples", samples, 3), ("resamples", resamples, 1)):
        if value is not None or name == "resamples":
            whole_number(name, value, least)
    several = [run.name for run in collection.runs.values() if run.sample is not None]
    if several:
        raise LightmeterError(
            f"run {several[0]} has several rankings per query, and a sweep starts from one. Accepted: a run of one "
            "ranking per query."
        )
    for by in bys:
        if by is not None:
            collection.attribute(by)


_MISSING = {"zero": "relevance 0 at every disparity", "skip": "left out", "error": "refused"}


def _conventions_and_manifest(
    context: Context,
    tied: dict[str, TieCount],
    curves: list[Curve],
    families: list[Family],
    users: list[tuple[str, User, int | None]],
    bys: list[str | None],
    depth: int | None,
    ties: str,
    missing: Missing,
    samples: int | None,
    resamples: int,
    seed: int,
) -> tuple[dict[str, str], dict[str, Any]]:
    """The conventions in words, and the manifest."""
    measures: dict[Measure, Measure] = {
        make(user=user, by=by, cutoff=cutoff): make(user=user, by=by, cutoff=cutoff)
        for _, user, cutoff in users
        for by in bys
        for make in (EED, EER)
    }
    answered = {c.run: ~np.isnan(c.points.eed[:, 0]) for c in curves}
    rules = conventions(context, measures, missing, depth, tied, answered)
    rules["policy"] = ", ".join(f"{f.name} from {_end(f, 0)} (uniform) to {_end(f, 1)} (static)" for f in families)
    rules["missing"] = f"{missing} ({_MISSING[missing]})" + rules["missing"].partition(")")[2]
    rules["depth"] = "whole rankings" if depth is None else f"first {depth} ranks are the candidates"
    rules |= _axes(users, bys)
    rules |= _how(curves, seed, samples)
    rules["interval"] = f"{LEVEL:.0%} percentile bootstrap over queries, {resamples} resamples, seed {seed}"
    rules["area"] += _lost(curves)
    long = [c for c in curves if c.last_step > 0.02]
    if long:
        rules["last step"] = (
            "; ".join(
                f"{where}: {step:.2f}" for where, step in {f"{c.run} {c.policy}": c.last_step for c in long}.items()
            )
            + " (equal scores keep the policy from the static ranking; that step is a straight line)"
        )
    record = manifest(context, rules, tied, list(measures), list(measures))
    record |= {
        "policies": [f.name for f in families],
        "users": [label for label, _, _ in users],
        "by": list(bys),
        "seed": seed,
        "resamples": resamples,
        "curves": [_facts(c) for c in curves],
    }
    return rules, record


def _end(family: Family, which: int) -> str:
    name = "alpha" if family.name.startswith("PlackettLuce") else "theta"
    end = family.ends[which]
    return f"{name} = {'infinity' if np.isinf(end) else f'{end:g}'}"


def _axes(users: list[tuple[str, User, int | None]], bys: list[str | None]) -> dict[str, str]:
    kinds = {by is not None or user.by_document for _, user, _ in users for by in bys}
    own, of_means = (
        "(EED - uniform's)/(static's - uniform's) of each query, averaged",
        "(mean EED - uniform's)/(static's - uniform's)",
    )
    parts = []
    if False in kinds:
        parts.append(own + (" (users who know the rank only, documents)" if True in kinds else ""))
    if True in kinds:
        parts.append(of_means + (" (users who read the documents, groups)" if False in kinds else ""))
    axes = {
        "disparity": " and ".join(parts),
        "relevance": "EER/E of each query, averaged; E is the largest EER of the judged ideal, Ideal(complete=False)",
        "area": "trapezoids over disparity in [0, 1]"
        + (", under the largest relevance at each disparity where the curve turns back" if True in kinds else ""),
    }
    if any(by is not None for by in bys):
        axes["groups"] = "exposure of relevant documents; E is the EER of the ideal, ||xi*||^2"
    return axes


def _lost(curves: list[Curve]) -> str:
    """What straight lines between points leave out of the areas, where points are exact."""
    parts = []
    for i, whose in enumerate(("the mean curve's", "a query's own")):
        found = [c.points.lost[i] for c in curves if np.isfinite(c.points.lost[i])]
        if found:
            parts.append(f"{max(found):.1e} ({whose})")
    return f"; estimated error of straight lines at most {' and '.join(parts)}" if parts else ""


def _how(curves: list[Curve], seed: int, samples: int | None) -> dict[str, str]:
    """What was computed exactly, and what from sampled rankings."""

    def what(some: list[Curve]) -> str:
        return ", ".join(dict.fromkeys(f"{c.policy} with {c.user}" for c in some))

    exact = [c for c in curves if c.points.sampled is None]
    sampled = [c for c in curves if c.points.sampled is not None]
    out = {"exact": what(exact)} if exact else {}
    if sampled:
        paths = [c.points.sampled.paths for c in sampled if c.points.sampled is not None]
        errors = [e for c in sampled if (e := c.error()) is not None]
        worst = max((float(np.nanmax(np.concatenate(e), initial=0.0)) for e in errors), default=0.0)
        number = f"{min(paths)}" if min(paths) == max(paths) else f"{min(paths)} to {max(paths)}"
        out["drawn"] = (
            f"{what(sampled)}: {number} rankings per query and parameter, seed {seed}; standard error of mean "
            f"disparity and relevance at most {worst:.1e}" + ("" if samples is not None else " (asked for: 2.0e-03)")
        )
    return out


def _facts(curve: Curve) -> dict[str, Any]:
    sampled = curve.points.sampled
    return {
        "run": curve.run,
        "policy": curve.policy,
        "user": curve.user,
        "by": curve.by,
        "points": len(curve.points.parameter),
        "longest_step": _finite(curve.longest_step),
        "last_step": _finite(curve.last_step),
        "area_error": _finite(curve.points.lost[0]),
        "query_area_error": _finite(curve.points.lost[1]),
        "samples": None if sampled is None else sampled.paths,
        "queries": int(curve.scale.counted.sum()),
        "left_out": {
            str(reason): int(sum(r == reason for r in curve.scale.reason[~curve.scale.counted]))
            for reason in dict.fromkeys(curve.scale.reason[~curve.scale.counted].tolist())
        },
        "unanswered": int(curve.scale.missing.sum()),
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
