"""How often each value occurs above some places of rankings, several values counted at once.

A count needs few bits, and a whole number has 64: each value gets bits of its own, a document adds 1 in those of its
value, and one running sum along a ranking counts all of them.
"""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats, Integers

#: bits that are used: the sign stays free
BITS = 63


def words(ranks: int, values: int) -> int:
    """How many whole numbers hold the counts of some values in rankings of that many ranks."""
    return -(-values // _a_word(ranks))


def counts_at(value: Integers, values: int, places: Integers) -> Floats:
    """Counts of each value down to some places, themselves included.

    Parameters
    ----------
    value
        The value of each place, ``[rankings, ranks]``; -1 for none.
    values
        How many values there are.
    places
        Which places, as ``ranking * ranks + rank``.

    Returns
    -------
    array
        ``[values, places]``.

    Examples
    --------
    >>> import numpy as np
    >>> counts_at(np.array([[0, 1, 1], [1, -1, 1]]), 2, np.array([0, 2, 4])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]]
    """
    ranks = value.shape[1]
    bits, many = ranks.bit_length(), _a_word(ranks)
    out = np.empty((values, len(places)))
    for first in range(0, values, many):
        here = range(first, min(first + many, values))
        one = np.zeros(values + 1, dtype=np.int64)  # the last: no value
        one[here.start : here.stop] = np.left_shift(1, bits * np.arange(len(here)))
        counts = np.cumsum(one[value], axis=1).reshape(-1)[places]
        for position, of in enumerate(here):
            out[of] = counts >> (bits * position) & ((1 << bits) - 1)
    return out


def _a_word(ranks: int) -> int:
    """How many counts of up to ``ranks`` one whole number holds."""
    return BITS // max(ranks.bit_length(), 1)
