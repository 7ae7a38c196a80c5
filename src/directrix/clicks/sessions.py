"""The arrays of a log of clicks: pairs of query and document, sessions, counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from directrix.data.grouping import object_array
from directrix.data.queries import Queries, need_queries
from directrix.types import Array, Int64Array


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of query and document of a log, grouped by query; a pair is known by its number.

    Parameters
    ----------
    query_ids : tuple of str, length n_queries
    qptr : int64 (n_queries + 1,)
        Query ``q`` owns the pairs ``qptr[q] <= i < qptr[q + 1]``.
    doc_ids : object array of str (n_pairs,)
    """

    query_ids: tuple[str, ...]
    qptr: Int64Array
    doc_ids: Array

    @classmethod
    def of_queries(cls, queries: Queries) -> Pairs:
        """Return the pairs of `Queries`, one per row; without ``doc_ids`` a document is named by its row."""
        need_queries(queries, "Pairs.of_queries")
        names = queries.rows.tolist() if queries.doc_ids is None else queries.doc_ids
        return cls(tuple(map(str, queries.query_ids)), queries.qptr, object_array(map(str, names)))

    def __len__(self) -> int:
        return len(self.doc_ids)

    @cached_property
    def query(self) -> Int64Array:
        """Number of the query of each pair (n_pairs,)."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.qptr))

    def queries(self, names: Iterable[str]) -> Int64Array:
        """Return the numbers of queries by name, or -1 (n_names,)."""
        of_name = {name: q for q, name in enumerate(self.query_ids)}
        return np.array([of_name.get(name, -1) for name in names], dtype=np.int64)

    def places(self, others: Pairs) -> Int64Array:
        """Return the number among these pairs of each pair of ``others``, or -1 (n_other_pairs,)."""
        if others is self:
            return np.arange(len(self))
        out = np.full(len(others), -1, dtype=np.int64)
        # Documents are looked up query by query, so that only one table is in memory at a time.
        for i, q in enumerate(self.queries(others.query_ids)):
            if q >= 0:
                docs = self.doc_ids[self.qptr[q] : self.qptr[q + 1]]
                place = dict(zip(docs, range(self.qptr[q], self.qptr[q + 1]), strict=True))
                for row in range(others.qptr[i], others.qptr[i + 1]):
                    out[row] = place.get(others.doc_ids[row], -1)
        return out


class Sessions(NamedTuple):
    """Result pages that users saw, with clicks: grouped by query, each by position.

    Session ``s`` has the rows ``ptr[s] <= i < ptr[s + 1]``. Optional arrays are None if the log lacks them.
    """

    ptr: Int64Array
    """Boundaries of sessions, int64 (n_sessions + 1,)."""
    query: Array
    """Number of the query, int32 (n_sessions,), not decreasing."""
    pair: Array
    """Number of the pair of query and document, int32 (n_rows,)."""
    position: Array
    """From 1, int16 (n_rows,), increasing within a session."""
    click: Array
    """bool (n_rows,)."""
    ids: Array | None = None
    """Identifiers of the sessions, object (n_sessions,)."""
    user: Array | None = None
    """Number of the user, int32 (n_sessions,)."""
    ranker: Array | None = None
    """Number in ``rankers`` of the ranker that was served, int32 (n_sessions,)."""
    rankers: tuple[str, ...] = ()
    """Names of the rankers."""
    time: Array | None = None
    """Time of the first row, of any type that the log has (n_sessions,)."""
    propensity: Array | None = None
    """In randomized lists, the probability of the document at its position after those above it. (n_rows,)"""
    examination: Array | None = None
    """Probability that the row is examined (n_rows,)."""

    @property
    def session(self) -> Int64Array:
        """Number of the session of each row (n_rows,)."""
        return np.repeat(np.arange(len(self.query)), np.diff(self.ptr))


class Cells(NamedTuple):
    """Counts of a log, one cell for each pair and position, in the order of pairs, then positions."""

    pair: Int64Array
    position: Int64Array
    impressions: Int64Array
    clicks: Int64Array

    def sums(self, by: Array, n: int) -> tuple[Array, Array]:
        """Return impressions and clicks by a number of each cell, in ``0 <= number < n``."""
        return np.bincount(by, self.impressions, n), np.bincount(by, self.clicks, n)
