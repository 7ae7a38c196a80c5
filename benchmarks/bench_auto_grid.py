"""Compare grids for ApproxRank, as in ``directrix train --method ApproxNDCG``, without the test folds.

    python benchmarks/bench_auto_grid.py [--data DATA] [--splits 2]

Training and validation queries of every official fold are put together and split anew, 60/20/20, a
few times. The middle part chooses from the grid, the last part is measured. Printed: the mean over
all splits, and the mean difference from the first grid with its standard error over splits. Splits
of one collection share queries, so the error is on the low side. Data as in bench_letor.py.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any, NamedTuple

import bench_letor as letor
import numpy as np

import directrix as dx

ALPHA, L2 = (3.0, 10.0, 30.0), (1e-5, 1e-4, 1e-3, 1e-2)
GOALS = (("OHSUMED", "nDCG@10"), ("OHSUMED", "AP"), ("MQ2008", "nDCG@10"), ("MQ2008", "AP"))


class Grid(NamedTuple):
    """Candidates, and which iterate of each: the last, or the best on the choosing part."""

    alpha: tuple[float, ...]
    l2: tuple[float, ...]
    iterate: str

    def __str__(self) -> str:
        axes = (" ".join(f"{value:g}" for value in axis) for axis in (self.alpha, self.l2))
        return "alpha {} x l2 {}".format(*axes) + f", {self.iterate} iterate"


GRIDS = tuple(
    Grid(alpha, l2, iterate)
    for iterate in ("last", "best")
    for alpha, l2 in (
        ((3.0, 10.0), L2),
        ((3.0, 10.0, 30.0), L2),
        ((3.0, 10.0, 30.0), (1e-4, 1e-3)),
        ((10.0, 30.0), (1e-4, 1e-3)),
        ((10.0,), (1e-4,)),
    )
)


def joined(first: dx.Queries, second: dx.Queries) -> dx.Queries:
    sizes = np.concatenate([np.diff(q.qptr) for q in (first, second)])
    features, labels = (
        np.concatenate([getattr(q, name) for q in (first, second)]) for name in ("features", "labels")
    )
    return dx.Queries.from_arrays(features, labels, qid=np.repeat(np.arange(len(sizes)), sizes))


def path(train: dx.Queries, parts: list[dx.Queries], surrogate: Any, l2: float, measures: list[Any]) -> Any:
    """Means of every measure on every part at every iterate: (iterates, measures, parts)."""
    rows = []

    def watch(step: Any) -> bool:
        rows.append([[letor.mean(m, part, step.params) for part in parts] for m in measures])
        return False

    objective = dx.linear_objective(train, surrogate, l2=l2)
    dx.LBFGS(max_iter=100).minimize(objective, dx.trainers.regression_start(train), callback=watch)
    return np.array(rows)


def outcome(paths: dict[Any, Any], grid: Grid, kinds: tuple[Any, ...], measure: int) -> float:
    """Value on the last part of what the grid chooses on the middle part."""
    choices = []
    for key in itertools.product(kinds, grid.alpha, grid.l2):
        values = paths[key][:, measure]
        choices.append(values[-1] if grid.iterate == "last" else max(values, key=lambda row: row[0]))
    return float(max(choices, key=lambda row: row[0])[1])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--splits", type=int, default=2, help="splits of every fold")
    options = parser.parse_args()
    if letor.absent(options.data):
        return 0
    print(letor.versions())
    found: dict[Any, list[float]] = {}
    for collection in dict(GOALS):
        names = [name for where, name in GOALS if where == collection]
        measures = [letor.REPORTED[name] for name in names]
        for fold, seed in itertools.product(
            letor.read_folds(options.data, collection), range(options.splits)
        ):
            train, *parts = dx.data.split_queries(joined(fold.train, fold.vali), (0.6, 0.2, 0.2), seed=seed)
            paths = {
                (kind, alpha, l2): path(train, parts, kind(alpha=alpha), l2, measures)
                for kind, alpha, l2 in itertools.product(letor.SURROGATES["AP"], ALPHA, L2)
            }
            for grid, (number, name) in itertools.product(GRIDS, enumerate(names)):
                value = outcome(paths, grid, letor.SURROGATES[name], number)
                found.setdefault((grid, collection, name), []).append(value)
    heads = "".join(f"{' '.join(goal):>17}" for goal in GOALS)
    print(f"\n{'':58}{heads}{'mean':>9}{'against the first':>21}")
    first = np.concatenate([found[GRIDS[0], *goal] for goal in GOALS])
    for grid in GRIDS:
        values = [np.array(found[grid, *goal]) for goal in GOALS]
        gain = np.concatenate(values) - first
        error = gain.std(ddof=1) / len(gain) ** 0.5
        means = "".join(f"{v.mean():17.4f}" for v in values)
        print(f"{grid!s:58}{means}{np.mean(values):9.4f}{gain.mean():+13.4f} +-{error:5.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
