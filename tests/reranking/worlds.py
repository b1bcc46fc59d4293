"""Small collections for rerankers, and slow rerankers written down from the papers to compare with."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import lightmeter as lm

LABELS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class World:
    """Queries with their documents, best first; scores fall strictly."""

    run: dict[str, list[str]]
    score: dict[str, dict[str, float]]
    grade: dict[str, dict[str, int]]
    group: dict[str, str]

    def load(self) -> lm.Collection:
        rows = [(q, d, self.score[q][d], self.score[q][d] + 1) for q, docs in self.run.items() for d in docs]
        frame = pl.DataFrame(rows, schema=["query", "doc", "score", "worth"], orient="row")
        # a document that nobody ranks makes sure that every label is a value
        group = self.group | {f"nobody {v}": v for v in LABELS[: self.values]}
        return lm.load(run=frame, qrels=self.grade, groups={"g": group})

    def only(self, query: str) -> World:
        """One query, with the groups of all."""
        return World({query: self.run[query]}, {query: self.score[query]}, {query: self.grade[query]}, self.group)

    @property
    def values(self) -> int:
        return max([LABELS.index(v) for v in self.group.values()], default=0) + 1


@st.composite
def worlds(draw: Any, *, most: int = 7, values: int = 3, unknown: bool = True, least: int = 1) -> World:
    """One to three queries of up to ``most`` documents of their own."""
    run, score, grade, group = {}, {}, {}, {}
    for q in [f"q{i}" for i in range(draw(st.integers(1, 3)))]:
        n = draw(st.integers(least, most))
        docs = [f"{q}{'xyzuvwst'[i]}" for i in range(n)]
        fall = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
        run[q] = docs
        score[q] = dict(zip(docs, np.cumsum(fall[::-1])[::-1].astype(float).tolist(), strict=True))
        grade[q] = {d: draw(st.integers(0, 2)) for d in docs}
        labels = [*LABELS[:values], *([None] if unknown else [])]
        group |= {d: v for d in docs if (v := draw(st.sampled_from(labels))) is not None}
    return World(run, score, grade, group)


def rankings(made: lm.Reranking) -> dict[str, list[list[str]]]:
    """The rankings made, by query."""
    keys = ["query", *(["sample"] if "sample" in made.run.columns else [])]
    out: dict[str, list[list[str]]] = {}
    for key, part in made.run.group_by(keys, maintain_order=True):
        assert part["rank"].to_list() == list(range(1, len(part) + 1))
        out.setdefault(str(key[0]), []).append(part["doc"].to_list())
    return out


def weights(made: lm.Reranking) -> dict[str, list[float]]:
    """Their probabilities, by query."""
    first = made.run.filter(pl.col("rank") == 1)
    return {str(q[0]): p["weight"].to_list() for q, p in first.group_by("query", maintain_order=True)}


def exposure_of(made: lm.Reranking, query: str, docs: list[str], view: np.ndarray) -> np.ndarray:
    """Expected view of each document."""
    out = np.zeros(len(docs))
    for ranking, weight in zip(rankings(made)[query], weights(made)[query], strict=True):
        for rank, doc in enumerate(ranking):
            out[docs.index(doc)] += weight * view[rank]
    return out


def vertices(view: np.ndarray) -> np.ndarray:
    """The exposure of every ranking of as many documents."""
    return np.array(list(itertools.permutations(view.tolist())))


def floor_of(share: float, k: int) -> int:
    return math.floor(share * k + 1e-9)


def greedy(docs: list[str], group: dict[str, str], share: dict[str, float], depth: int, kind: str) -> list[str]:
    """DetGreedy, DetCons and DetRelaxed as printed, over lists; those of unknown group may stand anywhere."""
    left = list(docs)
    out: list[str] = []
    for k in range(1, min(depth, len(docs)) + 1):
        count = {v: sum(group.get(d) == v for d in out) for v in share}
        least = {v for v in share if count[v] < floor_of(share[v], k)}
        most = {v for v in share if count[v] < math.ceil(share[v] * k - 1e-9)}

        def some(of: set[Any], left: list[str] = left) -> list[str]:
            return [d for d in left if group.get(d) in of]

        candidates = some(least)
        if not candidates:
            due = {v: math.ceil(share[v] * k - 1e-9) / share[v] for v in most if share[v] > 0 and some({v})}
            if kind == "DetRelaxed":
                due = {v: math.ceil(d - 1e-9) for v, d in due.items()}
            if kind == "DetGreedy" or not due:
                candidates = some(most | {None})
            else:
                soonest = min(due.values())
                candidates = some({v for v, d in due.items() if d <= soonest * (1 + 1e-12)})
        out.append((candidates or left)[0])
        left.remove(out[-1])
    return out + left


def const_sort(docs: list[str], group: dict[str, str], share: dict[str, float], depth: int) -> list[str]:
    """DetConstSort as printed, by swaps of neighbours; everyone has a known group."""
    lists = {v: [d for d in docs if group.get(d) == v] for v in share}
    ranked: list[tuple[str, int]] = []
    before = dict.fromkeys(share, 0)
    k = 0
    while len(ranked) < min(depth, len(docs)) and k < min(depth, len(docs)) + len(share):
        k += 1
        now = {v: floor_of(share[v], k) for v in share}
        due = [v for v in share if now[v] > before[v] and lists[v]]
        for v in sorted(due, key=lambda v: docs.index(lists[v][0])):
            ranked.append((lists[v].pop(0), k))
            at = len(ranked) - 1
            while at and ranked[at - 1][1] >= at + 1 and docs.index(ranked[at - 1][0]) > docs.index(ranked[at][0]):
                ranked[at - 1], ranked[at] = ranked[at], ranked[at - 1]
                at -= 1
        before = now
    chosen = [d for d, _ in ranked][:depth]
    return chosen + [d for d in docs if d not in chosen]
