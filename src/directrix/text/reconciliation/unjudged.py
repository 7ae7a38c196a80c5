"""What documents without a judgment mean for a measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.judged import JudgedRate
from directrix.measures.prepared import trec_order
from directrix.measures.terms import query_sums
from directrix.tables import Table
from directrix.text.reconciliation.material import Material
from directrix.types import Array, Float64Array, Int64Array

_DEPTH = 10  # of judged@k for a measure without a cut-off
_MOST_LABELLINGS = 501  # from the top, and from the bottom, for each query
_DOCS_AT_ONCE = 1 << 21


@dataclass(frozen=True)
class Unjudged:
    """A measure with unjudged documents as not relevant, removed, and labeled for or against the ranking.

    Parameters
    ----------
    k : int
        Depth of ``judged_rate``: the cut-off of the measure, 10 if it has none.
    judged_rate : float
        Mean share of judged documents among the first k.
    not_relevant : float
        The measure with unjudged documents as not relevant.
    condensed : float
        The measure on condensed lists: unjudged documents removed (Sakai 2007).
    relevant : float
        The measure with all retrieved unjudged documents at the highest label.
    worst, best : float
        The lowest and highest value if each unjudged document has the label 0 or the highest one.
    """

    k: int
    judged_rate: float
    not_relevant: float
    condensed: float
    relevant: float
    worst: float
    best: float

    def table(self) -> Table:
        """Return the values as a table."""
        rows = (
            (f"judged@{self.k}", self.judged_rate),
            ("not relevant", self.not_relevant),
            ("removed (condensed lists)", self.condensed),
            ("all with the highest label", self.relevant),
            ("worst case", self.worst),
            ("best case", self.best),
        )
        return Table(
            "The measure by what unjudged documents are", ("unjudged documents", "value"), rows, digits=4
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the values in JSON types."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def unjudged_range(measure: RankingMeasure, material: Material) -> Unjudged | None:
    """Evaluate a measure for every meaning of unjudged documents; None if it reads judgments itself.

    For a query with u unjudged documents 2(u + 1) labelings are ranked, of more than 500 a sample: of those
    with the same number of relevant documents the one at the top is best, and the one at the bottom worst.
    """
    if measure.sees != "labels":
        return None
    measure, lists = _lists(measure, material)
    highest = float(lists.labels.max(initial=0.0)) or 1.0
    known = ~lists.unknown
    qptr = np.append(0, np.cumsum(query_sums(known.astype(np.float64), lists.qptr))).astype(np.int64)
    condensed = measure(lists.scores[known], lists.labels[known], qptr)
    values = np.concatenate(list(_of_queries(measure, lists, highest)))
    rate = JudgedRate(k=getattr(measure, "k", None) or _DEPTH)
    judged = rate(lists.scores, np.where(lists.unknown, np.nan, lists.labels), lists.qptr)
    not_relevant, relevant, worst, best = (measure.summary(column) for column in values.T)
    return Unjudged(
        int(rate.k or _DEPTH),
        rate.summary(judged),
        not_relevant,
        measure.summary(condensed),
        relevant,
        worst,
        best,
    )


class _Lists(NamedTuple):
    """Rankings of the judged queries; ``unknown`` are retrieved documents without judgment."""

    scores: Float64Array
    labels: Float64Array
    unknown: Array
    qptr: Int64Array


def _lists(measure: RankingMeasure, material: Material) -> tuple[RankingMeasure, _Lists]:
    """Return the judged queries in an order in which ties by document id are ties in the order given."""
    both = material.ranked & material.judged
    rows, qptr = material.rows_of(both), np.append(0, np.cumsum(np.diff(material.qptr)[both]))
    scores = material.scores[rows]
    if getattr(measure, "ties", "") == "trec":
        measure = replace(measure, ties="order")  # type: ignore[call-arg]
        scores = scores.astype(np.float32).astype(np.float64)  # as trec_eval reads them
        if material.doc_ids is not None:
            order = trec_order(material.doc_ids[rows], qptr)
            rows, scores = rows[order], scores[order]
    unknown = material.unjudged[rows] & (scores > -np.inf)
    return measure, _Lists(scores, material.labels[rows], unknown, qptr)


def _of_queries(measure: RankingMeasure, lists: _Lists, highest: float) -> Iterator[Float64Array]:
    """Values of the queries, some at a time: not relevant, all relevant, worst, best."""
    waiting: list[tuple[Float64Array, Float64Array]] = []
    n_docs = 0
    for q, (first, last) in enumerate(pairwise(lists.qptr.tolist())):
        labels = _labelings(lists, slice(first, last), highest)
        waiting.append((np.tile(lists.scores[first:last], len(labels)), labels))
        n_docs += labels.size
        if n_docs > _DOCS_AT_ONCE or q == len(lists.qptr) - 2:
            yield _extremes(measure, waiting)
            waiting, n_docs = [], 0


def _labelings(lists: _Lists, span: slice, highest: float) -> Float64Array:
    """Labels of a query with j unjudged documents relevant, from the top, then from the bottom."""
    unknown = lists.unknown[span]
    ranked = np.flatnonzero(unknown)[np.argsort(-lists.scores[span][unknown], kind="stable")]
    counts = np.unique(np.linspace(0, len(ranked), min(len(ranked) + 1, _MOST_LABELLINGS)).round())
    place = np.arange(len(ranked))
    labels = np.tile(lists.labels[span], (2 * len(counts), 1))
    labels[: len(counts), ranked] = highest * (place < counts[:, None])
    labels[len(counts) :, ranked] = highest * (place >= len(ranked) - counts[:, None])
    return labels


def _extremes(measure: RankingMeasure, queries: list[tuple[Float64Array, Float64Array]]) -> Float64Array:
    """Values of the first, the last, the worst and the best labeling of each query."""
    sizes = np.concatenate([np.full(len(labels), labels.shape[1]) for _, labels in queries])
    scores = np.concatenate([scores for scores, _ in queries])
    labels = np.concatenate([labels.ravel() for _, labels in queries])
    values = measure(scores, labels, np.append(0, np.cumsum(sizes)))
    out, start = [], 0
    for _, of_query in queries:
        upper, lower = np.split(values[start : start + len(of_query)], 2)
        out.append([upper[0], upper[-1], np.fmin.reduce(lower), np.fmax.reduce(upper)])
        start += len(of_query)
    return np.array(out)
