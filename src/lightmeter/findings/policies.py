"""How far the areas below the curves of two policies are apart, run by run, and what is beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lightmeter.findings.language import LITTLE, counts, listed, quoted, short_names

if TYPE_CHECKING:
    from lightmeter.sweeping.curve import Curve
    from lightmeter.sweeping.result import SweepResult

#: Level of the tests between policies, and of the intervals.
LEVEL = 0.05
#: Areas that differ by less are equal.
EQUAL = 1e-9
#: Policies that the title compares with the first.
_MOST = 2
_SCHEMA = {"run": pl.String, "policy": pl.String, "other": pl.String} | dict.fromkeys(
    ("gap", "low", "high", "p"), pl.Float64
)


def gaps_frame(
    sweep: SweepResult, runs: Sequence[str], kinds: Sequence[str], user: str, by: str | None
) -> pl.DataFrame:
    """A row a run and other policy: ``run, policy, other, gap, low, high, p, p_adjusted, found``.

    ``gap`` is the area of the first of the policies minus that of the other. Both rank for the same queries, so the
    resamples that give the areas their intervals give the gap its standard error: the interval is Student's, and so is
    the test, which Holm's method adjusts over all rows.
    """
    from lightmeter.statistics.significance import adjusted

    known = {(c.run, c.policy): c for c in sweep.curves if c.user == user and c.by == by}
    rows = []
    for run in runs:
        for other in kinds[1:]:
            pair = known.get((run, kinds[0])), known.get((run, other))
            if pair[0] is not None and pair[1] is not None:
                rows.append((run, kinds[0], other, *_gap(pair[0], pair[1])))
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row").filter(pl.col("gap").is_finite())
    p = adjusted(frame["p"].to_numpy(), "holm") if len(frame) else np.zeros(0)
    return frame.with_columns(p_adjusted=pl.Series(p, dtype=pl.Float64)).with_columns(
        found=pl.col("p_adjusted").is_finite() & (pl.col("p_adjusted") < LEVEL)
    )


def _gap(one: Curve, other: Curve) -> tuple[float, float, float, float]:
    """The gap between two areas, the ends of its interval and the p of its test; NaN where there is none."""
    from scipy.special import stdtr, stdtrit

    gap = one.area().value - other.area().value
    n = int(one.scale.counted.sum())
    if n < 2 or not np.array_equal(one.counts, other.counts):
        return gap, np.nan, np.nan, np.nan
    drawn = one.areas_resampled - other.areas_resampled
    drawn = drawn[np.isfinite(drawn)]
    # resampled means vary less than means do, by n to n - 1
    se = float(drawn.std(ddof=1) * np.sqrt(n / (n - 1))) if len(drawn) > 1 else 0.0
    if not se > EQUAL:
        return gap, np.nan, np.nan, np.nan
    free = min(n, len(drawn)) - 1
    half = se * float(stdtrit(free, 1 - LEVEL / 2))
    return gap, gap - half, gap + half, 2 * float(stdtr(free, -abs(gap) / se))


def gap_finding(gaps: pl.DataFrame) -> str:
    """Which policy has the larger area for how many runs, and for how many there is no telling."""
    names = quoted(short_names(gaps["run"].unique(maintain_order=True).to_list()))
    first = gaps["policy"][0]
    parts = [_told(first, other, part, names) for (other,), part in gaps.group_by("other", maintain_order=True)]
    more = [f"{len(parts) - _MOST} more beside"] if len(parts) > _MOST else []
    return "; ".join(
        [parts[0], *(p.replace("No ", "no ", 1) if p.startswith("No ") else p for p in parts[1:_MOST]), *more]
    )


def _told(first: str, other: object, gaps: pl.DataFrame, names: dict[str, str]) -> str:
    n = len(gaps)
    if (gaps["gap"].abs() <= EQUAL).all():
        return f"{first} and {other} give the same area (EEAUC)"
    if not gaps["p"].is_finite().any():
        return _untested(first, other, gaps, names)
    up, down = (gaps.filter("found", sign * pl.col("gap") > 0)["run"].to_list() for sign in (1, -1))
    if not up and not down:
        whom = f"for {names[gaps['run'][0]]}" if n == 1 else f"for any of {n} runs"
        return f"No difference in area (EEAUC) between {first} and {other} is found {whom}"
    if len(down) > len(up):
        first, other, up, down = str(other), first, down, up
    whom = _whom(up, n, names)
    rest = [names[r] for r in gaps.filter(~pl.col("found"))["run"]]
    less = f", less for {listed([names[r] for r in down])}" if down else ""
    none = f"; no difference is found for {listed(rest)}" if rest else ""
    return f"{first} gives more area (EEAUC) than {other} for {whom}{less}{none}"


def _untested(first: str, other: object, gaps: pl.DataFrame, names: dict[str, str]) -> str:
    """What the numbers say where nothing could be tested."""
    # areas are from 0 to 1
    large = gaps.filter([counts(gap, LITTLE) for gap in gaps["gap"]])
    up, down = (large.filter(sign * pl.col("gap") > 0)["run"].to_list() for sign in (1, -1))
    n, near = len(gaps), [names[r] for r in gaps["run"] if r not in up and r not in down]
    if not up and not down:
        whom = _whom(gaps["run"].to_list(), n, names)
        return f"{first} and {other} give about the same area (EEAUC) for {whom} (not tested)"
    if len(down) > len(up):
        first, other, up, down = str(other), first, down, up
    less = f", less for {listed([names[r] for r in down])}" if down else ""
    same = f", about the same for {listed(near)}" if near else ""
    return f"{first} gives more area (EEAUC) than {other} for {_whom(up, n, names)}{less}{same} (not tested)"


def _whom(runs: list[str], n: int, names: dict[str, str]) -> str:
    if n == 1:
        return names[runs[0]]
    return "both runs" if len(runs) == n == 2 else f"all {n} runs" if len(runs) == n else f"{len(runs)} of {n} runs"
