"""Where the time of `directrix train` goes: reading, compiled kernels, networks, trees, and all the rest.

A training file of 2,000 queries x 118 documents x 136 features is written as LETOR text, and the command
trains on it in this process, after a small training that compiles and loads everything. Every call from
Python of the reader, of a compiled kernel, of a network's pass, of the regression start, of LightGBM and of
the hash of the data is clocked, in all threads. A moment counts for the first of these, in the order of the
table, that any thread is in; what is left is Python, NumPy and SciPy between them.

    python benchmarks/bench_profile.py [--methods ApproxNDCG auto] [--queries 2000] [--functions 0]
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import importlib
import io
import os
import pkgutil
import platform
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

import directrix as dx

KINDS = ("reading", "compiled kernels", "BLAS: networks, regression", "LightGBM", "hash of the data")
KERNELS = KINDS.index("compiled kernels")
GOAL = 0.85
"""Of the first four together: BLAS and LightGBM are kernels too."""


class Clock:
    """Intervals of time by kind, from all threads."""

    def __init__(self) -> None:
        self.intervals: list[tuple[float, float, int]] = []

    def around(self, function: Callable[..., Any], kind: int) -> Callable[..., Any]:
        """Return the function, clocked."""
        note, now = self.intervals.append, time.perf_counter

        @wraps(function)
        def clocked(*args: Any, **settings: Any) -> Any:
            begin = now()
            try:
                return function(*args, **settings)
            finally:
                note((begin, now(), kind))

        return clocked

    def shares(self, begin: float, end: float) -> list[float]:
        """Seconds between begin and end by kind; overlapping ones count for the first kind."""
        found = np.array(self.intervals, dtype=float).reshape(-1, 3)
        found = found[(found[:, 0] >= begin) & (found[:, 1] <= end)]
        seconds, covered = [], 0.0
        for kind in range(len(KINDS)):
            some = found[found[:, 2] <= kind]
            total = _union(some[:, :2])
            seconds.append(total - covered)
            covered = total
        return seconds

    def busy(self, begin: float, end: float) -> float:
        """Seconds of all threads together in compiled kernels."""
        found = np.array(self.intervals, dtype=float).reshape(-1, 3)
        found = found[(found[:, 0] >= begin) & (found[:, 1] <= end) & (found[:, 2] == KERNELS)]
        return float((found[:, 1] - found[:, 0]).sum())


def _union(intervals: np.ndarray) -> float:
    """Length of the union of intervals."""
    if not len(intervals):
        return 0.0
    intervals = intervals[np.argsort(intervals[:, 0])]
    reach = np.maximum.accumulate(intervals[:, 1])
    gaps = np.maximum(intervals[1:, 0] - reach[:-1], 0.0)
    return float(reach[-1] - intervals[0, 0] - gaps.sum())


def kernel_modules() -> Iterator[Any]:
    """All modules of compiled kernels."""
    for info in pkgutil.walk_packages(dx.__path__, "directrix."):
        if "._kernels." in info.name:
            yield importlib.import_module(info.name)


def clock_everything(clock: Clock) -> None:
    """Put a clock around everything that the table names, wherever it is looked up."""
    import lightgbm
    from numba.core.dispatcher import Dispatcher

    import directrix.data.formats
    import directrix.rankers.inputs as inputs
    import directrix.rankers.training as training
    import directrix.trainers.regression as regression
    from directrix.models.mlp import MLPModel

    dispatchers: dict[int, Any] = {}
    modules = list(kernel_modules())
    own = [module for name, module in list(sys.modules.items()) if name.startswith("directrix.")]
    for module in (*modules, *own):
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                clocked = dispatchers.setdefault(id(value), clock.around(value, KERNELS))
                setattr(module, name, clocked)
    directrix.data.formats.read_file = clock.around(directrix.data.formats.read_file, 0)
    regression._fitted = clock.around(regression._fitted, 2)
    for name in ("forward", "backward"):
        setattr(MLPModel, name, clock.around(getattr(MLPModel, name), 2))
    for kind, names in ((lightgbm.Booster, ("update", "predict")), (lightgbm.Dataset, ("construct",))):
        for name in names:
            setattr(kind, name, clock.around(getattr(kind, name), 3))
    inputs.digest = training.digest = clock.around(inputs.digest, 4)


def command(train: Path, method: str, *more: str) -> str:
    """Run `directrix train` in this process; what it printed."""
    from typer.testing import CliRunner

    from directrix.cli.main import app

    arguments = ["train", str(train), "--method", method, "-o", str(train.with_suffix(".json")), *more]
    done = CliRunner().invoke(app, arguments)
    if done.exit_code:
        raise SystemExit(f"directrix {' '.join(arguments)}: {done.output}")
    return done.output


def profile(method: str, train: Path, clock: Clock, more: list[str], functions: int) -> None:
    clock.intervals.clear()
    profiler = cProfile.Profile() if functions else contextlib.nullcontext()
    begin = time.perf_counter()
    with profiler:
        command(train, method, *more)
    end = time.perf_counter()
    wall, seconds = end - begin, clock.shares(begin, end)
    print(f"\ndirectrix train --method {method} {' '.join(more)}: {wall:.1f} s")
    for kind, part in zip((*KINDS, "Python, NumPy, SciPy"), (*seconds, wall - sum(seconds)), strict=True):
        print(f"  {kind:28}{part:8.2f} s{100 * part / wall:7.1f} %")
    share = sum(seconds[:4]) / wall
    note = "" if share >= GOAL else f"   missed, the goal is {100 * GOAL:.0f} %"
    print(f"  {'kernels and reading':28}{sum(seconds[:4]):8.2f} s{100 * share:7.1f} %{note}")
    threads = len(os.sched_getaffinity(0))
    print(
        f"  compiled kernels, all threads {clock.busy(begin, end):.2f} s: of {threads} threads, "
        f"{100 * clock.busy(begin, end) / threads / wall:.0f} % of the time"
    )
    if functions:
        text = io.StringIO()
        pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(functions)
        print(text.getvalue())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", default=["ApproxNDCG", "auto"])
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--functions", type=int, default=0, help="print so many of the costliest functions")
    parser.add_argument("--warm", type=float, default=10, help="seconds of training that compile")
    parser.add_argument(
        "--more", nargs="*", default=[], help="further options of directrix train, without dashes"
    )
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {cores} cores")
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "train.txt", Path(folder) / "small.txt"
        q = dx.data.make_cubic(n_queries=options.queries, docs_per_query=118, n_features=136, seed=0)
        dx.write_letor(q, large)
        dx.write_letor(q.take(np.arange(20)), small)
        print(
            f"{q.n_queries:,} queries, {q.n_docs:,} documents x 136, "
            f"{large.stat().st_size / 1e6:.0f} MB of text"
        )
        for method in options.methods:
            command(small, method, f"--time-budget={options.warm}")  # compiles
        clock_everything(clock)
        more = [f"--{option}" for option in options.more]
        for method in options.methods:
            profile(method, large, clock, more, options.functions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
