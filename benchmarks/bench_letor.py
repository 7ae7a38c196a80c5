"""Five-fold test means on LETOR collections: what training for a measure gains.

    python benchmarks/bench_letor.py [--data DATA]

DATA holds letor/OHSUMED/Fold1/train.txt and so on; by default the folder that the environment
variable DIRECTRIX_DATA names, else ../shared/data beside the project. Every choice (setting of the
grid, iteration, single feature) is made by the measure on the fold's validation queries; test
queries are only ever measured. All measures follow the convention letor3 of the collections' own
script, with queries without relevant documents as 0. ``+-`` is the standard error of the mean over
all test queries.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from directrix.rankers.selection.search import search

import directrix as dx

TARGETS = (("OHSUMED", "nDCG@10"), ("OHSUMED", "AP"), ("MQ2008", "nDCG@10"), ("MQ2008", "AP"))
REPORTED = {
    "nDCG@10": dx.measure("nDCG@10").under("letor3"),
    "AP": dx.measure("AP").under("letor3"),
    "nDCG": dx.measure("nDCG").under("letor3"),
    "nDCG/log2": dx.measure("nDCG").under("letor4"),
}
"""Columns of the tables; letor4 differs from letor3 in its discount, 1/log2(1 + rank)."""
SURROGATES = {"nDCG@10": (dx.ApproxNDCG,), "AP": (dx.ApproxNDCG, dx.ApproxAP)}
ALPHA, L2 = (3.0, 10.0, 30.0), (1e-4, 1e-3)


class Split(NamedTuple):
    """One fold, read."""

    train: dx.Queries
    vali: dx.Queries
    test: dx.Queries


class Fit(NamedTuple):
    """Chosen weights: in words, their validation value, themselves."""

    label: str
    valid: float
    params: np.ndarray


Way = Callable[[Split, Any], Fit]
Means = dict[str, dict[str, float]]


def read_folds(data: Path, collection: str) -> list[Split]:
    folds = dx.data.letor_folds(data / "letor" / collection)
    return [Split(*map(dx.read_letor, fold)) for fold in folds]


def per_query(measure: Any, q: dx.Queries, params: np.ndarray) -> np.ndarray:
    return measure(q.features @ params.astype(q.features.dtype), q.labels, q.qptr)


def mean(measure: Any, q: dx.Queries, params: np.ndarray) -> float:
    return float(per_query(measure, q, params).mean())


def best(fits: Iterable[Fit]) -> Fit:
    """Return the one that is highest on the validation queries; the earliest of equals."""
    return max(fits, key=lambda fit: fit.valid)


def trained(trainer: Any, objective: Any, start: np.ndarray, judge: Any, label: str) -> Fit:
    """Train, and keep the step that the judge prefers; its number goes into the label."""
    result = dx.trainers.BestSoFar(trainer, judge).minimize(objective, start)
    top = max(result.trace, key=lambda row: row["score"])
    return Fit(f"{label} step={top['iteration']}", top["score"], result.params)


def single_feature(fold: Split, measure: Any) -> Fit:
    def fit(feature: int, sign: int) -> Fit:
        w = np.zeros(fold.train.n_features)
        w[feature] = sign
        return Fit(f"feature {sign * (feature + 1)}", mean(measure, fold.vali, w), w)

    return best(fit(feature, sign) for feature in range(fold.train.n_features) for sign in (1, -1))


def regression(fold: Split, measure: Any) -> Fit:
    w = dx.trainers.regression_start(fold.train)
    return Fit("", mean(measure, fold.vali, w), w)


def grid(fold: Split, measure: Any, methods: Sequence[str]) -> Fit:
    """What ``directrix train --method`` does with each of the methods, and the best of them."""
    searches = [search(fold.train, fold.vali, method=method, measure=measure) for method in methods]
    return best(Fit(found.chosen.label, found.chosen.valid, found.ranker.coef_) for found in searches)


def best_iterate(fold: Split, measure: Any, surrogates: Sequence[Any]) -> Fit:
    """L-BFGS from two starts, and of every training the iterate that is best on validation queries."""
    judge = partial(mean, measure, fold.vali)
    starts = {"regression": dx.trainers.regression_start(fold.train), "zero": np.zeros(fold.train.n_features)}
    fits = []
    for kind, alpha, l2, start in itertools.product(surrogates, ALPHA, L2, starts):
        label = f"{kind.__name__} alpha={alpha:g} l2={l2:g} from {start}"
        objective = dx.linear_objective(fold.train, kind(alpha=alpha), l2=l2)
        fits.append(trained(dx.LBFGS(max_iter=100), objective, starts[start], judge, label))
    return best(fits)


def run(folds: Sequence[Split], name: str, ways: dict[str, Way], *, detail: str) -> Means:
    """Print a table of test means for every way, and of the folds for the one in ``detail``."""
    measure = REPORTED[name]
    lines, means = [], {}
    for way, choose in ways.items():
        begin = time.perf_counter()
        pairs = [(fold, choose(fold, measure)) for fold in folds]
        seconds = time.perf_counter() - begin
        tests = [per_query(measure, fold.test, fit.params) for fold, fit in pairs]
        means[way] = {
            text: float(np.mean([mean(m, fold.test, fit.params) for fold, fit in pairs]))
            for text, m in REPORTED.items()
        }
        every = np.concatenate(tests)
        error = every.std(ddof=1) / len(every) ** 0.5
        valid, test = np.mean([fit.valid for _, fit in pairs]), np.mean([test.mean() for test in tests])
        others = "".join(f"{value:11.4f}" for value in means[way].values())
        lines.append(f"{way:24}{valid:12.4f}{test:10.4f} +-{error:6.4f}{others}{seconds:9.1f}")
        if way == detail:
            print(f"\n{'fold':6}{way + ' chose':60}{'validation':>12}{'test':>10}")
            for number, ((_, fit), values) in enumerate(zip(pairs, tests, strict=True), 1):
                print(f"{number:<6}{fit.label:60}{fit.valid:12.4f}{values.mean():10.4f}")
    heads = "".join(f"{text:>11}" for text in REPORTED)
    print(f"\n{'mean of the folds':24}{'validation':>12}{'test':>10}{'':9}{heads}{'seconds':>9}")
    print("\n".join(lines))
    return means


def add_data(parser: argparse.ArgumentParser) -> None:
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))


def arguments(doc: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data(parser)
    return parser.parse_args()


def absent(data: Path) -> bool:
    """Say so if the data are not there."""
    if (data / "letor" / "OHSUMED").is_dir():
        return False
    print(f"not measured: no letor/OHSUMED in {data}; give --data or set DIRECTRIX_DATA")
    return True


def versions() -> str:
    return (
        f"directrix {dx.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, {dx.get_threads()} thread(s)"
    )


def main() -> int:
    options = arguments(__doc__)
    if absent(options.data):
        return 0
    print(versions())
    folds = {name: read_folds(options.data, name) for name in dict(TARGETS)}
    for collection, name in TARGETS:
        print(f"\n== {collection}: {len(folds[collection])} folds, selection by {name}")
        ways: dict[str, Way] = {
            "best single feature": single_feature,
            "regression start": regression,
            "grid": partial(grid, methods=[kind.__name__ for kind in SURROGATES[name]]),
            "best iterate, 2 starts": partial(best_iterate, surrogates=SURROGATES[name]),
        }
        run(folds[collection], name, ways, detail="grid")
    return 0


if __name__ == "__main__":
    sys.exit(main())
