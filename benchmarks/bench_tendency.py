"""Tendency correlation of every surrogate over its parameters, and what it costs.

    python benchmarks/bench_tendency.py [--data DATA] [--models 100]

1. Seconds for 100 models, the 106 queries of OHSUMED and 12 surrogates, kernels warmed; the goal is 60 s on
   two threads.
2. eps* of every surrogate in the list of ``directrix lab tendency`` against the measure that it stands for:
   on OHSUMED, and with documents whose features are equal to those of another one left out. No linear model
   parts these, so that they tie however steep a sigmoid is.

DATA as in letor.py. Weights are uniform on the sphere of radius 1: alpha and sigma are in that unit.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import letor
import numpy as np

import directrix as dx
from directrix.experiments.tendency_on_data import EVERY_SURROGATE, random_models, surrogate_tendencies

TWELVE = (
    *("ApproxAP(alpha=100, beta=100)", "ApproxNDCG(alpha=100)", "ApproxPrecision(k=10, alpha=100)"),
    *("ApproxRR(alpha=100)", "ApproxERR(alpha=100)", "ApproxKendall(alpha=100)"),
    *("SoftNDCG(sigma=1e-2)", "SmoothAP(sigma=1e-4)", "SVMMap", "PermuRank", "SVMNdcg", "Dorm"),
)
GOAL = 60.0


def pooled(data: Path) -> dx.Queries:
    """All queries: the test queries of the five folds."""
    folds = [dx.read_letor(fold.test) for fold in dx.data.letor_folds(data / "letor" / "OHSUMED")]
    qid = [np.repeat(q.query_ids, np.diff(q.qptr)) for q in folds]
    X, y = np.vstack([q.features for q in folds]), np.concatenate([q.labels for q in folds])
    return dx.Queries.from_arrays(X, y, qid=np.concatenate(qid))


def without_twins(q: dx.Queries) -> dx.Queries:
    """Keep the first of the documents of a query that have equal features."""
    query = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    rows = np.sort(np.unique(np.column_stack([query, q.features]), axis=0, return_index=True)[1])
    return dx.Queries.from_arrays(q.features[rows], q.labels[rows], qid=query[rows])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--models", type=int, default=100)
    options = parser.parse_args()
    if letor.absent(options.data):
        return 0
    print(letor.versions())
    q = pooled(options.data)
    models = random_models(options.models, q.n_features)
    surrogate_tendencies(TWELVE, q.take([0, 1]), models=models[:2])  # compiles
    begun = time.perf_counter()
    surrogate_tendencies(TWELVE, q, models=models)
    seconds = time.perf_counter() - begun
    missed = "" if seconds < GOAL else ", missed"
    threads = dx.get_threads()
    print(
        f"\n{options.models} models x {q.n_queries} queries x {len(TWELVE)} surrogates: {seconds:.1f} s on "
        f"{threads} threads (goal {GOAL:.0f} s{missed})"
    )
    apart = without_twins(q)
    print(f"\neps* with all {q.n_docs:,} documents, and with {apart.n_docs:,}, none the twin of another")
    print(f"{'surrogate':45}{'measure':>12}{'all':>9}{'apart':>9}{'k':>10}{'seconds':>9}")
    for text in EVERY_SURROGATE:
        begun = time.perf_counter()
        every, parted = (surrogate_tendencies([text], data, models=models)[0] for data in (q, apart))
        seconds, name = time.perf_counter() - begun, dx.surrogate(text).measure.name
        print(
            f"{text:45}{name:>12}{every.coefficient:9.4f}{parted.coefficient:9.4f}{every.k:10.4f}{seconds:9.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
