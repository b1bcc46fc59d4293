"""An audit in the formats of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from lightmeter.auditing import layout

if TYPE_CHECKING:
    from lightmeter.auditing.result import AuditResult

#: what a spreadsheet takes for a formula at the beginning of a cell
_FORMULA = r"^[=+\-@\t\r\n]"


def render(result: AuditResult, form: str, *, width: int | None = None) -> bytes:
    """The audit as ``table``, ``csv``, ``jsonl``, ``parquet``, ``latex`` or ``markdown``."""
    if form in ("csv", "jsonl", "parquet"):
        return _records(result.rows, form)
    if form == "markdown":
        return layout.markdown(result).encode()
    if form == "latex":
        return layout.latex(result).encode()
    return layout.text(result, max(width or layout.WIDTH, layout.WIDTH)).encode()


def render_curve(result: AuditResult, form: str) -> bytes:
    """The curves as ``csv``, ``jsonl`` or ``parquet``."""
    return _records(result.curves, form)


def _records(frame: pl.DataFrame, form: str) -> bytes:
    from lightmeter.output import records

    if form == "csv":
        return records.csv(disarmed(frame))
    return {"jsonl": records.jsonl, "parquet": records.parquet}[form](frame)


def disarmed(frame: pl.DataFrame) -> pl.DataFrame:
    """Texts that a spreadsheet would compute get an apostrophe before them, as spreadsheets themselves do.

    Examples
    --------
    >>> disarmed(pl.DataFrame({"group": ["=1+1", "f"]}))["group"].to_list()
    ["'=1+1", 'f']
    """
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(
        pl.when(pl.col(n).str.contains(_FORMULA)).then(pl.lit("'") + pl.col(n)).otherwise(pl.col(n)).alias(n)
        for n in texts
    )
