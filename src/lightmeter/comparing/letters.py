"""The compact letter display: runs that share a letter do not differ significantly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lightmeter.arrays import Booleans

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
