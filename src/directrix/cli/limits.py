"""Termination from outside: too little memory, too few threads, and signals."""

from __future__ import annotations

import _thread
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from typing import Any

from directrix.data.memory import address_limit, available_memory
from directrix.errors import InputError

# Bytes of address space that the libraries take (benchmarks/RESULTS.md).
_LIBRARIES = 900_000_000
# Words of the dynamic loader and of Numba where memory is too small to load a library.
_LOADING = ("failed to map segment", "annot allocate memory", "Could not find/load shared object")
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def shortage(error: BaseException) -> str | None:
    """Return the message for an error caused by a lack of memory or threads; None for any other error."""
    if isinstance(error, BrokenExecutor):
        return (
            "a worker process was killed, for lack of memory or by hand; type --jobs 1, or give it more "
            "memory."
        )
    text, number = str(error), getattr(error, "errno", None)
    if number == errno.EAGAIN or (isinstance(error, RuntimeError) and "can't start new thread" in text):
        return (
            f"the system cannot start more processes or threads ({text}); type --jobs 1 --threads 1, or "
            "raise the limit: `ulimit -u`, or that of the container."
        )
    is_loading = isinstance(error, ImportError | OSError) and any(words in text for words in _LOADING)
    if not (isinstance(error, MemoryError) or number == errno.ENOMEM or is_loading):
        return None
    what = f" ({text})" if text else ""
    by_limit = "" if address_limit() is None else "; `ulimit -v` limits it here"
    return (
        f"memory ran out{what}; {available_memory() / 1e6:,.0f} MB are available now. Use fewer queries or "
        f"features, --jobs 1 --threads 1, or a machine with more memory{by_limit}."
    )


def check_address_space() -> None:
    """Raise `InputError` if the limit of the address space is too small for the libraries themselves.

    They would end the process or hang, which no program can catch. BLAS does the same if it cannot allocate
    its buffers, so under a limit they are allocated here, while there is memory.
    """
    limit = address_limit()
    if limit is None:
        return
    if limit < _LIBRARIES:
        raise InputError(
            f"{limit / 1e9:.3g} GB of address space are allowed (`ulimit -v`); the numerical libraries "
            f"take {_LIBRARIES / 1e9:g} GB of it before any data. Type `ulimit -v unlimited`, and limit the "
            "memory in use instead, e.g. `systemd-run --user --scope -p MemoryMax=2G`."
        )
    import numpy as np
    from scipy.linalg import eigh

    from directrix.threads import get_threads, run_chunks

    # NumPy and SciPy have a BLAS each; each thread that calls one at the same time takes a buffer.
    square, end = np.ones((512, 512)), time.monotonic() + 1.0

    def multiply(_: int) -> None:
        # Where no threads can be started, this one would do all products, so they end after a second.
        if time.monotonic() < end:
            np.dot(square, square)

    run_chunks(multiply, 8 * get_threads())
    eigh(square[:256, :256])


# The signals that arrived within `stoppable`, and whether the first one waits for `stopping_later`.
_arrived: list[Stopped] = []
_is_patient = False


class Stopped(BaseException):
    """A signal; by convention the exit status is 128 + its number.

    It is not a `KeyboardInterrupt`, since Typer handles that one itself.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.name = signal.Signals(number).name
        self.exit_status = 128 + number


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP raise `Stopped` within the block, unless `nohup` ignores them."""
    # Only the main thread may set handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _arrived.clear()

    def stop(number: int, _: Any) -> None:
        _arrived.append(Stopped(number))
        if not _is_patient or len(_arrived) > 1:
            raise _arrived[-1]
        text = (
            f"{_arrived[0].name}: ends after this step, and keeps the best model; a second one ends at once\n"
        )
        # The signal may have come in the middle of a write to sys.stderr, which is not used here.
        with suppress(OSError):
            os.write(2, text.encode())

    def repeat(ignored: Any) -> None:
        # Python drops what finalizers and callbacks of weak references raise, so the signal is sent again.
        if isinstance(ignored.exc_value, Stopped):
            later = threading.Timer(0.01, _thread.interrupt_main, [ignored.exc_value.number])
            later.daemon = True
            later.start()
        else:
            hook(ignored)

    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in _ENDING}
    replaced = {number: handler for number, handler in before.items() if handler in usual}
    for number in replaced:
        signal.signal(number, stop)
    hook, sys.unraisablehook = sys.unraisablehook, repeat
    try:
        yield
    except Exception as error:
        # Extensions in C may turn `Stopped` into an error of their own.
        if _arrived:
            raise _arrived[-1] from error
        raise
    finally:
        sys.unraisablehook = hook
        for number, handler in replaced.items():
            signal.signal(number, handler)


@contextmanager
def stopping_later() -> Iterator[Callable[[], bool]]:
    """Let the first signal within the block of `stoppable` raise `Stopped` only at the end of this block.

    Yields a function that returns whether a signal arrived: the block should then save what it has. A second
    signal raises at once.
    """
    global _is_patient
    _is_patient = True
    try:
        yield lambda: bool(_arrived)
    except Exception as error:
        if _arrived:
            raise _arrived[0] from error
        raise
    finally:
        _is_patient = False
    if _arrived:
        raise _arrived[0]
