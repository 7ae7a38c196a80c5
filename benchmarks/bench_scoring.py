"""Scores of 300 trees, against LightGBM and CatBoost: ``python -m benchmarks scoring``.

The figures are nanoseconds of the processor per document and tree, on one thread, by the number of documents
in a call; then the time divided by LightGBM's and by CatBoost's. Calls of the three alternate, five times,
each the best of several; the figures are medians of these five. LightGBM scores the same trees with the same
bits, and CatBoost its own trees of the same depth, or of depth 5. A tenth of the numbers is missing; two of
136 features are categories where the name of the model says so.

The goals are 1 ns for oblivious trees from 1,000 documents on, CatBoost's time for fewer, and half of
LightGBM's time for trees that grow leaf by leaf.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm
import numpy as np
from llvmlite import binding

import directrix as dx
from directrix.models.trees import Trees

N_TREES, N_FEATURES, N_TRAINED, PAIRS = 300, 136, 1500, 5
SIZES = (1, 10, 100, 1000, 10_000)
CLASSES = [1, 2]
Predict = Callable[[], np.ndarray]


def rows_of(n: int, kind: type, *, by_class: bool) -> np.ndarray:
    """Rows with missing values, and with categories as whole numbers."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, N_FEATURES)) < 0.1, np.nan, rng.standard_normal((n, N_FEATURES)))
    if by_class:
        X[:, CLASSES] = rng.integers(0, 50, (n, len(CLASSES)))
    return X.astype(kind)


def target_of(X: np.ndarray) -> np.ndarray:
    weights = np.random.default_rng(1).standard_normal(40)
    return np.nan_to_num(X[:, :40]) @ weights + 3.0 * np.sin(
        3.0 * np.nan_to_num(X[:, 50]) * np.nan_to_num(X[:, 51])
    )


def oblivious(depth: int) -> Trees:
    """Trees of random tests, one for each level: the time does not depend on the values of leaves."""
    rng, n = np.random.default_rng(depth), (1 << depth) - 1
    widths, splits = 1 << np.arange(depth), np.arange(n)
    feature, threshold = rng.integers(0, N_FEATURES, (N_TREES, depth)), rng.standard_normal((N_TREES, depth))
    child = 2 * splits[:, None] + [1, 2]
    child = np.tile(np.where(child < n, child, n - 1 - child), (N_TREES, 1)).astype(np.int32)
    n_splits, n_leaves = N_TREES * n, N_TREES * (n + 1)
    return Trees(
        N_FEATURES,
        n_leaves=np.full(N_TREES, n + 1),
        feature=np.repeat(feature, widths, axis=1).ravel().astype(np.int32),
        threshold=np.repeat(threshold, widths, axis=1).ravel(),
        decision=np.repeat(rng.choice([8, 10], (N_TREES, depth)), widths, axis=1).ravel().astype(np.uint8),
        left=np.ascontiguousarray(child[:, 0]),
        right=np.ascontiguousarray(child[:, 1]),
        gain=np.zeros(n_splits),
        leaf=rng.standard_normal(n_leaves),
        count=np.ones(n_leaves, np.uint32),
    )


def leaf_wise(n_leaves: int, *, by_class: bool) -> Trees:
    X = rows_of(N_TRAINED, np.float64, by_class=by_class)
    settings = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": n_leaves}
    data = lightgbm.Dataset(X, target_of(X), categorical_feature=CLASSES if by_class else [], params=settings)
    return Trees.grown(lightgbm.train(settings, data, N_TREES), N_TREES, N_FEATURES)


def catboost(depth: int, *, by_class: bool) -> Callable[[np.ndarray], Predict]:
    """Return a function from rows to CatBoost's call; categories are texts, in a list of lists."""
    import catboost as cat

    def form(X: np.ndarray) -> Any:
        if not by_class:
            return X
        return [[str(int(x)) if f in CLASSES else x for f, x in enumerate(row)] for row in X.tolist()]

    X = rows_of(N_TRAINED, np.float32, by_class=by_class)
    model = cat.CatBoostRegressor(
        iterations=N_TREES,
        depth=depth,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        boosting_type="Plain",
    ).fit(form(X), target_of(X), cat_features=CLASSES if by_class else None)
    return lambda rows: partial(model.predict, form(rows), thread_count=1)


def best_of(work: Predict, times: int) -> float:
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def compared(ours: Predict, peers: list[Predict], n: int) -> str:
    """Our nanoseconds per document and tree, and their ratio to the time of each peer."""
    ours()
    times, pairs = max(3, 1000 // n), []
    for _ in range(PAIRS):
        mine = best_of(ours, times)
        pairs.append((mine, *(mine / best_of(peer, max(3, times // 20)) for peer in peers)))
    mine, *ratios = (statistics.median(column) for column in zip(*pairs, strict=True))
    return f"{1e9 * mine / n / N_TREES:.2f}" + "".join(f" /{ratio:.3f}" for ratio in ratios)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of documents")
    sizes = parser.parse_args().sizes
    dx.set_threads(1)
    has_catboost = importlib.util.find_spec("catboost") is not None
    print(f"{binding.get_host_cpu_name()}, LightGBM {lightgbm.__version__}" + "; CatBoost" * has_catboost)
    print(f"{'':34}" + "".join(f"{n:>20,}" for n in sizes))
    models: dict[str, tuple[Callable[[], Trees], int, bool]] = {
        f"oblivious, depth {depth}": (partial(oblivious, depth), depth, False) for depth in (5, 3, 7, 10)
    }
    models |= {f"{n} leaves": (partial(leaf_wise, n, by_class=False), 5, False) for n in (31, 63, 255)}
    models["31 leaves, categories"] = partial(leaf_wise, 31, by_class=True), 5, True
    for name, (grow, depth, by_class) in models.items():
        trees = grow()
        peer = lightgbm.Booster(model_str=trees.to_lightgbm())
        theirs = catboost(depth, by_class=by_class) if has_catboost else None
        for kind in (np.float32, np.float64):
            cells = []
            for n in sizes:
                X = rows_of(n, kind, by_class=by_class)
                assert trees.predict(X).tobytes() == peer.predict(X, num_threads=1).tobytes()
                peers = [partial(peer.predict, X, num_threads=1), *([theirs(X)] if theirs else [])]
                cells.append(compared(partial(trees.predict, X), peers, n))
            print(f"{name + ', ' + kind.__name__:34}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
