"""Runs and judgements out of frames and dicts, whose columns have the names that other tools give them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from directrix.data.columns import LABELS, find
from directrix.data.frames import array_of, cells_of, columns_of
from directrix.data.grouping import group_by_query, object_array
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array

Documents = tuple[tuple[str, ...], Int64Array, Array, Float64Array]
"""Query identifiers, boundaries, document identifiers and values, as `Run` and `Qrels` hold them."""


def documents_of(frame: Any, value: str, what: str, names: Mapping[str, Hashable | None]) -> Documents:
    """Return the rows of a frame, grouped by query.

    Parameters
    ----------
    frame : frame, or dict of columns, or dict of dicts
        pandas, polars or pyarrow; or ``{query: {document: value}}``.
    value : {"score", "label"}
        What the column of values holds.
    what : {"run", "qrels"}
        For messages.
    names : mapping
        Names of columns that the user gave: "qid", "doc_id", and ``value``.
    """
    queries, docs, numbers = _columns(frame, value, what, names)
    rows, qptr, query_ids = group_by_query(_words(queries, what, "query"))
    doc_ids = object_array(_words(docs, what, "document"))[rows]
    try:
        column = np.asarray(array_of(numbers), dtype=np.float64)[rows]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what}: the column of values holds no numbers ({error}); one is needed per row."
        ) from None
    if bad := np.flatnonzero(~np.isfinite(column)).tolist():
        raise InputError(
            f"{what}: the value of row {rows[bad[0]]} is {column[bad[0]]} ({len(bad)} in all); finite "
            f"numbers are needed. Drop those rows, e.g. frame.dropna(): a document that is not in the {what} "
            f"{'was not retrieved' if what == 'run' else 'is not judged'}."
        )
    for q, query in enumerate(query_ids):
        in_query = doc_ids[qptr[q] : qptr[q + 1]].tolist()
        if len(set(in_query)) < len(in_query):
            twice = next(name for name in in_query if in_query.count(name) > 1)
            raise InputError(
                f"{what}: query {query} has the document {twice!r} twice; each one may occur once. Drop "
                "repeated rows, e.g. frame.drop_duplicates([...])."
            )
    return tuple(map(str, query_ids)), qptr, doc_ids, column


def _columns(frame: Any, value: str, what: str, names: Mapping[str, Hashable | None]) -> Iterator[Any]:
    """Columns of queries, documents and values."""
    if isinstance(frame, Mapping) and all(isinstance(entry, Mapping) for entry in frame.values()):
        rows = [(query, doc, number) for query, docs in frame.items() for doc, number in docs.items()]
        yield from zip(*rows, strict=True) if rows else ((), (), ())
        return
    needed = (
        f"a frame with columns of queries, documents and {value}s is needed, or a dict "
        f"{{query: {{document: {value}}}}}, or the path of a file"
    )
    known, columns = columns_of(frame, what, needed)
    call = f"directrix.data.{'Run' if what == 'run' else 'Qrels'}.from_frame(frame"
    for key in ("qid", "doc_id", value):
        candidates = (*LABELS, "score") if key == "label" else ()  # ranx calls it score
        name = find(known, key, names[key], what, call, candidates=candidates)
        yield columns[known.index(name)]


def _words(column: Any, what: str, which: str) -> list[str]:
    """Identifiers as text: 351 and "351" are the same topic."""
    cells = cells_of(column)
    # the missing value of pandas's own types, NA, has no truth value
    bad = next((row for row, cell in enumerate(cells) if cell is None or str(cell != cell) != "False"), None)
    if bad is not None:
        raise InputError(f"{what}: the {which} of row {bad} is missing; drop such rows, e.g. frame.dropna().")
    return [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell) for cell in cells]
