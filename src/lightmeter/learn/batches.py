"""What losses are given: scores and grades of padded batches of queries, checked once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lightmeter.errors import LightmeterError


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
