"""A model behind a search engine: ``python -m benchmarks serving`` prints how soon and how fast it ranks.

"load" is the time from the import of directrix to a loaded model in a new process, without that of NumPy,
and "first" that of the first list; the best of several processes. "rank" and "predict" are microseconds for
a list of 100 documents and 136 features, warm. The goals are 0.1 s to load, and 50 us for a linear model,
1 ms for 300 trees.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path

import numpy as np

import directrix as dx

N_DOCS, N_FEATURES = 100, 136
MODELS = {
    "linear": dx.LinearRanker(),
    "linear, standard": dx.LinearRanker(scale="standard"),
    "network of 64, 32": dx.MLPRanker(hidden=(64, 32), max_iter=5),
    "300 trees": dx.BoostedRanker(n_trees=300),
}
CODE = """
import sys, time
import numpy as np
X = np.random.default_rng(0).random((100, 136))
begin = time.perf_counter()
import directrix as dx
scorer = dx.load_scorer(sys.argv[1])
loaded = time.perf_counter()
imported = {"numba", "scipy", "sklearn"} & sys.modules.keys()
scorer.rank(X)
print(loaded - begin, time.perf_counter() - loaded, "NumPy" if not imported else ",".join(sorted(imported)))
"""


def cold(path: Path, runs: int) -> tuple[float, float, str]:
    """Seconds to load a model and for its first list in a new process, and what loading imports."""
    command = [sys.executable, "-c", CODE, str(path)]
    printed = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(runs)
    ]
    load, first, imports = zip(*(line.split() for line in printed), strict=True)
    return min(map(float, load)), min(map(float, first)), imports[0]


def microseconds(rank: timeit.Timer) -> float:
    rank.timeit(5)
    return 1e6 * min(rank.repeat(10, 50)) / 50


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=7, help="processes; default 7")
    runs = parser.parse_args().runs
    q, _ = dx.data.make_linear(n_queries=50, docs_per_query=50, n_features=N_FEATURES, seed=0)
    X = np.random.default_rng(0).random((N_DOCS, N_FEATURES))
    print(f"{'':20}{'load s':>8}{'first s':>9}{'rank us':>9}{'predict us':>12}{'ratio':>7}  imported to load")
    with tempfile.TemporaryDirectory() as folder:
        for name, ranker in MODELS.items():
            path = Path(folder, "model.json")
            ranker.fit_queries(q).save(path)
            load, first, imports = cold(path, runs)
            loaded = dx.load_scorer(path)
            rank = microseconds(timeit.Timer(lambda loaded=loaded: loaded.rank(X)))
            predict = microseconds(timeit.Timer(lambda ranker=ranker: ranker.predict(X)))
            times = f"{load:8.3f}{first:9.3f}{rank:9.1f}{predict:12.1f}{predict / rank:7.1f}"
            print(f"{name:20}{times}  {imports}", flush=True)


if __name__ == "__main__":
    main()
