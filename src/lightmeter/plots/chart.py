"""A chart: Vega-Altair loaded when a picture is drawn, the data within it, what it shows of a result, and its file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from lightmeter.errors import LightmeterError, MissingExtraError, suggest
from lightmeter.io.files import write_whole
from lightmeter.terms.notation import parse

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


def one_of(what: str, wanted: Any, known: Iterable[Any]) -> Any:
    """The one of several that is wanted, or the only one there is.

    Raises
    ------
    LightmeterError
        Where there is no such one, or several and none is named.
    """
    there = list(dict.fromkeys(known))
    if wanted is None:
        if len(there) == 1:
            return there[0]
        told = ", ".join(str(k) for k in there[:8]) or "none"
        raise LightmeterError(f"the picture shows one {what}, and there are {len(there)}: {told}. Name one: {what}=..")
    for one in there:
        if str(one) == str(wanted):
            return one
    names = [str(k) for k in there]
    raise LightmeterError(
        f"there is no {what} {str(wanted)!r}.{suggest(str(wanted), names)} There are: {', '.join(names[:8])}."
    )


def measure_of(wanted: Any, known: Iterable[Any]) -> Any:
    """The measure that is wanted, as itself or in any notation of it; or the only one there is.

    Raises
    ------
    LightmeterError
        Where there is no such one, or several and none is named.
    """
    if isinstance(wanted, str) and all(str(k) != wanted for k in known):
        wanted = parse(wanted, kind="measure")
    return one_of("measure", wanted, known)


FORMATS = ("png", "svg", "pdf", "html")
#: Pixels of a PNG for each pixel of the chart: sharp on a screen and in print.
SCALE = 2.0


def save(chart: Chart, path: str | os.PathLike[str], *, scale: float = SCALE) -> Path:
    """Write a chart to a file, in the format that its name ends with.

    Parameters
    ----------
    chart
        A picture of this module, changed or not.
    path
        A name that ends in ``.png``, ``.svg``, ``.pdf`` or ``.html``. The page tells values under the
        pointer; all it needs is in the file, and nothing is loaded from elsewhere.
    scale
        Pixels of a PNG for each pixel of the chart.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    MissingExtraError
        Where vl-convert-python is not installed.
    LightmeterError
        For another ending, or where the file cannot be written. Nothing half-written is left behind.
    """
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise LightmeterError(
            f"{str(path)!r} does not end in the name of a format. Accepted: .png, .svg, .pdf or .html."
        )
    if not isinstance(chart, altair().TopLevelMixin):
        raise LightmeterError(f"save was given a {type(chart).__name__}. Accepted: a chart from lightmeter.plots.")
    write_whole(str(target), _made(chart, kind, scale))
    return target


def _made(chart: Chart, kind: str, scale: float) -> bytes:
    try:
        import vl_convert as convert
    except ImportError:
        raise MissingExtraError("vl-convert-python", "report", "saving a picture") from None
    spec: dict[str, Any] = chart.to_dict()
    version = ".".join(altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    if kind == "png":
        return bytes(convert.vegalite_to_png(spec, vl_version=version, scale=scale))
    if kind == "svg":
        return str(convert.vegalite_to_svg(spec, vl_version=version)).encode()
    if kind == "pdf":
        return bytes(convert.vegalite_to_pdf(spec, vl_version=version))
    # the editor's link is left out: it would send the data away
    actions = {"export": True, "source": False, "compiled": False, "editor": False}
    spec["usermeta"] = spec.get("usermeta", {}) | {"embedOptions": {"actions": actions, "renderer": "svg"}}
    return _page(spec, lambda safe: str(convert.vegalite_to_html(safe, vl_version=version, bundle=True))).encode()


def _page(spec: dict[str, Any], make: Callable[[dict[str, Any]], str]) -> str:
    """A page in which no text of the data can end the script that holds it: a document may be named ``</script>``."""
    text = json.dumps(spec, ensure_ascii=False)
    mark = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
    return make(json.loads(text.replace("<", mark))).replace(mark, "\\u003c")
