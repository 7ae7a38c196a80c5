"""Trees of `lightgbm.dask` with our gradients and early stopping, on MQ2008, against those of one machine.

Type ``python benchmarks/bench_dask_trees.py``; MQ2008 is found through DIRECTRIX_DATA, or --data. For each
fold the training queries are cut into 7 uneven shards, one of them empty, and trained on clusters of 1 and 2
workers, separate processes on the loopback interface, and by LightGBM on one machine. Number of trees: the
best nDCG@10 of the validation queries. On the first fold each training on a cluster is repeated: how far the
scores are apart is LightGBM's own non-determinism.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from bench_cluster import dask

import directrix as dx
from directrix.interop.lightgbm import dask_arrays, early_stopping, metric, objective

MEASURE, ROUNDS = "nDCG@10", 50
SETTINGS: dict[str, Any] = {
    "n_estimators": 300,
    "learning_rate": 0.1,
    "num_leaves": 31,
    "min_child_weight": 20.0,
    "reg_lambda": 20.0,
    "verbose": -1,
    "n_jobs": 1,
}
CUTS = (0.0, 0.3, 0.32, 0.32, 0.5, 0.55, 0.9, 1.0)
"""Of the queries: 7 shards, the third empty."""


def sizes(q: dx.Queries) -> Any:
    """Return the number of documents of each query."""
    return np.diff(q.qptr)


def on_one_machine(train: dx.Queries, valid: dx.Queries) -> Any:
    """Return the fitted trees."""
    trees = lightgbm.LGBMRanker(objective=objective("ApproxNDCG"), metric="None", **SETTINGS)
    return trees.fit(
        train.features,
        train.labels,
        group=sizes(train),
        eval_set=[(valid.features, valid.labels)],
        eval_group=[sizes(valid)],
        eval_metric=metric(MEASURE),
        callbacks=[lightgbm.early_stopping(ROUNDS, verbose=False)],
    )


def on_dask(client: Any, train: Path, valid: Path) -> Any:
    """Return the fitted trees."""
    import lightgbm.dask as for_dask

    trees = for_dask.DaskLGBMRanker(client=client, objective=objective("ApproxNDCG"), **SETTINGS)
    stopping = early_stopping(valid, MEASURE, stopping_rounds=ROUNDS)
    with contextlib.redirect_stdout(io.StringIO()):  # which says that it looks for ports
        trees.fit(**dask_arrays(train), callbacks=[stopping])
    return trees.to_local()


def main() -> None:
    """Print the measure of the test queries, fold by fold."""
    warnings.filterwarnings("ignore")  # of lightgbm.dask, about ports
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))
    options = parser.parse_args()
    folder = options.data / "letor" / "MQ2008"
    if not folder.is_dir():
        print(f"not measured: no {folder}; give --data or set DIRECTRIX_DATA")
        return
    columns = ("one machine", "1 worker", "2 workers")
    print(f"{MEASURE} of the test queries (trees)")
    print(f"{'fold':<6}" + "".join(f"{column:>18}" for column in columns))
    values: list[list[float]] = []
    apart = dict.fromkeys((1, 2), 0.0)
    for fold in range(1, 6):
        train, valid, test = (
            dx.read_letor(folder / f"Fold{fold}" / f"{part}.txt") for part in ("train", "vali", "test")
        )
        with tempfile.TemporaryDirectory() as place:
            bounds = [round(cut * train.n_queries) for cut in CUTS]
            cut = [train.take(range(a, b)) for a, b in pairwise(bounds)]
            shards = dx.write_shards(cut, Path(place, "train"))
            judged = dx.write_shards(valid, Path(place, "valid"), n_shards=2)
            found = [on_one_machine(train, valid)]
            for n in apart:
                with dask(n) as client:
                    found.append(on_dask(client, shards, judged))
                    if fold == 1:
                        again = on_dask(client, shards, judged).predict(test.features)
                        apart[n] = float(np.abs(again - found[-1].predict(test.features)).max())
        row = [
            dx.evaluate(MEASURE, trees.predict(test.features), test.labels, qptr=test.qptr)[MEASURE]
            for trees in found
        ]
        values.append(row)
        cells = (f"{value:.4f} ({trees.best_iteration_})" for value, trees in zip(row, found, strict=True))
        print(f"{fold:<6}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
    means = np.mean(values, axis=0)
    print(f"{'mean':<6}" + "".join(f"{mean:>18.4f}" for mean in means))
    differences = np.array(values)[:, 1:] - np.array(values)[:, :1]
    print(f"largest difference from one machine in a fold: {np.abs(differences).max():.4f}")
    for n, gap in apart.items():
        print(f"workers {n}: scores of two trainings differ by at most {gap:.1e}")


if __name__ == "__main__":
    main()
