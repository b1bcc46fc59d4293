"""Policies: distributions over rankings."""

from __future__ import annotations

from typing import ClassVar, Literal

from lightmeter.data.rankings import TIES, Ties
from lightmeter.terms.parameters import Choice, Number, param
from lightmeter.terms.term import Term


class Policy(Term, abstract=True):
    """Base of policies."""

    kinds: ClassVar[tuple[str, ...]] = ("policy",)

    @property
    def base_ties(self) -> Literal["docno", "file", "error"]:
        """How equal scores are ordered in the ranking that the policy starts from."""
        ties: Ties = getattr(self, "ties", "docno")
        return "docno" if ties == "expected" else ties

    @property
    def stochastic(self) -> bool:
        """Whether it makes rankings of its own out of one ranking per query."""
        return True


class Static(Policy):
    """The ranking as given: score descending, ties by a rule.

    ``'docno'``: then document id descending, byte by byte (trec_eval's rule); ``'file'``: then as they stand in the
    file; ``'error'``: ties are refused; ``'expected'``: documents of equal scores stand in uniformly random order, and
    expected values are given.
    """

    ties: Ties = param(
        default="docno", accepts=Choice((*TIES, "expected")), always=True, doc="order of documents with equal scores"
    )

    @property
    def stochastic(self) -> bool:
        return self.ties == "expected"


class Samples(Policy):
    """The several rankings of a query in the file, taken as draws from a policy or as the whole policy.

    ``weight='sampling'``: draws from a policy (weights, if the file has any, are taken in proportion), so estimates are
    corrected for the sample's size; ``'probability'``: the rankings and their weights *are* the policy, so plug-in
    values are exact; ``'count'``: the weight says how often a ranking was drawn.
    """

    weight: Literal["sampling", "probability", "count"] = param(
        default="sampling",
        accepts=Choice(("sampling", "probability", "count")),
        always=True,
        doc="what the weight of a ranking means",
    )
    ties: Ties = param(default="docno", accepts=Choice(TIES), doc="order of documents with equal scores")

    @property
    def stochastic(self) -> bool:
        return False


class PlackettLuce(Policy):
    """Documents are drawn one after the other in proportion to ``exp(alpha * score)``.

    Scores are standardised by query (``'zscore'``), stretched to [0, 1] (``'minmax'``) or taken as they are
    (``'raw'``). alpha = 0 is uniform; alpha to infinity is the ranking itself, ties in random order. Source: Plackett
    1975; Diaz et al. 2020, section 5.1.
    """

    kinds = ("policy", "reranker")
    alpha: float = param(default=1.0, accepts=Number(low=0), always=True, doc="how strongly scores decide")
    scores: Literal["zscore", "raw", "minmax"] = param(
        default="zscore", accepts=Choice(("zscore", "raw", "minmax")), doc="how scores are scaled"
    )


class RankTransposition(Policy):
    """The ranking, shuffled by a geometric number of steps, each of which swaps a uniformly chosen pair of places.

    ``theta`` is the probability of stopping before each step: 1 is the ranking itself, theta to 0 uniform. Source: Diaz
    et al. 2020, section 5.1.
    """

    kinds = ("policy", "reranker")
    theta: float = param(accepts=Number(above=0, high=1), always=True, doc="probability of no further swap")


class Oracle(Policy):
    """The candidates by falling grade, those of one grade in uniformly random order: the best there is."""

    kinds = ("policy", "reranker")
