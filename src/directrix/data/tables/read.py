"""Reading of tables into memory or in batches, and opening.

A file goes in: Parquet, Arrow, CSV, TSV or JSON lines. `Queries` come out, with the features in memory or,
if the file is opened, in the file::

    queries = read_parquet("train.parquet", qid="session")
    stored = open_parquet("train.arrow")
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from directrix.data.checks import check_labels, is_empty
from directrix.data.columns import ColumnNames
from directrix.data.file import DataFile
from directrix.data.frames import by_column, places
from directrix.data.grouping import object_array, plain_identifier, run_starts
from directrix.data.memory import check_room
from directrix.data.missing import check_cells, check_missing, filled, stated, zeros_for_missing
from directrix.data.queries import Queries, rows_as_queries
from directrix.data.stored import RawRows, StoredFeatures
from directrix.data.tables.files import Layout, TableFiles, decoding
from directrix.data.tables.text import row_places
from directrix.errors import Advice, InputError, amount
from directrix.types import Array, Float64Array

# Rows that are copied from columns together, so that they stay in a cache.
_ROWS = 512
# The label, boundary and row of a document take three times 8 bytes.
_ROW_BYTES = 24


class Batch(NamedTuple):
    """Consecutive rows of a table, whose columns become checked arrays."""

    layout: Layout
    path: Path
    row: int
    """The first row, in the file."""
    start: int
    """The first row, over all files."""
    columns: Any

    @property
    def end(self) -> int:
        """The row after the last, over all files."""
        return self.start + int(self.columns.num_rows)

    def place(self, row: Any) -> str:
        """Return the place of one of these rows for messages."""
        return row_places(self.path)(self.row + int(row))

    def _fail(self, row: Any, column: Any, what: str, *advice: str) -> NoReturn:
        raise InputError(f"{self.place(row)}, column {column!r}: {what}", *advice)

    def _complete(self, name: str) -> Any:
        """Return a column without nulls."""
        column = self.columns.column(name)
        if column.null_count:
            row = np.argmax(column.is_null().to_numpy(zero_copy_only=False))
            self._fail(
                row,
                name,
                f"it is null, in {amount(column.null_count, 'rows')} of these; every row needs a value.",
                Advice("drop-nulls", name=name),
            )
        return column

    def labels(self) -> Float64Array:
        """Return labels, finite and >= 0; zeros if there is no such column."""
        name = self.layout.label
        if name is None:
            return np.zeros(self.columns.num_rows)
        column = self._complete(name).to_numpy(zero_copy_only=False)
        return check_labels(column, place=lambda row: f"{self.place(row)}, column {name!r}")

    def qids(self) -> Array:
        """Return queries, int64 or Python objects."""
        column = self._complete(self.layout.qid)
        # A dictionary column has codes, which differ from file to file.
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        if str(column.type).startswith(("int", "uint")) and str(column.type) != "uint64":
            return column.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
        # Integers beyond 64 bits, floats and text become Python objects, by their values.
        values = object_array(map(plain_identifier, column.to_pylist()))
        if (values != values).any():
            what = "it is nan; every row belongs to a query. Drop these rows."
            self._fail(np.argmax(values != values), self.layout.qid, what)
        return values

    def docs(self) -> Any:
        """Return identifiers of documents, with None for missing ones; None if there is no such column."""
        name = self.layout.doc_id
        if name is None:
            return None
        return object_array(map(plain_identifier, self.columns.column(name).to_pylist()))

    def features(self, missing: str = "error") -> Array:
        """Return (n_rows, n_features), finite, or NaN if it is allowed; 0 for a category."""
        n, names, dtype = self.columns.num_rows, self.layout.names or (), self.layout.dtype
        if self.layout.lists is not None:
            values = self._complete(self.layout.lists).flatten().to_numpy(zero_copy_only=False)
            rows: Array = values.reshape(n, self.layout.width).astype(dtype, copy=False)
            if self.layout.chosen is not None:
                rows = rows.take(self.layout.chosen, axis=1)
        else:
            columns = [
                np.array([math.nan if cell is None else 0.0 for cell in self.cells(name)])
                if name in self.layout.categorical
                else self.columns.column(name).to_numpy(zero_copy_only=False)
                for name in names
            ]
            rows = np.empty((n, len(names)), dtype=dtype)
            for first in range(0, n, _ROWS):
                for feature, column in enumerate(columns):
                    rows[first : first + _ROWS, feature] = column[first : first + _ROWS]
        read = f", in rows {self.row} to {self.row + n - 1}"
        check_cells(rows, missing, names, self.place, read)
        return zeros_for_missing(rows, self.layout.stored) if missing == "zero" else rows

    def cells(self, name: str) -> list[Any]:
        """Return a column of categories, with None for missing ones."""
        cells = self.columns.column(name).to_pylist()
        return [None if is_empty(cell) else cell for cell in cells]


def batches(files: TableFiles, *fields: str, first: int = 0) -> Iterator[Batch]:
    """Yield rows in order, with the columns of these fields of `Layout`; earlier rows may be skipped."""
    layout = files.layout
    names = {key: getattr(layout, key) for key in ("label", "qid", "doc_id", "lists")}
    columns = [names[key] for key in fields if names.get(key) is not None]
    if "lists" in fields and layout.lists is None:
        columns += layout.names or ()
    for path, row, start, columns_of_rows in files.batches(columns, first):
        yield Batch(layout, path, row, start, columns_of_rows)


class QueryRuns:
    """Collects the starts of queries in rows that arrive in parts; rejects a query that begins twice."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ids: list[Hashable] = []
        self._seen: set[Hashable] = set()

    def add(self, batch: Batch, qids: Array) -> None:
        """Add further rows, or raise `InputError` if a query has begun before."""
        # The first run of a batch may continue the last query of the batch before.
        changes = run_starts(qids)
        for row, qid in zip(changes.tolist(), qids[changes].tolist(), strict=True):
            if row == 0 and self.ids and self.ids[-1] == qid:
                continue
            if qid in self._seen:
                raise InputError(
                    f"{batch.place(row)}: query {qid!r} starts again after other "
                    "queries; the rows of a query must be together where the table is read part by part.",
                    Advice("sort-by-qid"),
                )
            self._seen.add(qid)
            self.ids.append(qid)
            self.starts.append(batch.start + row)


class DecodedRows:
    """Rows of files that must be decoded, for `StoredFeatures`; fast only from front to back."""

    def __init__(self, files: TableFiles) -> None:
        self._files, self.name, self.dtype = files, str(files.path), files.layout.dtype
        self.shape = (files.n_rows, files.layout.n_features)
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._batches: Iterator[Batch] | None = None
        # The last two batches are kept, because threads overtake each other.
        self._kept: list[tuple[int, Array]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_batches", "_kept")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def read(self, first: int, last: int, out: Array) -> None:
        """Fill ``out``, starting from the end of the last read or from the nearest earlier group of rows."""
        with self._lock:
            row = first
            while row < last:
                held = next(((at, rows) for at, rows in self._kept if 0 <= row - at < len(rows)), None)
                if held is None:
                    self._next(row)
                    continue
                at, rows = held
                block = rows[row - at : last - at]
                out[row - first : row - first + len(block)] = block
                row += len(block)

    def _next(self, row: int) -> None:
        """Decode the batch with ``row``; start again if it precedes the kept ones or lies far behind them."""
        # A row within the length of another batch is reached by continuing. For any other row, reading starts
        # again at its group of rows.
        at, rows = self._kept[-1] if self._kept else (0, ())
        end = at + len(rows)
        if self._batches is None or not end <= row < end + max(len(rows), 1):
            self._batches, self._kept = batches(self._files, "lists", first=row), []
        # Without batches it starts again after an error.
        ahead, self._batches = self._batches, None
        for batch in ahead:
            # A group of rows may begin many batches before the row.
            if row < batch.end:
                with decoding(batch.path):
                    self._kept = [*self._kept[-1:], (batch.start, batch.features("nan"))]
                self._batches = ahead
                return


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
        with a line of names, or one JSON object per line, plain or compressed, recognized by the ending of
        the name (``.csv .tsv .jsonl .ndjson``) or the first line.
    missing : {"error", "zero", "nan"}
        Meaning of NaN and null as features. "nan" is for models that support NaN.
    qid, label, doc_id, features : str, optional
        Names of the columns, as in `Queries.from_frame`, which lists the recognized names. ``features`` also
        chooses from the list of a file whose metadata name its features (`write_parquet`).

    Returns
    -------
    Queries
        Dense features, float32 if all of them fit exactly, else float64; float32 keeps its bits.

    Raises
    ------
    InputError
        If a column is missing or of the wrong type, or a value cannot be used; the message names file, row
        and column.
    MissingExtra
        If pyarrow is not installed: ``pip install "directrix[arrow]"``.

    Examples
    --------
    >>> import directrix as dx, numpy as np, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.parquet")
    >>> q = dx.Queries.from_arrays(np.eye(2, dtype=np.float32), [1, 0], qid=["a", "a"])
    >>> dx.data.write_parquet(q, path)
    >>> dx.data.read_parquet(path).features
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return read_table(DataFile(path, ColumnNames.of(qid, label, doc_id, features)), missing=missing)


def read_table(file: DataFile, *, missing: str = "error") -> Queries:
    """Read a table into memory; see `read_parquet`."""
    check_missing(missing)
    files = file.tables
    layout, n_rows = files.layout, files.n_rows
    _check_room(files, files.n_bytes)
    features = np.empty((n_rows, layout.n_features), dtype=layout.dtype)
    labels, qids, docs = [], [], []
    cells: dict[str, list[Any]] = {name: [] for name in layout.categorical}
    for batch in batches(files, "label", "qid", "doc_id", "lists"):
        with decoding(batch.path):
            # A missing category is not 0, and the columns of categories are known only at the end.
            features[batch.start : batch.end] = batch.features("nan" if missing == "zero" else missing)
            labels.append(batch.labels())
            qids.append(batch.qids())
            docs.append(batch.docs())
            for name in cells:
                cells[name] += batch.cells(name)
    names, of_categories = layout.names or (), {}
    for name in cells:
        features[:, names.index(name)], of_categories[name] = places(cells[name])
    # The rows are grouped without their features, whose values may be NaN, which `from_arrays` rejects.
    q = Queries.from_arrays(
        np.empty((n_rows, 0), dtype=np.float32),
        np.concatenate(labels),
        qid=np.concatenate(qids),
        doc_ids=None if layout.doc_id is None else np.concatenate(docs),
    )
    if not np.array_equal(q.rows, np.arange(n_rows)):
        features = features[q.rows]
    categories = by_column(of_categories, names) or layout.stored
    q = replace(q, features=features, feature_names=layout.names, categories=categories, missing=missing)
    return filled(q)


def table_blocks(file: DataFile, *, missing: str) -> Iterator[Queries]:
    """Yield rows of a table batch by batch, with the checks of `open_parquet`.

    Rows come all at once if categories must be known before the first row is written.
    """
    files, runs = file.tables, QueryRuns()
    layout = files.layout
    if layout.categorical:
        yield read_table(file, missing=missing)
        return
    for batch in batches(files, "label", "qid", "doc_id", "lists"):
        with decoding(batch.path):
            qids, docs, labels, features = batch.qids(), batch.docs(), batch.labels(), batch.features(missing)
        runs.add(batch, qids)
        yield rows_as_queries(batch.start, features, labels, qids, docs, layout.names, layout.stored)


def open_parquet(
    path: str | os.PathLike[str],
    *,
    missing: Literal["error", "zero", "nan"] = "error",
    qid: str | None = None,
    label: str | None = None,
    features: str | Iterable[str] | None = None,
) -> Queries:
    """Open a Parquet or Arrow file, or a folder of them, whose features stay in the file.

    Labels and queries are read immediately, and features block by block when they are used, by a thread that
    reads ahead. So a linear ranker can be trained on more data than memory holds.

    Parameters
    ----------
    path : path
        Parquet or Arrow, as for `read_parquet`; the rows of a query must be together.
    missing : {"error", "zero", "nan"}
        As there. "zero" cannot replace values in the file, and is an error if some are missing.
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
        As in `read_parquet`, or if the rows of a query are not together. Features are checked when they are
        first read.
    MissingExtra
        If pyarrow is not installed.

    Notes
    -----
    Arrow IPC files without compression and with a list column of features, as `write_parquet` makes them,
    are read without decoding, at the speed of the disk and in any order. All others are decoded, which can be
    slower than the disk, and every step back in the file decodes again. For more than a few passes,
    rewriting them with `write_parquet` saves time.

    It needs 24 bytes per document and three blocks of 32 MiB (or of the longest query).

    Examples
    --------
    >>> import directrix as dx, numpy as np, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.arrow")
    >>> q = dx.Queries.from_arrays(np.eye(2, dtype=np.float32), [1, 0], qid=["a", "a"])
    >>> dx.data.write_parquet(q, path)
    >>> dx.data.open_parquet(path).features[1:2]
    array([[0., 1.]], dtype=float32)
    """
    return open_table(DataFile(path, ColumnNames.of(qid, label, None, features)), missing=missing)


def open_table(file: DataFile, *, missing: str = "error") -> Queries:
    """Open a table whose features stay in its file; see `open_parquet`."""
    files = file.tables
    layout = files.layout
    if layout.categorical:
        raise InputError(
            f"{file}: the column {layout.categorical[0]!r} holds categories, which cannot stay in the file.",
            Advice("in-memory-or-fewer"),
        )
    _check_room(files)
    labels, runs = np.empty(files.n_rows), QueryRuns()
    for batch in batches(files, "label", "qid"):
        with decoding(batch.path):
            labels[batch.start : batch.end] = batch.labels()
            runs.add(batch, batch.qids())
    # Only rows that have the same bytes in the file as in memory are read without decoding.
    source: Any = DecodedRows(files)
    if (extents := files.extents()) is not None:
        source = RawRows(str(file), extents, source.shape, layout.dtype, files.stamps)
    q = Queries(
        StoredFeatures(source),
        labels,
        np.append(runs.starts, files.n_rows).astype(np.int64),
        tuple(runs.ids),
        None,
        layout.names,
        np.arange(files.n_rows),
        layout.stored,
    )
    return stated(q, missing)


def _check_room(files: TableFiles, n_bytes: int = 0) -> None:
    """Reject files whose labels, queries and features (``n_bytes``) do not fit into memory."""
    check_room(
        n_bytes + _ROW_BYTES * files.n_rows,
        f"{files.path}: {files.n_rows:,} rows with {files.layout.n_features:,} features",
        Advice("stream"),
    )
