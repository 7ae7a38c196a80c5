"""Processes of this machine, each of which keeps its shards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from directrix.data.memory import available_memory
from directrix.data.shards.driver import ROOM, Driver
from directrix.data.shards.opened import Task, contiguous
from directrix.data.shards.tree import Span
from directrix.errors import InputError
from directrix.threads import get_threads

_ATTEMPTS = 3


class Processes(Driver):
    """As many processes as are wanted; one that dies is started again, and asked again."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._pools: list[Any] = []

    def __enter__(self) -> Self:
        self._pools = [_started() for _ in range(self.n_workers)]
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self._pools:
            pool.shutdown(wait=True, kill_workers=True)
        self._pools = []

    def answers(self, task: Task) -> dict[Span, Any]:
        """Return the answers of all processes."""
        documents = [task.shards[number].documents for number in task.own]
        room = int(ROOM * available_memory() / self.n_workers)
        threads = max(1, get_threads() // self.n_workers)
        wanted = {
            worker: replace(task, own=run, room=room, threads=threads)
            for worker, run in enumerate(contiguous(task.own, documents, self.n_workers))
        }
        found: dict[Span, Any] = {}
        for _ in range(_ATTEMPTS):
            wanted = self._asked(wanted, found)
            if not wanted:
                return found
        own = ", ".join(str(number) for number in next(iter(wanted.values())).own)
        raise InputError(
            f"a process ended {_ATTEMPTS} times while it worked on the shards {own}, for lack of memory or "
            "from outside. Take fewer processes, or smaller shards: "
            "directrix.write_shards(data, folder, n_shards=...)."
        )

    def _asked(self, wanted: dict[int, Task], found: dict[Span, Any]) -> dict[int, Task]:
        """Ask each process, add to what was found, and return the tasks of those that died."""
        from concurrent.futures.process import BrokenProcessPool

        futures, lost = {worker: self._pools[worker].submit(task) for worker, task in wanted.items()}, {}
        for worker, future in futures.items():
            try:
                found.update(future.result())
            except BrokenProcessPool:
                lost[worker] = wanted[worker]
                self._pools[worker] = _started()
        return lost


def _started() -> Any:
    """A pool of one process, which keeps the shards it has opened; joblib's, which needs no main module."""
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=1)
