"""The functions in scikit-learn's scorers and in fairlearn's MetricFrame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lightmeter as lm
from lightmeter import metrics

sklearn = pytest.importorskip("sklearn")
N = 120


@pytest.fixture(scope="module")
def people() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 3))
    sex = rng.choice(["f", "m"], N)
    y = (x[:, 0] + 0.5 * (sex == "m") + rng.normal(size=N) > 0).astype(int)
    return {
        "x": np.column_stack([x, sex == "m"]),
        "y": y,
        "sex": sex,
        "region": rng.choice(["north", "south"], N),
        "weight": rng.integers(1, 4, N).astype(float),
        "score": rng.permutation(N) / N,
    }


def test_ndcg_is_scikit_learns(people: dict[str, Any]) -> None:
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(0)
    for _ in range(5):
        gain, score = rng.integers(0, 4, 30), rng.integers(0, 9, 30)  # many ties
        for k in (None, 1, 7):
            wanted = ndcg_score(gain[None], score[None], k=k)
            assert metrics.ndcg(gain, score, k=k) == pytest.approx(wanted)
            queries = np.zeros(30, dtype=int)
            assert metrics.ndcg(gain, score, k=k, queries=queries) == pytest.approx(wanted)


def test_a_scorer_gets_groups_and_weights_by_routing(people: dict[str, Any]) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import KFold, cross_validate

    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(metrics.exposure_ratio, response_method="decision_function", group="f", reference="m")
        scorer = scorer.set_score_request(groups=True, sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=True)
        folds = KFold(3)
        result = cross_validate(
            model,
            people["x"],
            people["y"],
            scoring={"ratio": scorer},
            cv=folds,
            params={"groups": people["sex"], "sample_weight": people["weight"]},
            error_score="raise",
        )
    for value, (train, test) in zip(result["test_ratio"], folds.split(people["x"]), strict=True):
        fitted = LogisticRegression().fit(people["x"][train], people["y"][train], people["weight"][train])
        score = fitted.decision_function(people["x"][test])
        order = np.argsort(-score)
        view = np.empty(len(test))
        view[order] = 1 / np.log2(np.arange(len(test)) + 2)
        sex, w = people["sex"][test], people["weight"][test]
        means = [np.average(view[sex == a], weights=w[sex == a]) for a in ("f", "m")]
        assert value == pytest.approx(means[0] / means[1])


def test_a_scorer_called_by_hand_and_in_a_search(people: dict[str, Any]) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GridSearchCV

    model = LogisticRegression().fit(people["x"], people["y"])
    gap = make_scorer(metrics.exposure_gap, response_method="predict_proba", greater_is_better=False)
    rate = make_scorer(metrics.selection_rate_ratio, response_method="decision_function", k=20)
    with sklearn.config_context(enable_metadata_routing=True):
        got = gap.set_score_request(groups=True)(model, people["x"], people["y"], groups=people["sex"])
        scoring = rate.set_score_request(groups=True)
        search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scoring, cv=2, error_score="raise")
        search.fit(people["x"], people["y"], groups=people["sex"])
    score = model.predict_proba(people["x"])[:, 1]
    assert got == pytest.approx(-metrics.exposure_gap(None, score, groups=people["sex"]))
    assert 0 <= search.best_score_ <= 1


def frame_of(*args: Any, **kwargs: Any) -> Any:
    return pytest.importorskip("fairlearn.metrics").MetricFrame(*args, **kwargs)


def test_a_metric_frame_of_exposure_in_the_ranking_of_all(people: dict[str, Any]) -> None:
    place = metrics.row_exposure(people["score"])
    frame = frame_of(
        metrics={"exposure": metrics.mean_of_rows, "per_merit": metrics.exposure_per_merit},
        y_true=people["y"],
        y_pred=place,
        sensitive_features=pd.Series(people["sex"], name="sex"),
    )
    args = {"groups": people["sex"]}
    exposure = metrics.mean_exposures(None, people["score"], **args)
    assert frame.by_group["exposure"].to_dict() == pytest.approx(exposure)
    assert frame.overall["exposure"] == pytest.approx(place.mean())
    assert frame.ratio()["exposure"] == pytest.approx(metrics.exposure_ratio(None, people["score"], **args))
    assert frame.difference()["exposure"] == pytest.approx(metrics.exposure_gap(None, people["score"], **args))
    wanted = metrics.exposure_per_merit_ratio(people["y"], people["score"], **args)
    assert frame.ratio()["per_merit"] == pytest.approx(wanted)
    audit = lm.audit({"p": people["score"], "sex": people["sex"]}, score="p", group="sex", resamples=0, min_cell=1)
    for sex in "fm":
        assert frame.by_group["exposure"][sex] == pytest.approx(audit.value("exposure", sex))


def test_a_metric_frame_of_selection_with_weights(people: dict[str, Any]) -> None:
    from fairlearn.metrics import mean_prediction, selection_rate

    chosen = metrics.row_selected(people["score"], k=30)
    assert chosen.sum() == 30
    weight = {"sample_weight": people["weight"]}
    frame = frame_of(
        metrics={"ours": metrics.mean_of_rows, "mean": mean_prediction, "rate": selection_rate},
        y_true=people["y"],
        y_pred=chosen,
        sensitive_features=people["sex"],
        sample_params={"ours": weight, "mean": weight, "rate": weight},
    )
    rates = metrics.selection_rates(None, people["score"], groups=people["sex"], k=30, **weight)
    for name in ("ours", "mean", "rate"):
        assert frame.by_group[name].to_dict() == pytest.approx(rates), name
    wanted = metrics.selection_rate_ratio(None, people["score"], groups=people["sex"], k=30, **weight)
    assert frame.ratio()["ours"] == pytest.approx(wanted)


def test_a_metric_frame_of_lists_apart(people: dict[str, Any]) -> None:
    """A function of a whole list sees the rows of one region: it ranks them alone."""
    frame = frame_of(
        metrics={"ratio": metrics.exposure_ratio, "ndkl": metrics.ndkl},
        y_true=people["y"],
        y_pred=people["score"],
        sensitive_features=people["region"],
        sample_params={name: {"groups": people["sex"]} for name in ("ratio", "ndkl")},
    )
    mean = 0.0
    for region in ("north", "south"):
        mine = people["region"] == region
        wanted = metrics.exposure_ratio(None, people["score"][mine], groups=people["sex"][mine])
        assert frame.by_group["ratio"][region] == pytest.approx(wanted)
        mean += wanted / 2
    apart = metrics.exposure_ratio(None, people["score"], groups=people["sex"], queries=people["region"])
    assert apart == pytest.approx(mean)
    assert frame.overall["ratio"] != pytest.approx(mean)
