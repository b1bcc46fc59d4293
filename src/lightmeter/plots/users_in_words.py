"""User models in words: how far down a ranking people look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lightmeter.models.users import User
from lightmeter.results.text import printable
from lightmeter.terms.notation import parse


def user_words(users: Sequence[User]) -> dict[User, str]:
    """What each user does, in words that differ from user to user.

    Examples
    --------
    >>> from lightmeter import DCG, RBP, TopK
    >>> list(user_words([RBP(p=0.8), DCG(), TopK(k=3)]).values())
    ['RBP: 80% go on at each rank', 'DCG: logarithmic discount', 'TopK: the first 3 ranks only']
    """
    words = {user: printable(_words(user)) for user in users}
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


def _words(user: User) -> str:
    name = type(user).__name__
    if name == "RBP":
        return f"RBP: {100 * user.p:.4g}% go on at each rank"  # type: ignore[attr-defined]
    if name == "DCG":
        flat = ", flat at the top" if user.clip else ""  # type: ignore[attr-defined]
        return f"DCG: logarithmic discount{flat}"
    if name == "TopK":
        return f"TopK: {_first(user.k)} only"  # type: ignore[attr-defined]
    return {"Inverse": "Inverse: one over the rank", "Attention": "Attention: weights as given"}.get(name, str(user))
