"""Which way runs and queries lean, in words, and what is compared."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from lightmeter.findings.language import counted, counts, listed, number, short_names
from lightmeter.measures.groups import DeltaGF

EVEN = "0: balanced"


def compared(measure: Any, toward: str, away: str) -> list[str]:
    """What ``DeltaGF`` compares with what, and what it does not; of other measures nothing is known."""
    if not isinstance(measure, DeltaGF):
        return []
    until = "until something relevant is found" if measure.user.by_document else "before people stop"
    most = float(measure.bounds[1])
    ends = f", {most:.3g}: only {toward}, {-most:.3g}: only {away}" if math.isfinite(most) else ""
    return [
        f"compared: the documents read {until}; {EVEN}, half each{ends}",
        "how many of each there are is not compared: the fewer can get more exposure each, and less in all",
    ]


def leaning_finding(
    frame: pl.DataFrame,
    toward: str,
    away: str,
    run: str | None,
    names: dict[str, str],
    least: tuple[float, float],
) -> str:
    """To which side how many lean, which one most, and whose interval reaches 0.

    ``least`` tells from where on a value leans, and from where on two values differ.
    """
    value = frame["value"]
    even = value.abs() < least[0]
    unsure = ~even & (reaches(frame, least[1]) if run is None else pl.Series([False] * len(frame)))
    plus, minus = (int((~even & ~unsure & (side > 0)).sum()) for side in (value, -value))
    side, many, other, few = (toward, plus, away, minus) if plus >= minus else (away, minus, toward, plus)
    balanced = f", {int(even.sum())} about even" if even.any() else ""
    if run is not None:
        whose, of = f"'{short_names([run])[run]}'", counted(len(frame), "query", "queries")
        if not many:
            return f"{whose} is about even on {of}"
        return f"{whose} leans to {side} on {many} of {of}, to {other} on {few}{balanced}"
    hardly = _hardly(frame.filter(unsure), toward, away, names, least[1])
    if len(frame) == 1:
        who, told = names[frame["name"][0]], number(value[0])
        if hardly:
            return hardly.replace(" hardly ", " leans hardly ")
        return f"{who} is about even ({told})" if even[0] else f"{who} leans to {side} ({told})"
    if even.all():
        return "All runs are about even"
    if not many:
        told = f"No run surely leans to a side: {hardly}"
    else:
        size = (value if plus >= minus else -value).to_list()
        first = [i for i, v in enumerate(size) if not counts(max(size) - v, least[1])]
        leads = len(first) == 1 and many > 1 and not unsure[first[0]]
        most = f", {names[frame['name'][first[0]]]} the most ({number(value[first[0]])})" if leads else ""
        if many == len(frame):
            return f"Every run leans to {side}{most}"
        told = f"{many} of {counted(len(frame), 'run')} lean{'s' if many == 1 else ''} to {side}{most}"
        told += (f", {few} to {other}" if few else "") + (f"; {hardly}" if hardly else "")
    return told + balanced


def reaches(frame: pl.DataFrame, least: float) -> pl.Series:
    """Whose interval holds 0 or all but touches it."""
    if "low" not in frame.columns:
        return pl.Series([False] * len(frame))
    reach = (pl.col("low") < least) & (pl.col("high") > -least) & pl.col("low").is_finite()
    return frame.select(reach.fill_null(False)).to_series()


def _hardly(unsure: pl.DataFrame, toward: str, away: str, names: dict[str, str], least: float) -> str:
    """Who leans to which side with an interval that reaches 0, or comes nearer to it than ``least``."""
    if unsure.is_empty():
        return ""
    parts = []
    for side, mine in ((toward, unsure.filter(pl.col("value") > 0)), (away, unsure.filter(pl.col("value") < 0))):
        if len(mine):
            who = listed([names[n] for n in mine["name"]], 3)
            parts.append(f"{who} hardly to {side}")
    one, s = ("its interval", "s") if len(unsure) == 1 else ("their intervals", "")
    holds = unsure.filter(pl.col("low") <= 0, pl.col("high") >= 0)
    how = (
        f"hold{s} 0"
        if len(holds) == len(unsure)
        else f"end{s} within {least:.2g} of 0"
        if holds.is_empty()
        else f"hold 0 or end within {least:.2g} of it"
    )
    return f"{', '.join(parts)} ({one} {how})"
