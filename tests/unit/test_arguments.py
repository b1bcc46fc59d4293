"""The checks of arguments, and ``rng``: a seed, a generator or None in every public function that draws."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import lightmeter as lm
from lightmeter import statistics
from lightmeter.errors import choice, seed, whole_number
from lightmeter.learn.data import generated
from lightmeter.results.result import Result
from lightmeter.statistics.correlation import taus_over_queries
from lightmeter.statistics.intervals import bootstrap_intervals
from lightmeter.statistics.significance import paired_test, randomised_tukey

RUNS = {
    name: {f"q{i}": {d: float(j) for j, d in enumerate(docs)} for i in range(6)}
    for name, docs in (("a", "wxyz"), ("b", "zyxw"))
}
QRELS = {f"q{i}": {"w": 1, "x": i % 2, "y": 0, "z": 1} for i in range(6)}
LOG = pl.DataFrame(
    {
        "query": ["q"] * 8,
        "doc": list("aaaabbbb"),
        "rank": [1, 1, 2, 2] * 2,
        "clicked": [1, 0] * 4,
        "weight": [80, 20, 40, 60, 40, 60, 20, 80],
    }
)
TABLE = pl.DataFrame({"s": [5.0, 4.0, 3.0, 2.0, 1.0, 0.0] * 4, "g": ["f", "m", "m"] * 8})
SCORES = np.random.default_rng(3).normal(size=(2, 12))


def collection() -> lm.Collection:
    return lm.load(run=RUNS, qrels=QRELS)


#: what each function gives, as something that can be compared
CALLS: dict[str, Callable[[Any], Any]] = {
    "audit": lambda rng: lm.audit(TABLE, score="s", group="g", resamples=20, rng=rng).frame().rows(),
    "compare": lambda rng: lm.compare(collection(), ["RR"], resamples=50, rng=rng).pairs.rows(),
    "estimate_attention": lambda rng: lm.estimate_attention(LOG, method="pairs", resamples=20, rng=rng).frame().rows(),
    "evaluate": lambda rng: (
        lm.evaluate(collection(), ["AP"], policy="PlackettLuce", samples=5, rng=rng).per_query().rows()
    ),
    "rerank": lambda rng: lm.rerank(collection(), "PlackettLuce", samples=3, rng=rng).run.rows(),
    "sample": lambda rng: lm.sample(collection(), "PlackettLuce", 3, rng).rows(),
    "sweep": lambda rng: lm.sweep(collection(), "PlackettLuce", resamples=20, rng=rng).frame().rows(),
    "Result.intervals": lambda rng: lm.evaluate(collection(), ["AP"]).intervals(resamples=50, rng=rng).rows(),
    "bootstrap_intervals": lambda rng: bootstrap_intervals(SCORES, resamples=50, rng=rng),
    "paired_test": lambda rng: paired_test(SCORES, "bootstrap", resamples=50, rng=rng),
    "randomised_tukey": lambda rng: randomised_tukey(SCORES, permutations=50, rng=rng),
    "taus_over_queries": lambda rng: taus_over_queries([SCORES, -SCORES], resamples=50, rng=rng),
    "generated": lambda rng: generated(5, (4, 6), rng=rng)[1],
}


def functions() -> Iterator[Any]:
    """The public functions: of lightmeter, of a result and of the statistics."""
    yield from (getattr(lm, name) for name in lm.__all__)
    yield from (Result.intervals, generated)
    for module in pkgutil.iter_modules(statistics.__path__):
        yield from vars(importlib.import_module(f"lightmeter.statistics.{module.name}")).values()


def test_every_public_function_with_rng_is_called_here():
    having = [f for f in functions() if inspect.isfunction(f) and "rng" in inspect.signature(f).parameters]
    generators = {"draws", "resampled", "seed", "stream", "streams"}  # what the others are made of
    public = {f.__qualname__: f for f in having if not f.__name__.startswith("_") and f.__name__ not in generators}
    assert set(public) == set(CALLS)
    assert {inspect.signature(f).parameters["rng"].annotation for f in public.values()} == {"Rng"}


@pytest.mark.parametrize("name", CALLS)
def test_rng_is_a_seed_a_generator_or_none(name):
    call = CALLS[name]
    assert str(call(3)) == str(call(3)) == str(call(np.int64(3)))
    assert str(call(np.random.default_rng(5))) == str(call(np.random.default_rng(5)))
    assert type(call(None)) is type(call(3))
    for wrong in (-1, 0.5, "x", True):
        with pytest.raises(lm.LightmeterError, match=f"rng is {wrong!r}. Accepted: a whole number from 0 up"):
            call(wrong)


def test_the_seed_is_recorded_where_none_was_given():
    result = lm.evaluate(collection(), ["AP"], policy="PlackettLuce", samples=5)
    fresh = lm.evaluate(collection(), ["AP"], policy="PlackettLuce", samples=5, rng=None)
    assert result.conventions["drawn"].endswith("seed 0")
    used = int(fresh.conventions["drawn"].rsplit("seed ", 1)[1])
    again = lm.evaluate(collection(), ["AP"], policy="PlackettLuce", samples=5, rng=used)
    assert again.per_query().equals(fresh.per_query())


def test_a_seed_is_itself_and_a_generator_gives_one():
    assert seed(np.uint8(7)) == 7
    assert seed(np.random.default_rng(1)) == int(np.random.default_rng(1).integers(2**63))
    assert seed(None) != seed(None)


def test_whole_numbers_and_choices():
    assert whole_number("k", np.int32(3)) == 3
    for wrong in (0, True, 1.0, "1", None):
        with pytest.raises(lm.LightmeterError, match="a whole number of at least 1"):
            whole_number("k", wrong)
    assert choice("ties", "file", ("docno", "file")) == "file"
    with pytest.raises(lm.LightmeterError, match=r"ties is .docnos.\. Did you mean .docno.\? Accepted: docno, file"):
        choice("ties", "docnos", ("docno", "file"))
