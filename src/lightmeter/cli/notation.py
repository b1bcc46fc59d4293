"""Measures and conditions as people type them: names from other programs, several in one text, signs that are none."""

from __future__ import annotations

import re
from typing import Any

from lightmeter.errors import LightmeterError, TermError
from lightmeter.terms.plugins import parse_term
from lightmeter.terms.registry import aliases, registered
from lightmeter.terms.term import Term

SIGNS = ("<", "<=", ">", ">=", "==", "!=")
#: as many of several measures in one text are written out
_MOST = 10
_SIGN_MEANT = {"=": "==", "=>": ">=", "=<": "<=", "<>": "!=", "≤": "<=", "≥": ">=", "≠": "!="}
#: Measures that there are elsewhere and not here, and which of ours come near.
_ELSEWHERE = {
    "rprec": "P@k, AP",
    "rprecision": "P@k, AP",
    "rprecmult": "P@k, AP",
    "bpref": "AP (and Judged@k for how much is judged)",
    "success": "RR@k",
    "hit": "RR@k",
    "hits": "RR@k",
    "hitrate": "RR@k",
    "hr": "RR@k",
    "accuracy": "RR@k",
    "f": "P@k, R@k",
    "f1": "P@k, R@k",
    "setp": "P@k",
    "setr": "R@k",
    "setf": "P@k, R@k",
    "setmap": "AP",
    "setrelativep": "P@k",
    "setrecall": "R@k",
    "iprec": "AP",
    "iprecatrecall": "AP",
    "gmmap": "AP",
    "infap": "AP",
    "infndcg": "nDCG",
    "11ptavg": "AP",
    "ndcgrel": "nDCG",
    "gndcg": "nDCG",
    "alphadcg": "DCG",
    "nerr": "ERR",
    "nrbp": "RBP",
    "bpm": "RBP, iRBU",
    "inst": "RBP, iRBU",
    "insq": "RBP, iRBU",
    "sdcg": "DCG",
    "rbo": "RBP",
    "rbp1": "RBP",
    "compat": "RBP",
    "numret": "Count",
    "numq": "",
    "numrel": "",
    "numrelret": "R@k",
    "infairness": "EEL",
    "coverage": "Share",
}


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


def read_signed(text: str, read: Any) -> Any:
    """A condition; where its sign is none, an error that lists the signs."""
    try:
        return parse_term(text, read=read)
    except TermError as error:
        told = str(error)
        if "cannot be read" in told or "not a condition" in told:
            strange = re.search(r"=>|=<|<>|[≤≥≠]|(?<![<>=!])=(?!=)(?=\s*[-+.\d]+\s*$)", text)
            meant = f" Write {_SIGN_MEANT[strange[0]]} instead of {strange[0]}." if strange else ""
            told = (
                f"{text!r} is not a condition. Accepted: a measure, a sign ({', '.join(SIGNS)}) and a number, such as "
                f"nDCG@10 < 0.3.{meant}"
            )
        raise TermError(_inner(error) or told) from None


def foreign(text: str) -> str | None:
    """The message for a name that other programs have for a measure."""
    found = re.fullmatch(r"\s*([A-Za-z1][\w\- ]*?)(?:[_.@ ]?(\d+))?\s*(?:\(.*\))?\s*(?:@\s*(\d+))?\s*", text)
    measures = registered("measure")
    if found is None or re.split(r"[(@]", text)[0].strip() in {*measures, *aliases()}:
        return None
    word, name = found[1] + (found[2] or ""), found[1]
    plain = _plain(name)
    ours = {_plain(also): n for n, cls in measures.items() for also in _names(cls)}
    cutoff = next((f"@{n}" for n in (found[3], found[2]) if n), "")
    if cutoff == "@1" and f"{plain}1" in _ELSEWHERE and not re.search(r"[_.@]", text):
        plain, cutoff = f"{plain}1", ""
    shown = text.strip() if found[2] else word
    if plain in ours:
        return (
            f"there is no measure {shown!r}. Here it is written {ours[plain]}{cutoff}; "
            f"'lightmeter measures {ours[plain]}' shows all about it."
        )
    if plain in _ELSEWHERE:
        near = f" The nearest: {_ELSEWHERE[plain]}." if _ELSEWHERE[plain] else ""
        return f"the measure {shown!r} is not in this version.{near} 'lightmeter measures' lists those there are."
    return None


def _names(cls: type[Term]) -> tuple[str, ...]:
    """The names of a measure here and elsewhere."""
    return (cls.__name__, *cls.__dict__.get("aliases", ()), *cls.__dict__.get("known_as", ()))


def _plain(name: str) -> str:
    """A name in small letters, without marks."""
    return re.sub(r"[\W_]", "", name).lower()


def _inner(error: TermError) -> str | None:
    """The same for a name within a term, by the message of the one that was not found."""
    found = re.match(r"there is no (?:measure|term) '([^']*)'", str(error))
    return foreign(found[1]) if found else None


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
