"""What measures, policies and rules are, in words for readers who do not know the notation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lightmeter.models.users import User
from lightmeter.results.text import printable
from lightmeter.terms.notation import parse

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


def user_words(users: Sequence[User]) -> dict[User, str]:
    """What each user does, in words that differ from user to user.

    Examples
    --------
    >>> from lightmeter import DCG, RBP, TopK
    >>> list(user_words([RBP(p=0.8), DCG(), TopK(k=3)]).values())
    ['RBP: 80% go on at each rank', 'DCG: logarithmic discount', 'TopK: the first 3 ranks only']
    """
    words = {user: printable(_user_words(user)) for user in users}
    told = list(words.values())
    # two that differ in a detail that the words leave out are told by their notation
    return {user: text if told.count(text) == 1 else printable(str(user)) for user, text in words.items()}


def attention_words(term: str) -> str:
    """How much attention each rank gets from a user in notation, as a formula where there is one.

    Examples
    --------
    >>> attention_words("DCG(clip=False)"), attention_words("RBP(p=0.9)"), attention_words("TopK(k=3)")
    ('1/log2(rank + 1)', '0.9^(rank - 1)', '1 at the first 3 ranks, then 0')
    >>> attention_words("ERR")
    'ERR'
    """
    user = parse(term, kind="user")
    name = type(user).__name__
    if name == "DCG" and not user.clip:
        return "1/log2(rank + 1)"
    if name == "RBP":
        return f"{user.p:g}^(rank - 1)"
    if name == "TopK":
        return f"1 at {_first(user.k)}, then 0"
    return "1/rank" if name == "Inverse" else printable(term)


def exposure_words(given: Mapping[str, str]) -> str:
    """How an audit counts exposure, in words.

    Examples
    --------
    >>> exposure_words({"exposure": "mean over all; DCG(clip=False), 0 below the cutoff; beside it Inverse"})
    'exposure: mean over all; attention of a rank: 1/log2(rank + 1), 0 below the cutoff'
    """
    if "exposure" not in given:
        return ""
    how, _, rest = given["exposure"].split("; beside")[0].partition("; ")
    term, comma, end = rest.rpartition(", ")
    return f"exposure: {how}; attention of a rank: {attention_words(term)}{comma}{end}" if term else f"exposure: {how}"


def _first(ranks: int) -> str:
    return "the first rank" if ranks == 1 else f"the first {ranks} ranks"


def _user_words(user: User) -> str:
    name = type(user).__name__
    if name == "RBP":
        return f"RBP: {100 * user.p:.4g}% go on at each rank"  # type: ignore[attr-defined]
    if name == "DCG":
        flat = ", flat at the top" if user.clip else ""  # type: ignore[attr-defined]
        return f"DCG: logarithmic discount{flat}"
    if name == "TopK":
        return f"TopK: {_first(user.k)} only"  # type: ignore[attr-defined]
    return {"Inverse": "Inverse: one over the rank", "Attention": "Attention: weights as given"}.get(name, str(user))
