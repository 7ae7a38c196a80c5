"""A model behind a search engine: ``python -m benchmarks serving`` prints how soon and how fast it ranks.

"load" is the time from the import of directrix to a loaded model in a new process, without that of NumPy,
and "first" that of the first list; the best of several processes. "rank" and "predict" are microseconds for
a list of 100 documents, warm, and "LightGBM" those of its own `Booster.predict` for the same trees and bits.
All times are those of the processor on one thread, so that other work of the machine counts little. The goals
are 0.1 s to load, 50 us for a linear model, 60 us for 300 trees, and 40 more for `predict` of a ranker.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lightgbm
import numpy as np

import directrix as dx

N_DOCS = 100
MODELS = {
    "linear": (dx.LinearRanker(), 136),
    "linear, standard": (dx.LinearRanker(scale="standard"), 136),
    "network of 64, 32": (dx.MLPRanker(hidden=(64, 32), max_iter=5), 136),
    "300 trees": (dx.BoostedRanker(n_trees=300), 136),
    "300 trees of 5": (dx.BoostedRanker(n_trees=300), 5),
}
"""Rankers, each with a number of features."""

CODE = """
import sys, time
import numpy as np
X = np.random.default_rng(0).random((100, int(sys.argv[2])))
begin = time.process_time()
import directrix as dx
scorer = dx.load_scorer(sys.argv[1])
loaded = time.process_time()
imported = {"numba", "scipy", "sklearn"} & sys.modules.keys()
scorer.rank(X)
print(loaded - begin, time.process_time() - loaded, "NumPy" if not imported else ",".join(sorted(imported)))
"""


def cold(path: Path, n_features: int, runs: int) -> tuple[float, float, str]:
    """Seconds to load a model and for its first list in a new process, and what loading imports."""
    command = [sys.executable, "-c", CODE, str(path), str(n_features)]
    printed = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(runs)
    ]
    load, first, imports = zip(*(line.split() for line in printed), strict=True)
    return min(map(float, load)), min(map(float, first)), imports[0]


def microseconds(work: Callable[[], object]) -> float:
    timer = timeit.Timer(work, timer=time.process_time)
    timer.timeit(5)
    return 1e6 * min(timer.repeat(40, 20)) / 20


def lightgbm_microseconds(ranker: dx.BoostedRanker, X: np.ndarray) -> float:
    booster = lightgbm.Booster(model_str=ranker.trees_.to_lightgbm())
    assert (booster.predict(X) == ranker.predict(X)).all()
    return microseconds(partial(booster.predict, X, num_threads=1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7, help="processes; default 7")
    runs = parser.parse_args().runs
    dx.set_threads(1)
    heads = f"{'load s':>8}{'first s':>9}{'rank us':>9}{'predict us':>12}{'LightGBM us':>13}"
    print(f"{'':20}{heads}  imported to load")
    with tempfile.TemporaryDirectory() as folder:
        for name, (ranker, n_features) in MODELS.items():
            q, _ = dx.data.make_linear(n_queries=50, docs_per_query=50, n_features=n_features, seed=0)
            X = np.random.default_rng(0).random((N_DOCS, n_features))
            path = Path(folder, "model.json")
            ranker.fit_queries(q).save(path)
            load, first, imports = cold(path, n_features, runs)
            rank = microseconds(partial(dx.load_scorer(path).rank, X))
            predict = microseconds(partial(ranker.predict, X))
            peer = f"{lightgbm_microseconds(ranker, X):13.1f}" if "trees" in name else f"{'':13}"
            print(f"{name:20}{load:8.3f}{first:9.3f}{rank:9.1f}{predict:12.1f}{peer}  {imports}", flush=True)


if __name__ == "__main__":
    main()
