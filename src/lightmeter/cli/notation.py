"""Measures and conditions as people type them: names from other programs, several in one text, signs that are none."""

from __future__ import annotations

import re
from typing import Any

from lightmeter.errors import LightmeterError, TermError
from lightmeter.terms.notation import Condition, parse_condition
from lightmeter.terms.plugins import parse_term
from lightmeter.terms.registry import aliases, registered
from lightmeter.terms.term import Term

#: as many of several measures in one text are written out
_MOST = 10
#: Measures of other programs that lightmeter does not have, by those of its own that come near.
_NEAREST = {
    "P@k, AP": "rprec rprecision rprecmult",
    "AP (and Judged@k for how much is judged)": "bpref",
    "RR@k": "success hit hits hitrate hr accuracy",
    "P@k, R@k": "f f1 setf",
    "P@k": "setp setrelativep",
    "R@k": "setr setrecall numrelret",
    "AP": "setmap iprec iprecatrecall gmmap infap 11ptavg",
    "nDCG": "infndcg ndcgrel gndcg",
    "DCG": "alphadcg sdcg",
    "ERR": "nerr",
    "RBP": "nrbp rbo rbp1 compat",
    "RBP, iRBU": "bpm inst insq",
    "Count": "numret",
    "": "numq numrel",
    "EEL": "infairness",
    "Share": "coverage",
}
#: The same by their plain names: which of ours come near.
ELSEWHERE = {name: nearest for nearest, names in _NEAREST.items() for name in names.split()}


def check_measures(texts: list[str]) -> None:
    """Refuse a request without a measure."""
    if not texts:
        raise LightmeterError(
            "no measure is asked for. Name at least one, such as -m nDCG@10; 'lightmeter measures' lists them."
        )


def read_measure(text: str) -> Any:
    """A measure from its notation; where there is none, an error that knows what other programs call theirs."""
    try:
        return parse_term(text, "measure")
    except TermError as error:
        raise TermError(_several(text) or foreign(text) or _inner(error) or str(error)) from None


def read_policy(text: str, ties: str | None) -> Any:
    """A policy from its notation, if it does not disagree with a rule for ties that is given too."""
    policy = parse_term(text, "policy")
    own = getattr(policy, "ties", None)
    if ties is not None and own != ties and re.search(r"\bties\s*=", text):
        raise LightmeterError(f"--policy {text} and --ties {ties} disagree about equal scores. Give one of the two.")
    return policy


def read_measure_condition(text: str) -> Condition:
    """A condition on a measure, such as ``nDCG@10 < 0.3``."""
    try:
        condition: Condition = parse_term(text, read=parse_condition)
    except TermError as error:
        raise TermError(_inner(error) or str(error)) from None
    return condition


def foreign(text: str) -> str | None:
    """The message for a name that other programs have for a measure."""
    parts = re.fullmatch(r"\s*([A-Za-z1][\w\- ]*?)(?:[_.@ ]?(\d+))?\s*(?:\(.*\))?\s*(?:@\s*(\d+))?\s*", text)
    measures = registered("measure")
    if parts is None or re.split(r"[(@]", text)[0].strip() in {*measures, *aliases()}:
        return None
    word, number, cutoff = parts.groups()
    ours = {plain_name(name): own for own, cls in measures.items() for name in _names(cls)}
    plain, k = plain_name(word), cutoff or number
    if k == "1" and f"{plain}1" in ELSEWHERE and not re.search(r"[_.@]", text):
        plain, k = f"{plain}1", None
    shown = text.strip() if number else word
    if plain in ours:
        return (
            f"there is no measure {shown!r}. Here it is written {ours[plain]}{f'@{k}' if k else ''}; "
            f"'lightmeter measures {ours[plain]}' shows all about it."
        )
    if plain in ELSEWHERE:
        nearest = f" The nearest: {ELSEWHERE[plain]}." if ELSEWHERE[plain] else ""
        return f"lightmeter has no measure {shown!r}.{nearest} 'lightmeter measures' lists those it has."
    return None


def _names(cls: type[Term]) -> tuple[str, ...]:
    """The names of a measure here and elsewhere."""
    return (cls.__name__, *cls.__dict__.get("aliases", ()), *cls.__dict__.get("known_as", ()))


def plain_name(name: str) -> str:
    """A name in small letters, without marks.

    Examples
    --------
    >>> plain_name("Recip_Rank")
    'reciprank'
    """
    return re.sub(r"[\W_]", "", name).lower()


def _inner(error: TermError) -> str | None:
    """The same for a name within a term, by the message of the one that was not found."""
    name = re.match(r"there is no (?:measure|term) '([^']*)'", str(error))
    return foreign(name[1]) if name else None


def _several(text: str) -> str | None:
    """The message for several measures in one text."""
    parts = [p for p in _split(text) if p]
    if len(parts) < 2:
        return None
    try:
        for part in parts:
            parse_term(part, "measure")
    except LightmeterError:
        if not all(re.fullmatch(r"[A-Za-z]\w*(\(.*\))?(@\d+)?", p) for p in parts):
            return None
    each = " ".join(f'-m "{p}"' if re.search(r"\W", p.replace("@", "")) else f"-m {p}" for p in parts[:_MOST])
    each += " .." if len(parts) > _MOST else ""
    return f"{text!r} are several measures. Repeat -m for each: {each}."


def _split(text: str) -> list[str]:
    """At commas and blanks outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif not depth and (c in ",;" or c.isspace()):
            parts.append("")
            continue
        depth += (c in "([{") - (c in ")]}") if not quote else 0
        parts[-1] += c
    return parts
