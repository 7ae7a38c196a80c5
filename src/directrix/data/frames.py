"""Frames of any kind (pandas, polars, pyarrow, by way of narwhals) and dicts, as columns and as features."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from directrix.data.categories import by_column, places
from directrix.data.columns import ColumnNames, column_list, roles_of
from directrix.data.form import as_array, floats_of
from directrix.errors import NO_ITEMS, InputError
from directrix.types import Array, is_sparse


def is_dict(values: Any) -> bool:
    """Return whether something is a dict; sparse matrices of one kind (DOK) are dicts by inheritance."""
    return isinstance(values, Mapping) and not is_sparse(values)


def is_frame(values: Any) -> bool:
    """Return whether something is a frame, or a dict."""
    return is_dict(values) or _narwhals(values) is not None


def encoded(frame: Any, also: Collection[Any] = ()) -> tuple[Any, dict[Any, tuple[str, ...]]]:
    """Return a frame whose categories are numbers, as a dict of columns, and the names of categories.

    Categories are in columns of a categorical type, and in those named in ``also``. Without any, and if it is
    no frame, it comes back as it is.
    """
    if not is_frame(frame):
        return frame, {}
    known, columns = columns_of(frame, "features", "a frame or dict of columns is needed")
    chosen = [name for name, column in zip(known, columns, strict=True) if name in also or _has_type(column)]
    if not chosen:
        return frame, {}
    of, names = dict(zip(known, columns, strict=True)), {}
    for name in chosen:
        of[name], names[name] = places(cells_of(of[name]))
    return of, names


def _has_type(column: Any) -> bool:
    """Whether a column is of a categorical type of pandas, polars or Arrow."""
    return str(getattr(column, "dtype", "")).lower().startswith(("categor", "enum"))


def columns_of(frame: Any, what: str, needed: str) -> tuple[list[Any], list[Any]]:
    """Return names and columns of a frame, or of a dict of columns; a lazy frame is collected.

    Raises `InputError` if it is neither, with what is ``needed``.
    """
    if is_dict(frame):
        return list(frame), list(frame.values())
    table = _narwhals(collected(frame), what)
    if table is None:
        raise InputError(f"{what} has the type {type(frame).__name__}; {needed}.")
    return list(table.columns), list(table.iter_columns())


def collected(values: Any) -> Any:
    """Return a lazy frame as one in memory, anything else as it is."""
    is_lazy = hasattr(values, "collect") and hasattr(values, "collect_schema")
    return values.collect() if is_lazy else values


def names_of(frame: Any) -> list[Any]:
    """Names of the columns of a frame or a dict; of anything else none."""
    if is_dict(frame):
        return list(frame)
    table = _narwhals(frame)
    return [] if table is None else list(table.collect_schema().names())


def cells_of(column: Any) -> list[Any]:
    """Return the values of a column of `columns_of` as Python objects."""
    get = getattr(column, "tolist", getattr(column, "to_list", None))  # pandas warns of to_list of categories
    try:
        return list(column if get is None else get())
    except NO_ITEMS as error:
        raise InputError(f"a column of a frame has no rows ({error}); one value per row is needed.") from None


def array_of(column: Any) -> Array:
    """Return the values of a column as an array; NaN where a number is missing."""
    return as_array(column.to_numpy() if hasattr(column, "to_numpy") else column, "a column")


def matrix_of(frame: Any) -> Any:
    """Return all columns of a frame or dict as features, for `check_features`."""
    names, columns = columns_of(frame, "features", "a frame or dict of columns is needed")
    return matrix(names, columns, "features")


def matrix(names: Sequence[Any], columns: Sequence[Any], what: str) -> Array:
    """Return columns of numbers side by side (n_docs, n_features).

    Raises `InputError` if a column holds no numbers, or another number of rows than the first.
    """
    arrays = [array_of(column) for column in columns]
    for name, array in zip(names, arrays, strict=True):
        if array.ndim != 1 or array.shape != arrays[0].shape:
            raise InputError(
                f"{what}: the column {name!r} has shape {array.shape}, {names[0]!r} has {arrays[0].size} "
                "rows; one number per row is needed."
            )
    kinds = [array.dtype for array in arrays]
    dtype = np.float32 if kinds and all(kind == np.float32 for kind in kinds) else np.float64
    out = np.empty((len(arrays[0]) if arrays else 0, len(arrays)), dtype=dtype)
    for i, (name, array) in enumerate(zip(names, arrays, strict=True)):
        try:
            if array.dtype.kind in "mM":
                raise TypeError(f"it holds {array.dtype}")
            out[:, i] = array if array.dtype.kind in "fiub" else floats_of(array)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{what}: the column {name!r} holds no numbers ({error}); a feature is a number per row.",
                python=f"Name the columns of features, features=[...], or encode or drop {name!r}.",
                shell="Name the columns of features: --feature-columns NAME,... .",
            ) from None
    return out


def arrays_of_queries(frame: Any, names: ColumnNames) -> dict[str, Any]:
    """Return the arguments of `Queries.from_arrays`, and categories, for a frame with a row per document."""
    needed = "a frame, or a dict of columns, with columns of queries, labels and features is needed"
    known, columns = columns_of(frame, "the frame", needed)
    roles = roles_of(known, names, "the frame", "directrix.Queries.from_frame(frame")
    of = dict(zip(known, columns, strict=True))
    coded, names_of_categories = encoded({name: of[name] for name in roles.features}, names.categorical or ())
    of |= coded
    if not roles.features:
        raise InputError(
            "the frame: no column holds features; one or more are needed. The columns are "
            f"{column_list(known)}.",
            python="Type features=[NAME, ...].",
        )
    given = names.features or ("features",) * ("features" in roles.features)
    X = _as_lists(of[given[0]]) if len(given) == 1 else None
    features = roles.features if X is None else None
    if X is None:
        X = matrix(roles.features, [of[name] for name in roles.features], "the frame")
    qid = of[roles.qid]
    return {
        "X": X,
        "y": np.zeros(len(X)) if roles.label is None else array_of(of[roles.label]),
        "qid": qid.to_list() if hasattr(qid, "to_list") else qid,
        "doc_ids": None if roles.doc_id is None else cells_of(of[roles.doc_id]),
        "feature_names": features,
        "categories": by_column(names_of_categories, roles.features),
    }


def _as_lists(column: Any) -> Array | None:
    """Return a column whose cells are lists of all features, as PyTerrier has it; None for any other."""
    cells = cells_of(column)
    if not cells or not hasattr(cells[0], "__len__") or isinstance(cells[0], str):
        return None
    if len({len(cell) if hasattr(cell, "__len__") else -1 for cell in cells}) > 1:
        raise InputError(
            "the frame: the lists of features have different lengths; one length is needed. Pad or drop rows."
        )
    try:
        return np.array([floats_of(cell) for cell in cells])
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the frame: the lists of features hold more than numbers ({error}); convert or drop the rest."
        ) from None


def _narwhals(values: Any, what: str = "the frame") -> Any:
    """Return a frame as narwhals knows it; None for anything else."""
    if isinstance(values, np.ndarray | list | tuple | Mapping) or not hasattr(type(values), "columns"):
        return None
    import narwhals

    try:
        return narwhals.from_native(values)
    except TypeError:
        return None
    except narwhals.exceptions.DuplicateError:
        names = list(values.columns)
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"{what}: {names.count(twice)} columns have the name {twice!r}; one is needed. Rename or leave "
            "out the others."
        ) from None
