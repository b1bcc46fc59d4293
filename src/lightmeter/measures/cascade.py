"""Relevance of readers who stop where they are satisfied: ERR, iRBU and gERR."""

from __future__ import annotations

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.data.values import Values
from lightmeter.measures.base import no_relevant
from lightmeter.measures.block import Block
from lightmeter.measures.gains import LinearMeasure
from lightmeter.measures.relevance import ANY, RelevanceMeasure
from lightmeter.models.users import GRADE, Cascade, ERRUser, User
from lightmeter.terms.parameters import Number, param

_PROBABILITY = Number(low=0, high=1)


class ERR(RelevanceMeasure, ERRUser):
    """Expected reciprocal rank: ``sum_{i<=k} stop_i / i`` with ``stop_i = R_i prod_{j<i} (1 - R_j)`` and ``R = (2^g -
    1) / 2^max_grade``.

    In [0, 1], higher is better. As a user model: stops at a document with probability R. ``max_grade``: by default the
    highest grade in the
    judgments (other tools take 4 whatever the judgments: write ``ERR(max_grade=4)`` to agree with them). Source:
    Chapelle et al. 2009.

    Examples
    --------
    >>> from lightmeter import ERR, evaluate, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 0, "b": 1}})
    >>> evaluate(c, [ERR@20]).mean()["value"].to_list()
    [0.25]
    """

    kinds = ("measure", "user")
    max_grade: float | None = param(
        default=None,
        accepts=GRADE,
        doc="highest grade of the scale; by default the highest in the judgments",
        always=True,
    )

    def value(self, block: Block) -> Values:
        stop = block.stop(_user(self), self.cutoff)
        rank = np.arange(1.0, stop.shape[1] + 1)
        return no_relevant(stop @ (1.0 / rank), block.count_relevant(ANY))


class iRBU(RelevanceMeasure):
    """Intentwise rank-biased utility: ``sum_{i<=k} stop_i p^i`` with the stopping probability of ERR.

    In [0, 1], higher is better. Source: Sakai and Zeng 2020; agrees with NTCIREVAL.

    Examples
    --------
    >>> from lightmeter import evaluate, iRBU, load
    >>> c = load(run={"q": ["a"]}, qrels={"q": {"a": 1}})
    >>> evaluate(c, [iRBU(p=0.9)]).mean()["value"].to_list()
    [0.45]
    """

    p: float = param(default=0.99, accepts=_PROBABILITY, doc="patience", always=True)
    max_grade: float | None = param(
        default=None,
        accepts=GRADE,
        doc="highest grade of the scale; by default the highest in the judgments",
        always=True,
    )

    def value(self, block: Block) -> Values:
        user = ERR(max_grade=self.max_grade).with_max_grade(block.context.max_grade)
        stop = block.stop(user, self.cutoff)
        return no_relevant(stop @ np.power(self.p, np.arange(1.0, stop.shape[1] + 1)), block.count_relevant(ANY))


class gERR(LinearMeasure):
    """Generalised expected reciprocal rank: ``sum_{i<=k} view_i R_i`` with the view of ``Cascade(p, u)`` and R = u for
    a relevant document.

    In [0, 1], higher is better; proportional in expectation to EER. Source: Chapelle et al. 2009, section 7.2; Diaz et
    al. 2020.

    Examples
    --------
    >>> from lightmeter import evaluate, gERR, load
    >>> c = load(run={"q": ["a", "b"]}, qrels={"q": {"a": 1, "b": 1}})
    >>> evaluate(c, [gERR(p=0.5, u=0.5)]).mean()["value"].to_list()
    [0.625]
    """

    p: float = param(accepts=_PROBABILITY, doc="patience", always=True)
    u: float = param(accepts=_PROBABILITY, doc="probability that a relevant document satisfies", always=True)

    def value(self, block: Block) -> Values:
        view = block.view(self.reader(), self.cutoff)
        return no_relevant((self.worth(block) * view).sum(axis=1), block.count_relevant(ANY))

    def reader(self) -> User:
        return Cascade(p=self.p, u=self.u)

    def worth(self, block: Block) -> Floats:
        return np.asarray(self.u * (block.grade > 0), dtype=np.float64)


def _user(measure: ERR) -> ERR:
    """The user model of a measure: without its cutoff, so that measures of different cutoffs share one view."""
    return measure(cutoff=None)
