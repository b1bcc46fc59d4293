"""User models in words: how far down a ranking people look."""

from __future__ import annotations

from collections.abc import Sequence

from lightmeter.output.plain import printable
from lightmeter.users import User


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


def _words(user: User) -> str:
    name = type(user).__name__
    if name == "RBP":
        return f"RBP: {100 * user.p:.4g}% go on at each rank"  # type: ignore[attr-defined]
    if name == "DCG":
        flat = ", flat at the top" if user.clip else ""  # type: ignore[attr-defined]
        return f"DCG: logarithmic discount{flat}"
    if name == "TopK":
        return f"TopK: the first {user.k} ranks only"  # type: ignore[attr-defined]
    return {"Inverse": "Inverse: one over the rank", "Attention": "Attention: weights as given"}.get(name, str(user))
