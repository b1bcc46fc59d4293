"""The base of rerankers, and what one returns for a block of rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from lightmeter.arrays import Floats, Integers, Objects
from lightmeter.data.attributes import JOIN
from lightmeter.errors import LightmeterError
from lightmeter.measures.groups import GF
from lightmeter.measures.relevance import RBP
from lightmeter.terms.parameters import Either, ListOf, Text
from lightmeter.terms.term import Cutoff, Term

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
    """How many rankings are sampled, and with what: the generator is a block's own, so threads change nothing."""

    samples: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Reordered:
    """New rankings in place of those of a block.

    Attributes
    ----------
    order
        ``[rankings, ranks]``: the position, from 0, that the document at each rank had in the ranking given; -1 after
        the last.
    origin
        ``[rankings]``: the number in the block of the ranking that each comes from, never falling.
    why
        ``[given]``: for each ranking given, None where the guarantee holds, else what is wrong, in words.
    weight
        ``[rankings]``: probabilities, where several rankings of one origin are a policy.
    """

    order: Integers
    origin: Integers
    why: Objects
    weight: Floats | None = None

    @classmethod
    def one_each(cls, order: Integers, why: Objects | None = None) -> Reordered:
        """One new ranking for each."""
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
        What holds of the new rankings, in one sentence.
    """

    kinds: ClassVar[tuple[str, ...]] = ("reranker",)
    makes: ClassVar[Makes] = "ranking"
    whole_run: ClassVar[bool] = False
    guarantee: ClassVar[str] = ""

    @property
    def attribute(self) -> str:
        """The attribute whose groups it needs, or an empty text."""
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
        """Refuse what cannot be reranked, before anything is computed."""

    def fairness_measures(self, judged: bool) -> list[Any]:
        """The measures of what the method is after, shown where the user names none."""
        by = getattr(self, "by", None)
        if by is None:
            return []
        cutoff = self.cutoff if isinstance(self, Cutoff) else None
        return [GF(by=by, user=RBP(p=0.8), target=getattr(self, "target", None), cutoff=cutoff)]

    def reorder(self, block: Block, draw: Draw) -> Reordered:
        """The new rankings of a block."""
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
