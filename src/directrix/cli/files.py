"""Files that commands read and write: checks of outputs, numbers of features, names of documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from directrix.data.formats import named
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries


def check_writable(path: Path, *inputs: Path | None, option: str = "-o") -> None:
    """Refuse an output that cannot be written, or that is also an input, before the work begins.

    Raises `InputError` if ``path`` is a folder, its folder does not exist, it is the same file as one of
    ``inputs``, or it would be one of the files of an input that is a folder.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file in it, e.g. {option} {path / 'out'}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; type `mkdir -p {path.parent}` first.")
    form = named(path)
    for source in filter(None, inputs):
        is_read_with = source.is_dir() and source.samefile(path.absolute().parent)
        if form is not None and form.is_table and is_read_with:
            raise InputError(
                f"{path} is in the folder {source}, whose files are read together, so it would become or "
                f"replace one of them; write it elsewhere, e.g. {source.absolute().parent / path.name}."
            )
        if path.is_file() and source.exists() and source.samefile(path):
            raise InputError(
                f"{path} is the same file as the input {source}, which would be lost; give another name for "
                f"the output, e.g. {path.with_name('new-' + path.name)}."
            )


def as_wide_as(q: Queries, n_features: int, path: Path, other: str) -> Queries:
    """Return the data of ``path`` with ``n_features`` columns: a sparse file may leave out the last ones.

    Raises `InputError` if the data have more features.
    """
    if q.n_features > n_features:
        raise InputError(
            f"{path} has {q.n_features} features, {other} has {n_features}; both must have the same "
            "ones. Give files of one data set, with the same features in the same order."
        )
    return q.widened(n_features)
