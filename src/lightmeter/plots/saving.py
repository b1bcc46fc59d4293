"""Writing a picture to a file: PNG, SVG, PDF, or a page that needs no network."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lightmeter.errors import LightmeterError, MissingExtraError
from lightmeter.io.files import write_whole
from lightmeter.plots.backend import Chart, altair

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
