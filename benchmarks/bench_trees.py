"""Scores of boosted trees: ours against LightGBM's, which must be the same bits.

    python benchmarks/bench_trees.py

500 trees of 31 leaves on 46 features, float32. Times are the best of several calls, in milliseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
from letor import versions

import directrix as dx
from directrix.models.trees import Trees

CALLS = {1: 500, 100: 100, 1_000: 20, 100_000: 3}


def best(call: Callable[[], Any], times: int) -> float:
    """Milliseconds of the fastest call; two before do not count."""
    call(), call()
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    return 1e3 * min(seconds)


def main() -> int:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 46)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    target = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2])
    grown = lightgbm.train({"verbosity": -1, "num_leaves": 31}, lightgbm.Dataset(X, target), 500)
    booster, trees = lightgbm.Booster(model_str=grown.model_to_string()), Trees.grown(grown, 500, 46)
    differ = int((trees.predict(X) != booster.predict(X, raw_score=True)).sum())
    print(versions())
    print(f"\n{'threads':>7}{'documents':>11}{'ours':>10}{'LightGBM':>10}{'ratio':>7}")
    slower = 0
    for threads in (1, dx.get_threads()):
        before = dx.set_threads(threads)
        for n, calls in CALLS.items():
            rows = X[:n]
            ours = best(lambda rows=rows: trees.predict(rows), calls)
            theirs = best(
                lambda rows=rows: booster.predict(rows, raw_score=True, num_threads=dx.get_threads()), calls
            )
            slower += ours > theirs
            print(f"{threads:7}{n:11,}{ours:10.3f}{theirs:10.3f}{ours / theirs:7.2f}")
        dx.set_threads(before)
    print(f"goal {'met' if not differ else 'MISSED'}: {differ} of {len(X):,} scores differ from LightGBM's")
    print(f"goal {'met' if not slower else 'MISSED'}: at least LightGBM's speed, slower in {slower} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
