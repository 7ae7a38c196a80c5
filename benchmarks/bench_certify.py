"""Time `certify`: 459 random directions x 10 steps, on OHSUMED (fold 1, training) and on artificial data.

Some of the directions are computed again by a loop, a prediction and an evaluation a step, as one would
write it; the loop's time for all is what the sample took times their number. Values must be the same bits.

    python benchmarks/bench_certify.py --queries 2000

OHSUMED is found through DIRECTRIX_DATA, or --data.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from full_pass import problem

import directrix as dx
from directrix.experiments.optimality import certify
from directrix.threads import get_threads

SAMPLE = 5
"""Directions that the loop goes through too."""


def by_loop(ranker: Any, q: Any, measure: str, found: Any) -> tuple[float, float]:
    """Seconds a direction of a loop over steps, and its largest difference from what certify found."""
    name = "coef_" if hasattr(ranker, "coef_") else "params_"
    start = getattr(ranker, name)
    begun, gap = time.perf_counter(), 0.0
    for i, direction in enumerate(found.directions.block(0, SAMPLE)):
        for j, step in enumerate(found.steps):
            setattr(ranker, name, start + step * direction)
            value = dx.evaluate([measure], ranker.predict_queries(q), q.labels, qptr=q.qptr)[measure]
            gap = max(gap, abs(value - found.value - found.curves[i, j]))
    setattr(ranker, name, start)
    return (time.perf_counter() - begun) / SAMPLE, gap


def timed(ranker: Any, q: Any, measure: str, goal: float) -> bool:
    """Print a row; False if values differ."""
    certify(ranker, q, measure, eps=0.5, delta=0.5)  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun, used = time.perf_counter(), time.process_time()
    found = certify(ranker, q, measure)
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    each, gap = by_loop(ranker, q, measure, found)
    loop = each * found.n_directions
    kept = "met" if seconds < goal else "MISSED"
    print(
        f"{type(ranker).__name__:<13}{measure:<9}{q.n_docs:>9,} x {q.n_features:<5}{seconds:9.1f}"
        f"{goal:7.0f} {kept:<7}{used:6.1f}{loop:8.1f}{grown:9.0f}{gap:12.1e}{found.n_rising:8d}"
    )
    return gap == 0.0


def artificial(n_queries: int) -> Any:
    """Queries of web search sizes, float32."""
    data = problem()
    q = dx.Queries.from_arrays(data["X"], data["labels"], group=np.diff(data["qptr"]))
    return q.take(range(min(n_queries, q.n_queries)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    beside = Path(__file__).parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DIRECTRIX_DATA", beside)))
    parser.add_argument("--queries", type=int, default=2000)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores")
    print(f"459 directions x 10 steps, {get_threads()} threads; seconds, MiB above the data")
    print(f"load average at the start: {os.getloadavg()[0]:.1f}\n")
    print(
        f"{'ranker':<13}{'measure':<9}{'docs x features':>17}{'certify':>9}{'goal':>7} {'':<7}"
        f"{'CPU':>6}{'a loop':>8}{'memory':>9}{'difference':>12}{'rising':>8}"
    )
    same = True
    train = options.data / "letor" / "OHSUMED" / "Fold1" / "train.txt"
    if train.is_file():
        q = dx.read_letor(train)
        linear = dx.LinearRanker("ApproxNDCG(alpha=50)").fit_queries(q)
        for measure in ("nDCG@10", "nDCG", "AP", "RR"):
            same &= timed(linear, q, measure, 5.0)
        network = dx.MLPRanker("ApproxNDCG(alpha=10)", scale=None, random_state=0, max_iter=30)
        same &= timed(network.fit_queries(q), q, "nDCG@10", 5.0)
    else:
        print(f"not measured: no letor/OHSUMED in {options.data}; give --data or set DIRECTRIX_DATA")
    large = artificial(options.queries)
    same &= timed(dx.LinearRanker("ListNet", max_iter=10).fit_queries(large), large, "nDCG@10", 180.0)
    print("\nvalues agree" if same else "\nVALUES DIFFER")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
