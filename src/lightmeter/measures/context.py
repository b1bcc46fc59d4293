"""What holds for a whole call: the collection, its runs in rank order, the conventions, and what was computed once for
all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl

from lightmeter.arrays import Codes, Integers
from lightmeter.data.attributes import Attribute
from lightmeter.data.collection import Collection
from lightmeter.data.ids import IdIndex
from lightmeter.data.rankings import Ranked
from lightmeter.errors import LightmeterError
from lightmeter.models.policies import Policy, Static
from lightmeter.models.users import User

T = TypeVar("T")
U = TypeVar("U", bound=User)
Unknown = Literal["uniform", "drop", "distinct", "error"]
Missing = Literal["zero", "skip", "error"]
UNKNOWN: tuple[Unknown, ...] = ("uniform", "drop", "distinct", "error")
MISSING: tuple[Missing, ...] = ("zero", "skip", "error")


class Context:
    """Shared state of one evaluation; measures read it, nothing changes it but its cache.

    Parameters
    ----------
    collection
        What is evaluated.
    ranked
        Each run in rank order.
    policy
        How the rankings in the files are taken.
    unknown
        What becomes of documents of unknown membership.
    """

    def __init__(
        self,
        collection: Collection,
        ranked: dict[str, Ranked],
        policy: Policy | None = None,
        unknown: Unknown = "uniform",
    ) -> None:
        self.collection, self.ranked, self.unknown = collection, ranked, unknown
        self.policy: Policy = policy or Static()
        self._cache: dict[Any, Any] = {}

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """The value of ``compute()``, computed at the first call with this key."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    @property
    def max_grade(self) -> float | None:
        """The highest grade in the judgments, None without judgments."""
        return None if self.collection.judgments is None else self.collection.judgments.max_grade

    def user(self, user: U) -> U:
        """The user with its open parameters taken from the judgments."""
        return user.with_max_grade(self.max_grade)

    def distinct(self, attribute: Attribute) -> dict[str, Codes]:
        """For each run and row the value of its own that an unknown document gets, -1 for known ones
        (``unknown='distinct'``).

        A document has the same value in every run; the values follow those of the attribute.
        """
        return self.once(("distinct", attribute.name), lambda: self._distinct(attribute)[0])

    def count_distinct(self, attribute: Attribute) -> int:
        """How many values of their own there may be, ranked or judged (``unknown='distinct'``)."""
        return len(self._distinct(attribute)[1])

    def own_value(self, attribute: Attribute, docs: pl.Series) -> Integers:
        """The values of their own of unknown documents, ranked or judged (``unknown='distinct'``)."""
        index = self.once(("own", attribute.name), lambda: IdIndex(self._distinct(attribute)[1]))
        return index.find(docs).astype(np.int64) + len(attribute.values)

    def _distinct(self, attribute: Attribute) -> tuple[dict[str, Codes], pl.Series]:
        return self.once(("distinct and docs", attribute.name), lambda: self._find_distinct(attribute))

    def _find_distinct(self, attribute: Attribute) -> tuple[dict[str, Codes], pl.Series]:
        rows = {name: np.flatnonzero(ranked.member_row(attribute.name) < 0) for name, ranked in self.ranked.items()}
        docs = [ranked.run.ids.gather(rows[name]) for name, ranked in self.ranked.items()]
        if self.collection.judgments is not None:
            docs.append(self.collection.judgments.doc)
        unique = pl.concat(docs).unique(maintain_order=True)
        index = IdIndex(unique)
        out = {}
        for (name, ranked), mine in zip(self.ranked.items(), docs, strict=False):
            codes = np.full(len(ranked.run), -1, dtype=np.int32)
            codes[rows[name]] = index.find(mine) + len(attribute.values)
            out[name] = codes
        return out, unique

    def refuse_unknown(self, attribute: Attribute, run: str, docs: pl.Series) -> None:
        """Raise for documents of unknown membership (``unknown='error'``)."""
        raise LightmeterError(
            f"run {run}: {docs.n_unique()} documents have no known {attribute.name}, the first is {docs[0]!r}. "
            "Accepted with unknown='error': memberships of every ranked document. Add them, or choose uniform, drop "
            "or distinct."
        )
