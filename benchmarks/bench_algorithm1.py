"""Algorithm 1 of Qin, Liu & Li (2010) with the paper's settings, beside L-BFGS, on OHSUMED.

    python benchmarks/bench_algorithm1.py [--data DATA]

T = 200 epochs of one query a step, eta = 0.01, weights from zero, no penalty; the grids of
alpha and beta are the paper's. Setting and epoch are chosen by the validation measure: AP for
ApproxAP, nDCG of the whole list for ApproxNDCG. Data, conventions and columns as in bench_letor.py.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import bench_letor as letor
import numpy as np

import directrix as dx

NDCG_GRID = tuple(dx.ApproxNDCG(alpha=a) for a in (10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0))
AP_GRID = tuple(
    dx.ApproxAP(alpha=a, beta=b)
    for a, b in itertools.product((10.0, 20.0, 50.0, 100.0), (1.0, 10.0, 20.0, 50.0, 100.0))
)
PAPER = {"ApproxNDCG": 0.6698, "ApproxAP": 0.6693}
"""NDCG@n on OHSUMED of LETOR 2.0."""


def algorithm1(fold: letor.Split, measure: Any, grid: Sequence[Any], rate: float) -> letor.Fit:
    judge = partial(letor.mean, measure, fold.vali)

    def fit(surrogate: Any) -> letor.Fit:
        beta = f" beta={surrogate.beta:g}" if isinstance(surrogate, dx.ApproxAP) else ""
        objective = dx.linear_objective(fold.train, surrogate)
        trainer = dx.SGD(learning_rate=rate, epochs=200, random_state=0)
        start = np.zeros(fold.train.n_features)
        return letor.trained(trainer, objective, start, judge, f"alpha={surrogate.alpha:g}{beta}")

    return letor.best(map(fit, grid))


def main() -> int:
    options = letor.arguments(__doc__)
    if letor.absent(options.data):
        return 0
    print(letor.versions())
    folds = letor.read_folds(options.data, "OHSUMED")
    for name, surrogate, grid in (("AP", dx.ApproxAP, AP_GRID), ("nDCG", dx.ApproxNDCG, NDCG_GRID)):
        print(f"\n== OHSUMED: {surrogate.__name__}, selection by {name}")
        ways: dict[str, letor.Way] = {
            "Algorithm 1": partial(algorithm1, grid=grid, rate=0.01),
            "Algorithm 1, eta = 0.1": partial(algorithm1, grid=grid, rate=0.1),
            "L-BFGS": partial(letor.grid, methods=[surrogate.__name__]),
        }
        means = letor.run(folds, name, ways, detail="Algorithm 1")
        gap = {text: means["L-BFGS"][text] - means["Algorithm 1"][text] for text in letor.REPORTED}
        print("L-BFGS minus Algorithm 1: " + ", ".join(f"{text} {value:+.4f}" for text, value in gap.items()))
        print(f"NDCG@n in the paper: {PAPER[surrogate.__name__]:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
