"""The package pyarrow, and what it raises for a damaged file as one error of ours."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from directrix.data.arrow.text import is_columns
from directrix.data.files import readable
from directrix.errors import InputError, MissingExtra


def import_arrow() -> Any:
    """Return the package pyarrow with its modules for both formats, or raise `MissingExtra`."""
    try:
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        purpose = "reading Parquet, Arrow, CSV, TSV and JSON lines, and writing Parquet and Arrow,"
        raise MissingExtra("arrow", purpose) from error
    return pyarrow


@contextlib.contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn what is raised where a damaged file is decoded into an `InputError`.

    Everything that opens a file with pyarrow, or looks at its schema or its values, runs within such a block.
    """
    try:
        yield
    except InputError:
        raise
    except (
        import_arrow().ArrowException,
        OSError,
        ValueError,  # text that is no UTF-8, among others
        ArithmeticError,  # a date that Python does not have
        LookupError,
        MemoryError,
        RecursionError,
        SystemError,  # from Python itself, for a text of negative length
        csv.Error,
    ) as error:
        with readable(path), path.open("rb"):
            pass  # an obstacle for files of any format has its own message
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{path} cannot be read as a {'CSV, TSV or JSON' if is_columns(path) else 'Parquet or Arrow'} "
            f"file: {reason}. A complete file is needed; write or fetch it again."
        ) from error
