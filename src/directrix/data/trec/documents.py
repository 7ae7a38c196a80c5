"""Documents of runs and judgments from lines of text, tables and frames, grouped by query."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import floats_of, is_missing
from directrix.data.columns import LABELS, ColumnNames, find
from directrix.data.files import Problem, open_data, raise_line_problems, readable, stream_blocks, to_number
from directrix.data.frames import array_of, cells_of, columns_of
from directrix.data.grouping import check_identifiers, group_by_query, object_array
from directrix.data.memory import check_room
from directrix.errors import InputError
from directrix.types import Array, Float64Array, Int64Array

_LINES = {
    "score": "Each line reads `query Q0 document rank score tag`.",
    "label": "Each line reads `query iteration document label`, or `query document label`.",
}
_PLACES = {6: (2, 4), 4: (2, 3), 3: (1, 2)}  # of document and value, by the number of columns


class Documents(NamedTuple):
    """The fields of `Run` and `Qrels`."""

    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    values: Float64Array
    """Scores, or the highest judgment of each document."""
    subtopics: Float64Array | None
    """Judgments, NaN if absent (n_docs, n_subtopics); None if no query has two subtopics."""


def grouped(
    queries: Sequence[str],
    docs: Sequence[str],
    values: Float64Array,
    subtopics: Sequence[str] | None,
    place: Callable[[int], str],
) -> Documents:
    """Group rows by query; raise `InputError` for a repeated document of a query or subtopic."""
    rows, qptr, query_ids = group_by_query(queries)
    ids, doc_ids, values = tuple(map(str, query_ids)), object_array(docs)[rows], values[rows]
    joined, keys = None, doc_ids
    if subtopics is not None and len(set(subtopics)) > 1:
        names = object_array(subtopics)[rows]
        if joined := _by_subtopic(ids, qptr, doc_ids, values, names):
            keys = object_array(zip(doc_ids, names, strict=True))
    for query, (first, last) in zip(ids, pairwise(qptr.tolist()), strict=True):
        seen: dict[Any, int] = {}
        if len(set(keys[first:last])) < last - first:
            twice = next(i for i in range(first, last) if seen.setdefault(keys[i], i) != i)
            of = f" of subtopic {keys[twice][1]!r}" if joined else ""
            raise InputError(
                f"{place(rows[twice])}: query {query} has the document {doc_ids[twice]!r}{of} already, at "
                f"{place(rows[seen[keys[twice]]])}; each one may occur once.",
                python="Remove one of them; of a frame: frame.drop_duplicates([...]).",
                shell="Remove one of them.",
            )
    return joined or Documents(ids, qptr, doc_ids, values, None)


def _by_subtopic(
    ids: tuple[str, ...], qptr: Int64Array, doc_ids: Array, values: Float64Array, subtopics: Array
) -> Documents | None:
    """Join the rows of each document, one column per subtopic; None if no query has two subtopics."""
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
    return Documents(ids, np.array(bounds, dtype=np.int64), object_array(names), labels, judged)


def read_document_table(path: Path, value: str, call: str, names: Mapping[str, Hashable | None]) -> Documents:
    """Read a table of runs or judgments; see `of_frame`."""
    from directrix.data.tables.files import table_of

    given = ColumnNames(qid=names["qid"], doc_id=names["doc_id"])
    return of_frame(table_of(path, given), value, str(path), names, call)


def of_frame(frame: Any, value: str, what: str, names: Mapping[str, Hashable | None], call: str) -> Documents:
    """Return the rows of a frame, or of a dict ``{query: {document: value}}``, grouped by query.

    ``value`` is "score" or "label". ``names`` are the columns given by the user: "qid", "doc_id", the value,
    and "subtopic" for labels. Messages begin with ``what``, and advise a call that begins with ``call``.
    """
    queries, docs, numbers, subtopics = _columns(frame, value, what, names, call)
    of_queries, of_docs = _words(queries, what, "query"), _words(docs, what, "document")
    cells = array_of(numbers)
    if not len(of_queries) == len(of_docs) == cells.size:
        raise InputError(
            f"{what}: the columns of queries, documents and {value}s have {len(of_queries)}, {len(of_docs)} "
            f"and {cells.size} rows; each needs one per document."
        )
    try:
        column = floats_of(cells.ravel())
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{what}: the column of {value}s must hold numbers only ({error}).",
            python=f"Correct those rows, or name another column: {call}, {value}=NAME).",
            shell=f"Correct those rows, or type --{value}-column NAME.",
        ) from None
    if bad := np.flatnonzero(~np.isfinite(column)).tolist():
        lacks = "was not retrieved" if value == "score" else "is not judged"
        raise InputError(
            f"{what}: the value of row {bad[0]} is {column[bad[0]]} ({len(bad)} in all); finite numbers are "
            f"needed: a document without a row {lacks}.",
            python="Drop those rows, e.g. frame.dropna().",
            shell="Remove those rows.",
        )
    of_subtopics = None if subtopics is None else _words(subtopics, what, "subtopic")
    return grouped(of_queries, of_docs, column, of_subtopics, f"{what}, row {{}}".format)


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
    columns = columns_of(frame, what, needed)
    for key in ("qid", "doc_id", value, "subtopic"):
        if key == "subtopic" and value == "score":
            yield None
            return
        candidates = (*LABELS, "score") if key == "label" else ()  # ranx calls it score
        is_optional = key == "subtopic"
        name = find([*columns], key, names.get(key), what, call, candidates=candidates, optional=is_optional)
        yield None if name is None else columns[name]


def _words(column: Any, what: str, which: str) -> list[str]:
    """Identifiers as text: 351 and "351" are the same topic."""
    cells = cells_of(column)
    bad = next((row for row, cell in enumerate(cells) if is_missing(cell)), None)
    if bad is not None:
        raise InputError(
            f"{what}: the {which} of row {bad} is missing; each row needs one.",
            python="Drop such rows, e.g. frame.dropna().",
            shell="Remove such rows.",
        )
    words = [str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell) for cell in cells]
    check_identifiers(words, which, lambda row: f"{what}, row {row}")
    return words


def read_lines(path: Path, value: str) -> tuple[str, Documents]:
    """Read lines of text; return the last word of the first line (the tag of a run) and the documents.

    The first line decides how many columns judgments have.

    Raises `InputError` if the file cannot be read, or with all lines that have another number of columns or a
    value that is not a finite number.
    """
    queries, docs, subtopics, shared = list[str](), list[str](), list[str](), dict[str, str]()
    values, lines, problems, wanted, tag = list[Array](), list[Array](), list[Problem](), 0, ""
    for words, where, counts in _blocks(path):
        if not wanted:
            wanted = 6 if value == "score" else 3 if counts[0] == 3 else 4
            if (wanted, counts[0]) in ((4, 6), (6, 4)):
                given, needed = ("a run", "judgments") if wanted == 4 else ("judgments", "a run")
                raise InputError(
                    f"{path} must be {needed} ({wanted} columns), and line {where[0]} has {counts[0]}, as in "
                    f"{given}. Swap the two files."
                )
            tag = _decoded(words[: counts[0]])[-1]
        is_good = counts == wanted
        if not is_good.all():
            problems += _misshapen(words, where, counts, wanted, _LINES[value])
            words, where = list(compress(words, np.repeat(is_good, counts))), where[is_good]
        doc_place, place = _PLACES[wanted]
        numbers, bad = _finite(words[place::wanted], where, value)
        problems += bad
        values.append(numbers)
        lines.append(where)
        docs += _decoded(words[doc_place::wanted])
        for names, at in ((queries, 0), (subtopics, 1))[: 2 if wanted == 4 else 1]:
            texts = _decoded(words[at::wanted])
            names.extend(map(shared.setdefault, texts, texts))  # one string for each name
    raise_line_problems(path, problems)
    if not wanted:
        raise InputError(f"{path} has no data; at least one line is needed. {_LINES[value]}")
    numbers, where = np.concatenate(values), np.concatenate(lines)
    return tag, grouped(queries, docs, numbers, subtopics or None, lambda row: f"{path}:{where[row]}")


def _blocks(path: Path) -> Iterator[tuple[list[bytes], Int64Array, Int64Array]]:
    """Words of blocks of lines, the numbers, from 1, of the lines that are not blank, and counts of words.

    ASCII blanks separate words: Unicode's belong to identifiers.
    """
    n_lines = 0
    with readable(path), open_data(path) as file:
        for text in stream_blocks(file):
            chars = np.frombuffer(text, dtype=np.uint8)
            is_blank = (chars - np.uint8(9) < 5) | (chars == 32)  # where `bytes.split` splits
            begins = np.flatnonzero(np.append(True, is_blank[:-1]) & ~is_blank)
            ends = np.flatnonzero(chars == 10)
            if not text.endswith(b"\n"):
                ends = np.append(ends, len(text))
            counts = np.diff(np.searchsorted(begins, ends), prepend=0)
            lines = np.flatnonzero(counts)
            if len(lines):
                yield text.split(), lines + n_lines + 1, counts[lines]
            n_lines += len(ends)


def _decoded(words: list[bytes]) -> list[str]:
    """Return words as text; bytes that are not UTF-8 are escaped."""
    return b"\n".join(words).decode("utf-8", "backslashreplace").split("\n") if words else []


def _misshapen(
    words: list[bytes], where: Int64Array, counts: Int64Array, wanted: int, remedy: str
) -> Iterator[Problem]:
    """Lines with another number of columns."""
    ends = np.cumsum(counts)
    for i in np.flatnonzero(counts != wanted).tolist():
        shown = repr(" ".join(_decoded(words[ends[i] - counts[i] : ends[i]][:60]))[:60])
        yield Problem(int(where[i]), f"{counts[i]} columns where {wanted} are needed, {shown}", remedy)


def _finite(words: list[bytes], where: Int64Array, value: str) -> tuple[Float64Array, list[Problem]]:
    """Return the values, and the lines whose value is not a finite number."""
    if b"_" not in b"".join(words):
        with suppress(ValueError):
            numbers = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
            if np.isfinite(numbers).all():
                return numbers, []
    texts = _decoded(words)
    values = [to_number(text) for text in texts]
    return np.array(values, dtype=np.float64), [
        Problem(line, f"the {value} is {text[:40]!r}; a finite number is needed", _LINES[value])
        for text, x, line in zip(texts, values, where.tolist(), strict=True)
        if not math.isfinite(x)
    ]
