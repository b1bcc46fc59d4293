"""``lm.audit``: the audit of a table of scored people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from lightmeter.arrays import Booleans, Rng
from lightmeter.auditing import notes
from lightmeter.auditing import preset as presets
from lightmeter.auditing.compute import One, audit_one
from lightmeter.auditing.figures import Compared
from lightmeter.auditing.guards import SMALL, masked, masks, masks_by_query, merged, order_of
from lightmeter.auditing.queries import query_rows
from lightmeter.auditing.ranked import RankedTable, Ties
from lightmeter.auditing.rates import holm
from lightmeter.auditing.request import Options, check_cutoffs, names, options, references
from lightmeter.auditing.result import AuditResult
from lightmeter.auditing.rows import Row, frame_of
from lightmeter.auditing.table import Attribute, AuditTable, read_audit_table
from lightmeter.models.users import User
from lightmeter.statistics.scores import streams


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
      exposure ratio under other users, ``exposure_ratio(user=..)``;
    - ``selection_rate``: the share of a group that is among the first k; of the whole list, where the label is 0 or 1,
      the share with label 1. Its ratio to the group of the highest rate, with Fisher's exact test (``fisher_p``, and
      ``fisher_p_holm`` adjusted over all of them) and the ratio had one person more been selected
      (``selection_rate_ratio_shift_one``); its gap to the reference;
    - ``above_median``: the share with a score above the median score, its ratio and gap, to be read beside those of
      the first k; ``above_threshold`` where a threshold is given;
    - ``skew`` = ln(share of the first k / share of the pool), ``ndkl``, and ``fa_ir_p``, the exact chance of a prefix
      as short of the group as the worst one, were the ranking drawn by coin flips.

    Parameters
    ----------
    table
        A path (CSV, TSV, Parquet, JSON lines), a pandas, polars or Arrow frame, or a dictionary of columns; a row a
        person.
    score
        Column with the score; several stand side by side.
    group
        Column with the group; several are audited one after the other, and ``"sex,race"`` stands for the combinations.
        Empty cells and ``unknown`` are unknown: a row of their own, in no ratio.
    label
        Column with the merit of each row: 0 or 1, or a number from 0 up.
    query
        Column that says which list a row belongs to. Lists are ranked apart and pooled; with ``per_query``
        each of them is told too.
    cutoffs
        How many of each list are looked at.
    primary_cutoff
        The cutoff that was chosen before the data were seen. Its tests are adjusted among themselves.
    reference
        The group to compare with, by default the largest; for several attributes a dictionary.
    users
        Users who know the rank only. The first is the one of ``exposure``, by default DCG; the others stand beside it.
    ties
        Equal scores: ``"file"`` in the order of the table, ``"expected"`` averaged, ``"error"`` refused.
    min_cell
        Groups of fewer rows are masked, and more of them where sums would tell: every masked small group can be numbers
        at least this far apart. 1 masks nothing.
    inferred
        Attributes that were guessed (from names, photos, ..) and not stated: the result says so.
    preset
        ``"ll144"``: the layout of New York City's rules on bias audits, 6 RCNY 5-300 and following.
    resamples
        Resamples of the bootstrap; 0 for none. Rows are drawn within their group; with ``query`` whole queries are.
    level
        Level of the intervals.
    threshold
        A score from which a decision would be positive.
    bins
        Lower ends of the bins of number columns, ``{"age": [0, 40]}``.
    rng
        Seed of the bootstrap: a number, a generator that gives one, or None for a fresh one.
    progress
        Called with what is done and what there is to do.

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
    where a group has nobody among the first k, exposure has none. NDKL of one ranking has that of rankings whose places
    are drawn with the shares around each. FA*IR's p-value is exact, and needs none.

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
    given = options(
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
    wanted = names("group", group)
    if preset is not None:
        wanted = presets.combined(wanted)
    data = read_audit_table(table, score=names("score", score), group=wanted, label=label, query=query, bins=bins)
    return _audit(data, given, reference, rng, progress)


def _audit(
    data: AuditTable,
    given: Options,
    reference: str | Mapping[str, str] | None,
    rng: Rng,
    progress: Callable[[int, int], None] | None,
) -> AuditResult:
    several = data.queries is not None and len(data.queries) > 1
    data, hidden, by_list = _guarded(data, given)
    base = references(reference, data)
    notes.check_inferred(given, data)
    generators = streams(rng, len(data.scores) * len(data.attributes))
    tick = _Steps(progress, len(generators), given.resamples)
    done = 0
    # who knows the group of every single place by one attribute and by another knows the groups of both
    apart = given.min_cell if len(hidden) > 1 and any(h.any() for h in hidden.values()) else 1
    rows: list[Row] = []
    curves: list[pl.DataFrame] = []
    frames: list[pl.DataFrame] = []
    ranks: dict[str, RankedTable] = {}
    found: dict[tuple[str, str], One] = {}
    for score, values in data.scores.items():
        ranked = RankedTable(values, data.query, given.ties, name=score, source=data.source)
        check_cutoffs(given, data, ranked.longest)
        label = None if data.label is None else data.label[ranked.order]
        ranks[score] = ranked
        for attribute in data.attributes:
            compared = Compared(base[attribute.name], _eligible(attribute, hidden[attribute.name], given, len(data)))
            one = audit_one(
                ranked,
                attribute,
                score,
                label,
                data.binary,
                compared,
                hidden[attribute.name],
                given,
                generators[done],
                tick.one,
                apart,
            )
            found[score, attribute.name] = one
            rows += one.rows
            curves.append(one.curves)
            if one.each is not None:
                frames.append(
                    query_rows(
                        one,
                        attribute,
                        score,
                        compared,
                        hidden[attribute.name],
                        by_list[attribute.name],
                        given,
                        data.binary,
                        data.queries,
                    )
                )
            done += 1
            tick.reach(done)
    by_name = {a.name: a for a in data.attributes}
    shown = [r for a in by_name for r in masked([x for x in rows if x.attribute == a], hidden[a])]
    if given.preset is not None:
        shown = presets.ll144(shown, by_name, len(data))
    whole, tests, primary_tests = holm(shown, given.primary)
    order = {(s, a): i for i, (s, a) in enumerate((s, a) for s in data.scores for a in by_name)}
    whole.sort(key=lambda r: order[r.score, r.attribute])
    frame = frame_of(whole, by_name)
    if data.queries is not None:
        frame = pl.concat([*frames, frame.select(pl.lit(None, dtype=pl.String).alias("query"), pl.all())])
    rules = notes.conventions(data, given, base, hidden, ranks, found, (tests, primary_tests), several)
    told = notes.warnings(data, given, hidden, ranks, whole)
    return AuditResult(
        frame,
        pl.concat(curves),
        rules,
        tuple(told),
        notes.manifest(data, given, rules, told),
        given.preset,
    )


def _guarded(data: AuditTable, given: Options) -> tuple[AuditTable, dict[str, Booleans], dict[str, Booleans]]:
    """The table with the masked groups of each attribute as one, which these are, and which they are in each list."""
    lists: dict[str, Booleans] = {}
    if given.per_query and data.queries is not None:
        pooled, lists = masks_by_query(data.attributes, given.min_cell, data.query, len(data.queries))
    else:
        pooled = masks(data.attributes, given.min_cell)
    attributes, hidden = [], {}
    for a in data.attributes:
        if a.name in lists:
            lists[a.name] = lists[a.name][:, [*order_of(a, pooled[a.name]), -1]]
        one, hidden[a.name] = merged(a, pooled[a.name])
        attributes.append(one)
    return replace(data, attributes=attributes), hidden, lists


def _eligible(attribute: Attribute, hidden: Booleans, given: Options, total: int) -> Booleans:
    """Which groups can be the one of the highest rate: those that are shown and, in a preset, not set apart."""
    eligible: Booleans = ~hidden[:-1]
    if given.preset is not None and (eligible & (attribute.counts >= SMALL * total)).any():
        eligible = eligible & (attribute.counts >= SMALL * total)
    if not eligible.any():
        eligible[0] = True  # all are masked: any will do, but for one that would tell which rate is the highest
    return eligible


class _Steps:
    """How far an audit is, told every hundredth resample."""

    def __init__(self, tell: Callable[[int, int], None] | None, parts: int, resamples: int) -> None:
        self.tell, self.each = tell, resamples + 1
        self.done, self.total = 0, parts * self.each

    def one(self, _: int) -> None:
        """A resample is done."""
        self.done += 1
        if self.tell is not None and self.done % 100 == 0:
            self.tell(min(self.done, self.total), self.total)

    def reach(self, part: int) -> None:
        """An attribute is done under a score."""
        self.done = part * self.each
        if self.tell is not None:
            self.tell(self.done, self.total)
