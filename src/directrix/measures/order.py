"""Ranks under a tie rule: one sort of every query, shared by all measures that use the same rule."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.errors import NO_ITEMS, InputError
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Float64Array, Int64Array

DOCS_PER_CHUNK = 1 << 15
"""A chunk's scores, labels and ranking fit into the cache that a core has for itself."""

Ties = Literal["expected", "order", "trec", "ranx", "worst"]


class Ranking(NamedTuple):
    """Labels in the order of the ranking, with the groups of tied scores."""

    labels: Float64Array
    """Labels of every query by descending score (n_docs,)."""
    ends: Int64Array
    """At the first document of a tied group: where the group ends (n_docs,).

    Under every rule but ``"expected"`` each document is a group of its own.
    """
    retrieved: Int64Array
    """Documents with a score above -inf; only these can earn anything (n_queries,)."""
    qptr: Int64Array
    """Query boundaries, from 0 (n_queries + 1,)."""

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
    """Sort every query by descending score, which is finite, or -inf for a document that was not retrieved.

    Tied documents are one group under ``ties="expected"``, lowest label first under "worst", and otherwise in
    input order: for "trec" and "ranx" the caller must have brought them into `trec_order` or `ranx_order`.

    O(n log n) per query; the arrays are not checked, and ``qptr`` starts at 0.
    """
    from directrix.measures._kernels.order import rank_documents

    ranked = np.empty(len(labels))
    ends = np.empty(len(labels), dtype=np.int64)
    retrieved = np.empty(len(qptr) - 1, dtype=np.int64)
    rank_documents(scores, labels, qptr, ranked, ends, retrieved)
    return Ranking(ranked, ends, retrieved, qptr).under(ties)


def ranx_order(scores: Float64Array, qptr: Int64Array) -> Int64Array:
    """Rows of every query in the order of ranx, which depends on all scores of the query; `qptr` from 0."""
    from directrix.measures._kernels.order import rows_of_ranx

    rows = np.empty(len(scores), dtype=np.int64)
    rows_of_ranx(scores, qptr, rows)
    return rows


def trec_order(doc_ids: Any, qptr: Int64Array) -> Int64Array:
    """Rows such that, within every query, document ids descend.

    A stable sort by score after it breaks ties as trec_eval does (``strcmp``, descending). Identifiers that
    are not strings are compared as their text; `InputError` if there are none, or not one for each document.
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
        try:
            doc_ids = np.array([str(i) for i in doc_ids], dtype=np.str_)
        except NO_ITEMS as error:
            raise InputError(f"doc_ids: {error}; one identifier for each document is needed.") from None
    return np.ascontiguousarray(doc_ids, dtype=doc_ids.dtype.newbyteorder("="))
