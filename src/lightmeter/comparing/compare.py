"""Making a comparison: evaluate, test, and look for what explains the differences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from lightmeter.arrays import Rng
from lightmeter.comparing.agreement import correlations, disagreements, outliers
from lightmeter.comparing.changes import Reasons, changes
from lightmeter.comparing.columns import Column, Ends, columns_of, intervals_of_columns
from lightmeter.comparing.comparison import Comparison
from lightmeter.comparing.pairs import (
    TESTS,
    Plan,
    default_adjust,
    different,
    enough,
    letters,
    pairs_of,
    table_of_pairs,
)
from lightmeter.comparing.remarks import conventions_of, remarks
from lightmeter.data.collection import Collection
from lightmeter.data.rankings import Ties
from lightmeter.errors import LightmeterError, choice, seed, suggest, whole_number
from lightmeter.evaluation.computing import Progress
from lightmeter.evaluation.evaluate import evaluate, ranked_context
from lightmeter.measures.base import Measure
from lightmeter.measures.context import Context, Missing, Unknown
from lightmeter.models.policies import Policy
from lightmeter.results.result import Result
from lightmeter.statistics.scores import share
from lightmeter.statistics.significance import ADJUST, Form, discriminative_power

MEANS = {
    "run": pl.String,
    "measure": pl.String,
    "group": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "letters": pl.String,
    "reason": pl.String,
}
POWER = {
    "measure": pl.String,
    "group": pl.String,
    "pairs": pl.Int64,
    "significant": pl.Int64,
    "share": pl.Float64,
}


def compare(
    collection: Collection,
    measures: Iterable[Measure | str | type] | Measure | str,
    *,
    test: str = "tukey",
    alpha: float = 0.05,
    adjust: str | None = None,
    baseline: str | None = None,
    resamples: int | None = None,
    form: Form = "plus_one",
    changed: int = 5,
    policy: Policy | str | None = None,
    ties: Ties | None = None,
    unknown: Unknown = "uniform",
    missing: Missing = "zero",
    depth: int | None = None,
    samples: int = 100,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare the runs of a collection: which differ, on which queries and why, and where measures disagree.

    Every measure uses the queries that are defined for all runs, and says how many.

    Parameters
    ----------
    collection
        From :func:`lightmeter.load`, with at least two runs.
    measures
        Measures or their notation, such as ``"nDCG@10"``.
    test
        ``'tukey'``: the randomised Tukey HSD test, one error rate over all pairs of runs of a measure;
        ``'t'``, ``'wilcoxon'``, ``'randomization'`` (signs flipped) or ``'bootstrap'``: a paired test for each pair.
    alpha
        Level, in (0, 1): pairs with an adjusted p below it differ significantly. Intervals have the level 1 - alpha.
    adjust
        For many tests: ``'holm'``, ``'bh'`` (Benjamini and Hochberg) or ``'none'``, over everything tested in the
        call. By default ``'none'`` with Tukey's test, which takes care of its pairs itself, and else ``'holm'``.
    baseline
        A run that each other one is compared with; by default all pairs are compared.
    resamples
        Permutations or resamples of the test. By default 5,000; for ``'randomization'`` and ``'bootstrap'`` more
        where many tests are adjusted, up to 250,000.
    form
        ``'plus_one'`` or ``'proportion'``: see :func:`lightmeter.statistics.significance.randomised_tukey`.
    changed
        How many queries to list for each measure, and for each two measures; 0 for none.
    policy, ties, unknown, missing, depth, samples, progress
        As :func:`lightmeter.evaluate` takes them.
    rng
        Seed of everything drawn at random: a number, a generator that gives one, or None for a fresh one. The result
        does not depend on the number of threads.

    Returns
    -------
    Comparison
        Tables, conventions and the manifest; it prints as a summary.

    Raises
    ------
    LightmeterError
        Where there are fewer than two runs, an option is not accepted, a measure has no value by query, or queries
        have weights.

    Notes
    -----
    The effect is the difference over the residual standard deviation of a two-way analysis of variance for Tukey's
    test, and the mean over the standard deviation of the differences (d_z) for paired tests. Source: Sakai,
    Laboratory Experiments in Information Retrieval, 2018; Sakai et al., ACM TOIS 2023.

    Examples
    --------
    >>> import lightmeter as lm
    >>> runs = {"a": {f"q{i}": ["x", "y"] for i in range(8)}, "b": {f"q{i}": ["y", "x"] for i in range(8)}}
    >>> c = lm.load(run=runs, qrels={f"q{i}": {"x": 1, "y": 0} for i in range(8)})
    >>> found = lm.compare(c, ["nDCG@10", "RR"])
    >>> found.pairs.select("measure", "difference", "wins", "losses").rows()
    [('nDCG@10', 0.36907024642854236, 8, 0), ('RR', 0.5, 8, 0)]
    >>> found.means["letters"].to_list()
    ['a', 'a', 'b', 'b']
    """
    if not isinstance(collection, Collection):
        raise LightmeterError(
            f"compare was given a {type(collection).__name__}. Accepted: what lightmeter.load returns."
        )
    _check(list(collection.runs), test, alpha, adjust, baseline, resamples, changed)
    rng = seed(rng)
    if collection.query_weight is not None:
        raise LightmeterError(
            "the queries have weights (a sequence), and tests by query have none. Leave the sequence out, or use "
            "evaluate."
        )
    how: dict[str, Any] = {"policy": policy, "ties": ties, "depth": depth, "unknown": unknown}
    result = evaluate(collection, measures, missing=missing, samples=samples, rng=rng, progress=progress, **how)
    options: dict[str, Any] = {"adjust": adjust, "baseline": baseline, "resamples": resamples, "form": form}
    return compare_result(
        result,
        test=test,
        alpha=alpha,
        changed=changed,
        rng=rng,
        context=ranked_context(collection, **how),
        **options,
    )


def compare_result(
    result: Result,
    *,
    test: str = "tukey",
    alpha: float = 0.05,
    adjust: str | None = None,
    baseline: str | None = None,
    resamples: int | None = None,
    form: Form = "plus_one",
    changed: int = 5,
    rng: Rng = 0,
    context: Context | None = None,
) -> Comparison:
    """Compare the runs of a result; see :func:`compare`. Without a context nothing is said of why a query changed."""
    runs = result.runs
    _check(runs, test, alpha, adjust, baseline, resamples, changed)
    rng = seed(rng)
    _check_measures(result)
    columns = columns_of(result)
    if not columns:
        raise LightmeterError("no measure has the same groups in all runs. Accepted: measures that all runs have.")
    at = None if baseline is None else runs.index(baseline)
    pairs = pairs_of(len(runs), at)
    number = enough(test, len(pairs) * len(columns), alpha) if resamples is None else resamples
    plan = Plan(test, float(alpha), adjust or default_adjust(test), number, rng, pairs, form)
    ends = intervals_of_columns(columns, pairs, 1 - plan.alpha, rng)
    tested = table_of_pairs(columns, runs, plan, [of_pairs for _, of_pairs in ends])
    reasons = None if context is None else Reasons(context)
    codes = None if context is None else context.collection.evaluated
    changed_most, moved = changes(columns, runs, result.queries, codes, at, changed, reasons)
    disagreed = _explained(
        disagreements(columns, pairs, result.queries, runs, changed), columns, result.queries, reasons, context
    )
    rules = conventions_of(columns, plan, runs, baseline) | result.conventions
    comparison = Comparison(
        result,
        columns,
        plan,
        _means(columns, runs, tested, plan, at, [of_runs for of_runs, _ in ends]),
        tested,
        _power(columns, tested, plan),
        correlations(columns, 1 - plan.alpha, rng),
        changed_most,
        moved,
        disagreed,
        outliers(columns, pairs),
        rules,
        {},
        [],
    )
    comparison.manifest.update(
        result.manifest | {"conventions": rules, "comparison": _tests_record(comparison, baseline)}
    )
    comparison.notes.extend(remarks(comparison))
    return comparison


def _check(
    runs: list[str],
    test: str,
    alpha: float,
    adjust: str | None,
    baseline: str | None,
    resamples: int | None,
    changed: int,
) -> None:
    if len(runs) < 2:
        raise LightmeterError(f"there is {len(runs)} run: {', '.join(runs)}. Accepted: at least two runs to compare.")
    for name, value, options in (("test", test, TESTS), ("adjust", adjust or "none", ADJUST)):
        choice(name, value, options)
    share("alpha", alpha)
    if baseline is not None and baseline not in runs:
        raise LightmeterError(
            f"the baseline is {baseline!r}, and there is no such run.{suggest(str(baseline), runs)} "
            f"Runs: {', '.join(runs)}."
        )
    if resamples is not None:
        whole_number("resamples", resamples)
    whole_number("changed", changed, 0)


def _check_measures(result: Result) -> None:
    if result.weight is not None:
        raise LightmeterError("the queries of the result have weights, and tests by query have none.")
    check_by_query(result.measures)


def check_by_query(measures: Iterable[Measure]) -> None:
    """Refuse measures that have no value for a single query.

    Raises
    ------
    LightmeterError
        Where one is reduced over queries.
    """
    for measure in measures:
        if measure.across_queries:
            raise LightmeterError(
                f"{measure} is reduced over queries and has no value for one, so that runs cannot be tested on it. "
                "Leave it out; evaluate shows it."
            )


def _means(
    columns: list[Column], runs: list[str], tested: pl.DataFrame, plan: Plan, baseline: int | None, ends: list[Ends]
) -> pl.DataFrame:
    """Means by run, columns side by side, with the marks of the tests."""
    rows: list[list[tuple[Any, ...]]] = [[] for _ in runs]
    for number, column in enumerate(columns):
        mine = tested.slice(number * len(plan.pairs), len(plan.pairs))
        marks = _marks(column, mine, plan, len(runs), baseline)
        low, high, reason = ends[number].low, ends[number].high, ends[number].reason
        for i, run in enumerate(runs):
            key = (run, str(column.measure), column.group)
            rows[i].append((*key, float(column.mean[i]), low[i], high[i], column.n, marks[i], reason[i]))
    return pl.DataFrame([row for of_run in rows for row in of_run], schema=MEANS, orient="row")


def _marks(column: Column, pairs: pl.DataFrame, plan: Plan, runs: int, baseline: int | None) -> list[str | None]:
    """Letters, or a star for what differs from the baseline; None where nothing was tested."""
    if bool(pairs["p"].is_nan().all()):
        return [None] * runs
    differ = different(column, pairs, plan, runs)
    if baseline is not None:
        return ["*" if d else "" for d in differ[baseline]]
    found = letters(column.order(), differ)
    return [None] * runs if found is None else list(found)


def _power(columns: list[Column], tested: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    rows = []
    for number, column in enumerate(columns):
        p = tested["p"].slice(number * len(plan.pairs), len(plan.pairs)).to_numpy()
        below = int((p < plan.alpha).sum())
        rows.append((str(column.measure), column.group, len(p), below, discriminative_power(p, plan.alpha)))
    return pl.DataFrame(rows, schema=POWER, orient="row")


def _explained(
    found: pl.DataFrame, columns: list[Column], queries: list[str], reasons: Reasons | None, context: Context | None
) -> pl.DataFrame:
    """Disagreements with what moved there, by the first of the two measures that looks at groups."""
    if reasons is None or context is None or not len(found):
        return found
    by_name = {str(c): c for c in columns}
    code = dict(zip(queries, context.collection.evaluated.tolist(), strict=True))
    why: list[str | None] = []
    for row in found.iter_rows(named=True):
        if row["query"] is None:
            why.append(None)
            continue
        two = [by_name[row["measure_a"]], by_name[row["measure_b"]]]
        column = next((c for c in two if c.measure.attribute is not None), two[0])
        why.append(reasons.of(column, row["run_a"], row["run_b"], code[row["query"]])[0])
    return found.with_columns(why=pl.Series(why, dtype=pl.String))


def _tests_record(comparison: Comparison, baseline: str | None) -> dict[str, Any]:
    """What the manifest says of the tests."""
    plan = comparison.plan
    return {
        "test": plan.test,
        "form": plan.form if plan.test == "tukey" else None,
        "alpha": plan.alpha,
        "adjust": plan.adjust,
        "resamples": plan.resamples if plan.test in ("tukey", "randomization", "bootstrap") else None,
        "rng": plan.rng,
        "baseline": baseline,
        "tests": comparison.tests,
        "queries": {str(c): c.n for c in comparison.columns},
        "left_out": {str(c): c.left_out for c in comparison.columns if c.left_out},
    }
