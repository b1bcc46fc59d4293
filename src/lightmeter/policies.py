"""Policies: distributions over rankings."""

from __future__ import annotations

from typing import ClassVar, Literal

from lightmeter.params import Choice, param
from lightmeter.terms import Term

TIES = ("docno", "file", "error")
Ties = Literal["docno", "file", "error"]


class Policy(Term, abstract=True):
    """Base of policies."""

    kinds: ClassVar[tuple[str, ...]] = ("policy",)


class Static(Policy):
    """The ranking as given: score descending, ties by a rule.

    ``'docno'``: then document id descending, byte by byte (trec_eval's rule); ``'file'``: then as they stand in the
    file;
    ``'error'``: ties are refused.
    """

    ties: Ties = param(default="docno", accepts=Choice(TIES), always=True, doc="order of documents with equal scores")


class Samples(Policy):
    """The several rankings of a query in the file, taken as draws from a policy or as the whole policy.

    ``weight='sampling'``: draws from a policy (weights, if the file has any, are taken in proportion), so estimates are
    corrected for the sample's size; ``'probability'``: the rankings and their weights *are* the policy, so plug-in
    values are exact;
    ``'count'``: the weight says how often a ranking was drawn.
    """

    weight: Literal["sampling", "probability", "count"] = param(
        default="sampling",
        accepts=Choice(("sampling", "probability", "count")),
        always=True,
        doc="what the weight of a ranking means",
    )
    ties: Ties = param(default="docno", accepts=Choice(TIES), doc="order of documents with equal scores")
