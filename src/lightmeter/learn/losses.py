"""Losses of expected exposure for padded batches: disparity against relevance, for documents and for groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lightmeter.errors import LightmeterError, choice
from lightmeter.exposure.ties import oracle_exposure
from lightmeter.learn.exposures import gumbel_exposure_of, luce_exposure_of
from lightmeter.learn.settings import differentiable_user


@dataclass(frozen=True)
class Batch:
    """Queries padded to one length, all arrays ``[queries, documents]``.

    Attributes
    ----------
    scores
        Scores that gradients flow to; 0 where there is no document.
    grades
        Grades, 0 or more; 0 where there is no document.
    mask
        Where there is a document.
    """

    scores: Tensor
    grades: Tensor
    mask: Tensor

    @classmethod
    def of(cls, scores: Tensor, grades: Tensor, mask: Tensor | None = None) -> Batch:
        """Check shapes and numbers; one query ``[documents]`` becomes a batch of one.

        Raises
        ------
        LightmeterError
            Where shapes differ, or a score or grade of a document is not finite.
        """
        if scores.ndim not in (1, 2) or not scores.is_floating_point():
            raise LightmeterError(
                f"the scores have the shape {tuple(scores.shape)} and type {scores.dtype}. "
                "Accepted: floats, [documents] or [queries, documents]."
            )
        grades = torch.as_tensor(grades).to(scores)
        there = ~torch.isnan(grades) if mask is None else torch.as_tensor(mask).to(torch.bool)
        if grades.shape != scores.shape or there.shape != scores.shape:
            raise LightmeterError(
                f"scores have the shape {tuple(scores.shape)}, grades {tuple(grades.shape)} and the mask "
                f"{tuple(there.shape)}. Accepted: one shape."
            )
        scores, grades, there = (v[None] if v.ndim == 1 else v for v in (scores, grades, there))
        scores = torch.where(there, scores, torch.zeros_like(scores))
        grades = torch.where(there, grades, torch.zeros_like(grades))
        for name, value in (("score", scores), ("grade", grades)):
            bad = ~torch.isfinite(value.detach())
            if bad.any():
                query, doc = (int(v) for v in bad.nonzero()[0])
                raise LightmeterError(
                    f"the {name} of document {doc} of query {query} is {float(value[query, doc])}. Accepted: finite "
                    "numbers. Scores that are not finite come from a learning rate that is too high, or from features "
                    "that are not finite."
                )
        return cls(scores, grades.clamp(min=0.0), there)

    @property
    def has_relevant(self) -> Tensor:
        """Queries with a document of a grade above 0, ``[queries]``."""
        return (self.grades > 0).any(dim=1)

    def reduce(self, value: Tensor, counted: Tensor, reduction: str) -> Tensor:
        """The mean over queries that count, or each query's value with NaN for those that do not.

        Where no query counts the mean is 0, and so is its gradient.
        """
        if reduction == "none":
            return torch.where(counted, value, torch.full_like(value, torch.nan))
        if reduction != "mean":
            raise LightmeterError(f"reduction is {reduction!r}. Accepted: 'mean' or 'none'.")
        return torch.where(counted, value, torch.zeros_like(value)).sum() / counted.sum().clamp(min=1)


ESTIMATORS = ("exact", "gumbel")


@dataclass(frozen=True)
class ExposureLoss:
    """``lam D - (1 - lam) R``: disparity D against relevance R of the Plackett-Luce policy of the scores.

    ``R = sum_d eps_d eps*_d`` (EER) with the target exposure eps* of the grades, and D is ``sum_d eps_d^2`` (EED), or
    with ``parity`` ``sum_a xi_a^2``, ``xi_a = sum_{d in a} eps_d`` over all documents of group a. ``lam = 1/3``
    without parity is EEL up to a constant and a factor, ``EEL/3``.

    A query counts where it has a document of a grade above 0: others have no target. Where no query of a batch counts,
    loss and gradient are 0. A query with one document has a gradient of 0.

    Parameters
    ----------
    lam
        Weight of disparity, in [0, 1].
    user
        ``RBP``, ``Cascade`` or ``ERR`` (with its highest grade), a term or its notation.
    parity
        Whether disparity is between groups (demographic parity).
    estimator
        ``'exact'``, or ``'gumbel'``: ``samples`` sampled rankings and smooth ranks of temperature ``tau``.
    complete
        Whether grade 0 has a target too, as for candidates that are everything there is.
    binary
        Grades from this on count as 1 and others as 0; None: grades as they are.
    samples, tau
        Of the estimator ``'gumbel'``.

    Notes
    -----
    Source: Diaz et al., CIKM 2020, equations 6 and 9.

    Examples
    --------
    Two documents, one relevant, equal scores: each has the exposure .75, so EED is 1.125 and EER .75.

    >>> loss = ExposureLoss(lam=0.5, user="RBP(p=0.5)")
    >>> round(float(loss(torch.zeros(2), torch.tensor([1.0, 0.0]))), 6)
    0.1875
    """

    lam: float = 0.5
    user: Any = "RBP(p=0.5)"
    parity: bool = False
    estimator: str = "exact"
    complete: bool = False
    binary: float | None = None
    samples: int = 20
    tau: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.lam <= 1:
            raise LightmeterError(f"lam is {self.lam}. Accepted: the weight of disparity, from 0 to 1.")
        choice("estimator", self.estimator, ESTIMATORS)
        if self.binary is not None and not self.binary > 0:
            raise LightmeterError(f"binary is {self.binary}. Accepted: the lowest relevant grade, above 0.")
        if self.samples < 1 or not self.tau > 0:
            raise LightmeterError(f"samples is {self.samples} and tau {self.tau}. Accepted: at least 1, and above 0.")
        object.__setattr__(self, "user", differentiable_user(self.user))

    def __call__(
        self,
        scores: Tensor,
        grades: Tensor,
        mask: Tensor | None = None,
        groups: Tensor | None = None,
        *,
        target: Tensor | None = None,
        generator: torch.Generator | None = None,
        reduction: str = "mean",
    ) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        scores, grades
            ``[documents]`` or ``[queries, documents]``.
        mask
            Where there is a document; by default where the grade is not NaN.
        groups
            Codes of groups from 0, of the same shape, -1 for none; or memberships ``[.., documents, groups]``.
        target
            Target exposure, where it is known already (:meth:`target`).
        generator
            Where the noise of ``'gumbel'`` comes from.
        reduction
            ``'mean'`` over the queries that count, or ``'none'``: each query's, NaN for those that do not.
        """
        batch = Batch.of(scores, grades, mask)
        seen = self._grades(batch.grades)
        goal = self.target(batch.grades, batch.mask) if target is None else target.reshape(seen.shape).to(seen)
        go_on = self.user.continuation(seen.detach().cpu().numpy().astype(np.float64))
        if self.estimator == "exact":
            eps = luce_exposure_of(batch.scores, go_on, batch.mask)
        else:
            eps = gumbel_exposure_of(
                batch.scores, go_on, batch.mask, samples=self.samples, tau=self.tau, generator=generator
            )
        disparity = self.between(eps, groups).square().sum(dim=1) if self.parity else eps.square().sum(dim=1)
        value = self.lam * disparity - (1.0 - self.lam) * (eps * goal).sum(dim=1)
        return batch.reduce(value, (seen > 0).any(dim=1), reduction)

    def target(self, grades: Tensor, mask: Tensor | None = None) -> Tensor:
        """Target exposure of the documents by their grades: that of rankings by falling grade, equals in any order."""
        there = ~torch.isnan(grades) if mask is None else mask
        seen = self._grades(grades).detach().cpu().numpy().astype(np.float64)
        rows = np.atleast_2d(np.where(there.cpu().numpy(), np.maximum(seen, 0.0), np.nan))
        goal = oracle_exposure(rows, self.user)
        if not self.complete:
            goal = np.where(rows > 0, goal, 0.0)
        return torch.from_numpy(goal.reshape(tuple(grades.shape))).to(grades)

    def _grades(self, grades: Tensor) -> Tensor:
        return grades if self.binary is None else (grades >= self.binary).to(grades)

    @staticmethod
    def between(exposure: Tensor, groups: Tensor | None) -> Tensor:
        """Exposure of groups, ``[queries, groups]``."""
        if groups is None:
            raise LightmeterError(
                "parity between groups needs the groups of the documents, and groups= is not given. "
                "Accepted: codes from 0 (-1: no group), or memberships [.., documents, groups]."
            )
        if groups.is_floating_point():
            member = groups.to(exposure)
            member = member[None] if member.ndim == 2 else member
            if member.shape[:-1] != exposure.shape:
                raise LightmeterError(
                    f"the memberships have the shape {tuple(groups.shape)} for exposures {tuple(exposure.shape)}. "
                    "Accepted: one more axis, the groups."
                )
            return torch.einsum("qd,qdg->qg", exposure, member)
        code = groups[None] if groups.ndim == 1 else groups
        if code.shape != exposure.shape:
            raise LightmeterError(
                f"the groups have the shape {tuple(groups.shape)} for exposures {tuple(exposure.shape)}. "
                "Accepted: one code per document."
            )
        code = code.to(torch.int64) + 1  # the first column is for documents without a group
        out = exposure.new_zeros((len(exposure), int(code.max()) + 1 if code.numel() else 1))
        return out.scatter_add(1, code.clamp(min=0), exposure)[:, 1:]
