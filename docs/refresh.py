"""Put today's output into README.md and docs: ``python docs/refresh.py``; ``--check`` only says whether it is there."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str) -> str:
    """What a lightmeter command prints on standard output."""
    done = subprocess.run([sys.executable, "-m", "lightmeter", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def demo() -> str:
    """The demo's table and how to read it."""
    text = run("demo")
    table = text[text.index("measure  ") :]
    return f"```text\n{table.rstrip()}\n```\n"


def python(block: str) -> str:
    """A Python block and what it prints."""
    match = re.search(r"```python\n(.*?)```", block, re.DOTALL)
    code = match.group(1) if match else ""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    return f"```python\n{code}```\n```text\n{out.getvalue().rstrip()}\n```\n"


def console(block: str) -> str:
    """Commands on the files of the demo, and what they print on standard output."""
    import shlex
    import shutil
    import tempfile

    out = []
    with tempfile.TemporaryDirectory() as folder:
        for file in (ROOT / "src" / "lightmeter" / "demo").iterdir():
            shutil.copy(file, folder)
        for command in re.findall(r"^\$ lightmeter (.*)$", block, re.MULTILINE):
            arguments = [sys.executable, "-m", "lightmeter", *shlex.split(command)]
            done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=folder)
            out.append(f"$ lightmeter {command}\n{done.stdout}")
    return f"```console\n{''.join(out).rstrip()}\n```\n"


def catalogue() -> str:
    """The generated list of terms."""
    return run("measures", "-f", "markdown").rstrip() + "\n"


def refreshed(text: str) -> str:
    """A page with every marked block made anew."""
    made = {"demo": lambda _: demo(), "python": python, "console": console, "catalogue": lambda _: catalogue()}
    for name, make in made.items():
        pattern = re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda m, make=make: m.group(1) + make(m.group(2)) + m.group(3), text)
    return text


def pages() -> dict[Path, str]:
    """Pages with marked blocks, and how they should read."""
    found = [p for p in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if "<!-- /" in p.read_text("utf-8")]
    return {p: refreshed(p.read_text("utf-8")) for p in found}


if __name__ == "__main__":
    stale = [p for p, text in pages().items() if p.read_text("utf-8") != text]
    for page in stale:
        if "--check" not in sys.argv:
            page.write_text(pages()[page], "utf-8")
        print(("stale: " if "--check" in sys.argv else "refreshed: ") + page.name)
    sys.exit(bool(stale) and "--check" in sys.argv)
