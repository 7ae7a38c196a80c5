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
from directrix.data.grouping import group_by_query
from directrix.data.problems import Problem, raise_problems
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array

__all__ = ["Rows", "column", "grouped", "read_rows"]


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    with readable(path), open_data(path) as file:
        for number, line in enumerate(file, start=1):
            words = line.decode("utf-8", "backslashreplace").split()
            if words:
                yield number, words


class Rows(NamedTuple):
    """Columns of a file; one list a column, since one a line would keep the garbage collector busy."""

    first: list[str]
    queries: list[str]
    docs: list[str]
    values: list[str]
    where: list[int]


def read_rows(path: Path, width: Callable[[list[str]], int], places: tuple[int, int], shape: str) -> Rows:
    """Read all lines that are not blank.

    Parameters
    ----------
    path : Path
        Plain or compressed.
    width : callable
        How many words every line has, told from those of the first.
    places : tuple of two ints
        Which words are the document and its value; the first is the query.
    shape : str
        What a line should look like, for messages.
    """
    rows, problems, wanted, query = Rows([], [], [], [], []), [], 0, ""
    doc, value = places
    for number, words in _lines(path):
        if not wanted:
            wanted = width(words)
            rows.first.extend(words)
        if len(words) != wanted:
            what = f"{len(words)} columns where {wanted} are needed, {' '.join(words)[:60]!r}"
            problems.append(Problem(number, what, shape))
            continue
        query = query if words[0] == query else words[0]  # one string a query, not one a line
        rows.queries.append(query)
        rows.docs.append(words[doc])
        rows.values.append(words[value])
        rows.where.append(number)
    raise_problems(path, problems, len(problems))
    if not rows.where:
        raise InputError(f"{path} has no data; at least one line is needed. {shape}")
    return rows


def column(path: Path, rows: Rows, what: str, shape: str) -> Float64Array:
    """Return the values as finite numbers; the lines of all others are in the message."""
    together = "".join(rows.values)
    if together.isascii() and "_" not in together:
        with suppress(ValueError):
            numbers = np.fromiter(map(float, rows.values), dtype=np.float64, count=len(rows.values))
            if np.isfinite(numbers).all():
                return numbers
    values, problems = [], []
    for text, number in zip(rows.values, rows.where, strict=True):
        try:
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            problems.append(Problem(number, f"the {what} is {text[:40]!r}; a finite number is needed", shape))
        values.append(value)
    raise_problems(path, problems, len(problems))
    return np.array(values)


def grouped(path: Path, rows: Rows) -> tuple[tuple[str, ...], Int64Array, Array, Int64Array]:
    """Return queries, boundaries, documents by query, and their rows; a query has each document once."""
    order, qptr, query_ids = group_by_query(rows.queries)
    doc_ids = np.empty(len(rows.docs), dtype=object)
    doc_ids[:] = rows.docs
    doc_ids = doc_ids[order]
    for first, last in pairwise(qptr.tolist()):
        if len(set(doc_ids[first:last])) < last - first:
            _refuse_repeated(path, rows)
    return tuple(map(str, query_ids)), qptr, doc_ids, order


def _refuse_repeated(path: Path, rows: Rows) -> None:
    """Raise `InputError` with all lines whose document their query already has."""
    seen: dict[tuple[str, str], int] = {}
    problems = []
    for query, doc, number in zip(rows.queries, rows.docs, rows.where, strict=True):
        earlier = seen.setdefault((query, doc), number)
        if earlier != number:
            what = f"query {query} has document {doc[:40]!r} already, at {path}:{earlier}"
            problems.append(
                Problem(number, what, "A document stands once for each query: remove one of the lines.")
            )
    raise_problems(path, problems, len(problems))
