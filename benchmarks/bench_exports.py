"""Every kind of model in every format: the largest difference of a score, or why it is refused.

    python benchmarks/bench_exports.py [--data DATA]

Models are trained on the training part of fold 1 of OHSUMED and MQ2008. Each file is read back by the
program that it is for, or by a reader of its format, and the scores of 2,000 drawn rows and of the test
part are compared with those of the model. Differences are divided by the standard deviation of the
scores on the test part; "order" are the queries of the test part in which no two documents change
places.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import bench_letor as letor
import numpy as np

import directrix as dx
from directrix.registry import TARGETS

MODELS = {
    "linear": dx.LinearRanker(scale="standard", max_iter=50),
    "linear, quantiles": dx.LinearRanker(scale="quantile", max_iter=50),
    "linear, scaled by query": dx.LinearRanker(scale="query-minmax", max_iter=50),
    "network": dx.MLPRanker(hidden=(16, 8), scale="standard", residual=False, max_iter=30),
    "network, residual": dx.MLPRanker(hidden=(16, 16), scale="standard", max_iter=30),
    "stumps": dx.StumpRanker(max_iter=50),
    "trees": dx.BoostedRanker(n_trees=300, num_leaves=15),
    "ensemble": dx.EnsembleRanker([dx.LinearRanker(scale="standard"), dx.BoostedRanker(n_trees=100)]),
}
REASONS = {
    "scaled by query": "scale by query",
    "residual terms": "residual",
    "adds up": "sum of kinds",
    "is a network": "network",
    "is a linear model": "linear model",
    "logarithms or quantiles": "scale",
}


def cell(ranker, target, test, path):
    """What is printed of a model in a format."""
    spread = float(np.std(ranker.predict_queries(test)))
    try:
        found = dx.export(ranker, path, to=target, check=test)
    except dx.InputError as error:
        reason = next((short for text, short in REASONS.items() if text in str(error)), str(error))
        return f"no: {reason}", None
    if found.reader is None:
        return "not verified", None
    order = f"{found.n_queries - found.n_other_order}/{found.n_queries}"
    return f"{found.difference / spread:.0e}, order {order}", found.reader


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    data = parser.parse_args().data
    warnings.simplefilter("ignore")
    names = [name for name in TARGETS if name != "opensearch"]  # the same file
    for collection in ("OHSUMED", "MQ2008"):
        train, _, test = map(dx.read_letor, dx.data.letor_folds(data / "letor" / collection)[0])
        print(f"\n{collection}, fold 1, {test.n_queries} test queries\n")
        rows, readers = {}, {}
        for name, ranker in MODELS.items():
            print(f"{collection}: {name}", file=sys.stderr)
            ranker.fit_queries(train)
            with tempfile.TemporaryDirectory() as folder:
                for target in names:
                    text, reader = cell(ranker, target, test, Path(folder, "model"))
                    rows.setdefault(target, []).append(text)
                    readers[target] = reader or readers.get(target)
        print(f"| format | read by | {' | '.join(MODELS)} |")
        print("|---" * (2 + len(MODELS)) + "|")
        for target in names:
            print(f"| `{target}` | {readers[target]} | {' | '.join(rows[target])} |")


if __name__ == "__main__":
    main()
