"""Write Parquet and Arrow IPC files part by part."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.arrow_files import SUFFIXES, import_arrow
from directrix.data.arrow_layout import FEATURE_NAMES
from directrix.data.letor_write import is_integer, replacing
from directrix.errors import InputError
from directrix.types import Array, Float64Array

__all__ = ["writing"]

_GROUP_BYTES = 16 << 20  # of features that are written as one batch, or group of rows

AddRows = Callable[[Array, Float64Array, Array, "Array | None"], None]


@contextlib.contextmanager
def writing(path: Path, *, has_docs: bool, names: tuple[str, ...] | None = None) -> Iterator[AddRows]:
    """Open a file that takes rows: ``add(features, labels, qids, doc_ids)``, and appears when all is well.

    Parameters
    ----------
    path : Path
        ``.parquet``, or ``.arrow`` and ``.feather`` for Arrow IPC without compression.
    has_docs : bool
        Whether there is a column of identifiers.
    names : tuple of str, or None
        Names of the features.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(
            f"{path}: its ending says neither Parquet nor Arrow; name it *.parquet, *.arrow or *.feather, "
            f"e.g. {path.with_suffix('.parquet').name}. For text type write_letor(q, path)."
        )
    pa = import_arrow()
    with replacing(path) as file, contextlib.ExitStack() as stack:
        sink = _Sink(pa, file, stack, path, has_docs=has_docs, names=names)
        yield sink.add
        sink.finish()


class _Sink:
    def __init__(
        self, pa: Any, file: Any, stack: contextlib.ExitStack, path: Path, *, has_docs: bool, names: Any
    ) -> None:  # fmt: skip
        self._pa, self._file, self._stack, self._path = pa, file, stack, path
        self._has_docs, self._names = has_docs, names
        self._writer: Any = None
        self._schema: Any = None
        self._kept: list[tuple[Array, Float64Array, Array, Array | None]] = []
        self._bytes = 0

    def add(self, features: Array, labels: Float64Array, qids: Array, doc_ids: Array | None) -> None:
        if not len(labels):
            return
        rows = max(1, _GROUP_BYTES // max(features[0].nbytes, 64))
        for first in range(0, len(labels), rows):
            cut = slice(first, first + rows)
            self._kept.append(
                (features[cut], labels[cut], qids[cut], None if doc_ids is None else doc_ids[cut])
            )
            self._bytes += self._kept[-1][0].nbytes + 64 * len(self._kept[-1][1])
            if self._bytes >= _GROUP_BYTES:
                self.flush()

    def finish(self) -> None:
        self.flush()
        if self._schema is None:
            raise InputError(f"{self._path} was not written: there are no rows. Give at least one document.")

    def flush(self) -> None:
        if not self._kept:
            return
        features, labels, qids, docs = zip(*self._kept, strict=True)
        self._kept, self._bytes = [], 0
        batch = self._batch(
            np.concatenate(features),
            np.concatenate(labels),
            np.concatenate(qids),
            np.concatenate(docs) if self._has_docs else None,
        )
        if self._path.suffix == ".parquet":
            self._writer.write_batch(batch, row_group_size=batch.num_rows)
        else:
            self._writer.write_batch(batch)

    def _batch(self, features: Array, labels: Float64Array, qids: Array, doc_ids: Array | None) -> Any:
        pa = self._pa
        if self._schema is None:
            self._open(features, qids)
        flat = pa.array(np.ascontiguousarray(features).reshape(-1))
        columns = [
            self._qids(qids),
            pa.array(labels),
            pa.FixedSizeListArray.from_arrays(flat, features.shape[1]),
        ]
        if doc_ids is not None:
            columns.insert(2, pa.array([None if d is None else _text(d) for d in doc_ids], pa.string()))
        return pa.record_batch(columns, schema=self._schema)

    def _qids(self, qids: Array) -> Any:
        wanted = self._schema.field("qid").type
        fits = is_integer if wanted == self._pa.int64() else _is_text
        # looked at beforehand, since pyarrow cuts 1.5 to 1
        bad = [] if qids.dtype == np.int64 else [q for q in qids.tolist() if not fits(q)]
        if bad:
            raise InputError(
                f"query {bad[0]!r} is no {wanted}; files need identifiers that are all integers of 64 bits "
                f"or all text. Type qid=[str(q) for q in qid]."
            )
        return self._pa.array(qids, wanted)

    def _open(self, features: Array, qids: Array) -> None:
        pa = self._pa
        if not features.shape[1]:
            raise InputError(
                f"{self._path} was not written: there are no features. Give at least one column."
            )
        qid = pa.string() if isinstance(qids.tolist()[0], str) else pa.int64()
        kind = pa.list_(
            pa.field("item", pa.from_numpy_dtype(features.dtype), nullable=False), features.shape[1]
        )
        fields = [("qid", qid), ("label", pa.float64()), ("docid", pa.string()), ("features", kind)]
        metadata = None if self._names is None else {FEATURE_NAMES: json.dumps(list(self._names))}
        fields = [pa.field(name, each) for name, each in fields if name != "docid" or self._has_docs]
        self._schema = pa.schema(fields, metadata=metadata)
        if self._path.suffix == ".parquet":
            writer = pa.parquet.ParquetWriter(
                self._file, self._schema, use_dictionary=["qid", "label"], compression="snappy"
            )
        else:
            writer = pa.ipc.new_file(self._file, self._schema)
        self._writer = self._stack.enter_context(writer)


def _is_text(qid: Any) -> bool:
    return isinstance(qid, str) and _text(qid) == qid


def _text(doc_id: object) -> str:
    """What UTF-8 can hold of it; bytes that are none are escaped as by the reader of TREC files."""
    return str(doc_id).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
