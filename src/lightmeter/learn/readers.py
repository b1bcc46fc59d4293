"""Users for whom the exact exposure of a Plackett-Luce policy has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.errors import TermError
from lightmeter.models.users import User, user_of


def reader(given: Any) -> User:
    """A user whose exposure has a gradient."""
    user = user_of(given)
    if not user.has_continuation:
        raise TermError(f"the exposure for {user} has no gradient here. Accepted: RBP, Cascade or ERR(max_grade=..).")
    if getattr(user, "cutoff", None) is not None:
        raise TermError(f"{user} has a cutoff, with which there is no gradient here. Accepted: no cutoff.")
    user.continuation(np.zeros(1))  # ERR without its highest grade says so
    return user
