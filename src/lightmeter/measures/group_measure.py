"""What measures of prefixes and pairs share: the membership of each place in one value, target shares, reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.membership import FEW, Distribution
from lightmeter.data.values import Values
from lightmeter.errors import LightmeterError, suggest
from lightmeter.measures.base import Measure
from lightmeter.measures.block import Block
from lightmeter.models.divergences import Divergence
from lightmeter.models.targets import SHORTHANDS
from lightmeter.terms.parameters import Choice, Either, Maybe, TermOf, Text

if TYPE_CHECKING:
    from lightmeter.measures.context import Context

NOTHING_KNOWN = "no_known_member"
TARGET = Maybe(Either((Choice(tuple(SHORTHANDS)), TermOf("target"))))
TARGET_DOC = "target distribution; by default the given one where there is one, else uniform"
DIV_DOC = "divergence of the achieved distribution from the target"
BY_DOC = "attribute whose groups are looked at; several: their intersections"
VALUE = Text("one of the attribute's values")
PROTECTED_DOC = "the value whose documents are protected"
EMPTY = "empty_group"
ZERO_TARGET = "zero_target_share"
#: Codes below this are sorted in linear time.
SMALL = 1 << 16


class GroupMeasure(Measure, abstract=True):
    """Base of measures that look at the groups of one attribute."""

    needs = frozenset({"groups"})
    by: str

    def resolve(self, context: Context) -> Any:
        measure = super().resolve(context)
        div = getattr(measure, "div", None)
        if div is not None:
            _check_divergence(context, measure, div)
        else:
            context.collection.attribute(measure.by)
        return measure


def _check_divergence(context: Context, measure: Any, div: Divergence) -> None:
    attribute = context.collection.attribute(measure.by)
    if not div.ordinal:
        return
    values = ",".join(attribute.values[:8]) + (",.." if len(attribute.values) > 8 else "")
    if not attribute.ordinal and len(attribute.values) > 2:
        raise LightmeterError(
            f"{measure}: {type(div).__name__} reads the order of values, and {attribute.name!r} is not declared "
            "ordinal. "
            f"Declare it, from low to high: --ordinal {attribute.name}={values} (in Python: ordinal=); or use JSD."
        )
    if context.unknown == "distinct":
        raise LightmeterError(
            f"{measure}: {type(div).__name__} needs an order, which unknown='distinct' values have not. Accepted: "
            "uniform, drop or error."
        )


def code_of(context: Context, measure: Any, value: str) -> int:
    """The position of a value in its attribute; an error that names the values where there is none."""
    values = context.collection.attribute(measure.by).values
    if value not in values:
        shown = ", ".join(values[:12]) + (", .." if len(values) > 12 else "")
        raise LightmeterError(
            f"{measure}: {measure.by!r} has no value {value!r}.{suggest(value, values)} Accepted: {shown}."
        )
    return values.index(value)


def other_of(context: Context, measure: Any, value: str) -> str:
    """The other of two values; an error where there are more or fewer."""
    values = context.collection.attribute(measure.by).values
    if len(values) != 2:
        raise LightmeterError(
            f"{measure}: {measure.by!r} has {len(values)} values ({', '.join(values[:8])}), so it does not follow "
            "which one is opposed. Accepted: attributes of exactly two values, or name it with negative='..'."
        )
    return values[1] if values[0] == value else values[0]


def member(block: Block, by: str, value: str, *, full: bool = False) -> Floats:
    """Membership of each place in one value, ``[rankings, ranks]``, under the call's rule for unknown ones.

    A multi-valued document is split equally, or with ``full`` counts fully in each of its values.
    """

    def compute() -> Floats:
        m = block.membership(by)
        mine = m.value == m.attribute.values.index(value)
        out = np.zeros(m.shape)
        weight = m.weight * m.multi if full and m.multi is not None else m.weight
        out.reshape(-1)[m.position[mine]] = weight[mine]
        return out if m.spread is None else out + m.spread / m.size

    return block.once(("member", by, value, full), compute)


def target_share(goal: Distribution, code: int, query: NDArray[np.integer[Any]]) -> Floats:
    """The target share of one value for some queries; 0 where there is no target."""
    if goal.shared:
        return np.full(len(query), goal.share[goal.value == code].sum())
    position, value, share = goal.rows(query)
    mine = value == code
    out = np.zeros(len(query))
    out[position[mine]] = share[mine]
    return out


def looked_at(block: Block, cutoff: int | None) -> Booleans:
    """The places of the first k documents, ``[rankings, ranks]``."""
    if cutoff is None or cutoff >= block.shape[1]:
        return block.valid
    top = block.valid.copy()
    top[:, cutoff:] = False
    return top


def undefined(values: Values, block: Block, by: str, cutoff: int | None, goal: Distribution | None = None) -> Values:
    """Mark rankings of which nothing is known, or that have no target."""
    values.because(~anything_known(block, by, cutoff), NOTHING_KNOWN)
    return values if goal is None else values.because(~goal.defined(block.query), goal.reason)


def anything_known(block: Block, by: str, cutoff: int | None) -> Booleans:
    """Whether any of the documents looked at has a known membership; one of its own counts as known."""
    known = block.membership(by).known if block.context.unknown == "distinct" else block.member_entry(by) >= 0
    return np.asarray((known if cutoff is None else known[:, :cutoff]).any(axis=1))


def drawn(block: Block) -> bool:
    """Whether a block's rankings are given or drawn; otherwise values are expected ones, of a policy."""
    return block.ranked.sampled or not block.context.policy.stochastic


def by_value(value: NDArray[np.integer[Any]], size: int) -> Integers:
    """The stable order by a value below ``size``; entries of larger ones are left out."""
    if size <= FEW:  # a look for each value costs less than sorting
        return np.concatenate([np.flatnonzero(value == code) for code in range(size)])
    kept = np.flatnonzero(value < size)
    return kept[sorted_by(value[kept])]


def sorted_by(*codes: NDArray[np.integer[Any]]) -> Integers:
    """The stable order by several codes, the first one foremost; small codes are sorted in linear time."""
    order: Integers | None = None
    for code in _packed(codes):
        step = np.argsort(code if order is None else code[order], kind="stable")
        order = step if order is None else order[step]
    return np.arange(0) if order is None else order


def _packed(codes: tuple[NDArray[np.integer[Any]], ...]) -> list[NDArray[np.integer[Any]]]:
    """Codes to sort by one after the other, the last first: as few as fit into 16 bits, which sort in linear time."""
    out: list[NDArray[np.integer[Any]]] = []
    packed, span = None, 1
    for code in reversed(codes):
        values = int(code.max(initial=0)) + 1
        if packed is not None and span * values <= SMALL:
            packed, span = packed + code * span, span * values
            continue
        if packed is not None:
            out.append(packed.astype(np.uint16) if span <= SMALL else packed)
        packed, span = code, values
    if packed is not None:
        out.append(packed.astype(np.uint16) if span <= SMALL else packed)
    return out


def starts_of(*codes: NDArray[np.integer[Any]]) -> Integers:
    """For each entry of sorted codes the first entry with the same codes."""
    size = len(codes[0])
    fresh = np.ones(size, dtype=bool)
    if size:
        fresh[1:] = False
        for code in codes:
            fresh[1:] |= code[1:] != code[:-1]
    return np.maximum.accumulate(np.where(fresh, np.arange(size), 0)) if size else np.arange(0)
