"""Targets: what an exposure or a distribution over groups is compared with."""

from __future__ import annotations

from typing import ClassVar, Literal

from lightmeter.models.policies import Policy
from lightmeter.terms.parameters import Choice, Flag, Maybe, Number, Text, param
from lightmeter.terms.term import Term

Scope = Literal["query", "collection"]
_SCOPE = Choice(("query", "collection"))


class Target(Term, abstract=True):
    """Base of targets; ``of_groups`` and ``of_exposure`` say which of the two it can stand for."""

    kinds: ClassVar[tuple[str, ...]] = ("target",)
    of_groups: ClassVar[bool] = False
    of_exposure: ClassVar[bool] = False


class Uniform(Target, Policy):
    """As a target: every value the same share, all values of the attribute or those present in the query's compared
    rankings. As a policy: the candidates in uniformly random order.
    """

    kinds = ("target", "policy", "reranker")
    of_groups = True
    values: Literal["all", "present"] = param(
        default="all", accepts=Choice(("all", "present")), doc="which values share"
    )


class Pool(Target):
    """Shares of the values among the documents that were there to be ranked.

    ``of='union'``: the documents any compared run ranks, so that runs share one target; ``'run'``: each run's own;
    ``'groups'``: all documents
    of the groups file; any other word names a run. ``scope='query'``: each query its own target, ``'collection'``: one
    for all.
    ``depth``: only the first ranks of each ranking.
    """

    of_groups = True
    of: str = param(default="union", accepts=Text("'union', 'run', 'groups' or a run's name"), doc="whose documents")
    scope: Scope = param(default="query", accepts=_SCOPE, doc="one target a query, or one for all")
    depth: int | None = param(default=None, accepts=Maybe(Number(low=1, integer=True)), doc="ranks looked at")


class Relevant(Target):
    """Shares of the values among the documents judged relevant, of the query or of the whole collection."""

    of_groups = True
    scope: Scope = param(default="query", accepts=_SCOPE, doc="one target a query, or one for all")


class Given(Target):
    """As given in a file: shares of the values (``--targets``), or for exposure measures a table ``query, doc,
    exposure``.
    """

    of_groups = True
    of_exposure = True
    file: str | None = param(
        default=None, accepts=Maybe(Text("a path")), doc="table of target exposures; for groups use --targets"
    )


class Ideal(Target):
    """The policy uniform over all rankings sorted by grade (Diaz et al. 2020).

    A document of grade g shares the places of its grade: with m of grade g and b of higher grades, position models
    give it the mean
    view over ranks b+1..b+m. ``complete=False``: the judged pool is a sliver of the corpus and non-relevant documents
    have
    target 0; ``complete=True``: the judged and the ranked documents are everything, and grade 0 gets its target by the
    same formulas.
    """

    of_exposure = True
    complete: bool = param(default=False, accepts=Flag(), doc="whether the candidates are everything there is")


class Equal(Target):
    """All candidates alike: the exposure a list gives, divided by the number of candidates."""

    of_exposure = True


class Proportional(Target):
    """The exposure a list gives, shared in proportion to grade^power (Biega et al. 2018)."""

    of_exposure = True
    power: float = param(default=1.0, accepts=Number(low=0), doc="exponent of the grade")


#: What the short names of group targets stand for.
SHORTHANDS: dict[str, type[Target]] = {"uniform": Uniform, "pool": Pool, "relevant": Relevant, "given": Given}
