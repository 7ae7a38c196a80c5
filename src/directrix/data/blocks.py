"""A text file, plain or compressed, as blocks of whole lines."""

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

from directrix.errors import InputError

__all__ = [
    "BLOCK_BYTES",
    "DAMAGE",
    "FileBlocks",
    "Stamp",
    "check_stamp",
    "open_compressed",
    "open_data",
    "readable",
    "stream_blocks",
    "unreadable",
]

BLOCK_BYTES = 1 << 20  # fits the second-level cache together with what is parsed from it

_MAGIC: list[tuple[bytes, str]] = [(b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz")]
Stamp = tuple[Path, int, int]
"""A file, its bytes, and the nanosecond of its last change."""

DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def unreadable(path: Path, error: BaseException) -> InputError:
    """Return the error for a file that cannot be opened, or read to its end."""
    if isinstance(error, DAMAGE) or (isinstance(error, OSError) and error.errno is None):
        return InputError(
            f"{path}: the compressed data are damaged or cut off ({error}); a complete file is needed. "
            "Fetch or compress it again, and test it with `gzip -t`, `bzip2 -t` or `xz -t`."
        )
    if isinstance(error, IsADirectoryError) or path.is_dir():
        return InputError(f"{path} is a directory; one file is needed, e.g. {path / 'train.txt'}.")
    if isinstance(error, FileNotFoundError) and str(path) == "-":
        return InputError(
            "- would be a file of that name, which does not exist; standard input is not read, for files are "
            "read more than once. Write it to a file first, `... > data.txt`, and give that."
        )
    if isinstance(error, FileNotFoundError):
        return InputError(
            f"{path} does not exist (seen from {Path.cwd()}); give the path of a file, "
            f"`ls {path.parent}` shows what is there."
        )
    if isinstance(error, PermissionError):
        return InputError(f"{path} may not be read by this user; type `chmod u+r {path}` or copy the file.")
    reason = str(error) or type(error).__name__
    return InputError(f"{path} cannot be read: {reason}. Check the path and the disk, then try again.")


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while ``path`` is read within the block into an `InputError`.

    The one place that knows what opening, reading and decompressing can raise.
    """
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, MemoryError, *DAMAGE) as error:
        raise unreadable(path, error) from error


def open_data(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed if its first bytes say gzip, bzip2 or xz.

    Raises
    ------
    InputError
        As `open_compressed`; other errors are those of the system, see `readable`.
    """
    return open_compressed(path) or path.open("rb")


def open_compressed(path: Path) -> IO[bytes] | None:
    """Open a gzip, bzip2 or xz file, told by its first bytes; ``None`` if it is none of them.

    Raises
    ------
    InputError
        If ``path`` is a pipe or a device: what is read from those to look at it is gone.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(
            f"{path} is a pipe or a device; a regular file is needed, for it is read more than once. "
            "Write it to a file first, `... > data.txt`, and give that (gzip, bzip2 and xz files are read as "
            "they are)."
        )
    with path.open("rb") as file:
        head = file.read(6)
    kind = next((name for magic, name in _MAGIC if head.startswith(magic)), None)
    if kind is None:
        return None
    openers: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
    opened: IO[bytes] = openers[kind](path, "rb")
    return opened


class FileBlocks:
    """Blocks of a plain file, readable in any order and from any thread.

    Block ``b`` holds the lines that start at bytes ``[b * size, (b + 1) * size)``; so the
    blocks depend on the file alone.

    Parameters
    ----------
    path : Path
        A regular file.
    size : int
        Bytes from which a block takes its lines.
    """

    def __init__(self, path: Path, size: int = BLOCK_BYTES) -> None:
        self._size = size
        self._file = path.open("rb", buffering=0)
        self._bytes = os.fstat(self._file.fileno()).st_size

    def __len__(self) -> int:
        return -(-self._bytes // self._size)

    def __enter__(self) -> FileBlocks:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, block: int) -> bytes:
        """Return the lines of a block; empty if a line runs across the whole of it."""
        begin, end = block * self._size, (block + 1) * self._size
        before = min(block, 1)  # one byte more: the line starts here only if a newline stands before
        text = self._read(begin - before, self._size + before)
        start = text.find(b"\n") + 1 if before else 0
        if before and (start == 0 or start > self._size):
            return b""
        if not text.endswith(b"\n"):
            text += self._rest_of_line(end)
        return text[start:] if start else text

    def _rest_of_line(self, offset: int) -> bytes:
        parts, step = [], 1 << 14
        while part := self._read(offset, step):
            newline = part.find(b"\n")
            if newline >= 0:
                parts.append(part[: newline + 1])
                break
            parts.append(part)
            offset += len(part)
            step = min(2 * step, 1 << 24)
        return b"".join(parts)

    def _read(self, offset: int, length: int) -> bytes:
        parts: list[bytes] = []
        while length > 0 and (part := os.pread(self._file.fileno(), length, offset)):
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def stream_blocks(file: IO[bytes], size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Cut a stream into blocks of whole lines, of about ``size`` bytes each."""
    kept: list[bytes] = []
    while text := file.read(size):
        newline = text.rfind(b"\n") + 1
        if newline == 0:
            kept.append(text)
            continue
        yield b"".join([*kept, text[:newline]])
        kept = [text[newline:]]
    if last := b"".join(kept):
        yield last


def check_stamp(stamps: tuple[Stamp, ...], path: Path, status: os.stat_result) -> None:
    """Raise `InputError` if a file is not the one that was opened."""
    if (path, status.st_size, status.st_mtime_ns) not in stamps:
        raise InputError(
            f"{path} was changed while it was used; the rows that were read belong to another file. "
            "Open it again."
        )
