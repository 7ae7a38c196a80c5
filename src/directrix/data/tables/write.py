"""Writing of Parquet and Arrow IPC files, block by block.

`Queries` go in, all at once or some at a time. The file appears when all of it is written::

    with writing(Path("train.arrow")) as add:
        for block in blocks:
            add(block)
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.files import replacing
from directrix.data.formats import ARROW
from directrix.data.grouping import identifier_text, object_array
from directrix.data.interactions.build import Interactions
from directrix.data.letor.write import is_integer
from directrix.data.queries import Queries
from directrix.data.sparse import dense
from directrix.data.tables.files import CATEGORIES, FEATURE_NAMES, SAMPLED, import_arrow
from directrix.errors import InputError
from directrix.types import Array, Float64Array

# Bytes of features that are written as one batch, or group of rows.
_GROUP_BYTES = 16 << 20
# An identifier and a label of a row take about this number of bytes.
_ROW_BYTES = 64


def write_parquet(q: Queries, path: str | os.PathLike[str]) -> None:
    """Write queries as Parquet, or as Arrow IPC if the name ends in ``.arrow`` or ``.feather``.

    The columns are ``qid``, ``label``, ``docid`` if there are identifiers, and ``features``, a list of fixed
    size; names of features are in the metadata. Values keep their bits; CSR features are written dense. Arrow
    files are not compressed, so that `open_parquet` can read their features without decoding.

    Parameters
    ----------
    q : Queries
        Queries to write; their identifiers must be all integers (64 bits) or all text.
    path : path
        The file appears, or is replaced, only when all of it is written.

    Raises
    ------
    InputError
        If the identifiers are of another type, or the file cannot be written.
    MissingExtra
        Without pyarrow.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.parquet")
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> dx.data.write_parquet(q, path)
    >>> dx.data.read_parquet(path).features.shape
    (200, 4)
    """
    with writing(Path(path)) as add:
        add(q)


@contextlib.contextmanager
def writing(path: Path, *, group_bytes: int = _GROUP_BYTES) -> Iterator[Callable[[Queries], None]]:
    """Open a Parquet or Arrow file that takes `Queries` block by block; the first decides its columns.

    It holds about ``group_bytes`` of features in memory, which become one batch, or group of rows.
    """
    if not ARROW.is_named(path):
        raise InputError(
            f"{path}: its ending says neither Parquet nor Arrow; name it *.parquet, *.arrow or *.feather, "
            f"e.g. {path.with_suffix('.parquet').name}. For text type write_letor(q, path)."
        )
    pa = import_arrow()
    with replacing(path) as file, contextlib.ExitStack() as stack:
        sink = _Sink(pa, file, stack, path, group_bytes)
        yield sink.add
        sink.finish()


class _Sink:
    def __init__(self, pa: Any, file: Any, stack: contextlib.ExitStack, path: Path, group_bytes: int) -> None:
        self._pa, self._file, self._stack, self._path = pa, file, stack, path
        self._most = group_bytes
        self._is_parquet = path.suffix == ".parquet"
        self._writer: Any = None
        self._schema: Any = None
        self._kept: list[tuple[Array, Float64Array, Array, Array | None]] = []
        self._bytes = 0

    def add(self, q: Queries) -> None:
        ids = object_array(q.query_ids)
        if all(type(i) is int and -(2**63) <= i < 2**63 for i in q.query_ids):
            ids = ids.astype(np.int64)
        qids = np.repeat(ids, np.diff(q.qptr))
        n_rows = max(1, self._most // max(q.n_features * q.features.dtype.itemsize, _ROW_BYTES))
        for first in range(0, q.n_docs, n_rows):
            cut = slice(first, first + n_rows)
            rows = dense(q.features[cut])
            self._kept.append((rows, q.labels[cut], qids[cut], None if q.doc_ids is None else q.doc_ids[cut]))
            self._bytes += rows.nbytes + _ROW_BYTES * len(rows)
            if self._schema is None:
                self._open(rows, qids, q)
            if self._bytes >= self._most:
                self._flush()

    def finish(self) -> None:
        if self._schema is None:
            raise InputError(f"{self._path} was not written: there are no rows. Give at least one document.")
        self._flush()

    def _flush(self) -> None:
        if not self._kept:
            return
        pa, (features, labels, qids, docs) = self._pa, zip(*self._kept, strict=True)
        self._kept, self._bytes = [], 0
        rows = np.concatenate(features)
        columns = [self._ids("qid", np.concatenate(qids)), pa.array(np.concatenate(labels))]
        if "docid" in self._schema.names:
            names = np.concatenate(docs)
            if self._schema.field("docid").type == pa.string():
                names = object_array(None if d is None else identifier_text(d) for d in names)
            columns.append(self._ids("docid", names))
        columns.append(pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1]))
        batch = pa.record_batch(columns, schema=self._schema)
        options = {"row_group_size": batch.num_rows} if self._is_parquet else {}
        self._writer.write_batch(batch, **options)

    def _ids(self, column: str, ids: Array) -> Any:
        wanted, bad = self._schema.field(column).type, []
        # They are checked here, because pyarrow would cut 1.5 to 1.
        if ids.dtype != np.int64:
            is_whole = wanted == self._pa.int64()
            names = [name for name in ids.tolist() if name is not None]
            bad = [name for name in names if not (is_integer(name) if is_whole else isinstance(name, str))]
        if bad:
            kind, name = ("query", "qid") if column == "qid" else ("document", "doc_ids")
            raise InputError(
                f"{kind} {bad[0]!r} is not of type {wanted}; files need identifiers that are all integers of "
                f"64 bits or all text. Type {name}=[str(x) for x in {name}]."
            )
        return self._pa.array(ids, wanted)

    def _open(self, rows: Array, qids: Array, q: Queries) -> None:
        pa = self._pa
        if not rows.shape[1]:
            raise InputError(
                f"{self._path} was not written: there are no features. Give at least one column."
            )
        names = [] if q.doc_ids is None else [name for name in q.doc_ids.tolist() if name is not None]
        # Identifiers of documents are integers only if all are; None becomes null.
        are_whole = bool(names) and all(map(is_integer, names))
        value = pa.field("item", pa.from_numpy_dtype(rows.dtype), nullable=False)
        fields = [
            ("qid", pa.string() if isinstance(qids.tolist()[0], str) else pa.int64()),
            ("label", pa.float64()),
        ]
        if q.doc_ids is not None:
            fields.append(("docid", pa.int64() if are_whole else pa.string()))
        fields.append(("features", pa.list_(value, rows.shape[1])))
        is_sampled = isinstance(q, Interactions) and bool((q.sampling < 1.0).any())
        lists = {FEATURE_NAMES: q.feature_names, CATEGORIES: q.categories, SAMPLED: is_sampled or None}
        metadata = {key: json.dumps(values) for key, values in lists.items() if values is not None}
        self._schema = pa.schema(fields, metadata=metadata)
        if self._is_parquet:
            # Queries and labels repeat from row to row, and features hardly do.
            writer = pa.parquet.ParquetWriter(
                self._file, self._schema, use_dictionary=["qid", "label"], compression="snappy"
            )
        else:
            writer = pa.ipc.new_file(self._file, self._schema)
        self._writer = self._stack.enter_context(writer)
