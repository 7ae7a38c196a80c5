"""Read a file of any format that data come in."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from directrix.data.arrow import open_parquet, read_parquet
from directrix.data.arrow_files import SUFFIXES, is_arrow
from directrix.data.letor import read_letor
from directrix.data.queries import Queries
from directrix.errors import InputError

__all__ = ["is_table", "open_file", "read_file"]


def is_table(path: Path) -> bool:
    """Whether `read_file` takes a path for Parquet or Arrow, by its ending or what is in it."""
    return path.suffix in SUFFIXES or is_arrow(path)


def read_file(path: Path, *, missing: Literal["error", "zero", "nan"] = "error") -> Queries:
    """Read LETOR text, a Parquet or Arrow file, or a folder of those; see `read_letor` and `read_parquet`."""
    return read_parquet(path, missing=missing) if is_table(path) else read_letor(path, missing=missing)


def open_file(path: Path) -> Queries:
    """Open a Parquet or Arrow file whose features stay there; see `open_parquet`.

    Raises
    ------
    InputError
        For LETOR text, whose rows lie nowhere in particular.
    """
    if not is_table(path):
        raise InputError(
            f"{path} is text, which must be read into memory; to leave features in a file rewrite it first: "
            f"`directrix convert {path} {path.with_suffix('.arrow')}`, and give that."
        )
    return open_parquet(path)
