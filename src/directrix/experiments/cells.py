"""Independent jobs in parallel; each result is saved when it ends, so a run can be resumed.

Cells go in, and results by their keys come out. A second call reads the results from the file:

>>> import pathlib, tempfile
>>> file = pathlib.Path(tempfile.mkdtemp(), "cells.jsonl")
>>> run_cells([Cell(("square", n), pow, (n, 2)) for n in (2, 3)], file, n_jobs=1)
{('square', 2): 4, ('square', 3): 9}
>>> run_cells([Cell(("square", 3), pow, (3, 2))], file, n_jobs=1)
{('square', 3): 9}
"""

from __future__ import annotations

import glob
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from directrix.data.files import open_locked
from directrix.errors import Advice, InputError
from directrix.parsing import json_of
from directrix.threads import one_blas_thread, serially
from directrix.types import Progress

# Every line begins with these bytes, so an incomplete last line can be recognized as one of ours.
_START = b'{"key": '
_ADVICE = "give another folder."


class _Finished(NamedTuple):
    """The contents of a line."""

    key: tuple[str | int, ...]
    seconds: float
    result: Any
    meanings: dict[str, str]


class Cell(NamedTuple):
    """One job: ``work`` is called with ``arguments``, and its result is kept as JSON.

    It may run in another process, so everything must be picklable.
    """

    # The name of the cell in the file. Two cells never share a name.
    key: tuple[str | int, ...]
    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    # Fingerprints of what the cell names, such as measures, show whether a resumed run still means the same.
    meanings: Mapping[str, str] = MappingProxyType({})


def run_cells(
    cells: Sequence[Cell],
    path: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    shard: tuple[int, int] | None = None,
) -> dict[tuple[str | int, ...], Any]:
    """Run the cells whose results are not in a file yet, add them, and return results by key in their order.

    The file holds JSON lines, one for each finished cell: ``{"key": [..], "seconds": .., "result": ..,
    "meanings": {..}}``. It is created if it does not exist; an incomplete last line is dropped. A line is
    written, and forced to the disk, when its cell ends: killing the run loses only the cells that are not
    finished.

    ``n_jobs`` cells run at a time, by joblib: 1 = in this process, -1 = all cores, None = as
    ``joblib.parallel_config`` says, with the backend that it names, else 1. Each cell uses one thread, and
    results do not depend on ``n_jobs``. ``progress`` gets the time left after every cell.

    ``shard`` is the number of a job and the number of jobs, such as (3, 10). It runs only the cells 3, 13,
    23, ..., and keeps them in a separate file next to ``path``, so jobs on several machines can run at once;
    finished results are returned. A run without it takes over the cells of these files and runs the rest.

    Raises `InputError` if the file holds something else, or a cell whose names have changed their meaning, or
    if another process is writing to it.
    """
    path, wanted = Path(path), cells
    others = sorted(path.parent.glob(f"{glob.escape(path.stem)}-*-of-*{path.suffix}"))
    if shard is not None:
        others, path = [path, *others], path.with_stem(f"{path.stem}-{shard[0]}-of-{shard[1]}")
        cells = [cell for i, cell in enumerate(cells, 1) if (i - shard[0]) % shard[1] == 0]
    # The lock keeps a second process from adding the same cells.
    with open_locked(path, _ADVICE) as file:
        done = _read(file)
        for other in others:
            if other == path or not other.exists():
                continue
            # Only a run without a shard locks the files of other jobs, which may be writing to them.
            with open_locked(other, _ADVICE) if shard is None else other.open("rb") as share:
                cells_of_share = _finished(str(other), share.read())
            more = {key: cell for key, cell in cells_of_share.items() if key not in done}
            if shard is None:
                file.writelines(_line(cell).encode() + b"\n" for cell in more.values())
            done |= more
        left = [cell for cell in cells if cell.key not in done]
        for cell in cells:
            if cell.key in done:
                _check_meanings(file.name, done[cell.key].meanings, cell.meanings)
        begun, before = time.monotonic(), len(cells) - len(left)
        for count, line in enumerate(_ended(left, n_jobs), start=1):
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            # The result is read back from its line, so that a resumed run has the same numbers.
            finished = _parsed(line)
            done[finished.key] = finished
            if progress is not None:
                seconds = (time.monotonic() - begun) / count * (len(left) - count)
                rest = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
                progress(before + count, len(cells), f"{rest} left")
    return {cell.key: done[cell.key].result for cell in wanted if cell.key in done}


def total_seconds(path: str | os.PathLike[str]) -> float:
    """Return the total time of the finished cells of a file: the wall time of a run with one job.

    Raises `InputError` if the file holds something else.
    """
    return float(sum(cell.seconds for cell in _finished(str(path), Path(path).read_bytes()).values()))


def _ended(cells: Sequence[Cell], n_jobs: int | None) -> Iterator[str]:
    """Lines of cells, each when it ends; in batches of one cell per worker, if the backend needs that."""
    from joblib import Parallel, delayed, effective_n_jobs

    jobs = [delayed(_run)(cell) for cell in cells]
    # Arrays that are mapped read-only would be another type, for which Numba compiles again.
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", mmap_mode="c")
    # Some backends, such as multiprocessing, do not return results one by one. They run in batches instead.
    except ValueError:
        size = effective_n_jobs(n_jobs)
        with Parallel(n_jobs=n_jobs, mmap_mode="c") as parallel:
            for start in range(0, len(jobs), size):
                yield from parallel(jobs[start : start + size])
    else:
        yield from parallel(jobs)


def _run(cell: Cell) -> str:
    begun = time.perf_counter()
    with serially(), one_blas_thread():
        result = cell.work(*cell.arguments)
    seconds = round(time.perf_counter() - begun, 3)
    return _line(_Finished(cell.key, seconds, result, {**cell.meanings}))


def _line(cell: _Finished) -> str:
    return json.dumps(cell._asdict(), allow_nan=False)


def _parsed(line: str | bytes) -> _Finished:
    entry = json_of(line)
    key, seconds = tuple(entry["key"]), entry["seconds"]
    if not all(type(word) in (str, int) for word in key) or type(seconds) not in (int, float):
        raise TypeError
    if not 0.0 <= float(seconds) < math.inf:
        raise ValueError
    return _Finished(key, float(seconds), entry["result"], dict(entry.get("meanings", {})))


def _finished(name: str, content: bytes) -> dict[tuple[str | int, ...], _Finished]:
    """Return the cells of complete lines by their keys."""
    cells = {}
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            cell = _parsed(line)
        except (ValueError, TypeError, KeyError, OverflowError):
            raise _not_ours(name, number, line) from None
        cells[cell.key] = cell
    return cells


def _read(file: IO[bytes]) -> dict[tuple[str | int, ...], _Finished]:
    """Cells of an earlier run; an incomplete last line is removed from the file."""
    file.seek(0)
    # Only the last line can be incomplete, because lines are written one after the other.
    content = file.read()
    cells, cut = _finished(file.name, content), content[content.rfind(b"\n") + 1 :]
    if not cut.startswith(_START[: len(cut)]):
        raise _not_ours(file.name, content.count(b"\n") + 1, cut)
    file.truncate(file.seek(-len(cut), os.SEEK_CUR))
    return cells


def _check_meanings(path: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    changed = [name for name in now if before.get(name) != now[name]]
    if changed:
        raise InputError(
            f"{path}: {', '.join(changed)} changed (the code, or a value it refers to) after training runs "
            "finished with it; one table would mix both definitions.",
            Advice("another-folder", folder=str(Path(path).parent)),
        )


def _not_ours(name: str, number: int, line: bytes) -> InputError:
    return InputError(
        f"{name}:{number}: {line[:40].decode(errors='replace')!r} is not a finished cell; the lines of "
        "an earlier run are needed, or no file. Remove it, or give another folder."
    )
