"""Run a serial kernel over fixed chunks of queries on all cores.

The chunks depend on the data alone, never on the machine, and callers sum over them in chunk order, so
results have the same bits for any number of threads.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from directrix.errors import InputError, warn
from directrix.types import Int64Array

_ENVIRONMENT = "DIRECTRIX_NUM_THREADS"
# More threads than any machine has cores are a mistake, and each takes memory.
_MOST = 4096
_lock = threading.Lock()
_chosen: int | None = None
# The number of workers and their executor; the executor is None if the system cannot start them.
_pool: tuple[int, ThreadPoolExecutor | None] | None = None
_this_thread = threading.local()
# The number of callers inside `one_blas_thread`, and the limit that the last of them restores.
_blas: tuple[int, Any] = (0, None)


def set_threads(n: int | None) -> int | None:
    """Set how many threads the kernels use in this process.

    Parameters
    ----------
    n : int, 1 to 4096, or None
        ``None`` returns to the default: the environment variable ``DIRECTRIX_NUM_THREADS``,
        else 1 inside a worker process (joblib, multiprocessing), else all cores.

    Returns
    -------
    int or None
        The previous setting, to be restored later.

    Raises
    ------
    InputError
        If ``n`` is not an integer from 1 to 4096.

    Examples
    --------
    >>> import directrix as dx
    >>> before = dx.set_threads(1)
    >>> dx.get_threads()
    1
    >>> _ = dx.set_threads(before)
    """
    global _chosen
    before = _chosen
    _chosen = None if n is None else _positive(n, "set_threads(n)")
    return before


def get_threads() -> int:
    """Return the number of threads that the kernels use now.

    Raises
    ------
    InputError
        If ``DIRECTRIX_NUM_THREADS`` is set to something that is not a positive integer.

    Examples
    --------
    >>> import directrix as dx
    >>> dx.get_threads() >= 1
    True
    """
    if _chosen is not None:
        return _chosen
    from_environment = os.environ.get(_ENVIRONMENT)
    if from_environment:
        return _positive(from_environment, f"environment variable {_ENVIRONMENT}")
    # A worker process uses one thread, because its siblings use the other cores.
    if multiprocessing.parent_process() is not None:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def query_chunks(qptr: Int64Array, docs_per_chunk: int) -> Int64Array:
    """Split queries into chunks of at least one whole query and about ``docs_per_chunk`` documents.

    Return ``bounds`` (n_chunks + 1,): chunk ``c`` has the queries ``bounds[c] <= q < bounds[c + 1]``.
    """
    n_queries = len(qptr) - 1
    # Queries without documents need a chunk too, so the range is never empty.
    wanted = np.arange(0, max(qptr[-1], 1), docs_per_chunk)
    starts = np.unique(np.searchsorted(qptr[:-1], wanted, side="left"))
    return np.append(starts[starts < n_queries], n_queries).astype(np.int64)


def run_chunks(work: Callable[[int], None], n_chunks: int) -> None:
    """Call ``work(c)`` for every chunk ``0 <= c < n_chunks``, on ``get_threads()`` threads.

    ``work`` must write only to the places of its chunk, and gains speed only if it releases the GIL.

    The calling thread works too; if the system cannot start others, it works alone. Threads take the next
    chunk from one counter, which balances the load. The first exception stops the other threads after their
    chunk and is raised here.
    A call from within ``work`` runs serially, because its thread already works on a chunk.
    """
    global _pool
    # Work that is itself in a chunk runs serially: a wait for the same pool could last forever.
    n_threads = 1 if getattr(_this_thread, "inside", False) else min(get_threads(), n_chunks)
    if n_threads <= 1:
        for chunk in range(n_chunks):
            work(chunk)
        return
    # Threads take the next chunk when they are ready, so slow chunks do not hold up the others. `next`
    # is atomic in CPython.
    counter = itertools.count()
    errors: list[BaseException] = []

    def drain() -> None:
        _this_thread.inside = True
        try:
            while not errors and (chunk := next(counter)) < n_chunks:
                work(chunk)
        except BaseException as error:  # noqa: BLE001
            # The caller raises the error again after all threads have stopped.
            errors.append(error)
        finally:
            _this_thread.inside = False

    # The calling thread works as well, so one worker less is needed.
    workers = n_threads - 1
    with _lock:
        if _pool is None or _pool[0] < workers:
            _pool = workers, _started(workers)
        executor = _pool[1]
    helpers = [] if executor is None else [executor.submit(drain) for _ in range(workers)]
    drain()
    wait(helpers)
    if errors:
        raise errors[0]


@contextmanager
def serially() -> Iterator[None]:
    """Make `run_chunks` use only the calling thread within the block, for one of several parallel jobs.

    Unlike `set_threads`, it affects only the calling thread, and overrides every setting.
    """
    before = getattr(_this_thread, "inside", False)
    _this_thread.inside = True
    try:
        yield
    finally:
        _this_thread.inside = before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in the whole process, until the last caller leaves the block.

    Matrix products inside ``run_chunks`` need this: BLAS threads started by each of its threads would wait
    for each other, and the bits of a product would depend on how BLAS splits it. It costs about 10
    microseconds.
    """
    global _blas
    with _lock:
        inside, limit = _blas
        if not inside:
            _let_any_thread_set_blas()
            limit = _controller().limit(limits=1, user_api="blas")
        _blas = inside + 1, limit
    try:
        yield
    finally:
        with _lock:
            inside, limit = _blas
            _blas = inside - 1, limit
            if inside == 1:
                _let_any_thread_set_blas()
                limit.restore_original_limits()
                _let_any_thread_set_blas()


def ignore_interrupts() -> None:
    """Let a worker process ignore Ctrl-C, which a terminal sends to all: its parent decides when it ends."""
    if multiprocessing.parent_process() is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _controller() -> Any:
    # SciPy has another BLAS than NumPy, which is listed only once it is loaded.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _let_any_thread_set_blas() -> None:
    """Let this thread set a limit: since version 3.8 threadpoolctl silently ignores all but the first thread.

    Here the first thread to enter may not be the last to leave; `_lock` lets only one change the limit.
    """
    import threadpoolctl

    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _started(workers: int) -> ThreadPoolExecutor | None:
    """Start all threads at once: if it fails later, chunks stay in the queue of an executor."""
    pool, gate = ThreadPoolExecutor(workers, thread_name_prefix="directrix"), threading.Event()
    try:
        for _ in range(workers):
            pool.submit(gate.wait)
    except RuntimeError as error:
        warn(
            f"one thread is used, because the system cannot start {workers} more ({error}); results are "
            "the same. Allow more processes (`ulimit -u`) or memory, or set DIRECTRIX_NUM_THREADS=1.",
            stacklevel=3,
        )
        pool.shutdown(wait=False)
        return None
    finally:
        gate.set()
    return pool


def _forget_threads() -> None:
    """Reset the state in a forked process: threads, and locks that they hold, do not survive."""
    global _pool, _lock, _this_thread, _blas
    _pool, _lock, _this_thread, _blas = None, threading.Lock(), threading.local(), (0, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _positive(value: int | str, where: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = 0
    if not 1 <= number <= _MOST or (isinstance(value, float) and value != number):
        raise InputError(
            f"{where} is {value!r}; the number of threads must be an integer from 1 to {_MOST}, e.g. 2."
        )
    return number
