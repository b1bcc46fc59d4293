"""Vega-Altair, loaded when a picture is drawn, and data in the form that a chart carries within itself."""

from __future__ import annotations

from typing import Any, TypeAlias

import polars as pl

from lightmeter.errors import MissingExtraError

#: A Vega-Altair chart: layered, faceted or concatenated. Its types are not known where altair is not installed.
Chart: TypeAlias = Any


def altair() -> Any:
    """The module altair.

    Raises
    ------
    MissingExtraError
        Where it is not installed.
    """
    try:
        import altair as alt
    except ImportError:
        raise MissingExtraError("altair", "report", "drawing") from None
    return alt


def inline(frame: pl.DataFrame) -> Any:
    """The rows of a frame as data of a chart, so that no other file is needed and no limit on rows applies.

    NaN and infinities become null: JSON has no other word for them.
    """
    floats = [n for n, t in frame.schema.items() if t.is_float()]
    clean = frame.with_columns(pl.when(pl.col(n).is_finite()).then(pl.col(n)).alias(n) for n in floats)
    return altair().InlineData(values=clean.to_dicts())
