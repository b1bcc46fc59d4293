"""Exact tests of counts: Fisher's, and what one person more would change."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def fisher(selected: int, size: int, other: int, other_size: int) -> float:
    """Fisher's exact test, two-sided: are two groups selected at one rate?

    Parameters
    ----------
    selected, size
        Selected and members of the first group.
    other, other_size
        Of the second.

    Returns
    -------
    float
        The p-value: given both margins, how likely is a table no more probable than this one.

    Examples
    --------
    >>> round(fisher(1, 10, 9, 10), 5)
    0.00109
    """
    from scipy.stats import fisher_exact

    return float(fisher_exact([[selected, size - selected], [other, other_size - other]])[1])


def shift_one(selected: int, size: int, other: int, other_size: int) -> float:
    """The ratio of two selection rates had one person of the first group been selected in place of one of the second.

    A ratio that one person turns rests on small numbers. NaN where nobody can change places, infinite where the other
    group is left with none.

    Examples
    --------
    >>> shift_one(1, 10, 4, 10)
    0.666...
    """
    if selected >= size or other < 1:
        return float("nan")
    if other == 1:
        return float("inf")
    return ((selected + 1) / size) / ((other - 1) / other_size)
