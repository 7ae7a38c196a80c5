"""A process that tries inputs one after another; whoever started it sees on a board how far it came.

    python -m tools.fuzz.child FOLDER SEED PLAN

The plan is JSON: [[target, first, end], ...], or [[target, path of an input]]. The folder holds the board,
the file ``seeds`` (JSON: target to texts of its seeds in base64) and the folder ``work``.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import gc
import json
import mmap
import resource
import struct
import sys
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz.outcomes import OUTCOMES, is_ours, place

ENTRY, INDEX, PHASE = range(3)
"""Numbers on the board: entry of the plan, index of the input, and 0 = seeds, 1 = inputs, 2 = the end."""
SPENT, SLOWEST = 0, 1
"""Numbers of an entry: nanoseconds of all inputs, and of the slowest; then the number of each outcome."""

_ALLOWANCE = 200 << 20
_ADDRESS_SPACE = 12 << 30
FULL = 3  # exit status: the peak of memory is too high to see the next


def made(target: Any, name: str, seed: int, index: int, seeds: Any) -> bytes:
    """One input, always the same for the same seed and index."""
    data: bytes = target.mutate(Random(f"{seed} {name} {index}"), seeds)
    return data


def slot(entry: int, number: int) -> int:
    """Where a number of an entry of the plan is."""
    return 3 + entry * (2 + len(OUTCOMES)) + number


class Board:
    """A file of numbers that outlives the process that writes them."""

    def __init__(self, path: Path, n_entries: int) -> None:
        size = 8 * slot(n_entries, 0)
        if not path.exists():
            path.write_bytes(bytes(size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), size)

    def __getitem__(self, place: int) -> int:
        return int(struct.unpack_from("<q", self._memory, 8 * place)[0])

    def __setitem__(self, place: int, value: int) -> None:
        struct.pack_into("<q", self._memory, 8 * place, value)


def peak() -> int:
    """Most bytes that this process had at a time."""
    with contextlib.suppress(OSError):  # Linux hands the other count on to children
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def tried(target: Any, name: str, data: bytes, folder: Path) -> tuple[str, str]:
    """Outcome of one input, and what can be said about it."""
    given: Any = data
    if target.suffix is not None:
        given = folder / f"input{target.suffix}"
        given.write_bytes(data)
    try:
        result = target.call(given)
    except Exception as error:  # noqa: BLE001
        if is_ours(error):
            return "rejected", ""
        return "traceback", f"{place(error)}: {str(error)[:200]}\n{traceback.format_exc()[-3000:]}"
    try:
        complaint = target.check(data, result)
    except Exception as error:  # noqa: BLE001
        return "unexplained", f"the reference: {type(error).__name__}: {str(error)[:200]}"
    return ("unexplained", complaint) if complaint else ("accepted", "")


def main(folder: str, seed: str, plan: str) -> int:
    faulthandler.enable()
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    from tools.fuzz.targets import target_of

    entries, home = json.loads(plan), Path(folder, "work")
    board = Board(Path(folder, "board"), len(entries))
    stored = json.loads(Path(folder, "seeds").read_text())
    for entry, (name, *what) in enumerate(entries):
        target = target_of(name)
        board[PHASE] = 0
        seeds = [base64.b64decode(text) for text in stored[name]]
        for data in seeds:
            outcome, why = tried(target, name, data, home)
            if outcome not in ("accepted", "rejected"):
                _report(name, -1, "seed", f"{outcome}: {why}")
        before = peak()
        board[ENTRY], board[INDEX], board[PHASE] = entry, -1, 1
        single = isinstance(what[0], str)
        for index in range(1) if single else range(*what):
            board[INDEX] = index
            data = Path(what[0]).read_bytes() if single else made(target, name, int(seed), index, seeds)
            begun = time.perf_counter_ns()
            outcome, why = tried(target, name, data, home)
            took = time.perf_counter_ns() - begun
            board[slot(entry, SPENT)] += took
            board[slot(entry, SLOWEST)] = max(board[slot(entry, SLOWEST)], took)
            high = peak()
            if high > before + _ALLOWANCE + 3 * len(data):
                outcome, why = "memory", f"{(high - before) >> 20} MiB for {len(data)} bytes: {outcome} {why}"
            board[slot(entry, 2 + OUTCOMES.index(outcome))] += 1
            if why:
                _report(name, index, outcome, why)
            if outcome == "memory":
                return FULL
            if index % 500 == 499:
                gc.collect()
    board[PHASE] = 2
    return 0


def _report(name: str, index: int, outcome: str, why: str) -> None:
    print(json.dumps({"target": name, "index": index, "outcome": outcome, "why": why}), flush=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
