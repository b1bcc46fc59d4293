"""EED and EER of a run's queries at the parameters of a family of policies, and where those points are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Booleans, Floats, Integers
from lightmeter.data.rankings import CELLS, Ranked, chunks_of_like_length
from lightmeter.io.threads import in_threads
from lightmeter.models.users import User
from lightmeter.sweeping.areas import rough_areas
from lightmeter.sweeping.candidates import Candidates, Scale
from lightmeter.sweeping.families import Family

STEP = 0.0185  # in x: below the 0.02 that is required
ROOT_STEP = 0.03  # in the root of x: relevance rises with it at first
AREA = 1e-4  # an area has to be as stable as this
SURE = 0.5  # of which an estimate of its error may take up so much
SLOW = 0.2  # a step along which a curve is slower than this, by its neighbour's pace, says nothing of the neighbour
LONG = 0.03  # a step that is longer in t may hide anything
MOST = 600  # points of a curve
CLOSE = 1e-9  # coordinates that are nearer than this are one


def wide(t: Floats, x: Floats) -> Floats:
    """How many times too long each step is (1 or less: short enough).

    Examples
    --------
    >>> wide(np.array([0.0, 1.0]), np.array([0.5, 0.537])).round(2).tolist()
    [2.0]
    """
    root = np.sqrt(np.maximum(x, 0.0))
    return np.where(np.diff(t) > CLOSE, np.maximum(np.abs(np.diff(x)) / STEP, np.abs(np.diff(root)) / ROOT_STEP), 0.0)


def lost(t: Floats, x: Floats, y: Floats, envelope: bool) -> Floats:
    """About how much area, over x in [0, 1], the straight line of each step may leave out or add.

    A curve that bends evenly encloses ``c h^3 / 12`` with a step of length h in t, and c follows from the triangle of
    three points, of area ``c h g (h + g) / 4`` for steps h and g. The larger of what the triangles on both sides say
    is taken. A neighbour along which the curve all but stands still says nothing. Where both do, and in long steps, the
    curve may go any way from corner to corner of the step, and half the triangle below it is counted, or more.

    Where the area is that of the largest y, a curve that turns back has also to be known as far as it reaches: a
    parabola goes on for at most an eighth of what it moves, there and back, in two steps. (Both ends of a curve are
    considered known: x goes from 0 to 1.)

    Parameters
    ----------
    t
        ``[points]``: coordinates, rising.
    x, y
        ``[curves, points]``.
    envelope
        Whether the area is that of the largest y at each x.

    Returns
    -------
    array
        ``[curves, steps]``.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> y = t**2
    >>> float(np.trapezoid(y, t).round(7)), float(lost(t, t[None], y[None], False).sum().round(7))
    (0.33335, 1.67e-05)
    """
    h, dx, dy = np.diff(t), np.diff(x), np.diff(y)
    triangle = np.abs(dx[:, :-1] * dy[:, 1:] - dx[:, 1:] * dy[:, :-1]) / 2.0
    g, k = h[:-1], h[1:]
    pace = np.hypot(dx, dy) / h
    informs_left, informs_right = pace[:, :-1] >= SLOW * pace[:, 1:], pace[:, 1:] >= SLOW * pace[:, :-1]
    none = np.zeros((len(x), 1))
    before = np.hstack([none, np.where(informs_left, triangle * k * k / (3.0 * g * (g + k)), 0.0)])
    after = np.hstack([np.where(informs_right, triangle * g * g / (3.0 * k * (g + k)), 0.0), none])
    informed = np.hstack([none > 0, informs_left]) | np.hstack([informs_right, none > 0])
    between = np.maximum(np.maximum(before, after), np.where(informed & (h <= LONG), 0.0, np.abs(dx * dy) / 4.0))
    low, high = np.minimum(x[:, :-1], x[:, 1:]), np.maximum(x[:, :-1], x[:, 1:])
    inside = np.clip(high, 0.0, 1.0) - np.clip(low, 0.0, 1.0)
    seen = np.divide(inside, high - low, out=((low >= 0.0) & (high <= 1.0)).astype(np.float64), where=high > low)
    return between * seen + (further(dx, x, y) if envelope else 0.0)


def further(dx: Floats, x: Floats, y: Floats) -> Floats:
    """The part of :func:`lost` that comes from how far curves go before they turn back."""
    left, right = dx[:, :-1], dx[:, 1:]
    moved = np.where(left * right < 0, np.abs(left) + np.abs(right), 0.0)
    turn, height = x[:, 1:-1], (y - y.min(axis=1, keepdims=True))[:, 1:-1]
    reach = turn + np.sign(left) * moved / 8.0
    area = np.abs(np.clip(reach, 0.0, 1.0) - np.clip(turn, 0.0, 1.0)) * height
    # the step that moves more is the one to halve
    share = np.divide(np.abs(left), moved, out=np.zeros(moved.shape), where=moved > 0)
    none = np.zeros((len(x), 1))
    return np.asarray(np.hstack([area * share, none]) + np.hstack([none, area * (1.0 - share)]))


def unstable(error: Floats) -> Booleans:
    """Steps to halve: the fewest that bring the error of every curve's area down far enough.

    Halving a step leaves a quarter of its error.

    Parameters
    ----------
    error
        ``[curves, steps]``, as :func:`lost` gives it.

    Examples
    --------
    >>> unstable(np.array([[9e-5, 0.0, 1e-5], [1e-5, 2e-5, 0.0]])).tolist()
    [True, False, False]
    """
    whole = error.sum(axis=1)
    far = whole > SURE * AREA
    error, whole = error[far], whole[far]
    order = np.argsort(-error, axis=1, kind="stable")
    sorted_ = np.take_along_axis(error, order, axis=1)
    before = np.cumsum(sorted_, axis=1) - sorted_  # before each
    enough = np.minimum((whole - SURE * AREA) / 0.75, 0.9 * whole)
    out = np.zeros(error.shape[1], dtype=bool)
    out[order[before < enough[:, None]]] = True
    return out


def refine(
    start: Floats,
    last: float,
    curves_at: Callable[[Floats], None],
    curves: Callable[[Floats], Sequence[tuple[Floats, Floats]]],
    envelope: Sequence[bool],
) -> Floats:
    """Coordinates that are close enough for all curves.

    Parameters
    ----------
    start
        First coordinates, rising, 0 and 1 included.
    last
        From here to 1 there is nothing between.
    curves_at
        Computes what is needed at new coordinates.
    curves
        x and y at coordinates, ``[curves, points]``: mean curves first, each with its queries' own. Steps have to be
        short for the mean curve; areas have to be stable for all that have one.
    envelope
        Of each of these, whether areas are those of the largest y.

    Returns
    -------
    array
        Coordinates, rising.
    """
    t = start
    curves_at(t)
    while len(t) < MOST:
        parts = np.zeros(len(t) - 1)
        found = curves(t)
        for x, _ in found:
            if not np.isnan(x[0]).any():
                parts = np.maximum(parts, wide(t, x[0]))
        between = (t[1:] <= last) & (np.diff(t) > CLOSE)
        if not (parts[between] > 1.0).any():
            for (x, y), top in zip(found, envelope, strict=True):
                parts = np.maximum(parts, np.where(unstable(errors(t, x, y, top, last)), 2.0, 0.0))
        number = np.where(between, np.clip(np.ceil(parts) - 1.0, 0, 8), 0).astype(np.int64)
        if not number.any():
            break
        share = (np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number) + 1.0) / np.repeat(
            number + 1.0, number
        )
        low = np.repeat(t[:-1], number)
        fresh = low + share * np.repeat(np.diff(t), number)
        curves_at(fresh)
        t = np.unique(np.concatenate([t, fresh]))
    return t


def errors(t: Floats, x: Floats, y: Floats, envelope: bool, last: float) -> Floats:
    """:func:`lost` in the steps that can be halved: ``[curves, steps]``, NaN for a curve with an unknown point."""
    between = (t[1:] <= last) & (np.diff(t) > CLOSE)
    unknown = np.isnan(x + y).any(axis=1, keepdims=True)
    return np.where(unknown, np.nan, np.where(between, lost(t, x, y, envelope), 0.0))


By = str | None

#: Points of a sampled curve, at most.
SAMPLED_POINTS = 160
#: Paths of the pilot.
PILOT = 32


@dataclass(frozen=True)
class Sampled:
    """What is known of the error of sampled points.

    Attributes
    ----------
    paths
        Sampled rankings per query and parameter.
    eed, eer
        ``[queries, points]``: standard errors.
    area
        ``[queries]``: standard error of each query's own area.
    without_eed, without_relevance
        ``[groups, points]``: mean EED, and mean relevance, over the queries that count, leaving out a group of paths
        each.
    """

    paths: int
    eed: Floats
    eer: Floats
    area: Floats
    without_eed: Floats
    without_relevance: Floats


def jackknife(without: Floats) -> Floats:
    """Standard error from the estimates ``[groups, ..]`` that leave a group of like size out."""
    n = len(without)
    return np.asarray(np.sqrt((n - 1.0) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0)))


@dataclass(frozen=True)
class Points:
    """The points of a curve.

    Attributes
    ----------
    parameter
        ``[points]``, from uniform to static.
    eed, eer
        ``[queries, points]``, NaN where the run has no ranking.
    sampled
        Where rankings are sampled, how uncertain it is.
    lost
        Estimated errors that straight lines leave in the areas: of the mean curve, and the largest of a query's own.
        NaN where there is no such curve, or rankings are sampled.
    """

    parameter: Floats
    eed: Floats
    eer: Floats
    sampled: Sampled | None = None
    lost: tuple[float, float] = (np.nan, np.nan)


class Lists:
    """All rankings of a run that count, block by block.

    Parameters
    ----------
    blocks
        The lists, like lengths together.
    rows
        For each block the positions of its queries among those evaluated.
    queries
        Number of queries evaluated.
    """

    def __init__(self, blocks: list[Candidates], rows: list[Integers], queries: int) -> None:
        self.blocks, self.rows, self.queries = blocks, rows, queries

    @classmethod
    def of(
        cls, context: object, ranked: Ranked, at: Integers, user: User, cutoff: int | None, bys: list[By], queries: int
    ) -> Lists:
        """The lists of a run; ``at`` is each ranking's position among the queries evaluated, -1 for none."""
        blocks, rows = [], []
        for part in chunks_of_like_length(ranked.lengths, CELLS):
            mine = part[at[part] >= 0]
            if len(mine):
                blocks.append(Candidates(context, ranked, mine, user, cutoff, bys))  # type: ignore[arg-type]
                rows.append(at[mine])
        return cls(blocks, rows, queries)

    def fitted(self, family: Family) -> Family:
        """The family with coordinates that suit the first block."""
        return family.fitted(self.blocks[0].score) if self.blocks else family

    def exactly(
        self, family: Family, parameter: float, user: User, cutoff: int | None, bys: list[By]
    ) -> dict[By, tuple[Floats, Floats]]:
        """EED and EER ``[queries]`` at one parameter."""
        out = {by: (np.full(self.queries, np.nan), np.full(self.queries, np.nan)) for by in bys}
        for block, rows in zip(self.blocks, self.rows, strict=True):
            exposure = family.exposure(parameter, block.score, block.grade, user, cutoff)
            for by in bys:
                out[by][0][rows], out[by][1][rows] = block.squares(exposure, by)
        return out


def exact_points(
    lists: Lists, family: Family, user: User, cutoff: int | None, scales: dict[By, Scale]
) -> dict[By, Points]:
    """Points as close as they need to be, all exact; the same parameters for all ways of counting."""
    bys = list(scales)
    known: dict[float, dict[By, tuple[Floats, Floats]]] = {}

    def compute(t: Floats) -> None:
        for one, parameter in zip(t.tolist(), family.parameters(t).tolist(), strict=True):
            known[one] = lists.exactly(family, parameter, user, cutoff, bys)

    def table(t: Floats, by: By) -> tuple[Floats, Floats]:
        eed, eer = (np.stack([known[one][by][i] for one in t.tolist()], axis=1) for i in (0, 1))
        return eed, eer

    def curves(t: Floats) -> list[tuple[Floats, Floats]]:
        return [scale.all_curves(*table(t, by)) for by, scale in scales.items()]

    first, last = np.array(family.start), family.last
    if not lists.blocks:
        first, last = np.array([0.0, 1.0]), 0.0
    t = refine(first, last, compute, curves, [s.of_means for s in scales.values()])
    out = {}
    for (by, scale), (x, y) in zip(scales.items(), curves(t), strict=True):
        mean, *own = errors(t, x, y, scale.of_means, last).sum(axis=1).tolist()
        lost = (mean, max((e for e in own if not np.isnan(e)), default=np.nan))
        out[by] = Points(family.parameters(t), *table(t, by), lost=lost)
    return out


def sampled_points(
    lists: Lists,
    family: Family,
    user: User,
    cutoff: int | None,
    scales: dict[By, Scale],
    paths: int | None,
    error: float,
    seed: int,
) -> dict[By, Points]:
    """Points from sampled rankings: a given number, or as many as the standard error requires.

    Where no number is given, a pilot of a few paths says how many are needed.
    """
    ends = {e: lists.exactly(family, e, user, cutoff, list(scales)) for e in family.ends}
    t = _rising()
    number = PILOT if paths is None else paths
    for _ in range(6):
        out = _sample(lists, family, t, ends, user, cutoff, scales, number, seed)
        if paths is None and number > 0:
            units = {by: _units(scale) for by, scale in scales.items()}
            worst = max((_worst(points, units[by]) for by, points in out.items()), default=0.0)
            if worst > error:
                number = int(np.ceil(1.2 * number * (worst / error) ** 2))
                continue
        finer = t
        for by, scale in scales.items():
            x, _ = scale.mean_curve(out[by].eed, out[by].eer)
            if not np.isnan(x).any():
                long = np.flatnonzero(np.abs(np.diff(x)) > 0.0199)
                finer = np.unique(np.concatenate([finer, (t[long] + t[long + 1]) / 2.0]))
        if len(finer) == len(t) or len(finer) > SAMPLED_POINTS:  # noise makes steps that no point closes
            break
        t = finer
    return out


def _rising() -> Floats:
    """Coordinates whose squares, which disparity follows, rise in short steps."""
    root = [0.0]
    while root[-1] < 1.0:
        root.append(min(root[-1] + 0.03, float(np.sqrt(root[-1] ** 2 + 0.015)), 1.0))
    return np.array(root)


def _units(scale: Scale) -> float:
    """What one unit of x is in mean EED."""
    here = scale.answered
    weight = scale.weight[here]
    if not weight.sum() > 0:
        return np.nan
    return float(weight @ (scale.static - scale.uniform)[here] / weight.sum())


def _worst(points: Points, unit: float) -> float:
    """The largest standard error of the mean curve, in x or y."""
    sampled = points.sampled
    if sampled is None or not np.isfinite(sampled.without_eed).all():
        return 0.0
    x = jackknife(sampled.without_eed).max(initial=0.0) / unit if unit > 0 else 0.0
    return float(max(x, jackknife(sampled.without_relevance).max(initial=0.0)))


def _sample(
    lists: Lists,
    family: Family,
    t: Floats,
    ends: dict[float, dict[By, tuple[Floats, Floats]]],
    user: User,
    cutoff: int | None,
    scales: dict[By, Scale],
    paths: int,
    seed: int,
) -> dict[By, Points]:
    from lightmeter.sweeping.sampled import CELLS as PATH_CELLS
    from lightmeter.sweeping.sampled import Draws, groups_of

    bys, parameter = list(scales), family.parameters(t)
    inner = parameter[1:-1][::-1]
    tasks = []
    for block, rows in zip(lists.blocks, lists.rows, strict=True):
        step = max(PATH_CELLS // (max(paths, 1) * max(block.block.shape[1], 1)), 1)
        tasks += [(block.part(i, i + step), rows[i : i + step]) for i in range(0, len(rows), step)]

    def work(task: tuple[int, tuple[Candidates, Integers]]) -> dict[By, tuple[Floats, Floats]]:
        number, (block, _) = task
        draws = Draws(block, user, cutoff, paths, np.random.default_rng([seed, number]))
        levels = list(draws.at(inner, bys))[::-1]
        return {by: tuple(np.stack([level[by][i] for level in levels], axis=2) for i in (0, 1)) for by in bys}  # type: ignore[misc]

    shape = (lists.queries, len(t))
    eed, eer = ({by: np.full(shape, np.nan) for by in bys} for _ in range(2))
    se = {by: (np.full(shape, np.nan), np.full(shape, np.nan), np.full(lists.queries, np.nan)) for by in bys}
    groups = groups_of(paths)
    sums = {by: (np.zeros((groups, len(t))), np.zeros((groups, len(t)))) for by in bys}
    for (_, (_, rows)), found in in_threads(work, list(enumerate(tasks))):
        for by, scale in scales.items():
            whole = [
                np.concatenate(
                    [
                        _end(ends[family.ends[0]][by][i], rows, groups),
                        found[by][i],
                        _end(ends[family.ends[1]][by][i], rows, groups),
                    ],
                    axis=2,
                )
                for i in (0, 1)
            ]  # [1 + groups, queries, points]
            eed[by][rows], eer[by][rows] = whole[0][0], whole[1][0]
            relevance = whole[1] / np.where(scale.most > 0, scale.most, np.nan)[rows, None]
            counts = np.where(scale.answered, scale.weight, 0.0)[rows]
            sums[by][0][:] += np.einsum("aqp,q->ap", whole[0][1:], counts)
            sums[by][1][:] += np.einsum("aqp,q->ap", np.where(counts[:, None] > 0, relevance, 0.0)[1:], counts)
            se[by][0][rows], se[by][1][rows] = jackknife(whole[0][1:]), jackknife(whole[1][1:])
            se[by][2][rows] = _area_errors(whole[0][1:], relevance[1:], scale, rows)
    out = {}
    for by, scale in scales.items():
        total, everyone = scale.weight[scale.answered].sum(), scale.weight[scale.counted].sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            sampled = Sampled(paths, *se[by], sums[by][0] / total, sums[by][1] / everyone)
        out[by] = Points(parameter, eed[by], eer[by], sampled)
    return out


def _end(value: Floats, rows: Integers, groups: int) -> Floats:
    return np.broadcast_to(value[rows][None, :, None], (1 + groups, len(rows), 1))


def _area_errors(eed: Floats, relevance: Floats, scale: Scale, rows: Integers) -> Floats:
    """Standard errors of the queries' own areas."""
    groups, queries, points = eed.shape
    low, high = scale.uniform[rows], scale.static[rows]
    ranged = scale.ranged[rows]
    x = (eed - low[:, None]) / np.where(ranged, high - low, np.nan)[:, None]
    found = rough_areas(x.reshape(-1, points), relevance.reshape(-1, points))
    return jackknife(found.reshape(groups, queries))
