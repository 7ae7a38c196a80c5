"""Whether features are read into memory or stay on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from directrix.cli.options import Missing
from directrix.cli.output import remark
from directrix.data.columns import ColumnNames
from directrix.data.formats import format_of, open_file, read_file
from directrix.data.memory import available_memory
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries

_SHARE = 0.4  # of the available memory: a search copies parts of the queries


def read_or_open(path: Path, missing: Missing, columns: ColumnNames, *, stream: bool | None) -> Queries:
    """Read a data file into memory, or open it and leave its features on disk.

    ``stream=None`` leaves the features of a Parquet or Arrow file on disk if they would take more than 40 %
    of the available memory, with a remark. Raises `InputError` if a text file is to be streamed, or missing
    values are to be replaced in a streamed file.
    """
    from directrix.data.arrow.files import ArrowFiles

    if stream is False or (stream is None and not format_of(path).is_table):
        return read_file(path, missing=missing.value, columns=columns)
    available = available_memory()
    # the size in the header: a file that will be read may have its rows in any order
    if stream is None and ArrowFiles(path, columns).n_bytes <= _SHARE * available:
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
    return q
