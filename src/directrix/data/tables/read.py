"""Read tables into memory, open them, or take them batch by batch."""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from directrix.data.checks import IF_MISSING, check_missing, has_finite_sum
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.files import path_of
from directrix.data.frames import Categories, by_column, is_missing, name_of, zeros_for_missing
from directrix.data.grouping import object_array, run_starts
from directrix.data.memory import check_room
from directrix.data.queries import Queries, filled, rows_as_queries
from directrix.data.stored import RawRows, StoredFeatures
from directrix.data.tables.files import ArrowFiles, Layout, Place, decoding
from directrix.errors import InputError
from directrix.types import Array, Float64Array

_T = TypeVar("_T")

_ROWS = 512  # copied from columns to rows together, so that they stay in a cache


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


class QueryRuns:
    """Collects where queries begin in rows that arrive in parts; refuses a query that begins twice."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ids: list[Hashable] = []
        self._seen: set[Hashable] = set()
        self._n_rows = 0

    def add(self, qids: Array, place: Place) -> None:
        """Add the identifiers of further rows, or raise `InputError` if a query has begun before."""
        changes = run_starts(qids)
        for row, qid in zip(changes.tolist(), qids[changes].tolist(), strict=True):
            if row == 0 and self.ids and self.ids[-1] == qid:
                continue
            if qid in self._seen:
                raise InputError(
                    f"{place.path}: row {place.row + row}: query {qid!r} starts again after other queries; "
                    "the rows of a query must be together where the table is read part by part.",
                    python="Sort the table by qid, or read it into memory, where rows are grouped: "
                    "directrix.data.read_parquet(path).",
                    shell="Sort the table by qid, or train with --no-stream.",
                )
            self._seen.add(qid)
            self.ids.append(qid)
            self.starts.append(self._n_rows + row)
        self._n_rows += len(qids)


class DecodedRows:
    """Rows of files that must be decoded, for `StoredFeatures`; fast only from front to back."""

    def __init__(self, files: ArrowFiles) -> None:
        self._files, self._columns = files, Columns(files.layout, "nan")
        self.name, self.dtype = str(files.path), files.layout.dtype
        self.shape = (files.n_rows, files.layout.n_features)
        self._begin = dict(zip(files.paths, np.cumsum([0, *files.sizes]).tolist(), strict=False))
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._batches: Iterator[tuple[Place, Any]] | None = None
        self._kept: list[tuple[int, Array]] = []  # the last two batches, since threads overtake each other

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_batches", "_kept")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def read(self, first: int, last: int, out: Array) -> None:
        """Fill ``out``, from where the last read ended or from the nearest group of rows before."""
        with self._lock:
            row = first
            while row < last:
                held = next(((at, rows) for at, rows in self._kept if 0 <= row - at < len(rows)), None)
                if held is None:
                    self._next(row)
                    continue
                at, rows = held
                part = rows[row - at : last - at]
                out[row - first : row - first + len(part)] = part
                row += len(part)

    def _next(self, row: int) -> None:
        """Decode the batch with ``row``; start again if it precedes the kept ones or is far behind them."""
        at, rows = self._kept[-1] if self._kept else (0, ())
        end = at + len(rows)
        if self._batches is None or not end <= row < end + max(len(rows), 1):
            self._batches, self._kept = self._files.batches(first=row), []
        batches, self._batches = self._batches, None  # so that it starts again after an error
        for place, batch in batches:
            begin = self._begin[place.path] + place.row
            if row < begin + batch.num_rows:  # a group of rows may begin many batches before the row
                self._kept = [*self._kept[-1:], (begin, self._columns.features(batch, place))]
                self._batches = batches
                return


def parquet_parts(path: Path, missing: str, columns: ColumnNames) -> Iterator[Queries]:
    """Rows of a file, or of a folder of files, batch by batch, checked as `open_parquet` does."""
    files, runs, row = ArrowFiles(path, columns), QueryRuns(), 0
    reader = Columns(files.layout, missing)
    for place, batch in files.batches():
        qids = reader.qids(batch, place)
        runs.add(qids, place)
        features, labels = reader.features(batch, place), reader.labels(batch, place)
        docs = reader.doc_ids(batch, place)
        yield rows_as_queries(row, features, labels, qids, docs, files.layout.names, files.layout.stored)
        row += batch.num_rows


_ROW_BYTES = 24  # label, boundary and row of a document


def read_parquet(
    path: str | os.PathLike[str],
    *,
    missing: Literal["error", "zero", "nan"] = "error",
    qid: str | None = None,
    label: str | None = None,
    doc_id: str | None = None,
    features: str | Iterable[str] | None = None,
) -> Queries:
    """Read a table into memory: Parquet, Arrow, CSV, TSV or JSON lines, or a folder of Parquet or Arrow.

    ==============  ======================================================================================
    column          what it holds
    ==============  ======================================================================================
    ``qid``         query of the row: integers or text, in any order; rows are grouped stably
    ``label``       relevance, a number >= 0
    ``docno``       optional: identifier of the document, text or null
    ``features``    all features as one list of fixed size, ``fixed_size_list<float>[n_features]``
    other columns   instead of ``features``: one numeric column per feature, whose names are kept, or one of
                    categories (a dictionary column)
    ==============  ======================================================================================

    Parameters
    ----------
    path : path
        A Parquet or Arrow IPC file (Feather version 2), recognized by its first bytes, or a folder whose
        files ``*.parquet``, ``*.arrow``, ``*.feather`` are read in the order of their names. Or CSV or TSV
        with a line of names, or one JSON object per line, plain or compressed, by the ending of the name
        (``.csv .tsv .jsonl .ndjson``) or the first line.
    missing : {"error", "zero", "nan"}
        What NaN and null as features mean. "nan" is for models that take NaN.
    qid, label, doc_id, features : str, optional
        Names of the columns, as in `Queries.from_frame`, which also says what other names are recognized.

    Returns
    -------
    Queries
        Dense. Features are float32 if all of them fit into it exactly, else float64; float32 keeps its bits.

    Raises
    ------
    InputError
        If a column is missing or of the wrong type, or a value cannot be used; the message names file, row
        and column.
    MissingExtra
        Without pyarrow: ``pip install "directrix[arrow]"``.

    Examples
    --------
    >>> import directrix as dx, numpy as np, pathlib, tempfile
    >>> from directrix.data.arrow.read import read_parquet
    >>> from directrix.data.arrow.write import write_parquet
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.parquet")
    >>> q = dx.Queries.from_arrays(np.eye(2, dtype=np.float32), [1, 0], qid=["a", "a"])
    >>> write_parquet(q, path)
    >>> read_parquet(path).features
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return read_table(path, missing=missing, columns=ColumnNames.of(qid, label, doc_id, features))


def read_table(
    path: str | os.PathLike[str], *, missing: str = "error", columns: ColumnNames = RECOGNIZED
) -> Queries:
    """Read a table whose columns have these names; see `read_parquet`."""
    check_missing(missing)
    files = ArrowFiles(path_of(path), columns)
    # a missing category is not 0, and which columns hold categories is known at the end
    layout, reader = files.layout, Columns(files.layout, "nan" if missing == "zero" else missing)
    _check_room(files, files.n_bytes)
    features = np.empty((files.n_rows, layout.n_features), dtype=layout.dtype)
    labels, qids, docs, row = [], [], [], 0
    for place, batch in files.batches():
        features[row : row + batch.num_rows] = reader.features(batch, place)
        labels.append(reader.labels(batch, place))
        qids.append(reader.qids(batch, place))
        if layout.doc_id is not None:
            docs.append(reader.doc_ids(batch, place))
        row += batch.num_rows
    q = Queries.from_arrays(
        np.empty((row, 0), dtype=np.float32),  # values may be NaN, which it refuses
        np.concatenate(labels),
        qid=np.concatenate(qids),
        doc_ids=np.concatenate(docs) if docs else None,
    )
    in_order = np.array_equal(q.rows, np.arange(row))
    categories = reader.categories(features)
    features = features if in_order else features[q.rows]
    names = layout.names
    q = replace(q, features=features, feature_names=names, categories=categories, missing=missing)
    return filled(q)


def table_parts(path: Path, missing: str, columns: ColumnNames) -> Iterator[Queries]:
    """Rows of a table batch by batch; all at once if categories must be known before the first is written."""
    if ArrowFiles(path, columns).layout.categorical:
        yield read_table(path, missing=missing, columns=columns)
    else:
        yield from parquet_parts(path, missing, columns)


def open_parquet(
    path: str | os.PathLike[str],
    *,
    qid: str | None = None,
    label: str | None = None,
    features: str | Iterable[str] | None = None,
) -> Queries:
    """Open a Parquet or Arrow file, or a folder of them, whose features stay in the file.

    Labels and queries are read at once, features block by block when they are used, by a thread that reads
    ahead. So a linear ranker can be trained on more data than the memory holds.

    Parameters
    ----------
    path : path
        Parquet or Arrow, as for `read_parquet`; the rows of a query must be together.
    qid, label, features : str, optional
        As there.

    Returns
    -------
    Queries
        ``features`` is a `StoredFeatures`. Document identifiers are not read. ``take`` gives `Queries` whose
        features stay in the file too; ``features[10:20]`` reads rows.

    Raises
    ------
    InputError
        As `read_parquet`, and if the rows of a query are not together. Features are checked when they are
        first read.
    MissingExtra
        Without pyarrow.

    Notes
    -----
    Arrow IPC files without compression and with a list column of features, as `write_parquet` makes them,
    are read as they are, at the speed of the disk and in any order. All others are decoded; that can be
    slower than the disk, and every step back in the file decodes again. For more than a few passes,
    ``directrix convert data.parquet data.arrow`` saves time.

    Memory: 24 bytes per document and three blocks of 32 MiB (or of the longest query).

    Examples
    --------
    >>> import directrix as dx, numpy as np, pathlib, tempfile
    >>> from directrix.data.arrow.read import open_parquet
    >>> from directrix.data.arrow.write import write_parquet
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.arrow")
    >>> q = dx.Queries.from_arrays(np.eye(2, dtype=np.float32), [1, 0], qid=["a", "a"])
    >>> write_parquet(q, path)
    >>> open_parquet(path).features[1:2]
    array([[0., 1.]], dtype=float32)
    """
    return open_table(path, columns=ColumnNames.of(qid, label, None, features))


def open_table(path: str | os.PathLike[str], *, columns: ColumnNames = RECOGNIZED) -> Queries:
    """Open a table whose columns have these names; see `open_parquet`."""
    path = path_of(path)
    files = ArrowFiles(path, columns)
    layout, reader = files.layout, Columns(files.layout)
    if layout.categorical:
        raise InputError(
            f"{path}: the column {layout.categorical[0]!r} holds categories, which cannot stay in the file.",
            python="Type directrix.data.read_parquet(path).",
            shell="Type --no-stream, or name the other columns: --feature-columns NAME,OTHER.",
        )
    _check_room(files)
    labels, row, runs = np.empty(files.n_rows), 0, QueryRuns()
    for place, batch in files.batches([*filter(None, (layout.qid, layout.label))]):
        labels[row : row + batch.num_rows] = reader.labels(batch, place)
        runs.add(reader.qids(batch, place), place)
        row += batch.num_rows
    shape = (files.n_rows, layout.n_features)
    extents = files.extents()
    source: Any = DecodedRows(files)
    if extents is not None:
        source = RawRows(str(path), extents, shape, layout.dtype, files.stamps)
    return Queries(
        StoredFeatures(source),
        labels,
        np.append(runs.starts, files.n_rows).astype(np.int64),
        tuple(runs.ids),
        None,
        layout.names,
        np.arange(files.n_rows),
        layout.stored,
    )


def _check_room(files: ArrowFiles, n_bytes: int = 0) -> None:
    """Refuse files whose labels, queries and features, of ``n_bytes``, do not fit into memory."""
    check_room(
        n_bytes + _ROW_BYTES * files.n_rows,
        f"{files.path}: {files.n_rows:,} rows with {files.layout.n_features:,} features",
        python="Leave the features in the file: directrix.data.open_parquet(path), or take fewer of them: "
        "features=[...].",
        shell="Type --stream, or name fewer of them: --feature-columns NAME,OTHER.",
    )
