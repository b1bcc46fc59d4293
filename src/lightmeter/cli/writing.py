"""Writing results: the formats, and standard output."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from lightmeter.cli.notes import result_notes
from lightmeter.results.result import Result

NARROW = 120


def render(
    result: Result, form: str, *, per_query: bool = False, width: int | None = None, paths: Collection[str] = ()
) -> bytes:
    """The table of a result in one of the formats; ``width`` is the terminal's, if there is one.

    People are shown ``paths``, runs that have no name but their path, without the folder that all have in common.
    """
    from lightmeter.results import records

    folder = ""
    if form not in ("jsonl", "csv", "parquet"):
        result, folder = _without_folder(result, paths)

    frame = records.finite(result.frame(per_query=per_query))
    if form in ("jsonl", "csv", "parquet"):
        return {"jsonl": records.jsonl, "csv": records.csv, "parquet": records.parquet}[form](frame)
    from lightmeter.results.grid import Grid, text_table
    from lightmeter.results.markup import latex, markdown
    from lightmeter.results.text import printable

    about = [f"runs are shown without {folder}"] if folder else []
    grid, notes = Grid.of(frame), [printable(n) for n in [*result_notes(result), *about]]
    if form == "latex":
        return latex(grid, notes).encode()
    if form == "markdown":
        return markdown(grid, notes).encode()
    return (
        text_table(grid, width or NARROW, wrap=width is not None) + "\n" + "".join(f"{n}\n" for n in notes)
    ).encode()


def _without_folder(result: Result, paths: Collection[str]) -> tuple[Result, str]:
    from lightmeter.results.text import without_folder

    names, folder = without_folder(result.runs, paths)
    if not folder:
        return result, ""
    cells = [replace(c, run=names[c.run]) for c in result.cells]
    answered = {names.get(run, run): here for run, here in result.answered.items()}
    return replace(result, cells=cells, answered=answered), folder
