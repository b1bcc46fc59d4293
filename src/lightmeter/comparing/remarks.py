"""What is said beside the tables of a comparison: the rules of the tests, and what to be careful with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightmeter.comparing.columns import Column
from lightmeter.comparing.pairs import Plan, smallest

if TYPE_CHECKING:
    from lightmeter.comparing.comparison import Comparison

_NAMES = {
    "tukey": "randomised Tukey HSD",
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "randomization": "randomisation test (signs flipped)",
    "bootstrap": "paired bootstrap test",
}
_ADJUST = {
    "none": "not adjusted for the number of tests",
    "holm": "Holm, over all tests",
    "bh": "Benjamini-Hochberg, over all tests",
}
#: with fewer queries intervals and tests are rough
_FEW = 20
#: with fewer runs the interval of tau covers less than it says
_FEW_RUNS = 10


def conventions_of(columns: list[Column], plan: Plan, runs: list[str], baseline: str | None) -> dict[str, str]:
    """The rules of the tests in words."""
    drawn = {"tukey": "permutations", "randomization": "sign flips", "bootstrap": "resamples"}.get(plan.test)
    how = _NAMES[plan.test] + (f", {plan.resamples} {drawn}, seed {plan.rng}" if drawn else "")
    how += " (all of them where there are no more)" if plan.test == "randomization" else ""
    if plan.test == "tukey":
        how += "; p " + ("(count + 1)/(B + 1)" if plan.form == "plus_one" else "count/B")
    family = "one error rate over the pairs of a measure, " if plan.test == "tukey" and plan.adjust == "none" else ""
    effect = "difference / residual deviation (two-way)" if plan.test == "tukey" else "mean / deviation of differences"
    return {
        "test": how,
        "alpha": f"{plan.alpha:g}",
        "adjusted": family + (_ADJUST[plan.adjust] if not family else "measures not adjusted"),
        "compared": f"each run with {baseline}" if baseline is not None else f"all pairs of {len(runs)} runs",
        "effect": effect,
        "intervals": f"{100 * (1 - plan.alpha):.6g}%, bootstrap by query (BCa, 2000 resamples, seed {plan.rng})",
        "equal": "differences up to 1e-9 of the largest score",
    }


def agree_everywhere(made: Comparison) -> bool:
    """Whether on no query one measure puts one run first and another measure the other."""
    return not int(made.disagreements["n"].sum())


def remarks(made: Comparison) -> list[str]:
    """Notes below the tables."""
    out = [_queries(made), _tests(made), *_left_out(made), *_resolution(made), *_normality(made), *_untested(made)]
    few = [c.n for c in made.columns if 1 < c.n < _FEW]
    if few:
        out.append(f"with {min(few)} queries intervals are too narrow and little can be significant")
    if len(made.correlations) and 2 < len(made.runs) < _FEW_RUNS:
        out.append(f"tau compares orders of {len(made.runs)} runs only: below {_FEW_RUNS} its interval is rough")
    perfect = len(made.runs) > 2 and int((made.correlations["reason"] == "perfect_agreement").sum())
    if perfect:
        out.append(f"{perfect} tau of 1 or -1: an interval cannot be estimated (perfect_agreement)")
    if len(made.disagreements) and agree_everywhere(made):
        out.append("measures disagree nowhere: on no query does one put one run first and another the other")
    return out


def _queries(made: Comparison) -> str:
    total = len(made.result.queries)
    counts = sorted({c.n for c in made.columns})
    which = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"
    return f"{which} of {total} queries, those defined for all runs"


def _tests(made: Comparison) -> str:
    pairs, columns = len(made.plan.pairs), len(made.columns)
    significant = len(made.significant())
    below = "p" if made.plan.adjust == "none" else "adjusted p"
    return (
        f"{_number(made.tests, 'test')} made ({_number(pairs, 'pair')} of runs x {_number(columns, 'measure')}); "
        f"{significant} with {below} < {made.plan.alpha:g}"
    )


def _number(n: int, what: str) -> str:
    return f"{n} {what if n == 1 else what + 's'}"


def _left_out(made: Comparison) -> list[str]:
    alike: dict[str, list[str]] = {}
    for column in made.columns:
        gone = len(made.result.queries) - column.n
        if gone:
            why = ", ".join(f"{reason} {n}" for reason, n in column.left_out.items())
            told = f"{gone} {'query' if gone == 1 else 'queries'} left out ({why})"
            alike.setdefault(told, []).append(str(column))
    return [f"{', '.join(columns)}: {told}" for told, columns in alike.items()]


def _resolution(made: Comparison) -> list[str]:
    """Tests of resamples cannot give a p below a limit; after adjustment that may be too large for anything."""
    plan = made.plan
    n = max((c.n for c in made.columns), default=0)
    alone = smallest(plan.test, plan.resamples, n)
    least = min(alone * (made.tests if plan.adjust == "holm" else 1), 1.0)
    if n < 2 or least < plan.alpha:
        return []
    more = "more resamples" if alone == 1 / (plan.resamples + 1) else "more queries"
    fewer = "" if alone >= plan.alpha else " or fewer tests"
    return [f"nothing can be significant: the smallest p that can come out is {least:.2g}. Take {more}{fewer}"]


def _normality(made: Comparison) -> list[str]:
    if made.plan.test != "t":
        return []
    p = made.pairs["normality"].to_numpy()
    known = ~np.isnan(p)
    if not known.any():
        return ["the normality of the differences is not checked: Shapiro and Wilk's test takes 3 to 5000 queries"]
    odd = int((p[known] < made.plan.alpha).sum())
    advice = "; where n is small, prefer --test randomization" if odd else ""
    return [f"differences that are not normal (Shapiro-Wilk p < {made.plan.alpha:g}): {odd} of {known.sum()}{advice}"]


def _untested(made: Comparison) -> list[str]:
    words = {
        "few_queries": "fewer than two queries",
        "no_difference": "the runs do not differ on any query",
        "no_variance": "the difference is the same on every query",
    }
    counts = made.pairs["reason"].drop_nulls().value_counts(sort=True)
    return [f"{n} not tested: {reason} ({words.get(reason, reason)})" for reason, n in counts.iter_rows()]
