"""Whether surrogates with a cut-off train as well as before a change: test values, query by query.

    python benchmarks/bench_cut_offs.py record FILE [--data DATA] [--only ApproxNDCG ...]
    python benchmarks/bench_cut_offs.py compare BEFORE AFTER

Only public names are used, so that one script runs with the code before and after a change; PYTHONPATH
chooses the code. Data: five laws of laws.py with 150 training, 75 validation and 400 test queries of 3 to 100
documents, and one with 300 documents per query (synthetic); the five folds of OHSUMED and of
MQ2008 (real). Every surrogate is trained by every trainer, with validation queries and without; at most
60 iterations, 15 epochs or 150 trees. ``compare`` prints for each surrogate, trainer and kind of data the
mean of the test measure before and after, and their difference with its standard error over queries. Choices
between variants of a change belong to the validation queries, whose values ``compare --part valid`` prints.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import letor
import numpy as np
from laws import KINDS, Law

import directrix as dx

SURROGATES = {
    "ApproxNDCG(k=5)": "nDCG@5",
    "ApproxNDCG(k=10)": "nDCG@10",
    "ApproxPrecision(k=5)": "P@5",
    "SoftNDCG(k=5)": "nDCG@5",
    "SmoothNDCG(k=5)": "nDCG@5",
    "ApproxMeasure('DCG@5')": "nDCG@5",
}
LAWS = [Law(kind, "dense", 5, 150, 3) for kind in KINDS]


def data(folder: Path) -> Iterator[tuple[str, str, letor.Split]]:
    """Kind, name, and queries."""
    for law in LAWS:
        parts = (law.queries(part, n) for part, n in (("train", 150), ("valid", 75), ("test", 400)))
        yield "synthetic", law.name, letor.Split(*parts)
    yield "synthetic", "long lists", letor.Split(*map(long_lists, (40, 20, 100)))
    if not letor.absent(folder):
        for name in ("OHSUMED", "MQ2008"):
            for fold, split in enumerate(letor.read_folds(folder, name)):
                yield "real", f"{name} {fold}", split


def long_lists(n_queries: int) -> dx.Queries:
    """Queries of 300 documents with 20 features, of which about 3 % are relevant, with labels 1 and 2."""
    rng = np.random.default_rng(n_queries)
    X = rng.standard_normal((n_queries, 300, 20))
    weights = np.random.default_rng(0).standard_normal(20)
    value = X @ weights / np.linalg.norm(weights) + np.tanh(X[..., 0] * X[..., 1])
    value += rng.standard_normal(value.shape)
    labels = np.searchsorted([3.0, 4.0], value).astype(float)
    return dx.Queries.from_arrays(X.reshape(-1, 20), labels.ravel(), group=[300] * n_queries)


def rankers(text: str) -> Iterator[tuple[str, Any]]:
    """Names and rankers."""
    for start in ("regression", "zero"):
        yield f"linear lbfgs {start}", dx.LinearRanker(text, start=start, max_iter=60)
    yield "linear cg", dx.LinearRanker(text, trainer="cg", max_iter=60)
    yield "linear sgd", dx.LinearRanker(text, trainer="sgd", max_iter=15)
    yield "linear adam", dx.LinearRanker(text, trainer="adam", max_iter=15)
    yield "mlp adam", dx.MLPRanker(text, hidden=(16,), trainer="adam", max_iter=15)
    yield "stumps lbfgs", dx.StumpRanker(text, l2=1e-4, max_iter=60)
    yield "trees", dx.BoostedRanker(text, n_trees=150, num_leaves=16, learning_rate=0.1)


def runs(only: list[str], trainers: list[str]) -> Iterator[tuple[str, str, str, Any]]:
    """Surrogate, measure, trainer and ranker."""
    for text, measure in SURROGATES.items():
        for trainer, ranker in rankers(text):
            one_trainer = text in ("ApproxNDCG(k=10)", "ApproxMeasure('DCG@5')")
            is_left_out = one_trainer and trainer not in ("linear lbfgs regression", "trees")
            wanted = any(part in text for part in only or [""]) and any(
                part in trainer for part in trainers or [""]
            )
            if wanted and not is_left_out:
                scale = {} if trainer == "trees" else {"scale": "standard"}
                yield text, measure, trainer, ranker.set_params(random_state=0, **scale)


def record(file: Path, folder: Path, only: list[str], trainers: list[str]) -> None:
    kept = {}
    for kind, name, (train, valid, test) in data(folder):
        for text, measure, trainer, ranker in runs(only, trainers):
            for chosen in (valid, None):
                ranker.fit_queries(train, chosen, measure=measure)
                key = f"{text}|{trainer}|{'alone' if chosen is None else 'valid'}|{kind}|{name}"
                kept[key] = {}
                for part, q in (("valid", valid), ("test", test)):
                    values = dx.measure(measure)(ranker.predict_queries(q), q.labels, q.qptr)
                    kept[key][part] = np.nan_to_num(values, nan=-1.0).tolist()
        print(name, file=sys.stderr, flush=True)
    file.write_text(json.dumps(kept))


def compare(before: Path, after: Path, part: str, by: str) -> None:
    old, new = (json.loads(file.read_text()) for file in (before, after))
    pairs: dict[tuple[str, ...], list[np.ndarray]] = defaultdict(list)
    for key in old:
        if key in new:
            a, b = (np.array(one[key][part]) for one in (old, new))
            text, trainer, chosen, kind, _ = key.split("|")
            row = {"surrogate": text, "trainer": trainer, "valid": chosen, "data": kind}
            pairs[tuple(row[name] for name in by.split(","))].append(np.stack([a, b])[:, a >= 0.0])
    for key, values in pairs.items():
        # the same queries are in several training runs: the error is that of their means
        both = np.concatenate(values, axis=1)
        gain = both[1] - both[0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        mark = " *" if gain.mean() < -error else ""
        line = "  ".join(f"{word:24}" for word in key)
        print(f"{line}{both[0].mean():8.4f}{both[1].mean():8.4f}{gain.mean():+9.4f} +- {error:.4f}{mark}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--only", nargs="+", default=[], help="parts of the names of surrogates")
    recording.add_argument("--trainers", nargs="+", default=[], help="parts of the names of trainers")
    letor.add_data(recording)
    comparing = actions.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--part", choices=["valid", "test"], default="test")
    comparing.add_argument("--by", default="surrogate,trainer,valid,data")
    options = parser.parse_args()
    if options.action == "record":
        record(options.file, options.data, options.only, options.trainers)
    else:
        compare(options.before, options.after, options.part, options.by)
    return 0


if __name__ == "__main__":
    sys.exit(main())
