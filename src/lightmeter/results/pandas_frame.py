"""Tables for those who work with pandas, which lightmeter itself does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from lightmeter.errors import LightmeterError

if TYPE_CHECKING:
    import pandas as pd


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """The frame for pandas; polars' own conversion would need pyarrow's functions.

    Raises
    ------
    LightmeterError
        Where pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise LightmeterError(
            "to_pandas needs the package 'pandas', which is not installed. Type: pip install pandas"
        ) from None
    return pd.DataFrame(frame.to_dict(as_series=False))
