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
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array


class Column(NamedTuple):
    """What the lines of a file hold: the name and the place of the value, and a line as it should look."""

    name: str
    place: int
    doc_place: int
    shape: str


class _Rows(NamedTuple):
    """Columns of a file: one list per column, since one per line would keep the garbage collector busy."""

    first: list[str]
    queries: list[str]
    docs: list[str]
    values: list[str]
    where: list[int]


def read_documents(
    path: Path, width: Callable[[list[str]], int], column: Column
) -> tuple[list[str], tuple[str, ...], Int64Array, Array, Float64Array]:
    """Read all lines that are not blank; ``width`` gives the number of columns from the words of the first.

    Return these words, then the documents grouped by query: query identifiers, boundaries, document
    identifiers and values.

    Raises `InputError` if the file cannot be read, or with all lines that have another number of columns, a
    value that is no finite number, or a document that its query already has.
    """
    rows = _read_rows(path, width, column)
    values = _finite(path, rows, column)
    order, qptr, query_ids = group_by_query(rows.queries)
    doc_ids = object_array(rows.docs)[order]
    if any(len(set(doc_ids[first:last])) < last - first for first, last in pairwise(qptr.tolist())):
        _refuse_repeated(path, rows)
    return rows.first, tuple(map(str, query_ids)), qptr, doc_ids, values[order]


def _read_rows(path: Path, width: Callable[[list[str]], int], column: Column) -> _Rows:
    rows, problems, wanted, query = _Rows([], [], [], [], []), [], 0, ""
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


def _refuse_repeated(path: Path, rows: _Rows) -> None:
    """Raise `InputError` with all lines whose document their query already has."""
    seen: dict[tuple[str, str], int] = {}
    problems = []
    for query, doc, number in zip(rows.queries, rows.docs, rows.where, strict=True):
        earlier = seen.setdefault((query, doc), number)
        if earlier != number:
            what = f"query {query} has document {doc[:40]!r} already, at {path}:{earlier}"
            remedy = "Each query has a document only once: remove one of the lines."
            problems.append(Problem(number, what, remedy))
    raise_problems(path, problems)
