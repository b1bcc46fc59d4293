"""Runs as tables for people name them: paths without the folder that all have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable


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
    cut = [r for r in runs if paths is None or r in paths]
    folder = common_folder(cut) if cut else ""
    made = {r: r.removeprefix(folder).lstrip("/") if r in cut else r for r in runs}
    if not folder or len(set(made.values())) < len(runs):
        return {r: r for r in runs}, ""
    return made, folder


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
