"""Documents of runs and judgments from lines of text, tables and frames, grouped by query."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import floats_of, is_empty
from directrix.data.columns import DOC, LABELS, QUERY, SCORES, SUBTOPICS, ColumnNames, find
from directrix.data.file import DataFile
from directrix.data.files import (
    Problem,
    open_data,
    raise_line_problems,
    raise_problems,
    readable,
    stream_blocks,
    to_number,
)
from directrix.data.frames import array_of, cells_of, columns_of
from directrix.data.grouping import check_identifiers, group_by_query, identifier_text, object_array
from directrix.data.memory import check_room
from directrix.errors import Advice, InputError, amount, short_text
from directrix.types import Array, Float64Array, Int64Array

_LINES = {
    "score": "Each line reads `query Q0 document rank score tag`.",
    "label": "Each line reads `query iteration document label`, or `query document label`.",
}
# The places of document and value in a line, by its number of columns.
_PLACES = {6: (2, 4), 4: (2, 3), 3: (1, 2)}


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
) -> tuple[Documents, list[Problem]]:
    """Group rows by query; return also the rows that repeat a document of a query or subtopic."""
    rows, qptr, query_ids = group_by_query(queries)
    ids, doc_ids, values = tuple(map(str, query_ids)), object_array(docs)[rows], values[rows]
    joined, keys = None, doc_ids
    if subtopics is not None and len(set(subtopics)) > 1:
        names = object_array(subtopics)[rows]
        if joined := _by_subtopic(ids, qptr, doc_ids, values, names):
            keys = object_array(zip(doc_ids, names, strict=True))
    problems = []
    for query, (first, last) in zip(ids, pairwise(qptr.tolist()), strict=True):
        # Only queries with a repeated document are looked through row by row.
        if len(set(keys[first:last])) == last - first:
            continue
        seen: dict[Any, int] = {}
        for i in range(first, last):
            if (before := seen.setdefault(keys[i], i)) != i:
                topic = f" of subtopic {keys[i][1]!r}" if joined else ""
                what = (
                    f"query {query} has the document {doc_ids[i]!r}{topic} already, at {place(rows[before])}"
                )
                problems.append(
                    Problem(int(rows[i]), f"{what}; each one may occur once", Advice("remove-one"))
                )
    return joined or Documents(ids, qptr, doc_ids, values, None), problems


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
    # Subtopics are numbered within each query, so a column has no meaning across queries.
    n_subtopics = int(columns.max(initial=0)) + 1
    # Then the second column of the file is not a subtopic: it differs between queries alone.
    if n_subtopics == 1:
        return None
    check_room(
        8 * len(names) * n_subtopics,
        f"judgments of {len(names):,} documents for up to {n_subtopics:,} subtopics",
        "The second column of qrels is the subtopic: write 0 in it where a query has none.",
    )
    judgments = np.full((len(names), n_subtopics), np.nan)
    judgments[rows, columns] = values
    labels = np.fmax.reduce(judgments, axis=1)
    return Documents(ids, np.array(bounds, dtype=np.int64), object_array(names), labels, judgments)


def read_document_table(
    file: DataFile, value: str, call: str, names: Mapping[str, Hashable | None]
) -> Documents:
    """Read a table of runs or judgments; see `of_frame`."""
    from directrix.data.tables.text import row_places

    # The only name may hold other separators, with which rows would have no columns.
    if len(file.names) == 1:
        find(file.names, "qid", names["qid"], str(file), call)
    texts = tuple(filter(None, (names.get("subtopic"), *SUBTOPICS)))
    asked = ColumnNames(qid=names["qid"], doc_id=names["doc_id"], categorical=texts)
    return of_frame(file.with_columns(asked).table(), value, str(file), names, call, row_places(file.path))


def of_frame(
    frame: Any,
    value: str,
    what: str,
    names: Mapping[str, Hashable | None],
    call: str,
    place: Callable[[int], str] | None = None,
) -> Documents:
    """Return the rows of a frame, or of a dict ``{query: {document: value}}``, grouped by query.

    ``value`` is "score" or "label". ``names`` are the columns given by the user: "qid", "doc_id", the value,
    and "subtopic" for labels. Messages begin with ``what``, or with the ``place`` of a row, and advise a call
    that begins with ``call``.
    """
    place = place or f"{what}, row {{}}".format
    kinds = "query", "document", value, "subtopic"
    columns = dict(zip(kinds, _columns(frame, value, what, names, call), strict=True))
    numbers = array_of(columns.pop(value)).ravel()
    cells = {kind: cells_of(column) for kind, column in columns.items() if column is not None}
    n_rows = [len(cells["query"]), len(cells["document"]), numbers.size]
    if len({*n_rows}) > 1:
        raise InputError(
            f"{what}: the columns of queries, documents and {value}s have {n_rows[0]}, {n_rows[1]} "
            f"and {n_rows[2]} rows; each needs one per document."
        )
    problems = [
        Problem(row, f"the {kind} is missing; each row needs one", Advice("drop-rows"))
        for kind, column in cells.items()
        for row, cell in enumerate(column)
        if is_empty(cell)
    ]
    values, bad = _numbers(numbers, value, call)
    texts = {kind: list(map(identifier_text, column)) for kind, column in cells.items()}
    documents, repeated = grouped(texts["query"], texts["document"], values, texts.get("subtopic"), place)
    # Rows without an identifier would look like repetitions of one document.
    incomplete = {problem.line for problem in problems}
    problems += bad + [problem for problem in repeated if problem.line not in incomplete]
    raise_problems(what, problems, place=place)
    for kind, names_of_kind in texts.items():
        check_identifiers(names_of_kind, kind, place)
    return documents


def _numbers(cells: Array, value: str, call: str) -> tuple[Float64Array, list[Problem]]:
    """Return the values of a column, and its rows whose value is not a finite number."""
    try:
        values = floats_of(cells)
    except (TypeError, ValueError, OverflowError):
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(cells.tolist()):
            with suppress(TypeError, ValueError, OverflowError):
                values[row] = floats_of([cell])[0]
    bad = np.flatnonzero(~np.isfinite(values)).tolist()
    lacks = "was not retrieved" if value == "score" else "is not judged"
    remedy = Advice("drop-documents", lacks=lacks)
    if len(bad) == len(values):
        remedy = Advice("column", call=call, key=value)
    texts = ["missing" if is_empty(cell) else short_text(cell, 40) for cell in cells[bad].tolist()]
    problems = (f"the {value} is {text}; a finite number is needed" for text in texts)
    return values, [Problem(row, text, remedy) for row, text in zip(bad, problems, strict=True)]


def _columns(
    frame: Any, value: str, what: str, names: Mapping[str, Hashable | None], call: str
) -> Iterator[Any]:
    """Columns of queries, documents, values and subtopics, None if there are none."""
    if isinstance(frame, Mapping) and {*frame}.isdisjoint((*QUERY, *DOC, *SCORES, *LABELS, *names.values())):
        # A dict without any known name maps queries to their documents.
        bad = next((query for query, entry in frame.items() if not isinstance(entry, Mapping)), None)
        if bad is not None:
            raise InputError(
                f"{what}: a dict must be {{query: {{document: {value}}}}} or hold columns with known names, "
                f"got {short_text(frame[bad])} for {short_text(bad)}.",
                f"Type {{query: {{document: {value}}}}}, or name the columns: {call}, qid=NAME).",
            )
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
        # ranx calls the label of judgments a score.
        candidates = (*LABELS, "score") if key == "label" else ()
        is_optional = key == "subtopic"
        name = find([*columns], key, names.get(key), what, call, candidates=candidates, optional=is_optional)
        yield None if name is None else columns[name]


def read_lines(path: Path, value: str) -> tuple[str, Documents]:
    """Read lines of text; return the last word of the first line (the tag of a run) and the documents.

    Most lines of the first block decide how many columns judgments have.

    Raises `InputError` if the file cannot be read, or with all lines that have another number of columns, a
    value that is not a finite number, or a document that its query already has.
    """
    queries, docs, subtopics, shared = list[str](), list[str](), list[str](), dict[str, str]()
    values, lines, problems, wanted, tag = list[Array](), list[Array](), list[Problem](), 0, ""
    for words, where, counts in _blocks(path):
        if not wanted:
            wanted = _n_columns(path, value, counts, where)
            tag = _decoded(words[: counts[0]])[-1]
        is_good = counts == wanted
        # Lines of another shape are left out, so that all others are checked too.
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
            # A name that occurs in many lines is kept once.
            names.extend(map(shared.setdefault, texts, texts))
    if not wanted:
        raise InputError(f"{path} has no data; at least one line is needed. {_LINES[value]}")
    numbers, where = np.concatenate(values), np.concatenate(lines)
    documents, repeated = grouped(
        queries, docs, numbers, subtopics or None, lambda row: f"{path}:{where[row]}"
    )
    problems += [problem._replace(line=int(where[problem.line])) for problem in repeated]
    raise_line_problems(path, problems)
    return tag, documents


def _n_columns(path: Path, value: str, counts: Int64Array, where: Int64Array) -> int:
    """Return the number of columns by the first lines; `InputError` if run and judgments are exchanged."""
    # Of two numbers of columns that are equally frequent, the one that fits the request decides.
    most = np.bincount(counts)
    equal = counts[most[counts] == most.max()].tolist()
    usual = next((n for n in equal if (n == 6) == (value == "score")), equal[0])
    wanted = 6 if value == "score" else 3 if usual == 3 else 4
    if (wanted, usual) not in ((4, 6), (6, 4), (6, 3)):
        return wanted
    content, needed = ("a run", "judgments") if wanted == 4 else ("judgments", "a run")
    fix = "Swap the two files." if wanted == 4 else "Swap the two files, or give a run."
    if usual == 3:
        content += " and in rankings of MS MARCO"
        fix = (
            "Swap the two files, or write a ranking as a run: "
            f'`awk \'{{print $1, "Q0", $2, $3, -$3, "run"}}\' {path} > NEW.run`.'
        )
    line = where[np.argmax(counts == usual)]
    raise InputError(
        f"{path} must be {needed} ({wanted} columns), and line {line} has {usual}, as in {content}. {fix}"
    )


def _blocks(path: Path) -> Iterator[tuple[list[bytes], Int64Array, Int64Array]]:
    """Words of blocks of lines, the numbers, from 1, of the lines that are not blank, and counts of words.

    ASCII blanks separate words: Unicode's belong to identifiers.
    """
    n_lines = 0
    with readable(path), open_data(path) as file:
        for text in stream_blocks(file):
            chars = np.frombuffer(text, dtype=np.uint8)
            # `bytes.split` splits at these blanks: the characters 9 to 13, and 32.
            is_blank = (chars - np.uint8(9) < 5) | (chars == 32)
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
        text = " ".join(_decoded(words[ends[i] - counts[i] : ends[i]][:60]))
        what = f"{amount(int(counts[i]), 'columns')} where {wanted} are needed, {text[:60]!r}"
        sign = next((sign for sign in ";,|" if sign in text), None) if counts[i] == 1 else None
        swap = f"Columns are separated by blanks or tabs: `tr '{sign}' ' ' < FILE > NEW`."
        yield Problem(int(where[i]), what, swap if sign else remedy)


def _finite(words: list[bytes], where: Int64Array, value: str) -> tuple[Float64Array, list[Problem]]:
    """Return the values, and the lines whose value is not a finite number."""
    # Python reads 1_000 as a number, and no other tool does.
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
