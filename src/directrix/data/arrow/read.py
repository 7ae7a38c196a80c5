"""Read and open Parquet and Arrow files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directrix.data.arrow.columns import Columns
from directrix.data.arrow.files import ArrowFiles
from directrix.data.arrow.stream import DecodedRows, QueryRuns, parquet_parts
from directrix.data.columns import RECOGNIZED, ColumnNames
from directrix.data.files import path_of
from directrix.data.memory import check_room
from directrix.data.options import check_missing
from directrix.data.queries import Queries
from directrix.data.stored import RawRows, StoredFeatures
from directrix.data.validate import filled
from directrix.errors import InputError

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
