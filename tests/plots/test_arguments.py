"""What pictures are asked for in a wrong way is refused with what is accepted; names of users stay as they are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.plots.conftest import collection, run, title

import lightmeter as lm
from lightmeter import plots

LEANS = "DeltaGF(by='side', positive='f', user=RBP(p=0.8))"


@pytest.mark.parametrize(
    ("other", "measures", "told"),
    [
        ("n", [LEANS, "MeanExposure(by='side')"], "'n'. Accepted: m."),
        ("M", [LEANS, "MeanExposure(by='side')"], "Did you mean 'm'? Accepted: m."),
        ("f", [LEANS, "MeanExposure(by='side')"], "Accepted: m."),
        # the values are known from a measure that leans to the other side too
        ("x", [LEANS, LEANS.replace("'f'", "'m'")], "Accepted: m."),
        # what is not known may be any name but that of the positive side
        ("f", [LEANS], "Accepted: a name for the side that is not side f."),
        ("side f", [LEANS], "Accepted: a name for the side that is not side f."),
    ],
)
def test_leaning_takes_no_other_name_than_the_other_value(other: str, measures: list[str], told: str) -> None:
    made = lm.evaluate(collection(one=run(1.0, 1)), measures)
    with pytest.raises(lm.LightmeterError) as caught:
        plots.leaning(made, LEANS, other=other)
    assert str(caught.value).startswith(f"the side opposite to side f cannot be called {other!r}.")
    assert str(caught.value).endswith(told)


def test_leaning_takes_the_other_value_or_a_free_name() -> None:
    made = lm.evaluate(collection(one=run(1.0, 1)), [LEANS, "MeanExposure(by='side')"])
    assert title(plots.leaning(made, other="m")) == title(plots.leaning(made))
    free = lm.evaluate(collection(one=run(1.0, 1)), LEANS)
    assert "to men on" in title(plots.leaning(free, run="one", other="men"))


@pytest.mark.parametrize("depth", [0, 1, -3, 2.5, True, "x"])
def test_attention_is_of_two_ranks_at_least(depth: Any) -> None:
    with pytest.raises(lm.LightmeterError, match="Accepted: a whole number from 2"):
        plots.attention("TopK(k=1)", depth=depth)


def test_user_models_of_one_kind_are_told_apart() -> None:
    told = title(plots.attention("DCG", "DCG(clip=True)", "RBP(p=0.5)", depth=2))
    assert told == (
        "Of the attention of rank 1, rank 2 gets from 50% (RBP) to 100% (DCG: logarithmic discount, flat at the top)"
    )
    one = title(plots.attention("TopK(k=1)", depth=2))
    assert one == "Of the attention of rank 1, rank 2 gets 0% (TopK: the first rank only)"


@pytest.mark.parametrize(
    "pairs",
    [[("a",)], [("a", "b", "a")], ["ab"], ("a", "b"), "ab", [3], None, {"a": "b"}, [(None, "a")], [], [("a", "a")]],
)
def test_arrows_are_between_two_runs(pairs: Any) -> None:
    made = lm.evaluate(collection(a=run(3.0, 1), b=run(1.0, 2)), ["nDCG@5", "RR"])
    with pytest.raises(lm.LightmeterError, match="Accepted: pairs of a run before and another one after a change"):
        plots.arrows(made, pairs)


def test_two_measures_are_not_the_same() -> None:
    made = lm.evaluate(collection(a=run(3.0, 1), b=run(1.0, 2)), ["nDCG@5", "RR"])
    for picture in (
        lambda: plots.tradeoff(made, "RR", "RR"),
        lambda: plots.tradeoff(made, "RR", lm.RR(), run="a"),
        lambda: plots.arrows(made, [("a", "b")], "RR", "RR"),
    ):
        with pytest.raises(lm.LightmeterError, match="both measures are RR"):
            picture()


@pytest.mark.parametrize("keys", [("x", "y"), (None, 1.0), (-1.0, 1.0), (float("nan"), 1.0)])
def test_parameters_of_randomness_are_numbers(keys: tuple[Any, Any]) -> None:
    made = lm.evaluate(collection(a=run(3.0, 1)), "RR")
    with pytest.raises(lm.LightmeterError, match=r"is no number from 0 up\. Accepted: results by the number"):
        plots.randomisation(dict.fromkeys(keys, made))


def test_randomness_is_of_results() -> None:
    made: Any = lm.evaluate(collection(a=run(3.0, 1)), "RR")
    with pytest.raises(lm.LightmeterError, match=r"parameter 2 is of type int\. Accepted: results"):
        plots.randomisation({1: made, 2: 3})
    with pytest.raises(lm.LightmeterError, match=r"found 'Result'\. Accepted: a sweep, or results"):
        plots.randomisation(made)


@pytest.mark.parametrize("query", [[], 3, None, [3]])
def test_shares_are_of_a_query(query: Any) -> None:
    with pytest.raises(lm.LightmeterError, match="Accepted: the name of a query, or several"):
        plots.distribution_at(collection(a=run(3.0, 1)), "DistrSim(by='side')@2", query)


def test_a_query_named_twice_is_one() -> None:
    made = collection(a=run(3.0, 1), b=run(1.0, 2))
    once, twice = (title(plots.distribution_at(made, "DistrSim(by='side')@2", q)) for q in ("q0", ["q0", "q0"]))
    assert once == twice


def exposed(attribute: str, *names: str) -> str:
    """The title of exposure where the groups stand in this order."""
    docs = [f"d{i}" for i in range(len(names))]
    made = lm.load(run={"one": {"q": docs}}, groups={attribute: dict(zip(docs, names, strict=True))})
    return title(plots.exposure(lm.evaluate(made, f"MeanExposure(by='{attribute}', user=Inverse)")))


@pytest.mark.parametrize(
    ("attribute", "names", "told"),
    [
        ("shop", ("eBay", "amazon"), "Group eBay gets more exposure per member than amazon (2.00 times)"),
        (
            "shop",
            ("eBay", "b&q", "aldi"),
            "Group eBay gets the most exposure per member and aldi the least (3.00 times)",
        ),
        # the attribute's word is the user's too
        ("iSide", ("f", "m"), "iSide f gets more exposure per member than iSide m (2.00 times)"),
        # one group with a name of two words, and one that is called as a title calls runs without a leader
        (
            "shop",
            ("A and B", "bB", "cC"),
            "Group A and B gets the most exposure per member and cC the least (3.00 times)",
        ),
        ("shop", ("equal", "bB"), "Group equal gets more exposure per member than bB (2.00 times)"),
    ],
)
def test_a_group_keeps_the_case_of_its_name(attribute: str, names: tuple[str, ...], told: str) -> None:
    assert exposed(attribute, *names) == told


def test_a_run_that_is_called_like_a_verb_keeps_its_name() -> None:
    made = collection(rises=run(3.0, 1), falls=run(-2.0, 3))
    results = {
        alpha: lm.evaluate(made, ["nDCG@5", "RR"], policy=lm.PlackettLuce(alpha=alpha)) for alpha in (0.1, 1.0, 10.0)
    }
    told = title(plots.randomisation(results))
    assert told.startswith("With less randomness nDCG@5 and RR rise")
    assert "'rises'" in told
    assert "'falls'" in told
