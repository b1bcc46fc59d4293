"""Draw the pictures of plots.md anew: ``python docs/pictures.py [FOLDER]``.

The code above each picture is run. Blocks marked ``py`` need the runs of the TREC 2003 Robust track, which are not part
of lightmeter: they are drawn where FOLDER holds them (``runs/*.gz`` and ``qrels.txt.gz``).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import lightmeter as lm

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"```(python|py)\n(.*?)```(?:\n\n!\[[^\]]*\]\((images/[^)]+)\))?", re.DOTALL)


def blocks() -> list[tuple[str, str, str | None]]:
    """Kind, code and picture of each block of the page."""
    found = BLOCK.findall((DOCS / "plots.md").read_text("utf-8"))
    return [(kind, code, picture or None) for kind, code, picture in found]


def robust03(folder: Path) -> dict[str, Any]:
    """What the blocks marked ``py`` start from."""
    runs = {p.name.removeprefix("input.").removesuffix(".gz"): str(p) for p in sorted((folder / "runs").glob("*.gz"))}
    collection = lm.load(run=runs, qrels=str(folder / "qrels.txt.gz"))
    sweep = lm.sweep(collection, ["PlackettLuce", "RankTransposition"], "RBP(p=0.5)")
    return {"lm": lm, "robust": collection, "sweep": sweep, "result": lm.evaluate(collection, "RBP(p=0.8)")}


def main() -> None:
    names: dict[str, dict[str, Any]] = {"python": {}}
    if len(sys.argv) > 1:
        names["py"] = robust03(Path(sys.argv[1]))
    (DOCS / "images").mkdir(exist_ok=True)
    for kind, code, picture in blocks():
        if kind in names:
            exec(compile(code, "plots.md", "exec"), names[kind])
            if picture is not None:
                print(lm.plots.save(names[kind]["chart"], DOCS / picture).name)


if __name__ == "__main__":
    main()
