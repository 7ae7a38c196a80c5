"""Runs and judgments in files and frames as documents with values, grouped by query."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import floats_of
from directrix.data.columns import LABELS, ColumnNames, find
from directrix.data.files import Problem, number, open_data, raise_problems, readable, stream_blocks
from directrix.data.frames import array_of, cells_of, columns_of
from directrix.data.grouping import check_identifiers, group_by_query, object_array
from directrix.data.memory import check_room
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array


class BySubtopic(NamedTuple):
    """Documents with their judgments."""

    qptr: Int64Array
    doc_ids: Array
    labels: Float64Array
    """The highest judgment of each document."""
    subtopics: Float64Array
    """Judgments, NaN where there is none (n_docs, n_subtopics)."""


def by_subtopic(
    qptr: Int64Array, doc_ids: Array, values: Float64Array, subtopics: Sequence[str] | Array
) -> BySubtopic | None:
    """Join the lines of each document; None if no query has two subtopics.

    Lines come grouped by query. Of two lines with the same document and subtopic the last one counts; the
    caller refuses them. Raises `InputError` if documents times subtopics do not fit into memory.
    """
    rows, columns = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    names: list[str] = []
    bounds = [0]
    for first, last in pairwise(qptr.tolist()):
        row: dict[str, int] = {}
        column: dict[str, int] = {}
        for i in range(first, last):
            rows[i] = len(names) + row.setdefault(doc_ids[i], len(row))
            columns[i] = column.setdefault(subtopics[i], len(column))
        names += row
        bounds.append(len(names))
    n_subtopics = int(columns.max(initial=0)) + 1
    if n_subtopics == 1:
        return None
    check_room(
        8 * len(names) * n_subtopics,
        f"judgments of {len(names):,} documents for up to {n_subtopics:,} subtopics",
        python="The second column of qrels is the subtopic: write 0 in it where a query has none.",
    )
    judged = np.full((len(names), n_subtopics), np.nan)
    judged[rows, columns] = values
    labels = np.fmax.reduce(judged, axis=1)
    return BySubtopic(np.array(bounds, dtype=np.int64), object_array(names), labels, judged)


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


class Column(NamedTuple):
    """What the lines of a file hold: the name and the place of the value, and a line as it should look."""

    name: str
    place: int
    doc_place: int
    shape: str
    subtopic_place: int | None = None
    """Of the subtopic, in lines of four columns."""


class _Rows(NamedTuple):
    """Columns of a file, which grow block by block; the strings of queries and subtopics are shared."""

    first: list[str]
    """Words of the first line."""
    queries: list[str]
    docs: list[str]
    values: list[Float64Array]
    subtopics: list[str]
    where: list[Int64Array]
    """Numbers of the lines, from 1."""


class _Words(NamedTuple):
    """Words of a block of lines, which ASCII blanks separate: Unicode's belong to identifiers."""

    words: list[bytes]
    where: Int64Array
    """Numbers of the lines that are not blank, from 1."""
    counts: Int64Array
    """Number of words of each."""


def read_documents(
    path: Path, width: Callable[[list[str]], int], column: Column
) -> tuple[list[str], tuple[str, ...], Int64Array, Array, Float64Array, Float64Array | None]:
    """Read all lines that are not blank; ``width`` gives the number of columns from the words of the first.

    Return these words, then the documents grouped by query: query identifiers, boundaries, document
    identifiers and values, and the values by subtopic, if there are any.

    Raises `InputError` if the file cannot be read, or with all lines that have another number of columns, a
    value that is no finite number, or a document that its query, or the subtopic, already has.
    """
    rows = _read_rows(path, width, column)
    order, qptr, query_ids = group_by_query(rows.queries)
    doc_ids, queries = object_array(rows.docs)[order], tuple(map(str, query_ids))
    values = np.concatenate(rows.values)[order]
    is_repeated = any(len(set(doc_ids[a:b])) < b - a for a, b in pairwise(qptr.tolist()))
    joined = None
    if len(set(rows.subtopics)) > 1:
        joined = by_subtopic(qptr, doc_ids, values, object_array(rows.subtopics)[order])
    if is_repeated:
        _refuse_repeated(path, rows, has_subtopics=joined is not None)
    if joined is not None:
        return rows.first, queries, *joined
    return rows.first, queries, qptr, doc_ids, values, None


def _read_rows(path: Path, width: Callable[[list[str]], int], column: Column) -> _Rows:
    rows, problems, wanted, shared = _Rows([], [], [], [], [], []), list[Problem](), 0, dict[str, str]()
    for block in _blocks(path):
        if not wanted:
            rows.first.extend(_decoded(block.words[: block.counts[0]]))
            wanted = width(rows.first)
        words, where, is_good = block.words, block.where, block.counts == wanted
        if not is_good.all():
            problems += _misshapen(block, is_good, wanted, column.shape)
            words, where = list(compress(words, np.repeat(is_good, block.counts))), where[is_good]
        values, bad = _finite(words[column.place % wanted :: wanted], where, column)
        problems += bad
        rows.values.append(values)
        rows.where.append(where)
        rows.docs.extend(_decoded(words[column.doc_place % wanted :: wanted]))
        for names, place in ((rows.queries, 0), (rows.subtopics, column.subtopic_place)):
            if place is not None and (place == 0 or wanted == 4):
                texts = _decoded(words[place::wanted])
                names.extend(map(shared.setdefault, texts, texts))
    raise_problems(path, problems)
    if not wanted:
        raise InputError(f"{path} has no data; at least one line is needed. {column.shape}")
    return rows


def _blocks(path: Path) -> Iterator[_Words]:
    """Blocks that have words."""
    n_lines = 0
    with readable(path), open_data(path) as file:
        for text in stream_blocks(file):
            block, n = _split(text, n_lines)
            n_lines += n
            if block.words:
                yield block


def _split(text: bytes, n_before: int) -> tuple[_Words, int]:
    """Return the words of a block, and its number of lines."""
    chars = np.frombuffer(text, dtype=np.uint8)
    is_blank = (chars - np.uint8(9) < 5) | (chars == 32)  # what `bytes.split` splits at
    begins = np.flatnonzero(np.append(True, is_blank[:-1]) & ~is_blank)
    ends = np.flatnonzero(chars == 10)
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    counts = np.diff(np.searchsorted(begins, ends), prepend=0)
    lines = np.flatnonzero(counts)
    return _Words(text.split(), lines + n_before + 1, counts[lines]), len(ends)


def _decoded(words: list[bytes]) -> list[str]:
    """Return words as text; bytes that are no UTF-8 are escaped."""
    return b"\n".join(words).decode("utf-8", "backslashreplace").split("\n") if words else []


def _misshapen(block: _Words, is_good: Array, wanted: int, shape: str) -> Iterator[Problem]:
    """Lines with another number of columns."""
    ends = np.cumsum(block.counts)
    for i in np.flatnonzero(~is_good).tolist():
        words = block.words[ends[i] - block.counts[i] : ends[i]]
        shown = repr(" ".join(_decoded(words[:60]))[:60])
        what = f"{len(words)} columns where {wanted} are needed, {shown}"
        yield Problem(int(block.where[i]), what, shape)


def _finite(words: list[bytes], where: Int64Array, column: Column) -> tuple[Float64Array, list[Problem]]:
    """Return the values, and the lines whose value is no finite number."""
    if b"_" not in b"".join(words):
        with suppress(ValueError):
            numbers = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
            if np.isfinite(numbers).all():
                return numbers, []
    texts = _decoded(words)
    values = [number(text) for text in texts]
    return np.array(values, dtype=np.float64), [
        Problem(line, f"the {column.name} is {text[:40]!r}; a finite number is needed", column.shape)
        for text, value, line in zip(texts, values, where.tolist(), strict=True)
        if not math.isfinite(value)
    ]


def _refuse_repeated(path: Path, rows: _Rows, *, has_subtopics: bool) -> None:
    """Raise `InputError` with all lines whose document their query, or its subtopic, already has."""
    seen: dict[tuple[str, str, str], int] = {}
    problems = []
    subtopics = rows.subtopics if has_subtopics else [""] * len(rows.docs)
    where = np.concatenate(rows.where).tolist()
    for query, doc, subtopic, line in zip(rows.queries, rows.docs, subtopics, where, strict=True):
        earlier = seen.setdefault((query, doc, subtopic), line)
        if earlier != line:
            of = f"subtopic {subtopic} of query {query}" if has_subtopics else f"query {query}"
            what = f"{of} has document {doc[:40]!r} already, at {path}:{earlier}"
            remedy = "Each query has a document only once: remove one of the lines."
            problems.append(Problem(line, what, remedy))
    raise_problems(path, problems)


def read_documents_of_table(path: Path, value: str, call: str, **names: Hashable | None) -> Documents:
    """Read a table whose columns have these names; ``value`` is that of `documents_of`."""
    from directrix.data.tables.files import table_of

    given = ColumnNames(qid=names["qid"], doc_id=names["doc_id"])
    return documents_of(table_of(path, given), value, str(path), names, call)


def refuse_names(path: Path, **names: Hashable | None) -> None:
    """Raise `InputError` if a user names columns of text of TREC."""
    if given := [key for key, name in names.items() if name is not None]:
        leave = ", ".join(f"{key}=" for key in given)
        raise InputError(
            f"{path} is TREC text, whose columns have no names; leave out {leave}, or "
            "give CSV, TSV, JSON lines or Parquet."
        )
