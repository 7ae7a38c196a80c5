"""A file of answers that shards gave: a training that ended early reads them and goes on where it was."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from directrix.data.files import path_of, readable
from directrix.data.shards.chosen import driven_by
from directrix.data.shards.driver import Driver, current_driver
from directrix.data.shards.opened import Task
from directrix.data.shards.tree import Span
from directrix.errors import InputError
from directrix.types import Float64Array

_MAGIC = b"directrix-answers/1\n"
_HEAD = struct.Struct("<32sBQQ")  # digest of the question, dimensions, rows, columns


@contextlib.contextmanager
def keeping_answers(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Keep the answers that drivers get while the block runs, and take those that the file has.

    The questions of a training depend on the answers before, so the same training asks the same ones again,
    and gets the same bits. The file is removed if the block ends without error.

    Raises
    ------
    InputError
        If the file cannot be written, or is another file.
    """
    if path is None:
        yield
        return
    path = path_of(path)
    known = _read(path)
    try:
        with path.open("r+b" if known is not None else "wb") as file:
            if known is None:
                file.write(_MAGIC)
            else:
                file.seek(known.end)
                file.truncate()  # the end of an answer that was being written
            answers = {} if known is None else known.answers
            with driven_by(_Keeping(current_driver(), file, answers)):
                yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}. Name another file.") from error
    path.unlink(missing_ok=True)


class _Keeping(Driver):
    """Asks another driver, unless the answer is known."""

    def __init__(self, driver: Driver, file: IO[bytes], answers: dict[bytes, Float64Array]) -> None:
        self._driver, self._file, self._answers = driver, file, answers

    def ask(self, task: Task) -> Any:
        """Return the answer that the file has, or ask and write it down."""
        asked = hashlib.sha256(pickle.dumps(task.question))
        for shard in task.shards:
            asked.update(shard.sha256.encode())
        key = asked.digest()
        if key in self._answers:
            return self._answers[key].copy()
        answer = self._driver.ask(task)
        if isinstance(answer, np.ndarray) and answer.dtype == np.float64 and answer.ndim <= 2:
            self._file.write(_HEAD.pack(key, answer.ndim, *(*answer.shape, 1, 1)[:2]))
            self._file.write(np.ascontiguousarray(answer).data)
            self._file.flush()
            self._answers[key] = answer.copy()
        return answer

    def answers(self, task: Task) -> dict[Span, Any]:
        """Return the answers of the other driver."""
        return self._driver.answers(task)


class _Known:
    def __init__(self, answers: dict[bytes, Float64Array], end: int) -> None:
        self.answers, self.end = answers, end


def _read(path: Path) -> _Known | None:
    """Return the answers of a file; None if there is no file, or an empty one."""
    if not path.exists() or not path.stat().st_size:
        return None
    answers: dict[bytes, Float64Array] = {}
    with readable(path), path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise InputError(
                f"{path} is no file of answers, and would be overwritten; name a new file, or one that a "
                "training on shards left."
            )
        size, end = path.stat().st_size, file.tell()
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            key, n_dimensions, rows, columns = _HEAD.unpack(head)
            n_bytes = 8 * rows * columns
            if n_dimensions > 2 or n_bytes > size - file.tell():
                break  # it was being written when the training ended
            values = np.frombuffer(file.read(n_bytes), dtype=np.float64)
            answers[key] = values.reshape((rows, columns)[:n_dimensions])
            end = file.tell()
    return _Known(answers, end)
