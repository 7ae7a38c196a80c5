"""Batches of inputs in child processes: crashes and hangs are seen, and attributed to the one input."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from tools.fuzz.child import ENTRY, FULL, INDEX, PHASE, SLOWEST, SPENT, Board, made, slot
from tools.fuzz.outcomes import BAD, OUTCOMES

ROOT = Path(__file__).parents[2]
LONGEST = 10.0
"""Seconds after which an input hangs."""
_LONGEST_START = 900.0  # until the seeds are made and their kernels compiled
# threads that wait by spinning take the time of the process next to them
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "DIRECTRIX_NUM_THREADS"), "1")
_KEPT = 3  # inputs of one kind that are saved

Plan = list[list[Any]]


@dataclass(frozen=True)
class Finding:
    """An input that should not have done what it did."""

    target: str
    index: int
    outcome: str
    why: str

    @property
    def kind(self) -> str:
        """What findings with one cause share."""
        return f"{self.target}: {self.outcome}: {self.why.partition(chr(10))[0][:160]}"


@dataclass
class Campaign:
    """Counts and findings of all batches; ``folder`` gets the inputs that were found."""

    folder: Path
    seed: int = 0
    progress: Callable[[str], None] | None = None
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    saved: dict[str, list[Path]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, plan: Plan) -> None:
        """Try all inputs of ``[[target, first, end], ...]``; after a lost process another goes on."""
        plan = [list(entry) for entry in plan]
        if self.progress is not None:
            self.progress(" ".join(f"{name} {first}-{end}" for name, first, end in plan))
        while plan:
            entry, index, lost = self._one_process(plan)
            if entry is None:
                return
            plan = plan[entry:]
            plan[0][1] = index + 1
            if lost is not None:
                self._confirm(Finding(plan[0][0], index, *lost))
            if plan[0][1] >= plan[0][2]:
                plan.pop(0)

    def _one_process(self, plan: Plan) -> tuple[int | None, int, tuple[str, str] | None]:
        """Return where the process was lost, if it was, and how, if it could not say so itself."""
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_in_memory()) as folder:
            status, board, lines, errors = _watched(plan, self.seed, Path(folder))
        with self._lock:
            for entry, (name, *_) in enumerate(plan):
                numbers = {each: board[slot(entry, 2 + place)] for place, each in enumerate(OUTCOMES)}
                self.counts.setdefault(name, Counter()).update(numbers)
                self.seconds[name] += board[slot(entry, SPENT)] / 1e9
                self.slowest[name] = max(self.slowest.get(name, 0.0), board[slot(entry, SLOWEST)] / 1e9)
        found = [Finding(**json.loads(line)) for line in lines]
        for finding in found:
            if finding.outcome == "seed":
                raise RuntimeError(f"a seed of {finding.target} is not good: {finding.why}")
            if finding.outcome == "memory":
                self._confirm(finding, counted=True)
            else:
                self._add(finding)
        if status == 0:
            return None, 0, None
        if board[PHASE] == 0:
            raise RuntimeError(
                f"{plan[board[ENTRY]][0]}: the process ended ({status}) before its inputs: {errors}"
            )
        if status == FULL:
            return board[ENTRY], board[INDEX], None
        kind = "hang" if status == "hang" else "crash"
        return board[ENTRY], board[INDEX], (kind, f"{_stack(errors) or status}\n{errors[-3000:]}")

    def _confirm(self, finding: Finding, *, counted: bool = False) -> None:
        """Try one input alone: what a busy machine, or another input before it, caused does not repeat."""
        path = self._save(finding)
        outcome, why = repeated(finding.target, path)
        if outcome == finding.outcome or finding.outcome == "crash":
            alone = "" if outcome == finding.outcome else f" (alone: {outcome})"
            self._add(Finding(finding.target, finding.index, finding.outcome, (why or finding.why) + alone))
            counted_as = finding.outcome
        else:
            path.unlink()
            counted_as = outcome if outcome in OUTCOMES else "rejected"
            if outcome in BAD:
                self._add(Finding(finding.target, finding.index, outcome, why))
        with self._lock:
            self.counts[finding.target][counted_as] += 1
            self.counts[finding.target][finding.outcome] -= counted

    def _add(self, finding: Finding) -> None:
        if self.progress is not None:
            self.progress(finding.kind)
        with self._lock:
            self.findings.append(finding)
            self.kinds[finding.kind] += 1
            if self.kinds[finding.kind] <= _KEPT:
                path = self._save(finding)
                self.saved.setdefault(finding.kind, []).append(path)
                path.with_suffix(".why.txt").write_text(f"{finding.why}\n\nto repeat it:\n{command(path)}\n")

    def _save(self, finding: Finding) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{finding.target}--{self.seed}-{finding.index}--{finding.outcome}.bin"
        path.write_bytes(input_of(finding.target, self.seed, finding.index))
        return path


def command(path: Path) -> str:
    """What to type to see one input again."""
    return f"python -m tools.fuzz --repeat {path}"


def input_of(name: str, seed: int, index: int) -> bytes:
    """The bytes of one input."""
    from tools.fuzz.targets import target_of

    return made(target_of(name), name, seed, index, seeds_of(name))


@cache
def seeds_of(name: str) -> Sequence[bytes]:
    """The seeds of a target; making them trains models, so it is done once."""
    from tools.fuzz.targets import target_of

    with threadpool_limits(1):
        return target_of(name).seeds()


def repeated(name: str, path: Path) -> tuple[str, str]:
    """Outcome of one saved input in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_in_memory()) as folder:
        status, board, lines, errors = _watched([[name, str(path.resolve())]], 0, Path(folder))
        outcome = next((each for place, each in enumerate(OUTCOMES) if board[slot(0, 2 + place)]), "")
    if status == "hang" or status not in (0, FULL):
        return ("hang" if status == "hang" else "crash"), f"{_stack(errors) or status}\n{errors[-3000:]}"
    return outcome, json.loads(lines[-1])["why"] if lines else ""


def _watched(plan: Plan, seed: int, folder: Path) -> tuple[Any, Board, list[str], str]:
    """Run one process until it ends, or hangs: status, board, what it reported, what it printed."""
    out, err = folder / "out", folder / "err"
    (folder / "work").mkdir()
    stored = {name: [base64.b64encode(data).decode() for data in seeds_of(name)] for name, *_ in plan}
    (folder / "seeds").write_text(json.dumps(stored))
    board = Board(folder / "board", len(plan))
    arguments = [sys.executable, "-m", "tools.fuzz.child", folder, seed, json.dumps(plan)]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [*map(str, arguments)], cwd=ROOT, env=os.environ | _ONE_THREAD, stdout=stdout, stderr=stderr
        )
        status: Any = None
        place, since = (-1, -1, -1), time.monotonic()
        while status is None:
            try:
                status = process.wait(0.05)
            except subprocess.TimeoutExpired:
                now = (board[ENTRY], board[INDEX], board[PHASE])
                if now != place:
                    place, since = now, time.monotonic()
                elif time.monotonic() - since > (LONGEST if board[PHASE] else _LONGEST_START):
                    process.send_signal(signal.SIGABRT)  # the stack of every thread goes to its errors
                    _end(process)
                    status = "hang"
    lines = [line for line in out.read_text(errors="replace").splitlines() if line.startswith('{"target"')]
    return status, board, lines, err.read_text(errors="replace")


def _end(process: Any) -> None:
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _stack(errors: str) -> str:
    """The innermost line of the package in what `faulthandler` printed, or else the innermost of all."""
    lines = [line.strip() for line in errors.splitlines() if line.strip().startswith('File "')]
    ours = [line for line in lines if "/directrix/" in line] or lines
    return (
        ours[0].rpartition("site-packages/")[2].rpartition("/directrix/")[2] if ours else errors.strip()[:100]
    )


def _in_memory() -> str | None:
    """A folder of files in memory, where there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def rounds(campaign: Campaign, names: Sequence[str], until: float, weights: Sequence[int]) -> Iterator[Plan]:
    """Plans of about twenty seconds, until the time has come; former rounds say how many inputs that are."""
    reached = dict.fromkeys(names, 0)
    while True:
        for name, weight in zip(names, weights, strict=True):
            if time.monotonic() > until:
                return
            done, seconds = sum(campaign.counts.get(name, Counter()).values()), campaign.seconds[name]
            size = (
                500 * weight
                if not done
                else int(min(50_000, max(100, 15 * weight * done / max(seconds, 1e-3))))
            )
            first, reached[name] = reached[name], reached[name] + size
            yield [[name, first, first + size]]
