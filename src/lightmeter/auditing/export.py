"""An audit in the formats of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from lightmeter.auditing import layout

if TYPE_CHECKING:
    from lightmeter.auditing.result import AuditResult


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
    from lightmeter.results import records

    return {"csv": records.csv, "jsonl": records.jsonl, "parquet": records.parquet}[form](frame)
