"""Whether features are read into memory or stay on disk."""

from __future__ import annotations

import errno
import time
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from directrix.cli.options import Missing
from directrix.cli.output import remark
from directrix.data.columns import ColumnNames
from directrix.data.formats import format_of, open_file, read_file
from directrix.data.memory import address_limit, available_memory
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries

_SHARE = 0.4  # of the available memory: a search copies parts of the queries
_LIBRARIES = 900_000_000  # bytes of address space; benchmarks/RESULTS.md has what commands take
_LOADING = ("failed to map segment", "annot allocate memory", "Could not find/load shared object")


def read_or_open(path: Path, missing: Missing, columns: ColumnNames, *, stream: bool | None) -> Queries:
    """Read a data file into memory, or open it and leave its features on disk.

    ``stream=None`` leaves the features of a Parquet or Arrow file on disk if they would take more than 40 %
    of the available memory, with a remark. Raises `InputError` if a text file is to be streamed, or missing
    values are to be replaced in a streamed file.
    """
    from directrix.data.tables.files import TableFiles

    if stream is False or (stream is None and not format_of(path).is_table):
        return read_file(path, missing=missing.value, columns=columns)
    available = available_memory()
    # the size in the header: a file that will be read may have its rows in any order
    if stream is None and TableFiles(path, columns).n_bytes <= _SHARE * available:
        return read_file(path, missing=missing.value, columns=columns)
    q = open_file(path, columns=columns)
    n_bytes = q.n_docs * q.n_features * q.features.itemsize
    if missing is Missing.zero:
        raise InputError(
            f"--missing {missing.value} cannot replace values of features that stay on disk; replace them "
            f"first: `directrix convert {path} new.arrow --missing {missing.value}`."
        )
    remark(
        f"note: the features stay in {path}: they take {n_bytes / 1e9:.3g} GB; {available / 1e9:.3g} GB of "
        "memory are available"
    )
    return replace(q, missing=missing.value)


def shortage(error: BaseException) -> str | None:
    """Return what to print for an error that a lack of memory or threads causes, None for any other."""
    if isinstance(error, BrokenExecutor):
        return (
            "a worker process was ended from outside, for lack of memory or by hand; type --jobs 1, or give "
            "it more memory."
        )
    text, number = str(error), getattr(error, "errno", None)
    if number == errno.EAGAIN or (isinstance(error, RuntimeError) and "can't start new thread" in text):
        return (
            f"the system starts no more processes or threads ({text}); type --jobs 1 --threads 1, or raise "
            "the limit: `ulimit -u`, or that of the container."
        )
    is_loading = isinstance(error, ImportError | OSError) and any(words in text for words in _LOADING)
    if not (isinstance(error, MemoryError) or number == errno.ENOMEM or is_loading):
        return None
    what = f" ({text})" if text else ""
    return (
        f"memory ran out{what}; {available_memory() / 1e6:,.0f} MB are available now. Use fewer queries or "
        f"features, --jobs 1 --threads 1, or a machine with more memory{_by_limit()}."
    )


def check_address_space() -> None:
    """Raise `InputError` under a limit in which the libraries themselves do not fit.

    They would end the process, or wait for ever, where no program can catch it. So does BLAS where it cannot
    allocate its buffers: under a limit it does so here, while there is memory.
    """
    limit = address_limit()
    if limit is None:
        return
    if limit < _LIBRARIES:
        raise InputError(
            f"{limit / 1e9:.3g} GB of address space are allowed (`ulimit -v`); the numerical libraries "
            f"take {_LIBRARIES / 1e9:g} GB of it before any data. Type `ulimit -v unlimited`, and limit the "
            "memory in use instead, e.g. `systemd-run --user --scope -p MemoryMax=2G`."
        )
    import numpy as np
    from scipy.linalg import eigh

    from directrix.threads import get_threads, run_chunks

    # NumPy and SciPy have a BLAS each; each thread that calls one at the same time takes a buffer
    square, end = np.ones((512, 512)), time.monotonic() + 1.0

    def multiply(_: int) -> None:
        if time.monotonic() < end:  # where no threads can be started, this one would do all products
            np.dot(square, square)

    run_chunks(multiply, 8 * get_threads())
    eigh(square[:256, :256])


def _by_limit() -> str:
    return "" if address_limit() is None else "; `ulimit -v` limits it here"
