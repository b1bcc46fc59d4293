"""How far down people look, in words: which user models are within the band of what is estimated."""

from __future__ import annotations

import polars as pl

from lightmeter.findings.language import counted, listed, number, percent

ESTIMATED = "estimated from clicks"
#: Of so many ranks, a curve may be outside a band of each rank by itself at this share of them (or at one) by chance.
_SEVERAL, _BY_CHANCE = 5, 0.1


def finding(frame: pl.DataFrame, names: list[str]) -> str:
    """What the last rank that all curves have gets."""
    common = int(frame.group_by("series").agg(pl.col("rank").max())["rank"].min())  # type: ignore[arg-type]
    at = dict(frame.filter(pl.col("rank") == common).select("series", "weight").iter_rows())
    known = [n for n in frame["series"].unique(maintain_order=True) if n in at]
    if not known:
        return f"Attention by rank: {listed(names)}"
    fit = _fitting(frame)
    if fit:
        return fit
    say = percent if from_one(frame) else number
    if from_one(frame) and len(known) > 1:
        return _of_first(known, at, common)
    measured = [n for n in known if n.startswith(ESTIMATED)]
    models = sorted((n for n in known if n not in measured), key=lambda n: at[n])
    told = [f"{say(at[n])} as {n}" for n in measured]
    if len(models) > 2:
        ends = " to ".join(f"{say(at[n])} ({n})" for n in (models[0], models[-1]))
        told.append(f"{'by user models ' if measured else ''}from {ends}")
    elif models:
        told.append(("by user models " if measured else "") + " and ".join(f"{say(at[n])} ({n})" for n in models))
    first = "Of the attention of rank 1" if from_one(frame) else "Of attention"
    return f"{first}, rank {common} gets {'; '.join(told)}"


def _of_first(known: list[str], at: dict[str, float], rank: int) -> str:
    """What the rank gets of the attention of rank 1, as estimated and by user models."""
    measured = [n for n in known if n.startswith(ESTIMATED)]
    models = sorted((n for n in known if n not in measured), key=lambda n: at[n])
    told = [f"{percent(at[n])} as {n}" for n in measured]
    if models:
        ends = list(dict.fromkeys(percent(at[n]) for n in (models[0], models[-1])))
        alike = models[0].split(":")[0] == models[-1].split(":")[0]
        if measured or len(ends) == 1 or alike:
            told.append(f"{' to '.join(ends)} by {counted(len(models), 'user model')}")
        else:
            short = _short(models)
            told.append(f"from {ends[0]} ({short[models[0]]}) to {ends[1]} ({short[models[-1]]})")
    return f"Of the attention of rank 1, rank {rank} gets {listed(told)}"


def _fitting(frame: pl.DataFrame) -> str:
    """Which user models are within the band of the only estimate, and which are not; nothing where there is no band."""
    known = frame.filter(pl.col("low").is_finite(), pl.col("high") > pl.col("low"))
    if known["series"].n_unique() != 1 or not from_one(frame):
        return ""
    models = frame.filter(~pl.col("series").str.starts_with(ESTIMATED)).select("series", "rank", "weight")
    both = models.join(known.select("rank", "low", "high"), on="rank", how="inner", maintain_order="left")
    if both.is_empty():
        return ""
    outside = (
        both.with_columns(out=~pl.col("weight").is_between("low", "high"))
        .group_by("series", maintain_order=True)
        .agg(pl.col("out").sum(), ranks=pl.len())
    )
    names = _short(outside["series"].to_list())
    told: dict[tuple[int, int, int], list[str]] = {}
    for name, out, ranks in outside.iter_rows():
        told.setdefault((_verdict(out, ranks), out, ranks), []).append(names[name])
    parts = [_fit(who, *how, first=not i) for i, (how, who) in enumerate(sorted(told.items()))]
    return "; ".join(parts)


def _verdict(out: int, ranks: int) -> int:
    """Whether a model fits that is outside the band at so many of the ranks: 0 yes, 1 nearly, 2 no."""
    return 0 if not out else 1 if ranks >= _SEVERAL and out <= max(1, _BY_CHANCE * ranks) else 2


def _fit(who: list[str], verdict: int, out: int, ranks: int, *, first: bool) -> str:
    """How well some models fit; the first time also what."""
    verb = {0: "fits", 1: "nearly fits", 2: "does not fit"}[verdict]
    if len(who) > 1:
        verb = {0: "fit", 1: "nearly fit", 2: "do not fit"}[verdict]
    what = " the estimate from clicks" if first else ""
    where = f"outside the band at {'all' if out == ranks > 1 else f'{out} of'} {counted(ranks, 'rank')}"
    if not out:
        where = "within the band at " + ("the only rank" if ranks == 1 else f"all {ranks} ranks that have one")
    return f"{listed(who)} {verb}{what} ({where}{', as chance may have it' if verdict == 1 else ''})"


def _short(names: list[str]) -> dict[str, str]:
    """User models by the first of their words, where no other has it."""
    first = [name.split(":")[0] for name in names]
    return {name: word if first.count(word) == 1 else name for name, word in zip(names, first, strict=True)}


def from_one(frame: pl.DataFrame) -> bool:
    """Whether rank 1 has the attention 1 in all curves, so that the others are shares of it."""
    top = frame.filter(pl.col("rank") == 1)["weight"]
    return len(top) == frame["series"].n_unique() and bool(((top - 1.0).abs() < 1e-9).all())
