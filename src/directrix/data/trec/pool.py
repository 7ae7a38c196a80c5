"""`Pool`: the documents of one or more runs with their judgments, joined by query and document.

>>> from directrix.data.trec.runs import Qrels, Run
>>> runs = [Run.from_frame({"1": {"a": 0.5, "b": 0.9}}), Run.from_frame({"1": {"c": 3.0}})]
>>> pool = join_runs(runs, Qrels.from_frame({"1": {"a": 1, "d": 2}}), ["1"])
>>> pool.doc_ids.tolist(), pool.judgments.tolist()
(['a', 'b', 'c', 'd'], [1.0, nan, nan, 2.0])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from directrix.data.checks import frozen
from directrix.data.grouping import object_array, rows_of
from directrix.data.trec.runs import Qrels, Run
from directrix.types import Array, Float64Array, Int64Array

Order = Literal["run", "ascending", "descending"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pool:
    """Documents that any run retrieved, and judged ones that none did: one row per document."""

    tags: tuple[str, ...]
    """Names of the runs."""
    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array
    scores: Array
    """(n_docs, n_runs), NaN where a run did not retrieve the document."""
    labels: Float64Array
    """0 for documents without a judgment, or with a negative one; with subtopics, the highest."""
    judgments: Float64Array
    """Judgments as in the qrels, NaN for documents without one: (n_docs,), or (n_docs, n_subtopics)."""

    def __post_init__(self) -> None:
        for name in ("qptr", "doc_ids", "scores", "labels", "judgments"):
            object.__setattr__(self, name, frozen(getattr(self, name), name))

    @property
    def n_docs(self) -> int:
        """Number of documents, over all queries."""
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    @property
    def is_judged(self) -> Array:
        """Whether the document has a judgment."""
        return np.asarray(~np.isnan(self.judgments.reshape(self.n_docs, -1)).all(axis=1))

    @property
    def is_retrieved(self) -> Array:
        """Whether any run retrieved the document."""
        return np.asarray((~np.isnan(self.scores)).any(axis=1))

    def take(self, queries: Any) -> Self:
        """Return the queries at these positions, in the order given."""
        positions = np.asarray(queries, dtype=np.int64)
        sizes = np.diff(self.qptr)[positions]
        kept = tuple(self.query_ids[q] for q in positions.tolist())
        return self._with(kept, sizes, rows_of(self.qptr[:-1][positions], sizes))

    def only(self, is_kept: Array) -> Self:
        """Return some of the documents."""
        rows = np.flatnonzero(is_kept)
        return self._with(self.query_ids, np.diff(np.searchsorted(rows, self.qptr)), rows)

    def _with(self, query_ids: tuple[str, ...], sizes: Int64Array, rows: Int64Array) -> Self:
        qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        names = ("doc_ids", "scores", "labels", "judgments")
        per_doc = {name: getattr(self, name)[rows] for name in names}
        return replace(self, query_ids=query_ids, qptr=qptr, **per_doc)


def join_runs(
    runs: Sequence[Run], qrels: Qrels | None, queries: Sequence[str], order: Order = "ascending"
) -> Pool:
    """Join runs, and judgments if there are any, for these queries.

    The documents of a query are in the order of their identifiers, or with "run" in the order of their first
    appearance: those of the runs, then the other judged ones. O(n log n) for all documents.
    """
    places = [{query: q for q, query in enumerate(run.query_ids)} for run in runs]
    in_qrels = {} if qrels is None else {query: q for q, query in enumerate(qrels.query_ids)}
    doc_ids: list[str] = []
    scores, judged_rows, sizes = [], [], []
    for query in queries:
        # Documents have their rows in the order of their first appearance.
        row_of: dict[str, int] = {}
        retrieved = []
        for run, place in zip(runs, places, strict=True):
            q = place.get(query)
            ranking = slice(0, 0) if q is None else slice(run.qptr[q], run.qptr[q + 1])
            rows = [row_of.setdefault(name, len(row_of)) for name in run.doc_ids[ranking]]
            retrieved.append((rows, run.scores[ranking]))
        row_in_qrels = {} if qrels is None or query not in in_qrels else qrels.rows_of(in_qrels[query])
        # Judged documents that no run retrieved follow the retrieved ones.
        names = [*row_of, *(name for name in row_in_qrels if name not in row_of)]
        of_runs = np.full((len(names), len(runs)), np.nan)
        for column, (rows, values) in enumerate(retrieved):
            of_runs[rows, column] = values
        if order != "run":
            by_name = sorted(range(len(names)), key=names.__getitem__, reverse=order == "descending")
            names, of_runs = [names[row] for row in by_name], of_runs[by_name]
        doc_ids += names
        judged_rows += [row_in_qrels.get(name, -1) for name in names]
        scores.append(of_runs)
        sizes.append(len(names))
    # Documents without a judgment take row -1, which is the last one: the label 0, and no judgment.
    labels = np.append([] if qrels is None else qrels.labels, 0.0)[judged_rows]
    judgments = np.zeros(0) if qrels is None else qrels.labels if qrels.subtopics is None else qrels.subtopics
    unjudged = np.full((1, *judgments.shape[1:]), np.nan)
    return Pool(
        tags=tuple(run.tag for run in runs),
        query_ids=tuple(queries),
        qptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        doc_ids=object_array(doc_ids),
        scores=np.concatenate(scores) if scores else np.zeros((0, len(runs))),
        labels=np.maximum(labels, 0.0),
        judgments=np.concatenate([judgments, unjudged])[judged_rows],
    )
