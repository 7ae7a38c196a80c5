"""Processes on this machine, each of which keeps its shards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from directrix.data.memory import available_memory
from directrix.data.shards.task import ROOM, Driver, Span, Task, contiguous
from directrix.errors import InputError
from directrix.threads import get_threads, ignore_interrupts

# Number of times that the task of a process that died is given to a new one.
_ATTEMPTS = 3


class Processes(Driver):
    """A number of processes; if one dies, it is restarted and its task is repeated."""

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
        """Return the partial results of all processes."""
        from concurrent.futures.process import BrokenProcessPool

        documents = [task.shards[number].documents for number in task.numbers]
        room = int(ROOM * available_memory() / self.n_workers)
        threads = max(1, get_threads() // self.n_workers)
        wanted = {
            worker: replace(task, numbers=run, room=room, threads=threads)
            for worker, run in enumerate(contiguous(task.numbers, documents, self.n_workers))
        }
        answers: dict[Span, Any] = {}
        for _ in range(_ATTEMPTS):
            futures = {}
            for worker, task in wanted.items():
                try:
                    futures[worker] = self._pools[worker].submit(task)
                except BrokenProcessPool:
                    # The process died after its last answer.
                    self._restart(worker)
                    futures[worker] = self._pools[worker].submit(task)
            # The tasks of processes that die are what the next attempt asks for.
            for worker, future in futures.items():
                try:
                    answers.update(future.result())
                    del wanted[worker]
                except BrokenProcessPool:
                    self._restart(worker)
            if not wanted:
                return answers
        shards = ", ".join(str(number) for number in next(iter(wanted.values())).numbers)
        raise InputError(
            f"a process died {_ATTEMPTS} times while it worked on the shards {shards}, for lack of memory "
            "or because it was killed. Use fewer processes, or smaller shards: "
            "directrix.write_shards(data, folder, n_shards=...)."
        )

    def _restart(self, worker: int) -> None:
        self._pools[worker].shutdown(wait=False)
        self._pools[worker] = _started()


def _started() -> Any:
    """A pool of one process, which keeps the shards it has opened; joblib's, which needs no main module."""
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=1, initializer=ignore_interrupts)
