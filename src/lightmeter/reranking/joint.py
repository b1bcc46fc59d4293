"""FA*IR's rankings under the joint test of several protected groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightmeter.arrays import Integers, Objects
from lightmeter.reranking.base import none_of
from lightmeter.reranking.counted import Lists, best
from lightmeter.reranking.joint_test import JointTest, in_time, joint_test

if TYPE_CHECKING:
    from lightmeter.reranking.fair_top_k import FairTopK


def jointly(method: FairTopK, group: Integers, sizes: Integers, by: str) -> tuple[Integers, Objects]:
    """The first ranks of each ranking, and which prefix fails the test where one does.

    Parameters
    ----------
    method
        The reranker.
    group
        ``[rankings, ranks]``: the number of each place's protected value, one more for all other documents, and one for
        padding.
    sizes
        ``[rankings]``: how many ranks are tested.
    by
        The attribute's name.
    """
    names = list(method.shares)
    groups = len(names)
    first = np.full((len(group), int(sizes.max(initial=0))), -1, dtype=np.int64)
    why = none_of(len(group))
    has = np.stack([(group == g).sum(axis=1) for g in range(groups)], axis=1)
    # rankings of one length that have as many of each group are made side by side
    keys = np.concatenate([sizes[:, None], np.minimum(has, sizes[:, None])], axis=1)
    for key in np.unique(keys, axis=0):
        size = int(key[0])
        mine = np.flatnonzero((keys == key).all(axis=1))
        if not size:
            continue
        test = joint_test(size, list(method.shares.values()), method.alpha, adjust=method.adjust)
        made = _fill(test, group[mine], key[1:], groups)
        first[mine, :size] = made
        taken = np.stack([(np.take_along_axis(group[mine], made, axis=1) == g) for g in range(groups)])
        count = taken.cumsum(axis=2)
        chance = test.cumulative[(np.arange(size), *count)]
        short = ~test.passed[(np.arange(size), *count)]
        for row in np.flatnonzero(short.any(axis=1)).tolist():
            at = int(short[row].argmax())
            counts = ", ".join(f"{count[g, row, at]} of {name!r}" for g, name in enumerate(names))
            why[mine[row]] = (
                f"the first {at + 1} have {counts} of {by}, and so few have a chance of {chance[row, at]:.3g}, below "
                f"{test.alpha:.3g}"
            )
    return first, why


def _fill(test: JointTest, group: Integers, there: Integers, groups: int) -> Integers:
    """The first ranks of rankings that have as many documents of each group."""
    lists = Lists(group, groups + 1)
    able = in_time(test, there.tolist())
    size = len(able)
    steps = np.concatenate([np.eye(groups, dtype=np.int64), np.zeros((1, groups), dtype=np.int64)])

    def choose(rank: int, taken: Integers, heads: Integers) -> Integers:
        # whoever comes next, whom may it be: counts with one more of each group, and with none
        counts = np.minimum(taken[:, None, :groups] + steps, size)
        at = (np.full(counts.shape[:2], rank - 1), *np.moveaxis(counts, 2, 0))
        some = heads < lists.ranks
        allowed = able[at] & some
        # where nobody lets later ranks pass, whoever brings this one nearest to it
        nearest = np.where(some, test.cumulative[at], -1.0)
        nearest = nearest >= nearest.max(axis=1, keepdims=True)
        return best(heads, np.where(allowed.any(axis=1, keepdims=True), allowed, nearest), lists.ranks)

    return lists.fill(size, choose)
