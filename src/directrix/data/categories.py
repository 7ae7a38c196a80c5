"""Columns of categories: a feature holds the place of a category among the names of its column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np

from directrix.types import Float64Array

Categories = tuple[tuple[str, ...] | None, ...]
"""For each feature the names of its categories; None: it is a number."""


def name_of(value: Any) -> str:
    """Return the name of a category; equal numbers, such as 1, 1.0 and True, have one."""
    if isinstance(value, Number | np.bool_):
        with suppress(TypeError, ValueError, OverflowError):  # complex numbers, infinities
            whole = int(value)  # type: ignore[arg-type]
            return str(whole) if whole == value else str(value)
    return str(value)


def spelled_name(text: str) -> str:
    """Return the name of the number that a text spells, such as 1 for "1.0" or "True"; else the text.

    CSV has no types: pandas writes 1.0 there once a column of whole numbers has a gap.
    """
    if text in ("True", "False"):
        return name_of(text == "True")
    with suppress(ValueError):
        if text == str(number := float(text)):
            return name_of(number)
    return text


def places(values: Sequence[Any]) -> tuple[Float64Array, tuple[str, ...]]:
    """Return for each value its place among the names, in alphabetical order; NaN for None and NaN."""
    texts = [None if is_missing(value) else name_of(value) for value in values]
    names = tuple(sorted({text for text in texts if text is not None}))
    place: Mapping[str | None, float] = {None: np.nan} | {name: float(i) for i, name in enumerate(names)}
    return np.array([place[text] for text in texts], dtype=np.float64), names


def categories_from(listed: Any, n_features: int) -> Categories:
    """Return categories that a file holds as lists; `ValueError` if they are not for these features."""
    rows = listed if isinstance(listed, list) else []
    if len(rows) != n_features or not all(row is None or _are_names(row) for row in rows):
        raise ValueError(f"a list of {n_features} entries, each null or a list of different texts, is needed")
    return tuple(None if row is None else tuple(row) for row in rows)


def _are_names(row: Any) -> bool:
    is_list = isinstance(row, list) and all(isinstance(name, str) for name in row)
    return is_list and len(set(row)) == len(row)


def by_column(names: Mapping[Any, tuple[str, ...]], columns: Sequence[Any]) -> Categories | None:
    """Return the names of categories for columns in their order; None if no column has any."""
    return tuple(names.get(column) for column in columns) if names else None


def is_missing(value: Any) -> bool:
    """Return whether a cell of a table is empty: None, NaN, or the missing value of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA, which equals nothing and is neither true nor false
        return True
