"""Options of the form ``NAME=VALUE,..``."""

from __future__ import annotations

import csv
from collections.abc import Iterable

from lightmeter.errors import LightmeterError

#: More resamples than this make no interval or p-value better that anybody could tell.
MOST_RESAMPLES = 1_000_000


def pairs(option: str, given: Iterable[str]) -> dict[str, str]:
    """``a=b,c=d`` as a dictionary.

    Examples
    --------
    >>> pairs("--columns", ["query=qid,doc=item", "score=p"])
    {'query': 'qid', 'doc': 'item', 'score': 'p'}
    """
    out: dict[str, str] = {}
    for text in given:
        for part in _split(text):
            name, equals, value = (s.strip() for s in part.partition("="))
            if not (name and equals and value):
                raise LightmeterError(
                    f"{option} {text}: {part!r} is not a pair. Accepted: OURS=THEIRS,.. such as query=qid,doc=item."
                )
            if name in out:
                raise LightmeterError(f"{option}: {name!r} is given twice ({out[name]} and {value}).")
            out[name] = value
    return out


def texts_by_name(option: str, given: Iterable[str], example: str = "level=low,mid,high") -> dict[str, list[str]]:
    """``a=x,y,z`` as ``{a: [x, y, z]}``.

    Examples
    --------
    >>> texts_by_name("--ordinal", ["level=low,mid,high"])
    {'level': ['low', 'mid', 'high']}
    """
    out: dict[str, list[str]] = {}
    for text in given:
        name, equals, rest = text.partition("=")
        name, values = name.strip(), [v.strip() for v in _split(rest)]
        if not (name and equals and values and all(values)):
            raise LightmeterError(f"{option} {text}: this is not NAME=VALUE,VALUE,.. Accepted: such as {example}.")
        if name in out:
            raise LightmeterError(f"{option}: {name!r} is given twice.")
        if len(set(values)) < len(values):
            twice = next(v for v in values if values.count(v) > 1)
            raise LightmeterError(f"{option} {text}: {twice!r} stands there twice.")
        out[name] = values
    return out


def numbers_by_name(option: str, given: Iterable[str]) -> dict[str, list[float]]:
    """``a=0,1,11`` as ``{a: [0.0, 1.0, 11.0]}``."""
    out: dict[str, list[float]] = {}
    for name, values in texts_by_name(option, given, "age=0,18,65").items():
        try:
            out[name] = [float(v) for v in values]
        except ValueError:
            raise LightmeterError(
                f"{option} {name}={','.join(values)}: not all of these are numbers. Accepted: such as age=0,18,65."
            ) from None
    return out


def whole_number(option: str, text: str) -> int:
    """A whole number of at least 1."""
    if not (_digits(text) and int(text) >= 1):
        raise LightmeterError(f"{option} is {text!r}. Accepted: a whole number of at least 1.")
    if int(text) >= 2**63:
        raise LightmeterError(f"{option} is {text}. Accepted: a whole number below 2 to the power of 63.")
    return int(text)


def resample_count(text: str, least: int = 1) -> int:
    """The value of ``--resamples``: whole numbers that can be computed in a sensible time."""
    if not (_digits(text) and least <= int(text) <= MOST_RESAMPLES):
        told = f"{text[:20]}.." if len(text) > 25 else text
        raise LightmeterError(
            f"--resamples is {told!r}. Accepted: a whole number from {least:,} to {MOST_RESAMPLES:,}."
        )
    return int(text)


def _digits(text: str) -> bool:
    """Whether a text is a whole number that Python reads: it refuses those of thousands of digits."""
    return text.isascii() and text.isdigit() and len(text) <= 1000


def seed(text: str) -> int:
    """The seed of what is drawn at random."""
    if not _digits(text):
        raise LightmeterError(f"--rng is {text!r}. Accepted: a whole number from 0 up.")
    return int(text)


def _split(text: str) -> list[str]:
    """Parts between commas; a part with a comma of its own stands in double quotes."""
    return next(csv.reader([text], skipinitialspace=True), [])
