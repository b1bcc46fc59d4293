"""What is said where a result is asked for one column of values and there is none, or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightmeter.errors import suggest

if TYPE_CHECKING:
    from lightmeter.results.result import Result


def not_one_column(result: Result, measure: str, run: str | None, group: str | None) -> str:
    """The message where a measure, run and group name no column of values, or several.

    Parameters
    ----------
    result
        What was asked.
    measure, run, group
        What was asked for: the measure's notation; a run and a group, or None.
    """
    known: list[str] = list(dict.fromkeys(str(m) for m in result.measures))
    if measure not in known:
        return f"the result has no measure {measure!r}.{suggest(measure, known)} It has: {', '.join(known)}."
    if run is not None and run not in result.runs:
        run = str(run)
        return f"the result has no run {run!r}.{suggest(run, result.runs)} It has: {', '.join(result.runs)}."
    cells = [c for c in result.cells if str(c.measure) == measure and run in (None, c.run)]
    named = list(dict.fromkeys(c.group for c in cells if c.group is not None))
    if group is not None and not named:
        return f"{measure} has no groups, and group {group!r} is asked for. Leave the group out."
    if group is not None and group not in named:
        return f"{measure} has no group {group!r}.{suggest(group, named)} It has: {', '.join(named)}."
    several = {"run": list(dict.fromkeys(c.run for c in cells)), "group": [] if group is not None else named}
    unsaid = {what: names for what, names in several.items() if len(names) > 1}
    there = "; ".join(f"{what}s {', '.join(names)}" for what, names in unsaid.items())
    return f"{measure} has several columns of values. Name the {' and the '.join(unsaid)}. There are the {there}."
