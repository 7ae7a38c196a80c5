"""Time one full gradient of every surrogate, for a linear ranker on the data of full_pass.py.

2,000 queries, some 240,000 documents x 136 float32, labels 0-4, scores of unit variance. Every surrogate
that has a name is taken with its defaults; its time stands as a multiple of that of
ApproxNDCG(alpha=10) in the same run, on one thread and on all.

    python benchmarks/bench_surrogates.py [--only ListNet RankNet] [--queries 2000]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
from full_pass import problem

import directrix as dx
from directrix.registry import SURROGATES, load_class

REQUIRED: dict[str, Any] = {"measure": "NDCG", "k": 10, "rel": 1}
"""Values of fields that have no default, by their names."""


def made(kind: type[Any]) -> Any:
    """Return the surrogate with its defaults."""
    needed = (f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
    return kind(**{name: REQUIRED[name] for name in needed})


def milliseconds(work: Callable[[], Any], budget: float) -> float:
    """Shortest time of several runs, at least two, within about so many seconds; one to compile first."""
    work()
    times, begin = [], time.perf_counter()
    while len(times) < 2 or (time.perf_counter() - begin < budget and len(times) < 20):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(SURROGATES), default=list(SURROGATES))
    parser.add_argument("--queries", type=int, default=2000, help="the first so many of the 2,000")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds for each figure")
    options = parser.parse_args()
    data, cores = problem(), len(os.sched_getaffinity(0))
    some = data["qptr"][: options.queries + 1]
    n, w = int(some[-1]), data["w"]
    qid = np.repeat(np.arange(len(some) - 1), np.diff(some))
    queries = dx.Queries.from_arrays(data["X"][:n], data["labels"][:n], qid=qid)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores")
    print(f"{len(some) - 1:,} queries, {n:,} documents x {queries.n_features} float32; one full gradient\n")
    base = dx.ApproxNDCG(alpha=10.0)
    contenders = [base, *(made(load_class(SURROGATES, name)) for name in options.only)]
    threads = sorted({1, cores})
    columns = "".join(f"{f'ms, {t} thr.':>12}{'x':>8}{'ns a doc':>10}" for t in threads)
    print(f"{'':64}{columns}")
    first: dict[int, float] = {}
    for surrogate in dict.fromkeys(contenders):
        objective = dx.linear_objective(queries, surrogate)
        line = f"{surrogate!r:64}"
        for t in threads:
            dx.set_threads(t)
            ms = milliseconds(lambda o=objective: o.value_and_grad(w), options.budget)
            line += f"{ms:12.1f}{ms / first.setdefault(t, ms):8.2f}{1e6 * ms / n:10.0f}"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
