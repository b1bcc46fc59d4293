"""What a sweep was made under, in words and for the manifest."""

from __future__ import annotations

from typing import Any

import numpy as np

from lightmeter.data.rankings import TieCount
from lightmeter.evaluation.conventions import conventions, manifest
from lightmeter.measures.base import Measure
from lightmeter.measures.context import Context, Missing
from lightmeter.measures.exposure import EED, EER
from lightmeter.models.users import User
from lightmeter.sweeping.curve import LEVEL, Curve
from lightmeter.sweeping.families import Family

_MISSING = {"zero": "relevance 0 at every disparity", "skip": "left out", "error": "refused"}


def rules_of(
    context: Context,
    tied: dict[str, TieCount],
    curves: list[Curve],
    families: list[Family],
    users: list[tuple[str, User, int | None]],
    bys: list[str | None],
    depth: int | None,
    ties: str,
    missing: Missing,
    samples: int | None,
    resamples: int,
    seed: int,
) -> tuple[dict[str, str], dict[str, Any]]:
    """The conventions in words, and the manifest."""
    measures: dict[Measure, Measure] = {
        make(user=user, by=by, cutoff=cutoff): make(user=user, by=by, cutoff=cutoff)
        for _, user, cutoff in users
        for by in bys
        for make in (EED, EER)
    }
    answered = {c.run: ~np.isnan(c.points.eed[:, 0]) for c in curves}
    rules = conventions(
        context,
        measures,
        context.policy,
        context.unknown,
        missing,
        depth,
        tied,
        answered,
    )
    rules["policy"] = ", ".join(f"{f.name} from {_end(f, 0)} (uniform) to {_end(f, 1)} (static)" for f in families)
    rules["missing"] = f"{missing} ({_MISSING[missing]})" + rules["missing"].partition(")")[2]
    rules["depth"] = "whole rankings" if depth is None else f"first {depth} ranks are the candidates"
    rules |= _axes(users, bys)
    rules |= _how(curves, seed, samples)
    rules["interval"] = f"{LEVEL:.0%} percentile bootstrap over queries, {resamples} resamples, seed {seed}"
    rules["area"] += _lost(curves)
    long = [c for c in curves if c.last_step > 0.02]
    if long:
        rules["last step"] = (
            "; ".join(
                f"{where}: {step:.2f}" for where, step in {f"{c.run} {c.policy}": c.last_step for c in long}.items()
            )
            + " (equal scores keep the policy from the static ranking; that step is a straight line)"
        )
    made = manifest(context, rules, tied, list(measures), list(measures))
    made |= {
        "policies": [f.name for f in families],
        "users": [label for label, _, _ in users],
        "by": list(bys),
        "seed": seed,
        "resamples": resamples,
        "curves": [_facts(c) for c in curves],
    }
    return rules, made


def _end(family: Family, which: int) -> str:
    name = "alpha" if family.name.startswith("PlackettLuce") else "theta"
    end = family.ends[which]
    return f"{name} = {'infinity' if np.isinf(end) else f'{end:g}'}"


def _axes(users: list[tuple[str, User, int | None]], bys: list[str | None]) -> dict[str, str]:
    kinds = {by is not None or user.by_document for _, user, _ in users for by in bys}
    own, of_means = (
        "(EED - uniform's)/(static's - uniform's) of each query, averaged",
        "(mean EED - uniform's)/(static's - uniform's)",
    )
    parts = []
    if False in kinds:
        parts.append(own + (" (users who know the rank only, documents)" if True in kinds else ""))
    if True in kinds:
        parts.append(of_means + (" (users who read the documents, groups)" if False in kinds else ""))
    axes = {
        "disparity": " and ".join(parts),
        "relevance": "EER/E of each query, averaged; E is the largest EER of the judged ideal, Ideal(complete=False)",
        "area": "trapezoids over disparity in [0, 1]"
        + (", under the largest relevance at each disparity where the curve turns back" if True in kinds else ""),
    }
    if any(by is not None for by in bys):
        axes["groups"] = "exposure of relevant documents; E is the EER of the ideal, ||xi*||^2"
    return axes


def _lost(curves: list[Curve]) -> str:
    """What straight lines between points leave out of the areas, where points are exact."""
    told = []
    for i, whose in enumerate(("the mean curve's", "a query's own")):
        found = [c.points.lost[i] for c in curves if np.isfinite(c.points.lost[i])]
        if found:
            told.append(f"{max(found):.1e} ({whose})")
    return f"; estimated error of straight lines at most {' and '.join(told)}" if told else ""


def _how(curves: list[Curve], seed: int, samples: int | None) -> dict[str, str]:
    """What was computed exactly, and what from drawn rankings."""

    def what(some: list[Curve]) -> str:
        return ", ".join(dict.fromkeys(f"{c.policy} with {c.user}" for c in some))

    exact = [c for c in curves if c.points.sampled is None]
    drawn = [c for c in curves if c.points.sampled is not None]
    out = {"exact": what(exact)} if exact else {}
    if drawn:
        paths = [c.points.sampled.paths for c in drawn if c.points.sampled is not None]
        errors = [e for c in drawn if (e := c.error()) is not None]
        worst = max((float(np.nanmax(np.concatenate(e), initial=0.0)) for e in errors), default=0.0)
        number = f"{min(paths)}" if min(paths) == max(paths) else f"{min(paths)} to {max(paths)}"
        out["drawn"] = (
            f"{what(drawn)}: {number} rankings a query and parameter, seed {seed}; standard error of mean disparity "
            f"and relevance at most {worst:.1e}" + ("" if samples is not None else " (asked for: 2.0e-03)")
        )
    return out


def _facts(curve: Curve) -> dict[str, Any]:
    sampled = curve.points.sampled
    return {
        "run": curve.run,
        "policy": curve.policy,
        "user": curve.user,
        "by": curve.by,
        "points": len(curve.points.parameter),
        "longest_step": _finite(curve.longest_step),
        "last_step": _finite(curve.last_step),
        "area_error": _finite(curve.points.lost[0]),
        "query_area_error": _finite(curve.points.lost[1]),
        "samples": None if sampled is None else sampled.paths,
        "queries": int(curve.scale.counted.sum()),
        "left_out": {
            str(reason): int(sum(r == reason for r in curve.scale.reason[~curve.scale.counted]))
            for reason in dict.fromkeys(curve.scale.reason[~curve.scale.counted].tolist())
        },
        "unanswered": int(curve.scale.missing.sum()),
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
