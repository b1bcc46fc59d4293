"""The notation: what is misspelt gets a suggestion, what is wrong says what is accepted, and nothing is ever
evaluated.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import lightmeter as lm
from lightmeter.terms.notation import parse_condition


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("nDCG@10", lm.nDCG(cutoff=10)),
        (" nDCG @ 10 ", lm.nDCG(cutoff=10)),
        ("nDCG()", lm.nDCG()),
        ("nDCG(dcg='exp-log2')@10", lm.nDCG(dcg="exp-log2", cutoff=10)),
        ("RBP(p=0.8, rel=1)", lm.RBP(p=0.8, rel=1)),
        ("P(rel=2)@5", lm.P(rel=2, cutoff=5)),
        ("GF(by='gender', div=RNOD)@20", lm.GF(by="gender", div=lm.RNOD(), cutoff=20)),
        (
            'GF(by="gender", user=ERR(max_grade=4), target=Pool(of="run"))',
            lm.GF(by="gender", user=lm.ERR(max_grade=4), target=lm.Pool(of="run")),
        ),
        (
            "EEL(user=Cascade(p=0.5, u=0.5), target=Ideal(complete=True))@20",
            lm.EEL(user=lm.Cascade(p=0.5, u=0.5), target=lm.Ideal(complete=True), cutoff=20),
        ),
        (
            "GFR(of=[ERR, GF(by='a')], weights=[0.5, 0.5])@20",
            lm.GFR(of=[lm.ERR(), lm.GF(by="a")], weights=[0.5, 0.5], cutoff=20),
        ),
        ("GFR(of=(nDCG@5, AP))", lm.GFR(of=[lm.nDCG(cutoff=5), lm.AP()])),
        ("AWRF(by='g', target='uniform')", lm.AWRF(by="g", target="uniform")),
        ("GF(by='g', target=None)", lm.GF(by="g")),
        ("Attention(weights=[1, 0.5])", lm.Attention(weights=[1, 0.5])),
        ("KL(eps=+1e-3)", lm.KL(eps=0.001)),
    ],
)
def test_reads(text: str, term: Any) -> None:
    assert lm.parse(text) == term


def test_position_decides() -> None:
    """RBP, ERR and DCG name a user model and a measure; a term where another kind is needed says so."""
    assert lm.parse("RBP", kind="user") == lm.RBP() == lm.parse("RBP", kind="measure")
    with pytest.raises(lm.TermError, match="nDCG is a measure, but a user is needed here"):
        lm.parse("nDCG", kind="user")
    with pytest.raises(lm.TermError, match="JSD is a divergence, but a measure is needed"):
        lm.parse("JSD", kind="measure")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nDGC@10", "Did you mean 'nDCG'?"),
        ("ndcg@10", "Did you mean 'nDCG'?"),
        ("GF(bye='x')", "GF has no parameter 'bye'. Did you mean 'by'? It takes by, div, user, target"),
        ("Inverse(p=1)", "Inverse has no parameter 'p'. It takes none."),
        ("GF(by='x', div=RNDO)", "Did you mean 'RNOD'?"),
        ("GF(by='x', user=Casacde(p=1, u=1))", "Did you mean 'Cascade'?"),
        ("GF(by='x', target='unifrom')", "'uniform'"),
        ("EED(docs='relevent')", "one of 'relevant', 'all'"),
        ("zzzzzz", "there is no term 'zzzzzz'"),
        # values
        ("RBP(p=1.5)", "RBP: p is 1.5. Accepted: a number at least 0 and below 1"),
        ("RBP(p=1)", "below 1"),
        ("RBP(p='x')", "RBP: p is 'x'"),
        ("RBP(p=True)", "RBP: p is True"),
        ("RBP(p=1e999)", "RBP: p is inf"),
        ("TopK(k=1.5)", "a whole number at least 1"),
        ("TopK", "TopK needs k, such as TopK(k=10)"),
        ("Cascade(p=0.5)", "Cascade needs u"),
        ("GF", "GF needs by, such as GF(by='gender')"),
        ("FairExposure", "needs by and constraint, such as FairExposure(by='gender', constraint='parity')."),
        ("FairExposure(by='sex')", "needs constraint, such as FairExposure(by='sex', constraint='parity')."),
        ("FairTopK", "needs by, protected and p, such as FairTopK(by='gender', protected='f', p=0.5)."),
        ("GF(by='')", "an attribute's name in quotes"),
        ("GF(by=gender)", "put it in quotes: 'gender'"),
        ("GFR(of=[])", "GFR: of is ()"),
        ("GFR(of=[ERR, AP], weights=[1])", "1 weights for 2 components"),
        ("GFR(of=[ERR, AP], weights=[0.5, 0.6])", "sum to 1.1"),
        ("GFR(of=[Count(by='g')])", "has a value for each group"),
        ("GFR(of=[AP, MaxDeviation(by='g')@3])", "components that share one direction"),
        ("GFR(of=[AP@3, RR@5])@3@4", "two cutoffs"),
        ("GFR(of=[AP@3, RR@5])@9", "all have their own"),
        ("nDCG@99999999999999999999", "Accepted: a whole number at least 1 and at most 2147483647"),
        ("nDCG, AP", "repeat -m"),
        ("EED(target=Uniform)", "Uniform is a target for groups"),
        ("EED(user=RBP(p=0.5)@3)", "A cutoff belongs to the measure"),
        ("Attention(weights=[0, 0])", "all weights are 0"),
        ("Attention(weights=[])", "a list"),
        ("Ideal(complete=1)", "True or False"),
        ("JSD(base=10)", "one of 2, 'e'"),
        # cutoffs
        ("nDCG@10@20", "two cutoffs"),
        ("nDCG@0", "cutoff is 0"),
        ("nDCG@-1", "cutoff is -1"),
        ("nDCG@2.5", "not a whole number"),
        ("nDCG@'x'", "not a whole number"),
        ("nDCG@True", "cutoff is True"),
        ("JSD@5", "JSD takes no cutoff"),
        ("nDCG@", "cannot be read"),
        # form
        ("", "cannot be read"),
        ("nDCG(", "The brackets do not match"),
        ("GF(by='x)", "A quotation mark is missing"),
        ("RBP(0.8)", "in 'RBP(0.8)' the parameters of RBP are named. Write RBP(p=0.8). It takes p, rel."),
        ("RBP(**{'p': 1})", "the parameters of RBP are named. It takes p, rel."),
        ("RBP(p=0.5, p=0.6)", "p is given twice"),
        ("nDCG + AP", "is not a term"),
        ("nDCG.x", "is not a term"),
        ("3", "is not a term"),
        ("'nDCG'", "is not a term"),
        ("[nDCG]", "is not a term"),
        ("lambda: 1", "is not a term"),
        ("nDCG; AP", "cannot be read"),
        ("nDCG\x00", "cannot be read"),
    ],
)
def test_teaches(text: str, words: str) -> None:
    with pytest.raises(lm.TermError, match=re.escape(words)):
        lm.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch /tmp/lightmeter-evaluated')",
        "GF(by=__import__('os').getcwd())",
        "RBP(p=1/2)",
        "RBP(p=(lambda: 0.5)())",
        "RBP(p=[0.5][0])",
        "GF(by=f'{1}')",
        "GF(by=b'x')",
        "RBP(p=0.5 if True else 0)",
        "RBP(p=2**-1)",
        "TopK(k=9**9**9)",
        "open('x')",
        "GF(by='a' 'b' % 1)",
        "RBP(p=1j)",
        "RBP(p=...)",
    ],
)
def test_never_evaluates(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("evaluated")

    monkeypatch.setattr("os.system", refuse)
    monkeypatch.setattr("os.getcwd", refuse)
    with pytest.raises(lm.TermError):
        lm.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + ")" * 1000,
        "GFR(of=[" * 400 + "AP" + "])" * 400,
        "-" * 4000 + "1",
        "nDCG" * 5000,
        "RBP(p=" + "9" * 4900 + ")",
        "GFR(of=[" + "[" * 900 + "]" * 900 + "])",
        "nDCG@" + "-" * 4000 + "1",
    ],
)
def test_long_and_nested(text: str) -> None:
    """Nothing that is written makes Python give up."""
    with pytest.raises(lm.TermError):
        lm.parse(text)


@pytest.mark.parametrize("text", [None, 3, b"nDCG", ["nDCG"]])
def test_not_text(text: Any) -> None:
    with pytest.raises(lm.TermError, match="where a term is written"):
        lm.parse(text)


def test_conditions() -> None:
    c = parse_condition('ABR(by="gender") < 0.8')
    assert str(c) == "ABR(by='gender', user=RBP(p=0.5)) < 0.8"
    assert c.measure == lm.ABR(by="gender")
    assert [c.holds(v) for v in (0.79, 0.8, float("nan"))] == [True, False, False]
    for sign, holds in (
        ("<=", (True, True, False)),
        (">", (False, False, True)),
        (">=", (False, True, True)),
        ("==", (False, True, False)),
        ("!=", (True, False, True)),
    ):
        assert tuple(parse_condition(f"nDCG@10 {sign} -0.5").holds(v) for v in (-1, -0.5, 0)) == holds
    assert not parse_condition("nDCG != 0.3").holds(float("nan"))


@pytest.mark.parametrize(
    "text",
    [
        "nDCG",
        "nDCG < AP",
        "0.3 < nDCG",
        "0 < nDCG < 1",
        "nDCG < True",
        "nDCG < 'x'",
        "nDCG in [1]",
        "nDCG < JSD",
        "RBP(p=2) < 1",
    ],
)
def test_no_conditions(text: str) -> None:
    with pytest.raises(lm.TermError):
        parse_condition(text)


def test_printing() -> None:
    """Parameters of user models are always printed; others where they differ from the default."""
    assert str(lm.RBP()) == "RBP(p=0.8)"
    assert str(lm.ERR()) == "ERR"
    assert str(lm.EED()) == "EED(user=RBP(p=0.5))"
    assert str(lm.nDCG(cutoff=10)) == "nDCG@10"
    assert str(lm.GF(by="it's", target=lm.Pool(depth=5))) == 'GF(by="it\'s", target=Pool(depth=5))'
