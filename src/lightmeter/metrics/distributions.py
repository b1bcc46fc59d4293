"""Metrics that compare a list's distribution over groups with a target: skew, NDKL and AWRF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.io.columns import finite
from lightmeter.metrics.places import Places, Ties, mean, places, user_who_knows_ranks
from lightmeter.models.divergences import JSD, Divergence
from lightmeter.models.users import User

Target = str | Mapping[Any, float]
_TARGETS = ("pool", "uniform")
_TOLERANCE = 1e-3  # of shares that should sum to 1


def skew(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    group: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """Skew of one group: ``ln(share of the first k / target share)``; 0 is parity, below 0 too few.

    Parameters
    ----------
    y_true, y_score, groups, k, sample_weight, queries, ties
        As in :func:`~lightmeter.metrics.mean_exposures`. Shares are among rows of a known group.
    group
        Whose skew.
    target
        ``'pool'`` (its share of all rows), ``'uniform'`` or ``{group: share}``.

    Returns
    -------
    float
        NaN where the group has nobody among the first k or no target share.

    Notes
    -----
    :class:`~lightmeter.Skew` with the same target (its own default is uniform). With tied scores the share is the
    expected one. Source: Geyik et al. 2019.

    Examples
    --------
    >>> skew(None, [4, 3, 2, 1], groups=["m", "m", "m", "f"], group="m", k=2)
    0.287682...
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="skew")
    values = _skews(here, k, target)[:, here.code_of("group", group)]
    return mean("skew", np.where(np.isfinite(values), values, np.nan), "the group has nobody there, or no target share")


def min_skew(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """The lowest skew of the groups that have a target share, at most 0; parameters as in :func:`skew`.

    NaN where one of them has nobody among the first k. It is :class:`~lightmeter.MinSkew`.

    Examples
    --------
    >>> min_skew(None, [4, 3, 2, 1], groups=["m", "f", "m", "f"], k=3)
    -0.405465...
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="min_skew")
    values = _skews(here, k, target)
    lowest = np.where(np.isnan(values), np.inf, values).min(axis=1)
    return mean("min_skew", np.where(np.isfinite(lowest), lowest, np.nan), "a group has nobody among the first k")


def max_skew(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """The highest skew of any group, at least 0; parameters as in :func:`skew`.

    NaN where a group without a target share has somebody among the first k. It is :class:`~lightmeter.MaxSkew`.

    Examples
    --------
    >>> max_skew(None, [4, 3, 2, 1], groups=["m", "f", "m", "f"], k=3)
    0.287682...
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties, needs_k="max_skew")
    values = _skews(here, k, target)
    highest = np.where(np.isnan(values), -np.inf, values).max(axis=1)
    reason = "a group without a target share, or nobody of a known group, is among the first k"
    return mean("max_skew", np.where(np.isfinite(highest), highest, np.nan), reason)


def ndkl(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    ties: Ties = "expected",
) -> float:
    """NDKL: the mean over ranks of KL(shares of the first ranks, target), weighed by ``1/log2(rank + 1)``, in nats.

    Parameters are those of :func:`skew`; k: ranks looked at, None for all. At least 0, lower is better. NaN where
    nobody's group is known, where a group without a target share is ranked, and where equal scores of different groups
    leave a prefix open: give ``ties='order'``, or scores that differ. It is :class:`~lightmeter.NDKL` with the same
    target (its own default is uniform) and ``unknown='drop'``: a row of unknown group keeps its rank, in no share.
    Source: Geyik et al. 2019.

    Examples
    --------
    >>> ndkl(None, [2, 1], groups=["m", "f"])
    0.425001...
    """
    here = places(y_true, y_score, groups, k, sample_weight, queries, ties)
    goal = _target(here, target)
    mixed = np.zeros(here.queries, dtype=bool)
    if here.ranked.averaged:
        mixed = _mixed(here, k)
    keep = here.ranked.rank <= (here.ranked.longest if k is None else k)
    code, query, rank = here.code[keep], here.query[keep], here.ranked.rank[keep]
    weight = np.where(code < len(here.groups), here.weight[keep], 0.0)  # the unknown: a place without members
    code = np.minimum(code, len(here.groups) - 1)
    values = np.full(here.queries, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        # S_a the weight of group a in a prefix, W that of all: W KL = sum_a S_a ln S_a - sum_a S_a ln q_a - W ln W
        before = _before(query * len(here.groups) + code, weight)
        step = _xlogx(before + weight) - _xlogx(before) - np.where(weight > 0, weight * np.log(goal[query, code]), 0.0)
        above = _before(query, weight) + weight
        far = np.maximum((_before(query, step) + step) / above - np.log(above), 0.0)
    counted = above > 0
    discount = counted / np.log2(rank + 1.0)
    mass = np.bincount(query, discount, minlength=here.queries)
    total = np.bincount(query, np.where(counted, discount * far, 0.0), minlength=here.queries)
    some = (mass > 0) & np.isfinite(total) & ~mixed
    values[some] = total[some] / mass[some]
    reason = "nobody of a known group is ranked, or a group without a target share is"
    if mixed.any():
        reason = "equal scores of different groups leave prefixes open; give ties='order' or scores that differ"
    return mean("ndkl", values, reason)


def awrf(
    y_true: ArrayLike | None,
    y_score: ArrayLike,
    *,
    groups: Any,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    target: Target = "pool",
    div: Divergence | str = "JSD",
    user: User | str | None = None,
    ties: Ties = "expected",
) -> float:
    """Attention-weighted rank fairness: ``1 - Div(groups' shares of exposure, target)``; higher is better.

    Parameters are those of :func:`skew`, with the divergence and the user (by default DCG). NaN where nobody of a
    known group has exposure. It is :class:`~lightmeter.AWRF` with the same target (its own default is uniform); with
    tied scores the shares are those of expected exposure. Source: Sapiezynski et al. 2019.

    Examples
    --------
    >>> awrf(None, [2, 1], groups=["m", "f"], user="TopK(k=2)")
    1.0
    """
    from lightmeter.measures.relevance import DCG

    here = places(y_true, y_score, groups, k, sample_weight, queries, ties)
    chosen, far = user_who_knows_ranks(user, DCG), _divergence(div)
    amount = here.sums(here.exposure(chosen, k))
    mass = amount.sum(axis=1, keepdims=True)
    some = mass[:, 0] > 0
    shares = np.where(some[:, None], amount / np.where(some[:, None], mass, 1.0), 0.0)
    goal = _target(here, target)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = 1.0 - far.value(shares, goal)
    reason = "nobody of a known group has exposure, or a group without a target share has"
    return mean("awrf", np.where(some & np.isfinite(values), values, np.nan), reason)


def _divergence(given: Divergence | str) -> Divergence:
    from lightmeter.terms.notation import parse

    found: Any = parse(given, kind="divergence") if isinstance(given, str) else given
    if isinstance(found, type) and issubclass(found, Divergence):
        found = found()
    if not isinstance(found, Divergence):
        raise TermError(f"div is {given!r}. Accepted: a divergence such as {JSD()}, TV or KL(eps=0.01).")
    if found.ordinal:
        raise TermError(
            f"{found} needs the order of the groups, and groups have none here. Accepted: JSD, TV, KL, SqL2; with "
            "lightmeter.load(ordinal=..) and lightmeter.evaluate also ordinal ones."
        )
    return found


def _target(here: Places, target: Target) -> Floats:
    """Target shares ``[queries, groups]``; of the pool those of the rows whose group is known."""
    many = len(here.groups)
    if isinstance(target, Mapping):
        shares = np.zeros(many)
        for name, share in target.items():
            number = finite(share)
            if number is None or number < 0:
                raise LightmeterError(f"the target share of {name!r} is {share!r}. Accepted: a number from 0 to 1.")
            shares[here.code_of("a group of the target", name)] = number
        if abs(shares.sum() - 1.0) > _TOLERANCE:
            raise LightmeterError(f"the target's shares sum to {shares.sum():g}. Accepted: shares that sum to 1.")
        return np.broadcast_to(shares, (here.queries, many))
    if target == "uniform":
        return np.full((here.queries, many), 1.0 / many)
    if target != "pool":
        raise LightmeterError(
            f"target is {target!r}.{suggest(str(target), _TARGETS)} Accepted: 'pool' (shares of the rows), 'uniform', "
            "or {group: share}."
        )
    members = here.members()
    total = members.sum(axis=1, keepdims=True)
    return members / np.where(total > 0, total, 1.0)


def _skews(here: Places, k: int, target: Target) -> Floats:
    """``[queries, groups]``: -inf where a group has nobody there, +inf where it has no target share, NaN where
    neither or nobody of a known group is there.
    """
    top = here.sums(here.inside(k))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(top / top.sum(axis=1, keepdims=True)) - np.log(_target(here, target))


def _before(key: Integers, amount: Floats) -> Floats:
    """The sum of the amounts of earlier entries with the same key."""
    order = np.argsort(key, kind="stable")
    run = np.cumsum(amount[order]) - amount[order]
    fresh = np.append(True, key[order][1:] != key[order][:-1])[: len(key)]
    start = np.maximum.accumulate(np.where(fresh, np.arange(len(key)), 0))
    out = np.empty(len(key))
    out[order] = run - run[start]
    return out


def _xlogx(x: Floats) -> Floats:
    return x * np.log(np.maximum(x, 1e-300))


def _mixed(here: Places, k: int | None) -> Booleans:
    """Which lists have equal scores of different groups (or weights), not all of them below k."""
    block, ranked = here.ranked.block, here.ranked
    same = block[1:] == block[:-1]
    other = (here.code[1:] != here.code[:-1]) | (here.weight[1:] != here.weight[:-1])
    bad = same & other
    if k is not None:
        bad &= ranked.start[1:] < k
    out = np.zeros(here.queries, dtype=bool)
    out[here.query[1:][bad]] = True
    return out
