"""Every kind of model in every format: the largest difference of a score, or why it is refused.

    python benchmarks/bench_exports.py [--data DATA] [--ranklib CLASSPATH]

Models are trained on the training part of fold 1 of OHSUMED and MQ2008. Each file is read back by the
program that it is for, or by a reader of its format, and the scores of 2,000 drawn rows and of the test
part are compared with those of the model. Differences are divided by the standard deviation of the
scores on the test part; "order" are the queries of the test part in which no two documents change
places.

With ``--ranklib`` RankLib itself, the class path of which is given to ``java``, scores the test part by the
files for it; no document may pass one whose score is higher by more than 1e-5 of that deviation.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import letor
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


def by_ranklib(ranker, classpath, test, folder):
    """What is printed of a model that RankLib reads: the difference but for a constant, and the order."""
    path, data, scores = (Path(folder, name) for name in ("model", "test", "scores"))
    try:
        dx.export(ranker, path, to="ranklib")
    except dx.InputError:
        return None
    with data.open("w") as file:
        for query, (first, last) in enumerate(zip(test.qptr[:-1], test.qptr[1:], strict=True)):
            for row in test.features[first:last].tolist():
                values = " ".join(f"{number}:{value!r}" for number, value in enumerate(row, start=1))
                print(f"0 qid:{query} {values}", file=file)
    options = ("-load", path, "-rank", data, "-score", scores)
    command = ["java", "-cp", classpath, "ciir.umass.edu.eval.Evaluator", *options]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    theirs = np.array([float(line.split("\t")[2]) for line in scores.read_text().splitlines()])
    ours = ranker.predict_queries(test)
    ours, theirs = ours / np.std(ours), theirs / np.std(ours)
    moved = theirs - ours
    falls = 0
    for first, last in zip(test.qptr[:-1], test.qptr[1:], strict=True):
        ranked = ours[first:last][np.argsort(-theirs[first:last], kind="stable")]
        falls += bool((ranked > np.minimum.accumulate(ranked) + 1e-5).any())
    return f"{np.abs(moved - np.median(moved)).max():.0e}, order {test.n_queries - falls}/{test.n_queries}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    parser.add_argument("--ranklib", metavar="CLASSPATH", help="score by RankLib itself, and nothing else")
    options = parser.parse_args()
    data = options.data
    warnings.simplefilter("ignore")
    for collection in ("OHSUMED", "MQ2008"):
        train, _, test = map(dx.read_letor, dx.data.letor_folds(data / "letor" / collection)[0])
        print(f"\n{collection}, fold 1, {test.n_queries} test queries\n")
        rows, readers = {}, {}
        for name, ranker in MODELS.items():
            print(f"{collection}: {name}", file=sys.stderr)
            ranker.fit_queries(train)
            with tempfile.TemporaryDirectory() as folder:
                if options.ranklib:
                    if found := by_ranklib(ranker, options.ranklib, test, folder):
                        print(f"{name}: {found}")
                    continue
                for target in TARGETS:
                    text, reader = cell(ranker, target, test, Path(folder, "model"))
                    rows.setdefault(target, []).append(text)
                    readers[target] = reader or readers.get(target)
        if options.ranklib:
            continue
        print(f"| format | read by | {' | '.join(MODELS)} |")
        print("|---" * (2 + len(MODELS)) + "|")
        for target in TARGETS:
            print(f"| `{target}` | {readers[target]} | {' | '.join(rows[target])} |")


if __name__ == "__main__":
    main()
