"""What cannot be swept is told in one message."""

from __future__ import annotations

from typing import Any

import pytest

import lightmeter as lm

RUN = {"a": {"q": {"r": 2.0, "n": 1.0}}}
C = lm.load(RUN, {"q": {"r": 1}})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"policies": "PlacketLuce"}, "Did you mean 'PlackettLuce'"),
        ({"policies": lm.Oracle()}, "no parameter that leads from uniform to static"),
        ({"policies": "Static"}, "no parameter"),
        ({"policies": lm.PlackettLuce(alpha=2)}, "goes through all values of alpha"),
        ({"policies": lm.RankTransposition(theta=0.5)}, "Write RankTransposition"),
        ({"policies": []}, "no policy is given"),
        ({"policies": "PlackettLuce(scores='log')"}, "scores"),
        ({"users": []}, "no user model is given"),
        ({"users": "RBP(p=2)"}, "RBP"),
        ({"users": 3}, "user model"),
        ({"by": "gender"}, "gender"),
        ({"by": []}, "empty list"),
        ({"by": 3}, "by is 3"),
        ({"by": [3]}, "by is 3"),
        ({"depth": 0}, "depth is 0"),
        ({"samples": 2}, "at least 3"),
        ({"resamples": None}, "resamples"),
        ({"rng": -1}, "rng is -1"),
        ({"ties": "expected"}, "docno, file, error"),
        ({"missing": "none"}, "zero, skip, error"),
        ({"unknown": "none"}, "uniform, drop"),
    ],
)
def test_a_wrong_request_is_told(given: dict[str, Any], says: str) -> None:
    with pytest.raises(lm.LightmeterError, match=says):
        lm.sweep(C, **given)


def test_collections_that_cannot_be_swept() -> None:
    with pytest.raises(lm.LightmeterError, match="what lightmeter"):
        lm.sweep({"a": 1})  # type: ignore[arg-type]
    with pytest.raises(lm.LightmeterError, match="needs judgments"):
        lm.sweep(lm.load(RUN))
    sampled = "q 1 r 1 2 s\nq 1 n 2 1 s\nq 2 n 1 2 s\nq 2 r 2 1 s\n"
    with pytest.raises(lm.LightmeterError, match="several rankings per query"):
        lm.sweep(_sampled(sampled))


def _sampled(text: str) -> lm.Collection:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.run"
        path.write_text(text, "utf-8")
        return lm.load(str(path), {"q": {"r": 1}})


def test_a_curve_is_found_by_what_it_is_of() -> None:
    result = lm.sweep(C, ["PlackettLuce", "RankTransposition"])
    with pytest.raises(lm.LightmeterError, match="several curves fit"):
        result.area()
    with pytest.raises(lm.LightmeterError, match="no curve fits"):
        result.area("Oracle")
    assert result.area("PlackettLuce") == result.find("PlackettLuce", "a", "RBP(p=0.5)").area().value


def test_groups_and_readers_have_no_frontier_and_say_so() -> None:
    c = lm.load(RUN | {}, {"q": {"r": 1, "n": 1}}, {"g": {"r": "x", "n": "y"}})
    for user, by in (("RBP(p=0.5)", "g"), ("Cascade(p=0.5, u=0.5)", None)):
        rows = {r["measure"]: r for r in lm.sweep(c, users=user, by=by).summary().iter_rows(named=True)}
        assert rows["EEAUC_frontier"]["reason"] == rows["EEAUC_share"]["reason"] == "no_frontier"
        assert "frontier" not in lm.sweep(c, users=user, by=by).curve()["policy"].to_list()


def test_a_result_prints_and_becomes_pandas() -> None:
    result = lm.sweep(C)
    assert {"EEAUC", "frontier", "share"} <= set(repr(result).split())
    assert "disparity: (EED - uniform's)" in repr(result)
    frame = result.to_pandas(per_query=True)
    assert list(frame.columns)[:8] == ["run", "policy", "user", "by", "measure", "parameter", "query", "value"]
    assert set(result.curve(raw=True)["measure"]) == {"disparity", "relevance", "EED", "EER"}
