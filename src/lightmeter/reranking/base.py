"""What a reranker is, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Floats, Integers, Objects
from lightmeter.data.attributes import JOIN
from lightmeter.errors import LightmeterError
from lightmeter.terms.parameters import Either, ListOf, Text
from lightmeter.terms.term import Term

if TYPE_CHECKING:
    from lightmeter.data.attributes import Attribute
    from lightmeter.data.rankings import Ranked
    from lightmeter.measures.block import Block
    from lightmeter.measures.context import Context

Makes = Literal["ranking", "draws", "policy"]

VALUE = Text("one of the attribute's values")
VALUES = Either((VALUE, ListOf(VALUE)))


@dataclass(frozen=True)
class Draw:
    """How much is drawn, and with what: the generator is a block's own, so threads and other blocks change nothing."""

    samples: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Reordered:
    """Rankings made of those of a block.

    Attributes
    ----------
    order
        ``[made, ranks]``: the place, from 0, that whoever stands at each rank had in the ranking given; -1 after the
        last.
    origin
        ``[made]``: the number in the block of the ranking that each was made of, never falling.
    why
        ``[rankings]``: None where the guarantee holds, else what is wrong, in words.
    weight
        ``[made]``: probabilities, where several rankings of one origin are a policy.
    """

    order: Integers
    origin: Integers
    why: Objects
    weight: Floats | None = None

    @classmethod
    def one_each(cls, order: Integers, why: Objects | None = None) -> Reordered:
        """One ranking made of each."""
        return cls(order, np.arange(len(order)), none_of(len(order)) if why is None else why)


class Reranker(Term, abstract=True):
    """Base of rerankers: a subclass with :meth:`reorder` is known to ``lightmeter.rerank`` by its name.

    Attributes
    ----------
    makes
        One ``ranking`` of each, ``draws`` from a policy, or a whole ``policy``: rankings with probabilities.
    whole_run
        Whether all rankings of a run come in one block, in their order.
    guarantee
        What holds of the rankings made, in one sentence.
    """

    kinds: ClassVar[tuple[str, ...]] = ("reranker",)
    makes: ClassVar[Makes] = "ranking"
    whole_run: ClassVar[bool] = False
    guarantee: ClassVar[str] = ""

    @property
    def attribute(self) -> str:
        """The attribute that it looks at, or an empty text."""
        by = getattr(self, "by", None) or ""
        return by if isinstance(by, str) else JOIN.join(by)

    @property
    def promise(self) -> str:
        """The guarantee, where it depends on the parameters."""
        return self.guarantee

    @property
    def advice(self) -> str | None:
        """What to do where the guarantee does not hold, in words, or None."""
        return None

    def prepare(self, context: Context, ranked: Ranked) -> None:
        """Refuse what cannot be, before anything is made."""

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        """Rankings made of those of a block."""
        raise NotImplementedError


def none_of(n: int) -> Objects:
    """``[n]`` times None."""
    return np.full(n, None, dtype=object)


def hard(reranker: Reranker, attribute: Attribute) -> None:
    """Refuse attributes in which a document has not exactly one value."""
    if attribute.kind != "hard":
        kind = "shares" if attribute.kind == "soft" else "several values"
        raise LightmeterError(
            f"{reranker}: documents have {kind} of {attribute.name!r}, and it counts documents by their one value. "
            "Accepted: an attribute of one value a document. For shares and several values there is FairExposure."
        )
