"""Lines of TREC files as columns, with a message for everything that cannot be used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import compress, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from directrix.data.files import open_data, readable
from directrix.data.form import is_plain
from directrix.data.grouping import group_by_query, object_array
from directrix.data.letor.blocks import stream_blocks
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


def number(text: str) -> float:
    """Return the number that a word of a file is, or NaN."""
    try:
        return float(text) if is_plain(text) else math.nan
    except ValueError:
        return math.nan


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
