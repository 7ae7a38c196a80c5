"""Linear maps of features, in float64 and back: checks that nothing overflows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from directrix.data.statistics import percentiles, signed_log, statistics
from directrix.data.validate import has_finite_sum
from directrix.errors import InputError
from directrix.types import Array, Int64Array


def inverse(width: Array) -> Array:
    """``1 / width``, 0 where the width is 0."""
    factor = np.zeros(len(width))
    with np.errstate(over="ignore"):
        np.divide(1.0, width, out=factor, where=width > 0)
    return factor


def _divided(values: Array, width: Array) -> Array:
    """``values / width``, 0 where the width is 0."""
    factor = inverse(width)
    tiny = np.isinf(factor)  # widths below 5.6e-309 have no reciprocal
    out: Array = values * np.where(tiny, 0.0, factor)
    if tiny.any():
        out[:, tiny] = values[:, tiny] / width[tiny]
    return out


def check_width(width: Array, where: str, columns: Array | None = None) -> None:
    """Raise `InputError` at an infinite width; ``columns`` are their numbers for messages."""
    if np.isinf(width).any():
        column = int(np.argmax(np.isinf(width)))
        column = column if columns is None else int(columns[column])
        raise InputError(
            f"features: the range or deviation of column {column} in {where} is too large for a float; "
            f"values below 1e150 can be scaled. Divide the column first, e.g. X[:, {column}] /= 1e200."
        )


def check_scaled(out: Array, given: Array, place: Callable[[tuple[int, ...]], str]) -> None:
    """Raise `InputError` at a finite value that became infinite."""
    if has_finite_sum(out):
        return
    bad = ~np.isfinite(out) & np.isfinite(given)
    if bad.any():
        at = tuple(int(i) for i in np.unravel_index(np.argmax(bad), bad.shape))
        raise InputError(
            f"features: {given[at].item():g} at {place(at)} is too large for {out.dtype} once it is scaled; "
            "values near those of the training data are needed. Clip the column, or use features in float64."
        )


def mapped(features: Array, center: Array, width: Array, fill: Array | None, *, log: bool) -> Array:
    """``(x - center) / width``, or of logarithms; ``fill`` (n_features,) replaces missing values."""
    out = np.empty_like(features, order="C")
    for first in range(0, len(features), 8192):  # blocks, so that the float64 copy stays small
        rows = slice(first, first + 8192)
        place = partial(_cell, first, None)
        map_rows(features[rows], out[rows], center, width, place, log=log, fill=fill)
    return out


def _cell(first: int, columns: Array | None, at: tuple[int, ...]) -> str:
    return f"row {first + at[0]}, column {at[1] if columns is None else columns[at[1]]}"


def map_rows(
    features: Array,
    out: Array,
    center: Array,
    width: Array,
    place: Callable[[tuple[int, ...]], str],
    *,
    log: bool = False,
    fill: Any = None,
) -> None:
    """Fill ``out``, as `mapped` returns it; ``place`` names a cell in messages."""
    with np.errstate(over="ignore", invalid="ignore"):
        out[:] = _divided((signed_log(features) if log else features) - center, width)
    if fill is not None and not has_finite_sum(out):
        filled = _divided(np.array([fill]) - center, width)
        out[:] = np.where(np.isnan(features), filled, out)
    check_scaled(out, features, place)


def mapped_by_query(kind: str, features: Array, qptr: Int64Array) -> Array:
    """Scale the rows of every query by their own statistics."""
    out = np.empty_like(features, order="C")
    for query, (first, last) in enumerate(zip(qptr[:-1].tolist(), qptr[1:].tolist(), strict=True)):
        if first < last:
            map_query(kind, features[first:last], out[first:last], query, first)
    return out


def map_query(
    kind: str, features: Array, out: Array, query: int, first: int, columns: Array | None = None
) -> None:
    """Fill ``out`` with the rows of one query, scaled; the last three number them in messages."""
    if kind == "query-percentile":
        out[:] = percentiles(features)
        return
    part = features.astype(np.float64)
    low, high = part.min(axis=0), part.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isnan(low).any():  # slower
            center, width, _ = statistics(kind.removeprefix("query-"), part)
        elif kind == "query-minmax":
            center, width = low, high - low
        else:
            # thresholds tell apart what differs by one bit: sums depend on no order of rows, no other column
            ascending = np.sort(np.ascontiguousarray(part.T), axis=1)
            center, width = ascending.mean(axis=1), np.where(low < high, ascending.std(axis=1), 0.0)
    check_width(width, f"query {query}", columns)
    map_rows(features, out, center, width, partial(_cell, first, columns))
