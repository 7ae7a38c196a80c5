"""Files that commands read and write: checks of outputs, names and numbers of features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from directrix.cli.options import Missing
from directrix.cli.output import remark
from directrix.data.columns import ColumnNames
from directrix.data.files import check_replaceable
from directrix.data.formats import named, read_file
from directrix.errors import InputError

if TYPE_CHECKING:
    from directrix.data.queries import Queries


def check_writable(path: Path | None, *inputs: Path | None) -> None:
    """Refuse an output that cannot be written, or that is also an input, before the work begins.

    None is no output. Raises `InputError` if ``path`` is a folder or read-only, its folder does not exist or
    may not be written to, it is the same file as one of ``inputs``, or it would be one of the files of an
    input folder.
    """
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; type `mkdir -p {path.parent}` first.")
    check_replaceable(path)
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


def same_features(
    q: Queries, n_features: int, names: Iterable[object] | None, path: Path, other: str, *, by_position: bool
) -> Queries:
    """Return the data of ``path`` with the features of ``other``: number, and names if it has any.

    Columns with the same names are brought into the order of ``names``. With ``by_position`` the names do not
    count: columns are cut off, or zeros added, until the number is the same.

    Raises `InputError` if names or number differ.
    """
    names = None if names is None else tuple(map(str, names))
    if by_position:
        if q.n_features > n_features:
            q = replace(q, features=_columns(q, slice(n_features)), feature_names=None)
        return replace(replace(q, feature_names=None).widened(n_features), feature_names=names)
    remedy = "Give data with the same features, or take them as they stand: --by-position."
    if names is not None and q.feature_names is not None:
        lacks = [name for name in names if name not in q.feature_names]
        more = [name for name in q.feature_names if name not in names]
        if lacks or more:
            parts = [f"lacks {some(lacks)}"] * bool(lacks) + [f"also has {some(more)}"] * bool(more)
            text = f"{path} does not have the features of {other}: it {' and '.join(parts)}."
            raise InputError(f"{text} {remedy}")
        if q.feature_names == names:
            return q
        place = {name: column for column, name in enumerate(q.feature_names)}
        return replace(q, features=_columns(q, [place[name] for name in names]), feature_names=names)
    if q.n_features != n_features:
        raise InputError(
            f"{path} has {q.n_features} features, {other} has {n_features}"
            f"{'' if names is None else f' ({some(names)})'}; both must have the same ones. {remedy}"
            + " That adds zeros for the last features, which sparse files leave out."
            * (q.n_features < n_features)
        )
    if names is not None:
        remark(f"note: the features of {path} have no names and are taken by position, those of {other} have")
    return q


def _columns(q: Queries, which: Any) -> Any:
    """Return some columns of the features, stored as they were: another layout would give other bits."""
    import numpy as np

    if q.held == "file":
        raise InputError(
            f"{q.features.source.name}: columns of features that stay in a file cannot be moved or left out; "
            "type --no-stream, or rewrite the file with the columns of the training data."
        )
    columns = q.features[:, which]
    if isinstance(columns, np.ndarray):
        return np.ascontiguousarray(columns)
    columns.sort_indices()
    return columns


def some(names: Iterable[object]) -> str:
    """Return up to three names as text for messages, and the number of the others."""
    texts = [repr(str(name)) for name in names]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")


def read_for(rankers: Iterable[Any], path: Path, missing: Missing | None, columns: ColumnNames) -> Queries:
    """Read data for fitted rankers, with missing values as in their training.

    ``--missing`` decides only for rankers whose training data had to be complete; a remark says so.
    """
    rules = {Missing(ranker.missing_) for ranker in rankers}
    if missing is None:
        how = min(rules, default=Missing.error)  # "error" before "nan" before "zero"
    elif missing is Missing.error:
        how = missing
    else:
        how = min(rules - {Missing.error}, default=missing)
        if rules - {missing}:
            trained, rest = ", ".join(sorted(rules)), "" if how is missing else f", not {missing.value}"
            remark(
                f"note: the model was trained with --missing {trained}; this is --missing {how.value}{rest}"
            )
    return read_file(path, missing=how.value, columns=columns)


def features_for(q: Queries, ranker: Any, path: Path, model: Path, *, by_position: bool) -> Queries:
    """Return the data of ``path`` with the features of a fitted ranker; see `same_features`."""
    names = getattr(ranker, "feature_names_in_", None)
    return same_features(q, ranker.n_features_in_, names, path, f"the model {model}", by_position=by_position)
