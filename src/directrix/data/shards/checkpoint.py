"""A file of results from shards, from which an interrupted training run resumes.

The file is a list of answers, each with the digest of its question and a checksum::

    with keep_answers("training.checkpoint"):
        ranker.fit_queries(open_shards("shards"))
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from directrix import __version__
from directrix.data.files import open_locked, path_of, readable
from directrix.data.shards.context import using_driver
from directrix.data.shards.task import Driver, Span, Task, current_driver
from directrix.errors import Advice, InputError
from directrix.fingerprint import fingerprint
from directrix.types import Float64Array

_MAGIC = b"directrix-answers/2\n"
# The head of an answer: the digest of its question, and its numbers of dimensions, rows and columns.
_HEAD = struct.Struct("<32sBQQ")
# The SHA-256 of head and numbers has this number of bytes.
_CHECKSUM = 32
_Entries = dict[bytes, tuple[int, tuple[int, ...]]]
"""By the digest of its question: the place of an answer in the file, and its shape."""


@contextlib.contextmanager
def keep_answers(path: str | os.PathLike[str] | None, *, resume: bool = True) -> Iterator[None]:
    """Write the results of requests within the block to a file, and reuse those that it has.

    The requests of a training run depend on earlier results, so the same run makes the same requests again,
    and gets the same bits. The file is removed if the block ends without error. None = no file. Without
    ``resume``, its results are removed first; any other file is rejected.

    Every result has a checksum. The file is used up to the first result that is incomplete or damaged; the
    rest is removed and computed again. Results of another version of directrix, or for a measure or surrogate
    with changed code, are not reused.

    Raises
    ------
    InputError
        If the file cannot be written, is another kind of file, is not a regular file, or is in use by another
        process.
    """
    if path is None:
        yield
        return
    path = path_of(path)
    driver = None
    try:
        with _opened(path) as file:
            driver = _KeepingDriver(current_driver(), path, file, resume=resume)
            with using_driver(driver):
                yield
    except BaseException:
        if driver is not None and not driver.entries:
            path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file of results that no other process uses, or create one."""
    with _writable(path):
        file = open_locked(path, Advice("checkpoint"))
    try:
        yield file
    finally:
        # Closing writes again the bytes that found no room, which was an error already.
        with contextlib.suppress(OSError):
            file.close()


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Turn errors of writing into `InputError`; errors of training pass unchanged."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}. Make room, or name another file."
        ) from error


class _KeepingDriver(Driver):
    """Uses another driver unless the file has the result."""

    def __init__(self, driver: Driver, path: Path, file: IO[bytes], *, resume: bool) -> None:
        self._driver, self._path, self._file = driver, path, file
        self.entries: _Entries
        with readable(path):
            self.entries, self._end = _read(path, file)
            if not resume:
                self.entries, self._end = {}, 0
        with _writable(path):
            if not self._end:
                file.seek(0)
                self._end = file.write(_MAGIC)
            file.truncate(self._end)

    def ask(self, task: Task) -> Any:
        """Return the result in the file, or request and record it."""
        question = task.question, [shard.sha256 for shard in task.shards]
        return self.remembered(question, lambda: self._driver.ask(task))

    def remembered(self, question: Any, answer: Callable[[], Any]) -> Any:
        """Return the result for a question in the file, or record that of ``answer``."""
        key = hashlib.sha256(f"{__version__} {fingerprint(question)}".encode()).digest()
        if key in self.entries:
            offset, shape = self.entries[key]
            self._file.seek(offset)
            values = np.frombuffer(self._file.read(8 * math.prod(shape)), np.float64)
            # The trainer may write to its answers, so it gets a copy.
            return values.reshape(shape).copy()
        answered = answer()
        if isinstance(answered, np.ndarray) and answered.dtype == np.float64 and answered.ndim <= 2:
            with _writable(self._path):
                self._add(key, answered)
        return answered

    def answers(self, task: Task) -> dict[Span, Any]:
        """Return the results of the other driver."""
        return self._driver.answers(task)

    def _add(self, key: bytes, answer: Float64Array) -> None:
        head = _HEAD.pack(key, answer.ndim, *(*answer.shape, 1, 1)[:2])
        numbers = answer.tobytes()
        self._file.seek(self._end)
        self._file.write(head + numbers + hashlib.sha256(head + numbers).digest())
        self._file.flush()
        self.entries[key] = self._end + len(head), answer.shape
        self._end = self._file.tell()


def _read(path: Path, file: IO[bytes]) -> tuple[_Entries, int]:
    """Return the positions of results in a file, and the end of the last complete one; 0 in a new file."""
    start = file.read(len(_MAGIC))
    if len(start) < len(_MAGIC) and _MAGIC.startswith(start):
        return {}, 0
    if start != _MAGIC:
        raise InputError(
            f"{path} is not a file of answers of this version of directrix, and would be overwritten; "
            "remove it, or name a new file, or one that an interrupted training on shards left."
        )
    entries: _Entries = {}
    size, end = os.fstat(file.fileno()).st_size, file.tell()
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        key, n_dimensions, rows, columns = _HEAD.unpack(head)
        shape, offset = (rows, columns)[:n_dimensions], file.tell()
        n_bytes = 8 * rows * columns
        # A damaged head could ask for any amount of memory.
        is_shape = n_dimensions <= 2 and (rows, columns)[n_dimensions:] == (1, 1)[n_dimensions:]
        if not is_shape or max(rows, columns) > size or n_bytes + _CHECKSUM > size - offset:
            break
        checksum = hashlib.sha256(head + file.read(n_bytes)).digest()
        if file.read(_CHECKSUM) != checksum:
            break
        entries[key], end = (offset, shape), file.tell()
    return entries, end
