"""Signals that end a command become one exception, so that blocks tidy up: temporary files, workers."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stopped(BaseException):
    """A signal; by convention the exit status is 128 + its number.

    It is no `KeyboardInterrupt`: for that Typer has an end of its own.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.name = signal.Signals(number).name
        self.exit_status = 128 + number


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP raise `Stopped` within the block; what `nohup` ignores stays ignored."""
    if threading.current_thread() is not threading.main_thread():  # only that one may set handlers
        yield
        return
    arrived = []

    def stop(number: int, _: Any) -> NoReturn:
        arrived.append(Stopped(number))
        raise arrived[-1]

    def repeat(ignored: Any) -> None:
        # Python drops what finalizers and callbacks of weak references raise: so the signal comes again
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
        if arrived:  # extensions in C may turn it into an error of their own
            raise arrived[-1] from error
        raise
    finally:
        sys.unraisablehook = hook
        for number, handler in replaced.items():
            signal.signal(number, handler)
