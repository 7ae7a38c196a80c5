"""Train rankers and keep their scores after some of their trees or iterations, with the seconds until then.

    python benchmarks/training_curves.py JOB.json

Runs in the environment of the peers as well as in ours, so it imports only NumPy and what the job names. A
clock runs from the arrays in memory to each stage: a library's own copy of the data counts, scoring does not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

STAGES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 400, 500, 600)
PARTS = ("train", "vali", "test")


@dataclass(frozen=True)
class Job:
    """One setting of one ranker, on some data sets: files of arrays X, y and qptr of each of `PARTS`."""

    module: str  # where TRAIN has ``who``
    who: str
    settings: dict[str, Any]
    data: list[str]
    out: str
    threads: int
    n_trees: int  # of the rankers that are trees
    repeats: int = 1


class Rows:
    """Features, labels and bounds of queries of one part of a data set."""

    def __init__(self, arrays: Any, part: str) -> None:
        self.X, self.y, self.qptr = (arrays[f"{part}_{name}"] for name in ("X", "y", "qptr"))
        self.qid = np.repeat(np.arange(len(self.qptr) - 1), np.diff(self.qptr))


class Clock:
    """Seconds after each tree or iteration; ``at[n]`` belongs to n of them."""

    def __init__(self) -> None:
        self.start, self.at = time.perf_counter(), dict[int, float]()

    def tick(self, n: int) -> None:
        self.at[n] = time.perf_counter() - self.start


Predict = Callable[[int, np.ndarray], np.ndarray]
Train = Callable[[Rows, Rows, Job, Clock], Predict]
"""Training and validation rows, job, clock -> scores of rows after n trees or iterations."""


def run(job: Job, training: Train) -> None:
    """Train on every data set, ``repeats`` times for the times, and store scores at the stages."""
    kept: dict[str, np.ndarray] = {}
    for number, path in enumerate(job.data):
        arrays = dict(np.load(path))
        train, vali, test = (Rows(arrays, part) for part in PARTS)
        seconds = []
        for _ in range(job.repeats):
            clock = Clock()
            predict = training(train, vali, job, clock)
            seconds.append(clock.at)
        stages = [n for n in clock.at if n in STAGES or n == max(clock.at)]
        kept[f"{number} stages"] = np.array(stages)
        kept[f"{number} seconds"] = np.median([[at[n] for n in stages] for at in seconds], axis=0)
        kept[f"{number} vali"] = np.array([predict(n, vali.X) for n in stages], dtype=np.float64)
        kept[f"{number} test"] = np.array([predict(n, test.X) for n in stages], dtype=np.float64)
    np.savez(job.out, **kept)


def save_job(job: Job, path: Path) -> None:
    path.write_text(json.dumps(asdict(job)))


def main(arguments: Sequence[str]) -> int:
    job = Job(**json.loads(Path(arguments[0]).read_text()))
    module = import_module(job.module)
    rng = np.random.default_rng(0)
    # what is loaded or compiled once is no part of training
    small = {f"{p}_{k}": v for p in PARTS for k, v in _few(rng).items()}
    short = replace(job, settings=job.settings | module.SHORT, n_trees=3)
    module.TRAIN[job.who](Rows(small, "train"), Rows(small, "vali"), short, Clock())
    run(job, module.TRAIN[job.who])
    print(json.dumps({"version": module.version_of(job.who)}))
    return 0


def _few(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Some random rows to warm up with."""
    X, y = rng.random((400, 5), dtype=np.float32), rng.integers(0, 3, 400).astype(float)
    return {"X": X, "y": y, "qptr": np.arange(0, 401, 20)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
