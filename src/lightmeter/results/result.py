"""Results: a long table of values with reasons; means are derived from it, a manifest says how it was computed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Floats, Rng
from lightmeter.data.attributes import UNKNOWN_GROUP
from lightmeter.data.values import Values
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.results.sheet import Entry, Layout, Sheet
from lightmeter.results.table import Table, finite
from lightmeter.results.text import REASONS, printable, without_folder
from lightmeter.terms.notation import Condition, parse

if TYPE_CHECKING:
    import pandas as pd

    from lightmeter.comparing.comparison import Comparison
    from lightmeter.results.conditions import Checked

SCHEMA: dict[str, Any] = {
    "run": pl.String,
    "query": pl.String,
    "segment": pl.String,
    "measure": pl.String,
    "attribute": pl.String,
    "group": pl.String,
    "value": pl.Float64,
    "se": pl.Float64,
    "n": pl.Int64,
    "reason": pl.String,
}


#: standard errors up to this share of their value come from rounding
_ROUNDING = 1e-13
#: as many groups are named in one note
_MOST_GROUPS = 5


@dataclass(frozen=True)
class Mean:
    """A mean over queries.

    Attributes
    ----------
    value
        The mean of the queries that have a value; NaN where none has.
    se
        Its standard error where rankings are sampled, else None.
    n
        How many queries have a value.
    reason
        Why some have none: the most frequent reason, or None.
    weight
        The sum of the queries' weights; ``n`` where all weigh 1. None for a measure that is reduced over queries, which
        is no mean.
    squares
        The weighted sum of squared deviations from the mean: ``sum_q w_q (x_q - value)^2``. None as ``weight``.
    """

    value: float
    se: float | None
    n: int
    reason: str | None
    weight: float | None = None
    squares: float | None = None

    def merge(self, other: Mean) -> Mean:
        """The mean of the queries of both, which share none.

        With weights a and b, means x and y: the mean is ``x + (y - x) b / (a + b)``, and the squared deviations add up
        to ``A + B + (y - x)^2 a b / (a + b)`` (Chan, Golub and LeVeque 1983).

        Raises
        ------
        LightmeterError
            Where one of them is no mean: measures that are reduced over queries need the queries themselves.

        Examples
        --------
        >>> both = Mean(0.5, None, 2, None, 2.0, 0.02).merge(Mean(0.8, None, 1, None, 1.0, 0.0))
        >>> round(both.value, 12), both.n, both.weight, round(both.squares, 12)
        (0.6, 3, 3.0, 0.08)
        """
        a, b = self.weight, other.weight
        if a is None or b is None or self.squares is None or other.squares is None:
            raise LightmeterError(
                "a value of all queries together cannot be merged with another. Evaluate them at once."
            )
        if not a or not b:
            kept = other if not a else self
            reason = kept.reason or self.reason or other.reason
            return Mean(kept.value, kept.se, kept.n, reason, kept.weight, kept.squares)
        share, difference = b / (a + b), other.value - self.value
        se = None
        if self.se is not None or other.se is not None:  # values without a standard error are exact
            se = math.hypot(a * (self.se or 0.0), b * (other.se or 0.0)) / (a + b)
        squares = self.squares + other.squares + difference**2 * a * share
        return Mean(self.value + difference * share, se, self.n + other.n, self.reason or other.reason, a + b, squares)


@dataclass(frozen=True)
class Cell:
    """The values of one measure (and group) for one run, one per query.

    Attributes
    ----------
    across
        For a measure that is reduced over queries: its value for any weights of the queries, such as those of a
        segment or of a bootstrap. Its ``values`` are undefined.
    error
        The standard error of that, where rankings are sampled.
    """

    run: str
    measure: Any
    group: str | None
    values: Values
    across: Callable[[Floats], Mean] | None = None
    error: Callable[[Floats], float | None] | None = None


@dataclass(frozen=True, repr=False)
class Result(Table):
    """Values of measures for runs and queries.

    Attributes
    ----------
    queries
        The queries evaluated.
    cells
        Values by run, measure and group, each aligned with ``queries``.
    answered
        For each run which queries it answers.
    segments
        A label of each query, or None.
    weight
        Weight of each query in means, or None.
    conventions
        The rules in force, in words.
    manifest
        How the result was computed: version, inputs, conventions, counts of what was ignored.
    """

    queries: list[str]
    cells: list[Cell]
    answered: dict[str, Booleans]
    segments: list[str | None] | None = None
    weight: Floats | None = None
    conventions: dict[str, str] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    picture: ClassVar[str] = "scores"
    totals: ClassVar[tuple[str, ...]] = ("query", "segment")

    @property
    def runs(self) -> list[str]:
        """The runs, in order."""
        return list(dict.fromkeys(c.run for c in self.cells))

    @property
    def measures(self) -> list[Any]:
        """The measures, in order."""
        return list(dict.fromkeys(c.measure for c in self.cells))

    def per_query(self) -> pl.DataFrame:
        """One row per run, query, measure and group; the columns are those of the command line."""
        frames = [self._queries_of(run) for run in self.runs]
        return pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)

    def mean(self) -> pl.DataFrame:
        """Means over the queries, and over those of each segment where there are segments."""
        rows = [row for run in self.runs for row in self._means_of(run)]
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    def frame(self, *, per_query: bool = False) -> pl.DataFrame:
        """The means; with ``per_query`` the values of each run's queries stand before its means."""
        if not per_query:
            return self.mean()
        parts = []
        for run in self.runs:
            parts += [self._queries_of(run), pl.DataFrame(list(self._means_of(run)), schema=SCHEMA, orient="row")]
        return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)

    def layout(self, width: int | None = None, paths: Collection[str] = (), **options: Any) -> Layout:
        """A row for each run (query, segment) and a column for each measure (and group), with notes."""
        names, folder = without_folder(self.runs, paths)
        shown = self.renamed(names) if folder else self
        about = [f"runs are shown without {folder}"] if folder else []
        return Layout([_sheet(shown.frame(**options))], [*_notes(shown), *about])

    def renamed(self, names: dict[str, str]) -> Result:
        """The same values, with other names for the runs."""
        cells = [replace(c, run=names.get(c.run, c.run)) for c in self.cells]
        answered = {names.get(run, run): which for run, which in self.answered.items()}
        return replace(self, cells=cells, answered=answered)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """The values by query and the means as a pandas frame; means alone with ``per_query=False``."""
        return super().to_pandas(**{"per_query": True} | options)

    def values(self, measure: Any, run: str | None = None, group: str | None = None) -> Floats:
        """The values of one measure, one per query, NaN where undefined.

        Parameters
        ----------
        measure
            A measure of this result, or its notation.
        run, group
            Which run (may be left out where there is one) and group.
        """
        notation = measure.__name__ if isinstance(measure, type) else str(measure)
        if isinstance(measure, str) and all(str(c.measure) != notation for c in self.cells):
            with suppress(TermError):  # the same measure, its parameters in another order or its defaults spelt out
                notation = str(parse(measure, kind="measure"))
        cells = [
            c for c in self.cells if str(c.measure) == notation and run in (None, c.run) and group in (None, c.group)
        ]
        if len(cells) == 1:
            return cells[0].values.value
        raise LightmeterError(_no_single_column(self, notation, run, group))

    def compare(self, **options: Any) -> Comparison:
        """Test which runs differ: :func:`lightmeter.compare` with its options, but for which documents moved."""
        from lightmeter.comparing.compare import compare_result

        return compare_result(self, **options)

    def intervals(self, level: float = 0.95, *, resamples: int = 2000, rng: Rng = 0) -> pl.DataFrame:
        """Means with bootstrap intervals by query, ``low`` and ``high``; each over its own defined queries.

        Parameters
        ----------
        level, resamples, rng
            As in :func:`lightmeter.statistics.intervals.bootstrap_intervals`.
        """
        from lightmeter.comparing.columns import intervals_of

        return intervals_of(self, level, resamples, rng)

    def worst_groups(self) -> pl.DataFrame:
        """For each run and measure with values by group, the groups with the lowest and the highest value.

        Returns
        -------
        polars.DataFrame
            ``run, measure, attribute, lowest, low, highest, high, groups``; documents of unknown membership are no
            group, and groups without a value are left out.

        Examples
        --------
        >>> import lightmeter as lm
        >>> c = lm.load(run={"q": ["a", "b", "c"]}, groups={"side": {"a": "x", "b": "y", "c": "z"}})
        >>> lm.evaluate(c, [lm.MeanExposure(by="side", user=lm.RBP(p=0.5))]).worst_groups().row(0)[3:]
        ('z', 0.25, 'x', 1.0, 3)
        """
        rows: list[tuple[Any, ...]] = []
        for run in self.runs:
            for measure in self.measures:
                cells = [c for c in self.cells if c.run == run and c.measure == measure and c.group is not None]
                means = [(self.mean_of(c).value, c.group) for c in cells if c.group != UNKNOWN_GROUP]
                means = [(value, group) for value, group in means if not np.isnan(value)]
                if means:
                    (low, lowest), (high, highest) = min(means), max(means, key=lambda pair: pair[0])
                    rows.append((run, str(measure), measure.attribute, lowest, low, highest, high, len(means)))
        text, number = pl.String, pl.Float64
        schema = {"run": text, "measure": text, "attribute": text, "lowest": text, "low": number}
        return pl.DataFrame(rows, schema={**schema, "highest": text, "high": number, "groups": pl.Int64}, orient="row")

    def mean_of(self, cell: Cell, where: Booleans | None = None) -> Mean:
        """The mean of a cell over its defined queries, or over those of them that ``where`` selects.

        For a measure that is reduced over queries it is the one value for them.
        """
        value = cell.values.value
        inside = np.ones(len(value), dtype=bool) if where is None else where
        defined = inside & ~np.isnan(value)
        weight = np.ones(len(value)) if self.weight is None else self.weight
        if cell.across is not None:
            weights = np.where(inside, weight, 0.0)
            mean = cell.across(weights)
            return mean if cell.error is None or np.isnan(mean.value) else replace(mean, se=cell.error(weights))
        skipped = Counter(r for r in cell.values.reasons()[inside & ~defined] if r is not None)
        reason = skipped.most_common(1)[0][0] if skipped else None
        mass = float(weight[defined].sum())
        if not mass:
            return Mean(float("nan"), None, 0, reason or "no_query", 0.0, 0.0)
        se = None
        if cell.values.se is not None:
            known = _errors(cell.values)[defined]
            if not np.isnan(known).any():
                se = float(np.sqrt((weight[defined] ** 2 * known**2).sum()) / mass)
        average = float((weight[defined] * value[defined]).sum() / mass)
        squares = float((weight[defined] * (value[defined] - average) ** 2).sum())
        return Mean(average, se, int(defined.sum()), reason, mass, squares)

    def checked(self, condition: Condition) -> Iterator[Checked]:
        """The means of the condition's measure for each run and group, except documents of unknown group."""
        from lightmeter.results.conditions import Checked

        cells = [c for c in self.cells if c.measure == condition.measure]
        last = {c.run: c for c in cells}
        for cell in cells:
            if cell.group != UNKNOWN_GROUP or cell is not last[cell.run]:
                mean = self.mean_of(cell)
                yield Checked(run_and_group(cell.run, cell.group), mean.value, f"the mean is undefined ({mean.reason})")

    def metadata(self) -> dict[str, Any]:
        """What a Parquet file says besides its table: the conventions, the manifest, and means that can be merged."""
        means = [
            {"run": cell.run, "segment": segment, "measure": str(cell.measure), "group": cell.group} | asdict(mean)
            for run in self.runs
            for segment, cell, mean in self._means(run)
        ]
        return {**super().metadata(), "means": means}

    def _queries_of(self, run: str) -> pl.DataFrame:
        cells = [c for c in self.cells if c.run == run]
        queries, width = len(self.queries), len(cells)
        value = np.stack([c.values.value for c in cells], axis=1).ravel()
        none = np.full(queries, np.nan)
        se = np.stack([none if c.values.se is None else _errors(c.values) for c in cells], axis=1).ravel()
        reason: list[str | None] = np.stack([c.values.reasons() for c in cells], axis=1).ravel().tolist()

        def by_cell(texts: list[str | None]) -> pl.Series:
            return pl.Series(texts * queries, dtype=pl.String)

        segments = self.segments or [None] * queries
        return pl.DataFrame(
            {
                "run": pl.repeat(run, queries * width, dtype=pl.String, eager=True),
                "query": pl.Series(self.queries, dtype=pl.String).gather(np.repeat(np.arange(queries), width)),
                "segment": pl.Series(segments, dtype=pl.String).gather(np.repeat(np.arange(queries), width)),
                "measure": by_cell([str(c.measure) for c in cells]),
                "attribute": by_cell([c.measure.attribute for c in cells]),
                "group": by_cell([c.group for c in cells]),
                "value": pl.Series(value),
                "se": pl.Series(se).fill_nan(None),
                "n": pl.repeat(None, queries * width, dtype=pl.Int64, eager=True),
                "reason": pl.Series(reason, dtype=pl.String),
            },
            schema=SCHEMA,
        )

    def _means(self, run: str) -> Iterator[tuple[str | None, Cell, Mean]]:
        """The means of a run, and those of each segment where there are segments."""
        segments = [] if self.segments is None else sorted({s for s in self.segments if s is not None})
        for segment in [None, *segments]:
            where = None if segment is None else np.array([s == segment for s in self.segments or []])
            for cell in self.cells:
                if cell.run == run:
                    yield segment, cell, self.mean_of(cell, where)

    def _means_of(self, run: str) -> list[tuple[Any, ...]]:
        return [
            (run, None, segment, str(c.measure), c.measure.attribute, c.group, m.value, m.se, m.n, m.reason)
            for segment, c, m in self._means(run)
        ]


def run_and_group(run: str, group: str | None) -> str:
    """A run, and a group of its documents, in words."""
    return f"run {run}" + (f", group {group}" if group is not None else "")


def _sheet(frame: pl.DataFrame) -> Sheet:
    """A row for each run (query, segment), a column for each measure (and group)."""
    index = ["run", *(name for name in ("query", "segment") if frame[name].null_count() < len(frame))]
    columns: dict[tuple[str, str | None], int] = {}
    rows: dict[tuple[Any, ...], dict[int, Entry]] = {}
    names = [*index, "measure", "group", "value", "se", "n", "reason"]
    for *key, measure, group, value, se, n, reason in finite(frame).select(names).iter_rows():
        position = columns.setdefault((measure, group), len(columns))
        rows.setdefault(tuple(key), {})[position] = Entry(value, se, n, reason)
    labelled = [(_labels(index, key), [row.get(i) for i in range(len(columns))]) for key, row in rows.items()]
    titles = [(measure, None if group is None else printable(group)) for measure, group in columns]
    return Sheet(index, titles, labelled, fit="turned", notation=True)


def _labels(index: list[str], key: tuple[Any, ...]) -> tuple[str, ...]:
    """Texts for the labels; the row of a mean is named."""
    row = dict(zip(index, key, strict=True))
    whole = row.get("query") is None
    blank = {"query": "(mean)", "segment": "(all)" if whole else ""}
    return tuple(blank.get(name, "") if value is None else printable(str(value)) for name, value in row.items())


def _errors(values: Values) -> Floats:
    """Standard errors, 0 where the rankings sampled have equal values and only their sum was rounded."""
    se = np.asarray(values.se, dtype=np.float64)
    return np.where(se <= _ROUNDING * np.abs(values.value), 0.0, se)


def _no_single_column(result: Result, measure: str, run: str | None, group: str | None) -> str:
    """The message where a measure, run and group name no column of values, or several.

    Parameters
    ----------
    result
        The result.
    measure, run, group
        The measure's notation; a run and a group, or None.
    """
    known: list[str] = list(dict.fromkeys(str(m) for m in result.measures))
    if measure not in known:
        return f"the result has no measure {measure!r}.{suggest(measure, known)} It has: {', '.join(known)}."
    if run is not None and run not in result.runs:
        run = str(run)
        return f"the result has no run {run!r}.{suggest(run, result.runs)} It has: {', '.join(result.runs)}."
    cells = [c for c in result.cells if str(c.measure) == measure and run in (None, c.run)]
    groups = list(dict.fromkeys(c.group for c in cells if c.group is not None))
    if group is not None and not groups:
        return f"{measure} has no groups, and group {group!r} is asked for. Leave the group out."
    if group is not None and group not in groups:
        return f"{measure} has no group {group!r}.{suggest(group, groups)} It has: {', '.join(groups)}."
    several = {"run": list(dict.fromkeys(c.run for c in cells)), "group": [] if group is not None else groups}
    open_columns = {what: names for what, names in several.items() if len(names) > 1}
    listed = "; ".join(f"{what}s {', '.join(names)}" for what, names in open_columns.items())
    return (
        f"{measure} has several columns of values. Name the {' and the '.join(open_columns)}. There are the {listed}."
    )


def _notes(result: Result) -> list[str]:
    """Lines below a table: how many queries, what is undefined and why."""
    sampled = any(c.values.se is not None and not np.isnan(c.values.se).all() for c in result.cells)
    error = ["± is the standard error of what is estimated from sampled rankings"] if sampled else []
    return [*_counts(result), *_answered(result), *_directions(result), *error, *_across(result), *_reasons(result)]


def _across(result: Result) -> list[str]:
    """Which measures have one value for all queries, and why it is undefined or what it leaves out."""
    lines = []
    for measure in dict.fromkeys(c.measure for c in result.cells if c.across is not None):
        lines.append(f"{measure}: one value for all queries together, and none per query")
        for cell in (c for c in result.cells if c.measure == measure):
            reason = result.mean_of(cell).reason
            if reason is not None:
                where = ", ".join(filter(None, [cell.run, cell.group]))
                lines.append(f"{measure}: {reason} ({REASONS.get(reason, reason)}): {where}")
    return lines


def _counts(result: Result) -> list[str]:
    """n, and where it is less than the number of queries."""
    total = len(result.queries)
    less: dict[tuple[str, str | None, int], list[str]] = {}
    for cell in result.cells:
        n = result.mean_of(cell).n if cell.across is not None else int((~np.isnan(cell.values.value)).sum())
        if n < total:
            less.setdefault((str(cell.measure), cell.group, n), []).append(cell.run)
    groups: dict[tuple[str, int, str], list[str]] = {}
    for (measure, group, n), runs in less.items():
        groups.setdefault((measure, n, _runs(result, runs)), []).extend([] if group is None else [group])
    lines = [f"n = {total} {'query' if total == 1 else 'queries'}" + (", except:" if less else "")]
    return lines + [f"  n = {n} for {_titled(measure, names)}: {runs}" for (measure, n, runs), names in groups.items()]


def _titled(measure: str, groups: list[str]) -> str:
    return f"{measure} {_shortened(groups)}" if groups else measure


def _answered(result: Result) -> list[str]:
    total = len(result.queries)
    counts = {run: int(answered.sum()) for run, answered in result.answered.items()}
    if all(n == total for n in counts.values()):
        queries = {1: "the query", 2: "both queries"}.get(total, f"all {total} queries")
        return [f"{'every run' if len(counts) > 1 else 'the run'} answers {queries}"]
    return [f"queries answered, of {total}: " + ", ".join(f"{run} {n}" for run, n in counts.items())]


def _directions(result: Result) -> list[str]:
    """Which way is better, by the names of the measures."""
    ways = {
        way: list(dict.fromkeys(type(m).__name__ for m in result.measures if m.better == way))
        for way in ("higher", "lower")
    }
    lines = [f"{way} is better: {', '.join(names)}" for way, names in ways.items() if names]
    return ["; ".join(lines)] if lines else []


def _reasons(result: Result) -> list[str]:
    """One line per measure and reason: what is undefined, and what has a value nevertheless."""
    counted: dict[tuple[str, str | None, str, bool], Counter[str]] = {}
    for cell in result.cells:
        if cell.values.reason is None or cell.across is not None:
            continue
        reasons = cell.values.reason
        with_reason = np.array([r is not None for r in reasons], dtype=bool)
        undefined_values = np.isnan(cell.values.value[with_reason]).tolist()
        for (reason, undefined), n in Counter(
            zip(reasons[with_reason].tolist(), undefined_values, strict=True)
        ).items():
            counted.setdefault((str(cell.measure), cell.group, str(reason), undefined), Counter())[cell.run] += n
    alike: dict[tuple[str, str, bool, str], list[str]] = {}
    for (measure, group, reason, undefined), counts in counted.items():
        key = measure, reason, undefined, _numbers(result, counts)
        alike.setdefault(key, []).extend([] if group is None else [group])
    lines = []
    for (measure, reason, undefined, numbers), groups in alike.items():
        words = f"{reason} ({REASONS[reason]})" if reason in REASONS else reason
        what = "undefined, " if undefined else "counted nevertheless, "
        what = "" if undefined and reason == "undefined" else what  # once will do
        each = "for each, " if len(groups) > 1 else ""
        lines.append(f"{_titled(measure, groups)}: {what}{words}: {each}{numbers}")
    return lines


def _numbers(result: Result, counts: dict[str, int]) -> str:
    if len(counts) == len(result.runs) and len(set(counts.values())) == 1:
        n = next(iter(counts.values()))
        return f"{n} {'queries' if n > 1 else 'query'}" + (" in each run" if len(counts) > 1 else "")
    return "queries " + ", ".join(f"{run} {n}" for run, n in counts.items())


def _runs(result: Result, runs: list[str]) -> str:
    return "every run" if len(runs) == len(result.runs) else ", ".join(runs)


def _shortened(names: list[str]) -> str:
    return ", ".join(names[:_MOST_GROUPS]) + (
        f" and {len(names) - _MOST_GROUPS} more" if len(names) > _MOST_GROUPS else ""
    )
