"""Lines of TREC files as columns, with a message for everything that cannot be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrix.data.files import open_data, readable
from directrix.data.grouping import group_by_query, object_array
from directrix.data.problems import Problem, raise_problems
from directrix.data.trec.subtopics import by_subtopic
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array


class Column(NamedTuple):
    """What the lines of a file hold: the name and the place of the value, and a line as it should look."""

    name: str
    place: int
    doc_place: int
    shape: str
    subtopic_place: int | None = None
    """Of the subtopic, in lines of four columns."""


class _Rows(NamedTuple):
    """Columns of a file: one list per column, since one per line would keep the garbage collector busy."""

    first: list[str]
    queries: list[str]
    docs: list[str]
    values: list[str]
    subtopics: list[str]
    where: list[int]


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
    values = _finite(path, rows, column)
    order, qptr, query_ids = group_by_query(rows.queries)
    doc_ids, values, queries = object_array(rows.docs)[order], values[order], tuple(map(str, query_ids))
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
    rows, problems, wanted, query = _Rows([], [], [], [], [], []), [], 0, ""
    subtopic = ""
    for number, words in _lines(path):
        if not wanted:
            wanted = width(words)
            rows.first.extend(words)
        if len(words) != wanted:
            what = f"{len(words)} columns where {wanted} are needed, {' '.join(words)[:60]!r}"
            problems.append(Problem(number, what, column.shape))
            continue
        query = query if words[0] == query else words[0]  # one string per query, not one per line
        rows.queries.append(query)
        rows.docs.append(words[column.doc_place])
        rows.values.append(words[column.place])
        rows.where.append(number)
        if column.subtopic_place is not None and wanted == 4:
            subtopic = subtopic if words[1] == subtopic else words[column.subtopic_place]
            rows.subtopics.append(subtopic)
    raise_problems(path, problems)
    if not rows.where:
        raise InputError(f"{path} has no data; at least one line is needed. {column.shape}")
    return rows


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    with readable(path), open_data(path) as file:
        for number, line in enumerate(file, start=1):
            words = line.decode("utf-8", "backslashreplace").split()
            if words:
                yield number, words


def _finite(path: Path, rows: _Rows, column: Column) -> Float64Array:
    """The values as finite numbers; the message names the lines of all others."""
    together = "".join(rows.values)
    if together.isascii() and "_" not in together:
        with suppress(ValueError):
            numbers = np.fromiter(map(float, rows.values), dtype=np.float64, count=len(rows.values))
            if np.isfinite(numbers).all():
                return numbers
    values = [number(text) for text in rows.values]
    bad = [
        Problem(number, f"the {column.name} is {text[:40]!r}; a finite number is needed", column.shape)
        for text, value, number in zip(rows.values, values, rows.where, strict=True)
        if not math.isfinite(value)
    ]
    raise_problems(path, bad)
    return np.array(values)


def number(text: str) -> float:
    """Return the number that a word of a file is, or NaN."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def _refuse_repeated(path: Path, rows: _Rows, *, has_subtopics: bool) -> None:
    """Raise `InputError` with all lines whose document their query, or its subtopic, already has."""
    seen: dict[tuple[str, str, str], int] = {}
    problems = []
    subtopics = rows.subtopics if has_subtopics else [""] * len(rows.docs)
    for query, doc, subtopic, number in zip(rows.queries, rows.docs, subtopics, rows.where, strict=True):
        earlier = seen.setdefault((query, doc, subtopic), number)
        if earlier != number:
            of = f"subtopic {subtopic} of query {query}" if has_subtopics else f"query {query}"
            what = f"{of} has document {doc[:40]!r} already, at {path}:{earlier}"
            remedy = "Each query has a document only once: remove one of the lines."
            problems.append(Problem(number, what, remedy))
    raise_problems(path, problems)
