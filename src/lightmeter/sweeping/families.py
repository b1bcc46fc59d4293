"""Families of policies with one parameter, from uniformly random to the ranking as given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from lightmeter.arrays import Floats, Integers
from lightmeter.errors import LightmeterError, TermError, suggest
from lightmeter.exposure.policy import is_exact, log_weights, policy_exposure
from lightmeter.exposure.transposition import staying
from lightmeter.models.policies import PlackettLuce, Policy, RankTransposition
from lightmeter.models.targets import Uniform
from lightmeter.models.users import User


@dataclass(frozen=True)
class Family:
    """A family of policies, with coordinates t between 0 (uniform) and 1 (static) that spread its parameter out.

    Attributes
    ----------
    name
        The family in the notation of policies, without its parameter.
    """

    name: str
    ends: ClassVar[tuple[float, float]]  # the parameter of the uniform policy and of the ranking as given
    start: ClassVar[tuple[float, ...]] = (0.0, 0.25, 0.5, 0.75, 1.0)  # coordinates to begin with
    last: ClassVar[float] = 1.0  # from this coordinate to 1 there is nothing between

    def parameters(self, t: Floats) -> Floats:
        """The parameter at coordinates, the ends included."""
        inside = self.parameter(np.clip(t, 1e-300, self.last))
        return np.where(t == 0.0, self.ends[0], np.where(t == 1.0, self.ends[1], inside))

    def parameter(self, t: Floats) -> Floats:
        """The parameter at coordinates inside (0, 1)."""
        raise NotImplementedError

    def policy(self, parameter: float) -> Policy:
        """The policy at a parameter inside the ends."""
        raise NotImplementedError

    def exposure(self, parameter: float, score: Floats, grade: Floats, user: User, cutoff: int | None) -> Floats:
        """Exact expected exposure ``[queries, n]`` by position in the ranking; the family's ends included."""
        there = ~np.isnan(score)
        if parameter == self.ends[0]:
            return policy_exposure(Uniform(), score, grade, user, cutoff)
        if parameter == self.ends[1]:
            seen = np.zeros(score.shape)
            seen[:, :cutoff] = user.view(np.where(there, grade, 0.0))[..., :cutoff]
            return np.where(there, seen, 0.0)
        return policy_exposure(self.policy(parameter), score, grade, user, cutoff)

    def exact(self, user: User) -> bool:
        """Whether exposure needs no sampled rankings."""
        return is_exact(self.policy(self.parameter(np.array([0.5]))[0]), user)

    def fitted(self, score: Floats) -> Family:
        """The family with coordinates that suit the lists."""
        return self


@dataclass(frozen=True)
class LuceFamily(Family):
    """Plackett-Luce, alpha from 0 to infinity.

    Attributes
    ----------
    term
        Says how scores are scaled.
    scale
        Spread of the log-weights at alpha = 1.
    """

    term: PlackettLuce = field(default_factory=PlackettLuce)
    scale: float = 1.0
    ends = (0.0, np.inf)
    last = 0.99
    start = (0.0, *(0.01 + 0.07 * (d + 2.0) for d in (-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6, 9)), 0.99, 1.0)

    def parameter(self, t: Floats) -> Floats:
        # evenly up to all but uniform, alpha x scale = 1e-2, then by decades up to all but sure, 1e12
        ramp, decade = np.minimum(t / 0.01, 1.0), np.maximum(t - 0.01, 0.0) / 0.07 - 2.0
        return ramp * 10.0**decade / self.scale

    def policy(self, parameter: float) -> Policy:
        return self.term(alpha=float(parameter))

    def fitted(self, score: Floats) -> Family:
        if self.term.scores == "zscore":
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            y = log_weights(self.term(alpha=1.0), score)
            some = y[(~np.isnan(y)).any(axis=1)]
            scale = float(np.nanmedian(np.nanstd(some, axis=1))) if len(some) else 1.0
        top = float(np.nanmax(np.abs(y), initial=0.0))
        if not np.isfinite(scale) or scale <= 1e-300:
            scale = top if 1e-300 < top < np.inf else 1.0
        if top / scale > 1e280:
            raise LightmeterError(
                "scores reach so far that exp(alpha * score) has no scale. Accepted: PlackettLuce with "
                "scores='zscore' or 'minmax'."
            )
        return LuceFamily(self.name, self.term, scale)


@dataclass(frozen=True)
class TranspositionFamily(Family):
    """Rank transposition, theta from 0 to 1; t is the weight L of the ranking as given in lists of like length.

    Attributes
    ----------
    length
        Documents in a list.
    """

    length: int = 100
    ends = (0.0, 1.0)

    def parameter(self, t: Floats) -> Floats:
        lam = 1.0 - 2.0 / max(self.length - 1.0, 1.0)
        return t * (1.0 - lam) / (1.0 - t * lam)

    def policy(self, parameter: float) -> Policy:
        return RankTransposition(theta=float(parameter))

    def fitted(self, score: Floats) -> Family:
        lengths = (~np.isnan(score)).sum(axis=1)
        return TranspositionFamily(self.name, max(int(np.median(lengths)) if len(lengths) else 2, 2))

    def weight(self, parameter: float, lengths: Integers) -> Floats:
        """L of lists of some lengths."""
        return staying(lengths, parameter)


def families_of(given: Any) -> list[Family]:
    """The families of policies: names, classes or terms, one or several.

    Raises
    ------
    LightmeterError
        For a policy that has no parameter to sweep, or a value of the one that is swept.
    """
    several = given if isinstance(given, Iterable) and not isinstance(given, str | type | Policy) else [given]
    out = list(dict.fromkeys(_family(one) for one in several))
    if not out:
        raise LightmeterError("no policy is given. Name at least one, such as PlackettLuce.")
    return out


_SWEPT = ("PlackettLuce", "RankTransposition")


def _family(given: Any) -> Family:
    if isinstance(given, type) and issubclass(given, Policy):
        given = given.__name__
    if isinstance(given, str):
        if given.strip() in ("RankTransposition", "RankTransposition()"):
            return TranspositionFamily("RankTransposition")
        from lightmeter.terms.notation import parse

        name = given.partition("(")[0].strip()
        if name not in _SWEPT and name.isidentifier():
            from lightmeter.terms.registry import registered

            if name not in registered("policy"):
                raise TermError(f"there is no policy {name!r}.{suggest(name, _SWEPT)} Accepted: {' or '.join(_SWEPT)}.")
        given = parse(given, kind="policy")
    if isinstance(given, PlackettLuce):
        if given.alpha != 1.0:
            raise LightmeterError(
                f"{given}: a sweep goes through all values of alpha. Leave it out: PlackettLuce, or "
                "PlackettLuce(scores='raw')."
            )
        name = "PlackettLuce" + (f"(scores={given.scores!r})" if given.scores != "zscore" else "")
        return LuceFamily(name, given)
    if isinstance(given, RankTransposition):
        raise LightmeterError(f"{given}: a sweep goes through all values of theta. Write RankTransposition.")
    raise LightmeterError(
        f"the policy {given} has no parameter that leads from uniform to static. Accepted: {' or '.join(_SWEPT)}."
    )
