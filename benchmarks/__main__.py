"""Run every benchmark, one after another, each in a process of its own.

    python -m benchmarks [--peers PYTHON] [name ...]

Prints what they print and keeps it in ``benchmarks/results/NAME.txt`` with the machine's name.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def machine() -> str:
    """Processor, cores and system, in one line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return f"{models[0]}, {len(models)} cores, {platform.system()}" if models else platform.platform()


def main() -> int:
    names = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(names)}")
    parser.add_argument("--peers", help="Python of the environment with the rivals (requirements.txt)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    failed = []
    for name in options.names or names:
        script = HERE / f"bench_{name}.py"
        peers = ["--peers", options.peers] if options.peers and "--peers" in script.read_text() else []
        print(f"== {name}", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, script, *peers], stdout=subprocess.PIPE, text=True, check=False
        )
        print(done.stdout)
        if done.returncode:
            failed.append(name)
            continue
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / f"{name}.txt").write_text(f"{machine()}\n{done.stdout}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
