"""The conventions in force in an audit, its cautions, and its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans
from lightmeter.auditing.bootstrap import FEWEST_QUERIES
from lightmeter.auditing.options import Options
from lightmeter.auditing.preset import small_categories
from lightmeter.auditing.ranking import RankedTable
from lightmeter.auditing.rows import ENOUGH, Row
from lightmeter.auditing.table import Attribute, AuditTable

#: ratios below this are described: from here down the selection rules of US agencies look closer
FOUR_FIFTHS = 0.8
_RATIOS = ("selection_rate_ratio", "selection_impact_ratio", "impact_ratio", "above_median_ratio")
_TIES = {
    "file": "score descending, equal scores in the order of the table",
    "error": "refused",
    "expected": "score descending, exposure and selection averaged over equal scores",
}
_MOST = 5


@dataclass(frozen=True)
class Summary:
    """What conventions and cautions are about.

    Attributes
    ----------
    data, options
        The table, its masked groups merged, and the options of the call.
    reference, hidden
        By attribute the index of its reference, and which of its groups are masked.
    rankings
        The table ranked by each score.
    rows
        All rows of the audit, as they are published.
    resamples
        The fewest resamples behind the intervals at cutoffs and behind those of the whole list.
    tests
        The number of Fisher tests, and that of the primary cutoff's.
    """

    data: AuditTable
    options: Options
    reference: dict[str, int]
    hidden: dict[str, Booleans]
    rankings: dict[str, RankedTable]
    rows: list[Row]
    resamples: tuple[int, int]
    tests: tuple[int, int]

    @property
    def several(self) -> bool:
        """Whether the table has several queries."""
        return self.data.queries is not None and len(self.data.queries) > 1


def conventions(audit: Summary) -> dict[str, str]:
    """The rules of a call in words."""
    options, data, hidden = audit.options, audit.data, audit.hidden
    tied = ", ".join(f"{score} {r.tied}" for score, r in audit.rankings.items())
    out = {
        "rows": str(len(data)) + (f" in {len(data.queries or [])} queries" if audit.several else ""),
        "ties": f"{options.ties} ({_TIES[options.ties]}); rows tied: {tied}",
        "cutoffs": ", ".join(map(str, options.cutoffs)) + ("; " if options.cutoffs else "") + "the whole list",
    }
    if options.primary is not None:
        out["primary cutoff"] = f"{options.primary}, named beforehand"
    out["exposure"] = f"mean over all members of the group; {options.users[0]}, 0 below the cutoff" + (
        f"; beside it {', '.join(map(str, options.users[1:]))}" if options.users[1:] else ""
    )
    out["reference"] = "; ".join(
        f"{a.name} {_name(a, audit.reference[a.name], hidden[a.name])}" for a in data.attributes
    )
    out["ratios of rates"] = "to the group with the highest rate" + (
        ", among those of 2% of the rows or more" if options.preset else ""
    )
    out["unknown"] = "; ".join(f"{a.name} {_unknown(a, hidden[a.name])}" for a in data.attributes) + (
        "; a row of their own, in no ratio"
    )
    out["min_cell"] = f"{options.min_cell}: groups of fewer rows are masked, and others where a total would tell" + (
        "; ndkl takes the masked ones as one group" if any(h.any() for h in hidden.values()) else ""
    )
    out["intervals"] = _intervals(audit)
    count, first = audit.tests
    if count:
        out["tests"] = f"{count} Fisher test{'s' if count > 1 else ''}; fisher_p_holm is adjusted over all of them" + (
            f", at the primary cutoff over its {first}" if first else ""
        )
    else:
        out["tests"] = "no Fisher tests"
    return out


def _intervals(audit: Summary) -> str:
    options, (top, whole) = audit.options, audit.resamples
    if not options.resamples:
        return "none asked for; those of rates that rest on few rows are exact"
    if audit.several and not top:
        return f"none: fewer than {FEWEST_QUERIES} queries"
    drawn = "queries drawn again" if audit.several else "rows drawn again within their group"
    many = f"{top} resamples" + ("" if top == whole else f" at cutoffs, {whole} of the whole list")
    how = "percentile" if whole >= ENOUGH else f"normal below {ENOUGH} resamples"
    exact = "" if audit.several else "; rates that rest on fewer than 10 rows: exact"
    if not audit.several and options.preset is None:
        exact += "; ndkl: places drawn like those around them"
    return f"{options.level:.0%}, bootstrap, {drawn}, {many}, {how}{exact}"


def _name(attribute: Attribute, index: int, hidden: Booleans) -> str:
    return "masked" if hidden[index] else attribute.values[index]


def _unknown(attribute: Attribute, hidden: Booleans) -> str:
    return "masked" if hidden[-1] else str(attribute.unknown)


def cautions(audit: Summary) -> list[str]:
    """What to beware of, one sentence or two each."""
    options, data = audit.options, audit.data
    out = []
    for name in options.inferred:
        out.append(
            f"{name} is inferred, not stated by the persons: its errors are not in the intervals, and groups that are "
            "mixed up look more alike than they are"
        )
    for a in data.attributes:
        hidden = audit.hidden[a.name]
        masked = int(hidden.sum())
        if masked:
            out.append(f"{a.name}: {masked} groups are masked")
        if len(a.values) == 1:
            out.append(f"{a.name}: there is one known group only, so nothing is compared")
        small = small_categories(a, len(data), hidden)
        if small:
            apart = "set apart, in no impact ratio" if options.preset else "read their figures with care"
            out.append(f"{a.name}: under 2% of the rows: {_listed(small)}; {apart}")
        if options.preset and a.unknown and not hidden[-1]:
            out.append(f"{a.name}: {a.unknown} assessed of unknown category, in no rate")
    out += _ties_at_cutoffs(audit)
    if data.label is not None and options.preset is None:
        out.append(
            f"figures per merit take {data.label_name} as merit: a label may carry the bias that is looked for, or be "
            "known only of those who were selected"
        )
    out += _below_four_fifths(audit)
    if options.preset is not None:
        out.append(
            "laid out after New York City's rules, 6 RCNY 5-300 and following (Local Law 144 of 2021): scoring_rate is "
            "the share above the median score of all rows, impact ratios are to the highest rate. A layout, not legal "
            "advice"
        )
    return out


def _ties_at_cutoffs(audit: Summary) -> list[str]:
    """Cutoffs that divide rows of equal score."""
    out = []
    for score, ranked in audit.rankings.items():
        for k in audit.options.cutoffs:
            last = np.flatnonzero((ranked.rank == k) & (ranked.length > k))
            cut = last[ranked.score[last] == ranked.score[last + 1]] if len(last) else last
            if not len(cut):
                continue
            if len(ranked.sizes) > 1:
                text = f"{score}: the cutoff {k} divides equal scores in {len(cut)} queries"
            else:
                tied = int(ranked.block_size[ranked.block[cut[0]]])
                text = f"{score}: the cutoff {k} divides {tied} rows of equal score"
            rule = (
                "they count in part"
                if audit.options.ties == "expected"
                else "the order of the table decides who is in; ties=expected averages"
            )
            out.append(f"{text}: {rule}")
    return out


def _below_four_fifths(audit: Summary) -> list[str]:
    """Ratios under four fifths, described."""
    values = {a.name: a.values for a in audit.data.attributes}
    low = []
    for r in audit.rows:
        if r.measure in _RATIOS and r.value < FOUR_FIFTHS and r.index is not None:
            where = "" if r.cutoff is None else f" at {r.cutoff}"
            model = f" by {r.score}" if len(audit.data.scores) > 1 else ""
            low.append(f"{r.measure} of {r.attribute} {values[r.attribute][r.index]}{where}{model} {r.value:.3f}")
    if not low:
        return []
    return [
        f"below four fifths of the highest rate: {_listed(low, '; ')}. Four fifths is a rule of thumb for looking "
        "closer; it says nothing about chance (see the intervals and Fisher's test) and is no legal finding"
    ]


def _listed(texts: list[str], joint: str = ", ") -> str:
    return joint.join(texts[:_MOST]) + (f" and {len(texts) - _MOST} more" if len(texts) > _MOST else "")


def manifest(audit: Summary, rules: dict[str, str], notes: list[str]) -> dict[str, Any]:
    """How an audit was computed."""
    from importlib.metadata import PackageNotFoundError, version

    data, options = audit.data, audit.options
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
        "users": [str(u) for u in options.users],
        "preset": options.preset,
        "conventions": rules,
        "notes": notes,
        "ignored": dict(data.ignored),
        "inputs": [{"name": data.source.name, "files": list(data.source.files)}],
    }
