"""Writing results: the formats, and standard output."""

from __future__ import annotations

from lightmeter.cli.notes import result_notes
from lightmeter.cli.streams import is_terminal
from lightmeter.result import Result

FORMATS = ("table", "csv", "jsonl", "parquet", "latex", "markdown")
NARROW = 120


def render(result: Result, form: str, *, per_query: bool = False, width: int | None = None) -> bytes:
    """The table of a result in one of the formats; ``width`` is the terminal's, if there is one."""
    from lightmeter.output import records

    frame = records.finite(result.frame(per_query=per_query))
    if form in ("jsonl", "csv", "parquet"):
        return {"jsonl": records.jsonl, "csv": records.csv, "parquet": records.parquet}[form](frame)
    from lightmeter.output.grid import Grid
    from lightmeter.output.markup import latex, markdown
    from lightmeter.output.plain import printable
    from lightmeter.output.text import text_table

    grid, notes = Grid.of(frame), [printable(n) for n in result_notes(result)]
    if form == "latex":
        return latex(grid, notes).encode()
    if form == "markdown":
        return markdown(grid, notes).encode()
    return (
        text_table(grid, width or NARROW, wrap=width is not None) + "\n" + "".join(f"{n}\n" for n in notes)
    ).encode()


def terminal_width() -> int | None:
    """The width of the terminal that standard output is; None where it is none."""
    import shutil

    return shutil.get_terminal_size().columns if is_terminal() else None
