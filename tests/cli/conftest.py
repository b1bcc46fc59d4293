"""A small collection on disk, and the command line as a function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lightmeter.cli import main

FILES = {
    "a.run": "q1 Q0 d1 1 3 a\nq1 Q0 d2 2 2 a\nq1 Q0 d3 3 1 a\nq2 Q0 d1 1 2 a\nq2 Q0 d4 2 1 a\n",
    "b.run": "q1 Q0 d3 1 3 b\nq1 Q0 d1 2 2 b\nq1 Q0 d2 3 1 b\n",
    "tied.run": "q1 Q0 d1 1 1 t\nq1 Q0 d2 2 1 t\nq2 Q0 d4 1 1 t\n",
    "sampled.run": "q1 1 d1 1 2 s\nq1 1 d2 2 1 s\nq1 2 d2 1 2 s\nq1 2 d1 2 1 s\nq1 3 d1 1 2 s\nq1 3 d2 2 1 s\n"
    "q2 1 d4 1 2 s\nq2 2 d4 1 2 s\nq2 3 d4 1 2 s\n",
    "qrels.txt": "q1 0 d1 0\nq1 0 d2 1\nq1 0 d3 2\nq2 0 d4 1\nq2 0 d5 0\n",
    "none.qrels": "q1 0 d1 0\nq2 0 d4 0\n",
    "groups.csv": "doc,gender,level,age,size\nd1,f,low,12.5,big\nd2,m,mid,40.1,\nd3,m,high,33,big\nd4,f,low,70,small\n",
    "targets.csv": "attribute,value,share\ngender,f,0.5\ngender,m,0.5\n",
    "queries.csv": "query,kind\nq1,long\nq2,short\n",
    "sequence.csv": "0.0,q1\n0.1,q1\n0.2,q2\n",
    "log.csv": "qid,item,p,brand,kind\n"
    "q1,d1,3,x,long\nq1,d2,2,y,long\nq1,d3,1,y,long\nq2,d4,1,x,short\nq2,d1,0.5,y,short\n",
}


@dataclass(frozen=True)
class Done:
    """What a command line did."""

    code: int
    out: str
    err: str

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Command = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LIGHTMETER_DEBUG", raising=False)
    return tmp_path


@pytest.fixture
def lightmeter(folder: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line within this process."""

    def run(*arguments: str) -> Done:
        capfdbinary.readouterr()
        monkeypatch.setattr(sys, "argv", ["lightmeter", *arguments])
        code = main(list(arguments))
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return run


@pytest.fixture
def process(folder: Path) -> Command:
    """The command line as a process of its own."""

    def run(*arguments: str, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "lightmeter", *arguments],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONWARNINGS": "error", **environment},
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
