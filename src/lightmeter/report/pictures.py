"""Charts on the page: a drawing that stands on its own, and a description that a browser can bring to life."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import altair
import vl_convert

from lightmeter.errors import LightmeterError
from lightmeter.report.parts import Picture

#: characters of a description that goes into the page; larger ones stay a drawing
LARGEST = 400_000
#: bytes of a drawing in vectors; of larger ones dots may take fewer
LARGEST_SVG = 800_000
#: pictures of one page
MOST = 12
_SNIPPET = "window.vegaEmbed = vegaEmbed;"

Maker = tuple[Callable[[], Any], str]


def pictures(makers: Iterable[Maker]) -> list[Picture]:
    """Charts drawn, each with a word on how to read it; those that the data do not allow are left out."""
    out: list[Picture] = []
    for make, about in makers:
        if len(out) == MOST:
            break
        try:
            chart = make()
        except LightmeterError:  # nothing to draw: no two measures, no group, nowhere defined
            continue
        out.append(picture(chart, about))
    return out


def picture(chart: Any, about: str) -> Picture:
    """One chart drawn."""
    spec: dict[str, Any] = chart.to_dict()
    title = spec.get("title", {}).get("text", "")
    words = title if isinstance(title, str) else " ".join(title)
    drawn = str(vl_convert.vegalite_to_svg(spec, vl_version=_version())).encode()
    width = _width(drawn)
    if len(drawn) > LARGEST_SVG:
        dots = _framed(bytes(vl_convert.vegalite_to_png(spec, vl_version=_version(), scale=1.0)), drawn)
        drawn = min(drawn, dots, key=len)
    spec["description"] = words
    small = len(json.dumps(spec)) <= LARGEST
    return Picture(words, about, drawn, spec if small else None, width)


@cache
def script() -> str:
    """Vega, Vega-Lite and vega-embed as one script, which comes with vl-convert."""
    made = str(vl_convert.javascript_bundle(_SNIPPET, vl_version=_version()))
    # nothing in a script may look like its end
    return made.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r", "")


def _version() -> str:
    return ".".join(str(altair.SCHEMA_VERSION).removeprefix("v").split(".")[:2])


def _width(svg: bytes) -> int:
    import re

    found = re.search(rb'<svg[^>]*?\swidth="([\d.]+)"', svg)
    return round(float(found[1])) if found else 600


def _framed(png: bytes, svg: bytes) -> bytes:
    """A picture of dots within an SVG of the size of the one that it replaces."""
    import base64
    import re

    found = re.search(rb'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"', svg)
    width, height = (found[1].decode(), found[2].decode()) if found else ("600", "400")
    inside = base64.b64encode(png).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{inside}"/></svg>'
    ).encode()
