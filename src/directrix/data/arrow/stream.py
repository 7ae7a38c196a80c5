"""Parquet and Arrow files from front to back: their queries, decoded rows, and parts."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.arrow.columns import Columns, Place
from directrix.data.arrow.files import ArrowFiles
from directrix.data.columns import ColumnNames
from directrix.data.grouping import run_starts
from directrix.data.parts import rows_as_queries
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.types import Array


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
