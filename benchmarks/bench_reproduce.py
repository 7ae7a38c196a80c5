"""How long a look at every paper takes: ``directrix reproduce NAME --quick``, each in a process of its own.

    python benchmarks/bench_reproduce.py [--data DATA]

Seconds from the start of the process to the written report, compiled kernels read from the cache, on all
cores; and how many claims hold, which is no result with settings this few. The goal is 600 s for all
five. DATA as in letor.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import letor

from directrix.papers import PAPERS

GOAL = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    letor.add_data(parser)
    options = parser.parse_args()
    if letor.absent(options.data):
        return 0
    print(letor.versions())
    print(f"load average at the start: {os.getloadavg()[0]:.1f}\n\n{'paper':14}{'seconds':>9}{'claims':>8}")
    total = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in PAPERS:
            command = [sys.executable, "-m", "directrix", "reproduce", name, "--quick"]
            command += ["--data", str(options.data), "-o", f"{folder}/{name}", "--format", "json"]
            begun = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - begun
            if done.returncode:
                print(f"{name:14} failed: {done.stderr.strip().splitlines()[-1]}")
                return 1
            total += seconds
            print(f"{name:14}{seconds:9.1f}{len(json.loads(done.stdout)['claims']):8d}", flush=True)
    print(f"{'together':14}{total:9.1f}  goal {GOAL:.0f}: {'met' if total <= GOAL else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
