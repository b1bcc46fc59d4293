"""The sweep: curves of runs under families of policies, for users, by documents and by groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans, Floats, Rng
from lightmeter.data.collection import Collection
from lightmeter.data.rankings import TIES, Ranked
from lightmeter.errors import LightmeterError, choice, seed, whole_number
from lightmeter.evaluation.computing import Progress
from lightmeter.exposure.frontier import frontiers
from lightmeter.measures.context import MISSING, UNKNOWN, Context, Missing, Unknown
from lightmeter.models.policies import Static
from lightmeter.models.users import User, user_of
from lightmeter.sweeping.candidates import asked
from lightmeter.sweeping.curve import Best, Curve
from lightmeter.sweeping.families import Family, families_of
from lightmeter.sweeping.points import By, Lists, drawn_points, exact_points
from lightmeter.sweeping.result import SweepResult
from lightmeter.sweeping.rules import rules_of
from lightmeter.sweeping.scale import NO_RANGE, Scale, unset

#: Standard error of mean disparity and relevance to which rankings are drawn.
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
        Rankings drawn for each query at each parameter where exposure is not known exactly (rank transposition with a
        user who reads the documents), at least 3; by default as many as bring the standard error of mean disparity and
        relevance to 2e-3.
    resamples
        Resamples of the bootstrap over queries, for 95% percentile intervals.
    rng
        Seed of what is drawn: a number, a generator that gives one, or None for a fresh one.
    progress
        Called with how much is done, and of how much.

    Returns
    -------
    SweepResult
        Curves, areas and how they were made.

    Raises
    ------
    LightmeterError
        Where a policy has no parameter to sweep, judgments are missing, or a run has several rankings a query.

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
    families, readers, bys = families_of(policies), _users(users), _bys(by)
    _check(collection, bys, depth, ties, unknown, missing, samples, resamples)
    rng = seed(rng)
    ranked, tied = {}, {}
    for name, run in collection.runs.items():
        ranked[name], tied[name] = Ranked.of(collection, run, ties, depth, every_query=False)  # type: ignore[arg-type]
    context = Context(collection, ranked, Static(ties=ties), unknown)  # type: ignore[arg-type]
    users_of = [(str(user), *_parts(context, user)) for user in readers]
    total = len(ranked) * len(users_of) * len(families)
    curves: list[Curve] = []
    for name, one in ranked.items():
        for label, user, cutoff in users_of:
            side = _Side(context, name, one, label, user, cutoff, bys, missing)
            for family in families:
                with np.errstate(over="ignore", under="ignore"):
                    curves += side.curves(family, samples, resamples, rng)
                if progress is not None:
                    progress(len(curves) // len(bys), total)
    order = {key: i for i, key in enumerate((str(f.name), u[0], b) for f in families for u in users_of for b in bys)}
    place = {name: i for i, name in enumerate(ranked)}
    curves.sort(key=lambda c: (place[c.run], order[c.policy, c.user, c.by]))
    rules, manifest = rules_of(
        context, tied, curves, families, users_of, bys, depth, ties, missing, samples, resamples, rng
    )
    return SweepResult([collection.queries[q] for q in collection.evaluated], curves, rules, manifest)


class _Side:
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
        known = asked(context, self.user, self.cutoff, by)
        reason, most = known.reason[evaluated].copy(), known.most[evaluated]
        gone = np.isnan(uniform)
        if gone.any() and self.missing == "error":
            query = context.collection.queries[evaluated[int(np.flatnonzero(gone)[0])]]
            raise LightmeterError(
                f"run {self.name} does not answer query {query!r}. Accepted with missing='error': a ranking of every "
                "query evaluated."
            )
        absent = gone & unset(reason)
        reason[absent] = "not_in_run"
        if by is not None and context.unknown != "distinct":
            strange = ~self.ranked.anything_known(by)[evaluated]
            reason[strange & unset(reason)] = "no_known_member"
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
        for block, place in zip(self.lists.blocks, self.lists.place, strict=True):
            mine = scale.answered[place]
            seen = view[: block.score.shape[1]][: self.cutoff]
            goal = np.where(block.block.valid, block.target, np.nan)[mine]
            for part, q in zip(frontiers(goal, seen) if mine.any() else [], place[mine].tolist(), strict=True):
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
            points = drawn_points(self.lists, fitted, self.user, self.cutoff, self.scales, samples, ERROR, rng)
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
        raise LightmeterError("no user model is asked for. Name at least one, such as RBP(p=0.5).")
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
    """The user with what it takes from the judgments, and its cutoff."""
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
            f"run {several[0]} has several rankings a query, and a sweep starts from one. Accepted: a run of one "
            "ranking a query."
        )
    for by in bys:
        if by is not None:
            collection.attribute(by)
