"""Measures made ready: labels checked, ideal rankings known, one sort shared by all."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from directrix.data.validate import check_labels, check_qptr, check_ranking
from directrix.errors import InputError
from directrix.measures.order import DOCS_PER_CHUNK, Ranking, Ties, rank, trec_order
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, FloatArray, Int64Array

_LARGEST_SINGLE = float(np.finfo(np.float32).max)


class IdsNeeded(InputError):
    """Documents of a query tie, and the identifiers that would put them in order were not given."""

    query: int
    """Number of the query."""
    rows: Int64Array
    """Its first group of tied documents (n_tied,)."""

    @classmethod
    def of_query(cls, query: int, rows: Int64Array, name: Hashable = None) -> IdsNeeded:
        """Make the error; ``name`` is what the message calls the query."""
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        error = cls(
            f"query {query if name is None else name}: the documents in rows {shown} have the same score in "
            'single precision; ties="trec" orders them by their ids, but no ids were given.',
            python='Pass doc_ids=, or use another rule, e.g. ties="expected".',
            shell="Add `# docid = X` to every line of the data, or break ties otherwise: AP(ties=expected).",
        )
        error.query, error.rows = query, rows
        return error


class Prepared:
    """Measures with everything that depends on the labels alone already done.

    The measures, of the class `directrix.measures.RankingMeasure`, share one sort, but for those that break
    ties by document id, which have their own. ``doc_ids`` are for ``ties="trec"``, and needed only where
    documents of a query tie.
    """

    def __init__(self, measures: Sequence[Any], labels: Any, qptr: Any, doc_ids: Any = None) -> None:
        self._measures = tuple(measures)
        self._qptr = check_qptr(qptr, np.size(labels), "labels")
        self._labels = check_labels(labels, qptr=self._qptr)
        highest = float(self._labels.max(initial=0.0))
        for m in self._measures:
            m.check_labels(highest)
        self._chunks = query_chunks(self._qptr, DOCS_PER_CHUNK)
        self._sorts: dict[bool, dict[Ties, list[int]]] = {}  # whether by document id; rule; measures
        for i, m in enumerate(self._measures):
            rule = m.tie_rule
            self._sorts.setdefault(rule == "trec", {}).setdefault(rule, []).append(i)
        self._rows: Int64Array | None = None  # in the order of the ids
        if True in self._sorts and doc_ids is not None:
            self._rows = trec_order(doc_ids, self._qptr)
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
            One array per measure, NaN where it skips the query.

        Raises
        ------
        InputError
            If there is not one score for each label, a score is NaN or +inf, or documents tie whose order
            depends on ids that were not given.
        """
        checked = _checked_scores(scores, self._labels, self._qptr)
        values = [np.empty(len(self._qptr) - 1) for _ in self._measures]

        def work(chunk: int) -> None:
            first, last = self._chunks[chunk], self._chunks[chunk + 1]
            lo, hi = self._qptr[first], self._qptr[last]
            local = self._qptr[first : last + 1] - lo
            parts = self._parts[chunk]
            for by_id, rules in self._sorts.items():
                chosen, labels = (self._by_id if by_id else self._in_order)(checked, lo, hi)
                ranking = rank(chosen, labels, local)
                if by_id and self._rows is None:
                    self._check_no_ties(ranking, chosen, int(first))
                for rule, members in rules.items():
                    resolved = ranking.under(rule)
                    for i in members:
                        values[i][first:last] = self._measures[i].of_ranking(resolved, parts[i])

        run_chunks(work, len(self._chunks) - 1)
        return values

    def _in_order(self, scores: FloatArray, lo: int, hi: int) -> tuple[Float64Array, Float64Array]:
        return np.ascontiguousarray(scores[lo:hi], dtype=np.float64), self._labels[lo:hi]

    def _by_id(self, scores: FloatArray, lo: int, hi: int) -> tuple[Float64Array, Float64Array]:
        rows = np.arange(lo, hi) if self._rows is None else self._rows[lo:hi]
        chosen = scores[rows].astype(np.float64, copy=False)  # float16 does not reach those bounds
        # trec_eval reads scores as single precision: nearly equal ones are tied there, and those beyond
        # its range are; only -inf itself means that a document was not retrieved
        single = np.clip(chosen, -_LARGEST_SINGLE, _LARGEST_SINGLE).astype(np.float32).astype(np.float64)
        single[np.isneginf(chosen)] = -np.inf
        return single, self._labels[rows]

    def _check_no_ties(self, ranking: Ranking, scores: Float64Array, first: int) -> None:
        """Raise `IdsNeeded` at the first query of a chunk in which retrieved documents tie."""
        from directrix.measures._kernels.order import group_starts

        starts = np.zeros(len(scores), dtype=np.bool_)
        group_starts(ranking.ends, starts)
        sizes = np.diff(ranking.qptr)
        place = np.arange(len(scores)) - np.repeat(ranking.qptr[:-1], sizes)
        tied = ~starts & (place < np.repeat(ranking.retrieved, sizes))
        if tied.any():
            q = int(np.searchsorted(ranking.qptr, np.argmax(tied), side="right")) - 1
            in_query = scores[ranking.qptr[q] : ranking.qptr[q + 1]]
            score, count = np.unique(in_query[in_query > -np.inf], return_counts=True)
            rows = self._qptr[first + q] + np.flatnonzero(in_query == score[count > 1][-1])
            raise IdsNeeded.of_query(first + q, rows)

    def _prepare_chunk(self, chunk: int) -> None:
        first, last = self._chunks[chunk], self._chunks[chunk + 1]
        lo, hi = self._qptr[first], self._qptr[last]
        local = self._qptr[first : last + 1] - lo
        known: dict[Hashable, Float64Array | None] = {}
        for i, m in enumerate(self._measures):
            if m.label_key not in known:
                known[m.label_key] = m.label_part(self._labels[lo:hi], local)
            self._parts[chunk][i] = known[m.label_key]


def _checked_scores(scores: Any, labels: Float64Array, qptr: Int64Array) -> FloatArray:
    given = np.asarray(scores)
    if given.dtype.kind == "f" and given.shape == labels.shape and (not len(given) or given.max() < np.inf):
        return given
    # anything unusual gets the full check, whose message names the row and the query
    checked = check_ranking(scores, labels, qptr, allow_infinite=True)[0].astype(np.float64)
    if (checked == np.inf).any():
        row = int(np.argmax(checked == np.inf))
        raise InputError(
            f"scores[{row}] is inf; finite scores are needed, or -inf for a document that was not retrieved. "
            f"Find such rows with numpy.flatnonzero(numpy.isposinf(scores))."
        )
    return checked
