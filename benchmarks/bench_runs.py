"""Runs as features on TREC-7: where thresholds lie, and seconds of SVMAcc.

    python benchmarks/bench_runs.py [--data DATA] [--splits 10]

Thresholds: `RankSVM` with l2 = 10 on steps of 23 runs, trained on 20 topics, mean AP of the other 30 as
trec_eval counts it, over random splits; nothing is chosen. SVMAcc: one training set of 10 topics.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import directrix as dx
from directrix.papers.yue2007_data import average_precision

Rows = list[np.ndarray]
BINS = (5, 10, 50)


def placed(train: dx.data.RunScores, bins: int) -> Iterator[tuple[str, Rows]]:
    """Thresholds of every run, in three ways."""
    columns = [column[~np.isnan(column)].astype(float) for column in train.scores.T]
    yield "even", [np.linspace(c.min(), c.max(), bins + 1)[:-1] for c in columns]
    yield "quantiles", [np.unique(np.quantile(c, np.arange(bins) / bins)) for c in columns]
    yield "half and half", train.thresholds(bins)


def fitted_ap(train: dx.data.RunScores, test: dx.data.RunScores, rows: Rows) -> float:
    ranker = dx.StumpRanker("RankSVM", trainer="lbfgs", l2=10.0, max_iter=60, thresholds=rows)
    scores = ranker.fit_queries(train.queries()).predict_queries(test.queries())
    return float(average_precision(test, scores).mean())


def compare_thresholds(scores: dx.data.RunScores, splits: int) -> None:
    found: dict[tuple[str, int], list[float]] = {}
    best = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(scores.n_queries)
        train, test = scores.take(np.sort(order[:20])), scores.take(np.sort(order[20:]))
        values = test.queries().features
        best.append(max(average_precision(test, values[:, f]).mean() for f in range(values.shape[1])))
        for bins in BINS:
            for name, rows in placed(train, bins):
                found.setdefault((name, bins), []).append(fitted_ap(train, test, rows))
    print(f"mean AP of 30 topics, {splits} splits; the best single run there has {np.mean(best):.4f}")
    print("thresholds     " + "".join(f"{bins:>8}" for bins in BINS))
    for name in ("even", "quantiles", "half and half"):
        print(f"{name:15}" + "".join(f"{np.mean(found[name, bins]):8.4f}" for bins in BINS))


def time_svmacc(scores: dx.data.RunScores) -> None:
    from directrix.objectives.build import make_objective

    train = scores.take(np.sort(np.random.default_rng(0).permutation(scores.n_queries)[:10]))
    model = dx.models.StumpModel(train.thresholds(50))
    objective: Any = make_objective(train.queries(), "ApproxAP", model)
    n_relevant = int((train.labels > 0).sum())
    print(f"\nSVMAcc: {train.n_docs} documents, {n_relevant} relevant, {model.n_params} steps")
    print("C          loss           balanced  seconds  iterations  status")
    for C in (1e-6, 1e-4, 1e-2, 1.0, 100.0):
        for loss, balanced in (("squared_hinge", False), ("squared_hinge", True), ("hinge", False)):
            trainer = dx.trainers.SVMAcc(C=C, loss=loss, balanced=balanced)
            begun = time.perf_counter()
            result = trainer.minimize(objective, np.zeros(model.n_params))
            seconds, steps = time.perf_counter() - begun, result.counts["iterations"]
            print(
                f"{C:<10g} {loss:14} {balanced!s:8} {seconds:8.2f}  {steps:10}  {result.status}", flush=True
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", default=os.environ.get("DIRECTRIX_DATA", "../shared/data"))
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    folder = Path(given.data) / "trec7"
    if not folder.is_dir():
        print(f"no data in {folder}; set DIRECTRIX_DATA")
        return 0
    begun = time.perf_counter()
    scores = dx.data.runs_as_features(sorted((folder / "runs").glob("*.gz")), folder / "qrels.trec7.txt")
    print(f"{scores}, read in {time.perf_counter() - begun:.1f} s")
    compare_thresholds(scores, given.splits)
    time_svmacc(scores)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
