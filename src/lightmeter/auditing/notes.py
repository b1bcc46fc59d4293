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
from lightmeter.auditing.rows import ENOUGH, FEW, Row
from lightmeter.auditing.table import Attribute, AuditTable

#: ratios below this are described: from here down the selection rules of US agencies look closer
FOUR_FIFTHS = 0.8
_RATIOS = ("selection_rate_ratio", "selection_impact_ratio", "impact_ratio", "above_median_ratio")
_TIES = {
    "file": "tied rows stay in the order of the table",
    "error": "tied scores are refused",
    "expected": "exposure and selection are averaged over all orders of tied rows",
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
    tied = ", ".join(f"{r.tied:,} by {score}" for score, r in audit.rankings.items() if r.tied)
    out = {
        "rows": f"{len(data):,}" + (f" in {len(data.queries or []):,} queries" if audit.several else ""),
        "ties": f"{options.ties} ({_TIES[options.ties]}); tied rows: {tied or 'none'}",
        "cutoffs": ", ".join(map(str, options.cutoffs)) + ("; " if options.cutoffs else "") + "the whole list",
    }
    if options.primary is not None:
        out["primary cutoff"] = f"{options.primary}, chosen before the data were seen"
    out["exposure"] = f"mean over all members of the group; {options.users[0]}, 0 below the cutoff" + (
        f"; beside it {', '.join(map(str, options.users[1:]))}" if options.users[1:] else ""
    )
    out["reference"] = "; ".join(
        f"{a.name} {_name(a, audit.reference[a.name], hidden[a.name])}" for a in data.attributes
    )
    out["ratios of rates"] = "to the group with the highest rate" + (
        ", among those with 2% of the rows or more" if options.preset else ""
    )
    out["unknown"] = "; ".join(_unknown(a, hidden[a.name]) for a in data.attributes)
    out["min_cell"] = f"{options.min_cell}: groups with fewer people are masked, and others that would give them away"
    if any(h.any() for h in hidden.values()):
        out["min_cell"] += "; ndkl treats the masked groups as one"
    out["intervals"] = _intervals(audit)
    count, first = audit.tests
    out["tests"] = "no Fisher tests"
    if count:
        out["tests"] = f"{count} Fisher test{'s' if count > 1 else ''}; fisher_p_holm is adjusted over all of them"
        out["tests"] += f", at the primary cutoff over its {first}" if first else ""
    return out


def _intervals(audit: Summary) -> str:
    options, (top, whole) = audit.options, audit.resamples
    if not options.resamples:
        return "none requested, except exact ones for rates that rest on few people"
    if audit.several and not top:
        return f"none: there are fewer than {FEWEST_QUERIES} queries"
    kind = "percentile" if whole >= ENOUGH else "normal"
    units = "queries resampled" if audit.several else "resampled within groups"
    resamples = f"{top:,} resamples" + ("" if top == whole else f" at cutoffs, {whole:,} of the whole list")
    text = f"{options.level:.0%} {kind} bootstrap intervals, {units} ({resamples})"
    if not audit.several:
        text += f"; exact for rates that rest on fewer than {FEW} people"
        if options.preset is None:
            text += "; for ndkl from sampled rankings with the same group shares around each rank"
    return text


def _name(attribute: Attribute, index: int, hidden: Booleans) -> str:
    return "masked" if hidden[index] else attribute.values[index]


def _unknown(attribute: Attribute, hidden: Booleans) -> str:
    if hidden[-1]:
        return f"the number of people whose {attribute.name} is unknown is masked"
    if not attribute.unknown:
        return f"{attribute.name} is known for everyone"
    people = "1 person" if attribute.unknown == 1 else f"{attribute.unknown:,} people"
    return f"{attribute.name} is unknown for {people}, shown in a row of their own and in no ratio"


def cautions(audit: Summary) -> list[str]:
    """What to beware of, one sentence or two each."""
    options, data = audit.options, audit.data
    out = []
    for name in options.inferred:
        out.append(
            f"{name} is inferred, not stated by the people themselves: the intervals do not include its errors, and "
            "groups that are mixed up look more alike than they are"
        )
    for a in data.attributes:
        out += _about_groups(audit, a, audit.hidden[a.name])
    out += _ties_at_cutoffs(audit)
    if data.label is not None and options.preset is None:
        out.append(
            f"Figures per merit take {data.label_name} as merit: a label may carry the bias under study, or be known "
            "only for the people who were selected"
        )
    out += _below_four_fifths(audit)
    if options.preset is not None:
        out.append(
            "Laid out after New York City's rules, 6 RCNY 5-300 and following (Local Law 144 of 2021): scoring_rate is "
            "the share with a score above the median of all rows, and impact ratios are to the highest rate. This is a "
            "layout, not legal advice"
        )
    return out


def _about_groups(audit: Summary, attribute: Attribute, hidden: Booleans) -> list[str]:
    """Masked, single, small and unknown groups of an attribute."""
    out, preset, name = [], audit.options.preset is not None, attribute.name
    masked = int(hidden.sum())
    if masked:
        out.append(f"{name}: {masked} {'groups are' if masked > 1 else 'group is'} masked")
    if len(attribute.values) == 1:
        out.append(f"{name} has only one known group, so nothing is compared")
    small = small_categories(attribute, len(audit.data), hidden)
    if small:
        advice = "they are set apart, in no impact ratio" if preset else "read their figures with care"
        out.append(f"{name}: groups with less than 2% of the rows: {_listed(small)}; {advice}")
    if preset and attribute.unknown and not hidden[-1]:
        out.append(f"{name}: {attribute.unknown:,} people assessed are of unknown category, and in no rate")
    return out


def _ties_at_cutoffs(audit: Summary) -> list[str]:
    """Cutoffs that divide rows of equal score."""
    out = []
    for score, ranked in audit.rankings.items():
        model = f"{score}: " if len(audit.rankings) > 1 else ""
        for k in audit.options.cutoffs:
            last = np.flatnonzero((ranked.rank == k) & (ranked.length > k))
            cut = last[ranked.score[last] == ranked.score[last + 1]] if len(last) else last
            if not len(cut):
                continue
            rule = "the order of the table decides who is in; ties=expected averages"
            if audit.options.ties == "expected":
                rule = "all orders of them are averaged"
            if len(ranked.sizes) > 1:
                lists = "1 query" if len(cut) == 1 else f"{len(cut):,} queries"
                out.append(f"{model}People tie at the top-{k} cutoff in {lists}; {rule}")
            else:
                tied = int(ranked.block_size[ranked.block[cut[0]]])
                out.append(f"{model}{tied:,} people tie at the top-{k} cutoff; {rule}")
    return out


def _below_four_fifths(audit: Summary) -> list[str]:
    """Ratios under four fifths, described."""
    values = {a.name: a.values for a in audit.data.attributes}
    low = []
    for r in audit.rows:
        if r.measure in _RATIOS and r.value < FOUR_FIFTHS and r.index is not None:
            where = "" if r.cutoff is None else f" in the top {r.cutoff}"
            model = f", ranked by {r.score}" if len(audit.data.scores) > 1 else ""
            group = f"{r.attribute} {values[r.attribute][r.index]}"
            low.append(f"{r.measure} {r.value:.3f} for {group}{where}{model}")
    if not low:
        return []
    return [
        f"Ratios below four fifths of the highest rate: {_listed(low, '; ')}. Four fifths is a rule of thumb for when "
        "to look closer; it says nothing about chance (see the intervals and Fisher's test) and is no legal finding"
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
