"""`Queries`: documents of many queries as flat arrays with query boundaries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.types import Array, Float64Array, Int64Array

__all__ = ["Queries"]


@dataclass(frozen=True, eq=False)
class Queries:
    """Features and labels of the documents of many queries, grouped by query.

    Arrays are read-only. Build one with `from_arrays` or `directrix.read_letor`.

    Parameters
    ----------
    features : float32 or float64 (n_docs, n_features), C-contiguous, or CSR array
        Features of every document; all documents of a query are contiguous.
    labels : float64 (n_docs,)
        Relevance labels, >= 0, higher is better.
    qptr : int64 (n_queries + 1,)
        Query ``q`` owns rows ``qptr[q] <= i < qptr[q + 1]``.
    query_ids : tuple of hashable, length n_queries
        Identifiers of the queries, in the order of ``qptr``.
    doc_ids : object array (n_docs,), or None
        Identifiers of the documents.
    feature_names : tuple of str, or None
        Names of the columns.
    rows : int64 (n_docs,)
        For each document here, its row in the arrays that were passed in.
    """

    features: Any
    labels: Float64Array
    qptr: Int64Array
    query_ids: tuple[Hashable, ...]
    doc_ids: Array | None
    feature_names: tuple[str, ...] | None
    rows: Int64Array

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.qptr[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.qptr) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.features.shape[1])

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        qid: Iterable[Hashable] | None = None,
        doc_ids: Iterable[str] | None = None,
        feature_names: Iterable[str] | None = None,
    ) -> Queries:
        """Group rows by query, stably, and freeze the arrays.

        Parameters
        ----------
        X : array, frame or sparse matrix (n_docs, n_features)
            Features. float32 and float64 are kept, other types become float64.
        y : array (n_docs,)
            Labels, >= 0.
        qid : hashables, length n_docs, or None
            Query of every row, in any order and of any hashable type; ``None`` = one query.
        doc_ids, feature_names : sequences of str, or None
            Identifiers of rows and names of columns.
        """
        labels = np.asarray(y, dtype=np.float64)
        features = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        if features.dtype not in (np.float32, np.float64):
            features = features.astype(np.float64)
        rows, qptr, query_ids = group_by_query(np.zeros(len(labels), dtype=np.int64) if qid is None else qid)
        if not np.array_equal(rows, np.arange(len(rows))):
            features, labels = features[rows], labels[rows]
        if not sp.issparse(features):
            features = np.ascontiguousarray(features)
        names = None if feature_names is None else tuple(feature_names)
        docs = None if doc_ids is None else np.asarray(list(doc_ids), dtype=object)[rows]
        return cls(features, labels, qptr, query_ids, docs, names, rows)

    def take(self, queries: Any) -> Queries:
        """Return the given queries (positions, in the order given) as new `Queries`."""
        queries = np.asarray(queries, dtype=np.int64)
        spans = [np.arange(self.qptr[q], self.qptr[q + 1]) for q in queries]
        index = np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)
        return Queries(
            self.features[index],
            self.labels[index],
            np.concatenate([[0], np.cumsum(np.diff(self.qptr)[queries])]).astype(np.int64),
            tuple(self.query_ids[q] for q in queries),
            None if self.doc_ids is None else self.doc_ids[index],
            self.feature_names,
            np.arange(len(index)),
        )

    def restore(self, per_doc: Array) -> Array:
        """Put values of documents (in the order held here) back into the order of the input rows."""
        out = np.empty_like(per_doc)
        out[self.rows] = per_doc
        return out


def group_by_query(qid: Any) -> tuple[Int64Array, Int64Array, tuple[Hashable, ...]]:
    """Group rows by query, stably; queries in order of first appearance.

    Parameters
    ----------
    qid : sequence of hashables (n_docs,)
        Query of every row.

    Returns
    -------
    rows : int64 (n_docs,)
        Row of the input at each grouped place; ``arange(n_docs)`` if already grouped.
    qptr : int64 (n_queries + 1,)
        Boundaries in the grouped order.
    query_ids : tuple of hashable
        One per query.
    """
    place: dict[Hashable, int] = {}
    values = qid.tolist() if hasattr(qid, "tolist") else list(qid)
    codes = np.fromiter((place.setdefault(v, len(place)) for v in values), dtype=np.int64, count=len(values))
    rows = np.argsort(codes, kind="stable").astype(np.int64)
    qptr = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(place)))]).astype(np.int64)
    return rows, qptr, tuple(place)
