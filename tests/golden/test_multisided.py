"""JME: the six situations of the authors' program (Wu et al. 2022), 4 users by 4 items, two groups on each side."""

from __future__ import annotations

import polars as pl
import pytest

import lightmeter as lm

SITUATIONS = {
    1: ("1010 0101 1010 0101", {"II"}),
    2: ("1100 0011 1100 0011", {"II", "IG"}),
    3: ("1010 1010 0101 0101", {"II", "GI"}),
    4: ("1010 1010 1010 1010", {"II", "GI", "AI"}),
    5: ("1100 1100 0011 0011", {"II", "IG", "GI", "GG"}),
    6: ("1100 1100 1100 1100", {"II", "IG", "GI", "GG", "AI", "AG"}),
}
#: two places with exposure .5 each, so that system exposure is .5 times the row, and the equal target is .25 everywhere
USER = lm.Attention(weights=[0.5, 0.5])
NAMES = ("II", "IG", "GI", "GG", "AI", "AG")


def measure(name: str, part: str, **more: object) -> lm.Measure:
    options = {"user": USER, "target": lm.Equal(), "part": part, **more}
    return getattr(lm, f"JME_{name}")(**options, **({"by": "g"} if name[1] == "G" else {}))


def collection(rows: list[str]) -> lm.Collection:
    items = [f"i{k}" for k in range(4)]
    run = {f"u{u}": [d for d, on in zip(items, row, strict=True) if on == "1"] for u, row in enumerate(rows)}
    return lm.load(
        run=run,
        qrels={q: {items[0]: 1} for q in run} | {"u0": dict.fromkeys(items, 1)},
        groups={"g": dict(zip(items, "xxyy", strict=True))},
        queries=pl.DataFrame({"query": list(run), "side": ["left", "left", "right", "right"]}),
        segment="side",
    )


@pytest.mark.parametrize("number", SITUATIONS)
def test_situations(number: int) -> None:
    rows, named = SITUATIONS[number]
    r = lm.evaluate(collection(rows.split()), [measure(name, part) for name in NAMES for part in "FDR"])
    found = r.mean().filter(pl.col("segment").is_null())["value"].to_list()
    for i, name in enumerate(NAMES):
        whole, disparity, relevance = found[3 * i : 3 * i + 3]
        assert whole == pytest.approx(0.0625 if name in named else 0.0, abs=1e-15)
        assert disparity == pytest.approx(whole, abs=1e-15)
        assert relevance == pytest.approx(0.0, abs=1e-15)


def test_parts_add_up() -> None:
    """F = D - R + the target's own square, which a system equal to collection exposure leaves alone."""
    c = collection(["1100", "1010", "0011", "0110"])
    for name in NAMES:
        parts = [
            measure(name, part, target=lm.Ideal(complete=True), user=lm.RBP(p=0.5), collection=0.2) for part in "FDR"
        ]
        whole, disparity, relevance = (
            lm.evaluate(c, parts).mean().filter(pl.col("segment").is_null())["value"].to_list()
        )
        rest = whole - disparity + relevance
        other = lm.evaluate(c, parts, policy=lm.Uniform()).mean()
        again = other.filter(pl.col("segment").is_null())["value"].to_list()
        assert again[0] - again[1] + again[2] == pytest.approx(rest)
        assert rest > 0


def test_user_groups_must_be_given() -> None:
    c = lm.load(run={"u": ["a"]}, qrels={"u": {"a": 1}})
    with pytest.raises(lm.LightmeterError, match="--segment"):
        lm.evaluate(c, [lm.JME_GI])


def test_unanswered_users_have_no_exposure() -> None:
    """A user who is left out is a user whose target is missed."""
    judged = {"u": {"a": 1}, "v": {"a": 1}}
    both = lm.load(run={"u": ["a"], "v": ["a"]}, qrels=judged)
    one = lm.load(run={"u": ["a"]}, qrels=judged)
    user = lm.TopK(k=1)
    assert lm.evaluate(both, [lm.JME_II(user=user)]).mean()["value"].item() == 0.0
    r = lm.evaluate(one, [lm.JME_II(user=user)]).mean()
    assert (r["value"].item(), r["reason"].item()) == (0.5, "not_in_run")
    skipped = lm.evaluate(one, [lm.JME_II(user=user)], missing="skip").mean()
    assert (skipped["value"].item(), skipped["n"].item()) == (0.0, 1)
