"""How long it takes to start: ``python benchmarks/bench_startup.py`` prints seconds, and ratios.

The goals are 0.3 s for ``import directrix`` and for ``directrix --help``. Kernels are compiled into an empty
folder of their own; ``--without-compile`` leaves out compiling all, which takes a minute of two cores.
``--data FOLDER`` with trec7 in it evaluates one run, and by ir_measures if it is installed; the goal is 1 s.
"""

from __future__ import annotations

import argparse
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

GOAL = 0.3
MAIN = ["-m", "directrix"]
NOTHING = "python, nothing imported"
COMMANDS = {
    NOTHING: ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import numba": ["-c", "import numba"],
    "import sklearn.base": ["-c", "import sklearn.base"],
    "import directrix": ["-c", "import directrix"],
    "directrix --help": [*MAIN, "--help"],
    "directrix train --help": [*MAIN, "train", "--help"],
    "directrix methods": [*MAIN, "methods"],
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
    print(f"{'command':28}{'best':>8}{'median':>8}  over python   goal")
    nothing = 0.0
    for name, arguments in COMMANDS.items():
        seconds = [seconds_of(arguments) for _ in range(runs)]
        nothing = nothing or min(seconds)
        goal = f"{GOAL} {'met' if min(seconds) < GOAL else 'missed'}" if name in list(COMMANDS)[4:6] else ""
        best, median = min(seconds), statistics.median(seconds)
        print(f"{name:28}{best:8.3f}{median:8.3f}{best / nothing:11.1f} x   {goal}".rstrip())


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
