"""Read, open and write Parquet and Arrow files."""

from __future__ import annotations

import itertools
import os
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directrix.data.arrow_columns import Columns
from directrix.data.arrow_files import ArrowFiles
from directrix.data.arrow_stream import DecodedRows, QueryRuns
from directrix.data.arrow_write import writing
from directrix.data.options import check_missing
from directrix.data.queries import Queries
from directrix.data.stored import RawRows, StoredFeatures, block_bounds
from directrix.types import Array, Int64Array

__all__ = ["open_parquet", "read_parquet", "write_parquet"]


def read_parquet(
    path: str | os.PathLike[str], *, missing: Literal["error", "zero", "nan"] = "error"
) -> Queries:
    """Read a Parquet or Arrow file, or a folder of them, into memory.

    ==============  ======================================================================================
    column          what it holds
    ==============  ======================================================================================
    ``qid``         query of the row: integers or text, in any order; rows are grouped stably
    ``label``       relevance, a number >= 0
    ``docid``       optional: identifier of the document, text or null
    ``features``    all features as one list of fixed size, ``fixed_size_list<float>[n_features]``
    other columns   instead of ``features``: one numeric column a feature, whose names are kept
    ==============  ======================================================================================

    Parameters
    ----------
    path : path
        A Parquet file, an Arrow IPC file (Feather version 2), told by their first bytes, or a folder whose
        files ``*.parquet``, ``*.arrow``, ``*.feather`` are read in the order of their names.
    missing : {"error", "zero", "nan"}
        What NaN and null as features mean. "nan" is for models that take NaN.

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
    >>> from directrix.data.arrow import read_parquet, write_parquet
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.parquet")
    >>> q = dx.Queries.from_arrays(np.eye(2, dtype=np.float32), [1, 0], qid=["a", "a"])
    >>> write_parquet(q, path)
    >>> read_parquet(path).features
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    path = Path(path)
    check_missing(missing)
    files = ArrowFiles(path)
    layout, columns = files.layout, Columns(files.layout, missing)
    features = np.empty((files.n_rows, len(layout.names)), dtype=layout.dtype)
    labels, qids, docs, row = [], [], [], 0
    for place, batch in files.batches():
        features[row : row + batch.num_rows] = columns.features(batch, place)
        labels.append(columns.labels(batch, place))
        qids.append(columns.qids(batch, place))
        if layout.has_docs:
            docs.append(columns.doc_ids(batch))
        row += batch.num_rows
    q = Queries.from_arrays(
        np.empty((row, 0), dtype=np.float32),  # values may be NaN, which it refuses
        np.concatenate(labels),
        qid=np.concatenate(qids),
        doc_ids=np.concatenate(docs) if docs else None,
    )
    in_order = np.array_equal(q.rows, np.arange(row))
    names = layout.names if layout.has_names else None
    return replace(q, features=features if in_order else features[q.rows], feature_names=names)


def open_parquet(path: str | os.PathLike[str]) -> Queries:
    """Open a Parquet or Arrow file, or a folder of them, whose features stay in the file.

    Labels and queries are read, features are read block by block when they are used, by a thread that reads
    ahead; so a linear ranker can be trained on more data than the memory holds.

    Parameters
    ----------
    path : path
        As for `read_parquet`; the rows of a query must stand together.

    Returns
    -------
    Queries
        ``features`` is a `StoredFeatures`. Document identifiers are not read. ``take`` gives `Queries` that
        stay in the file too; ``features[10:20]`` reads rows.

    Raises
    ------
    InputError
        As `read_parquet`, for a query that stands in two places too. Features are checked as training begins.
    MissingExtra
        Without pyarrow.

    Notes
    -----
    Arrow IPC files without compression and with a list column of features, as `write_parquet` makes them,
    are read as they are, at the speed of the disk and in any order. All others are decoded; that can be
    slower than the disk, and every step back in the file decodes again: ``directrix convert data.parquet
    data.arrow`` once is worth it for more than a few passes.

    Memory: 24 bytes a document and three blocks of 32 MiB (or of the longest query).

    Examples
    --------
    >>> import directrix as dx, numpy as np, pathlib, tempfile
    >>> from directrix.data.arrow import open_parquet, write_parquet
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.arrow")
    >>> q = dx.Queries.from_arrays(np.eye(2, dtype=np.float32), [1, 0], qid=["a", "a"])
    >>> write_parquet(q, path)
    >>> open_parquet(path).features[1:2]
    array([[0., 1.]], dtype=float32)
    """
    path = Path(path)
    files = ArrowFiles(path)
    layout, columns = files.layout, Columns(files.layout)
    labels, row, runs = np.empty(files.n_rows), 0, QueryRuns()
    for place, batch in files.batches(["qid", "label"]):
        labels[row : row + batch.num_rows] = columns.labels(batch, place)
        runs.add(columns.qids(batch, place), place)
        row += batch.num_rows
    shape = (files.n_rows, len(layout.names))
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
        layout.names if layout.has_names else None,
        np.arange(files.n_rows),
    )


def write_parquet(q: Queries, path: str | os.PathLike[str]) -> None:
    """Write queries as Parquet, or as Arrow IPC if the name ends in ``.arrow`` or ``.feather``.

    Columns are ``qid``, ``label``, ``docid`` if there are identifiers, and ``features``, a list of fixed
    size; names of features go into the metadata. Values keep their bits; CSR features are written dense.
    Arrow files are not compressed, so that `open_parquet` can read their features as they are.

    Parameters
    ----------
    q : Queries
        What to write; query identifiers must be all integers (64 bits) or all text.
    path : path
        The file appears, or is replaced, only when all of it is written.

    Raises
    ------
    InputError
        If the identifiers are of another type, or the file cannot be written.
    MissingExtra
        Without pyarrow.
    """
    path = Path(path)
    bounds = block_bounds(q.qptr, q.n_features * q.features.dtype.itemsize)
    with writing(path, has_docs=q.doc_ids is not None, names=q.feature_names) as add:
        for lo, hi in itertools.pairwise(bounds.tolist()):
            first, last = np.searchsorted(q.qptr, [lo, hi])
            rows = q.features[lo:hi]
            add(
                rows.toarray() if hasattr(rows, "toarray") else rows,
                q.labels[lo:hi],
                _qids(q.query_ids[first:last], np.diff(q.qptr[first : last + 1])),
                None if q.doc_ids is None else q.doc_ids[lo:hi],
            )


def _qids(ids: tuple[Hashable, ...], sizes: Int64Array) -> Array:
    values = np.array(ids) if all(type(i) is int for i in ids) else np.empty(len(ids), dtype=object)
    if values.dtype == object:
        values[:] = ids
    return np.repeat(values, sizes)
