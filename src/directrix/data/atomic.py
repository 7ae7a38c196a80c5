"""Write a file that appears, or replaces another, only when all of it is written."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from directrix.data.files import compressing
from directrix.errors import InputError


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` only if the block ends without error.

    It is compressed if the name ends in ``.gz``, ``.bz2`` or ``.xz``. For a symbolic link, the file it points
    to is replaced. A pipe or a device is written to directly.
    """
    path = Path(path)
    try:
        opened = path.open("wb") if _is_special(path) else _temporary(Path(os.path.realpath(path)))
        with opened as raw, compressing(raw, path.suffix) as file:
            yield file
    except OSError as error:
        raise _unwritable(path, error) from error


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[IO[bytes]]:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return InputError(
            f"{path} was not written ({reason}); space for the whole file is needed, next to the old one: "
            f"check `df -h {path.parent}`."
        )
    return InputError(
        f"{path} cannot be written ({reason}); a file name in a folder that exists and may be written to "
        f"is needed: check `ls -ld {path.parent}`."
    )
