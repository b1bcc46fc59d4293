"""User models: how far down a ranking people look.

One vector defines a user, its continuation C_k, the probability of going on from rank k to k+1. Two vectors follow
from it:
``view_k = prod_{j<k} C_j``, the probability that rank k is seen (*exposure*), and ``stop_k = view_k (1 - C_k)``, the
probability that
rank k is the last one seen. A cutoff is applied last, by whoever asks: ranks below it get 0 and nothing is
renormalised.

Position models know the rank only and give ``view`` by a formula (from which C_k = view_{k+1}/view_k); document models
give C_k by the
document's grade.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.errors import TermError
from lightmeter.terms.parameters import Flag, ListOf, Maybe, Number, param
from lightmeter.terms.term import Term

#: ranks whose views are summed one by one
LONGEST = 10_000_000
#: ranks among which the last one where views rise is looked for
_FIRST = 10_000


class User(Term, abstract=True):
    """Base of user models.

    A position model overrides :meth:`view_at`; a model whose continuation depends on the document overrides
    :meth:`continuation` and sets ``by_document``. All else that others need to know follows from these, and may be
    overridden where more is known: how far the user looks (:meth:`seen_ranks`, :attr:`last_rise`) and what the views
    of an endless list sum to (:meth:`total`).
    """

    kinds: ClassVar[tuple[str, ...]] = ("user",)
    by_document: ClassVar[bool] = False

    def with_max_grade(self, max_grade: float | None) -> Self:
        """The user with whatever it takes from the judgments filled in."""
        return self

    def view_at(self, rank: Floats) -> Floats:
        """View at 1-based ranks (position models)."""
        raise NotImplementedError

    def continuation(self, grade: Floats) -> Floats:
        """C of documents by their grade (document models)."""
        raise NotImplementedError

    def view(self, grade: Floats) -> Floats:
        """View of every rank, no cutoff.

        Parameters
        ----------
        grade
            Grades in rank order, ``[..., ranks]``; only their shape matters to a position model.

        Returns
        -------
        array
            ``[ranks]`` for position models, the shape of ``grade`` for the others.
        """
        if not self.by_document:
            return self.view_at(np.arange(1.0, grade.shape[-1] + 1))
        return _reached(self.continuation(grade))

    @property
    def has_continuation(self) -> bool:
        """Whether the probability of going on depends on the document's grade alone, not on its rank."""
        return self.by_document or type(self).continuation is not User.continuation

    def seen_ranks(self, cutoff: int | None = None) -> float:
        """The last rank that can have a view: the cutoff, or the end of a shortlist; infinite where there is none.

        Examples
        --------
        >>> TopK(k=3).seen_ranks(), TopK(k=3).seen_ranks(2), Inverse().seen_ranks()
        (3.0, 2.0, inf)
        """
        return math.inf if cutoff is None else float(cutoff)

    @property
    def last_rise(self) -> int:
        """The last rank with a larger view than the rank above it, 0 where views never rise (position models)."""
        rises = np.flatnonzero(np.diff(self.view_at(np.arange(1.0, _FIRST + 1))) > 0)
        return int(rises[-1]) + 2 if len(rises) else 0

    def total(self, cutoff: int | None = None, power: int = 1) -> float:
        """``sum_k view_k^power`` down a list of documents of grade 0 that never ends.

        Infinite where it does not converge, or where it converges so slowly that no sum is known.

        Examples
        --------
        >>> from lightmeter import RBP
        >>> RBP(p=0.5).total(), RBP(p=0.5).total(2, 2), Inverse().total()
        (2.0, 1.25, inf)
        """
        ranks = self.seen_ranks(cutoff)
        if self.has_continuation:
            # no document of the list has a grade, so the highest grade does not matter
            ratio = float(self.with_max_grade(0.0).continuation(np.zeros(1))[0]) ** power
            return (1.0 if math.isinf(ranks) else 1.0 - ratio**ranks) / (1.0 - ratio) if ratio < 1.0 else ranks
        if ranks <= LONGEST:
            return float((self.view_at(np.arange(1.0, ranks + 1)) ** power).sum())
        return _limit(self, power) if cutoff is None else math.inf

    @property
    def by_continuation(self) -> bool:
        """Whether all follows from the continuation of each document, as here; false where that is overridden."""
        return self.by_document and type(self).stop is User.stop and type(self).view is User.view

    def stop(self, grade: Floats) -> Floats:
        """Probability that a rank is the last one seen, no cutoff; shapes as in :meth:`view`."""
        if self.by_document:
            return stopping(self.continuation(grade))
        view = self.view_at(np.arange(1.0, grade.shape[-1] + 2))
        stop = view[:-1] - view[1:]
        if (stop < 0).any():
            raise TermError(
                f"{self} has a view that grows with the rank, so it has no stopping probability. "
                "Accepted here: weights that never increase."
            )
        return stop


@cache
def _limit(user: User, power: int) -> float:
    """The sum of all views, by what the sums of blocks of doubling length tell of those below; infinite if unsure."""
    before = math.nan
    for block in (2**14, 2**16, 2**18, 2**20):
        summand = user.view_at(np.arange(1.0, 4 * block + 1)) ** power
        upper, lower = float(summand[block : 2 * block].sum()), float(summand[2 * block :].sum())
        if lower >= 0.999 * upper > 0:
            break
        ratio = lower / upper if upper else 0.0  # of each block to the one above, twice as long as that
        total = float(summand.sum()) + lower * ratio / (1.0 - ratio)
        if abs(total - before) <= 1e-8 * total:
            return total
        before = total
    return math.inf


def stopping(goes_on: Floats) -> Floats:
    """Probability that each rank is the last one seen, from those of going on at each."""
    stop = _reached(goes_on)
    stop *= 1.0 - goes_on
    return stop


def _reached(goes_on: Floats) -> Floats:
    """Probability that each rank is reached, from those of going on at each."""
    view = np.ones(goes_on.shape)
    np.cumprod(goes_on[..., :-1], axis=-1, out=view[..., 1:])
    return view


class Cascade(User):
    """A reader who goes on with patience p, and with utility u stops at a relevant document.

    ``C_k = p (1 - u [g_k > 0])``: the generalised ERR user of expected exposure (Diaz et al. 2020).

    Examples
    --------
    >>> import numpy as np
    >>> Cascade(p=0.5, u=0.5).view(np.array([1.0, 0.0, 1.0])).tolist()
    [1.0, 0.25, 0.125]
    """

    by_document = True
    p: float = param(accepts=Number(low=0, high=1), always=True, doc="patience: probability of going on")
    u: float = param(
        accepts=Number(low=0, high=1), always=True, doc="utility: probability that a relevant document satisfies"
    )

    def continuation(self, grade: Floats) -> Floats:
        return np.where(grade > 0, self.p * (1.0 - self.u), self.p)


class TopK(User):
    """Everyone sees the first k ranks and nothing below: a shortlist.

    Examples
    --------
    >>> import numpy as np
    >>> TopK(k=2).view(np.zeros(3)).tolist()
    [1.0, 1.0, 0.0]
    """

    k: int = param(accepts=Number(low=1, integer=True), always=True, doc="length of the shortlist")

    def seen_ranks(self, cutoff: int | None = None) -> float:
        return float(self.k if cutoff is None else min(self.k, cutoff))

    def view_at(self, rank: Floats) -> Floats:
        return (rank <= self.k).astype(np.float64)


class Inverse(User):
    """Attention falls with the rank: ``view_k = 1/k``.

    Examples
    --------
    >>> import numpy as np
    >>> Inverse().view(np.zeros(2)).tolist()
    [1.0, 0.5]
    """

    def view_at(self, rank: Floats) -> Floats:
        return 1.0 / rank

    def total(self, cutoff: int | None = None, power: int = 1) -> float:
        return math.pi**2 / 6.0 if cutoff is None and power == 2 else super().total(cutoff, power)


class Attention(User):
    """A measured curve: the view of each rank as given, 0 below the last one.

    Examples
    --------
    >>> import numpy as np
    >>> Attention(weights=[1.0, 0.6]).view(np.zeros(3)).tolist()
    [1.0, 0.6, 0.0]
    """

    weights: tuple[float, ...] = param(accepts=ListOf(Number(low=0)), always=True, doc="view of rank 1, 2, ..")

    def check(self) -> None:
        if not any(self.weights):
            raise TermError("Attention: all weights are 0. Accepted: at least one above 0.")

    def seen_ranks(self, cutoff: int | None = None) -> float:
        return float(len(self.weights) if cutoff is None else min(len(self.weights), cutoff))

    @property
    def last_rise(self) -> int:
        return len(self.weights)

    def view_at(self, rank: Floats) -> Floats:
        padded = np.append(np.asarray(self.weights), 0.0)
        return padded[np.minimum(rank.astype(np.int64), len(padded)) - 1]


class RBPUser(User, abstract=True):
    """The user of RBP: goes on with patience p whatever the document."""

    if TYPE_CHECKING:
        p: float

    def view_at(self, rank: Floats) -> Floats:
        return np.power(self.p, rank - 1.0)

    def continuation(self, grade: Floats) -> Floats:
        return np.full(grade.shape, self.p)

    def stop(self, grade: Floats) -> Floats:
        return self.view(grade) * (1.0 - self.p)


class ERRUser(User, abstract=True):
    """The user of ERR: stops at a document with probability R = (2^g - 1) / 2^max_grade."""

    by_document = True

    def with_max_grade(self, max_grade: float | None) -> Self:
        mine = self.max_grade  # type: ignore[attr-defined]
        if max_grade is None:
            return self
        if mine is None:
            return type(self).__call__(self, max_grade=max(max_grade, 1.0))
        if max_grade > mine:
            raise TermError(
                f"{self}: the judgments have the grade {max_grade:g}, above max_grade={mine:g}. "
                f"Accepted: max_grade of at least {max_grade:g}."
            )
        return self

    def satisfaction(self, grade: Floats) -> Floats:
        """R of documents by their grade."""
        highest = self.max_grade  # type: ignore[attr-defined]
        if highest is None:
            raise TermError("ERR has no highest grade without judgments. Write it: ERR(max_grade=4).")
        return err_satisfaction(grade, highest)

    def continuation(self, grade: Floats) -> Floats:
        return 1.0 - self.satisfaction(grade)


def err_satisfaction(grade: Floats, max_grade: float) -> Floats:
    """R = (2^g - 1) / 2^max_grade, whatever the grades: their powers need not be finite."""
    return np.exp2(grade - max_grade) - np.exp2(-max_grade)


class DCGUser(User, abstract=True):
    """The user of DCG: ``view_k = 1/log2(k+1)``, or with ``clip`` the TREC Fair Ranking form ``1/log_base(max(k,
    base))``.
    """

    def view_at(self, rank: Floats) -> Floats:
        if self.clip:  # type: ignore[attr-defined]
            base: float = self.base  # type: ignore[attr-defined]
            return np.log(base) / np.log(np.maximum(rank, base))
        return 1.0 / np.log2(rank + 1.0)


def user_of(text: Any) -> User:
    """A user from a term, its class or its notation."""
    from lightmeter.terms.notation import parse

    if isinstance(text, str):
        text = parse(text, kind="user")
    if isinstance(text, type) and issubclass(text, User):
        text = text()
    if not isinstance(text, User):
        raise TermError(f"found {text!r}. Accepted: a user model such as RBP(p=0.8).")
    return text


GRADE = Maybe(Number(low=0))
CLIP = Flag()
