"""How results are spoken of: short names of runs, numbers, directions, and how large a difference has to be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lightmeter.arrays import Floats
from lightmeter.results.text import printable

#: The share of a measure's range below which two values are about the same.
LITTLE = 0.01
#: Kendall's tau is from -1 to 1.
TAU = LITTLE * 2
#: Of exposure per member the ratio counts, as there is no most: groups whose values differ by less are about equal.
ALIKE = 0.01
#: How a picture says that a value is about the same as another one.
NEAR = "less than 1% of the range from it"
_ROUNDING = 1e-9
LONGEST = 24
#: A turn is told where it is more than this share of all that a measure moves, and than what counts; what three digits
#: do not show never does.
_DUST, _LEAST = 0.01, 5e-4


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without what all have in common: folder, leading words and ending; long ones lose their middle.

    Two names never become the same.

    Examples
    --------
    >>> short_names(["runs/input.A1.gz", "runs/input.B1.gz"])
    {'runs/input.A1.gz': 'A1', 'runs/input.B1.gz': 'B1'}
    >>> short_names(["only/one.run"])
    {'only/one.run': 'one.run'}
    """
    unique = list(dict.fromkeys(names))
    bare = [n.rstrip("/").rsplit("/", 1)[-1] for n in unique]
    if len(set(bare)) < len(bare):
        shared = _shared(unique)
        bare = [n[shared.rfind("/") + 1 :] for n in unique]
    if len(bare) > 1:
        bare = _trimmed(bare)
    made = [printable(n if len(n) <= LONGEST else f"{n[: LONGEST // 2 - 1]}..{n[-(LONGEST // 2 - 1) :]}") for n in bare]
    if len(set(made)) < len(made):
        made = [printable(n) for n in bare]
    return dict(zip(unique, made, strict=True))


def quoted(names: Mapping[str, str]) -> dict[str, str]:
    """Short names of runs as they stand in a sentence: in quotes, so that they are no words of it.

    Examples
    --------
    >>> quoted({"runs/fairer": "fairer"})
    {'runs/fairer': "'fairer'"}
    """
    return {run: f"'{name}'" for run, name in names.items()}


def _trimmed(names: list[str]) -> list[str]:
    """Without the words at the start and the end that all share; a word ends at a dot, dash or underscore."""
    start = _cut(_shared(names))
    names = [n[start:] for n in names]
    end = _cut(_shared([n[::-1] for n in names]))
    shorter = [n[: len(n) - end] for n in names]
    return shorter if all(shorter) else names


def _shared(names: Sequence[str]) -> str:
    """What all names start with."""
    first, last = min(names), max(names)
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _cut(shared: str) -> int:
    """Where the last whole word of what names share ends."""
    return max(shared.rfind(mark) for mark in "._-/") + 1


def way(measure: Any) -> str:
    """Which values of a measure are better; of one that leans to a side, which side is which.

    Examples
    --------
    >>> from lightmeter import EEL, DeltaGF
    >>> way(EEL()), way(DeltaGF(by="gender", positive="f"))
    ('lower is better', '0: balanced, above 0: to f')
    """
    told = {"higher": "higher is better", "lower": "lower is better"}.get(measure.better, "")
    positive = getattr(measure, "positive", None)
    if not told and positive is not None:
        return printable(f"0: balanced, above 0: to {positive}")
    return told


def measured(measure: Any, *, mean: bool = False) -> str:
    """What an axis shows: a measure, its range and which way is better."""
    low, high = (float(b) for b in measure.bounds)
    span = f"{_end(low)} to {_end(high)}" if math.isfinite(low) and math.isfinite(high) else ""
    which = way(measure)
    if which == "higher is better" and hasattr(measure, "target") and hasattr(measure, "div"):
        # a similarity of 0 takes a target that is one group alone: what is as unfair as can be stands well above 0
        span, which = f"at most {_end(high)}", f"{which}; its least depends on the target"
    told = ("; " if ":" in which else ", ").join(part for part in (span, which) if part)
    return f"{'mean ' if mean else ''}{printable(str(measure))}" + (f" ({told})" if told else "")


def _end(value: float) -> str:
    return f"{value:.3g}"


def brief(measures: Sequence[Any]) -> list[str]:
    """Names of measures for a sentence: as short as keeps them apart.

    Examples
    --------
    >>> from lightmeter import ERR, GF, RBP
    >>> brief([ERR(), RBP(p=0.8) @ 10]), brief([GF(by="a"), GF(by="b")])
    (['ERR', 'RBP@10'], ['GF by a', 'GF by b'])
    """
    name = [type(m).__name__ + ("" if m.cutoff is None else f"@{m.cutoff}") for m in measures]
    if len(set(name)) < len(set(map(str, measures))):
        name = [n if m.attribute is None else f"{n} by {m.attribute}" for n, m in zip(name, measures, strict=True)]
    if len(set(name)) < len(set(map(str, measures))):
        name = [str(m) for m in measures]
    return [printable(n) for n in name]


def better_first(measure: Any) -> float:
    """1 where higher values are better, -1 where lower ones are, 0 where neither."""
    return {"higher": 1.0, "lower": -1.0}.get(measure.better, 0.0)


def percent(share: float) -> str:
    """A share in words; never 0% or 100% where it is not.

    Examples
    --------
    >>> percent(0.925), percent(1.0), percent(0.9999)
    ('92%', '100%', 'over 99%')
    """
    if share > 0.99 and share < 1:
        return "over 99%"
    if 0 < share < 0.01:
        return "under 1%"
    return f"{share:.0%}"


def number(value: float) -> str:
    """A number of three digits.

    Examples
    --------
    >>> number(0.12345), number(12.345), number(float("nan"))
    ('0.123', '12.3', 'undefined')
    """
    if not math.isfinite(value):
        return "undefined"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.3g}"


def course(value: Floats, least: float = _LEAST) -> tuple[str, str]:
    """What values do in their order, in words, and between which numbers.

    Parameters
    ----------
    value
        Values in their order.
    least
        The least difference that counts: smaller ups and downs are left out.

    Examples
    --------
    >>> import numpy as np
    >>> course(np.array([0.1, 0.3])), course(np.array([0.1, 0.5, 0.3]))
    (('rises', 'from 0.100 to 0.300'), ('rises and then falls', 'from 0.100 to 0.500 and then 0.300'))
    >>> course(np.array([0.100, 0.105]), 0.01)
    ('hardly changes', 'from 0.100 to 0.105')
    """
    start, end, low, high = (float(v) for v in (value[0], value[-1], value.min(), value.max()))
    if high - low < _LEAST:
        return "stays", f"at {number(end)}"
    if not counts(high - low, least):
        return "hardly changes", f"from {number(start)} to {number(end)}"
    dust = max(_DUST * (high - low), _LEAST, least * (1 - 1e-9))
    peak, trough = high > max(start, end) + dust, low < min(start, end) - dust
    if peak and trough:
        return "rises and falls", f"between {number(low)} and {number(high)}, from {number(start)} to {number(end)}"
    if peak or trough:
        turn = high if peak else low
        way = "rises and then falls" if peak else "falls and then rises"
        return way, f"from {number(start)} to {number(turn)} and then {number(end)}"
    # on the way up nothing may fall by more than dust, and the other way round
    drop = float((np.maximum.accumulate(value) - value).max())
    climb = float((value - np.minimum.accumulate(value)).max())
    way = "rises" if end > start else "falls"
    if (drop if end > start else climb) > dust:
        way += " with ups and downs"
    return way, f"from {number(start)} to {number(end)}"


def listed(words: Iterable[str], most: int = 4) -> str:
    """Words in a row.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed("abcdef", 2)
    ('a', 'a, b and c', 'a, b and 4 others')
    """
    words = list(words)
    if len(words) > most:
        rest = len(words) - most
        return f"{', '.join(words[:most])} and {rest} other{'s' * (rest > 1)}"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def group_name(attribute: str | None, group: str) -> str:
    """A group in a sentence: codes and single letters get the name of their attribute.

    Examples
    --------
    >>> group_name("sex", "1"), group_name("sex", "f"), group_name("sex", "women")
    ('sex 1', 'sex f', 'women')
    """
    code = attribute is not None and (len(group) == 1 or (len(group) == 2 and not group.isalpha()))
    return printable(f"{attribute} {group}" if code else group)


def counted(n: int, word: str, many: str | None = None) -> str:
    """A number and its noun.

    Examples
    --------
    >>> counted(1, "query", "queries"), counted(2, "run")
    ('1 query', '2 runs')
    """
    return f"{n:,} {word if n == 1 else many or word + 's'}"


def margin(bounds: Iterable[float], values: Iterable[float] = ()) -> float:
    """The least difference that counts.

    Parameters
    ----------
    bounds
        The least and the most that a measure can be.
    values
        What it is here: where there is no least or no most, the range is the largest size of these.

    Examples
    --------
    >>> margin((-1.0, 1.0)), margin((0.0, float("inf")), [3.0, -5.0])
    (0.02, 0.05)
    """
    low, high = (float(b) for b in bounds)
    if math.isfinite(low) and math.isfinite(high):
        return LITTLE * (high - low)
    return LITTLE * max((abs(v) for v in values if v is not None and math.isfinite(v)), default=0.0)


def margin_of(measure: Any, values: Iterable[float] = ()) -> float:
    """The least difference of a measure that counts."""
    return margin(measure.bounds, values)


def counts(difference: float, least: float) -> bool:
    """Whether a difference is as large as it must be, in either direction; one of rounding never is.

    Examples
    --------
    >>> counts(0.01, 0.01), counts(0.78 - 0.79, 0.01), counts(0.0099, 0.01), counts(0.0, 0.0)
    (True, True, False, False)
    """
    return abs(difference) > 0 and abs(difference) >= least * (1 - _ROUNDING)
