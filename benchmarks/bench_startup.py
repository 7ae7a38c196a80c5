"""How long it takes to start: ``python benchmarks/bench_startup.py`` prints seconds, best and median of 7.

The goals are 0.3 s for ``import directrix`` and for ``directrix --help``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python, nothing imported": ["-c", "pass"],
    "import directrix": ["-c", "import directrix"],
    "directrix --help": ["-m", "directrix.cli.main", "--help"],
    "directrix train --help": ["-m", "directrix.cli.main", "train", "--help"],
    "directrix methods": ["-m", "directrix.cli.main", "methods"],
}


def measure(arguments: list[str], runs: int = 7) -> list[float]:
    seconds = []
    for _ in range(runs):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        seconds.append(time.perf_counter() - begun)
    return seconds


def main() -> None:
    print(f"{'command':28}{'best':>8}{'median':>8}")
    for name, arguments in COMMANDS.items():
        seconds = measure(arguments)
        print(f"{name:28}{min(seconds):8.3f}{statistics.median(seconds):8.3f}")


if __name__ == "__main__":
    main()
