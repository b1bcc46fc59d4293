"""Texts for people: numbers with the digits they need, reasons in words, what a terminal can show.

No data frames are needed here, so that a message does not wait for them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence

#: What a reason says, in words; measures of plugins may have others.
REASONS = {
    "no_relevant": "no relevant document in the judgments",
    "not_in_run": "judged, but not answered by the run",
    "no_known_member": "the group of no ranked document is known",
    "no_target": "there is no target to compare with",
    "empty_group": "a group without a document",
    "zero_merit": "a group without merit",
    "zero_target_share": "a group whose target share is 0",
    "whole_target_share": "a group whose target share is 1",
    "unknown_member": "a document of unknown membership",
    "no_pairs": "no pair of a more and a less relevant document",
    "short_ranking": "the ranking is too short",
    "zero_exposure": "what is compared or divided by has no exposure",
    "small_group": "a group below the size asked for, left out",
    "across_queries": "one value for all queries together, none by query",
    "no_intent": "no document is relevant to any intent",
    "no_segment": "no query has a label",
    "few_samples": "too few sampled rankings",
    "no_query": "no query to average over",
    "infinite": "the value is infinite",
    "undefined": "the measure has no value there",
    "no_disparity_range": "the ranking as given shares exposure out no less evenly than chance",
    "no_relevant_retrieved": "no relevant document among the candidates",
    "no_frontier": "the best is known for documents and users who know the rank only",
}


def printable(text: str) -> str:
    """The text with control characters shown instead of obeyed."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def number(value: float | None) -> str:
    """A number for people: four decimals, or as many digits as it needs where those would say nothing."""
    if value is None:
        return "-"
    if value and abs(value) < 0.00005:
        return f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 10_000 else f"{value:.6g}"


def error(se: float) -> str:
    """A standard error for people: a number, and a plain 0 where there is none."""
    return number(se) if se else "0"


def beside(value: float, threshold: float) -> str:
    """A number that is compared with another: as many digits as tell the two apart.

    Examples
    --------
    >>> beside(1 / 3, 0.8), beside(0.79999999, 0.8), beside(50.0, 40.0)
    ('0.3333', '0.79999999', '50')
    """
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    shown = number(value)
    return shown if value == threshold or float(shown) != float(number(threshold)) else repr(value)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> list[str]:
    """Lines of a table: the first ``texts`` columns to the left, the others (numbers) to the right."""
    table = [header, *rows]
    widths = [max(cells(row[i]) for row in table) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        parts = [_pad(cell, widths[i], left=i < texts) for i, cell in enumerate(row)]
        return "  ".join(parts).rstrip()

    return [line(header), "  ".join("-" * w for w in widths), *map(line, rows)]


def cells(text: str) -> int:
    """How many places a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - cells(text))
    return text + space if left else space + text


def without_folder(runs: Iterable[str], paths: Collection[str] | None = None) -> tuple[dict[str, str], str]:
    """What to show for each run, and the folder that is left out (empty where none is).

    Parameters
    ----------
    runs
        The runs of a table.
    paths
        Those of them that are paths; others were named, and their names stay. None: all of them.

    Examples
    --------
    >>> without_folder(["runs/a.run", "runs/b.run"])
    ({'runs/a.run': 'a.run', 'runs/b.run': 'b.run'}, 'runs/')
    >>> without_folder(["runs/a.run", "runs/b"], paths=["runs/a.run"])
    ({'runs/a.run': 'a.run', 'runs/b': 'runs/b'}, 'runs/')
    """
    runs = list(dict.fromkeys(runs))
    paths_shown = [r for r in runs if paths is None or r in paths]
    folder = common_folder(paths_shown) if paths_shown else ""
    shown = {r: r.removeprefix(folder).lstrip("/") if r in paths_shown else r for r in runs}
    if not folder or len(set(shown.values())) < len(runs):
        return {r: r for r in runs}, ""
    return shown, folder


def common_folder(paths: list[str]) -> str:
    """The folder that all paths lie in, with its last slash.

    Examples
    --------
    >>> common_folder(["runs/a/x", "runs/ab/x"]), common_folder(["a", "b"]), common_folder(["/a", "/b"])
    ('runs/', '', '')
    """
    shared = []
    for parts in zip(*(p.rstrip("/").split("/")[:-1] for p in paths), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "".join(f"{part}/" for part in shared) if any(shared) else ""
