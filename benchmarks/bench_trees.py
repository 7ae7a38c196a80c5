"""Trees of our own: seconds of training beside LightGBM, bits of a gradient, and shards.

    python benchmarks/bench_trees.py [train validated bits shards] [--documents 20000 200000]
                                     [--features 44 136] [--threads 1 2] [--pairs 5]

- train: 60 trees of synthetic web search data (`large`), binning included, on an idle machine. LightGBM comes
  as it is (255 bins, leaf by leaf), and with ``use_quantized_grad``. Rows alternate, and the median over the
  pairs of the ratios is shown. The last column has the seconds of one thread over those of the row.
- validated: both train until 50 trees bring no better nDCG@10 of validation queries, a tenth as many, at most
  1,000 trees: seconds, trees, and test nDCG@10 with its paired difference.
- bits: test nDCG@10 with gradients of fewer bits minus that of 15 bits, paired over laws and seeds.
- shards: the same trees in memory, in this process, and on one and two workers, and the bytes of a tree.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from large import Law as Large
from laws import FORMS, KINDS, Law
from letor import versions

import directrix as dx
from directrix.data.shards.task import Driver, Task
from directrix.trainers._kernels import oblivious

N_TREES = 60
DOCS_PER_QUERY = 119.0


def data_of(n_docs: int, n_features: int) -> dx.Queries:
    q = Large().queries(round(n_docs / DOCS_PER_QUERY))
    X = np.ascontiguousarray(q.features[:, :n_features])
    return dx.Queries.from_arrays(X, q.labels, group=np.diff(q.qptr))


def ours(q: dx.Queries) -> None:
    dx.BoostedRanker(n_trees=N_TREES).fit_queries(q)


def theirs(q: dx.Queries, **settings: Any) -> None:
    always = {"objective": "lambdarank", "num_threads": dx.get_threads(), "verbosity": -1}
    rows = lightgbm.Dataset(q.features, q.labels, group=np.diff(q.qptr))
    lightgbm.train(always | settings, rows, N_TREES)


ROWS: dict[str, Callable[[dx.Queries], None]] = {
    "BoostedRanker": ours,
    "LightGBM": theirs,
    "LightGBM, quantized": lambda q: theirs(q, use_quantized_grad=True),
}


def train(options: argparse.Namespace) -> None:
    """Print the seconds of every row, and those of ours as a share of theirs."""
    for n_docs, n_features in itertools.product(options.documents, options.features):
        q = data_of(n_docs, n_features)
        print(f"\n{q.n_docs:,} documents x {n_features}, synthetic: {N_TREES} trees")
        print(f"{'threads':>7}  {'':20}{'seconds':>9}{'ours / theirs':>15}{'range':>14}{'scaling':>9}")
        alone: dict[str, float] = {}
        ours(q.take(range(20)))  # compiles
        for threads in options.threads:
            dx.set_threads(threads)
            seconds = {row: np.empty(options.pairs) for row in ROWS}
            for pair, row in itertools.product(range(options.pairs), ROWS):
                begun = time.perf_counter()
                ROWS[row](q)
                seconds[row][pair] = time.perf_counter() - begun
            for row, taken in seconds.items():
                ratios = seconds["BoostedRanker"] / taken
                spread = f"{ratios.min():.2f} to {ratios.max():.2f}"
                usual = float(np.median(taken))
                scaling = alone.setdefault(row, usual) / usual
                figures = f"{usual:9.2f}{np.median(ratios):15.2f}{spread:>14}{scaling:9.2f}"
                print(f"{threads:7}  {row:20}{figures}", flush=True)
        dx.set_threads(None)


def validated(options: argparse.Namespace) -> None:
    """Print the seconds to the model that validation queries choose, and its test nDCG@10."""
    measure, law = dx.measure("nDCG@10"), Large()
    for n_docs in options.documents:
        n_queries = round(n_docs / DOCS_PER_QUERY)
        q = law.queries(n_queries)
        valid = law.queries(min(max(n_queries // 10, 100), 1000), "valid")
        test = law.queries(1000, "test")
        ours(q.take(range(20)))  # compiles
        print(f"\n{q.n_docs:,} documents x {q.n_features}, synthetic: until validation stops it")
        for threads in options.threads:
            dx.set_threads(threads)
            begun = time.perf_counter()
            ranker = dx.BoostedRanker().fit_queries(q, valid, measure=measure)
            seconds = [time.perf_counter() - begun]
            begun = time.perf_counter()
            always = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbosity": -1}
            rows, judged = (
                lightgbm.Dataset(part.features, part.labels, group=np.diff(part.qptr)) for part in (q, valid)
            )
            booster = lightgbm.train(
                always | {"num_threads": threads},
                rows,
                1000,
                valid_sets=[judged],
                callbacks=[lightgbm.early_stopping(50, verbose=False)],
            )
            seconds.append(time.perf_counter() - begun)
            scores = ranker.predict_queries(test), booster.predict(test.features)
            values = [measure(score, test.labels, test.qptr) for score in scores]
            lead = values[0] - values[1]
            error = lead.std(ddof=1) / np.sqrt(len(lead))
            print(
                f"{threads} thread(s): {seconds[0]:.1f} s, {ranker.result_.counts['best']} trees, "
                f"{values[0].mean():.4f}; "
                f"LightGBM {seconds[1]:.1f} s, {booster.best_iteration} trees, {values[1].mean():.4f}; "
                f"{seconds[0] / seconds[1]:.2f} of its time, {lead.mean():+.4f} +- {error:.4f}",
                flush=True,
            )  # fmt: skip
        dx.set_threads(None)


def bits(options: argparse.Namespace) -> None:
    """Print the effect of rounding gradients to fewer bits."""
    measure, usual = dx.measure("nDCG@10"), oblivious.BITS
    tested: dict[int, list[float]] = {n: [] for n in (usual, 12, 10, 8, 6)}
    laws = [(kind, form) for kind in KINDS for form in FORMS[::3]]
    for (kind, form), seed in itertools.product(laws, range(3)):
        law = Law(kind, form, 5, 300, 700 + seed)
        parts = law.queries("train", 300), law.queries("valid", 80), law.queries("test", 600)
        for n in tested:
            # The kernels add up to 15 bits without an overflow, so fewer need no other kernels.
            oblivious.BITS = n
            ranker = dx.BoostedRanker(random_state=seed).fit_queries(*parts[:2], measure="nDCG@10")
            scores = ranker.predict_queries(parts[2])
            tested[n].append(float(measure(scores, parts[2].labels, parts[2].qptr).mean()))
    oblivious.BITS = usual
    print(f"\nnDCG@10 minus that of {usual} bits, {len(laws)} laws x 3 seeds, synthetic")
    for n in [n for n in tested if n != usual]:
        differences = np.subtract(tested[n], tested[usual])
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        print(f"{n:3} bits {differences.mean():+.4f} +- {error:.4f}")


class Weighing(Driver):
    """Asks another driver, and adds up the bytes of requests and answers."""

    def __init__(self, driver: Driver) -> None:
        self.driver, self.requests, self.sent, self.received = driver, 0, 0, 0

    def answers(self, task: Task) -> Any:
        answers = self.driver.answers(task)
        self.requests += 1
        self.sent += len(pickle.dumps(task))
        self.received += len(pickle.dumps(answers))
        return answers


def shards(options: argparse.Namespace) -> None:
    """Print the seconds of trees on shards, and the bytes that a tree moves."""
    from directrix.data.shards.context import using_driver
    from directrix.data.shards.task import ThisProcess

    for n_docs, n_features in itertools.product(options.documents, options.features):
        q = data_of(n_docs, n_features)
        with tempfile.TemporaryDirectory() as below:
            folder = dx.write_shards(q, Path(below, "shards"), n_shards=16)
            print(f"\n{q.n_docs:,} documents x {n_features}, synthetic: {N_TREES} trees, 16 shards")
            dx.set_threads(1)
            begun = time.perf_counter()
            dx.BoostedRanker(n_trees=N_TREES).fit_queries(q)
            print(f"in memory, one thread    {time.perf_counter() - begun:8.1f} s")
            with using_driver(Weighing(ThisProcess())) as weighing:
                begun = time.perf_counter()
                here = dx.BoostedRanker(n_trees=N_TREES).fit_shards(folder).trees_
                print(f"this process             {time.perf_counter() - begun:8.1f} s", flush=True)
            dx.set_threads(None)
            seconds = {}
            for n_workers in (1, 2):
                os.environ["DIRECTRIX_NUM_THREADS"] = str(n_workers)  # one thread of each worker
                with dx.cluster("local", n_workers):
                    # Workers start and bin before the clock runs.
                    dx.BoostedRanker(n_trees=1).fit_shards(folder)
                    begun = time.perf_counter()
                    there = dx.BoostedRanker(n_trees=N_TREES).fit_shards(folder).trees_
                    seconds[n_workers] = time.perf_counter() - begun
                same = "same bits" if there == here else "OTHER BITS"
                print(f"{n_workers} worker(s)              {seconds[n_workers]:8.1f} s, {same}", flush=True)
            os.environ.pop("DIRECTRIX_NUM_THREADS")
            print(f"two workers are {seconds[1] / seconds[2]:.2f} times as fast as one")
            requests = f"{weighing.requests / N_TREES:.1f} requests"
            sent, received = weighing.sent / weighing.requests, weighing.received / N_TREES
            print(
                f"a tree: {requests} of {sent / 1e3:.0f} kB, {received / 1e6:.2f} MB of answers by a worker"
            )


PARTS = {"train": train, "validated": validated, "bits": bits, "shards": shards}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["train"], choices=PARTS)
    parser.add_argument("--documents", type=int, nargs="+", default=[20_000])
    parser.add_argument("--features", type=int, nargs="+", default=[136])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    print(versions())
    for part in options.parts:
        PARTS[part](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
