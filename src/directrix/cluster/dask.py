"""A Dask cluster: one task for each worker and step."""

from __future__ import annotations

import contextlib
import logging
import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

from directrix.data.memory import available_memory
from directrix.data.shards.task import ROOM, Driver, Span, Task, contiguous
from directrix.errors import Advice, InputError, MissingExtra, short_text

# Seconds after which the workers are listed again.
_REFRESH = 1.0
# Seconds without any worker after which the run fails.
_PATIENCE = 60.0
# Seconds after which a worker that has not answered is inspected.
_ASK = 2.0
# Seconds after which a scheduler that has not answered counts as lost.
_SILENCE = 120.0
# Number of times that a task moves to another worker, because its worker was lost or ran out of memory.
_MOVES = 3


class Dask(Driver):
    """Dask workers; the task of a lost worker goes to another one."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._workers: dict[str, tuple[int, int]] = {}
        self._listed = 0.0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            import distributed
        except ImportError as error:
            raise MissingExtra("dask", 'cluster("dask", ...)') from error
        if isinstance(self._target, str):
            # Our own error reports a lost scheduler, so the client's messages are silenced.
            logger = logging.getLogger("distributed.client")
            self._stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
            try:
                self._client = self._stack.enter_context(distributed.Client(self._target, timeout=10))
            except (OSError, ValueError, TimeoutError) as error:
                raise InputError(
                    f"no scheduler of Dask answers at {self._target}: {error}. Start one with `dask "
                    "scheduler`, and workers with `dask worker ADDRESS`."
                ) from error
        elif isinstance(self._target, distributed.Client) and not self._target.asynchronous:
            self._client = self._target
        else:
            raise InputError(
                f'cluster("dask", {short_text(self._target)}): a distributed.Client that is not '
                'asynchronous, or the address of a scheduler is needed, e.g. "tcp://127.0.0.1:8786".'
            )
        import joblib

        self._stack.enter_context(self._client.as_current())
        self._stack.enter_context(joblib.parallel_config(backend="dask"))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def answers(self, task: Task) -> dict[Span, Any]:
        """Return the partial results of all workers; another worker computes those of a lost one."""
        import distributed

        with _dask_errors(self._client):
            workers = self._running()
            documents = [task.shards[number].documents for number in task.numbers]
            runs = contiguous(task.numbers, documents, len(workers))
            waiting = {
                self._submit(replace(task, numbers=run), address): run
                for address, run in zip(workers, runs, strict=False)
            }
            answers: dict[Span, Any] = {}
            moves = dict.fromkeys(runs, 0)
            try:
                while waiting:
                    with contextlib.suppress(distributed.TimeoutError, TimeoutError):
                        distributed.wait([*waiting], timeout=_ASK)
                    done = [future for future in waiting if future.done()]
                    for answer in self._gathered(done):
                        answers.update(answer)
                    for future in done:
                        del waiting[future]
                    unfinished = [future for future in waiting if not future.done()]
                    running = self._running() if unfinished else []
                    # Dask gives tasks of a lost worker to another one, but not if there is none at that
                    # moment, and not those of a worker that starts none because its memory is used up.
                    for future in [future for future in unfinished if future.address not in running]:
                        run = waiting.pop(future)
                        self._client.cancel([future])
                        moves[run] += 1
                        if moves[run] > _MOVES:
                            raise _out_of_memory()
                        addresses = [other.address for other in waiting]
                        # The task moves to the least busy worker.
                        address = min(self._running(), key=addresses.count)
                        waiting[self._submit(replace(task, numbers=run), address)] = run
            finally:
                if waiting:
                    self._client.cancel([*waiting])
        return answers

    def _gathered(self, futures: list[Any]) -> list[dict[Span, Any]]:
        """Return results of futures that are done; give up on a scheduler that does not answer."""

        async def results() -> Any:
            return await self._client.gather(futures, asynchronous=True)

        return list(self._client.sync(results, callback_timeout=_SILENCE)) if futures else []

    def _submit(self, task: Task, address: str) -> Any:
        from distributed.protocol.pickle import dumps

        threads, room = self._workers[address]
        # The task goes as bytes, since Dask would print and walk through its objects, which takes longer than
        # a step.
        future = self._client.submit(
            _answered,
            dumps(replace(task, threads=threads, room=room)),
            workers=[address],
            allow_other_workers=True,
            pure=False,
        )
        future.address = address
        return future

    def _running(self) -> list[str]:
        """Addresses of the workers that take tasks, sorted."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() > self._listed + _REFRESH or not self._workers:
            listed = self._listed_workers()
            self._workers = {
                address: (worker["nthreads"], int(ROOM * (worker["memory_limit"] or available_memory())))
                for address, worker in sorted(listed.items())
                if worker["status"] == "running"
            }
            self._listed = time.monotonic()
            if not self._workers:
                if self._listed > end:
                    raise InputError(
                        f"the cluster had no worker for {_PATIENCE:g} s that takes tasks ({len(listed)} that "
                        "do not: their memory may be used up). Start workers: `dask worker ADDRESS`."
                    )
                time.sleep(0.2)
        return [*self._workers]

    def _listed_workers(self) -> Any:
        from distributed.comm.core import CommClosedError

        if self._client.scheduler is None or self._client.status not in ("running", "connecting"):
            raise CommClosedError

        async def listed() -> Any:
            return await self._client.scheduler.identity(n_workers=-1)

        return self._client.sync(listed, callback_timeout=_SILENCE)["workers"]


def _answered(task: bytes) -> dict[Span, Any]:
    """Answer on a worker, for a task that the client of the same cluster pickled."""
    try:
        answers: dict[Span, Any] = pickle.loads(task)()
    except OSError as error:
        # In the driver, an OSError would mean that the cluster was lost.
        raise InputError(
            f"a worker could not read its shards: {error}. Check the disk of the worker, and that it has the "
            "folder of shards at the same path."
        ) from error
    return answers


@contextlib.contextmanager
def _dask_errors(client: Any) -> Iterator[None]:
    """Say what happened to the cluster, and what to do."""
    import distributed
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    address = client.scheduler.address if client.scheduler else "its address"
    try:
        yield
    except KilledWorker as error:
        raise _out_of_memory() from error
    except (distributed.CancelledError, CommClosedError, OSError) as error:
        raise InputError(
            f"the scheduler of Dask at {address} was lost ({type(error).__name__}). Start it again.",
            Advice("resume"),
        ) from error


def _out_of_memory() -> InputError:
    return InputError(
        f"workers were lost, or had no memory left, {_MOVES + 1} times while they worked on the same shards; "
        "probably their memory limit was hit. Give them more memory (`dask worker --memory-limit`), or write "
        "more and smaller shards."
    )
