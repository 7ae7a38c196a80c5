"""What becomes of mutated inputs: files, texts and arrays, by target; see docs/explanation/threat-model.md.

Goal: one million inputs without a traceback, a crash, a hang over 10 s, or more memory than 3 times the input
and 200 MB; that takes hours, so the default is a minute.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        arguments = ["--seconds", options.seconds, "--seed", options.seed, "--out", out]
        done = subprocess.run(
            [sys.executable, "-m", "tools.fuzz", *map(str, arguments)],
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
    print(done.stdout, end="")
    print("goal, no bad outcome:", "missed" if done.returncode else "met")


if __name__ == "__main__":
    main()
