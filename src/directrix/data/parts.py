"""A file from front to back: consecutive rows as `Queries`, for files that do not fit into memory."""

from __future__ import annotations

import numpy as np

from directrix.data.categories import Categories
from directrix.data.grouping import run_starts
from directrix.data.queries import Queries
from directrix.types import Array, Float64Array


class StartAgain(Exception):
    """Raised by parts whose first rows misled them; what they learnt holds when they are iterated again."""


def rows_as_queries(
    first: int,
    features: Array,
    labels: Float64Array,
    qids: Array,
    doc_ids: Array | None,
    names: tuple[str, ...] | None = None,
    categories: Categories | None = None,
) -> Queries:
    """Return checked rows, of which ``first`` precede in the file; the last query may continue after them."""
    starts, n_docs = run_starts(qids), len(labels)
    ids = tuple(qids[starts].tolist())
    qptr, rows = np.append(starts, n_docs), np.arange(first, first + n_docs)
    return Queries(features, labels, qptr, ids, doc_ids, names, rows, categories)
