"""Time the training of structural SVMs to a proven optimum: SVMmap by cutting planes.

1. Whole trainings, one slack and one for each query: seconds, planes, oracle calls, the share of time that
   quadratic programs take, and the peak of memory above what the data hold. On OHSUMED fold 1; on a trial of
   the shape of Yue et al. (2007), 10 queries with 53 scores at 50 thresholds, 2,650 binary features, once as
   steps of the scores and once as columns of their own; and on 10 topics of TREC-7 with the runs there are.
2. A path of eight values of C, each beginning with the planes of the ones before, against eight trainings.
3. Evaluations of the loss by where planes are taken (``step``; 1 = the minimum of the model), the figures
   behind its default.

The trial is drawn: scores of the systems are a common quality plus noise of their own, and 25 documents of a
query are relevant. Training ends at a gap of 1e-3, with a slack for each query at 1e-2.

    python benchmarks/bench_structural.py
"""

from __future__ import annotations

import argparse
import os
import platform
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import directrix as dx
from directrix.objectives.objective import DataObjective, make_objective
from directrix.trainers import bundle

CS = (3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4)
STEPS = (1.0, 0.5, 0.2, 0.1, 0.05)


def letor(data: Path, collection: str) -> dx.Queries:
    return dx.read_letor(dx.data.letor_folds(data / "letor" / collection)[0].train)


def trial(n_queries: int, docs: int, systems: int, thresholds: int) -> tuple[dx.Queries, dx.Queries, Any]:
    """Scores, the same as columns of zeros and ones, and the steps that make one of the other."""
    rng = np.random.default_rng(0)
    n, qid = n_queries * docs, np.repeat(np.arange(n_queries), docs)
    relevant = np.argsort(rng.random((n_queries, docs)), axis=1).ravel() < min(25, docs // 4)
    quality = 1.2 * relevant + rng.standard_normal(n)
    scores = (quality[:, None] + rng.uniform(0.5, 2.0, systems) * rng.standard_normal((n, systems))).astype(
        np.float32
    )
    steps = dx.models.StumpModel(dx.models.quantile_thresholds(scores, thresholds))
    columns = np.empty((n, steps.n_params), dtype=np.float32)
    for f in range(systems):
        own = slice(steps.ptr[f], steps.ptr[f + 1])
        columns[:, own] = scores[:, f : f + 1] > steps.values[own]
    return (*(dx.Queries.from_arrays(X, relevant, qid=qid) for X in (scores, columns)), steps)


class Watch:
    """Seconds, seconds in quadratic programs, and the peak of memory while it is entered."""

    def __enter__(self) -> Watch:
        self.in_qps, self._solve, self._before = 0.0, bundle.solve, resident()
        self.peak, self._done = self._before, threading.Event()
        bundle.solve = self._timed
        self._sampler = threading.Thread(target=self._sample)
        self._sampler.start()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        bundle.solve = self._solve
        self._done.set()
        self._sampler.join()
        self.extra = (self.peak - self._before) / 2**20

    def _timed(self, *arguments: Any) -> Any:
        start = time.perf_counter()
        found = self._solve(*arguments)
        self.in_qps += time.perf_counter() - start
        return found

    def _sample(self) -> None:
        while not self._done.wait(0.005):
            self.peak = max(self.peak, resident())


def resident() -> int:
    """Bytes of memory that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def train(objective: DataObjective, n_params: int, C: float, *, each: bool, max_iter: int) -> str:
    trainer = (
        dx.CuttingPlane(C=C, epsilon=1e-2, slack="each", max_iter=max_iter) if each else dx.CuttingPlane(C=C)
    )
    with Watch() as watch:
        result = trainer.minimize(objective, np.zeros(n_params))
    counts = result.counts
    return (
        f"{watch.seconds:9.2f}{watch.in_qps / watch.seconds:9.0%}{counts['iterations']:9}{counts['planes']:9}"
        f"{counts['oracle_calls']:9}{counts['qps']:9}{watch.extra:9.0f}{result.gap:9.0e}  {result.status}"
    )


def trainings(problems: list[tuple[str, DataObjective, int]], C: float, passes: int) -> None:
    print(f"\nSVMmap, C = {C:g}")
    print("data".ljust(24) + "slack".ljust(6), end="")
    print(
        "".join(
            f"{name:>9}" for name in ("seconds", "in QPs", "steps", "planes", "oracle", "QPs", "MiB", "gap")
        )
    )
    for name, objective, n_params in problems:
        objective.value_and_grad(np.zeros(n_params))  # compiles
        for each in (False, True):
            cells = train(objective, n_params, C, each=each, max_iter=passes if each else 2000)
            print(f"{name:<24}{'each' if each else 'one':<6}{cells}", flush=True)


def path(name: str, objective: DataObjective, n_params: int) -> None:
    start = np.zeros(n_params)
    with Watch() as warm:
        along = dx.CuttingPlane().path(objective, start, C=CS)
    with Watch() as cold:
        apart = [dx.CuttingPlane(C=C).minimize(objective, start) for C in CS]
    calls = [sum(result.counts["oracle_calls"] for result in results) for results in (along, apart)]
    differ = max(abs(a.value - b.value) for a, b in zip(along, apart, strict=True))
    print(f"{name:<24}{warm.seconds:9.2f}{cold.seconds:9.2f}{warm.seconds / cold.seconds:9.2f}", end="")
    print(f"{calls[0]:9}{calls[1]:9}{calls[0] / calls[1]:9.2f}{differ:9.0e}", flush=True)


def steps(name: str, objective: DataObjective, n_params: int) -> None:
    for C in (1.0, 100.0, 1e4):
        found = [dx.CuttingPlane(C=C, step=step).minimize(objective, np.zeros(n_params)) for step in STEPS]
        print(f"{name:<14}{C:8g}" + "".join(f"{result.counts['iterations'] + 1:8}" for result in found))


def trec7(folder: Path) -> tuple[str, DataObjective, int]:
    """Ten topics with every run that is there, the thresholds from the same topics."""
    runs = dx.data.runs_as_features(sorted((folder / "runs").glob("*.gz")), folder / "qrels.trec7.txt")
    scores = runs.take(range(10))
    steps = dx.models.StumpModel(scores.thresholds(50))
    return "TREC-7, 10 topics", make_objective(scores.queries(), "SVMMap", steps), steps.n_params


def main() -> int:
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))
    parser.add_argument("--docs", type=int, default=2000, help="documents of a query in the trial")
    parser.add_argument(
        "--passes", type=int, default=30, help="at most so many over the queries, one slack each"
    )
    options = parser.parse_args()
    print(f"{platform.machine()}, {dx.get_threads()} threads, directrix {dx.__version__}")
    scores, columns, staircase = trial(10, options.docs, 53, 50)
    drawn = [
        ("trial, as steps", make_objective(scores, "SVMMap", staircase), staircase.n_params),
        ("trial, as columns", dx.linear_objective(columns, "SVMMap"), staircase.n_params),
    ]
    real = []
    for collection in ("OHSUMED", "MQ2008"):
        if (options.data / "letor" / collection).is_dir():
            q = letor(options.data, collection)
            real.append((f"{collection} fold 1", dx.linear_objective(q, "SVMMap"), q.n_features))
        else:
            print(f"not measured: no letor/{collection} in {options.data}; give --data or set DIRECTRIX_DATA")
    if (options.data / "trec7").is_dir():
        drawn.append(trec7(options.data / "trec7"))
    else:
        print(f"not measured: no trec7 in {options.data}; give --data or set DIRECTRIX_DATA")
    trainings(real[:1], 1e3, options.passes)
    trainings(drawn, 10.0, options.passes)
    print(f"\nA path of C = {CS[0]:g} to {CS[-1]:g}, against each alone")
    print("data".ljust(24), end="")
    print(
        "".join(f"{name:>9}" for name in ("path s", "alone s", "ratio", "oracle", "alone", "ratio", "differ"))
    )
    for problem in [*real[:1], drawn[-1]]:
        path(*problem)
    print("\nEvaluations of the loss by step")
    print(f"{'data':<14}{'C':>8}" + "".join(f"{step:8g}" for step in STEPS))
    for problem in real:
        steps(*problem)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
