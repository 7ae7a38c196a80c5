"""A table of independent jobs: in parallel, each result kept at once, so that a run can be taken up again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from directrix.errors import InputError
from directrix.threads import one_blas_thread, serially

__all__ = ["Cell", "run_cells"]

Progress = Callable[[int, int, str], None]
"""Called with the cells that are done, how many there are, and how much time is left."""


_START = b'{"key": '  # of every line


class Cell(NamedTuple):
    """One job.

    Parameters
    ----------
    key : tuple of str and int
        Its name, unlike all others.
    work : callable
        Called with ``arguments``, in another process if there are several: must be possible to pickle.
        What it returns is kept as JSON.
    arguments : tuple
    """

    key: tuple[str | int, ...]
    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


def run_cells(
    cells: Sequence[Cell],
    path: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> dict[tuple[str | int, ...], Any]:
    """Run the cells whose results are not in a file yet, and add them to it.

    Parameters
    ----------
    cells : sequence of Cell
    path : path
        JSON lines, one a finished cell: ``{"key": [..], "seconds": .., "result": ..}``. Made if it is not
        there. A last line that was cut off is dropped.
    n_jobs : int, optional
        Cells at a time, by joblib: 1 = in this process, -1 = all cores, None = as ``joblib.parallel_config``
        says, with the backend that it names, else 1. Each keeps to one thread, and
        results do not depend on how many there are.
    progress : callable, optional
        Called after every cell.

    Returns
    -------
    dict
        From the key of each of ``cells``, in their order, to its result as JSON has it.

    Raises
    ------
    InputError
        If the file holds something else, or another process is adding to it.

    Notes
    -----
    A line is written, and forced to the disk, when its cell ends: who kills the run loses the cells that
    are under way.
    """
    with Path(path).open("a+b") as file:
        _lock(file)
        done = _read(file)
        left = [cell for cell in cells if cell.key not in done]
        begun, before = time.monotonic(), len(cells) - len(left)
        for count, line in enumerate(_ended(left, n_jobs), start=1):
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            key, result = _parsed(line)
            done[key] = result
            if progress is not None:
                seconds = (time.monotonic() - begun) / count * (len(left) - count)
                progress(before + count, len(cells), _left(seconds))
    return {cell.key: done[cell.key] for cell in cells}


def _ended(cells: Sequence[Cell], n_jobs: int | None) -> Iterator[str]:
    """Lines of cells, each when it ends; with a backend that cannot do that, in batches of one a worker."""
    from joblib import Parallel, delayed, effective_n_jobs

    jobs = [delayed(_run)(cell) for cell in cells]
    # no memory maps: read-only arrays would be another type, for which Numba compiles anew
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", max_nbytes=None)
    except ValueError:  # "does not support return_as", for instance that of multiprocessing
        size = effective_n_jobs(n_jobs)
        with Parallel(n_jobs=n_jobs, max_nbytes=None) as parallel:
            for start in range(0, len(jobs), size):
                yield from parallel(jobs[start : start + size])
    else:
        yield from parallel(jobs)


def _run(cell: Cell) -> str:
    begun = time.perf_counter()
    with serially(), one_blas_thread():
        result = cell.work(*cell.arguments)
    seconds = time.perf_counter() - begun
    return json.dumps({"key": cell.key, "seconds": round(seconds, 3), "result": result}, allow_nan=False)


def _parsed(line: str | bytes) -> tuple[tuple[str | int, ...], Any]:
    entry = json.loads(line)
    return tuple(entry["key"]), entry["result"]


def _lock(file: BinaryIO) -> None:
    """Keep other processes out until this one ends, however it does; where there is no `flock`, nothing."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{file.name}: another process is adding to it; one at a time is needed. Wait until it has "
            "ended, or give another folder."
        ) from None


def _read(file: BinaryIO) -> dict[tuple[str | int, ...], Any]:
    """Results of an earlier run; what a kill left of a last line is taken off the file."""
    file.seek(0)
    lines = file.read().split(b"\n")
    cut = lines.pop()  # nothing, if the file is whole
    found = {}
    for number, line in enumerate(lines, start=1):
        try:
            key, result = _parsed(line)
        except (ValueError, TypeError, KeyError):
            raise _not_ours(file, number, line) from None
        found[key] = result
    if not cut.startswith(_START[: len(cut)]):
        raise _not_ours(file, len(lines) + 1, cut)
    file.truncate(file.tell() - len(cut))
    return found


def _not_ours(file: BinaryIO, number: int, line: bytes) -> InputError:
    return InputError(
        f"{file.name}:{number}: {line[:40].decode(errors='replace')!r} is no finished cell; lines of an "
        "earlier run are needed, or no file. Remove it, or give another folder."
    )


def _left(seconds: float) -> str:
    return f"{seconds:.0f} s left" if seconds < 90 else f"{seconds / 60:.0f} min left"
