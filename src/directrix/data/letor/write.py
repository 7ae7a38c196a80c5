"""Write LETOR / svmlight text that reads back to the same values.

`Queries` go in, and lines ``label qid:ID index:value ... #docid = X`` come out::

    write_letor(queries, "train.txt.gz")
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from directrix.data.files import replacing
from directrix.data.grouping import identifier_text
from directrix.data.queries import Queries
from directrix.errors import Advice, InputError
from directrix.types import Array

# Rows that become text together.
_ROWS = 4096
_BLANK = re.compile(r"[ \t-\r]")


def write_letor(q: Queries, path: str | os.PathLike[str]) -> None:
    """Write queries as LETOR / svmlight text; indices start at 1.

    Values are written as the shortest text that reads back to the same float, and document identifiers as the
    comment ``#docid = X``. All dense features are written, but only the stored ones of CSR (and the last
    column at least once, so that the number of features is kept). NaN becomes ``nan``.

    Parameters
    ----------
    q : Queries
        Queries to write; their identifiers must be integers.
    path : path
        ``.gz``, ``.bz2`` and ``.xz`` are compressed. The file appears, or is replaced, only
        when all of it is written.

    Raises
    ------
    InputError
        If a query identifier is not an integer, a document identifier would break its line, or
        the file cannot be written.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> dx.write_letor(dx.Queries.from_arrays([[0.5, 0.1]], [2], qid=[7]), path)
    >>> print(path.read_text())
    2 qid:7 1:0.5 2:0.1
    """
    with replacing(path) as file:
        file.writelines(letor_lines(q))


def letor_lines(q: Queries) -> Iterator[bytes]:
    """Yield the lines of queries, some thousand at a time."""
    if q.categories is not None:
        raise InputError(
            "LETOR text has numbers alone, and the data have categories. Write them as *.parquet or *.arrow, "
            "or leave those columns out."
        )
    heads = []
    for number, qid in enumerate(q.query_ids):
        if not is_integer(qid):
            raise InputError(
                f"query {number} is {qid!r}; files of this format need integer identifiers of 64 bits.",
                Advice("number-queries"),
            )
        heads.append(f"qid:{int(qid)}")
    head_of = np.repeat(np.array(heads, dtype=object), np.diff(q.qptr))
    csr = sp.csr_array(q.features) if sp.issparse(q.features) else None
    for first in range(0, q.n_docs, _ROWS):
        last = min(first + _ROWS, q.n_docs)
        rows = _dense_rows(q.features[first:last]) if csr is None else _csr_rows(csr, first, last)
        labels = shortest(q.labels[first:last])
        lines = []
        for row, (label, features) in enumerate(zip(labels, rows, strict=True), start=first):
            comment = "" if q.doc_ids is None else letor_comment(q.doc_ids[row], int(q.rows[row]))
            lines.append(f"{label} {head_of[row]}{features}{comment}\n")
        yield "".join(lines).encode()


def is_integer(qid: Any) -> TypeGuard[int | np.integer[Any] | float]:
    """Return whether an identifier is a 64-bit integer, or a float with such a value."""
    is_number = isinstance(qid, int | np.integer | float) and not isinstance(qid, bool)
    return is_number and not qid % 1 and -(2**63) <= qid < 2**63


def shortest(values: Array) -> list[str]:
    """Return the shortest text of each float that reads back to the same bits, without a trailing '.0'."""
    if values.dtype == np.float64:
        texts = [repr(value) for value in values.ravel().tolist()]
    else:
        texts = values.ravel().astype(str).tolist()
    return [text[:-2] if text.endswith(".0") else text for text in texts]


def _dense_rows(block: Array) -> list[str]:
    n, width = block.shape
    if width == 0:
        return [""] * n
    heads = [f" {index}:" for index in range(1, width + 1)] * n
    pieces = [head + text for head, text in zip(heads, shortest(block), strict=True)]
    return ["".join(pieces[start : start + width]) for start in range(0, n * width, width)]


def _csr_rows(csr: Any, first: int, last: int) -> list[str]:
    low, high = csr.indptr[first], csr.indptr[last]
    texts = shortest(csr.data[low:high])
    pieces = [f" {j + 1}:{text}" for j, text in zip(csr.indices[low:high].tolist(), texts, strict=True)]
    ends = (csr.indptr[first : last + 1] - low).tolist()
    rows = ["".join(pieces[a:b]) for a, b in itertools.pairwise(ends)]
    # A zero in the last column of the first row keeps the number of features, where no row has that column.
    width = csr.shape[1]
    if first == 0 and width and not np.any(csr.indices == width - 1):
        rows[0] += f" {width}:0"
    return rows


def letor_comment(doc_id: object, row: int) -> str:
    """Return the comment that names the document of a row."""
    if doc_id is None:
        return ""
    text = identifier_text(doc_id)
    if text and not _BLANK.search(text):
        return f" #docid = {text}"
    # A reader takes a comment without "docid" as the identifier, up to the end of the line.
    has_blank_end = not text or _BLANK.match(text[0]) or _BLANK.match(text[-1])
    if has_blank_end or "\n" in text or text.startswith("#") or "docid" in text:
        raise InputError(
            f"the document identifier of row {row} is {text!r}; it must fit into a comment: not empty, "
            "one line, no blanks around it. Change it, or write without doc_ids."
        )
    return f" # {text}"


def integer_topics(topics: Sequence[Hashable]) -> list[int]:
    """Return topics as the integers that LETOR text requires; `InputError` if they are not integers."""
    try:
        numbers = [int(str(topic)) for topic in topics]
    except ValueError:
        numbers = []
    if len(set(numbers)) < len(topics) or not all(-(2**63) <= number < 2**63 for number in numbers):
        raise InputError(
            f"the topics ({', '.join(map(str, topics[:3]))}, ...) are not all different integers of 64 bits, "
            "which files of this format need; rename the topics in runs and judgments to numbers."
        )
    return numbers
