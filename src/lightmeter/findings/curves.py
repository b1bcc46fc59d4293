"""What disparity-relevance curves show, in words, and what of it is sure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lightmeter.arrays import Floats
from lightmeter.findings.glossary import rules, user_words
from lightmeter.findings.language import LITTLE, counted, counts, listed, number, percent, quoted, short_names
from lightmeter.findings.policies import LEVEL, gaps_frame
from lightmeter.terms.notation import parse

if TYPE_CHECKING:
    from lightmeter.sweeping.result import SweepResult

BEST = "best possible"
#: Places on a curve at which two are compared.
_PLACES = np.linspace(0.01, 0.99, 99)
#: Panels up to which the areas have their intervals beside them.
MOST_INTERVALS = 6


@dataclass(frozen=True)
class Panel:
    """What distinguishes one panel from the others: a run, a user, and what counts."""

    run: str
    user: str
    by: str | None


def by_area(policies: list[str], areas: pl.DataFrame) -> list[str]:
    """Policies from the largest mean area to the smallest: the order of the lines."""
    mean = dict(areas.group_by("policy").agg(pl.col("area").fill_nan(None).mean()).iter_rows())
    return sorted(policies, key=lambda p: -(mean[p] if mean[p] is not None else -1.0))


def finding(frame: pl.DataFrame, areas: pl.DataFrame) -> str:
    """What the curves show, in words."""
    policies = by_area([p for p in frame["policy"].unique(maintain_order=True) if p != BEST], areas)
    if len(policies) == 1:
        return _of_one(frame, areas, policies[0])
    first, second = policies[:2]
    above = {}
    for panel, part in frame.group_by("panel", maintain_order=True):
        upper, lower = (_at(part.filter(pl.col("policy") == p)) for p in (first, second))
        if upper is None or lower is None:
            continue
        gap = upper - lower
        # relevance is from 0 to 1
        more = np.array([counts(float(g), LITTLE) for g in gap])
        above[str(panel[0])] = (float((more & (gap > 0)).mean()), float((more & (gap < 0)).mean()))
    return _compared(
        first,
        second,
        list(above.values()),
        len(policies),
        "run" if frame["panel"].n_unique() == frame["run"].n_unique() else "panel",
    )


def _compared(first: str, second: str, above: list[tuple[float, float]], policies: int, what: str) -> str:
    among = f"; of {policies} policies these have the largest areas" if policies > 2 else ""
    if not above or all(max(pair) == 0 for pair in above):
        return f"{first} and {second} give about the same relevance at every disparity{among}"
    ahead, behind = [a > 0.5 for a, _ in above], [b > 0.5 for _, b in above]
    if all(ahead) or all(behind):
        over, under = (first, second) if all(ahead) else (second, first)
        share = [max(pair) for pair in above]
        least = f"{percent(min(share))} of disparities" + " or more" * (len(share) > 1)
        where = "every disparity but 0 and 1" if min(share) == 1 else least
        whom = "" if len(share) == 1 else f" for both {what}s" if len(share) == 2 else f" for all {len(share)} {what}s"
        return f"{over} gives more relevance than {under} at {where}{whom}{among}"
    if not any(ahead) and not any(behind):
        whom = "" if len(above) == 1 else f" for any {what}"
        return f"Neither {first} nor {second} gives more relevance at most disparities{whom}{among}"
    if sum(behind) > sum(ahead):
        first, second, ahead, behind = second, first, behind, ahead
    rest = f", {second} for {sum(behind)}" if any(behind) else ""
    equal = len(above) - sum(ahead) - sum(behind)
    neither = f", neither for {equal}" if equal else ""
    whom = f"{sum(ahead)} of {len(above)} {what}s"
    return f"{first} gives more relevance than {second} at most disparities for {whom}{rest}{neither}{among}"


def _of_one(frame: pl.DataFrame, areas: pl.DataFrame, policy: str) -> str:
    shown = areas.filter(pl.col("area").is_finite()).sort("area", descending=True)
    names = quoted(short_names(areas["run"].unique(maintain_order=True).to_list()))
    best = {panel[0]: _at(part) for panel, part in frame.filter(pl.col("policy") == BEST).group_by("panel")}
    if len(shown) == 1:
        mine = _at(frame.filter(pl.col("policy") == policy))
        top = next(iter(best.values()), None)
        if mine is None or top is None:
            return f"{policy} gives an area of {number(shown['area'][0])}"
        share = percent(float(mine.sum() / top.sum()))
        return f"{policy} gives {share} of the relevance that is possible at equal disparity"
    if shown.is_empty():
        return f"{policy} gives no area that is defined"
    ends = []
    for _, part in shown.group_by("user", "by", maintain_order=True):
        ends.append((part.row(0, named=True), part.row(-1, named=True)))
    (top_row, last), ways = ends[0], len(ends)
    first, least = names[top_row["run"]], names[last["run"]]
    if len(names) == 1:
        return f"{policy} gives {first} areas from {number(shown['area'][-1])} to {number(shown['area'][0])}"
    leaders = [_leaders(part, names) for _, part in shown.group_by("user", "by", maintain_order=True)]
    if ways == 1 and not counts(top_row["area"] - last["area"], LITTLE):
        spread = " to ".join(dict.fromkeys(number(row["area"]) for row in (last, top_row)))
        return f"All {len(names)} runs give about the same relevance over all disparities (EEAUC {spread})"
    if ways == 1:
        who = listed(leaders[0], 3) + (" give about the same, the most," if len(leaders[0]) > 1 else " gives the most")
        areas_told = f"(EEAUC {number(top_row['area'])}), {least} the least ({number(last['area'])})"
        return f"{who} relevance over all disparities {areas_told}"
    leading = sum(who == [first] for who in leaders)
    if not leading:
        return f"{listed(leaders[0], 3)} give about the same relevance over all disparities"
    where = "both" if leading == ways == 2 else f"all {ways}" if leading == ways else f"{leading} of {ways}"
    return f"{first} gives the most relevance over all disparities in {where} ways of counting (by user and exposure)"


def _leaders(part: pl.DataFrame, names: dict[str, str]) -> list[str]:
    """The run with the largest area, and those about the same; areas are from 0 to 1."""
    top = float(part["area"].max())  # type: ignore[arg-type]
    return [names[r] for r, a in part.select("run", "area").iter_rows() if not counts(top - a, LITTLE)]


def _at(part: pl.DataFrame) -> Floats | None:
    """Relevance of a curve at the places of comparison: the largest at each disparity."""
    if part.is_empty():
        return None
    x, y = (part.sort("point")[c].to_numpy() for c in ("disparity", "relevance"))
    out = np.full(len(_PLACES), np.nan)
    for x0, x1, y0, y1 in zip(x[:-1], x[1:], y[:-1], y[1:], strict=True):
        low, high = min(x0, x1), max(x0, x1)
        inside = (low <= _PLACES) & (high >= _PLACES)
        if high > low:
            out[inside] = np.fmax(out[inside], y0 + (_PLACES[inside] - x0) * (y1 - y0) / (x1 - x0))
    return np.asarray(np.nan_to_num(out, nan=float(y[-1])))


def told_of(sweep: SweepResult, frame: pl.DataFrame, areas: pl.DataFrame, panels: list[Panel]) -> list[str]:
    users, bys = list(dict.fromkeys(p.user for p in panels)), {p.by for p in panels}
    n = sorted({int(v) for v in frame["n"].unique()})
    queries = counted(n[0], "query", "queries") if len(n) == 1 else f"{n[0]} to {n[-1]} queries"
    runs = short_names(list(dict.fromkeys(p.run for p in panels)))
    one = f"run '{next(iter(runs.values()))}'; " if len(runs) == 1 else ""
    what = f"exposure of {listed([f'groups of {b}' if b else 'documents' for b in sorted(bys, key=str)])}"
    who = listed(user_words([parse(u, kind="user") for u in users]).values()) if len(users) == 1 else listed(users)
    policies = by_area([p for p in frame["policy"].unique(maintain_order=True) if p != BEST], areas)
    more = "more relevance: by at least 1% of the ideal's" if len(policies) > 1 else ""
    moved = "alpha goes up from 0 (random order) along a line" if any(p.startswith("Pl") for p in policies) else ""
    kept = rules(sweep.conventions, ["depth", "ties"])
    return [
        f"{one}mean of {queries}; {what}; user {who}; best: top left",
        _sure(areas, len(panels), len(runs)) + _tested(sweep, policies, panels),
        "; ".join(part for part in (more, moved, kept) if part),
    ]


def _sure(areas: pl.DataFrame, panels: int, runs: int) -> str:
    """What of the picture has an interval, and the order of the panels."""
    order = "runs in the order of their area (EEAUC); " if runs > 1 else ""
    if panels > MOST_INTERVALS or not areas["low"].is_finite().any():
        return f"{order}no interval drawn"
    whose = "its 95% interval" if order else "95% interval of the area"
    return f"{order}in brackets: {whose} over queries; lines have none"


def _tested(sweep: SweepResult, policies: list[str], panels: list[Panel]) -> str:
    """In how many panels the areas of the first two policies differ beyond chance, on the same queries."""
    if len(policies) < 2:
        return "; no test"
    told = []
    for user, by in dict.fromkeys((p.user, p.by) for p in panels):
        told.append(gaps_frame(sweep, [p.run for p in panels if (p.user, p.by) == (user, by)], policies[:2], user, by))
    tested = pl.concat(told).filter(pl.col("p").is_finite())
    if tested.is_empty():
        return "; no test"
    test = f"(paired test, Holm, p\u00a0<\u00a0{LEVEL:g})"
    if len(tested) == 1:
        chance = "differ beyond chance" if tested["found"][0] else "may differ by chance"
        return f"; areas of both policies {chance} {test}"
    whose = "both policies" if len(policies) == 2 else f"{policies[0]} and {policies[1]}"
    what = "runs" if len({(p.user, p.by) for p in panels}) == 1 else "panels"
    found = f"{int(tested['found'].sum())} of {len(tested)} {what}"
    return f"; areas of {whose} differ beyond chance for {found} {test}"
