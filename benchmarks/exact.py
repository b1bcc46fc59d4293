"""Exact expected exposure against the best NumPy sampler, and how the cost grows: ratios of one run.

    PYTHONPATH=src python benchmarks/exact.py [--repeat 15]

Calls are alternated and the median is taken, so that what else runs on the machine weighs on all alike. The sampler
draws the paper's 50 rankings a query by the exponential race in one array [50, 250, 100] and adds up the views at the
ranks; of the forms tried (argsort, argpartition for the ranks that still have a view above 1e-9, single precision, a
thread a core) the fastest is the one compared with. Processor time stands beside the time on the clock: it depends less
on how many cores are free.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray

from lightmeter.exposure.gradient import luce_vjp
from lightmeter.exposure.luce import luce_exposure
from lightmeter.exposure.marginals import luce_exposure_cut, luce_exposure_view, rank_marginals
from lightmeter.exposure.ties import tied_documents
from lightmeter.io.threads import cores, in_threads

Array = NDArray[np.float64]
QUERIES, DOCUMENTS, SAMPLES = 250, 100, 50


def race(log_weights: Array, continuation: Array | float, rng: np.random.Generator, threads: int, kind: type) -> Array:
    """Plug-in exposure from 50 rankings: exponential race, argsort, views by the documents above, sum by document."""
    rate = np.exp(-log_weights).astype(kind)
    n = log_weights.shape[-1]
    constant = np.ndim(continuation) == 0
    view_of_rank = np.power(continuation, np.arange(n)) if constant else np.zeros(0)

    def work(part: tuple[slice, np.random.Generator]) -> Array:
        rows, own = part
        clock = own.standard_exponential((SAMPLES, *rate[rows].shape), dtype=kind)
        clock *= rate[rows]
        deep = n if not constant else min(n, int(np.ceil(np.log(1e-9) / np.log(continuation))))
        if deep < n:
            top = np.argpartition(clock, deep - 1, axis=-1)[..., :deep]
            order = np.take_along_axis(top, np.argsort(np.take_along_axis(clock, top, axis=-1), axis=-1), axis=-1)
        else:
            order = np.argsort(clock, axis=-1)
        flat = order + n * np.arange(rate[rows].shape[0])[:, None]
        if constant:
            view = np.broadcast_to(view_of_rank[:deep], order.shape)
        else:
            go_on = np.broadcast_to(np.asarray(continuation), log_weights.shape)[rows].ravel()[flat]
            view = np.ones(order.shape)
            np.cumprod(go_on[..., :-1], axis=-1, out=view[..., 1:])
        total = np.bincount(flat.ravel(), view.ravel(), minlength=rate[rows].size)
        return total.reshape(rate[rows].shape) / SAMPLES

    edges = np.linspace(0, len(rate), threads + 1).astype(int)
    parts = [(slice(a, b), own) for a, b, own in zip(edges, edges[1:], rng.spawn(threads), strict=False)]
    return np.concatenate([value for _, value in in_threads(work, parts)])


def times(
    jobs: dict[str, Callable[[], object]],
    repeat: int,
    clock: Callable[[], float] = time.perf_counter,
    of: Callable[[list[float]], float] = median,
) -> dict[str, float]:
    """Median (or the lowest, ..) seconds of each job, alternated."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeat):
        for name, job in jobs.items():
            start = clock()
            job()
            seconds[name].append(clock() - start)
    return {name: of(s) for name, s in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    rng = np.random.default_rng(0)
    y = rng.normal(size=(QUERIES, DOCUMENTS)) * 2
    grades = rng.random(y.shape) < 0.1
    users: dict[str, Array | float] = {
        "RBP(p=0.5)": 0.5,
        "RBP(p=0.9)": 0.9,
        "Cascade(p=0.9,u=0.5)": np.where(grades, 0.45, 0.9),
    }
    print(f"{QUERIES} queries x {DOCUMENTS} documents, log-weights of standard deviation 2, {cores()} cores")
    for name, go_on in users.items():
        jobs: dict[str, Callable[[], object]] = {"exact": lambda c=go_on: luce_exposure(y, c)}
        for kind in (np.float64, np.float32):
            for threads in sorted({1, cores()}):
                label = f"sampled {np.dtype(kind).name}, {threads} thread(s)"
                jobs[label] = lambda c=go_on, t=threads, k=kind: race(y, c, rng, t, k)
        off = np.abs(race(y, go_on, rng, 1, np.float64) - luce_exposure(y, go_on)).max()
        print(f"\n{name}; largest error of the sampled exposure {off:.2f}")
        for clock, kind in ((time.perf_counter, "wall"), (time.process_time, "processor")):
            took = times(jobs, repeat, clock)
            exact = took.pop("exact")
            best = min(took, key=lambda label: took[label])
            ratio = exact / took[best]
            print(f"  {kind:9} exact {exact * 1e3:6.1f} ms, {best} {took[best] * 1e3:6.1f} ms: {ratio:.2f} (at most 1)")
            print("           " + "; ".join(f"{label} {seconds * 1e3:.1f}" for label, seconds in took.items()))

    print("\ngrowth with n, 250 queries; gradient (wall, the lowest of each; long lists take both cores)")
    for spread in (0.5, 2.0, 10.0):
        for p in (0.5, 0.9):
            few, many = rng.normal(size=(QUERIES, 100)) * spread, rng.normal(size=(QUERIES, 1000)) * spread
            jobs = {
                "100": lambda y=few, p=p: luce_exposure(y, p),
                "1000": lambda y=many, p=p: luce_exposure(y, p),
                "gradient": lambda y=few, p=p: luce_vjp(y, p, y),
            }
            took = times(jobs, max(repeat // 3, 3), of=min)
            print(
                f"deviation {spread:4}, p = {p}: n=1000 / n=100 {took['1000'] / took['100']:5.1f} (at most 12)", end=""
            )
            print(f" | gradient / exposure {took['gradient'] / took['100']:.2f}")

    print("\nrank marginals and cutoffs, 250 x 100 (at most 1.5 s to depth 20)")
    for depth in (5, 10, 20):
        jobs = {
            "M": lambda k=depth: rank_marginals(y, k),
            "cut": lambda k=depth: luce_exposure_cut(y, users["RBP(p=0.9)"], k),
        }
        took = times(jobs, 3)
        start = time.process_time()
        jobs["M"]()
        cpu = time.process_time() - start
        print(f"depth {depth:2}: marginals {took['M']:.2f} s ({cpu:.2f} s of processor), cutoff {took['cut']:.2f} s")

    print("\nposition models without a cutoff (processor time)")
    for queries, n in ((250, 100), (25, 1000)):
        scores, view = rng.normal(size=(queries, n)) * 2, 1 / np.log2(np.arange(2, n + 2))
        took = times({"DCG": lambda y=scores, v=view: luce_exposure_view(y, v)}, 3, time.process_time)
        print(f"DCG, {queries} x {n}: {took['DCG']:.2f} s")

    print("\nextremes, 250 x 100")
    heavy = np.sign(rng.normal(size=y.shape)) * 10 ** rng.uniform(0, 10, size=y.shape)
    ties = np.zeros((QUERIES, 3000))
    jobs = {
        "scores over 1e10": lambda: luce_exposure(heavy, 0.5),
        "alpha 1e6": lambda: luce_exposure(1e6 * y, 0.5),
        "alpha 0": lambda: luce_exposure(0.0 * y, 0.5),
        "p = 1e-9": lambda: luce_exposure(y, 1e-9),
        "p = 1 - 1e-9": lambda: luce_exposure(y, 1 - 1e-9),
        "deviation 50": lambda: luce_exposure(25 * y, 0.9),
        "3,000 ties": lambda: tied_documents(ties, np.where(grades[:, np.arange(3000) % 100], 0.45, 0.9)),
        "3,000 ties, cut at 20": lambda: tied_documents(ties, 0.9, 20),
        "marginals, scores over 1e10": lambda: rank_marginals(heavy, 20),
    }
    for name, seconds in times(jobs, 3).items():
        print(f"{name:28} {seconds * 1e3:7.1f} ms")

    big = rng.normal(size=(1000, 120)) * 2
    for name, job in {
        "exposure": lambda: luce_exposure(big, 0.9),
        "marginals to 20": lambda: rank_marginals(big, 20),
    }.items():
        tracemalloc.start()
        job()
        print(f"1,000 x 120, {name}: peak {tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB (under 500)")
        tracemalloc.stop()


if __name__ == "__main__":
    main()
