"""Signals that end a command become one exception, so that blocks tidy up: temporary files, workers."""

from __future__ import annotations

import signal
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
        self.name = signal.Signals(number).name
        self.exit_status = 128 + number


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP raise `Stopped` within the block; what `nohup` ignores stays ignored."""
    if threading.current_thread() is not threading.main_thread():  # only that one may set handlers
        yield
        return
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in _ENDING}
    replaced = {number: handler for number, handler in before.items() if handler in usual}
    for number in replaced:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


def _stop(number: int, _: Any) -> NoReturn:
    raise Stopped(number)
