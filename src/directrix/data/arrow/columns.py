"""Columns of a record batch as checked arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from directrix.data.arrow.layout import Layout
from directrix.data.arrow.library import decoding
from directrix.data.categories import Categories, by_column, is_missing, name_of
from directrix.data.grouping import object_array
from directrix.data.options import IF_MISSING
from directrix.data.validate import has_finite_sum, zeros_for_missing
from directrix.errors import InputError
from directrix.types import Array, Float64Array

_T = TypeVar("_T")

_ROWS = 512  # copied from columns to rows together, so that they stay in a cache


class Place(NamedTuple):
    """Where a batch comes from: its file, and its first row in the file."""

    path: Path
    row: int

    def of(self, row: int, column: str) -> str:
        """Name a cell of the batch, for messages."""
        return f"{self.path}: row {self.row + row}, column {column!r}"


def _decoding(method: Callable[[Columns, Any, Place], _T]) -> Callable[[Columns, Any, Place], _T]:
    @functools.wraps(method)
    def decoded(self: Columns, batch: Any, place: Place) -> _T:
        with decoding(place.path):
            return method(self, batch, place)

    return decoded


class Columns:
    """Turns batches of one layout into arrays; ``missing`` as for `directrix.data.read_parquet`."""

    def __init__(self, layout: Layout, missing: str = "error") -> None:
        self._layout, self._missing = layout, missing
        self._found: dict[str, dict[str, float]] = {name: {} for name in layout.categorical}

    @_decoding
    def labels(self, batch: Any, place: Place) -> Float64Array:
        """Labels (n,), finite and >= 0."""
        name = self._layout.label
        if name is None:
            return np.zeros(batch.num_rows)
        column = _without_nulls(batch, name, place)
        out = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        bad = ~((out >= 0.0) & (out < np.inf))
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"{place.of(row, name)}: {out[row]:g}; labels are finite and >= 0. Drop unlabeled rows, "
                "or shift the labels so that the lowest is 0."
            )
        return out

    @_decoding
    def qids(self, batch: Any, place: Place) -> Array:
        """Query of every row (n,): int64, or Python objects."""
        name = self._layout.qid
        column = _without_nulls(batch, name, place)
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        if str(column.type).startswith(("int", "uint")) and str(column.type) != "uint64":
            return column.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
        values = object_array(column.to_pylist())
        is_nan = values != values
        if is_nan.any():
            row = int(np.argmax(is_nan))
            raise InputError(
                f"{place.of(row, name)}: it is nan; every row belongs to a query. Drop these rows."
            )
        return values

    @_decoding
    def doc_ids(self, batch: Any, place: Place) -> Any:
        """Identifiers of the documents, object (n,), None for documents without one."""
        name = self._layout.doc_id
        return None if name is None else object_array(batch.column(name).to_pylist())

    @_decoding
    def features(self, batch: Any, place: Place) -> Array:
        """Features (n, n_features); all are finite, except NaN if ``missing`` allows it."""
        n, names, dtype = batch.num_rows, self._layout.names or (), self._layout.dtype
        if self._layout.lists is not None:
            values = _without_nulls(batch, self._layout.lists, place).flatten().to_numpy(zero_copy_only=False)
            rows = values.reshape(n, self._layout.n_features).astype(dtype, copy=False)
        else:
            columns = [self._column(batch, name) for name in names]
            rows = np.empty((n, len(names)), dtype=dtype)
            for first in range(0, n, _ROWS):
                for feature, column in enumerate(columns):
                    rows[first : first + _ROWS, feature] = column[first : first + _ROWS]
        return self._checked(rows, place)

    def _column(self, batch: Any, name: str) -> Array:
        """Numbers of a feature; of categories their places in the order in which they are met."""
        column = batch.column(name)
        if name not in self._found:
            return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
        place = self._found[name]
        cells = column.to_pylist()
        values = (None if is_missing(value) or value == "" else name_of(value) for value in cells)
        codes = [math.nan if value is None else place.setdefault(value, len(place)) for value in values]
        return np.array(codes, dtype=np.float64)

    def categories(self, features: Array) -> Categories | None:
        """Return the names of all categories that were read, and give them alphabetical places."""
        for name, place in self._found.items():
            column = features[:, (self._layout.names or ()).index(name)]
            new = {old: float(i) for i, old in enumerate(place[name] for name in sorted(place))}
            column[:] = [new.get(code, math.nan) for code in column.tolist()]
        names = {name: tuple(sorted(place)) for name, place in self._found.items()}
        return by_column(names, self._layout.names or ()) or self._layout.stored

    def _checked(self, rows: Array, place: Place) -> Array:
        if has_finite_sum(rows):
            return rows
        bad = ~np.isfinite(rows) if self._missing == "error" else np.isinf(rows)
        if bad.any():
            self._refuse(rows, bad, place)
        return zeros_for_missing(rows, self._layout.stored) if self._missing == "zero" else rows

    def _refuse(self, rows: Array, bad: Array, place: Place) -> NoReturn:
        row, column = (int(i) for i in np.unravel_index(np.argmax(bad), bad.shape))
        name = str(column) if self._layout.names is None else self._layout.names[column]
        value, cell = rows[row, column].item(), place.of(row, name)
        if not np.isnan(value):
            raise InputError(
                f"{cell}: the feature is {value:g}; finite numbers are needed. Clip the column, or drop "
                "these rows."
            )
        raise InputError(
            f"{cell}: the feature is missing (NaN or null); finite numbers are needed.", **IF_MISSING
        )


def _without_nulls(batch: Any, name: str, place: Place) -> Any:
    column = batch.column(name)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(
            f"{place.of(row, name)}: it is null (so are {column.null_count - 1:,} more); every row needs a "
            f"value. Drop these rows, e.g. table.filter(pyarrow.compute.is_valid(table[{name!r}]))."
        )
    return column
