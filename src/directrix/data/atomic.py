"""Write a file that appears, or replaces another, only when all of it is written."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from directrix.data.files import compressing
from directrix.errors import InputError

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


class _Checked(Exception):
    """Ends a block, and reports nothing."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` only if the block ends without error.

    It is compressed if the name ends in ``.gz``, ``.bz2`` or ``.xz``. A file that is replaced keeps its
    permissions, and its owner and group where this user may set them; a new one gets what the umask of the
    user says. For a symbolic link, the file it points to is replaced; other hard links keep the old contents.
    A pipe, a device or an open descriptor such as ``/dev/stdout`` is written to directly.

    Raises `InputError` if it cannot be written; what was there stays as it was.
    """
    path = Path(path)
    try:
        with _opened(path) as raw, compressing(raw, path.suffix) as file:
            yield file
    except OSError as error:
        raise _unwritable(path, error) from error


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise the error of `replacing` if ``path`` cannot be written now; nothing is changed."""
    path = Path(path)
    try:
        if _descriptor(path) is None and not _is_special(path):
            with contextlib.suppress(_Checked), _unfinished(path):
                raise _Checked
        elif not _may_write(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(path, error) from error


def _opened(path: Path) -> contextlib.AbstractContextManager[IO[bytes]]:
    descriptor = _descriptor(path)
    if descriptor is not None:  # not by name: it may be a file, part of which others have written
        return os.fdopen(os.dup(descriptor), "wb")
    return path.open("wb") if _is_special(path) else _unfinished(path)


def _descriptor(path: Path) -> int | None:
    match = _DESCRIPTOR.fullmatch(str(path))
    return int(match[1]) if match else _STREAMS.get(str(path))


def _is_special(path: Path) -> bool:
    status = _status(path)
    return status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _unfinished(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path`` at the end."""
    old = _status(path)
    if old is not None and stat.S_ISDIR(old.st_mode):
        raise InputError(f"{path} is a folder; give the name of a file in it, e.g. {path / 'out'}.")
    if old is not None and not _may_write(path):
        raise InputError(
            f"{path} is read-only and stays as it is; give another name, or type `chmod u+w {path}` first."
        )
    target = Path(os.path.realpath(path))
    # known before the file exists, so that no signal comes between making and removing it
    name = target.with_name(f".directrix-{secrets.token_hex(8)}.tmp")
    try:
        handle, has_name = _new_file(name, 0o666 if old is None else 0o600)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if old is not None:
                _permit_as(old, handle)
            os.fsync(handle)  # a machine that stops after the renaming must not leave an empty file
            if not has_name:  # with src_dir_fd the link of the descriptor is followed
                os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle)
        os.replace(name, target)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _new_file(name: Path, mode: int) -> tuple[int, bool]:
    """Open a file, without a name where the system can: nothing stays of it when the process is killed."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # a file system without them, or an error that comes again
            return os.open(name.parent, os.O_TMPFILE | os.O_WRONLY, mode), False
    return os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode), True


def _permit_as(old: os.stat_result, handle: int) -> None:
    """Give a file the owner, group and permissions of another, as far as this user may."""
    if not hasattr(os, "fchown"):  # Windows
        return
    for user, group in ((old.st_uid, -1), (-1, old.st_gid)):
        with contextlib.suppress(OSError):
            os.fchown(handle, user, group)
    mode = stat.S_IMODE(old.st_mode)
    if os.fstat(handle).st_gid != old.st_gid:  # the rights of its group are not for another group
        mode = mode & ~0o070 | (mode & 0o007) << 3
    os.fchmod(handle, mode)


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
