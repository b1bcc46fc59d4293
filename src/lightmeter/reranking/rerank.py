"""``lightmeter.rerank``: new rankings of a collection by a method."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from lightmeter.arrays import AnyArray, Rng
from lightmeter.data.collection import Collection
from lightmeter.data.loading import load
from lightmeter.data.rankings import CELLS, Ranked, Ties, chunks_of_like_length
from lightmeter.errors import LightmeterError, TermError, choice, seed, whole_number
from lightmeter.evaluation.evaluate import ranked_context
from lightmeter.evaluation.sample import sample
from lightmeter.measures.block import Block
from lightmeter.measures.context import Context
from lightmeter.measures.exposure import EED, EEL
from lightmeter.measures.relevance import RBP, nDCG
from lightmeter.models.policies import Policy
from lightmeter.models.targets import Ideal
from lightmeter.reranking.base import Draw, Reordered, Reranker
from lightmeter.reranking.result import Reranking
from lightmeter.terms.notation import parse
from lightmeter.terms.term import Cutoff

#: cutoff of relevance, and user model of exposure, where the method has none
TOP = 10
USER = RBP(p=0.5)


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
        A reranker such as ``DetConstSort(by='gender')``, or a policy that produces rankings, such as
        ``PlackettLuce(alpha=1)``, or its notation. ``lightmeter measures`` lists them.
    rng
        A seed, a generator that gives one, or None for a fresh one. The same seed gives the same rankings, whatever the
        number of threads.
    samples
        Sampled rankings per query, where a method samples.
    depth
        The first ``depth`` documents of each ranking are reranked and the others left out; None: all.
    ties
        Order of documents with equal scores in the rankings given: ``'docno'``, ``'file'`` or ``'error'``.
    unknown
        Documents whose group is not known: ``'drop'`` (belong to no group and may stand anywhere) or ``'error'``.
        There is no ``'uniform'``, the default of :func:`lightmeter.evaluate`: a rank goes to a whole document, which
        cannot count for all groups alike, so a guarantee could not be kept by that rule nor be seen in values of it.
    strict
        Refuse where the method's guarantee does not hold for every query, instead of reporting where it does not.
    qrels, groups, targets
        As for :func:`lightmeter.load`, where ``data`` is a run.

    Returns
    -------
    Reranking
        The new rankings (``.run``), ready to be written, evaluated and compared with those given.

    Raises
    ------
    LightmeterError
        Where the method needs something that the collection lacks, or with ``strict`` where a constraint cannot be met:
        it says which, at which rank of which query.

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
    method = _method(method)
    if not isinstance(data, Collection):
        collection = load(data, qrels, groups, targets)
    elif qrels is groups is targets is None:
        collection = data
    else:
        raise LightmeterError("qrels, groups and targets are given beside a collection. Give them to lightmeter.load.")
    whole_number("samples", samples)
    if depth is not None:
        whole_number("depth", depth)
    choice("unknown", unknown, ("drop", "error"))
    if ties == "expected":
        raise LightmeterError("ties='expected' makes no ranking. Accepted: docno, file, error.")
    rng = seed(rng)
    if isinstance(method, Policy):
        frame = sample(collection, method, samples, rng, depth=depth, ties=ties)
        return Reranking(method, frame, collection, {}, depth, ties, samples, unknown)
    context = ranked_context(collection, None, ties, depth, unknown, every_query=True)
    parts, why = [], {}
    for name, ranked in context.ranked.items():
        if ranked.sampled:
            raise LightmeterError(f"run {name} has several rankings per query. Accepted: one ranking per query.")
        method.prepare(context, ranked)
        part, why[name] = _of_run(method, context, ranked, samples, rng)
        parts.append(part)
    many = samples if method.makes == "draws" else 1
    result = Reranking(method, pl.concat(parts), collection, why, depth, ties, many, unknown)
    if strict and not result.holds:
        run, query, reason = result.failures.row(0)
        hint = "" if result.advice is None else f" {result.advice}."
        raise LightmeterError(f"{method}: the guarantee does not hold. Run {run}, query {query!r}: {reason}.{hint}")
    return result


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
    """A reranker, or a policy that produces rankings, from its notation."""
    method: Reranker | Policy = parse(text, "reranker")
    return method


def _of_run(
    method: Reranker, context: Context, ranked: Ranked, samples: int, seed: int
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The new rankings of a run, in its order of queries, and what is wrong by query."""
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
    for _, block, new in parts:
        why |= {int(block.rankings[i]): str(new.why[i]) for i in np.flatnonzero(new.why != np.array(None))}
        frames.append(_frame(block, new, method.makes != "ranking"))
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


def _frame(block: Block, new: Reordered, several: bool) -> pl.DataFrame:
    """``ranking, row, rank[, sample, weight]`` of the new rankings of a block."""
    which, at = np.nonzero(new.order >= 0)
    origin = new.origin[which]
    columns: dict[str, AnyArray] = {
        "ranking": block.rankings[origin],
        "row": block.rows[origin, new.order[which, at]],
        "rank": at + 1,
    }
    if several:
        first = np.searchsorted(new.origin, new.origin, side="left")
        columns["sample"] = (np.arange(len(new.origin)) - first + 1)[which]
    if new.weight is not None:
        columns["weight"] = new.weight[which]
    return pl.DataFrame(columns)


def usual_measures(method: Reranker | Policy, collection: Collection) -> list[Any]:
    """Relevance as far as there are judgments, disparity of exposure, and the fairness that the method is after.

    Examples
    --------
    >>> from lightmeter import DetGreedy, load
    >>> c = load(run={"q": ["a"]}, groups={"gender": {"a": "f"}})
    >>> usual_measures(DetGreedy(by="gender") @ 20, c)
    [EED(user=RBP(p=0.5)), GF(by='gender', user=RBP(p=0.8))@20]
    """
    judged = collection.judgments is not None
    cutoff = method.cutoff if isinstance(method, Cutoff) else None
    user = getattr(method, "user", USER)
    relevance: list[Any] = [nDCG() @ (cutoff or TOP)] if judged else []
    loss: list[Any] = [EEL(user=user, target=Ideal())] if judged else []
    fairness = method.fairness_measures(judged) if isinstance(method, Reranker) else []
    return [*relevance, EED(user=user, cutoff=None), *loss, *fairness]
