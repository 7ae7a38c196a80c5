"""Judgments by subtopic: one row per document, one column per subtopic of its query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from directrix.data.grouping import object_array
from directrix.data.memory import check_room
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
