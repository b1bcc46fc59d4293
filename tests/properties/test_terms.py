"""Every registered term, with random parameters: notation, identity and copies."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.worlds import share

import lightmeter as lm
from lightmeter.terms.parameters import (
    Choice,
    Constraint,
    Either,
    Flag,
    ListOf,
    MapOf,
    Maybe,
    Number,
    TermOf,
    Text,
    constraint_of,
)
from lightmeter.terms.registry import KINDS, registered

TERMS = [(kind, cls) for kind in KINDS for cls in registered(kind).values() if cls.__module__.startswith("lightmeter.")]
PLAIN = {"user": lm.Inverse(), "target": lm.Ideal(), "divergence": lm.TV(), "policy": lm.Static(), "measure": lm.nDCG()}
PLAIN["reranker"] = lm.DetGreedy(by="gender")


def values(c: Constraint | None, depth: int) -> st.SearchStrategy[Any]:
    """What a constraint accepts."""
    if isinstance(c, Number) and c.integer:
        return st.integers(int(max(c.low, c.above + 1, -5)), int(min(c.high, c.below - 1, 10**6)))
    if isinstance(c, Number):
        low, high = max(c.low, c.above, -1e6), min(c.high, c.below, 1e6)
        return st.floats(low, high, exclude_min=c.above == low, exclude_max=c.below == high)
    if isinstance(c, Choice):
        return st.sampled_from(c.options)
    if isinstance(c, Flag):
        return st.booleans()
    if isinstance(c, Text):
        return st.text(min_size=1, max_size=12)
    if isinstance(c, Maybe):
        return st.none() | values(c.inner, depth)
    if isinstance(c, Either):
        return st.one_of(*(values(o, depth) for o in c.options))
    if isinstance(c, ListOf):
        return st.lists(values(c.inner, depth), min_size=c.least, max_size=3)
    if isinstance(c, MapOf):
        return st.dictionaries(values(c.key, depth), values(c.value, depth), min_size=1, max_size=3)
    if isinstance(c, TermOf):
        if not depth:
            return st.just(PLAIN[c.kind])
        return st.sampled_from(list(registered(c.kind).values())).flatmap(
            lambda cls: terms(cls, depth - 1, c.kind == "measure")
        )
    raise NotImplementedError(f"say here what {c} accepts")


@st.composite
def terms(draw: Any, cls: type[Any], depth: int = 2, cut: bool = True) -> Any:
    """A term of a class; parameters that do not fit together are drawn again with fewer of them."""
    given_ = {}
    for f in dataclasses.fields(cls):
        needed = f.default is dataclasses.MISSING
        if (f.name != "cutoff" or cut) and (needed or draw(st.booleans())):
            given_[f.name] = draw(values(constraint_of(cls, f), depth))
    try:
        return cls(**given_)
    except lm.TermError:
        needed = {
            n: v
            for n, v in given_.items()
            if {f.name: f for f in dataclasses.fields(cls)}[n].default is dataclasses.MISSING
        }
        try:
            return cls(**needed)
        except lm.TermError:
            return PLAIN[cls.kinds[0]]


@pytest.mark.parametrize(("kind", "cls"), TERMS, ids=[f"{k}-{c.__name__}" for k, c in TERMS])
@given(st.data())
@share(0.5)
def test_round_trip(kind: str, cls: type[Any], data: Any) -> None:
    """``parse(str(term)) == term``, also where a term of any kind is read, and as ``repr``."""
    term = data.draw(terms(cls))
    again = lm.parse(str(term), kind=kind)
    assert again == term
    assert type(again) is type(term)
    assert hash(again) == hash(term)
    assert str(again) == str(term) == repr(term)
    assert pickle.loads(pickle.dumps(term)) == term
    assert copy.deepcopy(term) == term
    assert copy.copy(term) == term
    assert len({term, again}) == 1


@pytest.mark.parametrize(("kind", "cls"), TERMS, ids=[f"{k}-{c.__name__}" for k, c in TERMS])
@given(st.data())
@share(0.1)
def test_frozen(kind: str, cls: type[Any], data: Any) -> None:
    """A term cannot be changed; a call makes a changed copy."""
    term = data.draw(terms(cls))
    for f in dataclasses.fields(term):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(term, f.name, None)
        assert term(**{f.name: getattr(term, f.name)}) == term
    with pytest.raises(lm.TermError, match="has no parameter"):
        term(nonsense=1)


@pytest.mark.parametrize(("kind", "cls"), TERMS, ids=[f"{k}-{c.__name__}" for k, c in TERMS])
def test_traits_are_there(kind: str, cls: type[Any]) -> None:
    """What docs and command line read: a first sentence, and parameters that say what they are."""
    assert (cls.__doc__ or "").strip().splitlines()[0].strip()
    for f in dataclasses.fields(cls):
        assert f.metadata.get("doc"), f"{cls.__name__}.{f.name} has no doc"
        assert constraint_of(cls, f) is not None, f"{cls.__name__}.{f.name} accepts anything"


@given(st.data())
def test_different_parameters_are_different_terms(data: Any) -> None:
    _kind, cls = data.draw(st.sampled_from(TERMS))
    a, b = data.draw(terms(cls)), data.draw(terms(cls))
    assert (a == b) == (str(a) == str(b))
