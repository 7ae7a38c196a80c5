"""The importance of all features of large data: ``python -m benchmarks explain`` prints seconds.

The data have 240,000 documents of 2,000 queries with 136 features. Every feature is shuffled once, which is
the default for data of this size. "again" is what the same costs if every shuffle scales all features and
scores all documents again, measured on 5 features. The goal is a minute.

Then contributions: the largest difference between their sum and the difference of scores, over the standard
deviation of the scores of the query, for ten documents compared with a list of 120; and the seconds.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import directrix as dx
from directrix.data import make_linear
from directrix.experiments import permutation_importance
from directrix.rankers.contributions import Contributions
from directrix.rankers.training import values_of

_SAMPLE = 5
_TRAINED_ON = 200
RANKERS = {
    "linear": dx.LinearRanker("ListNet", max_iter=10),
    "linear, scaled by query": dx.LinearRanker("ListNet", scale="query-percentile", max_iter=10),
    "network of 64, 32": dx.MLPRanker("ListNet", hidden=(64, 32), scale="standard", max_iter=3),
    "300 trees": dx.BoostedRanker(n_trees=300, patience=None),
}
NETWORKS = {"network, tanh": dx.MLPRanker("ListNet", hidden=(64, 32), activation="tanh", max_iter=3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=2000, help="number of queries of 120 documents")
    options = parser.parse_args()
    q, _ = make_linear(options.queries, 120, 136, seed=0)
    print(f"{'':24} {'seconds':>8} {'again':>8} {'ratio':>6}")
    for name, ranker in RANKERS.items():
        ranker.fit_queries(q.take(np.arange(min(_TRAINED_ON, q.n_queries))), measure="nDCG@10")
        permutation_importance(ranker, q.take([0]), n_repeats=1, n_features=1)  # compiles
        begun = time.perf_counter()
        permutation_importance(ranker, q, n_repeats=1)
        seconds = time.perf_counter() - begun
        again = _again(ranker, q) * q.n_features / _SAMPLE
        print(f"{name:24} {seconds:8.1f} {again:8.1f} {again / seconds:6.1f}", flush=True)
    print(f"\n{'':24} {'sum off':>8} {'seconds':>8}")
    q = q.take(np.arange(min(_TRAINED_ON, q.n_queries)))
    for name, ranker in (RANKERS | NETWORKS).items():
        ranker.fit_queries(q, measure="nDCG@10")
        contributions, query = Contributions(ranker, q), q.take([0])
        begun, scores = time.perf_counter(), ranker.predict_queries(query)
        parts = contributions.of(query, np.argsort(-scores)[:10], slice(None))
        off = parts.sum(axis=1) - (np.sort(scores)[::-1][:10] - scores.mean())
        print(
            f"{name:24} {np.abs(off).max() / scores.std():8.0e} {time.perf_counter() - begun:8.2f}",
            flush=True,
        )


def _again(ranker: object, q: dx.Queries) -> float:
    begun, rng = time.perf_counter(), np.random.default_rng(0)
    query = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    for column in range(_SAMPLE):
        features = q.features.copy()
        features[:, column] = features[np.lexsort((rng.random(q.n_docs), query)), column]
        scores = ranker.predict_queries(replace(q, features=features))  # type: ignore[attr-defined]
        values_of(ranker.measure_, scores, q)  # type: ignore[attr-defined]
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
