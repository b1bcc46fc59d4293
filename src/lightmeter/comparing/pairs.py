"""Which pairs of runs differ: one test per pair and column, adjusted over the call, and letters that show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.comparing.columns import Column, Ends
from lightmeter.statistics.significance import PAIRED, Form, adjusted, paired_test, randomised_tukey

TESTS = ("tukey", *PAIRED)
#: resamples unless more are given, or needed so that something can be significant
RESAMPLES = 5000
_ENOUGH = 250_000

PAIRS = {
    "run_a": pl.String,
    "run_b": pl.String,
    "measure": pl.String,
    "group": pl.String,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "effect": pl.Float64,
    "test": pl.String,
    "n": pl.Int64,
    "wins": pl.Int64,
    "losses": pl.Int64,
    "ties": pl.Int64,
    "normality": pl.Float64,
    "reason": pl.String,
}


@dataclass(frozen=True)
class Plan:
    """How runs are tested.

    Attributes
    ----------
    test, alpha, adjust
        Name of the test, level, and adjustment for many tests.
    resamples, rng
        Permutations or resamples, and the seed.
    pairs
        Indices of the runs of each pair, ``[pairs, 2]``.
    form
        Form of the p-value of Tukey's test.
    """

    test: str
    alpha: float
    adjust: str
    resamples: int
    rng: int
    pairs: Integers
    form: Form


def pairs_of(runs: int, baseline: int | None) -> Integers:
    """All pairs of runs, or each run with the baseline (the second of the pair)."""
    if baseline is not None:
        return np.array([(i, baseline) for i in range(runs) if i != baseline], dtype=np.int64).reshape(-1, 2)
    return np.array([(i, j) for i in range(runs) for j in range(i + 1, runs)], dtype=np.int64).reshape(-1, 2)


def default_adjust(test: str) -> str:
    """Tukey's test takes care of its pairs itself."""
    return "none" if test == "tukey" else "holm"


def enough(test: str, tests: int, alpha: float) -> int:
    """Resamples by default: for tests that are adjusted afterwards so many that something can be significant."""
    needed = math.ceil(1.2 * tests / alpha) if test in ("randomization", "bootstrap") else 0
    return min(max(RESAMPLES, needed), _ENOUGH)


@dataclass(frozen=True)
class Tested:
    """Tests of one column: an entry a pair."""

    difference: Floats
    p: Floats
    effect: Floats
    normality: Floats
    reason: list[str | None]


def tests_of(column: Column, plan: Plan) -> Tested:
    """Test the pairs of one column."""
    a, b = plan.pairs.T
    number = len(plan.pairs)
    nothing = np.full(number, np.nan)
    difference = column.mean[a] - column.mean[b]
    if column.n < 2:
        return Tested(difference, nothing, nothing, nothing, ["few_queries"] * number)
    if plan.test == "tukey":
        found = randomised_tukey(column.common, permutations=plan.resamples, rng=plan.rng, form=plan.form)
        return Tested(difference, found.p[a, b], found.effect[a, b], nothing, [None] * number)
    differences = column.common[a] - column.common[b]
    result = paired_test(differences, plan.test, resamples=plan.resamples, rng=plan.rng, tol=column.tol)
    return Tested(difference, result.p, result.effect, result.normality, result.reason)


def table_of_pairs(columns: list[Column], runs: list[str], plan: Plan, ends: list[Ends]) -> pl.DataFrame:
    """The table of pairs, columns one after the other; ``ends`` are their intervals."""
    tested = [tests_of(column, plan) for column in columns]
    p = np.concatenate([t.p for t in tested])
    frames = []
    p_adjusted = np.split(adjusted(p, plan.adjust), len(columns))
    for column, found, corrected, intervals in zip(columns, tested, p_adjusted, ends, strict=True):
        wins, losses, ties = _wins(column, plan)
        frames.append(
            pl.DataFrame(
                {
                    "run_a": [runs[i] for i in plan.pairs[:, 0]],
                    "run_b": [runs[i] for i in plan.pairs[:, 1]],
                    "measure": str(column.measure),
                    "group": column.group,
                    "difference": found.difference,
                    "low": intervals.low,
                    "high": intervals.high,
                    "p": found.p,
                    "p_adjusted": corrected,
                    "effect": found.effect,
                    "test": plan.test,
                    "n": column.n,
                    "wins": wins,
                    "losses": losses,
                    "ties": ties,
                    "normality": found.normality,
                    "reason": found.reason,
                },
                schema=PAIRS,
            )
        )
    return pl.concat(frames)


def _wins(column: Column, plan: Plan) -> tuple[Integers, Integers, Integers]:
    """Queries on which the first run is better, worse, and neither."""
    better = column.sign * (column.common[plan.pairs[:, 0]] - column.common[plan.pairs[:, 1]])
    wins, losses = (better > column.tol).sum(axis=1), (better < -column.tol).sum(axis=1)
    return wins, losses, column.n - wins - losses


def different(column: Column, pairs: pl.DataFrame, plan: Plan, runs: int) -> Booleans:
    """Which pairs of runs differ significantly, ``[runs, runs]``; ``pairs`` are those of the column."""
    out = np.zeros((runs, runs), dtype=bool)
    below = pairs["p_adjusted"].to_numpy() < plan.alpha
    out[plan.pairs[:, 0], plan.pairs[:, 1]] = below
    return out | out.T


def smallest(test: str, resamples: int, n: int) -> float:
    """The smallest p-value that a test of resamples can give."""
    if test == "randomization" and n < 60 and 2**n <= resamples:
        return float(2.0 ** (1 - n))
    return 1.0 / (resamples + 1) if test in ("tukey", "randomization", "bootstrap") else 0.0


#: more groups of runs than this are no longer compact
_MOST = 500


def letters(order: Sequence[int], different: Any) -> list[str] | None:
    """Letters for runs so that two runs share one if, and only if, they do not differ significantly.

    Parameters
    ----------
    order
        The runs from best to worst: the best gets the first letter.
    different
        ``[runs, runs]``, symmetric: which pairs differ.

    Returns
    -------
    list of str or None
        Letters of each run; None where no compact display exists (differences that follow no order at all).

    Notes
    -----
    Insert and absorb: start from one group of all runs, split each group at every pair that differs, drop groups that
    lie within others; then drop groups all of whose pairs stand in others. Source: Piepho, Journal of Computational
    and Graphical Statistics 2004.

    Examples
    --------
    >>> letters([0, 1, 2], [[False, False, True], [False, False, False], [True, False, False]])
    ['a', 'ab', 'b']
    """
    differ: Booleans = np.asarray(different, dtype=bool)
    place = {run: i for i, run in enumerate(order)}
    groups = [(1 << len(order)) - 1]
    for i, j in zip(*np.nonzero(np.triu(differ, 1)), strict=True):
        groups = _split(groups, 1 << place[int(i)], 1 << place[int(j)])
        if len(groups) > _MOST:
            return None
    groups = _sweep(groups)
    groups.sort(key=_places)
    names = [letter(i) for i in range(len(groups))]
    return ["".join(n for n, g in zip(names, groups, strict=True) if g >> place[run] & 1) for run in range(len(order))]


def letter(number: int) -> str:
    """a, .., z, A, .., Z, and then (53), (54), ..

    Examples
    --------
    >>> letter(0), letter(26), letter(52)
    ('a', 'A', '(53)')
    """
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return alphabet[number] if number < len(alphabet) else f"({number + 1})"


def _split(groups: list[int], one: int, two: int) -> list[int]:
    """Groups none of which holds both runs, and none of which lies within another."""
    both = one | two
    kept = [g for g in groups if g & both != both]
    parts = {g & ~run for g in groups if g & both == both for run in (one, two)}
    out = list(kept)
    for part in sorted(parts, key=lambda g: -g.bit_count()):
        if not any(part & ~g == 0 for g in out):
            out.append(part)
    return out


def _sweep(groups: list[int]) -> list[int]:
    """Without the groups whose pairs other groups have too."""
    kept = sorted(groups, key=lambda g: g.bit_count())
    for group in list(kept):
        others = [g for g in kept if g != group]
        if all(_shared(others, 1 << i, 1 << j) for i in _places(group) for j in _places(group) if i <= j):
            kept = others
    return kept


def _shared(groups: list[int], one: int, two: int) -> bool:
    return any(g & one and g & two for g in groups)


def _places(group: int) -> list[int]:
    return [i for i in range(group.bit_length()) if group >> i & 1]
