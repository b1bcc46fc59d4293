"""Policies from exposures: points of the frontier, mixtures of rankings, and their way through files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lightmeter as lm
from lightmeter.cli import main
from lightmeter.exposure.frontier import frontier_points
from lightmeter.models.users import user_of

USERS: list[Any] = [lm.RBP(p=0.8), lm.DCG(), lm.TopK(k=3), lm.Inverse(), lm.Attention(weights=[0.2, 1.0, 0.0, 0.4])]


def collection(queries: int = 3, n: int = 30, seed: int = 0) -> lm.Collection:
    rng = np.random.default_rng(seed)
    run = {f"q{q}": {f"d{i:03}": float(s) for i, s in enumerate(rng.normal(size=n + q))} for q in range(queries)}
    qrels = {
        q: {d: int(rng.integers(0, 3)) for d in docs if rng.random() < 0.6} | {"unranked": 1} for q, docs in run.items()
    }
    return lm.load(run=run, qrels=qrels)


def exposure_of(rankings: pl.DataFrame, user: Any, cutoff: int | None = None) -> dict[tuple[str, str], float]:
    """Expected view of every document of a mixture."""
    view = user_of(user).view_at(rankings["rank"].to_numpy().astype(float))
    if cutoff is not None:
        view = np.where(rankings["rank"].to_numpy() <= cutoff, view, 0.0)
    seen = rankings.with_columns(x=pl.Series(view) * pl.col("weight"))
    return {(q, d): x for q, d, x in seen.group_by("query", "doc").agg(pl.col("x").sum()).iter_rows()}


@pytest.mark.parametrize("user", USERS, ids=str)
@pytest.mark.parametrize("cutoff", [None, 5])
@pytest.mark.parametrize("scale", [0.0, 0.7, 1.0, 30.0, np.inf])
def test_the_mixture_has_the_exposure(user: Any, cutoff: int | None, scale: float) -> None:
    c = collection()
    wanted = lm.frontier_exposure(c, user, scale, cutoff=cutoff)
    made = lm.decompose(wanted, user, cutoff)
    found = exposure_of(made, user, cutoff)
    assert len(found) == len(wanted)
    for q, d, x in wanted.select("query", "doc", "exposure").iter_rows():
        assert found[q, d] == pytest.approx(x, abs=1e-10)
    for (_, n), one in zip([("q0", 30), ("q1", 31), ("q2", 32)], made.partition_by("query"), strict=True):
        weights = one.unique("sample")["weight"]
        assert len(weights) <= n  # Caratheodory
        assert weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert weights.min() > 1e-14  # none of rounding's making
        assert all(sorted(r) == list(range(1, n + 1)) for r in one.group_by("sample").agg("rank")["rank"].to_list())


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 10**6), st.floats(0.0, 0.99))
def test_any_achievable_exposure(n: int, seed: int, p: float) -> None:
    """Mixtures of random rankings, whose exposure is taken apart and put together again."""
    rng = np.random.default_rng(seed)
    views = p ** np.arange(n)
    mixture = sum(w * views[rng.permutation(n)] for w in rng.dirichlet(np.ones(4)))
    made = lm.decompose({"q": {f"d{i}": float(x) for i, x in enumerate(mixture)}}, lm.RBP(p=p))
    found = exposure_of(made, lm.RBP(p=p))
    assert [found["q", f"d{i}"] for i in range(n)] == pytest.approx(mixture.tolist(), abs=1e-9)
    assert made["sample"].n_unique() <= n


def test_ends_of_the_frontier() -> None:
    """0 is the uniform policy, infinity the oracle, 1 the least loss: no policy in between has less."""
    c, user = collection(), lm.DCG()

    def values(policy: Any) -> list[list[float]]:
        return [
            x.values.value.tolist() for x in lm.evaluate(c, [lm.EED(user=user), lm.EER(user=user)], policy=policy).cells
        ]

    for scale, policy in ((0.0, lm.Uniform()), (np.inf, lm.Oracle())):
        wanted = lm.frontier_exposure(c, user, scale)
        squares = [float((x["exposure"] ** 2).sum()) for x in wanted.partition_by("query")]
        assert squares == pytest.approx(values(policy)[0], rel=1e-9)

    def loss(scale: float) -> np.ndarray:
        made = lm.decompose(lm.frontier_exposure(c, user, scale), user)
        back = lm.load(run=made, qrels=_judgments(c))
        return lm.evaluate(back, [lm.EEL(user=user)], policy=lm.Samples(weight="probability")).cells[0].values.value

    least = loss(1.0)
    assert all((loss(s) >= least - 1e-12).all() for s in (0.0, 0.9, 1.1, np.inf))


def _judgments(c: lm.Collection) -> dict[str, dict[str, float]]:
    judged = c.judgments
    assert judged is not None
    out: dict[str, dict[str, float]] = {}
    for q, d, g in zip(judged.query, judged.doc, judged.grade, strict=True):
        out.setdefault(c.queries[q], {})[d] = float(g)
    return out


@pytest.mark.parametrize("name", ["policy.csv", "policy.tsv.gz", "policy.jsonl.zst", "policy.parquet"])
def test_through_files_and_the_command_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """EED, EER and EEL of the file are those of the frontier's point, within 1e-9."""
    c, user, scale = collection(n=60), lm.RBP(p=0.9), 0.8
    path, qrels = tmp_path / name, tmp_path / "qrels.txt"
    lm.write_run(lm.decompose(lm.frontier_exposure(c, user, scale), user), path)
    qrels.write_text("".join(f"{q} 0 {d} {g:g}\n" for q, docs in _judgments(c).items() for d, g in docs.items()))
    measures = [x for m in ("EED", "EER", "EEL") for x in ("-m", f"{m}(user=RBP(p=0.9))")]
    how = ["--policy", "Samples(weight='probability')", "--per-query", "-f", "jsonl"]
    assert main(["evaluate", str(path), "--qrels", str(qrels), *measures, *how]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    wanted = lm.frontier_exposure(c, user, scale)
    judged = _judgments(c)
    for query, one in zip(("q0", "q1", "q2"), wanted.partition_by("query"), strict=True):
        grades = [max(judged[query].get(d, 0.0), 0.0) for d in one["doc"]]
        goal = _ideal(list(judged[query].values()), 0.9)
        target = np.array([goal.get(g, 0.0) for g in grades])
        eed, eer = (float(v[0, 0]) for v in frontier_points(target, 0.9 ** np.arange(len(one)), [scale]))
        norm = sum(x * x for g in judged[query].values() for x in [goal.get(g, 0.0)])
        found = {r["measure"][:3]: r for r in rows if r["query"] == query}
        assert found["EED"]["value"] == pytest.approx(eed, abs=1e-9)
        assert found["EER"]["value"] == pytest.approx(eer, abs=1e-9)
        assert found["EEL"]["value"] == pytest.approx(eed - 2 * eer + norm, abs=1e-9)
        assert found["EED"]["se"] in (None, 0.0)


def _ideal(grades: list[float], p: float) -> dict[float, float]:
    """Target by grade above 0: the mean view of the grade's places."""
    ranked = sorted((g for g in grades if g > 0), reverse=True)
    return {g: float(np.mean([p**k for k, x in enumerate(ranked) if x == g])) for g in set(ranked)}


def test_thin_rankings_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left still sums to 1."""
    wanted = lm.frontier_exposure(collection(1), lm.DCG(), 0.7)
    whole = lm.decompose(wanted, lm.DCG()).unique("sample")["weight"]
    monkeypatch.setattr("lightmeter.exposure.expohedron.THIN", float(whole.median()))  # type: ignore[arg-type]
    left = lm.decompose(wanted, lm.DCG()).unique("sample")["weight"]
    assert 0 < len(left) < len(whole)
    assert left.sum() == pytest.approx(1.0, abs=1e-12)


def test_long_lists() -> None:
    """A thousand documents: at most a thousand rankings, the same exposure."""
    rng = np.random.default_rng(1)
    c = lm.load(
        run={"q": {f"d{i}": float(s) for i, s in enumerate(rng.normal(size=1000))}},
        qrels={"q": {f"d{i}": int(rng.integers(0, 4)) for i in range(0, 1000, 3)}},
    )
    wanted = lm.frontier_exposure(c, lm.DCG(), 0.5)
    made = lm.decompose(wanted, lm.DCG())
    found = exposure_of(made, lm.DCG())
    assert max(abs(found["q", d] - x) for d, x in wanted.select("doc", "exposure").iter_rows()) < 1e-10
    assert made["sample"].n_unique() <= 1000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lm.decompose({"q": {"a": 1.0, "b": 1.0}}, lm.RBP(p=0.5)), "query 'q': no policy has this exposure"),
        (lambda: lm.decompose({"q": {"a": 1.0}}, lm.Cascade(p=0.5, u=0.5)), "know the rank only"),
        (lambda: lm.decompose({"q": {"a": -1.0}}, lm.RBP(p=0.5)), "exposure"),
        (lambda: lm.decompose({}, lm.RBP(p=0.5)), "no rows"),
        (lambda: lm.decompose(pl.DataFrame({"query": ["q"], "doc": ["a"]}), "DCG"), "no column exposure"),
        (lambda: lm.frontier_exposure(collection(), "ERR(max_grade=2)", 1.0), "know the rank only"),
        (lambda: lm.frontier_exposure(collection(), "DCG", -1.0), "scale is -1"),
        (lambda: lm.frontier_exposure(collection(), "DCG", float("nan")), "scale is nan"),
        (lambda: lm.frontier_exposure(collection(), "DCG", 1.0, target=lm.Equal()), "target Ideal"),
        (lambda: lm.frontier_exposure(lm.load(run={"q": ["a"]}), "DCG", 1.0), "needs judgments"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(lm.LightmeterError, match=message):
        call()
