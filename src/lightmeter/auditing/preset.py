"""The layout of New York City's rules on bias audits of automated employment decision tools.

Local Law 144 of 2021 (Administrative Code 20-870 and following) and the rules of the Department of Consumer and Worker
Protection, 6 RCNY 5-300 to 5-304, in force since July 2023. What they ask for, in short:

- for each sex category, race/ethnicity category and their intersections: how many were assessed, the rate, and the
  impact ratio, which is the rate over that of the category with the highest one (5-300, 5-301);
- the rate of a score is the scoring rate, the share of a category with a score above the median score of all; that of a
  selection is the selection rate;
- how many were assessed whose category is unknown and who are therefore in no rate;
- a category of less than 2% of the data may be left out of the impact ratios; its number and rate are reported, with a
  justification (5-301).
"""

from __future__ import annotations

from dataclasses import replace

from lightmeter.arrays import Booleans
from lightmeter.auditing.rows import Row
from lightmeter.auditing.table import Attribute

#: groups of less than this share of the pool are flagged, and set apart where a rule allows it
SMALL = 0.02
#: for each measure of the rules that of the audit
NAMES = {
    "count": "count",
    "pool_share": "pool_share",
    "above_median": "scoring_rate",
    "above_median_ratio": "impact_ratio",
    "selection_rate": "selection_rate",
    "selection_rate_ratio": "selection_impact_ratio",
    "fisher_p": "fisher_p",
    "fisher_p_holm": "fisher_p_holm",
    "selection_rate_ratio_shift_one": "selection_impact_ratio_shift_one",
}


def combined(groups: list[str]) -> list[str]:
    """The requested groups and, where they are two, their intersection."""
    pair = len(groups) == 2 and not any("," in g for g in groups)
    return [*groups, ",".join(groups)] if pair else groups


def ll144(rows: list[Row], attribute: Attribute, total: int) -> list[Row]:
    """The rows of an attribute that the rules ask for, by their names; small categories are in no impact ratio."""
    counts, out = attribute.counts, []
    for row in rows:
        name = NAMES.get(row.measure)
        unknown = row.index is not None and row.index >= len(counts)
        if name is None or (unknown and name not in ("count", "pool_share")):
            continue
        if name == "count" and row.cutoff is not None:
            continue
        row = replace(row, measure=name)
        compares = "ratio" in name or name.startswith("fisher")
        if compares and row.index is not None and row.reason != "masked" and counts[row.index] < SMALL * total:
            row = row.without_value("small_category")
        out.append(row)
    position = {name: i for i, name in enumerate(NAMES.values())}
    return sorted(out, key=lambda r: position[r.measure])


def small_categories(attribute: Attribute, total: int, hidden: Booleans) -> list[str]:
    """Names and shares of those set apart, the masked ones excepted."""
    return [
        f"{value} ({count / total:.2%})"
        for value, count, masked in zip(attribute.values, attribute.counts, hidden, strict=False)
        if count < SMALL * total and not masked
    ]
