"""Writing a report."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightmeter.auditing.result import AuditResult
from lightmeter.comparing.comparison import Comparison
from lightmeter.data.collection import Collection
from lightmeter.errors import LightmeterError, MissingExtraError
from lightmeter.evaluation.evaluate import ranked_context
from lightmeter.io.files import check_writable, write_whole
from lightmeter.measures.context import Context
from lightmeter.results.result import Result
from lightmeter.sweeping.result import SweepResult

if TYPE_CHECKING:
    from lightmeter.report.parts import Table

_NEEDED = (("jinja2", "jinja2"), ("altair", "altair"), ("vl_convert", "vl-convert-python"))


def check_report(path: str, option: str = "--report") -> None:
    """Refuse, before any work is done, what cannot become a report.

    Raises
    ------
    MissingExtraError
        Where a package of the extra ``report`` is not installed.
    LightmeterError
        Where the name does not end in ``.html``, or nothing can be written there.
    """
    if os.path.splitext(path)[1].lower() not in (".html", ".htm"):
        raise LightmeterError(f"{option} {path}: the name does not end in .html. Accepted: such as report.html.")
    for module, package in _NEEDED:
        if find_spec(module) is None:
            raise MissingExtraError(package, "report", "a report")
    check_writable(path, option)


def write_report(
    made: Result | Comparison | SweepResult | AuditResult,
    path: str | os.PathLike[str],
    *,
    collection: Collection | None = None,
) -> Path:
    """Write a result as one HTML file, which needs no network and no other file.

    It holds a summary in plain words, tables that sort and filter, pictures, what was undefined and why, the
    conventions, and how to make it again. Tables and pictures are there without JavaScript too.

    Parameters
    ----------
    made
        From :func:`lightmeter.evaluate`, :func:`lightmeter.compare`, :func:`lightmeter.sweep` or
        :func:`lightmeter.audit`. Of an audit the report shows groups only, masked as in the audit.
    path
        A name that ends in ``.html``.
    collection
        What was evaluated or compared. With it the report shows rankings too: the first 20 documents of the 50 queries
        that matter most.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    MissingExtraError
        Where a package of the extra ``report`` is not installed.
    LightmeterError
        Where there is no report of such a thing, the collection is another one, or the file cannot be written. Nothing
        half-written is left behind.

    Examples
    --------
    >>> import lightmeter as lm, tempfile
    >>> c = lm.load(run={"q1": ["d1", "d2"]}, qrels={"q1": {"d1": 0, "d2": 1}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = lm.write_report(lm.evaluate(c, ["nDCG@10"]), f"{folder}/report.html", collection=c)
    ...     path.name, path.stat().st_size > 10_000
    ('report.html', True)
    """
    if not isinstance(path, str | os.PathLike):
        raise LightmeterError(f"path is {path!r}. Accepted: the name of a file, such as 'report.html'.")
    if not isinstance(collection, Collection | None):
        raise LightmeterError(f"collection is {collection!r}. Accepted: what lightmeter.load gives, or None.")
    check_report(os.fspath(path), "path")
    context = None
    if collection is not None and isinstance(made, Result | Comparison):
        context = _context(made, collection)
    write_whole(os.fspath(path), content_of(made, context=context))
    return Path(path)


def _context(made: Result | Comparison, collection: Collection) -> Context:
    """The rankings that a result was computed of, by its own conventions."""
    result = made.result if isinstance(made, Comparison) else made
    queries = [collection.queries[q] for q in collection.evaluated]
    if queries != result.queries or set(result.runs) - set(collection.runs):
        raise LightmeterError(
            "the collection is not the one that the result was computed of: its queries or runs are others. Accepted: "
            "the same collection, or none; then the report shows no rankings."
        )
    depth = re.fullmatch(r"first (\d+) ranks", made.conventions.get("depth", ""))
    return ranked_context(collection, made.conventions.get("policy"), None, int(depth[1]) if depth else None)


def content_of(
    made: Any, *, context: Context | None = None, manifest: dict[str, Any] | None = None, people: Table | None = None
) -> bytes:
    """The bytes of a report; ``manifest`` in place of the result's own where more is known of how it was made."""
    from lightmeter.report.page import html

    known = manifest if manifest is not None else getattr(made, "manifest", {})
    if isinstance(made, Comparison):
        from lightmeter.report.of_comparison import comparison_page

        return html(comparison_page(made, context, known))
    if isinstance(made, Result):
        from lightmeter.report.of_result import result_page

        return html(result_page(made, context, known))
    if isinstance(made, SweepResult):
        from lightmeter.report.of_sweep import sweep_page

        return html(sweep_page(made, known))
    if isinstance(made, AuditResult):
        from lightmeter.report.of_audit import audit_page

        return html(audit_page(made, known, people))
    raise LightmeterError(
        f"write_report was given a {type(made).__name__}. Accepted: what evaluate, compare, sweep or audit return."
    )
