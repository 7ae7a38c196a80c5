"""Time the full gradient of LambdaRank for a linear ranker, as a multiple of ApproxNDCG(alpha=10)'s.

The data are those of full_pass.py: 2,000 queries, some 236,000 documents x 136 float32, labels 0-4. The
goals: at most 1 x for nDCG@10, at most 3 x where all pairs count. Both are timed in turns in one process,
and the median of the ratios is printed; beside it the surrogate without the features, and the effective pairs
of Donmez, Svore and Burges (2009), Figure 5: those whose force is not 0, per document.

    python benchmarks/bench_lambda.py [--repeats 15] [--queries 2000] [--data DATA]

Then an epoch of SGD, a step a query, on LETOR's training queries.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_letor as letor
import full_pass
import numba
import numpy as np

import directrix as dx
from directrix.threads import query_chunks, run_chunks

MEASURES = ("nDCG@10", "nDCG", "P@10", "AP(rel=2)", "RR(rel=2)", "ERR@10", "ERR")
GOAL = {"nDCG@10": 1.0}
ALL_PAIRS = 3.0


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def in_turns(ours: Callable[[], Any], other: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Median time of ``ours``, and median of its ratio to ``other``, which runs next to it."""
    ours(), other()
    pairs = np.array([(milliseconds(ours), milliseconds(other)) for _ in range(repeats)])
    return float(np.median(pairs[:, 0])), float(np.median(pairs[:, 0] / pairs[:, 1]))


def alone(surrogate: Any, queries: Any, w: np.ndarray) -> Callable[[], None]:
    """Value and gradient with respect to the scores."""
    scores, qptr = dx.linear_objective(queries, surrogate).scores(w), queries.qptr.copy()
    prepared = surrogate.prepare(queries.labels, qptr)
    out = np.zeros(queries.n_queries), np.zeros_like(scores)
    bounds = query_chunks(qptr, 4096)

    def work(c: int) -> None:
        surrogate.fill(scores, prepared, qptr, (int(bounds[c]), int(bounds[c + 1])), out)

    return lambda: run_chunks(work, len(bounds) - 1)


def gradients(n_queries: int, repeats: int, threads: int) -> None:
    dx.set_threads(threads)
    data = full_pass.problem()
    qid = np.repeat(np.arange(len(data["qptr"]) - 1), np.diff(data["qptr"]))
    queries = dx.Queries.from_arrays(data["X"], data["labels"], qid=qid).take(np.arange(n_queries))
    w = data["w"]
    smooth = dx.ApproxNDCG(alpha=10.0)
    reference = dx.linear_objective(queries, smooth)
    full = lambda: reference.value_and_grad(w)  # noqa: E731
    inner = alone(smooth, queries, w)
    full(), inner()
    print(f"\n{threads} thread{'s' * (threads > 1)}, {n_queries:,} queries, {queries.n_docs:,} documents")
    print(f"{'':36}{'full ms':>9}{'x':>7}{'goal':>7}{'alone ms':>10}{'x':>7}{'pairs/doc':>11}")
    ms, only = (np.median([milliseconds(f) for _ in range(repeats)]) for f in (full, inner))
    print(f"{'ApproxNDCG(alpha=10)':36}{ms:9.1f}{1:7.2f}{'':7}{only:10.1f}{1:7.2f}")
    others = [("nDCG", c) for c in ("spring-smooth", "local-gradient", "local-cost", "discrete-bounded")]
    for measure, construction in [(m, "ranknet-weight-pairs") for m in MEASURES] + others:
        surrogate = dx.Lambda(measure, construction)
        objective = dx.linear_objective(queries, surrogate)
        ms, ratio = in_turns(lambda o=objective: o.value_and_grad(w), full, repeats)
        only, inner_ratio = in_turns(alone(surrogate, queries, w), inner, repeats)
        pairs = surrogate.effective_pairs(objective.scores(w), queries.labels, queries.qptr).sum()
        goal = GOAL.get(measure, ALL_PAIRS)
        name = measure if (measure, construction) not in others else f"{measure}, {construction}"
        print(
            f"{name:36}{ms:9.1f}{ratio:7.2f}{goal:7.1f}{only:10.1f}{inner_ratio:7.2f}"
            f"{pairs / queries.n_docs:11.2f}{'' if ratio <= goal else '  goal missed'}"
        )


def epochs(data: Path) -> None:
    print(f"\n{'epoch of SGD, one thread, best of 10':36}{'ms':>9}{'us/query':>10}")
    dx.set_threads(1)
    for collection in ("OHSUMED", "MQ2008"):
        queries = dx.read_letor(data / "letor" / collection / "Fold1" / "train.txt")
        order = np.random.default_rng(0).permutation(queries.n_queries)
        for text in ("ApproxAP", "Lambda('AP')", "Lambda('nDCG@10')"):
            objective, w = dx.linear_objective(queries, text), np.zeros(queries.n_features)
            objective.sgd_epoch(w, order, 1e-3)
            work = lambda o=objective, v=w, p=order: o.sgd_epoch(v, p, 1e-3)  # noqa: E731
            best = min(milliseconds(work) for _ in range(10))
            print(f"{f'{collection}, {queries.n_queries} queries, {text}':36}", end="")
            print(f"{best:9.2f}{1e3 * best / queries.n_queries:10.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--queries", type=int, default=2000)
    letor.add_data(parser)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for threads in sorted({1, cores}):
        gradients(options.queries, options.repeats, threads)
    if not letor.absent(options.data):
        epochs(options.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
