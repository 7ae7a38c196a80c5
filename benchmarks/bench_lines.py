"""How often L-BFGS asks when a line search tries several steps at once, and what a question costs then.

Type ``python benchmarks/bench_lines.py``. Questions: on the training queries of fold 1 of OHSUMED and MQ2008
(through DIRECTRIX_DATA, or --data), until the loss has fallen by 90 and by 99 % of its decrease in 200
iterations with one step at a time, and how many fewer the latter are. Cost: the time of the loss and gradient
at several vectors over that at one, of a file whose features are read block by block, in the caches of the
system and dropped from them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bench_stream import FEATURES, drop_cache, generate

import directrix as dx

STEPS = (1, 2, 4, 8)
LOSSES = {"RankNet": 1e-4, "ListNet": 1e-5, "ApproxNDCG": 1e-4, "SmoothNDCG": 1e-4}
"""With the strength of the penalty; the first two are convex."""


class Counted:
    """An objective that counts how often it is asked."""

    def __init__(self, objective: Any) -> None:
        self.objective, self.questions = objective, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def value_and_grad(self, *args: Any) -> Any:
        self.questions += 1
        return self.objective.value_and_grad(*args)

    def values_and_grads(self, *args: Any) -> Any:
        self.questions += 1
        return self.objective.values_and_grads(*args)


def asked(objective: Any, start: Any, n_steps: int) -> tuple[list[tuple[int, float]], Any]:
    """Questions so far and loss after every iteration; and the result."""
    counted, trace = Counted(objective), []
    result = dx.LBFGS(steps=n_steps).minimize(
        counted, start, callback=lambda step: trace.append((counted.questions, step.loss))
    )
    return trace, result


def reached(trace: list[tuple[int, float]], first: float, end: float, share: float) -> int | None:
    """Questions until the loss has fallen by a share of the way from first to end; None if it never has."""
    return next((n for n, loss in trace if loss <= first - share * (first - end)), None)


def questions(name: str, q: Any) -> None:
    """Print a row for each loss and number of steps."""
    scaled = replace(q, features=dx.data.fit_scale("standard", q.features).apply(q.features, q.qptr))
    start = np.full(q.n_features, 1.0 / q.n_features)
    for surrogate, l2 in LOSSES.items():
        objective = dx.linear_objective(scaled, surrogate, l2=l2)
        traces = {n_steps: asked(objective, start, n_steps) for n_steps in STEPS}
        first, end = (traces[1][0][i][1] for i in (0, -1))
        needed = {
            n_steps: [reached(trace, first, end, share) for share in (0.9, 0.99)]
            for n_steps, (trace, _) in traces.items()
        }
        for n_steps, (trace, result) in traces.items():
            most, nearly_all = needed[n_steps]
            fewer = "-" if nearly_all is None else f"{1 - nearly_all / needed[1][1]:.0%}"
            print(
                f"{name:<9}{surrogate:<12}{n_steps:>5}{most or '-':>9}{nearly_all or '-':>9}{fewer:>7}"
                f"{result.counts['evaluations']:>13}{trace[-1][0]:>11}{result.value:>12.5f}",
                flush=True,
            )


def cost(path: Path, gigabytes: float, repeats: int) -> None:
    """Print the time of several vectors over that of one."""
    generate(path, gigabytes)
    for surrogate in ("ListNet", "ApproxNDCG"):
        objective: Any = dx.linear_objective(dx.data.open_parquet(path), surrogate)
        vectors = np.random.default_rng(0).normal(size=(max(STEPS), FEATURES)) / FEATURES
        objective.values_and_grads(vectors[:1])  # compiles
        for is_cold in (False, True):
            seconds = {}
            for n_steps in STEPS:
                times = []
                for _ in range(repeats):
                    if is_cold:
                        drop_cache(path)
                    begun = time.perf_counter()
                    objective.values_and_grads(vectors[:n_steps])
                    times.append(time.perf_counter() - begun)
                seconds[n_steps] = float(np.median(times))
            ratios = ", ".join(f"{n}: {seconds[n] / seconds[1]:.2f}" for n in STEPS)
            where = "dropped from the caches" if is_cold else "in the caches"
            print(f"{surrogate}, {gigabytes:g} GB {where}: one vector {seconds[1]:.2f} s; ratios {ratios}")


def main() -> None:
    """Print all of it."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(
        f"{'data':<9}{'loss':<12}{'steps':>5}{'to 90 %':>9}{'to 99 %':>9}{'fewer':>7}{'evaluations':>13}"
        f"{'questions':>11}{'last loss':>12}"
    )
    for name in ("OHSUMED", "MQ2008"):
        train = options.data / "letor" / name / "Fold1" / "train.txt"
        if train.is_file():
            questions(name, dx.read_letor(train))
        else:
            print(f"not measured: no letor/{name} in {options.data}; give --data or set DIRECTRIX_DATA")
    print()
    with tempfile.TemporaryDirectory() as folder:
        cost(Path(folder, "train.arrow"), options.gigabytes, options.repeats)


if __name__ == "__main__":
    main()
