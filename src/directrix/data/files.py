"""Open files, plain or compressed, and say in one message why one cannot be read."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from directrix.data.text import CheckedText
from directrix.errors import InputError

_COMPRESSIONS: dict[str, tuple[bytes, Any]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
    ".xz": (b"\xfd7zXZ\x00", lzma.open),
}  # ending of the name: first bytes, how to open it for reading

COMPRESSED = tuple(_COMPRESSIONS)
"""Endings of the names of compressed files."""

Stamp = tuple[Path, int, int]
"""A file, its size in bytes, and the nanosecond of its last change."""

_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def path_of(given: str | os.PathLike[str]) -> Path:
    """Return a path; a `Path` stays what it is: standard input keeps the name ``-``."""
    return given if isinstance(given, Path) else Path(given)


def without_compression(path: Path) -> Path:
    """Return the path without ``.gz``, ``.bz2`` or ``.xz`` at its end."""
    return path.with_suffix("") if path.suffix in COMPRESSED else path


def short_name(path: Path) -> str:
    """Name of a file without its ending; .9 in bm25_k1=0.9 is none, and standard input is -."""
    if str(path) == "-":
        return "-"
    plain = without_compression(path)
    return plain.stem if plain.suffix[1:].isalpha() else plain.name


def unreadable(path: Path, error: BaseException) -> InputError:
    """Return the error for a file that cannot be opened, or read to its end."""
    if isinstance(error, _DAMAGE) or (isinstance(error, OSError) and error.errno is None):
        return InputError(
            f"{path}: the compressed data are damaged or cut off ({error}); a complete file is needed. "
            "Fetch or compress it again, and test it with `gzip -t`, `bzip2 -t` or `xz -t`."
        )
    if isinstance(error, IsADirectoryError) or path.is_dir():
        return InputError(f"{path} is a directory; one file is needed, e.g. {path / 'train.txt'}.")
    if isinstance(error, FileNotFoundError) and str(path) == "-":
        return InputError(
            "- would be a file of that name, which does not exist; standard input is read by commands only, "
            "because files are read more than once. Write it to a file first, and give that file."
        )
    if isinstance(error, FileNotFoundError):
        return InputError(
            f"{path} does not exist (seen from {Path.cwd()}); give the path of a file, "
            f"`ls {path.parent}` lists the files."
        )
    if isinstance(error, PermissionError):
        return InputError(f"{path} may not be read by this user; type `chmod u+r {path}` or copy the file.")
    reason = str(error) or type(error).__name__
    return InputError(f"{path} cannot be read: {reason}. Check the path and the disk, then try again.")


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn every error of reading ``path`` within the block into an `InputError`.

    The one place that knows what opening, reading and decompressing can raise. A pipe or a device is refused:
    opening it may wait for ever, and files are read more than once.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise InputError(
                f"{path} is a pipe or a device; a regular file is needed, because it is read more than once. "
                "Write it to a file first, `... > data.txt`, and give that file (gzip, bzip2 and xz files "
                "are read as they are)."
            )
        yield
    except InputError:
        raise
    except (OSError, ValueError, MemoryError, *_DAMAGE) as error:
        raise unreadable(path, error) from error


def open_data(path: Path) -> IO[bytes]:
    """Open a text file for reading, decompressed if its first bytes say gzip, bzip2 or xz.

    A byte-order mark is left out. Raises `InputError` while it is read as
    `directrix.data.text.CheckedText`; other errors are those of the system, see `readable`.
    """
    return CheckedText.buffered(path, open_compressed(path) or path.open("rb"))


def open_compressed(path: Path) -> IO[bytes] | None:
    """Open a gzip, bzip2 or xz file, recognized by its first bytes; ``None`` for any other file."""
    with path.open("rb") as file:
        head = file.read(6)
    opener = next((opener for magic, opener in _COMPRESSIONS.values() if head.startswith(magic)), None)
    return None if opener is None else opener(path, "rb")


def compressing(raw: IO[bytes], suffix: str) -> Any:
    """Return a context manager that gives a file to write to: compressed into ``raw`` as the suffix says."""
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    if suffix == ".bz2":
        return bz2.BZ2File(raw, "wb")
    return lzma.LZMAFile(raw, "wb") if suffix == ".xz" else contextlib.nullcontext(raw)


def check_stamp(stamps: tuple[Stamp, ...], path: Path, status: os.stat_result) -> None:
    """Raise `InputError` if a file is not the one that was opened."""
    if (path, status.st_size, status.st_mtime_ns) not in stamps:
        raise InputError(
            f"{path} changed while it was in use; the rows that were read belong to another file. "
            "Open it again."
        )
