"""Which ranks a log can tell about, and why not the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import AnyArray, Booleans, Floats
from lightmeter.clicks.log import Cells
from lightmeter.clicks.pairs import harvest
from lightmeter.errors import LightmeterError

#: What a reason says, in words.
REASONS = {
    "not_shown": "no document was shown there",
    "few_observations": "too few showings",
    "no_click": "no click there",
    "not_connected": "no clicked document seen at several ranks ties it to the reference, directly or over others",
    "few_clicks": "estimated, but too few clicks for an interval",
    "few_queries": "estimated, but one query alone gives no interval",
}
_SHOWN = 6


def reasons_of(cells: Cells, reference: int, least: float, *, connected: bool) -> AnyArray:
    """A reason for each rank that cannot be estimated, None for the others.

    Parameters
    ----------
    cells
        The log.
    reference
        The reference rank, counted from 0.
    least
        How many showings a rank needs.
    connected
        Whether ranks must be tied by documents seen at several of them.
    """
    reasons: AnyArray = np.full(cells.ranks, None, dtype=object)
    shown, clicks = cells.by_rank(cells.shown), cells.by_rank(cells.clicks)
    reasons[clicks == 0] = "no_click"
    reasons[shown < least] = "few_observations"
    reasons[shown == 0] = "not_shown"
    _refuse_reference(reasons, reference, shown, least)
    if connected:
        usable = np.equal(reasons, None)  # type: ignore[call-overload]
        tied = near(cells.some(usable[cells.rank]), reference)
        reasons[usable & ~tied] = "not_connected"
    lost = np.not_equal(reasons, None)  # type: ignore[call-overload]
    if lost.all() or (~lost).sum() == 1:
        raise _nothing(cells, reasons, reference, least)
    return reasons


def near(cells: Cells, reference: int) -> Booleans:
    """The ranks that clicks tie to the reference, in both directions.

    A tie from k to l is a click at k on a document also seen at l. With ties in one direction only, the likelihood
    would rise for ever as the weight of one side falls to 0.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, group = connected_components(csr_array(harvest(cells) > 0), directed=True, connection="strong")
    return np.asarray(group == group[reference])


def _refuse_reference(reasons: AnyArray, reference: int, shown: Floats, least: float) -> None:
    at = reference + 1
    if reference < len(reasons) and reasons[reference] is None:
        return
    why = "not_shown" if reference >= len(reasons) else str(reasons[reference])
    good = [k + 1 for k, reason in enumerate(reasons) if reason is None]
    words = REASONS[why] + (
        f" ({shown[reference]:g}, at least {least:g} are needed)" if why == "few_observations" else ""
    )
    hint = f"Relative to another rank: reference={good[0]}." if good else "A longer log is needed."
    raise LightmeterError(f"the reference rank {at} cannot be estimated: {words}. {hint}")


def _nothing(cells: Cells, reasons: AnyArray, reference: int, least: float) -> LightmeterError:
    """The error where no rank but the reference can be estimated."""
    told = "; ".join(told_reasons(reasons))
    if "not_connected" not in reasons.tolist():
        if cells.ranks == 1:
            return LightmeterError(
                "all rows have rank 1, and one rank alone has no curve. Accepted: at least two ranks."
            )
        return LightmeterError(
            f"no rank but {reference + 1} can be estimated: {told}. A longer log is needed (at least {least:g} "
            "showings and a click at each rank)."
        )
    return LightmeterError(
        f"not identifiable: attention and relevance cannot be told apart. {told}. Ranks tied by documents: "
        f"{_groups(cells)}. Accepted: a log in which documents change their ranks, or method 'rate' where ranks were "
        "random."
    )


def _groups(cells: Cells) -> str:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(csr_array(harvest(cells) > 0), directed=True, connection="strong")
    sets = [f"{{{ranges(np.flatnonzero(group == g) + 1)}}}" for g in range(count)]
    return ", ".join(sets[:_SHOWN]) + (", .." if count > _SHOWN else "")


def told_reasons(reasons: AnyArray) -> list[str]:
    """One text a reason, with the ranks it holds for."""
    kinds = dict.fromkeys(r for r in reasons.tolist() if r is not None)
    found = [(kind, np.flatnonzero([r == kind for r in reasons]) + 1) for kind in kinds]
    return [f"rank{'s' if len(at) > 1 else ''} {ranges(at)}: {kind} ({REASONS[kind]})" for kind, at in found]


def ranges(numbers: NDArray[np.integer]) -> str:
    """Numbers in ascending order with runs shortened.

    Examples
    --------
    >>> ranges(np.array([1, 2, 3, 7, 9, 10]))
    '1-3, 7, 9-10'
    """
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts if len(p))
