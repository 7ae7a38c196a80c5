"""Train a ranker with each of some settings, and keep its scores of validation and test queries.

    python benchmarks/one_ranker.py JOB.json

Runs in the environment of the peers as well as in ours, so it imports only NumPy and what the job names. The
clocks run from the arrays in memory to the trained ranker: a library's own copy of the data counts.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

PARTS = ("train", "vali", "test")


@dataclass(frozen=True)
class Job:
    """Some settings of a ranker on one data set: a file of arrays X, y and qptr of each of `PARTS`."""

    module: str  # where TRAIN has ``who``
    who: str
    settings: list[dict[str, Any]]
    data: str
    out: str
    threads: int


class Rows:
    """Features, labels and bounds of queries of one part of a data set."""

    def __init__(self, arrays: Any, part: str) -> None:
        self.X, self.y, self.qptr = (arrays[f"{part}_{name}"] for name in ("X", "y", "qptr"))
        self.qid = np.repeat(np.arange(len(self.qptr) - 1), np.diff(self.qptr))


Predict = Callable[[Rows], np.ndarray]
Train = Callable[[Rows, Rows, dict[str, Any], int], tuple[Predict, str]]
"""Training and validation rows, settings, threads -> scores of rows, and a note on what was trained."""


def save_job(job: Job, path: Path) -> None:
    path.write_text(json.dumps(asdict(job)))


def main(arguments: Sequence[str]) -> int:
    job = Job(**json.loads(Path(arguments[0]).read_text()))
    module = import_module(job.module)
    training: Train = module.TRAIN[job.who]
    few = few_rows()
    # what is loaded or compiled once is no part of training
    training(Rows(few, "train"), Rows(few, "vali"), job.settings[0], job.threads)
    arrays = dict(np.load(job.data))
    train, vali, test = (Rows(arrays, part) for part in PARTS)
    kept, found = {}, []
    for number, settings in enumerate(job.settings):
        begin = time.perf_counter(), time.process_time()
        predict, note = training(train, vali, settings, job.threads)
        spent = time.perf_counter() - begin[0], time.process_time() - begin[1]
        found.append({"seconds": spent[0], "processor": spent[1], "note": note})
        for part, rows in (("vali", vali), ("test", test)):
            kept[f"{number} {part}"] = np.asarray(predict(rows), dtype=np.float64)
    np.savez(job.out, **kept)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"version": module.version_of(job.who), "trained": found, "peak": peak}))
    return 0


def few_rows() -> dict[str, np.ndarray]:
    """Some random rows to warm up with."""
    rng = np.random.default_rng(0)
    rows = {}
    for part in PARTS:  # a search rejects validation rows that are those of the training
        X, y = rng.random((400, 5), dtype=np.float32), rng.integers(0, 3, 400).astype(float)
        rows |= {f"{part}_X": X, f"{part}_y": y, f"{part}_qptr": np.arange(0, 401, 20)}
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
