"""Features of any kind: arrays, sparse matrices, frames (narwhals) and dicts, also with categories.

Anything that holds features goes in. Checked features come out: C-contiguous float32 or float64, or canonical
CSR, with categories as the positions of their names:

>>> encoded({"size": [1.0, 2.0], "color": ["red", "blue"]}, also=["color"])
({'size': [1.0, 2.0], 'color': array([1., 0.])}, {'color': ('blue', 'red')})
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np

from directrix.data.checks import (
    as_array,
    check_indices,
    floats_of,
    is_empty,
    unmasked,
)
from directrix.data.columns import ColumnNames, check_names, check_unique, column_list, roles_of
from directrix.data.grouping import plain_identifier
from directrix.data.matching import match_features
from directrix.data.missing import check_cells
from directrix.errors import NO_ITEMS, Advice, InputError, short_text
from directrix.types import Array, Float64Array, is_sparse

Categories = tuple[tuple[str, ...] | None, ...]
"""Names of the categories of each feature, None for a number."""


def name_of(value: Any) -> str:
    """Return the name of a category; equal numbers, such as 1, 1.0 and True, share one name."""
    if isinstance(value, Number | np.bool_) and not isinstance(value, complex | np.complexfloating):
        # Infinities and NaN have no integer, and keep their text.
        with suppress(TypeError, ValueError, OverflowError):
            whole = int(value)  # type: ignore[arg-type]
            return str(whole) if whole == value else str(value)
        if isinstance(value, int):
            # The integer has more digits than Python prints in decimal.
            return hex(value)
    elif isinstance(value, Collection) and not isinstance(value, str | bytes):
        raise InputError(f"a cell of categories is {short_text(value)}; it must be one word or number.")
    return str(value)


def spelled_name(text: str) -> str:
    """Return the name of the number in a text, such as 1 for "1.0" or "True"; otherwise the text.

    CSV has no types: pandas writes 1.0 if a column of integers has a gap.
    """
    if text in ("True", "False"):
        return name_of(text == "True")
    with suppress(ValueError):
        if text == str(number := float(text)):
            return name_of(number)
    return text


def places(values: Sequence[Any]) -> tuple[Float64Array, tuple[str, ...]]:
    """Return each value's position among the sorted names, NaN for None and empty text; and the names."""
    texts = [None if is_empty(value) else name_of(value) for value in values]
    names = tuple(sorted({text for text in texts if text is not None}))
    place: Mapping[str | None, float] = {None: np.nan} | {name: float(i) for i, name in enumerate(names)}
    return np.array([place[text] for text in texts], dtype=np.float64), names


def categories_from(listed: Any, n_features: int) -> Categories:
    """Return categories from the lists in a file; `ValueError` if they do not match these features."""
    rows = listed if isinstance(listed, list) else []
    are_names = all(
        row is None
        or (
            isinstance(row, list) and all(isinstance(name, str) for name in row) and len(set(row)) == len(row)
        )
        for row in rows
    )
    if len(rows) != n_features or not are_names:
        raise ValueError(f"a list of {n_features} entries, each null or a list of different texts, is needed")
    return tuple(None if row is None else tuple(row) for row in rows)


def by_column(names: Mapping[Any, tuple[str, ...]], columns: Sequence[Any]) -> Categories | None:
    """Return the names of categories for columns in their order; None if no column has any."""
    for column, categories in names.items():
        check_names(categories, f"the categories of {column!r}")
    return tuple(names.get(column) for column in columns) if names else None


def is_dict(values: Any) -> bool:
    """Return whether this is a dict, but not a sparse matrix of the DOK kind, which inherits from dict."""
    return isinstance(values, Mapping) and not hasattr(values, "tocsr")


def are_dicts(rows: Any) -> bool:
    """Return whether this is a list of dicts, one per row."""
    return isinstance(rows, list | tuple) and bool(rows) and is_dict(rows[0])


def columns_of_rows(rows: Any, trained: Sequence[Any] = ()) -> dict[Any, list[Any]]:
    """Return the columns of a list of dicts, first those ``trained`` on, None for a key that a row lacks.

    Raises `InputError` if a row is no dict, or has a name that is not among those trained on, if there are
    any.
    """
    other = next((place for place, row in enumerate(rows) if not is_dict(row)), None)
    if other is not None:
        raise InputError(
            f"row {other} is {short_text(rows[other])}, and row 0 a dict; all rows must be dicts, from the "
            "names of features to values."
        )
    names = list(dict.fromkeys(name for row in rows for name in row))
    match = match_features(names, trained)
    if trained and match.surplus:
        raise InputError(match.problem("the rows", "the training data"), "Rename them, or leave them out.")
    return {name: [row.get(name) for row in rows] for name in trained or names}


def is_frame(values: Any) -> bool:
    """Return whether this is a frame or a dict."""
    return is_dict(values) or _narwhals(values) is not None


def encoded(frame: Any, also: Collection[Any] = ()) -> tuple[Any, dict[Any, tuple[str, ...]]]:
    """Return a frame with categories as numbers, as a dict of columns, and the names of categories.

    Categories are in columns of a categorical type, and in those named in ``also``. A frame of numbers alone,
    and anything else than a frame, is returned unchanged.
    """
    columns, names, has_others = columns_of(frame) if is_frame(frame) else {}, {}, False
    for name, column in columns.items():
        # The types of pandas, polars and Arrow have different classes, but similar names.
        kind = str(getattr(column, "dtype", "")).lower()
        if name in also or kind.startswith(("categor", "enum")):
            columns[name], names[name] = places(cells_of(column))
        # Columns of dates and objects are left to `matrix_of`, since each kind of frame would
        # convert dates to other numbers.
        has_others |= kind.startswith(("date", "time", "duration", "object", "str"))
    return (columns, names) if names or has_others else (frame, names)


def columns_of(
    frame: Any, what: str = "features", needed: str = "a frame or dict of columns is needed"
) -> dict[Any, Any]:
    """Return the columns of a frame, or of a dict, by their names; a lazy frame is collected.

    Raises `InputError` if it is neither; the message says what is ``needed``.
    """
    if is_dict(frame):
        return dict(frame)
    table = _narwhals(collected(frame), what)
    if table is None:
        raise InputError(f"{what} has the type {type(frame).__name__}; {needed}.")
    return dict(zip(table.columns, table.iter_columns(), strict=True))


def collected(values: Any) -> Any:
    """Return a lazy frame as one in memory, anything else unchanged."""
    is_lazy = hasattr(values, "collect") and hasattr(values, "collect_schema")
    return values.collect() if is_lazy else values


def names_of(frame: Any) -> list[Any]:
    """Return the names of the columns of a frame or a dict; none for anything else."""
    if is_dict(frame):
        return list(frame)
    table = _narwhals(frame)
    return [] if table is None else list(table.collect_schema().names())


def text_names(values: Any) -> list[Any]:
    """Return the names of the columns of a frame or a dict; none if all are numbers, as in scikit-learn."""
    names = names_of(values)
    return names if any(isinstance(name, str) for name in names) else []


def by_name(X: Any, wanted: Sequence[str], what: str, remedy: str) -> Any:
    """Return a frame or dict with the columns of the training data in their order.

    Anything else, and a frame whose columns are only numbered, is taken by position and returned unchanged.
    Raises `InputError` with this ``remedy`` if columns are lacking or surplus.
    """
    names = list(X) if is_dict(X) else text_names(X)
    if not names or not wanted:
        return X
    match = match_features(names, wanted)
    if match.lacking or match.surplus:
        raise InputError(match.problem(what, "the training data"), remedy)
    if match.columns == tuple(range(len(names))):
        return X
    return {name: X[name] for name in wanted} if is_dict(X) else _narwhals(X).select(*wanted).to_native()


def cells_of(column: Any) -> list[Any]:
    """Return the values of a column of `columns_of` as Python objects."""
    # pandas warns of `to_list` of categories, so `tolist` goes first.
    get = getattr(column, "tolist", getattr(column, "to_list", None))
    try:
        return list(column if get is None else get())
    except NO_ITEMS as error:
        raise InputError(f"a column of a frame has no rows ({error}); one value per row is needed.") from None


def array_of(column: Any) -> Array:
    """Return the values of a column as an array, with NaN for missing numbers."""
    if str(getattr(column, "dtype", "")) in ("Int128", "UInt128"):
        # NumPy has no such integers of polars.
        return np.array(cells_of(column), dtype=object)
    return as_array(column.to_numpy() if hasattr(column, "to_numpy") else column, "a column")


def matrix_of(frame: Any, what: str = "features") -> Array:
    """Return all columns of a frame or dict side by side (n_docs, n_features).

    Raises `InputError` if a column holds no numbers, or has another number of rows than the first.
    """
    arrays = {name: array_of(column) for name, column in columns_of(frame).items()}
    first = next(iter(arrays), None)
    for name, array in arrays.items():
        if array.ndim != 1 or array.shape != arrays[first].shape:
            raise InputError(
                f"{what}: the column {name!r} has shape {array.shape}, {first!r} has {arrays[first].size} "
                "rows; one number per row is needed."
            )
    dtype = np.float32 if {array.dtype for array in arrays.values()} == {np.dtype(np.float32)} else np.float64
    out = np.empty((len(arrays[first]) if arrays else 0, len(arrays)), dtype=dtype)
    bad = {}
    for i, (name, array) in enumerate(arrays.items()):
        try:
            if array.dtype.kind in "mMc":
                raise TypeError(f"it holds {array.dtype}")
            out[:, i] = array if array.dtype.kind in "fiub" else floats_of(array)
        except (TypeError, ValueError, OverflowError) as error:
            bad[name] = error
    if bad:
        raise InputError(
            f"{what}: columns must hold numbers, got {', '.join(f'{k!r} ({e})' for k, e in bad.items())}.",
            Advice("categorical-columns", columns=list(bad)),
        )
    return out


def arrays_of_queries(frame: Any, names: ColumnNames) -> dict[str, Any]:
    """Return the arguments of `Queries.from_arrays`, and categories, for a frame with a row per document."""
    needed = "a frame, or a dict of columns, with columns of queries, labels and features is needed"
    columns = columns_of(frame, "the frame", needed)
    roles = roles_of([*columns], names, "the frame", "directrix.Queries.from_frame(frame")
    coded, names_of_categories = encoded(
        {name: columns[name] for name in roles.features}, names.categorical or ()
    )
    if not roles.features:
        raise InputError(
            "the frame: no column holds features; one or more are needed. The columns are "
            f"{column_list([*columns])}. Type features=[NAME, ...]."
        )
    # A single column may hold lists of all features, as in PyTerrier.
    list_columns = names.features or (("features",) if "features" in roles.features else ())
    lists = _as_lists(coded[list_columns[0]]) if len(list_columns) == 1 else None
    X = matrix_of(coded, "the frame") if lists is None else lists
    return {
        "X": X,
        "y": np.zeros(len(X)) if roles.label is None else array_of(columns[roles.label]),
        "qid": _identifiers(columns[roles.qid]),
        "doc_ids": None if roles.doc_id is None else _identifiers(columns[roles.doc_id]),
        "feature_names": roles.features if lists is None else None,
        "categories": by_column(names_of_categories, roles.features),
    }


def _identifiers(column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.dtype.kind not in "fSO":
        return column
    return list(map(plain_identifier, cells_of(column)))


def _as_lists(column: Any) -> Array | None:
    """Return a column whose cells are lists of all features, as in PyTerrier; None for any other."""
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
    """Return a frame of narwhals; None for anything else."""
    if isinstance(values, np.ndarray | list | tuple | Mapping) or not hasattr(type(values), "columns"):
        return None
    # It is imported here, because most callers pass arrays.
    import narwhals

    try:
        return narwhals.from_native(values)
    except TypeError:
        return None
    except narwhals.exceptions.DuplicateError:
        # Arrow has an attribute `columns` too, but it holds the columns themselves.
        check_unique(list(getattr(values, "column_names", values.columns)), what)
        raise


def check_features(X: Any, missing: str) -> Any:
    """Return features as C-contiguous float32 or float64 (n_docs, n_features), or as canonical CSR.

    float32 and float64 are kept, and other numbers become float64. The input is never changed. NaN is an
    error, or is kept ("zero", "nan"); infinite values are errors.
    """
    features: Any = _csr(X) if is_sparse(X) else _dense(X)
    check_cells(features, missing, names_of(X), "row {}".format)
    return features


def _csr(X: Any) -> Any:
    if X.dtype.kind not in "fiub":
        raise InputError(
            f"features have dtype {X.dtype}; real numbers are needed. Type X.astype(numpy.float32)."
        )
    import scipy.sparse as sp

    features = sp.csr_array(X)
    check_indices(features)
    if features.dtype not in (np.float32, np.float64):
        features = features.astype(np.float64)
    # The copy keeps the user's matrix, which `sum_duplicates` would change in place.
    if not features.has_canonical_format:
        features = features.copy()
        features.sum_duplicates()
    return features


def _dense(X: Any) -> Array:
    shape = "X needs two dimensions, (n_docs, n_features)"
    values = X
    if is_frame(X):
        values = matrix_of(X)
    try:
        array = np.asarray(unmasked(values))
    except ValueError as error:
        raise InputError(
            f"features: the rows have different lengths ({error}); {shape}. Pad or fix them."
        ) from error
    if array.ndim != 2:
        reshaped = "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one document"
        remedy = reshaped if array.ndim == 1 else "X.reshape(...)"
        raise InputError(f"features have shape {array.shape}; {shape}. Type {remedy}.")
    if array.dtype.kind not in "fiub":
        try:
            if array.dtype.kind != "O":
                raise TypeError(f"dtype {array.dtype}")
            array = floats_of(array.ravel()).reshape(array.shape)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"features hold more than real numbers ({error}). Drop or encode columns of text, dates or "
                "objects; numbers as text: numpy.asarray(X, dtype=float)."
            ) from None
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)
