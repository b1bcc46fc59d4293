"""EED and EER of a run's queries at the parameters of a family of policies: exact, or from drawn rankings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.data.rankings import CELLS, Ranked, chunks_of_like_length
from lightmeter.io.threads import in_threads
from lightmeter.models.users import User
from lightmeter.sweeping.areas import rough_areas
from lightmeter.sweeping.candidates import Candidates
from lightmeter.sweeping.families import Family
from lightmeter.sweeping.refining import errors, refine
from lightmeter.sweeping.scale import Scale

By = str | None

#: Points of a drawn curve, at most.
DRAWN_POINTS = 160
#: Paths of the pilot.
PILOT = 32


@dataclass(frozen=True)
class Sampled:
    """What is known of the error of drawn points.

    Attributes
    ----------
    paths
        Rankings drawn a query at each parameter.
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
        Where rankings are drawn, how uncertain it is.
    lost
        Estimated errors that straight lines leave in the areas: of the mean curve, and the largest of a query's own.
        NaN where there is no such curve, or rankings are drawn.
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
    place
        For each block the places of its queries among those evaluated.
    queries
        Number of queries evaluated.
    """

    def __init__(self, blocks: list[Candidates], place: list[Integers], queries: int) -> None:
        self.blocks, self.place, self.queries = blocks, place, queries

    @classmethod
    def of(
        cls, context: object, ranked: Ranked, at: Integers, user: User, cutoff: int | None, bys: list[By], queries: int
    ) -> Lists:
        """The lists of a run; ``at`` is each ranking's place among the queries evaluated, -1 for none."""
        blocks, place = [], []
        for part in chunks_of_like_length(ranked.lengths, CELLS):
            mine = part[at[part] >= 0]
            if len(mine):
                blocks.append(Candidates(context, ranked, mine, user, cutoff, bys))  # type: ignore[arg-type]
                place.append(at[mine])
        return cls(blocks, place, queries)

    def fitted(self, family: Family) -> Family:
        """The family with coordinates that suit the first block."""
        return family.fitted(self.blocks[0].score) if self.blocks else family

    def exactly(
        self, family: Family, parameter: float, user: User, cutoff: int | None, bys: list[By]
    ) -> dict[By, tuple[Floats, Floats]]:
        """EED and EER ``[queries]`` at one parameter."""
        out = {by: (np.full(self.queries, np.nan), np.full(self.queries, np.nan)) for by in bys}
        for block, place in zip(self.blocks, self.place, strict=True):
            exposure = family.exposure(parameter, block.score, block.grade, user, cutoff)
            for by in bys:
                out[by][0][place], out[by][1][place] = block.squares(exposure, by)
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


def drawn_points(
    lists: Lists,
    family: Family,
    user: User,
    cutoff: int | None,
    scales: dict[By, Scale],
    paths: int | None,
    error: float,
    seed: int,
) -> dict[By, Points]:
    """Points from drawn rankings: as many as asked for, or as many as the standard error asks for.

    Where no number is asked for, a pilot of a few paths says how many it takes.
    """
    ends = {e: lists.exactly(family, e, user, cutoff, list(scales)) for e in family.ends}
    t = _rising()
    number = PILOT if paths is None else paths
    for _ in range(6):
        out = _draw(lists, family, t, ends, user, cutoff, scales, number, seed)
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
        if len(finer) == len(t) or len(finer) > DRAWN_POINTS:  # noise makes steps that no point closes
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


def _draw(
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
    from lightmeter.sweeping.drawn import CELLS as DRAWN_CELLS
    from lightmeter.sweeping.drawn import Draws, groups_of

    bys, parameter = list(scales), family.parameters(t)
    inner = parameter[1:-1][::-1]
    tasks = []
    for block, place in zip(lists.blocks, lists.place, strict=True):
        step = max(DRAWN_CELLS // (max(paths, 1) * max(block.block.shape[1], 1)), 1)
        tasks += [(block.part(i, i + step), place[i : i + step]) for i in range(0, len(place), step)]

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
    for (_, (_, place)), found in in_threads(work, list(enumerate(tasks))):
        for by, scale in scales.items():
            whole = [
                np.concatenate(
                    [
                        _end(ends[family.ends[0]][by][i], place, groups),
                        found[by][i],
                        _end(ends[family.ends[1]][by][i], place, groups),
                    ],
                    axis=2,
                )
                for i in (0, 1)
            ]  # [1 + groups, queries, points]
            eed[by][place], eer[by][place] = whole[0][0], whole[1][0]
            relevance = whole[1] / np.where(scale.most > 0, scale.most, np.nan)[place, None]
            counts = np.where(scale.answered, scale.weight, 0.0)[place]
            sums[by][0][:] += np.einsum("aqp,q->ap", whole[0][1:], counts)
            sums[by][1][:] += np.einsum("aqp,q->ap", np.where(counts[:, None] > 0, relevance, 0.0)[1:], counts)
            se[by][0][place], se[by][1][place] = jackknife(whole[0][1:]), jackknife(whole[1][1:])
            se[by][2][place] = _area_errors(whole[0][1:], relevance[1:], scale, place)
    out = {}
    for by, scale in scales.items():
        total, everyone = scale.weight[scale.answered].sum(), scale.weight[scale.counted].sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            sampled = Sampled(paths, *se[by], sums[by][0] / total, sums[by][1] / everyone)
        out[by] = Points(parameter, eed[by], eer[by], sampled)
    return out


def _end(value: Floats, place: Integers, groups: int) -> Floats:
    return np.broadcast_to(value[place][None, :, None], (1 + groups, len(place), 1))


def _area_errors(eed: Floats, relevance: Floats, scale: Scale, place: Integers) -> Floats:
    """Standard errors of the queries' own areas."""
    groups, queries, points = eed.shape
    low, high = scale.uniform[place], scale.static[place]
    ranged = scale.ranged[place]
    x = (eed - low[:, None]) / np.where(ranged, high - low, np.nan)[:, None]
    found = rough_areas(x.reshape(-1, points), relevance.reshape(-1, points))
    return jackknife(found.reshape(groups, queries))
