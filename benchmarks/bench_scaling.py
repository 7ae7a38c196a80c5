"""How time and memory grow: twice the queries, twice the threads, tiny queries, long queries.

Everything is a ratio within one run, with the goal beside it; a goal that is missed is marked "missed".
The kernels of every surrogate that has a name are taken with its defaults, under a linear model of 136
features; a network, boosting and an evaluation beside them.

    python benchmarks/bench_scaling.py [--only ApproxNDCG RankNet] [--parts growth tiny long] [--budget 0.5]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_surrogates import made, milliseconds
from full_pass import peak_kib, problem

import directrix as dx
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import make_objective
from directrix.objectives.scores import ScoreObjective
from directrix.registry import SURROGATES, load_class

TWICE, SPEED_UP, TINY = 2.1, 1.8, 2.0
"""Goals: time for twice the queries; 1 -> 2 threads; a document of a tiny query over one of a usual query."""
MIB_10_000, SECONDS_1_000_000, MIB_1_000_000 = 10.0, 10.0, 300.0


def marked(value: float, goal: float, *, at_least: bool = False, digits: int = 2) -> str:
    """Return the figure, with a note if it misses its goal."""
    missed = value < goal if at_least else value > goal
    return f"{value:.{digits}f}{' missed' if missed else '       '}"


def queries_of(X: np.ndarray, labels: np.ndarray, qptr: np.ndarray) -> dx.Queries:
    """Grouped rows as `Queries`."""
    return dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(len(qptr) - 1), np.diff(qptr)))


def doubled(q: dx.Queries) -> dx.Queries:
    """Every query twice: twice the work, whatever the surrogate."""
    qptr = np.concatenate([q.qptr, q.qptr[1:] + q.n_docs])
    return queries_of(np.concatenate([q.features, q.features]), np.tile(q.labels, 2), qptr)


# ------------------------------------------------------------------------------- growth and threads


def jobs(q: dx.Queries, w: np.ndarray, only: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is timed, by name; each returns what it computed."""
    for surrogate in dict.fromkeys(
        (dx.ApproxNDCG(alpha=10.0), *(made(load_class(SURROGATES, name)) for name in only))
    ):
        objective = dx.linear_objective(q, surrogate)
        yield repr(surrogate), lambda o=objective: o.value_and_grad(w)
    model = MLPModel(hidden=(32,))
    start = model.start(q.n_features, np.random.default_rng(0))
    network = make_objective(q, dx.ApproxNDCG(alpha=10.0), model)
    yield "a network, 32 hidden units, ApproxNDCG", lambda: network.value_and_grad(start)
    scores = dx.linear_objective(q, "ApproxNDCG").scores(w).astype(np.float64)
    for surrogate in (dx.ApproxNDCG(alpha=10.0), dx.Lambda("NDCG@10")):
        boosted = ScoreObjective(q, surrogate)
        yield f"boosting's step, {surrogate!r}", lambda b=boosted: b.value_grad_curvature(scores)
    names = ["nDCG@10", "AP", "RR"]
    yield "evaluation of nDCG@10, AP, RR", lambda: _evaluation(names, scores, q)


def _evaluation(names: list[str], scores: np.ndarray, q: dx.Queries) -> list[np.ndarray]:
    return [dx.measure(name)(scores, q.labels, q.qptr) for name in names]


def same_bits(first: Any, second: Any) -> bool:
    """Whether two results agree to the last bit."""
    return all(
        np.array_equal(np.asarray(a).view(np.uint8), np.asarray(b).view(np.uint8))
        for a, b in zip(map(np.atleast_1d, first), map(np.atleast_1d, second), strict=True)
    )


def growth(only: list[str], budget: float, cores: int) -> None:
    data = problem()
    q = queries_of(data["X"], data["labels"], data["qptr"])
    twice = doubled(q)
    print(f"{q.n_queries:,} queries, {q.n_docs:,} documents x {q.n_features} float32; milliseconds, the best")
    print(f"goals: at most {TWICE:g} for twice the queries, at least {SPEED_UP:g} for two threads\n")
    columns = f"{'1 thread':>9}{f'{cores} threads':>11}{'speed-up':>10}{'':7}{'twice q.':>10}{'':7}"
    print(f"{'':64}{columns}{'bits':>7}")
    for (name, work), (_, more) in zip(jobs(q, data["w"], only), jobs(twice, data["w"], only), strict=True):
        ms, results = {}, {}
        for threads in (1, cores):
            dx.set_threads(threads)
            ms[threads], results[threads] = milliseconds(work, budget), work()
        long = milliseconds(more, budget)
        bits = "same" if same_bits(results[1], results[cores]) else "DIFFER"
        print(
            f"{name:64}{ms[1]:9.1f}{ms[cores]:11.1f}{marked(ms[1] / ms[cores], SPEED_UP, at_least=True):>17}"
            f"{marked(long / ms[cores], TWICE):>17}{bits:>7}",
            flush=True,
        )
    dx.set_threads(None)


# ------------------------------------------------------------------------------------ tiny queries


def equal_sizes(n_docs: int, size: int) -> dx.Queries:
    rng = np.random.default_rng(0)
    labels = rng.choice(5, n_docs, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float)
    return queries_of(
        rng.random((n_docs, 136), dtype=np.float32), labels, np.arange(0, n_docs + 1, size, dtype=np.int64)
    )


def tiny(only: list[str], budget: float, cores: int) -> None:
    tiny_ones, usual = equal_sizes(500_000, 5), equal_sizes(500_040, 120)
    w = problem()["w"]
    print(f"{tiny_ones.n_queries:,} queries of 5 documents, and {usual.n_queries:,} of 120; {cores} threads")
    print(f"nanoseconds a document; goal: at most {TINY:g} times as much in tiny queries\n")
    print(f"{'':64}{'gradient':>10}{'of 120':>8}{'ratio':>8}{'':7}{'alone':>10}{'of 120':>8}{'ratio':>8}")
    for name in dict.fromkeys(("ApproxNDCG", *only)):
        surrogate, line = made(load_class(SURROGATES, name)), []
        for kind in ("gradient", "alone"):
            ns = []
            for q in (tiny_ones, usual):
                objective = dx.linear_objective(q, surrogate)
                work = (
                    (lambda o=objective: o.value_and_grad(w))
                    if kind == "gradient"
                    else alone(q, surrogate, objective.scores(w))
                )
                ns.append(1e6 * milliseconds(work, budget) / q.n_docs)
            line.append(f"{ns[0]:10.1f}{ns[1]:8.1f}{marked(ns[0] / ns[1], TINY):>15}")
        print(f"{surrogate!r:64}{''.join(line)}", flush=True)


def alone(q: dx.Queries, surrogate: Any, scores: np.ndarray) -> Callable[[], None]:
    """The surrogate's values and gradients with respect to the scores, without the features."""
    from directrix.threads import query_chunks, run_chunks

    qptr = q.qptr.copy()
    prepared, out = surrogate.prepare(q.labels, qptr), (np.zeros(q.n_queries), np.zeros_like(scores))
    bounds = query_chunks(qptr, 4096)

    def work(c: int) -> None:
        surrogate.fill(scores, prepared, qptr, (int(bounds[c]), int(bounds[c + 1])), out)

    return lambda: run_chunks(work, len(bounds) - 1)


# ------------------------------------------------------------------------------------ long queries


def long_query(text: str, n: int, n_relevant: int, way: str) -> dict[str, float]:
    """Time and extra memory of one query, in a process of its own."""
    surrogate, rng = dx.surrogate(text), np.random.default_rng(0)
    labels = np.zeros(n)
    labels[rng.choice(n, n_relevant, replace=False)] = rng.integers(1, 5, n_relevant)
    scores = rng.standard_normal(n).astype(np.float32)
    if way == "scores":

        def work(some: slice) -> Callable[[], Any]:
            s, y = scores[some], labels[some]
            return lambda: surrogate.value_and_grad(s, y, np.array([0, len(s)]))
    else:
        X = np.stack([scores, *rng.random((3, n), dtype=np.float32)], axis=1)
        w = np.array([1.0, 0.0, 0.0, 0.0])

        def work(some: slice) -> Callable[[], Any]:
            q = queries_of(X[some], labels[some], np.array([0, len(X[some])]))
            objective = dx.linear_objective(q, surrogate)
            return lambda: objective.value_and_grad(w)

    work(slice(0, 300))()  # compiles
    run = work(slice(None))
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of compilation
    before, begin = peak_kib(), time.perf_counter()
    run()
    return {"seconds": time.perf_counter() - begin, "MiB": (peak_kib() - before) / 1024}


def apart(*arguments: str, limit: float) -> dict[str, float] | None:
    """Run `long_query` in a process of its own; None if it takes longer than ``limit`` seconds."""
    command = [sys.executable, __file__, "--serve", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def long(only: list[str], limit: float) -> None:
    print("one query, 1 % of its documents relevant: seconds and MiB more than before\n")
    for text, n in (("ApproxNDCG(alpha=10.0)", 10_000), ("ApproxNDCG(alpha=1000.0)", 1_000_000)):
        for way in ("scores", "linear"):
            got = apart(text, str(n), str(n // 100), way, limit=limit)
            if got is None:
                print(f"{text:28}{n:>10,} documents, {way:8} more than {limit:g} s missed")
                continue
            large = n > 10_000
            seconds = marked(got["seconds"], SECONDS_1_000_000) if large else f"{got['seconds']:.4f}"
            mib = marked(got["MiB"], MIB_1_000_000 if large else MIB_10_000, digits=1)
            print(f"{text:28}{n:>10,} documents, {way:8}{seconds:>16} s{mib:>16} MiB", flush=True)
    print(f"\n{'through value_and_grad(scores)':64}{'10,000':>9}{'MiB':>15}{'100,000':>16}{'MiB':>8}")
    for name in only:
        surrogate, line = made(load_class(SURROGATES, name)), ""
        for n in (10_000, 100_000):
            got = apart(repr(surrogate), str(n), str(n // 100), "scores", limit=limit)
            if got is None:
                line += f"{f'> {limit:g} s':>11}{'':13}"
                break
            mib = marked(got["MiB"], MIB_10_000, digits=1) if n == 10_000 else f"{got['MiB']:.1f}"
            line += f"{got['seconds']:9.3f} s{mib:>15}"
        print(f"{surrogate!r:64}{line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(SURROGATES), default=list(SURROGATES))
    parser.add_argument("--parts", nargs="+", choices=["growth", "tiny", "long"], default=None)
    parser.add_argument("--budget", type=float, default=0.5, help="seconds for each figure")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a long query")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        text, n, n_relevant, way = options.serve
        print(json.dumps(long_query(text, int(n), int(n_relevant), way)))
        return 0
    cores = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores")
    parts = options.parts or ["growth", "tiny", "long"]
    if "growth" in parts:
        print("\n== twice the queries, twice the threads")
        growth(options.only, options.budget, cores)
    if "tiny" in parts:
        print("\n== tiny queries")
        tiny(options.only, options.budget, cores)
    if "long" in parts:
        print("\n== long queries")
        long(options.only, options.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
