"""Tests of an audit: Fisher's of two selection rates, FA*IR's of all prefixes, and Holm's method over the former."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.auditing.figures import Figure
from lightmeter.auditing.rows import Row
from lightmeter.auditing.table import Attribute
from lightmeter.statistics.fair_tables import p_value
from lightmeter.statistics.significance import adjusted, fisher, shift_one

#: what is tested; rates above the median follow from the same ranking and are described only
TESTED = "selection_rate_ratio"
#: FA*IR looks at no more ranks than this
LONGEST = 10_000


def fisher_rows(figure: Figure, row: Row, *, divided: bool) -> Iterator[Row]:
    """The rows beside a ratio of selection rates: Fisher's exact test, and what one person more would change.

    ``divided``: the cutoff divides rows that are averaged.
    """
    if figure.measure != TESTED or figure.count is None or figure.size is None or row.index is None:
        return
    if figure.reference is None or row.index == figure.reference:
        return
    test, shift = replace(row, measure="fisher_p"), replace(row, measure=f"{TESTED}_shift_one")
    if row.reason == "masked":
        yield from [test] if divided else [test, shift]
        return
    if divided:  # nobody can say who is selected
        yield test.without_value("tied")
        return
    pair = (row.index, figure.reference)
    one, size, other, other_size = (int(x[i]) for i in pair for x in (figure.count, figure.size))
    yield replace(test.without_value(None), value=fisher(one, size, other, other_size))
    shifted = shift_one(one, size, other, other_size)
    yield replace(shift.without_value(None if np.isfinite(shifted) else "zero_rate"), value=shifted)


def fa_ir_rows(
    codes: Integers, attribute: Attribute, hidden: Booleans, share: Floats, cutoff: int, score: str, *, tied: bool
) -> Iterator[Row]:
    """FA*IR's p-value of each group: how likely a ranking drawn by coin flips has as few of it in some prefix.

    The shares of the pool are those of the coin, all prefixes down to the cutoff are looked at, and their number is
    accounted for. Undefined for a list of more than 10,000, where scores are tied, and for the only known group.

    Parameters
    ----------
    codes
        Group at each rank, the number of groups where unknown: those are passed over, the others close up.
    share
        Shares of the groups in the pool.
    """
    groups = len(attribute.values)
    head = codes[:cutoff]
    head = head[head < groups]
    reason = "tied" if tied else "too_long" if cutoff > LONGEST else "no_known_member"
    defined = not tied and 0 < len(head) <= LONGEST
    for a in range(groups):
        row = Row("fa_ir_p", cutoff, attribute.name, a, None, score, float("nan"), n=int(attribute.counts[a]))
        if hidden[a]:
            yield row.masked()
        elif defined and share[a] < 1:
            yield replace(row, value=float(p_value(np.cumsum(head == a), float(share[a]))))
        else:
            yield replace(row, reason=reason)


def with_holm(rows: list[Row], primary: int | None) -> tuple[list[Row], int, int]:
    """The rows with adjusted p-values after the raw ones, and the number of tests.

    Holm's method over all tests of the call: attributes, groups, cutoffs and scores. Where a cutoff was chosen
    beforehand, its tests are a family of their own, and all others are adjusted over everything.

    Returns
    -------
    rows, tests, primary_tests
    """
    tests = {_test_key(r): r.value for r in rows if r.measure == "fisher_p" and np.isfinite(r.value)}
    first = {key: p for key, p in tests.items() if primary is not None and key[0] == primary}
    value: dict[tuple[object, ...], float] = {}
    for family in (tests, first):
        value |= dict(zip(family, adjusted(list(family.values()), "holm").tolist(), strict=True))
    out = []
    for row in rows:
        out.append(row)
        if row.measure == "fisher_p":  # one without a value says why, as the test does
            out.append(replace(row, measure="fisher_p_holm", value=value.get(_test_key(row), float("nan"))))
    return out, len(tests), len(first)


def _test_key(row: Row) -> tuple[object, ...]:
    """What tells one test from another: that of the labels is the same under every score."""
    return row.cutoff, row.attribute, row.index, None if row.cutoff is None else row.score
