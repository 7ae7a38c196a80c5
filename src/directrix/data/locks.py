"""Keep other processes out of a file that is written piece by piece."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

from directrix.errors import InputError


def open_locked(path: Path, advice: str) -> IO[bytes]:
    """Open a file to read it and to write to its end, make it if there is none, and `lock` it.

    Raises `InputError` if it is not a regular file: opening a pipe may wait for ever, and a link may lead to
    a file of others.
    """
    file = open(path, "r+b", opener=_open_regular)  # noqa: SIM115 - closed by the caller
    try:
        lock(file, advice)
    except BaseException:
        file.close()
        raise
    return file


def _open_regular(name: str, flags: int) -> int:
    safe = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(name, flags | os.O_CREAT | safe, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a symbolic link, a socket
            raise
    else:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
    raise InputError(
        f"{name} is a symbolic link, a pipe or a device; results are added to a regular file only. "
        "Remove it, or name another file."
    )


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
