"""A run and relevance judgments together, as measures take them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from directrix.data.grouping import object_array
from directrix.data.trec.files import Qrels, Run, read_trec_qrels, read_trec_run
from directrix.data.trec.overlap import check_overlap
from directrix.types import Array, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Judged:
    """A run with its judgments, as measures take it.

    The other fields are as in `Run`; retrieved documents come first, in the order of the run.
    """

    scores: Float64Array
    """Of the run; -inf for a judged document that the run did not retrieve. It counts among the relevant
    documents and in the ideal ranking, and earns nothing."""
    labels: Float64Array
    """Judgment, 0 for unjudged documents and for negative judgments; by subtopic the highest."""
    qptr: Int64Array
    query_ids: tuple[str, ...]
    doc_ids: Array
    judgments: Float64Array
    """As in the qrels, NaN for documents without one: (n_docs,), or (n_docs, n_subtopics) where they have
    subtopics. For measures that need more than labels, such as `Bpref`."""


def join_trec(run: Any, qrels: Any, *, queries: Literal["both", "judged"] | Sequence[str] = "both") -> Judged:
    """Bring a run and judgments together.

    Parameters
    ----------
    run : Run, path, or frame
        What was retrieved; a frame as for `Run.from_frame`.
    qrels : Qrels, path, or frame
        What is relevant.
    queries : {"both", "judged"} or sequence of str
        "both": queries of the run that have judgments, in the order of the run, as trec_eval
        does; "judged": all queries with judgments, in the order of the judgments, as its
        option ``-c`` does (a query that the run lacks has no retrieved documents). Or these queries, all of
        which have judgments, in this order.

    Returns
    -------
    Judged
        Retrieved documents, then judged ones that were not retrieved, for every query.

    Raises
    ------
    InputError
        If no query is in both, no document of the run is in the judgments, or a file or frame cannot be
        read.

    Warns
    -----
    UserWarning
        If few queries or documents are in both, or some identifiers differ only in leading zeros, capitals
        or a final .0; with the counts.

    Examples
    --------
    >>> from directrix import data
    >>> run, qrels = {"401": {"D1": 0.5, "D2": 0.9}}, {"401": {"D1": 1, "D3": 2}}
    >>> judged = data.join_trec(run, qrels)
    >>> judged.doc_ids, judged.labels, judged.scores  # D3 is relevant, and was not retrieved
    (array(['D1', 'D2', 'D3'], dtype=object), array([1., 0., 2.]), array([ 0.5,  0.9, -inf]))
    """
    run, qrels = run_of(run), qrels_of(qrels)
    in_run = {query: q for q, query in enumerate(run.query_ids)}
    in_qrels = {query: q for q, query in enumerate(qrels.query_ids)}
    if isinstance(queries, str):  # others were chosen from what has been checked
        check_overlap(run, qrels)
    named = {"both": [q for q in run.query_ids if q in in_qrels], "judged": qrels.query_ids}
    chosen = named[queries] if isinstance(queries, str) else queries
    scores, rows, docs, sizes = [], [], [], []
    for query in chosen:
        known = qrels.rows_of(in_qrels[query])
        first, last = (run.qptr[in_run[query]], run.qptr[in_run[query] + 1]) if query in in_run else (0, 0)
        names = list(run.doc_ids[first:last])
        rows += [known.pop(name, -1) for name in names]
        rows += known.values()
        docs += [*names, *known]
        scores += [run.scores[first:last], np.full(len(known), -np.inf)]
        sizes.append(len(names) + len(known))
    qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels = np.append(qrels.labels, 0.0)[rows]  # the last one is of documents without a judgment
    judged = qrels.labels if qrels.subtopics is None else qrels.subtopics
    unjudged = np.full((1, *judged.shape[1:]), np.nan)
    return Judged(
        np.concatenate(scores),
        np.maximum(labels, 0.0),
        qptr,
        tuple(chosen),
        object_array(docs),
        np.concatenate([judged, unjudged])[rows],
    )


def run_of(given: Any) -> Run:
    """Return a run from what users give: a `Run`, the path of a file, or a frame as for `Run.from_frame`."""
    if isinstance(given, str | os.PathLike):
        return read_trec_run(given)
    return given if isinstance(given, Run) else Run.from_frame(given)


def qrels_of(given: Any) -> Qrels:
    """Return judgments from what users give: `Qrels`, a path, a frame, or a data set of ir_datasets."""
    if hasattr(given, "qrels_iter"):
        rows = [(entry.query_id, entry.doc_id, entry.relevance) for entry in given.qrels_iter()]
        return Qrels.from_frame(dict(zip(("qid", "docno", "label"), zip(*rows, strict=True), strict=False)))
    if isinstance(given, str | os.PathLike):
        return read_trec_qrels(given)
    return given if isinstance(given, Qrels) else Qrels.from_frame(given)
