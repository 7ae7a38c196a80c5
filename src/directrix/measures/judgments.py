"""What judgments say beyond labels: which documents were judged, and the subtopics of a query."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from directrix.data.checks import as_floats, unmasked
from directrix.errors import InputError
from directrix.types import Float64Array

Sees = Literal["labels", "judgments", "subtopics"]
"""What a measure reads of each document: its label; also whether it was judged; its label by subtopic."""

UNJUDGED, POOLED = -2.0, -1.0
"""In `statuses`: a document without a judgment, and one of the pool that is not in its judged sample."""


def check_judgments(values: Any, qptr: Any, subtopics_of: str) -> Float64Array:
    """Return judgments as float64 (n_docs,) or (n_docs, n_subtopics).

    NaN: not judged; below 0: in the pool, and not judged. ``subtopics_of`` names a measure that needs the
    second form, "" none.
    """
    judged = np.ascontiguousarray(as_floats(unmasked(values), "labels"))
    if judged.ndim not in (1, 2) or len(judged) != qptr[-1]:
        raise InputError(
            f"labels have the shape {judged.shape} for {qptr[-1]} documents; one number per document is "
            "needed, or one row, with a column for each subtopic."
        )
    if np.isinf(judged).any():
        row = int(np.argmax(np.isinf(judged).reshape(len(judged), -1).any(axis=1)))
        raise InputError(
            f"labels: row {row} is infinite; a label is finite, or NaN for an unjudged document."
        )
    if subtopics_of and judged.ndim == 1:
        raise InputError(
            f"{subtopics_of} needs judgments by subtopic, and these are one label per document. Give qrels "
            "whose lines read `topic subtopic document judgment`, or labels with one column per subtopic."
        )
    return judged


def grades(judged: Float64Array) -> Float64Array:
    """Label of each document: its highest over the subtopics, 0 if it was not judged."""
    return np.fmax(statuses(judged), 0.0)


def statuses(judged: Float64Array) -> Float64Array:
    """Label of each judged document, `POOLED` or `UNJUDGED` of any other."""
    highest = judged if judged.ndim == 1 else np.fmax.reduce(judged, axis=1, initial=np.nan)
    return np.where(np.isnan(highest), UNJUDGED, np.where(highest < 0.0, POOLED, highest))
