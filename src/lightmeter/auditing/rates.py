"""Beside every ratio of selection rates: Fisher's exact test, and what one person more would change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lightmeter.auditing.figures import Figure
from lightmeter.auditing.rows import Row
from lightmeter.statistics.exact import fisher, shift_one

RATIOS = ("selection_rate_ratio", "above_median_ratio", "above_threshold_ratio")
#: what is tested; rates above the median follow from the same ranking and are described only
TESTED = "selection_rate_ratio"
#: with ratios below this the selection rules of US agencies begin to look closer
FOUR_FIFTHS = 0.8


def beside(figure: Figure, row: Row, *, divided: bool) -> Iterator[Row]:
    """The rows that stand beside a ratio of selection rates; ``divided``: the cutoff divides rows that are averaged."""
    if figure.measure != TESTED or figure.count is None or figure.size is None or row.index is None:
        return
    if figure.reference is None or row.index == figure.reference:
        return
    if row.reason == "masked":
        yield replace(row, measure="fisher_p")
        if not divided:
            yield replace(row, measure=f"{TESTED}_shift_one")
        return
    numbers = [figure.count[row.index], figure.size[row.index], figure.count[figure.reference]]
    numbers.append(figure.size[figure.reference])
    bare = replace(row, low=float("nan"), high=float("nan"), reason=None)
    if divided:  # nobody can say who is selected
        yield replace(bare, measure="fisher_p", value=float("nan"), reason="tied")
        return
    one, size, other, other_size = (int(x) for x in numbers)
    yield replace(bare, measure="fisher_p", value=fisher(one, size, other, other_size))
    shifted = shift_one(one, size, other, other_size)
    lost = None if np.isfinite(shifted) else "zero_rate"
    yield replace(bare, measure=f"{TESTED}_shift_one", value=shifted, reason=lost)


def holm(rows: list[Row], primary: int | None) -> tuple[list[Row], int, int]:
    """The rows with adjusted p-values after the raw ones, and how many tests were made.

    Holm's method over all tests of the call: attributes, groups, cutoffs and scores. Where a cutoff was chosen
    beforehand, its tests are a family of their own, and all others are adjusted over everything.

    Returns
    -------
    rows, tests, primary_tests
    """
    from lightmeter.statistics.adjust import adjusted

    tests = {_test(r): r.value for r in rows if r.measure == "fisher_p" and np.isfinite(r.value)}
    first = {key: p for key, p in tests.items() if primary is not None and key[0] == primary}
    value: dict[tuple[object, ...], float] = {}
    for family in (tests, first):
        value |= dict(zip(family, adjusted(list(family.values()), "holm").tolist(), strict=True))
    out = []
    for row in rows:
        out.append(row)
        if row.measure == "fisher_p":  # one without a value says why, as the test does
            out.append(replace(row, measure="fisher_p_holm", value=value.get(_test(row), float("nan"))))
    return out, len(tests), len(first)


def _test(row: Row) -> tuple[object, ...]:
    """What tells one test from another: that of the labels is the same under every score."""
    return row.cutoff, row.attribute, row.index, None if row.cutoff is None else row.score
