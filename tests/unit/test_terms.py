"""Terms as values, and one's own."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import lightmeter as lm
from lightmeter.terms import registry as terms
from lightmeter.terms.parameters import Choice, Maybe, Number
from lightmeter.terms.registry import lookup, registered
from lightmeter.terms.term import Term, needed_kind, parameters


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is registered in the test is forgotten after it."""
    terms.load_terms()
    monkeypatch.setattr(terms, "_registry", {k: dict(v) for k, v in terms._registry.items()})


def test_class_stands_for_the_term() -> None:
    assert lm.nDCG @ 10 == lm.nDCG() @ 10 == lm.nDCG(cutoff=10)
    assert lm.GF(by="g", div=lm.NMD) == lm.GF(by="g", div=lm.NMD())
    assert lm.GF(by="g", user=lm.ERR) == lm.GF(by="g")


def test_values_have_one_form() -> None:
    """1, 1.0 and NumPy's 1 are the same parameter, lists and arrays the same tuple."""
    assert lm.TopK(k=2.0) == lm.TopK(k=np.int64(2))  # type: ignore[arg-type]
    assert type(lm.TopK(k=2.0).k) is int  # type: ignore[arg-type]
    assert type(lm.Cascade(p=1, u=0).p) is float
    assert lm.Attention(weights=np.array([1.0, 0.5])) == lm.Attention(weights=(1, 0.5))  # type: ignore[arg-type]
    assert hash(lm.Attention(weights=[1, 0.5])) == hash(lm.Attention(weights=(1.0, 0.5)))  # type: ignore[arg-type]
    assert (lm.nDCG() @ np.int64(3)).cutoff == 3


def test_equality_is_by_class() -> None:
    assert lm.nDCG() != lm.DCG()
    assert lm.AP() != lm.RR()
    assert lm.AP() != "AP"
    assert len({lm.nDCG(), lm.nDCG(), lm.nDCG(cutoff=1)}) == 2


def test_changed_copies() -> None:
    m = lm.GF(by="g")
    assert m(div=lm.NMD()) == lm.GF(by="g", div=lm.NMD())
    assert m == lm.GF(by="g")
    with pytest.raises(lm.TermError, match="Did you mean 'div'"):
        m(dvi=lm.NMD())
    with pytest.raises(lm.TermError, match="p is 3"):
        lm.RBP()(p=3)


def test_registry(registry: None) -> None:
    assert registered("measure")["nDCG"] is lm.nDCG
    assert registered("user")["RBP"] is lm.RBP is registered("measure")["RBP"]
    assert registered("nonsense") == {}
    assert lookup("RBP") is lm.RBP
    assert parameters(lm.GF) == ["by", "div", "user", "target"]
    assert (
        needed_kind(lm.GF, "user"),
        needed_kind(lm.GF, "target"),
        needed_kind(lm.GFR, "of"),
        needed_kind(lm.GF, "by"),
    ) == ("user", "target", "measure", None)
    for hidden in ("Measure", "Term", "User", "_Expected", "GroupMeasure", "RBPUser"):
        assert all(hidden not in registered(k) for k in terms.KINDS)


def test_a_measure_of_ones_own(registry: None) -> None:
    class EarliestHit(lm.Measure):
        """Rank of the first relevant document."""

        better, bounds, needs = "lower", (1, np.inf), frozenset({"judgments"})
        rel: int = 1

        def value(self, block: Any) -> Any:
            hit = block.relevant(self.rel)
            return np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, np.nan)

    assert lm.parse("EarliestHit(rel=2)@5") == EarliestHit(rel=2, cutoff=5)
    with pytest.raises(lm.TermError, match=r"rel is 1.5. Accepted: a whole number"):
        EarliestHit(rel=1.5)  # type: ignore[arg-type]
    c = lm.load(run={"q": ["a", "b"], "r": ["a"]}, qrels={"q": {"b": 1}, "r": {"c": 1}, "s": {"d": 1}})
    cell = lm.evaluate(c, ["EarliestHit"]).cells[0]
    assert cell.values.value[0] == 2
    assert np.isnan(cell.values.value[1:]).all()
    assert cell.values.reasons().tolist() == [None, "undefined", "not_in_run"]


def test_a_name_is_taken_once(registry: None) -> None:
    with pytest.raises(lm.TermError, match="a measure named nDCG exists already"):
        type("nDCG", (lm.Measure,), {"__module__": __name__})
    with pytest.raises(lm.TermError, match="kind 'thing'"):
        type("Thing", (Term,), {"kinds": ("thing",)})


def test_constraints_print_themselves() -> None:
    assert Number(low=0, below=1).describe() == "a number at least 0 and below 1"
    assert Number(above=0, high=2, integer=True).describe() == "a whole number above 0 and at most 2"
    assert Number().describe() == "a number"
    assert Maybe(Choice((2, "e"))).describe() == "one of 2, 'e', or None"


@pytest.mark.parametrize("value", [True, "1", None, float("nan"), float("inf"), [1], 1 + 2j])
def test_numbers_are_numbers(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        Number().check(value)


def test_choices_keep_their_type() -> None:
    assert Choice((2, "e")).check(2.0) == 2
    assert type(Choice((2, "e")).check(2.0)) is int
    for wrong in (True, "2", 3, None):
        with pytest.raises(ValueError):  # noqa: PT011
            Choice((1, 2, "e")).check(wrong)


def test_names_of_ours_are_taken_before_they_are_used():
    """Modules of measures are imported when they are named, and a clash is told all the same."""
    own = "import lightmeter as lm\nclass Gini(lm.Measure):\n    def value(self, block): ...\n"
    done = subprocess.run([sys.executable, "-c", own], capture_output=True, text=True, check=False)
    assert "a measure named Gini exists already (in lightmeter.measures.inequality)" in done.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lm.GF("gender"),
            "parameters of GF are named. Write GF(by='gender'). It takes by, div, user, target.",
        ),
        (lambda: lm.GF("g", lm.JSD), "Write GF(by='g', div=JSD)."),
        (lambda: lm.RBP(0.8), "Write RBP(p=0.8)."),
        (lambda: lm.Attention([1.0, 0.5]), "Write Attention(weights=[1, 0.5])."),
        (lambda: lm.Inverse(3), "the parameters of Inverse are named. It takes none."),
        (lm.GF, "GF needs by, such as GF(by='gender')."),
        (lambda: lm.GF(attribute="gender"), "GF has no parameter 'attribute'. It takes by, div, user, target."),
        (lambda: lm.Cascade(p=0.5), "Cascade needs u, such as Cascade(p=0.5, u=0.5)."),
        (lambda: lm.GF(by="g")(bye="h"), "GF has no parameter 'bye'. Did you mean 'by'?"),
        (lambda: lm.TopK(k=1) @ 3, "TopK(k=1) takes no cutoff. A cutoff belongs to a measure, such as nDCG@10."),
        (lambda: lm.Pool @ 3, "Pool takes no cutoff."),
        (lambda: lm.nDCG @ "10", "nDCG: cutoff is '10'. Accepted: a whole number"),
    ],
)
def test_what_python_cannot_call_is_explained_as_in_the_notation(call, message) -> None:
    with pytest.raises(lm.TermError) as error:
        call()
    assert message in str(error.value)


def test_the_parameters_are_shown_by_help() -> None:
    assert list(inspect.signature(lm.RBP).parameters) == ["cutoff", "p", "rel"]
    assert {p.kind for p in inspect.signature(lm.GF).parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
