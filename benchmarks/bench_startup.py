"""How long it takes to start: ``python benchmarks/bench_startup.py`` prints seconds, and ratios.

The first table has seconds by the clock, and "user+sys" those of the processor, to which other work of the
machine adds little. The goals are of the processor: .15 s for ``import directrix`` and ``directrix --help``,
.4 s to predict 100 rows. Models are loaded and rank a first list of 100 rows; the import of scikit-learn is
most of `directrix.load`. Kernels are compiled into an empty folder of their own; ``--without-compile`` leaves
out compiling all, which takes a minute of two cores.
``--data FOLDER`` with trec7 in it evaluates one run, and by ir_measures if it is installed; the goal is 1 s.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import directrix as dx

GOALS = {
    "import directrix": 0.15,
    "directrix --help": 0.15,
    "directrix predict, linear": 0.4,
    "directrix predict, 300 trees": 0.4,
}
MAIN = ["-m", "directrix"]
NOTHING = "python, nothing imported"
MODELS = {"linear": dx.LinearRanker(), "300 trees": dx.BoostedRanker(n_trees=300)}
RANK = (
    "import numpy as np, directrix as dx; X = np.random.default_rng(0).random((100, 5)); "
    "np.argsort(-dx.{function}('{name}.json').predict(X))"
)
COMMANDS = {
    NOTHING: ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import numba": ["-c", "import numba"],
    "import sklearn.base": ["-c", "import sklearn.base"],
    "import directrix": ["-c", "import directrix"],
    "directrix --help": [*MAIN, "--help"],
    "directrix train --help": [*MAIN, "train", "--help"],
    "directrix methods": [*MAIN, "methods"],
    **{
        f"directrix predict, {name}": [*MAIN, "predict", f"{name}.json", "rows.txt", "-o", "scores.txt"]
        for name in MODELS
    },
    **{
        f"{function}, {name}": ["-c", RANK.format(function=function, name=name)]
        for function in ("load_scorer", "load")
        for name in MODELS
    },
}
FIT = (
    "import directrix as dx; q, _ = dx.data.make_linear(20, 10, 5, seed=0); "
    "dx.LinearRanker('ApproxNDCG', max_iter=5).fit_queries(q)"
)
USES = {
    "nDCG of a ranking": "import directrix as dx; dx.evaluate('nDCG', [2.0, 1.0], [0, 1], group=[2])",
    "a LinearRanker": FIT,
}


def seconds_of(arguments: list[str], **environment: str) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-W", "ignore", *arguments]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    return time.perf_counter() - begun


def processor_seconds_of(arguments: list[str]) -> float:
    """Seconds that the processor works for a command, in user and system mode."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds_of(arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def started(runs: int) -> None:
    print(f"{'command':30}{'best':>8}{'median':>8}{'user+sys':>10}   goal")
    queries, _ = dx.data.make_linear(50, 50, 5, seed=0)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        dx.write_letor(queries.take(range(2)), "rows.txt")
        for name, ranker in MODELS.items():
            ranker.fit_queries(queries).save(f"{name}.json")
        for name, arguments in COMMANDS.items():
            seconds_of(arguments)  # compiles, where that is needed
            seconds = [seconds_of(arguments) for _ in range(runs)]
            processor = min(processor_seconds_of(arguments) for _ in range(runs))
            goal = f"{GOALS[name]} {'met' if processor < GOALS[name] else 'missed'}" if name in GOALS else ""
            best, median = min(seconds), statistics.median(seconds)
            print(f"{name:30}{best:8.3f}{median:8.3f}{processor:10.3f}   {goal}".rstrip(), flush=True)


def compiled(runs: int, *, everything: bool) -> None:
    print(f"\n{'seconds of a process':28}{'first':>8}{'later':>8}  first over later")
    uses = {name: ["-c", code] for name, code in USES.items()}
    if everything:
        uses["directrix doctor --compile"] = [*MAIN, "doctor", "--compile"]
    for name, arguments in uses.items():
        with tempfile.TemporaryDirectory() as folder:
            first = seconds_of(arguments, NUMBA_CACHE_DIR=folder)
            later = min(seconds_of(arguments, NUMBA_CACHE_DIR=folder) for _ in range(runs))
            print(f"{name:28}{first:8.2f}{later:8.2f}{first / later:14.1f} x", flush=True)


def evaluated(runs: int, data: Path) -> None:
    qrels, run = data / "trec7" / "qrels.trec7.txt", next((data / "trec7" / "runs").glob("*.res.gz"))
    print(f"\n{'nDCG@10 and AP of a run':28}{'best':>8}{'median':>8}{'user+sys':>10}  over ir_measures")
    baseline = None
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "run.txt"  # ir_measures reads no compressed runs
        plain.write_bytes(gzip.decompress(run.read_bytes()))
        commands = {
            "ir_measures": ["-m", "ir_measures", str(qrels), str(plain), "nDCG@10", "AP"],
            "directrix evaluate": [*MAIN, "evaluate", str(qrels), str(plain)],
        }
        if not importlib.util.find_spec("ir_measures"):
            del commands["ir_measures"]
        for name, arguments in commands.items():
            seconds = [seconds_of(arguments) for _ in range(runs)]
            baseline = baseline or min(seconds)
            processor = min(processor_seconds_of(arguments) for _ in range(runs))
            ratio = f"{min(seconds) / baseline:14.1f} x" if len(commands) > 1 else ""
            best, median = min(seconds), statistics.median(seconds)
            print(f"{name:28}{best:8.2f}{median:8.2f}{processor:10.2f}{ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--without-compile", action="store_true")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    started(options.runs)
    if options.data is not None:
        evaluated(options.runs, options.data)
    compiled(min(options.runs, 3), everything=not options.without_compile)


if __name__ == "__main__":
    main()
