"""What reranking hands back: the rankings made, whether the guarantee holds, and before against after."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from lightmeter.data.collection import Collection
from lightmeter.data.ids import changes_of
from lightmeter.data.rankings import Ties
from lightmeter.data.run import Run
from lightmeter.evaluation.evaluate import evaluate
from lightmeter.io.tables import RunTable, Source
from lightmeter.io.write_runs import run_format, write_run
from lightmeter.models.policies import Policy, Samples, Static
from lightmeter.reranking.base import Reranker
from lightmeter.results.result import Result
from lightmeter.results.table import Table


@dataclass(frozen=True, repr=False)
class Reranking(Table):
    """Rankings made by a method out of those of a collection.

    Attributes
    ----------
    method
        The reranker or policy.
    run
        The rankings made: ``run, query, doc, rank``, with ``sample`` where a query has several and ``weight`` where
        these are a policy with its probabilities.
    before
        The collection with the rankings given.
    why
        For each run the queries whose guarantee does not hold, and what is wrong.
    depth, ties, samples, unknown
        As they were asked for; measures before and after treat documents of unknown group in the same way.
    """

    method: Reranker | Policy
    run: pl.DataFrame
    before: Collection
    why: dict[str, dict[str, str]]
    depth: int | None = None
    ties: Ties | None = None
    samples: int = 1
    unknown: Literal["drop", "error"] = "drop"
    conventions: dict[str, str] = field(init=False)
    manifest: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        conventions = {"method": str(self.method), "guarantee": self.guarantee, "unknown": self.unknown}
        object.__setattr__(self, "conventions", conventions)
        object.__setattr__(self, "manifest", {"conventions": conventions, "runs": list(self.before.runs)})

    def frame(self) -> pl.DataFrame:
        """The rankings: :attr:`run`."""
        return self.run

    def side_by_side(self, measures: Iterable[Any] | Any, **options: Any) -> Result:
        """One result with the rankings given as the run ``before`` and the new ones as ``after``; for one run."""
        before, after = self.evaluate(measures, **options)
        cells = [
            dataclasses.replace(cell, run=name)
            for name, result in (("before", before), ("after", after))
            for cell in result.cells
        ]
        answered = {"before": next(iter(before.answered.values())), "after": next(iter(after.answered.values()))}
        return dataclasses.replace(before, cells=cells, answered=answered, manifest=after.manifest)

    def plot(self, measures: Iterable[Any] | Any, **options: Any) -> Any:
        """A picture of measures before and after; options are those of :meth:`evaluate`.

        See :func:`lightmeter.plots.scores`; there are other pictures in :mod:`lightmeter.plots`.
        """
        return self.side_by_side(measures, **options).plot()

    def __repr__(self) -> str:
        return f"Reranking({self.method}; runs: {', '.join(self.before.runs)}; {self.told})"

    @property
    def guarantee(self) -> str:
        """What the method promises, in one sentence."""
        if isinstance(self.method, Policy):
            return "each ranking is an independent draw from the policy"
        return self.method.promise

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds for every query of every run."""
        return not any(self.why.values())

    @property
    def failures(self) -> pl.DataFrame:
        """Where the guarantee does not hold: ``run, query, reason``."""
        rows = [(run, query, reason) for run, some in self.why.items() for query, reason in some.items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("run", "query", "reason"), pl.String), orient="row")

    @property
    def told(self) -> str:
        """Whether the guarantee holds, in words."""
        queries = self.run.select(pl.struct("run", "query").n_unique()).item()
        if self.holds:
            return f"guarantee holds for {queries} of {queries} rankings given: {self.guarantee}"
        broken = self.failures
        run, query, reason = broken.row(0)
        which = f"run {run}, query {query}" if len(self.before.runs) > 1 else f"query {query}"
        return (
            f"guarantee holds for {queries - len(broken)} of {queries} rankings given: {self.guarantee}; first not in "
            f"{which}: {reason}"
        )

    @property
    def advice(self) -> str | None:
        """What to do where the guarantee does not hold, or None."""
        if self.holds or not isinstance(self.method, Reranker):
            return None
        return self.method.advice

    @property
    def policy(self) -> Policy:
        """How the rankings made are to be taken by :func:`lightmeter.evaluate`."""
        if "sample" not in self.run.columns:
            return Static()
        return Samples(weight="probability" if "weight" in self.run.columns else "sampling")

    @cached_property
    def after(self) -> Collection:
        """The collection with the rankings made in place of those given; judgments, groups and targets are the same."""
        code = {q: i for i, q in enumerate(self.before.queries)}
        runs = {name: Run(_table(name, self.run.filter(pl.col("run") == name)), code) for name in self.before.runs}
        return dataclasses.replace(self.before, runs=runs, attributes=dict(self.before.attributes))

    def evaluate(self, measures: Iterable[Any] | Any, **options: Any) -> tuple[Result, Result]:
        """Measures of the rankings given and of those made, as :func:`lightmeter.evaluate` gives them."""
        options = {"unknown": self.unknown} | options
        given = evaluate(self.before, measures, ties=self.ties, depth=self.depth, **options)
        return given, evaluate(self.after, measures, policy=self.policy, **options)

    def compare(self, measures: Iterable[Any] | Any, **options: Any) -> pl.DataFrame:
        """Means before and after.

        Parameters
        ----------
        measures
            Measures or their notation.
        options
            Of :func:`lightmeter.evaluate`, such as ``missing=``.

        Returns
        -------
        polars.DataFrame
            ``run, measure, group, before, after, change, n``.

        Examples
        --------
        >>> import lightmeter as lm
        >>> c = lm.load(run={"q": ["a", "b", "c"]}, groups={"gender": {"a": "m", "b": "m", "c": "f"}})
        >>> made = lm.rerank(c, "DetConstSort(by='gender')")
        >>> made.compare("ABR(by='gender')").select("measure", "before", "after").rows()
        [("ABR(by='gender', user=RBP(p=0.5))", 0.333..., 0.8)]
        """
        given, made = self.evaluate(measures, **options)
        keys = ["run", "measure", "group"]
        whole = pl.col("segment").is_null()
        before = given.mean().filter(whole).select(*keys, pl.col("value").alias("before"))
        after = made.mean().filter(whole).select(*keys, pl.col("value").alias("after"), "n")
        both = before.join(after, on=keys, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")
        return both.select(*keys, "before", "after", (pl.col("after") - pl.col("before")).alias("change"), "n")

    def write(self, path: str | os.PathLike[str], format: str | None = None, **options: Any) -> None:
        """Write the rankings made, as :func:`lightmeter.write_run` does: a policy with its probabilities needs a table.

        The rankings of one run are written without its name, which the rankings given have too: whoever reads both
        files tells them apart by the files' names. The tag of TREC's six columns is the method's name.
        """
        frame = self.run
        if len(self.before.runs) == 1:
            table = run_format(os.fspath(path))[0] != "trec"
            frame = frame.drop("run") if table else frame.with_columns(run=pl.lit(type(self.method).__name__))
        write_run(frame, path)


def _table(name: str, frame: pl.DataFrame) -> RunTable:
    names = frame["query"].to_numpy()
    starts = changes_of(frame["query"].rle_id().to_numpy())
    code = frame["query"].rle_id().to_numpy().astype(np.int32)
    return RunTable(
        name,
        Source(f"{name}, reranked"),
        [str(q) for q in names[starts]],
        code,
        frame["doc"],
        -frame["rank"].to_numpy().astype(np.float64),
        True,
        frame["sample"] if "sample" in frame.columns else None,
        frame["weight"].to_numpy() if "weight" in frame.columns else None,
    )
