"""Identifiers as numbers, the same for 7 and "7", so that tables of different origins can be joined."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np

from directrix.data.checks import is_empty
from directrix.data.frames import array_of, cells_of
from directrix.data.grouping import check_identifiers, identifier_text, object_array, plain_identifier
from directrix.errors import InputError
from directrix.types import Int64Array


class Numbering:
    """Numbers of identifiers, in the order of their appearance."""

    def __init__(self, kind: str) -> None:
        self._kind, self._of_text, self._of_cell = kind, dict[str, int](), dict[Any, int]()

    def add(self, column: Any, place: Callable[[int], str]) -> Int64Array:
        """Return the number of the identifier of each row; 7 and "7" are one identifier."""
        native = column.to_native() if hasattr(column, "to_native") else column
        # Arrow numbers its values many times as fast as objects of Python are numbered. It cannot do so for
        # lists and other values that name nothing.
        if hasattr(native, "combine_chunks"):
            with suppress(NotImplementedError):
                kind = native.type
                plain = native.cast(kind.value_type) if hasattr(kind, "index_type") else native
                coded = plain.combine_chunks().dictionary_encode("encode")
                cells = coded.dictionary.to_pylist()
                self._register(cells, column, place)
                rows: Int64Array = self._numbers(cells)[coded.indices.to_numpy(zero_copy_only=False)]
                return rows
        # NumPy would make 7 of a list text if another is text, and round integers beyond 64 bits.
        values = object_array(column) if isinstance(column, list | tuple) else array_of(column)
        # Dates with nanoseconds would become integers.
        if values.dtype.kind == "M":
            values = object_array(values.astype("datetime64[us]").tolist())
        if values.dtype.kind in "iufbU" and values.ndim == 1:
            distinct, first, codes = np.unique(values, return_index=True, return_inverse=True)
            cells = distinct.tolist()
            self._register([cells[i] for i in np.argsort(first)], column, place)
            return self._numbers(cells)[codes]
        cells = values.ravel().tolist()
        self._register(cells, column, place)
        return self._numbers(cells)

    def _numbers(self, cells: list[Any]) -> Int64Array:
        return np.fromiter(map(self._of_cell.__getitem__, cells), np.int64, len(cells))

    def _register(self, cells: list[Any], column: Any, place: Callable[[int], str]) -> None:
        """Number new cells; `InputError` if one is missing or cannot be written to a file."""
        try:
            new = [cell for cell in dict.fromkeys(cells) if cell not in self._of_cell]
        except TypeError as error:
            raise InputError(
                f"{place(0)}: the {self._kind} is neither text nor a number ({error}). "
                "Write identifiers as text."
            ) from None
        if any(map(is_empty, new)):
            rows = [row for row, cell in enumerate(cells_of(column)) if is_empty(cell)]
            raise InputError(
                f"{place(rows[0])}: the {self._kind} is missing (in {len(rows):,} of {len(column):,} rows); "
                "each row needs one. Drop these rows, e.g. frame.dropna()."
            )
        texts = [identifier_text(cell) for cell in new]
        check_identifiers(texts, self._kind, lambda i: place(cells_of(column).index(new[i])))
        for cell, text in zip(new, texts, strict=True):
            self._of_cell[cell] = self._of_text.setdefault(text, len(self._of_text))

    @property
    def names(self) -> tuple[str, ...]:
        """The identifiers by number, as text."""
        return tuple(self._of_text)

    @property
    def identifiers(self) -> tuple[Any, ...]:
        """The identifiers by number: integers if all were given as such, else text."""
        first: dict[int, Any] = {}
        for cell, number in self._of_cell.items():
            first.setdefault(number, cell)
        plain = [plain_identifier(cell) for cell in first.values()]
        is_whole = all(
            isinstance(identifier, Integral) and not isinstance(identifier, bool) for identifier in plain
        )
        return tuple(map(int, plain)) if is_whole else self.names
