"""What is said about an audit: the conventions in force, and what to beware of."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.arrays import Booleans
from lightmeter.auditing.compute import FEWEST_QUERIES, One
from lightmeter.auditing.preset import small_categories
from lightmeter.auditing.ranked import RankedTable
from lightmeter.auditing.rates import FOUR_FIFTHS
from lightmeter.auditing.request import Options
from lightmeter.auditing.rows import ENOUGH, Row
from lightmeter.auditing.table import Attribute, AuditTable
from lightmeter.errors import LightmeterError, suggest

_TIES = {
    "file": "score descending, equal scores in the order of the table",
    "error": "refused",
    "expected": "score descending, exposure and selection averaged over equal scores",
}
_MOST = 5
_RATIOS = ("selection_rate_ratio", "selection_impact_ratio", "impact_ratio", "above_median_ratio")


def conventions(
    data: AuditTable,
    given: Options,
    base: dict[str, int],
    hidden: dict[str, Booleans],
    ranks: dict[str, RankedTable],
    found: dict[tuple[str, str], One],
    tests: tuple[int, int],
    several: bool,
) -> dict[str, str]:
    """The rules of a call in words."""
    tied = ", ".join(f"{score} {r.tied}" for score, r in ranks.items())
    out = {
        "rows": str(len(data)) + (f" in {len(data.queries or [])} queries" if several else ""),
        "ties": f"{given.ties} ({_TIES[given.ties]}); rows tied: {tied}",
        "cutoffs": ", ".join(map(str, given.cutoffs)) + ("; " if given.cutoffs else "") + "the whole list",
    }
    if given.primary is not None:
        out["primary cutoff"] = f"{given.primary}, named beforehand"
    out["exposure"] = f"mean over all members of the group; {given.users[0]}, 0 below the cutoff" + (
        f"; beside it {', '.join(map(str, given.users[1:]))}" if given.users[1:] else ""
    )
    out["reference"] = "; ".join(f"{a.name} {_shown(a, base[a.name], hidden[a.name])}" for a in data.attributes)
    out["ratios of rates"] = "to the group with the highest rate" + (
        ", among those of 2% of the rows or more" if given.preset else ""
    )
    out["unknown"] = "; ".join(f"{a.name} {_unknown(a, hidden[a.name])}" for a in data.attributes) + (
        "; a row of their own, in no ratio"
    )
    out["min_cell"] = f"{given.min_cell}: groups of fewer rows are masked, and others where a total would tell" + (
        "; ndkl takes the masked ones as one group" if any(h.any() for h in hidden.values()) else ""
    )
    out["intervals"] = _intervals(given, found, several)
    count, first = tests
    if count:
        out["tests"] = f"{count} Fisher test{'s' if count > 1 else ''}; fisher_p_holm is adjusted over all of them" + (
            f", at the primary cutoff over its {first}" if first else ""
        )
    else:
        out["tests"] = "no Fisher tests"
    return out


def _intervals(given: Options, found: dict[tuple[str, str], One], several: bool) -> str:
    if not given.resamples:
        return "none asked for; those of rates that rest on few rows are exact"
    least = min(o.resamples for o in found.values()), min(o.whole for o in found.values())
    if several and not least[0]:
        return f"none: fewer than {FEWEST_QUERIES} queries"
    drawn = "queries drawn again" if several else "rows drawn again within their group"
    many = f"{least[0]} resamples" + ("" if least[0] == least[1] else f" at cutoffs, {least[1]} of the whole list")
    how = "percentile" if least[1] >= ENOUGH else f"normal below {ENOUGH} resamples"
    exact = "" if several else "; rates that rest on fewer than 10 rows: exact"
    if not several and given.preset is None:
        exact += "; ndkl: places drawn like those around them"
    return f"{given.level:.0%}, bootstrap, {drawn}, {many}, {how}{exact}"


def _shown(attribute: Attribute, index: int, hidden: Booleans) -> str:
    return "masked" if hidden[index] else attribute.values[index]


def _unknown(attribute: Attribute, hidden: Booleans) -> str:
    return "masked" if hidden[-1] else str(attribute.unknown)


def check_inferred(given: Options, data: AuditTable) -> None:
    """Attributes said to be inferred are among those audited."""
    columns = list(dict.fromkeys([*(a.name for a in data.attributes), *(p for a in data.attributes for p in a.parts)]))
    for name in given.inferred:
        if name not in columns:
            raise LightmeterError(
                f"inferred: {name!r} is no group that is asked for.{suggest(str(name), columns)} "
                f"Accepted: {', '.join(columns)}."
            )


def warnings(
    data: AuditTable,
    given: Options,
    hidden: dict[str, Booleans],
    ranks: dict[str, RankedTable],
    rows: list[Row],
) -> list[str]:
    """What to beware of, one sentence or two each."""
    out = []
    for name in given.inferred:
        out.append(
            f"{name} is inferred, not stated by the persons: its errors are not in the intervals, and groups that are "
            "mixed up look more alike than they are"
        )
    for a in data.attributes:
        gone = int(hidden[a.name].sum())
        if gone:
            out.append(f"{a.name}: {gone} groups are masked")
        if len(a.values) == 1:
            out.append(f"{a.name}: there is one known group only, so nothing is compared")
        small = small_categories(a, len(data), hidden[a.name])
        if small:
            apart = "set apart, in no impact ratio" if given.preset else "read their figures with care"
            out.append(f"{a.name}: under 2% of the rows: {_some(small)}; {apart}")
        if given.preset and a.unknown and not hidden[a.name][-1]:
            out.append(f"{a.name}: {a.unknown} assessed of unknown category, in no rate")
    out += _divided(given, ranks)
    if data.label is not None and given.preset is None:
        out.append(
            f"figures per merit take {data.label_name} as merit: a label may carry the bias that is looked for, or be "
            "known only of those who were selected"
        )
    out += _below(rows, data)
    if given.preset is not None:
        out.append(
            "laid out after New York City's rules, 6 RCNY 5-300 and following (Local Law 144 of 2021): scoring_rate is "
            "the share above the median score of all rows, impact ratios are to the highest rate. A layout, not legal "
            "advice"
        )
    return out


def _divided(given: Options, ranks: dict[str, RankedTable]) -> list[str]:
    """Cutoffs that divide rows of equal score."""
    out = []
    for score, ranked in ranks.items():
        for k in given.cutoffs:
            inner = (ranked.rank == k) & (ranked.length > k)
            at = np.flatnonzero(inner)
            cut = at[ranked.score[at] == ranked.score[at + 1]] if len(at) else at
            if not len(cut):
                continue
            if len(ranked.sizes) > 1:
                text = f"{score}: the cutoff {k} divides equal scores in {len(cut)} queries"
            else:
                many = int(ranked.block_size[ranked.block[cut[0]]])
                text = f"{score}: the cutoff {k} divides {many} rows of equal score"
            rule = (
                "they count in part"
                if given.ties == "expected"
                else "the order of the table decides who is in; ties=expected averages"
            )
            out.append(f"{text}: {rule}")
    return out


def _below(rows: list[Row], data: AuditTable) -> list[str]:
    """Ratios under four fifths, described."""
    by_name = {a.name: a for a in data.attributes}
    low = [r for r in rows if r.measure in _RATIOS and r.value < FOUR_FIFTHS and r.index is not None]
    if not low:
        return []
    told = []
    for r in low:
        values = by_name[r.attribute].values
        where = "" if r.cutoff is None else f" at {r.cutoff}"
        model = f" by {r.score}" if len(data.scores) > 1 else ""
        told.append(f"{r.measure} of {r.attribute} {values[r.index]}{where}{model} {r.value:.3f}")  # type: ignore[index]
    return [
        f"below four fifths of the highest rate: {_some(told, '; ')}. Four fifths is a rule of thumb for looking "
        "closer; it says nothing about chance (see the intervals and Fisher's test) and is no legal finding"
    ]


def _some(texts: list[str], joint: str = ", ") -> str:
    return joint.join(texts[:_MOST]) + (f" and {len(texts) - _MOST} more" if len(texts) > _MOST else "")


def manifest(data: AuditTable, given: Options, rules: dict[str, str], told: list[str]) -> dict[str, Any]:
    """How an audit was made."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("lightmeter")
    except PackageNotFoundError:
        number = "unknown"
    return {
        "lightmeter": number,
        "scores": list(data.scores),
        "groups": [a.name for a in data.attributes],
        "label": data.label_name,
        "rows": len(data),
        "queries": len(data.queries) if data.queries is not None else None,
        "users": [str(u) for u in given.users],
        "preset": given.preset,
        "conventions": rules,
        "notes": told,
        "ignored": dict(data.ignored),
        "inputs": [{"name": data.source.name, "files": list(data.source.files)}],
    }
