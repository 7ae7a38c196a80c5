"""Boosting and the measure itself on LETOR collections, beside the published figures.

    python benchmarks/bench_boosting.py [--data DATA] [--quick]

DATA as in bench_letor.py. Every choice (round, sweep) is made by the measure on the fold's validation
queries; all measures follow the convention letor3, test means over the folds. ``--quick``: one fold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench_letor import REPORTED, Split, absent, add_data, read_folds, versions

import directrix as dx
from directrix.models.linear import rows_of
from directrix.objectives.objective import Objective

PUBLISHED = {
    ("OHSUMED", "AdaRank AP"): ".449/.443",
    ("OHSUMED", "AdaRank nDCG@10"): ".450/.450",
    ("OHSUMED", "RankBoost"): ".441/.430",
    ("OHSUMED", "FRank"): ".444/.443",
    ("MQ2008", "AdaRank AP"): ".476",
    ("MQ2008", "AdaRank nDCG@10"): ".482",
    ("MQ2008", "RankBoost"): ".478",
}
"""AP / nDCG@10 of the LETOR baselines (LETOR 3.0 for OHSUMED, LETOR 4.0 for MQ2008)."""


def objective(fold: Split, model: str) -> Objective:
    if model == "linear":
        return dx.linear_objective(fold.train, "ApproxNDCG")
    return Objective(fold.train, "ApproxNDCG", dx.StumpModel(dx.quantile_thresholds(fold.train.features, 32)))


def values(objective: Objective, q: dx.Queries, params: np.ndarray) -> list[float]:
    scores, _ = objective.model.forward(params, rows_of(q.features, 0, q.n_docs))
    return [float(REPORTED[name](scores, q.labels, q.qptr).mean()) for name in ("AP", "nDCG@10")]


def ways() -> dict[str, tuple[str, Callable[[str], Any], bool]]:
    """Name -> (model, trainer for a target, whether it starts from the regression)."""
    return {
        "AdaRank AP": ("linear", lambda _: dx.AdaRank("AP"), False),
        "AdaRank AP, paper": ("linear", lambda _: dx.AdaRank("AP", repeats=None), False),
        "AdaRank nDCG@10": ("linear", lambda _: dx.AdaRank("nDCG@10"), False),
        "AdaRank nDCG@10, paper": ("linear", lambda _: dx.AdaRank("nDCG@10", repeats=None), False),
        "Coordinate ascent": ("linear", lambda target: dx.CoordinateAscent(target), False),
        "  from the regression": ("linear", lambda target: dx.CoordinateAscent(target), True),
        "RankBoost": ("stumps", lambda _: dx.RankBoost(300), False),
        "FRank": ("stumps", lambda _: dx.FRank(150), False),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data(parser)
    parser.add_argument("--quick", action="store_true", help="the first fold only")
    options = parser.parse_args()
    if absent(options.data):
        return 0
    print(versions())
    for collection in ("OHSUMED", "MQ2008"):
        folds = read_folds(options.data, collection)[: 1 if options.quick else None]
        for place, target in enumerate(("AP", "nDCG@10")):
            print(f"\n== {collection}, {len(folds)} fold(s), rounds chosen by {target}")
            print(f"{'':26}{'AP':>8}{'nDCG@10':>9}{'rounds':>8}{'seconds':>9}   published AP/nDCG@10")
            for name, (model, trainer, regression) in ways().items():
                begin, rows = time.perf_counter(), []
                for fold in folds:
                    obj = objective(fold, model)
                    start = np.zeros(obj.model.n_params if model == "stumps" else fold.train.n_features)
                    if regression:
                        start = dx.regression_start(fold.train)
                    judge = lambda w, obj=obj, fold=fold: values(obj, fold.vali, w)[place]  # noqa: B023, E731
                    result = dx.BestSoFar(trainer(target), judge).minimise(obj, start)
                    rows.append([*values(obj, fold.test, result.params), result.counts["best"]])
                seconds = (time.perf_counter() - begin) / len(folds)
                ap, ndcg, rounds = np.mean(rows, axis=0)
                known = PUBLISHED.get((collection, name), "")
                print(f"{name:26}{ap:8.4f}{ndcg:9.4f}{rounds:8.1f}{seconds:9.1f}   {known}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
