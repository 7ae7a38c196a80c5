"""Labels of queries as relevance judgments, and how a file of judgments is recognized."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from directrix.data.queries import Queries
from directrix.data.trec.form import check_words
from directrix.data.trec.tables import first_line, shape


def is_qrels(path: Path) -> bool:
    """Return whether the first line of data has 3 or 4 columns, the last a number, and no ``qid:``.

    A file that cannot be read is not one; the readers say why.
    """
    return shape(first_line(path)) == "qrels"


def qrels_lines(q: Queries) -> Iterator[bytes]:
    """Give four columns for every document: query, 0, document, label."""
    check_words(q.query_ids, "query")
    queries = itertools.chain.from_iterable(map(itertools.repeat, q.query_ids, np.diff(q.qptr).tolist()))
    for query, name, label in zip(queries, document_names(q), q.labels.tolist(), strict=True):
        yield f"{query} 0 {name} {repr(label).removesuffix('.0')}\n".encode()


def document_names(q: Queries) -> list[str]:
    """One word for every document, the same in runs and judgments.

    Blanks in an identifier become ``_``; a document without one is called by its row, from 0: ``7``,
    or ``row7`` in data where others have identifiers.
    """
    rows = q.rows.tolist()
    if q.doc_ids is None:
        return [str(row) for row in rows]
    names = zip(q.doc_ids, rows, strict=True)
    return [f"row{row}" if name is None else "_".join(str(name).split()) for name, row in names]
