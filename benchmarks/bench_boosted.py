"""Boosted trees: any surrogate against LightGBM's own lambdarank, with the same trees.

    python benchmarks/bench_boosted.py [--data DATA] [--collection MQ2008] [--seeds 3] [--l2 0 | --defaults]
                                       [--rows YetiRank ListNet ...]

Collections are LETOR's folders, and "cubic" (`make_cubic`, 1,200 queries) and "web" (`make_web`, 1,650), of
which three are drawn as folds. (`bench_quality` has `BoostedRanker` as it comes.)

Every row has the same trees (15 leaves, at least 20 documents in each, learning rate .1, 80 % of
documents and features per tree, and ``--l2``); only gradient and curvature differ. The number of trees is the
best on the fold's validation queries by exact nDCG@10 (convention letor3), at most 200, patience 30. Test
queries are only measured. With ``--defaults`` the trees are those of `BoostedRanker(oblivious=False)`, and
LightGBM's objective has them too.
``+-`` is the standard deviation over the seeds of the mean over the folds: what sampling alone moves.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from letor import Split, absent, add_data, read_folds, versions
from web import make_web

import directrix as dx

GOAL = dx.measure("nDCG@10").under("letor3")
TREES = {"n_trees": 200, "patience": 30, "learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 20}
TREES |= {"l2": 0.0, "subsample": 0.8, "feature_fraction": 0.8}
ROWS: dict[str, Any] = {
    "LightGBM lambdarank": "lambdarank",
    **{f"ApproxNDCG(alpha={a:g})": dx.ApproxNDCG(alpha=a) for a in (1.0, 10.0, 100.0)},
    **{
        text: text
        for text in (
            "Lambda",
            "Lambda('nDCG@10')",
            "Lambda('nDCG@10', pairs='missed')",
            "Lambda('nDCG@10', pairs='missed-level')",
            "ApproxAP",
            "SmoothNDCG",
            "SoftNDCG",
            "RankNet",
            "LambdaLoss",
            "LambdaLoss(k=10)",
            "LambdaLoss(version='NDCG-Loss2')",
            "ListNet",
            "XENDCG",
            "Gumbel('ListNet')",
            "Gumbel('ApproxNDCG(alpha=1)')",
            "Gumbel('LambdaLoss', samples=3)",
            "YetiRank",
            "YetiRank(weights='measure')",
        )
    },
}
GOAL_BELOW = {"ApproxNDCG(alpha=10)": 0.005, "Lambda": 0.005, "YetiRank": 0.0}
"""How far below LightGBM's own objective these may be."""


def artificial(name: str, seeds: Iterable[int] = (101, 102, 103)) -> list[Split]:
    """A data set for every seed, in queries to train, validate and test."""
    folds = []
    for seed in seeds:
        if name == "cubic":
            q, sizes = dx.data.make_cubic(1200, 50, 20, label_noise=0.1, seed=seed), (600, 200, 400)
        else:
            q, sizes = make_web(1650, seed=seed), (800, 250, 600)
        ends = np.cumsum([0, *sizes])
        folds.append(Split(*(q.take(np.arange(*pair)) for pair in itertools.pairwise(ends))))
    return folds


def row(folds: list[Any], surrogate: Any, seeds: int, trees: dict[str, Any]) -> tuple[float, ...]:
    """Mean validation and test value, spread over seeds, mean number of trees, seconds."""
    begin, found = time.perf_counter(), []
    for seed, fold in itertools.product(range(seeds), folds):
        ranker = dx.BoostedRanker(surrogate, random_state=seed, **trees)
        ranker.fit_queries(fold.train, fold.vali, measure=GOAL)
        test = GOAL(ranker.predict_queries(fold.test), fold.test.labels, fold.test.qptr).mean()
        best = ranker.result_.counts["best"]
        found.append((ranker.result_.trace[best]["score"], test, best))
    seconds = time.perf_counter() - begin
    valid, tests, n_trees = np.array(found).reshape(seeds, len(folds), 3).transpose(2, 0, 1)
    by_seed = tests.mean(axis=1)
    return valid.mean(), by_seed.mean(), by_seed.std(ddof=1) if seeds > 1 else np.nan, n_trees.mean(), seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data(parser)
    parser.add_argument("--collection", default="MQ2008")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--l2", type=float, default=TREES["l2"])
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--rows", nargs="+", default=ROWS, choices=ROWS, metavar="ROW")
    options = parser.parse_args()
    if options.collection in ("cubic", "web"):
        folds = artificial(options.collection)
    elif absent(options.data):
        return 0
    else:
        folds = read_folds(options.data, options.collection)
    trees = {"oblivious": False} if options.defaults else TREES | {"l2": options.l2}
    print(versions())
    print(f"\n{options.collection}: {len(folds)} folds, {options.seeds} seeds, nDCG@10")
    print(f"{'objective':42}{'validation':>12}{'test':>10}{'':9}{'trees':>7}{'seconds':>9}")
    tests = {}
    for name in options.rows:
        valid, tests[name], spread, n_trees, seconds = row(folds, ROWS[name], options.seeds, trees)
        figures = f"{valid:12.4f}{tests[name]:10.4f} +-{spread:6.4f}{n_trees:7.0f}{seconds:9.1f}"
        print(f"{name:42}{figures}", flush=True)
    own = tests.get("LightGBM lambdarank", np.nan)
    for name, below in GOAL_BELOW.items():
        if name in tests and not np.isnan(own):
            met = "met" if tests[name] >= own - below else "MISSED"
            print(f"goal {met}: {name} {tests[name] - own:+.4f} of LightGBM lambdarank, at least -{below}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
