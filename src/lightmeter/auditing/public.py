"""``lm.audit``: the audit of a table of scored people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Rng
from lightmeter.auditing import notes
from lightmeter.auditing import preset as presets
from lightmeter.auditing.bootstrap import FEWEST_QUERIES, Progress, resample
from lightmeter.auditing.curve import Curves, curve_cutoffs
from lightmeter.auditing.divergence import ndkl_rows
from lightmeter.auditing.figures import Comparison, HighestRates, figures
from lightmeter.auditing.masking import display_order, masks, masks_by_query, merge_masked
from lightmeter.auditing.options import Options, check_cutoffs, check_inferred, column_names, options, references
from lightmeter.auditing.ranking import GroupRanking, RankedTable, Scope, Ties, group_sums
from lightmeter.auditing.result import AuditResult
from lightmeter.auditing.rows import FigureIntervals, Row, figure_rows, mask_rows, query_frame, rows_frame
from lightmeter.auditing.significance import fa_ir_rows, fisher_rows, with_holm
from lightmeter.auditing.table import Attribute, AuditTable, read_audit_table
from lightmeter.models.users import User
from lightmeter.statistics.resampling import streams


@np.errstate(over="ignore", invalid="ignore")  # sums of scores and labels near the largest number: the rows say why
def audit(
    table: Any,
    *,
    score: str | Sequence[str],
    group: str | Sequence[str],
    label: str | None = None,
    query: str | None = None,
    cutoffs: int | Sequence[int] = (),
    primary_cutoff: int | None = None,
    reference: str | Mapping[str, str] | None = None,
    users: User | str | Sequence[User | str] | None = None,
    ties: Ties = "file",
    min_cell: int = 10,
    inferred: str | Sequence[str] = (),
    preset: Literal["ll144"] | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    threshold: float | None = None,
    bins: Mapping[str, Sequence[float]] | None = None,
    per_query: bool = False,
    rng: Rng = 0,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Audit a table of scored people: who gets exposure, who is selected, and how sure that is.

    Rows are ranked by score, the highest first. For each group, each cutoff k and the whole list:

    - ``count``, ``pool_share``, ``share`` of the first k, ``mean_score``, ``mean_label``;
    - ``exposure``: mean of ``1/log2(rank + 1)`` over *all* members, 0 below the cutoff; ``exposure_ratio`` and
      ``exposure_gap`` to the reference; ``exposure_per_merit``, exposure over the mean label, and its ratio; the
      exposure ratio under other user models, ``exposure_ratio(user=..)``;
    - ``selection_rate``: the share of a group that is among the first k; of the whole list, where the label is 0 or 1,
      the share with label 1. Its ratio to the group with the highest rate, with Fisher's exact test (``fisher_p``, and
      ``fisher_p_holm`` adjusted over all of them) and the ratio if one more person had been selected
      (``selection_rate_ratio_shift_one``); its gap to the reference;
    - ``above_median``: the share with a score above the median score, its ratio and gap, to be read beside those of
      the first k; ``above_threshold`` where a threshold is given;
    - ``skew`` = ln(share of the first k / share of the pool), ``ndkl``, and ``fa_ir_p``, the exact chance that a
      ranking drawn by coin flips has a prefix in which the group is as under-represented as in the worst one here.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet, JSON lines), a pandas, polars or Arrow frame, or a dictionary of columns; one row per
        person.
    score
        Column with the score; several stand side by side.
    group
        Column with the group; several are audited one after the other, and ``"sex,race"`` stands for the combinations.
        Empty cells and ``unknown`` are unknown: they have a row of their own and are in no ratio.
    label
        Column with the merit of each row: 0 or 1, or a number from 0 up.
    query
        Column that says which list a row belongs to. Lists are ranked separately and pooled; with ``per_query`` the
        result has rows for each of them, too.
    cutoffs
        The top k of each list to look at; the whole list is always included.
    primary_cutoff
        The cutoff that was chosen before the data were seen. Its tests are adjusted among themselves.
    reference
        The group to compare with, by default the largest; for several attributes a dictionary.
    users
        User models that turn ranks into exposure and depend on the rank only. The first is that of ``exposure``, by
        default DCG; the others are shown beside it.
    ties
        Tied rows: ``"file"`` keeps the order of the table, ``"expected"`` averages over all orders, ``"error"`` refuses
        them.
    min_cell
        Groups with fewer rows are masked, and others whose sums would give them away: the possible sizes of every
        masked small group lie at least this far apart. 1 masks nothing.
    inferred
        Attributes that were guessed (from names, photos, ..) and not stated; the result points it out.
    preset
        ``"ll144"``: the layout of New York City's rules on bias audits, 6 RCNY 5-300 and following.
    resamples
        Resamples of the bootstrap; 0 for none. Rows are resampled within their group; with ``query`` whole queries are.
    level
        Level of the intervals.
    threshold
        A score from which a decision would be positive.
    bins
        Lower ends of the bins of number columns, ``{"age": [0, 40]}``.
    rng
        Seed of the bootstrap: a number, a generator that gives one, or None for a fresh one.
    progress
        Called with the work done and the work in all.

    Returns
    -------
    AuditResult
        It prints; ``.frame()``, ``.to_pandas()``, ``.curve()``, ``.conventions``, ``.notes``, ``.manifest``.

    Raises
    ------
    LightmeterError
        The table or an option cannot be used; the message says where, what is accepted and what to do.

    Notes
    -----
    Exposure ratios after Singh and Joachims (KDD 2018). Intervals by percentile bootstrap; where fewer than ten of a
    group are selected, or left out, those of rates are exact (Clopper-Pearson and, for ratios, its conditional form);
    where a group has nobody among the first k, exposure has none. That of one ranking's NDKL comes from sampled
    rankings with the same group shares around each rank. FA*IR's p-value is exact, and needs none.

    Examples
    --------
    >>> import lightmeter as lm
    >>> people = {"p": [.9, .8, .7, .6, .5, .4], "sex": ["f", "f", "m", "m", "f", "m"], "ok": [1, 1, 1, 0, 0, 0]}
    >>> result = lm.audit(people, score="p", group="sex", label="ok", cutoffs=3, min_cell=1, reference="f")
    >>> result.value("exposure_ratio", "m")
    0.637771...
    >>> result.value("selection_rate", "m", cutoff=3)
    0.333333...
    """
    checked = options(
        cutoffs=cutoffs,
        primary_cutoff=primary_cutoff,
        users=users,
        ties=ties,
        min_cell=min_cell,
        inferred=inferred,
        preset=preset,
        resamples=resamples,
        level=level,
        threshold=threshold,
        per_query=per_query,
    )
    groups = column_names("group", group)
    if preset is not None:
        groups = presets.combined(groups)
    scores = column_names("score", score)
    data = read_audit_table(table, score=scores, group=groups, label=label, query=query, bins=bins)
    return _audit(data, checked, reference, rng, progress)


def _audit(
    data: AuditTable,
    given: Options,
    reference: str | Mapping[str, str] | None,
    rng: Rng,
    progress: Callable[[int, int], None] | None,
) -> AuditResult:
    data, hidden, hidden_by_query = _merge_masked(data, given)
    base = references(reference, data)
    check_inferred(given, data)
    generators = streams(rng, len(data.scores) * len(data.attributes))
    steps = _Steps(progress, len(generators), given.resamples)
    # who knows the group at every single rank by one attribute and by another knows the groups of both
    spacing = given.min_cell if len(hidden) > 1 and any(h.any() for h in hidden.values()) else 1
    rankings: dict[str, RankedTable] = {}
    parts: list[_Part] = []
    for score, values in data.scores.items():
        ranked = rankings[score] = RankedTable(values, data.query, given.ties, name=score, source=data.source)
        check_cutoffs(given, data, ranked.longest)
        for attribute in data.attributes:
            subject = _Subject(data, given, score, ranked, attribute, base[attribute.name], hidden[attribute.name])
            lists, generator = hidden_by_query.get(attribute.name), generators[len(parts)]
            parts.append(_audit_attribute(subject, lists, spacing, generator, steps.one))
            steps.reach(len(parts))
    rows, tests, primary_tests = with_holm([r for part in parts for r in part.rows], given.primary)
    frame = rows_frame(rows, {a.name: a for a in data.attributes})
    if data.queries is not None:
        each = [part.queries for part in parts if part.queries is not None]
        frame = pl.concat([*each, frame.select(pl.lit(None, dtype=pl.String).alias("query"), pl.all())])
    fewest = (min(p.resamples[0] for p in parts), min(p.resamples[1] for p in parts))
    summary = notes.Summary(data, given, base, hidden, rankings, rows, fewest, (tests, primary_tests))
    rules, cautions = notes.conventions(summary), notes.cautions(summary)
    manifest = notes.manifest(summary, rules, cautions)
    return AuditResult(frame, pl.concat([p.curves for p in parts]), rules, tuple(cautions), manifest, given.preset)


def _merge_masked(data: AuditTable, given: Options) -> tuple[AuditTable, dict[str, Booleans], dict[str, Booleans]]:
    """The table with the masked groups of each attribute as one, which these are, and which they are in each list."""
    by_query: dict[str, Booleans] = {}
    if given.per_query and data.queries is not None:
        pooled, by_query = masks_by_query(data.attributes, given.min_cell, data.query, len(data.queries))
    else:
        pooled = masks(data.attributes, given.min_cell)
    attributes, hidden = [], {}
    for a in data.attributes:
        if a.name in by_query:
            by_query[a.name] = by_query[a.name][:, [*display_order(a, pooled[a.name]), -1]]
        merged, hidden[a.name] = merge_masked(a, pooled[a.name])
        attributes.append(merged)
    return replace(data, attributes=attributes), hidden, by_query


@dataclass(frozen=True)
class _Subject:
    """One attribute under one score: ``reference`` is the index of its reference, ``hidden`` its masked groups."""

    data: AuditTable
    options: Options
    score: str
    ranked: RankedTable
    attribute: Attribute
    reference: int
    hidden: Booleans

    def ranking(self) -> GroupRanking:
        """The ranked table with its groups and labels."""
        codes, groups, order = self.attribute.codes, len(self.attribute.values), self.ranked.order
        at_position = np.where(codes >= 0, codes, groups).astype(np.int64)[order]
        return GroupRanking(
            self.ranked, at_position, groups, None if self.data.label is None else self.data.label[order]
        )

    def comparison(self) -> Comparison:
        """The highest rate is that of a group that is shown and, in a preset, not set apart."""
        eligible: Booleans = ~self.hidden[:-1]
        large = self.attribute.counts >= presets.SMALL * len(self.data)
        if self.options.preset is not None and (eligible & large).any():
            eligible = eligible & large
        if not eligible.any():
            eligible[0] = True  # all are masked: any will do, but for one that would tell which rate is the highest
        return Comparison(self.reference, eligible)


@dataclass(frozen=True)
class _Part:
    """The audit of one attribute under one score.

    ``queries`` are the rows of each query, where they are requested, and ``resamples`` how many of them the intervals
    at cutoffs and those of the whole list rest on; 0: there are none.
    """

    rows: list[Row]
    curves: pl.DataFrame
    queries: pl.DataFrame | None
    resamples: tuple[int, int]


def _audit_attribute(
    subject: _Subject, hidden_by_query: Booleans | None, spacing: int, rng: np.random.Generator, progress: Progress
) -> _Part:
    """All rows of one attribute under one score; the cutoffs of curves lie ``spacing`` ranks apart."""
    data, given, ranked, attribute = subject.data, subject.options, subject.ranked, subject.attribute
    ranking, comparison, groups = subject.ranking(), subject.comparison(), len(attribute.values)
    several = len(ranked.sizes) > 1
    resamples = 0 if several and len(ranked.sizes) < FEWEST_QUERIES else given.resamples
    points = curve_cutoffs(ranked.longest, groups, max(resamples, len(ranked.sizes)), given.cutoffs, spacing)
    scope = Scope(given.users, (None, *given.cutoffs), given.threshold)
    curve_scope = replace(scope, cutoffs=tuple(dict.fromkeys([*scope.cutoffs, *points])))
    table = group_sums(ranking, curve_scope)
    drawn = resample(ranking, scope, curve_scope, table, resamples, rng, progress)

    # the table's own figures first: they settle which group has the highest rate
    sums, highest = table.at(scope.cutoffs), HighestRates()
    binary = data.binary
    found = list(figures(sums, given.users, comparison, binary=binary, highest=highest))
    resampled = {
        (f.measure, f.cutoff): f
        for part in (drawn.whole, drawn.top)
        if part is not None
        for f in figures(part.at(scope.cutoffs), given.users, comparison, binary=binary, highest=highest)
    }
    divided = {k: ranked.divided(k) for k in scope.cutoffs}
    rows: list[Row] = []
    for figure in found:
        how = FigureIntervals(resampled.get((figure.measure, figure.cutoff)), given.level, independent=not several)
        if several and not resamples:
            figure = replace(figure, basis="none")
        count, top = sums.count[0], sums.top[figure.cutoff][0]
        itself = given.preset is not None
        for row in figure_rows(figure, how, attribute, subject.score, count, top, subject.hidden, itself=itself):
            rows.append(row)
            if not several:
                rows += fisher_rows(figure, row, divided=divided[figure.cutoff])
    rows += _prefix_rows(subject, ranking, resamples, rng.spawn(1)[0])
    rows = mask_rows(rows, subject.hidden)
    if given.preset is not None:
        rows = presets.ll144(rows, attribute, len(data))

    queries = None
    if several and hidden_by_query is not None and data.queries is not None:
        each = group_sums(ranking, scope, by_query=True)
        by_query = figures(each, given.users, comparison, binary=binary, highest=highest)
        queries = query_frame(
            by_query, each.count, attribute, subject.score, subject.hidden, hidden_by_query, data.queries
        )
    curves = Curves(
        attribute,
        subject.score,
        subject.reference,
        ~subject.hidden,
        given.users[0],
        points,
        table,
        drawn.whole,
        given.level,
    )
    at_cutoffs, of_whole = (0 if d is None else len(d.count) for d in (drawn.top, drawn.whole))
    return _Part(rows, curves.frame(), queries, (at_cutoffs, of_whole))


def _prefix_rows(subject: _Subject, ranking: GroupRanking, resamples: int, rng: np.random.Generator) -> list[Row]:
    """NDKL at each cutoff, and where there is one list FA*IR's test of each group."""
    attribute, given, score = subject.attribute, subject.options, subject.score
    share = ranking.shares_by_query()
    out = []
    cutoffs = [None, *given.cutoffs]
    for row in ndkl_rows(ranking, attribute.name, share, cutoffs, score, given.level, resamples, rng):
        out.append(row)
        if len(share) == 1 and row.cutoff is not None and ranking.groups > 1:
            tied = row.reason == "tied"
            out += fa_ir_rows(ranking.codes, attribute, subject.hidden, share[0], row.cutoff, score, tied=tied)
    return out


class _Steps:
    """Reports how far an audit is, at every hundredth resample."""

    def __init__(self, report: Callable[[int, int], None] | None, parts: int, resamples: int) -> None:
        self.report, self.each = report, resamples + 1
        self.done, self.total = 0, parts * self.each

    def one(self) -> None:
        """A resample is done."""
        self.done += 1
        if self.report is not None and self.done % 100 == 0:
            self.report(min(self.done, self.total), self.total)

    def reach(self, part: int) -> None:
        """An attribute is done under a score."""
        self.done = part * self.each
        if self.report is not None:
            self.report(self.done, self.total)
