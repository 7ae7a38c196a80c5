"""Evaluate many measures with one sort: `Prepared` for repeated use, `evaluate` for one call."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.errors import InputError
from directrix.measures.order import Ties, rank, trec_order
from directrix.threads import query_chunks, run_chunks
from directrix.types import Array, Float64Array, Int64Array

if TYPE_CHECKING:
    from directrix.measures.base import RankingMeasure
    from directrix.measures.convention import Convention

__all__ = ["Evaluation", "Prepared", "evaluate"]

_DOCS_PER_CHUNK = 1 << 15


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
        self._labels, self._qptr = _checked_labels(labels, qptr)
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
        checked = _checked_scores(scores, len(self._labels))
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
        with np.errstate(over="ignore"):
            # trec_eval reads scores as single precision: nearly equal ones are tied there
            single = scores.astype(np.float32).astype(np.float64)
        return single[self._rows], self._labels[self._rows]

    def _prepare_chunk(self, chunk: int) -> None:
        first, last = self._chunks[chunk], self._chunks[chunk + 1]
        lo, hi = self._qptr[first], self._qptr[last]
        local = self._qptr[first : last + 1] - lo
        for i, m in enumerate(self._measures):
            self._parts[chunk][i] = m.label_part(self._labels[lo:hi], local)


class Evaluation(dict[str, Any]):
    """What `evaluate` returns: a dict from the names of the measures to their values.

    Attributes
    ----------
    mean : dict of str to float
        Mean over the queries that the measure did not skip; NaN if it skipped all.
    skipped : dict of str to int
        Number of queries that the measure skipped.
    query_ids : tuple of hashable
        The queries, in the order of the arrays that ``per_query=True`` gives.
    """

    mean: dict[str, float]
    skipped: dict[str, int]
    query_ids: tuple[Hashable, ...]


def evaluate(  # noqa: PLR0913 - all but the first three are optional and by name
    measures: str | RankingMeasure | Iterable[str | RankingMeasure],
    scores: Any,
    labels: Any,
    *,
    qid: Any = None,
    qptr: Any = None,
    group: Any = None,
    doc_ids: Any = None,
    convention: str | Convention | None = None,
    per_query: bool = False,
) -> Evaluation:
    """Evaluate a ranking with one or more measures.

    Parameters
    ----------
    measures : str, measure, or several
        ``"nDCG@10"``, ``directrix.AP(rel=2)``, or a list of such.
    scores : float (n_docs,)
        Higher is better; -inf = not retrieved.
    labels : float (n_docs,)
        Relevance, >= 0.
    qid : hashables (n_docs,), optional
        Query of every document, in any order.
    qptr : int (n_queries + 1,), optional
        Query boundaries, instead of ``qid``.
    group : int (n_queries,), optional
        Sizes of the queries, instead of ``qid``. Without any of the three all documents are one query.
    doc_ids : sequence of str (n_docs,), optional
        Needed by ``ties="trec"`` (convention trec_eval, gdeval).
    convention : str or Convention, optional
        Evaluate all measures as this tool does; see `directrix.conventions`.
    per_query : bool
        False: the mean of each measure. True: its value for every query.

    Returns
    -------
    Evaluation
        ``{name: mean}``, or ``{name: float64 (n_queries,)}``; a dict, keyed by the names as
        they were given. Means leave out the queries that a measure skips; ``.skipped`` counts them.

    Raises
    ------
    InputError
        If a measure is not known or the arrays do not fit together.

    Notes
    -----
    Measures with the same tie rule share one sort: O(n log n) a query for all together.

    Examples
    --------
    >>> evaluate(["nDCG@10", "AP"], [0.2, 0.7, 0.1], [1, 0, 1], qid=["a", "a", "a"])
    {'nDCG@10': 0.6934264036172708, 'AP': 0.5833333333333333}
    """
    from directrix.measures.names import measure

    wanted = [measures] if not isinstance(measures, Iterable) or isinstance(measures, str) else list(measures)
    names = [m if isinstance(m, str) else measure(m).name for m in wanted]
    chosen = [measure(m) if convention is None else measure(m).under(convention) for m in wanted]
    rows, boundaries, query_ids = _queries(len(np.atleast_1d(np.asarray(scores))), qid, qptr, group)
    if rows is not None:
        scores, labels = np.asarray(scores)[rows], _take(labels, rows, "labels")
        doc_ids = None if doc_ids is None else _take(doc_ids, rows, "doc_ids")
    values = Prepared(chosen, labels, boundaries, doc_ids)(scores)
    mean: dict[str, float] = {}
    skipped: dict[str, int] = {}
    for name, value in zip(names, values, strict=True):
        there = value[~np.isnan(value)]
        mean[name] = float(there.mean()) if len(there) else float("nan")
        skipped[name] = len(value) - len(there)
    result = Evaluation(dict(zip(names, values, strict=True)) if per_query else mean)
    result.mean, result.skipped, result.query_ids = mean, skipped, query_ids
    return result


def _take(values: Any, rows: Int64Array, name: str) -> Array:
    array = np.asarray(values)
    if len(array) != len(rows):
        raise InputError(
            f"{name} has {len(array)} entries but scores has {len(rows)}; pass one for each document, "
            "in the same order."
        )
    return array[rows]


def _queries(
    n_docs: int, qid: Any, qptr: Any, group: Any
) -> tuple[Int64Array | None, Any, tuple[Hashable, ...]]:
    """Rows in grouped order (None = as they are), boundaries, and identifiers of the queries."""
    given = [name for name, value in (("qid", qid), ("qptr", qptr), ("group", group)) if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} were given; they say the same thing: pass only one of them.")
    if group is not None:
        qptr = np.concatenate([[0], np.cumsum(np.asarray(group, dtype=np.int64))])
    if qptr is not None:
        return None, qptr, tuple(range(len(qptr) - 1))
    if qid is None:
        return None, np.array([0, n_docs]), (0,)
    values = np.asarray(qid)
    if len(values) != n_docs:
        raise InputError(
            f"qid has {len(values)} entries but scores has {n_docs}; pass one query id for each document."
        )
    if values.dtype.kind in "iuU" and n_docs:
        starts = np.flatnonzero(np.append([True], values[1:] != values[:-1]))
        if len(np.unique(values[starts])) == len(starts):
            return None, np.append(starts, n_docs), tuple(values[starts].tolist())
    from directrix.data.queries import group_by_query

    return group_by_query(qid)


def _checked_labels(labels: Any, qptr: Any) -> tuple[Float64Array, Int64Array]:
    checked = np.ascontiguousarray(labels, dtype=np.float64)
    boundaries = np.ascontiguousarray(qptr, dtype=np.int64)
    if checked.ndim != 1:
        raise InputError(f"labels have shape {checked.shape}; one number for each document is needed.")
    if boundaries.ndim != 1 or len(boundaries) < 1 or boundaries[0] != 0 or boundaries[-1] != len(checked):
        raise InputError(
            f"qptr must run from 0 to the number of labels, {len(checked)}; it is {boundaries!r}. "
            "For query ids use directrix.evaluate(..., qid=qid)."
        )
    if (np.diff(boundaries) < 0).any():
        q = int(np.argmax(np.diff(boundaries) < 0))
        raise InputError(
            f"qptr falls at query {q}; boundaries must not decrease: np.cumsum of the query sizes."
        )
    if len(checked) and not (checked.min() >= 0.0 and checked.max() < np.inf):
        row = int(np.argmin((checked >= 0.0) & (checked < np.inf)))
        raise InputError(f"labels[{row}] is {checked[row]}; labels must be finite and >= 0.")
    return checked, boundaries


def _checked_scores(scores: Any, n_docs: int) -> Float64Array:
    checked = np.ascontiguousarray(scores, dtype=np.float64)
    if checked.shape != (n_docs,):
        raise InputError(
            f"scores have shape {checked.shape} but there are {n_docs} labels; one score for each is needed."
        )
    if n_docs and not checked.max() < np.inf:
        row = int(np.argmin(checked < np.inf))
        raise InputError(
            f"scores[{row}] is {checked[row]}; scores must be finite, or -inf for not retrieved."
        )
    return checked
