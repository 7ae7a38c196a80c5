"""Columns of events, candidates and features as arrays: identifiers as numbers, times in seconds."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import floats_of, is_missing
from directrix.data.columns import ROLES, ColumnNames, find
from directrix.data.file import DataFile
from directrix.data.frames import array_of, by_column, cells_of, columns_of, encoded, matrix_of
from directrix.data.grouping import run_starts
from directrix.data.identifiers import Numbering
from directrix.errors import InputError, short_text
from directrix.types import Array, Float64Array, Int64Array

DAY = 86400.0
"""Seconds."""
_FURTHEST = 1e11
"""Seconds, as numbers: more than 3,000 years, and before any time since 1973 in milliseconds."""
_YEARS = 10_000
"""Of dates before and after 1970: microseconds hold them exactly, and 9999-12-31 may stand for never."""

# Rows of features that are copied together.
_ROWS = 1 << 16

_KEYS = {"user_features": ["user"], "item_features": ["item"], "pair_features": ["user", "item"]}
_CALL = "directrix.data.from_interactions(events"


class Reader:
    """Reads tables with common numbers for identifiers.

    Parameters
    ----------
    names : mapping
        Names that the user gave for the columns of users, items, times, kinds of events and sessions.
    categorical : tuple
        Names of features that are categories, whatever their type.
    """

    def __init__(self, names: Mapping[str, Hashable | None], categorical: Iterable[Hashable]) -> None:
        self._names = names
        self.categorical = (categorical,) if isinstance(categorical, str) else tuple(categorical)
        self.numbers = {key: Numbering(key) for key in ("user", "item", "session", "event")}

    def columns(self, table: Any, what: str) -> dict[Any, Any]:
        """Return the columns of a frame, dict or file by their names; identifiers of a file are text."""
        if isinstance(table, str | os.PathLike):
            # Identifiers of a file are read as text, so that 007 stays 007.
            ids = {name for key in self.numbers for name in (self._names.get(key), *ROLES[key].recognized)}
            table = DataFile(table, ColumnNames(categorical=(*(ids - {None}), *self.categorical))).table()
        columns_by_name = columns_of(table, what, "a frame, dict of columns or path is needed")
        sizes = {name: _size(column) for name, column in columns_by_name.items()}
        for name, size in sizes.items():
            if size is None or size != max(filter(None, sizes.values()), default=0):
                shown = short_text(columns_by_name[name]) if size is None else f"{size:,} values"
                raise InputError(
                    f"{what}: the column {name!r} has {shown}; one value per row is needed. Make all columns "
                    "equally long."
                )
        return columns_by_name

    def find(self, columns: Mapping[Any, Any], key: str, what: str, *, optional: bool = False) -> Any:
        """Return the name of the column of users, items, ...; only events must have the given name."""
        asked = self._names.get(key)
        if asked not in columns and what != "events":
            asked = None
        return find([*columns], key, asked, what, _CALL, optional=optional)

    def number(self, columns: Mapping[Any, Any], key: str, what: str) -> Int64Array:
        """Return the numbers of the identifiers in the column of users, items or sessions."""
        column = columns[self.find(columns, key, what)]
        numbers = self.numbers[key].add(column, lambda row: f"{what}, row {row}")
        if len(numbers) != len(column):
            raise InputError(f"{what}: the column of {key}s holds lists; write identifiers as text.")
        if not len(numbers):
            fix = "Check how they were written."
            fix = "If the first stage found nothing, skip this call." if what == "candidates" else fix
            raise InputError(f"{what}: there is no row; one or more are needed. {fix}")
        return numbers

    def times(self, columns: Mapping[Any, Any], what: str) -> Float64Array:
        """Return the column of times, in seconds."""
        return seconds(columns[name := self.find(columns, "time", what)], f"{what}, column {name!r}")

    def features(self, table: Any, what: str) -> FeatureTable:
        """Read a table of features, with one row per key, or several at different times."""
        columns, keys = self.columns(table, what), _KEYS[what]
        used = [self.find(columns, key, what) for key in keys]
        time = self.find(columns, "time", what, optional=True)
        names = [name for name in columns if name not in (*used, time)]
        if not names:
            raise InputError(
                f"{what} has no column of features, only {', '.join(map(str, columns))}. Add one."
            )
        coded, categories = encoded(
            {name: columns[name] for name in names}, {*self.categorical}.intersection(names)
        )
        codes = [self.number(columns, key, what) for key in keys]
        times = None if time is None else self.times(columns, what)
        of_lists = by_column(categories, names) or (None,) * len(names)
        return FeatureTable(
            what, keys, tuple(map(str, names)), matrix_of(coded, what), of_lists, codes, times
        )


class FeatureTable(NamedTuple):
    """A table of features by user, by item, or by both."""

    what: str
    keys: list[str]
    names: tuple[str, ...]
    matrix: Array
    """(n_rows, n_features)"""
    categories: tuple[tuple[str, ...] | None, ...]
    codes: list[Int64Array]
    """Numbers of the users, items, or both, of each row."""
    times: Float64Array | None
    """Time at which a row becomes known."""

    def join(self, out: Array, codes: list[Int64Array], decisions: Float64Array) -> Array:
        """Fill ``out`` (n, n_features) with the last row of each key before its decision, or NaN.

        Return whether there is such a row, (n,).

        Raises `InputError` if a key has two rows at one time, or only one that is not from before the
        decision.
        """
        keys, asked = _combined(self.codes, codes)
        times = np.full(len(keys), -np.inf) if self.times is None else self.times
        order = np.lexsort((times, keys))
        starts = run_starts(keys[order])
        distinct, moments = np.unique(times, return_inverse=True)
        width = len(distinct) + 1
        # Key and rank of the time are one number, so that one search finds the last row of a key before a
        # decision.
        of_rows = keys[order] * width + moments[order]
        if len(same := np.flatnonzero(of_rows[1:] == of_rows[:-1])):
            fix = ", and there is no column of times. Add a column time, or keep one row per key."
            fix = fix if self.times is None else " at the same time. Keep one of them."
            raise InputError(f"{self.what}, row {order[same[0] + 1]}: its key has another row{fix}")
        # A row at the decision itself is too late.
        before = np.searchsorted(distinct, decisions)
        place = np.searchsorted(of_rows, asked * width + before) - 1
        key, has_key = place_in(keys[order][starts], asked)
        exists = has_key & (place >= starts[key])
        # A key with several rows may have become known later. A single row that is too late is the sign of a
        # table of the present.
        is_single = np.diff(starts, append=len(order)) == 1
        if len(late := np.flatnonzero(has_key & ~exists & is_single[key])):
            row = order[starts[key[late[0]]]]
            raise InputError(
                f"{self.what}, row {row}: its time, {iso(times[row])}, is not before the decision at "
                f"{iso(decisions[late[0]])} of a list that it would be a feature of ({len(late):,} rows of "
                "candidates): it may hold what happened after. Give a table from before the decisions, or "
                "one row for each time at which the features changed."
            )
        # Blocks avoid a second table of this size.
        for first in range(0, len(out), _ROWS):
            block = slice(first, first + _ROWS)
            out[block] = self.matrix[order[place[block]]]
            out[block][~exists[block]] = np.nan
        return exists


def _combined(table: list[Int64Array], asked: list[Int64Array]) -> tuple[Int64Array, Int64Array]:
    """Return one number for each user, item, or pair of both, the same for a table and its requests."""
    if len(table) == 1:
        return table[0], asked[0]
    width = int(max(table[1].max(initial=0), asked[1].max(initial=0))) + 1
    pairs, keys = np.unique(table[0] * width + table[1], return_inverse=True)
    # A pair that the table lacks gets a number that no row has.
    place, exists = place_in(pairs, asked[0] * width + asked[1])
    return keys, np.where(exists, place, len(pairs))


def place_in(keys: Int64Array, asked: Int64Array) -> tuple[Int64Array, Array]:
    """Return a position in the sorted keys for each requested key, and whether it holds that key."""
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return place, keys[place] == asked


def seconds(column: Any, what: str) -> Float64Array:
    """Return times as seconds: numbers unchanged; dates and ISO 8601 text since 1970, UTC.

    Raises `InputError` if one is missing or invalid.
    """
    values = array_of(column)
    if values.ndim != 1:
        raise InputError(f"{what} has shape {values.shape}; one time per row is needed. Flatten it.")
    if values.dtype.kind not in "iufM":
        values = _numbers_or_dates(values, what)
    is_date = values.dtype.kind == "M"
    bad = np.isnat(values) if is_date else ~np.isfinite(values)
    if bad.any():
        raise InputError(
            f"{what}: no time in row {int(np.argmax(bad))} (in {int(bad.sum()):,} of {len(bad):,} rows); "
            "every row needs one. Drop these rows."
        )
    if not is_date:
        times = values.astype(np.float64)
        if (far := np.abs(times) > _FURTHEST).any():
            year = float(times[far][0].clip(-1e15, 1e15)) / (365.2425 * DAY) + 1970
            raise InputError(
                f"{what}: {times[far][0]:.6g} is in the year {year:,.0f}, for numbers are seconds. Divide "
                "milliseconds by 1000, microseconds by 1,000,000."
            )
        return times
    if (far := np.abs(values.astype("datetime64[Y]").astype(np.int64)) > _YEARS).any():
        raise InputError(f"{what}: {values[far][0]} must be within {_YEARS:,} years of 1970. Correct it.")
    return values.astype("datetime64[us]").astype(np.int64) / 1e6


def _numbers_or_dates(values: Array, what: str) -> Array:
    """Return objects as numbers if all are numbers, else as dates; NaN or NaT for missing ones."""
    cells = cells_of(values)
    try:
        if all(is_missing(x) or (isinstance(x, Real | Decimal) and not isinstance(x, bool)) for x in cells):
            return floats_of(cells)
    except OverflowError:
        # No float holds an integer of this size, which is too far from 1970 in any case.
        return np.full(len(cells), 1e300)
    times = np.empty(len(values), dtype="datetime64[us]")
    for row, cell in enumerate(cells):
        try:
            times[row] = None if is_missing(cell) else _utc(cell)
        except (TypeError, ValueError, OverflowError):
            where = f", row {row}" if len(values) > 1 else ""
            raise InputError(
                f"{what}{where}: {short_text(cell)} is not a time; a number, a date, or ISO 8601 text "
                "such as 2026-01-31T12:00:00 is needed. Convert it, e.g. by pandas.to_datetime."
            ) from None
    return times


def _utc(cell: Any) -> Any:
    """Return a date without its zone, which NumPy does not read; numbers would be microseconds to it."""
    if isinstance(cell, str):
        cell = datetime.fromisoformat(cell)
    if not isinstance(cell, date | np.datetime64):
        raise TypeError
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(UTC).replace(tzinfo=None)
    return cell


def moment(value: Any, name: str) -> float:
    """Return a time given by the user, in seconds."""
    times = seconds([value], name)
    return float(times[0])


def iso(time: float) -> str:
    """Return a time as text: a date if the seconds since 1970 are large enough to be one."""
    return str(np.datetime64(int(time), "s")) if time >= 1e8 else f"{time:g}"


def _size(column: Any) -> int | None:
    """Return the number of values of a column; None if it is one value."""
    try:
        return None if isinstance(column, str) else len(column)
    except TypeError:
        return None
