"""Rankings with judgments, including queries and documents that only some tools count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from directrix.data.checks import as_array, check_length, check_ranking
from directrix.data.grouping import object_array, rows_by_query
from directrix.data.trec.join import join_trec, qrels_of, run_of
from directrix.errors import InputError
from directrix.measures.prepared import check_judgments, grades
from directrix.types import Array, Float64Array, FloatArray, Int64Array


@dataclass(frozen=True, eq=False)
class Material:
    """A ranking, query by query, in the order in which it was given."""

    scores: Float64Array
    """float64 (n_docs,), -inf for a judged document that was not retrieved."""
    judgments: Float64Array
    """float64 (n_docs,) or (n_docs, n_subtopics), NaN for a document that was not judged."""
    qptr: Int64Array
    doc_ids: Array | None
    query_ids: tuple[Any, ...]
    ranked: Array
    """bool (n_queries,): queries that the ranking has."""
    judged: Array
    """bool (n_queries,): queries that the judgments have."""

    @cached_property
    def labels(self) -> Float64Array:
        """Label of every document, 0 if it was not judged; float64 (n_docs,)."""
        return grades(self.judgments)

    @cached_property
    def unjudged(self) -> Array:
        """Which documents were not judged (n_docs,)."""
        return np.asarray(~(self.judgments >= 0.0).reshape(len(self.scores), -1).any(axis=1))

    @cached_property
    def retrieved(self) -> Array:
        """Which documents were retrieved (n_docs,)."""
        return self.scores > -np.inf

    @cached_property
    def query(self) -> Int64Array:
        """Number of the query of every document (n_docs,)."""
        return np.repeat(np.arange(len(self.qptr) - 1), np.diff(self.qptr))

    @cached_property
    def both(self) -> Array:
        """Which queries are ranked and judged (n_queries,)."""
        return np.asarray(self.ranked & self.judged)

    def rows_of_both(self) -> tuple[Int64Array, Int64Array]:
        """Return the rows of the queries that are ranked and judged, and their boundaries."""
        sizes = np.diff(self.qptr)[self.both]
        return np.flatnonzero(self.both[self.query]), np.append(0, np.cumsum(sizes))

    def tied(self, precision: type = np.float64) -> Array:
        """Return which retrieved documents share their score with another one of the query (n_docs,)."""
        rows = np.flatnonzero(self.retrieved)
        # Scores beyond the range of single precision become infinite, and so tie, as in trec_eval.
        with np.errstate(over="ignore"):
            scores: FloatArray = self.scores[rows].astype(precision)
        order = np.lexsort((scores, self.query[rows]))
        ranked, query = scores[order], self.query[rows][order]
        same = (ranked[1:] == ranked[:-1]) & (query[1:] == query[:-1])
        tied = np.zeros(len(self.scores), dtype=bool)
        tied[rows[order[:-1][same]]] = tied[rows[order[1:][same]]] = True
        return tied


def material_of(run: Any, qrels: Any, arrays: dict[str, Any]) -> Material:
    """Check the input of `reconcile`: a run and judgments, or arrays by name."""
    if run is None and qrels is None:
        return material_of_arrays(**arrays)
    if any(array is not None for array in arrays.values()):
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
    values, judgments = np.atleast_1d(as_array(scores, "scores")), np.atleast_1d(as_array(labels, "labels"))
    check_length(len(judgments), len(values), "labels", "scores")
    rows, boundaries, query_ids = rows_by_query(qid, group, len(values), "scores", qptr)
    judgments = check_judgments(judgments[rows], boundaries, "")
    checked = check_ranking(values[rows], np.zeros(len(values)), boundaries, allow_infinite=True)[0]
    if doc_ids is not None:
        doc_ids = object_array(doc_ids)
        check_length(len(doc_ids), len(values), "doc_ids", "scores")
        doc_ids = doc_ids[rows]
    if not len(values) or (checked == np.inf).any():
        what = "a score is inf" if len(values) else "there are no documents"
        raise InputError(f"{what}; finite scores are needed, or -inf for documents that were not retrieved.")
    every = np.ones(len(query_ids), dtype=bool)
    made = Material(
        checked.astype(np.float64), judgments, boundaries, doc_ids, tuple(query_ids), every, every
    )
    # A query of arrays is ranked, or judged, if one of its documents is.
    ranked, has_judgments = (
        np.bincount(made.query, flags, len(every)) > 0 for flags in (made.retrieved, ~made.unjudged)
    )
    return replace(made, ranked=ranked, judged=has_judgments)


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
    query_ids = (*joined.query_ids, *(query for query in run.query_ids if query not in in_qrels))
    # The documents of queries without judgments follow those of the join, with unknown judgments.
    extra = np.array([query not in in_qrels for query in run.query_ids], dtype=bool)
    sizes = np.diff(run.qptr)
    rows = np.repeat(extra, sizes)
    unknown = np.full((int(rows.sum()), *joined.judgments.shape[1:]), np.nan)
    return Material(
        np.concatenate([joined.scores, run.scores[rows]]),
        np.concatenate([joined.judgments, unknown]),
        np.concatenate([joined.qptr, joined.qptr[-1] + np.cumsum(sizes[extra])]),
        np.concatenate([joined.doc_ids, run.doc_ids[rows]]),
        query_ids,
        np.array([query in in_run for query in query_ids]),
        np.array([query in in_qrels for query in query_ids]),
    )
