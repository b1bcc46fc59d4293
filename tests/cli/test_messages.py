"""What messages say of long arguments and of files that are named twice, and what killed processes leave behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lightmeter.cli.entry import shortened
from lightmeter.errors import LightmeterError
from lightmeter.io.files import check_writable, write_whole

LONG = "A" * 3000


@pytest.mark.parametrize(
    "measure",
    [LONG, f"{LONG}@10", f"nDCG@{'1' * 3000}", "nDCG@10, " * 500, f"nDCG({'(' * 3000}", f"nDCG(gains='{LONG}')"],
)
def test_a_measure_of_thousands_of_characters_is_cut(lightmeter, measure):
    done = lightmeter("evaluate", "a.run", "-q", "qrels.txt", "-m", measure)
    assert (done.code, done.out) == (2, "")
    assert len(done.err) < 700
    assert done.err.startswith("lightmeter: error: ")


def test_what_can_be_read_is_not_cut():
    path = f"{'folder/' * 30}a.run"
    assert shortened(f"{path}: no such file", [path]) == f"{path}: no such file"
    assert shortened(f"there is no {'x' * 300!r}", ["y", "x" * 300]) == f"there is no '{'x' * 80}..{'x' * 20}'"


def test_a_name_that_is_too_long_is_refused_before_work(lightmeter, folder):
    name = "n" * 252 + ".csv"
    done = lightmeter("evaluate", "none.run", "-m", "P@1", "-o", name)
    assert done.code == 2
    assert "a name of 256 bytes. Accepted: up to 255 bytes" in done.err
    assert len(done.err) < 200
    write_whole(str(folder / ("é" * 127)), b"here")  # 254 bytes
    assert (folder / ("é" * 127)).read_bytes() == b"here"
    with pytest.raises(LightmeterError, match="256 bytes"):
        check_writable("é" * 128, "-o")


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_one_file_as_two_runs(lightmeter, command):
    done = lightmeter(command, "a.run", "b.run", "x=a.run", "--qrels", "qrels.txt", "-m", "P@1")
    assert done.code == 0
    assert "note: a.run and x are the same file" in done.err
    assert "the same file" not in lightmeter(command, "a.run", "b.run", "--qrels", "qrels.txt", "-m", "P@1").err


def test_standard_input_is_not_read(lightmeter):
    done = lightmeter("evaluate", "-", "-m", "P@1")
    assert done.code == 2
    assert "standard input is not read" in done.err


def test_what_a_killed_process_left_is_removed(folder):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = folder / f".out.csv.{gone.pid}.part"
    others = [
        folder / f".out.csv.{os.getppid()}.part",  # of a process that lives
        folder / f".other.csv.{gone.pid}.part",  # of another output
        folder / ".out.csv.mine.part",  # of somebody else
    ]
    for path in (left, *others):
        path.write_text("half")
    write_whole(str(folder / "out.csv"), b"whole")
    assert not left.exists()
    assert all(path.read_text() == "half" for path in others)
    assert (folder / "out.csv").read_bytes() == b"whole"


def test_what_is_being_written_elsewhere_is_left(folder):
    import fcntl

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = folder / f".out.csv.{gone.pid}.part"
    with left.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write_whole(str(folder / "out.csv"), b"whole")
        assert left.exists()
    write_whole(str(folder / "out.csv"), b"whole")
    assert not left.exists()
