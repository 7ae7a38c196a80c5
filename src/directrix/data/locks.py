"""Keep other processes out of a file that is written piece by piece."""

from __future__ import annotations

from typing import IO

from directrix.errors import InputError


def lock(file: IO[bytes], advice: str) -> None:
    """Lock an open file until it is closed; does nothing where the system, or the disk, has no locks.

    Raises `InputError`, with ``advice`` on what to name instead, if another process has locked it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{file.name}: another process is writing to it, and only one may. Wait until it has ended, or "
            f"{advice}."
        ) from None
    except OSError:  # some network file systems have no locks
        return
