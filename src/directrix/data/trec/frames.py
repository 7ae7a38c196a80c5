"""Runs and judgments out of frames and dicts, whose columns have the names that other tools give them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from directrix.data.columns import LABELS, find
from directrix.data.form import floats_of
from directrix.data.frames import array_of, cells_of, columns_of
from directrix.data.grouping import check_identifiers, group_by_query, object_array
from directrix.data.trec.subtopics import by_subtopic
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array


class Documents(NamedTuple):
    """What `Run` and `Qrels` hold."""

    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    values: Float64Array
    subtopics: Float64Array | None


def documents_of(
    frame: Any, value: str, what: str, names: Mapping[str, Hashable | None], call: str
) -> Documents:
    """Return the rows of a frame, grouped by query.

    Parameters
    ----------
    frame : frame, or dict of columns, or dict of dicts
        pandas, polars or pyarrow; or ``{query: {document: value}}``.
    value : {"score", "label"}
        What the column of values holds.
    what : str
        "run", "qrels" or the name of a file, for messages.
    names : mapping
        Names of columns that the user gave: "qid", "doc_id", and ``value``; "subtopic" of labels.
    call : str
        The beginning of a call that names them, for messages.
    """
    queries, docs, numbers, subtopics = _columns(frame, value, what, names, call)
    of_queries, of_docs, cells = (
        _words(queries, what, "query"),
        _words(docs, what, "document"),
        array_of(numbers),
    )
    lengths = [len(of_queries), len(of_docs), cells.size]
    if len(set(lengths)) > 1:
        raise InputError(
            f"{what}: the columns of queries, documents and {value}s have {lengths[0]}, {lengths[1]} and "
            f"{lengths[2]} rows; each needs one per document."
        )
    rows, qptr, query_ids = group_by_query(of_queries)
    doc_ids = object_array(of_docs)[rows]
    try:
        column = floats_of(cells)[rows]
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise InputError(
            f"{what}: the column of values holds no numbers ({error}); one is needed per row."
        ) from None
    if bad := np.flatnonzero(~np.isfinite(column)).tolist():
        lacks = "was not retrieved" if value == "score" else "is not judged"
        raise InputError(
            f"{what}: the value of row {rows[bad[0]]} is {column[bad[0]]} ({len(bad)} in all); finite "
            f"numbers are needed: a document without a row {lacks}.",
            python="Drop those rows, e.g. frame.dropna().",
            shell="Remove those rows.",
        )
    joined = None
    if subtopics is not None:
        named = object_array(_words(subtopics, what, "subtopic"))[rows]
        joined = by_subtopic(qptr, doc_ids, column, named)
    keys = doc_ids if joined is None else object_array(zip(doc_ids, named, strict=True))
    for q, query in enumerate(query_ids):
        in_query = keys[qptr[q] : qptr[q + 1]].tolist()
        if len(set(in_query)) < len(in_query):
            twice = next(key for key in in_query if in_query.count(key) > 1)
            shown = repr(twice) if joined is None else f"{twice[0]!r} of subtopic {twice[1]!r}"
            raise InputError(
                f"{what}: query {query} has the document {shown} twice; each one may occur once.",
                python="Drop repeated rows, e.g. frame.drop_duplicates([...]).",
                shell="Remove repeated rows.",
            )
    if joined is not None:
        return Documents(tuple(map(str, query_ids)), *joined)
    return Documents(tuple(map(str, query_ids)), qptr, doc_ids, column, None)


def _columns(
    frame: Any, value: str, what: str, names: Mapping[str, Hashable | None], call: str
) -> Iterator[Any]:
    """Columns of queries, documents, values and subtopics, None if there are none."""
    if isinstance(frame, Mapping) and all(isinstance(entry, Mapping) for entry in frame.values()):
        rows = [(query, doc, number) for query, docs in frame.items() for doc, number in docs.items()]
        yield from zip(*rows, strict=True) if rows else ((), (), ())
        yield None
        return
    needed = (
        f"a frame with columns of queries, documents and {value}s is needed, or a dict "
        f"{{query: {{document: {value}}}}}, or the path of a file"
    )
    known, columns = columns_of(frame, what, needed)
    for key in ("qid", "doc_id", value, "subtopic"):
        if key == "subtopic" and value == "score":
            yield None
            return
        candidates = (*LABELS, "score") if key == "label" else ()  # ranx calls it score
        is_optional = key == "subtopic"
        name = find(known, key, names.get(key), what, call, candidates=candidates, optional=is_optional)
        yield None if name is None else columns[known.index(name)]


def _words(column: Any, what: str, which: str) -> list[str]:
    """Identifiers as text: 351 and "351" are the same topic."""
    cells = cells_of(column)
    # the missing value of pandas's own types, NA, has no truth value
    bad = next((row for row, cell in enumerate(cells) if cell is None or str(cell != cell) != "False"), None)
    if bad is not None:
        raise InputError(
            f"{what}: the {which} of row {bad} is missing; each row needs one.",
            python="Drop such rows, e.g. frame.dropna().",
            shell="Remove such rows.",
        )
    words = [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell) for cell in cells]
    check_identifiers(words, which, lambda row: f"{what}, row {row}")
    return words
