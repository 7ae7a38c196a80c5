"""Measures made ready: labels checked, ideal rankings known, one sort shared by all of one tie rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.data.validate import check_labels, check_qptr, check_ranking
from directrix.errors import InputError
from directrix.measures.order import Ties, rank, trec_order
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, Int64Array

if TYPE_CHECKING:
    from directrix.measures.base import RankingMeasure

__all__ = ["Prepared"]

_DOCS_PER_CHUNK = 1 << 15
_LARGEST_SINGLE = float(np.finfo(np.float32).max)


class Prepared:
    """Measures with everything that depends on the labels alone already done.

    Parameters
    ----------
    measures : sequence of measures
        Those with the same tie rule share one sort.
    labels : float (n_docs,)
        Relevance, >= 0.
    qptr : int64 (n_queries + 1,)
        Query boundaries.
    doc_ids : sequence of str (n_docs,), or None
        Needed by ``ties="trec"`` only.
    """

    def __init__(
        self, measures: Sequence[RankingMeasure], labels: Any, qptr: Any, doc_ids: Any = None
    ) -> None:
        self._measures = tuple(measures)
        self._qptr = check_qptr(qptr, np.size(labels), "labels")
        self._labels = check_labels(labels, qptr=self._qptr)
        highest = float(self._labels.max(initial=0.0))
        for m in self._measures:
            m.check_labels(highest)
        self._chunks = query_chunks(self._qptr, _DOCS_PER_CHUNK)
        self._by_rule: dict[Ties, list[int]] = {}
        for i, m in enumerate(self._measures):
            self._by_rule.setdefault(m.tie_rule, []).append(i)
        self._rows = trec_order(doc_ids, self._qptr) if "trec" in self._by_rule else None
        nothing: list[Float64Array | None] = [None] * len(self._measures)
        self._parts = [nothing.copy() for _ in self._chunks[1:]]
        run_chunks(self._prepare_chunk, len(self._chunks) - 1)

    def __call__(self, scores: Any) -> list[Float64Array]:
        """Value of every query under every measure.

        Parameters
        ----------
        scores : float (n_docs,)
            Higher is better; -inf = not retrieved.

        Returns
        -------
        list of float64 (n_queries,)
            One array a measure, NaN where it skips the query.

        Raises
        ------
        InputError
            If there is not one score for each label, or a score is NaN or +inf.
        """
        checked = _checked_scores(scores, self._labels, self._qptr)
        values = [np.empty(len(self._qptr) - 1) for _ in self._measures]
        by_rule = {rule: self._arranged(rule, checked) for rule in self._by_rule}

        def work(chunk: int) -> None:
            first, last = self._chunks[chunk], self._chunks[chunk + 1]
            lo, hi = self._qptr[first], self._qptr[last]
            local = self._qptr[first : last + 1] - lo
            for rule, members in self._by_rule.items():
                arranged, labels = by_rule[rule]
                ranking = rank(arranged[lo:hi], labels[lo:hi], local, rule)
                for i in members:
                    values[i][first:last] = self._measures[i].of_ranking(ranking, self._parts[chunk][i])

        run_chunks(work, len(self._chunks) - 1)
        return values

    def _arranged(self, rule: Ties, scores: Float64Array) -> tuple[Float64Array, Float64Array]:
        if rule != "trec" or self._rows is None:
            return scores, self._labels
        # trec_eval reads scores as single precision: nearly equal ones are tied there, and those beyond
        # its range are; only -inf itself means that a document was not retrieved
        single = np.clip(scores, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32).astype(np.float64)
        single[np.isneginf(scores)] = -np.inf
        return single[self._rows], self._labels[self._rows]

    def _prepare_chunk(self, chunk: int) -> None:
        first, last = self._chunks[chunk], self._chunks[chunk + 1]
        lo, hi = self._qptr[first], self._qptr[last]
        local = self._qptr[first : last + 1] - lo
        for i, m in enumerate(self._measures):
            self._parts[chunk][i] = m.label_part(self._labels[lo:hi], local)


def _checked_scores(scores: Any, labels: Float64Array, qptr: Int64Array) -> Float64Array:
    given = np.asarray(scores)
    if given.dtype.kind == "f" and given.shape == labels.shape and (not len(given) or given.max() < np.inf):
        return np.ascontiguousarray(given, dtype=np.float64)
    # anything unusual gets the full check, whose message names the row and the query
    checked = check_ranking(scores, labels, qptr, allow_infinite=True)[0].astype(np.float64)
    if (checked == np.inf).any():
        row = int(np.argmax(checked == np.inf))
        raise InputError(
            f"scores[{row}] is inf; finite scores are needed, or -inf for a document that was not retrieved. "
            f"Find such rows with numpy.flatnonzero(numpy.isposinf(scores))."
        )
    return checked
