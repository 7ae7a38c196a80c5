"""Time an epoch of stochastic steps of 1, 8, 64 and 512 queries, over one full gradient on as many threads.

The data of bench_gradient.py: 2,000 queries, some 240,000 documents x 136 float32. "sgd" is `SGD`'s epoch,
"any step" that of other stochastic trainers (`Adam`), which fetch every gradient. Steps of a query are serial
by their nature: on two threads the best possible ratio is the speed-up of the full gradient.

    python benchmarks/bench_sgd.py [--only ApproxNDCG RankNet]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from typing import Any

import numpy as np
from bench_gradient import best_of, problem

import directrix as dx
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import DataObjective, make_objective

BATCHES, GOAL = (1, 8, 64, 512), 1.2
SURROGATES = ("ApproxNDCG", "ApproxAP", "RankNet", "Lambda('nDCG@10')", "ListNet", "SmoothNDCG")


def ratios(objective: DataObjective, params: np.ndarray, order: np.ndarray) -> str:
    """Milliseconds of a full gradient, and the two kinds of epochs over it, by size of batch."""
    full = best_of(lambda: objective.value_and_grad(params), 10)
    line = f"{full:9.1f}"
    steps: tuple[Any, ...] = (
        lambda b: objective.sgd_epoch(params.copy(), order, 1e-9, b),
        lambda b: objective.epoch(params.copy(), order, b, lambda grad: None),
    )
    for epoch in steps:
        line += "   "
        for batch in BATCHES:
            ratio = best_of(lambda b=batch, e=epoch: e(b), 3) / full
            line += f"{ratio:7.2f}{'*' if ratio > GOAL else ' '}"
    return line


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", default=list(SURROGATES), help="surrogates, as Python prints them"
    )
    options = parser.parse_args()
    data, cores = problem(), len(os.sched_getaffinity(0))
    n_queries = len(data["qptr"]) - 1
    q = dx.Queries.from_arrays(
        data["X"], data["labels"], qid=np.repeat(np.arange(n_queries), np.diff(data["qptr"]))
    )
    order = np.random.default_rng(0).permutation(n_queries)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores")
    print(
        f"{n_queries:,} queries, {q.n_docs:,} documents x {q.n_features} float32; epochs over full gradients"
    )
    print(f"* above the goal of {GOAL:g}")
    model = MLPModel((32,))
    for threads in sorted({1, cores}):
        dx.set_threads(threads)
        sizes = "".join(f"{size:>7} " for size in BATCHES)
        print(f"\n{'':44}{'sgd':32}   any step")
        title = f"{threads} thread{'s' * (threads > 1)}"
        print(f"{title:32}{'full ms':>9}{'':3}{sizes}{'':3}{sizes}")
        for text in options.only:
            objective = dx.linear_objective(q, text)
            print(f"{text:32}{ratios(objective, data['w'], order)}", flush=True)
        network = make_objective(q, dx.ApproxNDCG(), model)
        start = model.start(q.n_features, np.random.default_rng(0))
        print(f"{'network of 32, ApproxNDCG':32}{ratios(network, start, order)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
