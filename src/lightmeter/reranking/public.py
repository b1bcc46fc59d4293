"""``lightmeter.rerank``: a method, a collection, and what comes of it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from lightmeter.arrays import AnyArray, Rng
from lightmeter.data.collection import Collection
from lightmeter.data.rankings import CELLS, Ranked, Ties, chunks_of_like_length
from lightmeter.errors import LightmeterError, TermError, choice, seed, whole_number
from lightmeter.evaluation.evaluate import ranked_context
from lightmeter.evaluation.sample import sample
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.models.policies import Policy
from lightmeter.reranking.base import Draw, Reordered, Reranker
from lightmeter.reranking.result import Reranking
from lightmeter.terms.notation import parse


def rerank(
    data: Any,
    method: Reranker | Policy | str | type,
    *,
    rng: Rng = 0,
    samples: int = 100,
    depth: int | None = None,
    ties: Ties | None = None,
    unknown: Literal["drop", "error"] = "drop",
    strict: bool = False,
    qrels: Any = None,
    groups: Any = None,
    targets: Any = None,
) -> Reranking:
    """Rerank every query of every run by a method.

    Parameters
    ----------
    data
        A collection from :func:`lightmeter.load`, or what it takes as a run: a frame ``query, doc, score``, a path, a
        dictionary.
    method
        A reranker such as ``DetConstSort(by='gender')``, or a policy that makes rankings, such as
        ``PlackettLuce(alpha=1)``, or its notation. ``lightmeter measures`` lists them.
    rng
        A seed, a generator that gives one, or None for a fresh one. The same seed gives the same rankings, whatever the
        number of threads.
    samples
        Rankings a query that are drawn, where a method draws.
    depth
        The first ``depth`` documents of each ranking are reranked and the others left out; None: all.
    ties
        Order of documents with equal scores in the rankings given: ``'docno'``, ``'file'`` or ``'error'``.
    unknown
        Documents whose group is not known: ``'drop'`` (belong to no group and may stand anywhere) or ``'error'``.
        There is no ``'uniform'``, the default of :func:`lightmeter.evaluate`: a rank goes to a whole document, which
        cannot count for all groups alike, so a guarantee could not be kept by that rule nor be seen in values of it.
    strict
        Refuse where the method's guarantee does not hold for every query, instead of telling where it does not.
    qrels, groups, targets
        As for :func:`lightmeter.load`, where ``data`` is a run.

    Returns
    -------
    Reranking
        The rankings made (``.run``), ready to be written, evaluated and compared with those given.

    Raises
    ------
    LightmeterError
        Where the method needs what is not there, or with ``strict`` where a constraint cannot be met: it says which, at
        which rank of which query.

    Examples
    --------
    >>> import lightmeter as lm
    >>> c = lm.load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "m", "b": "m", "c": "f"}})
    >>> made = lm.rerank(c, lm.DetConstSort(by="gender"))
    >>> made.run.rows()
    [('run', 'q', 'a', 1), ('run', 'q', 'c', 2), ('run', 'q', 'b', 3)]
    >>> made.holds
    True
    """
    chosen = _method(method)
    collection = data if isinstance(data, Collection) else _loaded(data, qrels, groups, targets)
    if isinstance(data, Collection) and not qrels is groups is targets is None:
        raise LightmeterError("qrels, groups and targets are given beside a collection. Give them to lightmeter.load.")
    whole_number("samples", samples)
    if depth is not None:
        whole_number("depth", depth)
    choice("unknown", unknown, ("drop", "error"))
    if ties == "expected":
        raise LightmeterError("ties='expected' makes no ranking. Accepted: docno, file, error.")
    rng = seed(rng)
    if isinstance(chosen, Policy):
        frame = sample(collection, chosen, samples, rng, depth=depth, ties=ties)
        return Reranking(chosen, frame, collection, {}, depth, ties, samples, unknown)
    context = ranked_context(collection, None, ties, depth, unknown, every_query=True)
    parts, why = [], {}
    for name, ranked in context.ranked.items():
        if ranked.sampled:
            raise LightmeterError(f"run {name} has several rankings a query. Accepted: one ranking a query.")
        chosen.prepare(context, ranked)
        part, why[name] = _of_run(chosen, context, ranked, samples, rng)
        parts.append(part)
    many = samples if chosen.makes == "draws" else 1
    made = Reranking(chosen, pl.concat(parts), collection, why, depth, ties, many, unknown)
    if strict and made.holds is False:
        run, query, reason = made.failures.row(0)
        hint = "" if made.advice is None else f" {made.advice}."
        raise LightmeterError(f"{chosen}: the guarantee does not hold. Run {run}, query {query!r}: {reason}.{hint}")
    return made


def _method(given: Any) -> Reranker | Policy:
    if isinstance(given, str):
        given = method_of(given)
    if isinstance(given, type) and issubclass(given, Reranker | Policy):
        given = method_of(given.__name__)
    if not isinstance(given, Reranker | Policy):
        raise TermError(
            f"the method is {given!r}. Accepted: a reranker such as DetConstSort(by='gender'), or a policy such as "
            "PlackettLuce(alpha=1)."
        )
    if isinstance(given, Policy) and not given.stochastic:
        raise TermError(f"the policy {given} makes no rankings of its own. Accepted: such as PlackettLuce(alpha=1).")
    return given


def method_of(text: str) -> Reranker | Policy:
    """A reranker, or a policy that makes rankings, from its notation."""
    made: Reranker | Policy = parse(text, "reranker")
    return made


def _loaded(data: Any, qrels: Any, groups: Any, targets: Any) -> Collection:
    from lightmeter.data.loading import load

    return load(data, qrels, groups, targets)


def _of_run(
    method: Reranker, context: Context, ranked: Ranked, samples: int, seed: int
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The rankings made of a run, in its order of queries, and what is wrong by query."""
    parts: list[tuple[int, Block, Reordered]] = []
    cells = CELLS // (samples if method.makes == "draws" else 1)
    chunks = [np.arange(len(ranked.lengths))] if method.whole_run else chunks_of_like_length(ranked.lengths, cells)
    for number, rankings in enumerate(chunks):
        block = Block(context, ranked, rankings)
        if context.unknown == "error" and method.attribute:
            block.membership(method.attribute)
        parts.append((number, block, method.reorder(block, Draw(samples, np.random.default_rng([seed, number])))))
    queries = context.collection.queries
    why: dict[int, str] = {}
    frames = []
    for _, block, made in parts:
        why |= {int(block.rankings[i]): str(made.why[i]) for i in np.flatnonzero(made.why != np.array(None))}
        frames.append(_frame(block, made, method.makes != "ranking"))
    frame = pl.concat(frames).sort("ranking", maintain_order=True)
    names = pl.Series("query", queries, dtype=pl.String)
    columns = [c for c in ("rank", "sample", "weight") if c in frame.columns]
    table = frame.select(
        pl.lit(ranked.run.name).alias("run"),
        names.gather(ranked.query[frame["ranking"].to_numpy()]),
        ranked.run.doc.gather(frame["row"].to_numpy()).alias("doc"),
        *columns,
    )
    return table, {queries[ranked.query[r]]: why[r] for r in sorted(why)}


def _frame(block: Block, made: Reordered, several: bool) -> pl.DataFrame:
    """``ranking, row, rank[, sample, weight]`` of the rankings made of a block."""
    which, at = np.nonzero(made.order >= 0)
    origin = made.origin[which]
    columns: dict[str, AnyArray] = {
        "ranking": block.rankings[origin],
        "row": block.rows[origin, made.order[which, at]],
        "rank": at + 1,
    }
    if several:
        first = np.searchsorted(made.origin, made.origin, side="left")
        columns["sample"] = (np.arange(len(made.origin)) - first + 1)[which]
    if made.weight is not None:
        columns["weight"] = made.weight[which]
    return pl.DataFrame(columns)
