"""Runs and judgements out of frames and dicts, whose columns have the names that other tools give them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from directrix.data.grouping import group_by_query, object_array
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array

_QUERY = ("qid", "query_id", "q_id", "topic", "query")
_DOC = ("docno", "doc_id", "docid", "document", "doc")
SCORES = ("score", "sim")
"""Names of a column of scores, in the order in which they are looked for."""
LABELS = ("label", "relevance", "rel", "grade", "score")
"""Names of a column of judgements; ranx calls it score."""

Documents = tuple[tuple[str, ...], Int64Array, Array, Float64Array]
"""Query identifiers, boundaries, document identifiers and values, as `Run` and `Qrels` hold them."""


def documents_of(
    frame: Any, values: tuple[str, ...], what: str, names: Mapping[str, Hashable | None]
) -> Documents:
    """Return the rows of a frame, grouped by query.

    Parameters
    ----------
    frame : frame, or dict of columns, or dict of dicts
        pandas, polars or pyarrow; or ``{query: {document: value}}``.
    values : names
        Of the column of values, the usual one first.
    what : {"run", "qrels"}
        For messages.
    names : mapping
        Names of columns that the user gave: "qid", "doc_id", and ``values[0]``.
    """
    queries, docs, numbers = _columns(frame, values, what, names)
    rows, qptr, query_ids = group_by_query(_words(queries, what, "query"))
    doc_ids = object_array(_words(docs, what, "document"))[rows]
    try:
        column = np.asarray(numbers, dtype=np.float64)[rows]
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


def _columns(
    frame: Any, values: tuple[str, ...], what: str, names: Mapping[str, Hashable | None]
) -> tuple[Any, Any, Any]:
    """Columns of queries, documents and values."""
    if isinstance(frame, Mapping) and all(isinstance(entry, Mapping) for entry in frame.values()):
        rows = [(query, doc, value) for query, docs in frame.items() for doc, value in docs.items()]
        return tuple(zip(*rows, strict=True)) if rows else ((), (), ())  # type: ignore[return-value]
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        frame = frame.collect()  # a lazy one of polars
    known = names_of(frame)
    if not known:
        raise InputError(
            f"{what} has the type {type(frame).__name__}; a frame with columns of queries, documents and "
            f"{values[0]}s is needed, or a dict {{query: {{document: {values[0]}}}}}, or the path of a file."
        )
    found = []
    for key, candidates in (("qid", _QUERY), ("doc_id", _DOC), (values[0], values)):
        asked = names[key]
        name = next((n for n in (candidates if asked is None else (asked,)) if n in known), None)
        if name is None:
            raise InputError(
                f"{what}: there is no column {_or(candidates if asked is None else (asked,))}; the columns "
                f"are {', '.join(map(str, known))}. Type directrix.data.{'Run' if what == 'run' else 'Qrels'}"
                f".from_frame(frame, {key}=NAME)."
            )
        if known.count(name) > 1:
            raise InputError(
                f"{what}: {known.count(name)} columns have the name {name!r}; one is needed. Rename or "
                "leave out the others."
            )
        found.append(frame[name])
    return found[0], found[1], found[2]


def names_of(frame: Any) -> list[Any]:
    """Names of the columns of a frame or a dict; of anything else none."""
    given = getattr(frame, "column_names", None)  # pyarrow; its .columns are the columns themselves
    given = getattr(frame, "columns", None) if given is None else given
    return list(frame if isinstance(frame, Mapping) else () if given is None else given)


def _words(column: Any, what: str, which: str) -> list[str]:
    """Identifiers as text: 351 and "351" are the same topic."""
    for get in ("to_list", "to_pylist", "tolist"):
        if hasattr(column, get):
            column = getattr(column, get)()
            break
    cells = list(column)
    # the missing value of pandas's own types, NA, has no truth value
    bad = next((row for row, cell in enumerate(cells) if cell is None or str(cell != cell) != "False"), None)
    if bad is not None:
        raise InputError(f"{what}: the {which} of row {bad} is missing; drop such rows, e.g. frame.dropna().")
    return [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell) for cell in cells]


def _or(names: tuple[Any, ...]) -> str:
    texts = list(map(str, names))
    return " or ".join([", ".join(texts[:-1])] * (len(texts) > 1) + texts[-1:])
