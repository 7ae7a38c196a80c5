"""Rankings with judgments, with every query and document that some tool counts and another leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.checks import as_array, check_length, check_ranking
from directrix.data.grouping import object_array, rows_by_query
from directrix.data.trec.join import join_trec, qrels_of, run_of
from directrix.errors import InputError
from directrix.measures.prepared import check_judgments, grades
from directrix.types import Array, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Material:
    """A ranking, query by query, in the order in which it was given.

    Parameters
    ----------
    scores : float64 (n_docs,)
        -inf for a judged document that was not retrieved.
    judgments : float64 (n_docs,) or (n_docs, n_subtopics)
        NaN for a document that was not judged.
    qptr : int64 (n_queries + 1,)
    doc_ids : array (n_docs,), or None
    query_ids : tuple
    ranked : bool (n_queries,)
        Queries that the ranking has.
    judged : bool (n_queries,)
        Queries that the judgments have.
    """

    scores: Float64Array
    judgments: Float64Array
    qptr: Int64Array
    doc_ids: Array | None
    query_ids: tuple[Any, ...]
    ranked: Array
    judged: Array

    @property
    def labels(self) -> Float64Array:
        """Label of every document, 0 where it was not judged; float64 (n_docs,)."""
        return grades(self.judgments)

    @property
    def unjudged(self) -> Array:
        """Which documents were not judged (n_docs,)."""
        return _unknown(self.judgments)

    @property
    def retrieved(self) -> Array:
        """Which documents were retrieved (n_docs,)."""
        return self.scores > -np.inf

    @property
    def query(self) -> Int64Array:
        """Number of the query of every document (n_docs,)."""
        return np.repeat(np.arange(len(self.qptr) - 1), np.diff(self.qptr))

    @property
    def both(self) -> Array:
        """Which queries are ranked and judged (n_queries,)."""
        return np.asarray(self.ranked & self.judged)

    def rows_of_both(self) -> tuple[Int64Array, Int64Array]:
        """Return the rows of the queries that are ranked and judged, and their boundaries."""
        sizes = np.diff(self.qptr)
        return np.flatnonzero(np.repeat(self.both, sizes)), np.append(0, np.cumsum(sizes[self.both]))


def _unknown(judgments: Float64Array) -> Array:
    unknown = ~(judgments >= 0.0)
    return unknown if unknown.ndim == 1 else np.asarray(unknown.all(axis=1))


def material_of(scores: Any, labels: Any, run: Any, qrels: Any, **of_arrays: Any) -> Material:
    """Check the data as `directrix.evaluate` takes them: arrays, or a run and judgments."""
    if run is None and qrels is None:
        return material_of_arrays(scores, labels, **of_arrays)
    if any(given is not None for given in (scores, labels, *of_arrays.values())):
        raise InputError(
            "run and qrels were given, and arrays too; one of the two is needed. Type "
            "reconcile(value, measure, run=run, qrels=qrels)."
        )
    return material_of_run(run, qrels)


def material_of_arrays(
    scores: Any, labels: Any, *, qid: Any = None, qptr: Any = None, group: Any = None, doc_ids: Any = None
) -> Material:
    """Check arrays as `directrix.evaluate` takes them; labels may be NaN for unjudged documents."""
    if scores is None or labels is None:
        raise InputError(
            f"{'scores' if scores is None else 'labels'} are missing; type reconcile(value, measure, scores, "
            "labels, qid=qid), or reconcile(value, measure, run=run, qrels=qrels)."
        )
    values, judged = np.atleast_1d(as_array(scores, "scores")), np.atleast_1d(as_array(labels, "labels"))
    check_length(len(judged), len(values), "labels", "scores")
    rows, boundaries, query_ids = rows_by_query(qid, group, len(values), "scores", qptr)
    values, judged = values[rows], check_judgments(judged[rows], boundaries, "")
    checked = check_ranking(values, np.zeros(len(values)), boundaries, allow_infinite=True)[0]
    ids = None
    if doc_ids is not None:
        ids = object_array(doc_ids)
        check_length(len(ids), len(values), "doc_ids", "scores")
        ids = ids[rows]
    if not len(values) or (checked == np.inf).any():
        what = "a score is inf" if len(values) else "there are no documents"
        raise InputError(f"{what}; finite scores are needed, or -inf for documents that were not retrieved.")
    ranked, known = (
        np.bincount(np.repeat(np.arange(len(boundaries) - 1), np.diff(boundaries)), of, len(boundaries) - 1)
        > 0
        for of in (checked > -np.inf, ~_unknown(judged))
    )
    return Material(checked.astype(np.float64), judged, boundaries, ids, tuple(query_ids), ranked, known)


def material_of_run(run: Any, qrels: Any) -> Material:
    """Join a run with judgments: every judged query, then the queries of the run without judgments."""
    if run is None or qrels is None:
        raise InputError(
            f"{'run' if run is None else 'qrels'} is missing; both are needed: "
            "reconcile(value, measure, run=run, qrels=qrels)."
        )
    run, qrels = run_of(run), qrels_of(qrels)
    joined = join_trec(run, qrels, queries="judged")
    in_qrels, in_run = frozenset(qrels.query_ids), frozenset(run.query_ids)
    extra = [q for q, query in enumerate(run.query_ids) if query not in in_qrels]
    spans = [slice(run.qptr[q], run.qptr[q + 1]) for q in extra]
    sizes = np.array([run.qptr[q + 1] - run.qptr[q] for q in extra], dtype=np.int64)
    unknown = np.full((int(sizes.sum()), *joined.judgments.shape[1:]), np.nan)
    query_ids = (*joined.query_ids, *(run.query_ids[q] for q in extra))
    return Material(
        np.concatenate([joined.scores, *(run.scores[span] for span in spans)]),
        np.concatenate([joined.judgments, unknown]),
        np.concatenate([joined.qptr, joined.qptr[-1] + np.cumsum(sizes)]),
        np.concatenate([joined.doc_ids, *(run.doc_ids[span] for span in spans)]),
        query_ids,
        np.array([query in in_run for query in query_ids]),
        np.array([query in in_qrels for query in query_ids]),
    )
