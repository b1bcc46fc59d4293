"""From a page to HTML: one file, in which everything is that it needs, and every text is escaped for its place."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from typing import Any

import jinja2
from markupsafe import Markup

from lightmeter.report.parts import Page
from lightmeter.report.pictures import script
from lightmeter.results.text import printable


def html(page: Page) -> bytes:
    """The file."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lightmeter.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = [p for section in page.sections for p in section.pictures]
    specs = [p.spec for p in drawn]
    scripts = [_source(environment, "page.js")]
    if any(spec is not None for spec in specs):
        scripts.insert(0, script())
    numbers = {id(p): i for i, p in enumerate(drawn)}
    data = {"charts": specs, "rankings": page.rankings, "runs": page.runs}
    made = environment.get_template("page.html").render(
        page=page,
        sections=[s for s in page.sections if not s.empty],
        number=lambda picture: numbers[id(picture)],
        style=Markup(_source(environment, "page.css")),
        scripts=[Markup(s) for s in scripts],
        policy=_policy(scripts),
        data=Markup(in_script(data)),
        manifest=json.dumps(_finite(page.manifest), indent=2, ensure_ascii=False, default=str),
        image=_image,
        shown=printable,
    )
    return made.encode("utf-8", "backslashreplace")


def in_script(data: Any) -> str:
    """JSON that may stand within a script element: nothing in it can end the element, or start a comment.

    Examples
    --------
    >>> in_script({"doc": "</script><!--"})
    '{"doc": "\\\\u003c/script\\\\u003e\\\\u003c!--"}'
    """
    made = json.dumps(_finite(data), ensure_ascii=True, allow_nan=False, default=str)
    return made.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(data: Any) -> Any:
    """The data with null in place of NaN and infinities, which JSON has no word for."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {str(k): _finite(v) for k, v in data.items()}
    return [_finite(v) for v in data] if isinstance(data, list | tuple) else data


def _policy(scripts: list[str]) -> str:
    """What the browser may do: run these scripts and no others, load nothing, send nothing."""
    hashes = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{h}'" for h in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(environment: jinja2.Environment, name: str) -> str:
    """A file as it stands."""
    loader = environment.loader
    if loader is None:
        raise jinja2.TemplateNotFound(name)
    return loader.get_source(environment, name)[0].replace("\r\n", "\n")


def _image(svg: bytes) -> str:
    """A picture as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
