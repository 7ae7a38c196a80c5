"""Files: open, plain or compressed; check text; report bad lines; replace atomically; lock.

Every file that is read or written goes through here, so that each obstacle has one message::

    with readable(path), open_data(path) as file:
        lines = list(file)
    with replacing(path) as file:
        file.write(text)
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import math
import os
import re
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from directrix.data.memory import check_left
from directrix.errors import InputError

# An error lists at most this number of bad lines.
_SHOWN = 20


class Problem(NamedTuple):
    """One bad line: its number, its content, and the fix."""

    line: int
    """From 1."""
    what: str
    """The given value, and what is needed."""
    remedy: str
    """The fix: a sentence, or an `Advice`."""


def raise_problems(
    path: object,
    problems: Sequence[Problem],
    n_problems: int | None = None,
    place: Callable[[int], str] | None = None,
) -> None:
    """Raise `InputError` with the first 20 problems and the count of the others, if there are problems.

    ``n_problems`` is the total, if ``problems`` holds only some of them. ``place`` returns the place of a row
    in a table or a frame, whose problems have rows instead of lines.
    """
    if not problems:
        return
    n = len(problems) if n_problems is None else n_problems
    shown = sorted(problems)[:_SHOWN]
    places = [f"{path}:{line}" if place is None else place(line) for line, *_ in shown]
    lines = [f"{where}: {problem.what}" for where, problem in zip(places, shown, strict=True)]
    remedies = dict.fromkeys(problem.remedy for problem in shown)
    if n == 1:
        raise InputError(f"{lines[0]}.", *remedies)
    lines += [f"... and {n - len(shown):,} more"] if n > len(shown) else []
    what = "lines" if place is None else "rows"
    raise InputError(f"{path}: {n:,} {what} cannot be used:", *remedies, lines=lines)


def raise_line_problems(path: Path, problems: Sequence[Problem], n_problems: int | None = None) -> None:
    """Raise `InputError` for problems with lines of text: a single one for a file that begins like JSON."""
    if problems:
        with open_data(path) as file:
            first = file.readline(64).lstrip()
        if first.startswith((b"{", b"[")):
            raise InputError(
                f"{path} is JSON, as model files are, and not lines of data. Give data in its place; JSON "
                "lines have one object per line."
            )
    raise_problems(path, problems, n_problems)


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Bytes that some editors write before text in UTF-8; readers skip them."""

BLOCK_BYTES = 1 << 20
"""Bytes of a block of lines; it fits the second-level cache together with what is parsed from it."""

# Longer lines, in bytes, come from files that are not text, or that attack.
LONGEST_LINE = 256 << 20

# Text is read through a buffer of this number of bytes.
_BLOCK = 1 << 16
# After each multiple of this number of bytes, reading checks the available memory.
_LOOKS = 64 << 20

_RETURN = re.compile(rb"\r(?!\n)")


_NUL = (
    "a NUL byte; text in UTF-8 is needed",
    "If the file is in UTF-16, as Excel and PowerShell write it, type "
    "`iconv -f UTF-16 -t UTF-8 FILE > NEW`, and give the new file. If not, it is damaged or no text.",
)
_RETURNS = (
    "a carriage return within the line; lines end with a line feed",
    r"Type `tr '\r' '\n' < FILE > NEW`, and give the new file.",
)
TOO_LONG = (
    f"a line of more than {LONGEST_LINE >> 20} MiB; one line per document is needed",
    "Check that the file is text with line ends.",
)
"""A fault of a line, and its remedy."""


def fault_of(text: bytes) -> tuple[int, str, str] | None:
    """Return the position of a NUL, or of a carriage return within a line, with the fault and the remedy."""
    if (place := text.find(b"\0")) >= 0:
        return place, *_NUL
    # Two counts are much faster than the search, and almost no file needs it.
    if b"\r" in text and text.count(b"\r") > text.count(b"\r\n") and (match := _RETURN.search(text)):
        return match.start(), *_RETURNS
    return None


class CheckedText(io.RawIOBase):
    """Text of a file, plain or decompressed, without a byte-order mark.

    Reading raises `InputError` if it is not text, a line has no end, or memory is nearly exhausted.
    """

    def __init__(self, path: Path, raw: io.BufferedReader) -> None:
        self._path, self._raw = path, raw
        opener = decompressor(self._raw.peek(_LONGEST_MAGIC))
        self._file: IO[bytes] = self._raw if opener is None else opener(self._raw)
        self._n_read = self._line_bytes = 0
        self._line = 1
        self._ends_in_return = False
        try:
            self._pending = self._file.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
        except BaseException:
            raw.close()
            raise

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with checked text."""
        text = self._pending or self._file.read(len(buffer))
        self._pending = b""
        buffer[: len(text)] = text
        if self._n_read // _LOOKS != (self._n_read + len(text)) // _LOOKS:
            check_left(self._path, self._n_read)
        self._n_read += len(text)
        # A carriage return at the end of a block is decided with the text that follows.
        whole = b"\r" + text if self._ends_in_return else text
        self._ends_in_return = whole.endswith(b"\r") and len(text) > 0
        fault = fault_of(whole[:-1] if self._ends_in_return else whole)
        # The bytes since the last line end count towards the line that the next block continues.
        begin = text.rfind(b"\n") + 1
        self._line_bytes = len(text) - begin if begin else self._line_bytes + len(text)
        if fault is None and self._line_bytes > LONGEST_LINE:
            fault = 0, *TOO_LONG
        if fault is not None:
            place, *what = fault
            raise_problems(self._path, [Problem(self._line + whole.count(b"\n", 0, place), *what)])
        self._line += text.count(b"\n")
        return len(text)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        # A decompressor leaves the file open that it was given.
        self._raw.close()
        super().close()


# Each ending of a name has its first bytes and the function that opens it for reading.
_COMPRESSIONS: dict[str, tuple[bytes, Any]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
    ".xz": (b"\xfd7zXZ\x00", lzma.open),
}
# This number of bytes at the beginning of a file says how it is compressed.
_LONGEST_MAGIC = 6

COMPRESSED = tuple(_COMPRESSIONS)
"""Endings of the names of compressed files."""

Stamp = tuple[Path, int, int]
"""A file, its size in bytes, and the nanosecond of its last change."""

# The modules for compression raise these errors for damaged data.
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def path_of(path: str | os.PathLike[str]) -> Path:
    """Return a path; a `Path` is unchanged, so standard input keeps the name ``-``."""
    return path if isinstance(path, Path) else Path(path)


def without_compression(path: Path) -> Path:
    """Return the path without ``.gz``, ``.bz2`` or ``.xz`` at its end."""
    return path.with_suffix("") if path.suffix in COMPRESSED else path


def short_name(path: Path) -> str:
    """Return the name of a file without its ending; .9 in bm25_k1=0.9 is not one, and standard input is -."""
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

    Only this function handles the errors of opening, reading and decompressing. Pipes and devices are
    rejected: opening one may block forever, and files are read more than once.
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


def open_data(path: Path) -> io.BufferedReader:
    """Open a text file for reading, decompressed if its first bytes are those of gzip, bzip2 or xz.

    A byte-order mark is skipped. Reading raises `InputError` as in `CheckedText`; for other errors of the
    system, see `readable`.
    """
    return checked_text(path, path.open("rb"))


def checked_text(path: Path, raw: io.BufferedReader) -> io.BufferedReader:
    """Return the checked text of an open file; see `open_data`."""
    return io.BufferedReader(CheckedText(path, raw), _BLOCK)


def decompressor(head: bytes) -> Any:
    """Return the function that decompresses an open gzip, bzip2 or xz file; None for other first bytes."""
    return next((opener for magic, opener in _COMPRESSIONS.values() if head.startswith(magic)), None)


def compressing(raw: IO[bytes], suffix: str) -> Any:
    """Return a context manager for a file to write to, compressed into ``raw`` according to the suffix."""
    if suffix == ".gz":
        # Time 0 in the header gives the same bytes for the same data.
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


_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


class _Checked(Exception):
    """Ends a block without a report."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces ``path`` only if the block ends without error.

    It is compressed if the name ends in ``.gz``, ``.bz2`` or ``.xz``. A replaced file keeps its permissions,
    and its owner and group if this user may set them; a new one follows the user's umask. For a symbolic
    link, the target is replaced; other hard links keep the old contents. A pipe, a device or an open
    descriptor such as ``/dev/stdout`` is written to directly.

    Raises `InputError` if it cannot be written; an existing file is then unchanged.
    """
    path = Path(path)
    target: contextlib.AbstractContextManager[IO[bytes]]
    try:
        if (descriptor := _descriptor(path)) is not None:
            # It is not opened by name, because it may be a file, part of which others have written.
            target = os.fdopen(os.dup(descriptor), "wb")
        else:
            target = path.open("wb") if _is_special(path) else _unfinished(path)
        with target as raw, compressing(raw, path.suffix) as file:
            yield file
    except OSError as error:
        raise _unwritable(path, error) from error


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise the error of `replacing` if ``path`` cannot be written now, without any change."""
    path = Path(path)
    try:
        if _descriptor(path) is None and not _is_special(path):
            with contextlib.suppress(_Checked), _unfinished(path):
                raise _Checked
        elif not _may_write(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(path, error) from error


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
    # The name is known before the file exists, so that no signal comes between creating and
    # removing it.
    name = target.with_name(f".directrix-{secrets.token_hex(8)}.tmp")
    try:
        handle, has_name = _new_file(name, 0o666 if old is None else 0o600)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if old is not None:
                _permit_as(old, handle)
            # A machine that stops after the renaming must not leave an empty file.
            os.fsync(handle)
            if not has_name:
                # With src_dir_fd the system follows the link of the descriptor, and gives the file its
                # first name.
                os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle)
        os.replace(name, target)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _new_file(name: Path, mode: int) -> tuple[int, bool]:
    """Open a file, without a name if the system supports it, so nothing remains of a killed process."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            # The file system may not support nameless files. Any other error comes again below.
            return os.open(name.parent, os.O_TMPFILE | os.O_WRONLY, mode), False
    return os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode), True


def _permit_as(old: os.stat_result, handle: int) -> None:
    """Give a file the owner, group and permissions of another, as far as this user may."""
    if not hasattr(os, "fchown"):
        # Windows has no owners of this kind.
        return
    for user, group in ((old.st_uid, -1), (-1, old.st_gid)):
        with contextlib.suppress(OSError):
            os.fchown(handle, user, group)
    mode = stat.S_IMODE(old.st_mode)
    # The group could not be kept, so its rights become those of others: they were not meant for another
    # group.
    if os.fstat(handle).st_gid != old.st_gid:
        mode = mode & ~0o070 | (mode & 0o007) << 3
    os.fchmod(handle, mode)


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    if error.errno == errno.EFBIG:
        return InputError(
            f"{path} was not written ({reason}); the size limit of files must allow all of it: "
            "check `ulimit -f`."
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(
            f"{path} was not written ({reason}); space for the whole file is needed, next to the old one: "
            f"check `df -h {path.parent}`."
        )
    return InputError(
        f"{path} cannot be written ({reason}); a file name in a folder that exists and may be written to "
        f"is needed: check `ls -ld {path.parent}`."
    )


def open_locked(path: Path, advice: str) -> IO[bytes]:
    """Open a file for reading and appending, create it if it does not exist, and `lock` it.

    Raises `InputError` if it is not a regular file: opening a pipe may block forever, and a link may lead to
    another user's file.
    """
    # The caller closes the file.
    file = open(path, "r+b", opener=_open_regular)  # noqa: SIM115
    try:
        lock(file, advice)
    except BaseException:
        file.close()
        raise
    return file


def _open_regular(name: str, flags: int) -> int:
    # The flags prevent following a symbolic link, and waiting for the other end of a pipe.
    safe = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(name, flags | os.O_CREAT | safe, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            # A symbolic link or a socket has the message below.
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
    """Lock an open file until it is closed; do nothing if the system or the disk has no locks.

    Raises `InputError`, with ``advice`` on alternatives after "or", if another process has locked it.
    """
    try:
        import fcntl
    except ImportError:
        # Windows has no such locks.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{file.name}: another process is writing to it, and only one may. Wait until it has ended, or",
            advice,
        ) from None
    except OSError:
        # Some network file systems have no locks.
        return


def stream_blocks(file: IO[bytes], size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Split a stream into blocks of whole lines, of about ``size`` bytes each."""
    pending: list[bytes] = []
    while text := file.read(size):
        newline = text.rfind(b"\n") + 1
        if newline == 0:
            pending.append(text)
            continue
        yield b"".join([*pending, text[:newline]])
        pending = [text[newline:]]
    if last := b"".join(pending):
        yield last


def is_plain(text: str) -> bool:
    """Whether text has no underscores and no digits of other scripts, which ``float`` would accept."""
    return text.isascii() and "_" not in text


def to_number(text: str) -> float:
    """Return the number that a word of a file represents, or NaN."""
    try:
        return float(text) if is_plain(text) else math.nan
    except ValueError:
        return math.nan
