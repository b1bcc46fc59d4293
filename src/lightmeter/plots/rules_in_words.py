"""What measures, policies and rules are, in words for readers who do not know the notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lightmeter.results.text import printable

#: Rules that pictures tell, where they can matter.
ALL = ("policy", "ties", "unknown", "depth")
_POLICIES = {
    "PlackettLuce": "documents drawn in proportion to exp(alpha x score)",
    "RankTransposition": "pairs of places swapped at random",
    "Uniform": "random order",
    "Oracle": "the best order",
}
_TIES = {
    "docno": "equal scores by document id",
    "file": "equal scores as in the file",
    "expected": "equal scores in random order",
}
_UNKNOWN = {
    "uniform": "documents of unknown group count equally for every group",
    "drop": "documents of unknown group keep their rank and count for no group",
    "distinct": "documents of unknown group are a group of their own",
}
_TARGETS = {
    "Given": "as given in a file",
    "Uniform": "the same share for each group",
    "Pool": "the shares among all that could be ranked",
    "Relevant": "the shares among what is relevant",
}
#: Names that the first words of a docstring do not explain to who does not know the field.
_MEANINGS = {
    "nDCG": "normalised discounted cumulative gain",
    "RR": "reciprocal rank",
    "R": "recall",
    "P": "precision",
    "MeanExposure": "mean exposure of a group",
    "DeltaGF": "which of two groups is more of what people read",
    "DistrSim": "similarity to the target at one rank",
}
#: Of so many measures the kind is told as well.
_FEW = 3
_KINDS = {"relevance": "relevance", "gains": "relevance", "cascade": "relevance"}


def meanings(measures: Sequence[Any]) -> str:
    """What the names of measures stand for, each told once.

    Examples
    --------
    >>> from lightmeter import ERR, GF, RBP
    >>> meanings([ERR(), GF(by="a"), GF(by="b")])
    'ERR: expected reciprocal rank (relevance); GF: group fairness'
    """
    told = {type(m).__name__: _meaning(m) for m in measures}
    if len(told) > _FEW:
        told = {name: words.split(" (")[0] for name, words in told.items()}
    return "; ".join(f"{name}: {words}" for name, words in told.items())


def _meaning(measure: Any) -> str:
    from lightmeter.terms.catalogue import entry_of

    name = type(measure).__name__
    words = _MEANINGS.get(name)
    if words is None:
        first = re.split(r": |, |; | \(", entry_of(type(measure), "measure").summary)[0]
        words = first if first[:2].isupper() else first[:1].lower() + first[1:]
    kind = _KINDS.get(type(measure).__module__.rsplit(".", 1)[-1], "")
    return printable(words + (f" ({kind})" if kind and kind not in words else ""))


def policy_words(policy: str) -> str:
    """A policy's name with what it does.

    Examples
    --------
    >>> policy_words("RankTransposition")
    'RankTransposition: pairs of places swapped at random'
    """
    told = _POLICIES.get(policy.split("(")[0])
    return printable(f"{policy}: {told}" if told else policy)


def rules(given: Mapping[str, str], names: Iterable[str] = ALL) -> str:
    """Rules in force that can matter for a picture, in plain words and one sentence.

    Examples
    --------
    >>> rules({"policy": "Static(ties='docno')", "ties": "docno (score descending); 3 documents tied"})
    'equal scores by document id'
    >>> rules({"policy": "Samples(weight='sampling')", "ties": "docno (score descending); 0 documents tied"})
    'several rankings of a query count by their mean'
    """
    made = {"policy": _policy, "ties": _ties, "unknown": _unknown, "depth": _depth}
    return "; ".join(told for name in names if name in given and (told := made[name](given)))


def target_words(target: str) -> str:
    """Where a target comes from.

    Examples
    --------
    >>> target_words("Uniform"), target_words("Pool(depth=5)")
    ('the same share for each group', 'Pool(depth=5)')
    """
    return printable(_TARGETS.get(target, target))


def _policy(given: Mapping[str, str]) -> str:
    policy = given["policy"]
    name = policy.split("(")[0]
    if name == "Static" or " from " in policy:
        return ""
    if name == "Samples":
        return "several rankings of a query count by their mean"
    return policy_words(policy)


def _ties(given: Mapping[str, str]) -> str:
    told = given["ties"]
    return "" if re.search(r"\b0 documents tied", told) else _TIES.get(told.split(" ")[0], "")


def _unknown(given: Mapping[str, str]) -> str:
    shares = [text for name, text in given.items() if name.startswith("unknown ")]
    # shares of 0.0% are not to be seen
    if shares and not any(re.search(r"[1-9]", "".join(re.findall(r"(\d+\.\d)%", text))) for text in shares):
        return ""
    return _UNKNOWN.get(given["unknown"].split(" ")[0], "")


def _depth(given: Mapping[str, str]) -> str:
    ranks = re.match(r"first (\d+) ranks", given["depth"])
    return f"first {ranks[1]} of each ranking only" if ranks else printable(given["depth"])
