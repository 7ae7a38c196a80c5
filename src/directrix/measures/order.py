"""Ranks under a tie rule: one sort of every query, shared by all measures that use the same rule."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Float64Array, Int64Array

DOCS_PER_CHUNK = 1 << 15
"""A chunk's scores, labels and ranking fit into the cache that a core has for itself."""

Ties = Literal["expected", "order", "trec", "worst"]


class Ranking(NamedTuple):
    """Labels in the order of the ranking, with the groups of tied scores.

    Parameters
    ----------
    labels : float64 (n_docs,)
        Labels of every query by descending score.
    ends : int64 (n_docs,)
        At the first document of a tied group: where the group ends. Under every rule but
        ``"expected"`` each document is a group of its own.
    retrieved : int64 (n_queries,)
        Documents with a score above -inf; only these can earn anything.
    qptr : int64 (n_queries + 1,)
        Query boundaries, from 0.
    """

    labels: Float64Array
    ends: Int64Array
    retrieved: Int64Array
    qptr: Int64Array

    def under(self, ties: Ties) -> Ranking:
        """Return the ranking, sorted with its groups, under a rule: nothing is sorted by score again."""
        from directrix.measures._kernels.order import lowest_first

        if ties == "expected":
            return self
        labels = self.labels
        if ties == "worst":
            labels = np.empty(len(labels))
            lowest_first(self.labels, self.ends, labels)
        return self._replace(labels=labels, ends=np.arange(1, len(labels) + 1))


def rank(scores: Float64Array, labels: Float64Array, qptr: Int64Array, ties: Ties = "expected") -> Ranking:
    """Sort every query by descending score.

    Parameters
    ----------
    scores : float64 (n_docs,)
        Finite, or -inf for a document that was not retrieved.
    labels : float64 (n_docs,)
        Labels, >= 0.
    qptr : int64 (n_queries + 1,)
        Query boundaries, starting at 0.
    ties : {"expected", "order", "trec", "worst"}
        What becomes of tied documents: one group; input order; input order too, so the
        caller must have brought them into `trec_order`; lowest label first.

    Returns
    -------
    Ranking

    Notes
    -----
    O(n log n) a query; the arrays are not checked.
    """
    from directrix.measures._kernels.order import rank_documents

    ranked = np.empty(len(labels))
    ends = np.empty(len(labels), dtype=np.int64)
    retrieved = np.empty(len(qptr) - 1, dtype=np.int64)
    rank_documents(scores, labels, qptr, ranked, ends, retrieved)
    return Ranking(ranked, ends, retrieved, qptr).under(ties)


def trec_order(doc_ids: Any, qptr: Int64Array) -> Int64Array:
    """Rows such that, within every query, document ids descend.

    A stable sort by score after it breaks ties as trec_eval does (``strcmp``, descending).

    Parameters
    ----------
    doc_ids : sequence of str (n_docs,), or None
        Identifiers; ids that are not strings are compared as their text.
    qptr : int64 (n_queries + 1,)
        Query boundaries.

    Returns
    -------
    int64 (n_docs,)

    Raises
    ------
    InputError
        If there are no ids, or not one for each document.
    """
    if doc_ids is None:
        raise InputError(
            'ties="trec" breaks ties by document id, but no ids were given; pass doc_ids=, '
            'or use another rule, e.g. ties="expected".'
        )
    ids = _texts(doc_ids)
    if len(ids) != qptr[-1]:
        raise InputError(
            f"doc_ids has {len(ids)} entries but there are {qptr[-1]} documents; "
            "pass one id for each score, in the same order."
        )
    from directrix.measures._kernels.order import ids_descending

    letters = ids.view(np.uint32).reshape(len(ids), ids.dtype.itemsize // 4)
    rows = np.empty(len(ids), dtype=np.int64)
    chunks = query_chunks(qptr, DOCS_PER_CHUNK)

    def work(chunk: int) -> None:
        ids_descending(letters, qptr, chunks[chunk], chunks[chunk + 1], rows)

    run_chunks(work, len(chunks) - 1)
    return rows


def _texts(doc_ids: Any) -> Array:
    """Identifiers as an array of text in the machine's byte order: one code point in each four bytes."""
    if not isinstance(doc_ids, np.ndarray) or doc_ids.dtype.kind != "U" or doc_ids.ndim != 1:
        doc_ids = np.array([str(i) for i in doc_ids], dtype=np.str_)
    return np.ascontiguousarray(doc_ids, dtype=doc_ids.dtype.newbyteorder("="))
