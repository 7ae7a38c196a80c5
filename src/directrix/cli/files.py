"""Files that commands read and write: what is missing in data, how wide they are, where output may go."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from directrix.data.formats import named
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries

__all__ = [
    "Missing",
    "MissingOption",
    "as_wide_as",
    "check_writable",
    "read_data",
]


class Missing(StrEnum):
    """What ``nan`` and ``NULL`` as feature values mean."""

    error = "error"
    zero = "zero"


MissingOption = Annotated[Missing, typer.Option(help="What nan and NULL as feature values mean.")]


def check_writable(path: Path, *inputs: Path | None) -> None:
    """Refuse an output that can never be written, or that is an input, before the work begins.

    Raises
    ------
    InputError
        If ``path`` is a folder, lies in none, is the same file as one of ``inputs``, or would be one of
        the files of an input that is a folder.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file in it, e.g. -o {path / 'out'}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: its folder does not exist; type `mkdir -p {path.parent}` first.")
    form = named(path)
    for source in inputs:
        if source is not None and form is not None and form.is_table and _is_within(path, source):
            raise InputError(
                f"{path}: lies in the folder {source}, whose tables are read together, so it would become, "
                f"or replace, one of them; write it elsewhere, e.g. {source.absolute().parent / path.name}."
            )
    if not path.is_file():
        return
    for source in inputs:
        if source is not None and source.exists() and source.samefile(path):
            raise InputError(
                f"{path}: is the same file as {source}, which is read and would be lost; give another name "
                f"for the output, e.g. {path.with_name('new-' + path.name)}."
            )


def _is_within(path: Path, folder: Path) -> bool:
    return folder.is_dir() and folder.samefile(path.absolute().parent)


def read_data(path: Path, missing: Missing = Missing.error) -> Queries:
    """Read labelled data; see `directrix.read_letor` and `directrix.data.read_parquet`."""
    from directrix.data.formats import read_file

    return read_file(path, missing=missing.value)


def as_wide_as(q: Queries, n_features: int, path: Path, other: str) -> Queries:
    """Return the data of ``path`` with ``n_features`` columns: a sparse file may leave out the last ones.

    Raises
    ------
    InputError
        If there are more; the message names both files.
    """
    if q.n_features > n_features:
        raise InputError(
            f"{path}: has {q.n_features} features, {other} has {n_features}; both must have the same ones. "
            "Give the files of one data set, with the same features in the same order."
        )
    return q.widened(n_features)
