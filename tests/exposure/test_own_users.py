"""A user model of one's own that defines its view, and nothing else, is treated like those of lightmeter."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import lightmeter as lm
from lightmeter.exposure.bounds import bounds, group_bounds
from lightmeter.terms import registry

RANKS = np.arange(1.0, 41.0)


@pytest.fixture(scope="module")
def own() -> Iterator[dict[str, type[lm.User]]]:
    registry.load_terms()
    before = {kind: dict(known) for kind, known in registry._registry.items()}

    class Power(lm.User):
        s: float = lm.param(default=2.0)

        def view_at(self, rank):
            return rank**-self.s

    class Hump(lm.User):
        """Looks at the middle of a page first."""

        def view_at(self, rank):
            return np.exp(-(((rank - 5.0) / 3.0) ** 2))

    yield {"Power": Power, "Hump": Hump}
    registry._registry.update(before)


def collection() -> lm.Collection:
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    return lm.load(run=run, qrels={q: {"a": 1, "b": 0, "c": 1} for q in ("q1", "q2")})


@pytest.mark.parametrize("measure", [lm.EED, lm.EEL, lm.EER])
def test_an_unanswered_query_counts_as_for_other_users(own, measure) -> None:
    users = [own["Power"](), own["Power"](s=1.0), own["Hump"](), lm.RBP(p=0.5)]
    result = lm.evaluate(collection(), [measure(user=user) for user in users])
    assert result.mean()["n"].to_list() == [2, 2, 2, 2]
    curve = lm.Attention(weights=own["Power"]().view_at(np.arange(1.0, 20_001)).tolist())
    same = lm.evaluate(collection(), [measure(user=curve)]).mean()["value"][0]
    assert result.mean()["value"][0] == pytest.approx(same, rel=1e-9)


def test_sums_of_views(own) -> None:
    power = own["Power"]
    assert power(s=2.0).total() == pytest.approx(math.pi**2 / 6, rel=1e-9)
    assert power(s=1.0).total(power=2) == pytest.approx(lm.Inverse().total(power=2), rel=1e-9)
    assert power(s=1.5).total() == pytest.approx(2.612375348685488, rel=1e-8)
    assert own["Hump"]().total() == pytest.approx(float(own["Hump"]().view_at(RANKS).sum()), rel=1e-12)
    assert power(s=2.0).total(3) == 1 + 1 / 4 + 1 / 9
    for endless in (power(s=1.0), power(s=0.5), lm.DCG(), lm.DCG(clip=True), lm.Inverse()):
        assert endless.total() == math.inf
    assert lm.DCG().total(power=2) == math.inf
    assert power(s=1.0).total(100) == pytest.approx(float((1 / np.arange(1.0, 101)).sum()))


def test_bounds_are_those_of_a_measured_curve_of_the_same_view(own) -> None:
    gain, count = [[2.0, 1.0]], [[1, 2]]
    for user in (own["Hump"](), own["Power"](s=3.0)):
        curve = lm.Attention(weights=user.view_at(np.arange(1.0, 3001)).tolist())
        for name in ("EED", "EER", "EEL"):
            for zeros in (None, [4]):
                for cutoff in (None, 3, 12):
                    mine = bounds(name, user, gain, count, zeros, cutoff)
                    theirs = bounds(name, curve, gain, count, zeros, cutoff)
                    np.testing.assert_allclose(mine, theirs, rtol=1e-9, err_msg=f"{user} {name} {zeros} {cutoff}")
        np.testing.assert_allclose(group_bounds(user, [[1, 2]]), group_bounds(curve, [[1, 2]]), rtol=1e-9)
    assert own["Hump"]().last_rise == 5


def test_an_infinite_sum_is_explained(own) -> None:
    measure = lm.nEED(user=own["Power"](s=0.5))
    with pytest.raises(lm.LightmeterError, match=r"Power\(s=0.5\) has no highest EED or EEL .* Accepted: a cutoff"):
        lm.evaluate(collection(), [measure])
    assert 0 <= lm.evaluate(collection(), [measure @ 5]).mean()["value"][0] <= 1


def test_a_continuation_has_exact_forms_and_a_gradient(own) -> None:
    assert lm.RBP(p=0.5).has_continuation
    assert lm.Cascade(p=0.5, u=0.5).has_continuation
    assert not own["Power"]().has_continuation
    assert not lm.DCG().has_continuation
