"""One registration: the class statement; everything else finds the class by itself."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import lightmeter as lm
from lightmeter.terms.registry import aliases, lookup

ROOT = Path(__file__).resolve().parents[2]

#: a measure in a file of its own among those of lightmeter, listed nowhere
RPREC = '''
import numpy as np
from lightmeter.measures.base import Measure

class RPrec(Measure):
    """Precision at the number of relevant documents."""

    better, bounds, needs = "higher", (0, 1), frozenset({"judgments"})
    aliases = ("Rprecision",)
    known_as = ("precision at R",)

    def value(self, block):
        return np.ones(block.grade.shape[0])
'''


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, *(["-c", textwrap.dedent(code)] if code else []), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "print(lm.parse('RPrec@10'), lm.parse('Rprecision'))",
        "print(lm.RPrec@10, lm.RPrec())",
        "print(lm.RPrec(cutoff=10), lm.parse('RPrec'))",
    ],
)
def test_a_new_measure_is_listed_nowhere_else(tmp_path: Path, code: str) -> None:
    (tmp_path / "rprec.py").write_text(RPREC)
    before = f"import lightmeter as lm, lightmeter.measures; lightmeter.measures.__path__.append({str(tmp_path)!r})\n"
    assert run(before + code) == "RPrec@10 RPrec\n"


def test_the_command_knows_a_new_measure_and_its_other_names(tmp_path: Path) -> None:
    (tmp_path / "rprec.py").write_text(RPREC)
    code = f"""
        import sys, lightmeter.measures; lightmeter.measures.__path__.append({str(tmp_path)!r})
        from lightmeter.cli import main
        sys.argv[0] = "lightmeter"
        sys.exit(main())
    """
    page = run(code, "measures", "Rprecision")
    assert page.startswith("Rprecision is RPrec.\n\nRPrec   (measure)")
    assert "\nRPrec " in run(code, "measures")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), "measures", "precision_at_r"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Here it is written RPrec" in done.stderr


def test_an_unknown_name_is_looked_for_everywhere_and_then_refused() -> None:
    assert lookup("MAP") is lm.AP
    assert aliases()["MAP"] == "AP"
    with pytest.raises(lm.TermError, match=r"there is no term 'nDGC'\. Did you mean 'nDCG'\?"):
        lookup("nDGC")
    with pytest.raises(lm.TermError, match="RR is a measure, but a user is needed here"):
        lookup("MRR", "user")


def test_the_names_of_the_package_are_the_public_ones() -> None:
    assert dir(lm) == sorted({*lm.__all__, "learn", "metrics", "plots"})
    assert lm.__version__
    with pytest.raises(AttributeError, match="has no attribute 'ndgc'"):
        _ = lm.ndgc


def test_one_name_loads_one_family() -> None:
    code = "import sys, lightmeter as lm; lm.parse('nDCG@10'); print('lightmeter.measures.rnd' in sys.modules)"
    assert run(code) == "False\n"


@pytest.mark.slow
def test_a_users_script_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import lightmeter as lm
            reveal_type(lm.nDCG@10)
            reveal_type(lm.RBP(p=0.8)@10)
            reveal_type(lm.parse("nDCG@10", kind="measure"))
            reveal_type(lm.parse("RBP(p=0.5)", "user"))
            reveal_type(lm.parse("nDCG"))
            reveal_type(lm.load(run={"q": ["d"]}))
            lm.parse(1)
            lm.nothing
            """
        ).lstrip()
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path),
        "--ignore-missing-imports",
    ]
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, check=False, cwd=ROOT / "src")
    lines = [line.split("script.py:")[1] for line in done.stdout.splitlines() if "script.py:" in line]
    assert [line.split('"')[1].rpartition(".")[2] for line in lines[:6]] == [
        "nDCG",
        "RBP",
        "Measure",
        "User",
        "Term",
        "Collection",
    ]
    assert any(line.startswith("8: error: No overload variant") for line in lines)
    assert any(line.startswith('9: error: Module has no attribute "nothing"') for line in lines)


def test_measures_are_listed_as_a_frame() -> None:
    frame = lm.list_measures()
    assert frame.columns == ["name", "meaning", "better", "range", "needs", "cutoff", "aliases"]
    rows = {row["name"]: row for row in frame.to_dicts()}
    assert {
        name for name in lm.__all__ if isinstance(getattr(lm, name), type) and issubclass(getattr(lm, name), lm.Measure)
    } == {
        *rows,
        "Measure",
    }
    assert rows["nDCG"]["aliases"] == ["NDCG"]
    assert rows["nDCG"]["needs"] == ["judgments"]
    assert rows["DistrSim"]["cutoff"] == "required"
    assert rows["nDCG"]["range"] == "[0, 1]"
    assert "RBP" in lm.list_measures("user")["name"].to_list()
    with pytest.raises(lm.LightmeterError, match="kind is 'users'"):
        lm.list_measures("users")


def test_learning_and_measures_do_not_share_names() -> None:
    assert not set(lm.learn.__all__) & set(lm.__all__)
