"""What documents without a judgement mean for a measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.judged import JudgedRate
from directrix.reports.tables import Table
from directrix.text.reconciliation.material import Material
from directrix.types import Array, Float64Array

_DEPTH = 10  # of judged@k for a measure without a cut-off
_MOST_LABELLINGS = 512  # per query


@dataclass(frozen=True)
class Unjudged:
    """A measure with unjudged documents as not relevant, removed, and labelled for or against the ranking.

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
    """Evaluate a measure for every meaning of unjudged documents; None if it reads judgements itself."""
    if measure.sees != "labels":
        return None
    measure = _without_ids(measure, material)
    k = min(getattr(measure, "k", None) or _DEPTH, _DEPTH**6)
    both = np.flatnonzero(material.ranked & material.judged)
    highest = float(material.labels.max(initial=0.0)) or 1.0
    values = np.array([_of_query(measure, material, q, highest) for q in both.tolist()])
    rate = JudgedRate(k=k)
    rows = material.rows_of(material.ranked & material.judged)
    qptr = np.append(0, np.cumsum(np.diff(material.qptr)[both]))
    judged = rate(material.scores[rows], material.judgements[rows], qptr)
    means = [measure.summary(column) for column in values.T]
    return Unjudged(k, rate.summary(judged), *means)


def _without_ids(measure: RankingMeasure, material: Material) -> RankingMeasure:
    """Break ties in the order of the file where ids would be needed that there are not."""
    if getattr(measure, "ties", "") == "trec" and material.doc_ids is None:
        return replace(measure, ties="order")  # type: ignore[call-arg]
    return measure


def _of_query(measure: RankingMeasure, material: Material, q: int, highest: float) -> Float64Array:
    """Values of one query: not relevant, condensed, all relevant, worst, best."""
    span = slice(int(material.qptr[q]), int(material.qptr[q + 1]))
    scores, labels = material.scores[span], material.labels[span]
    ids = None if material.doc_ids is None else material.doc_ids[span]
    unknown = material.unjudged[span] & (scores > -np.inf)
    ranked = np.flatnonzero(unknown)[np.argsort(-scores[unknown], kind="stable")]

    kept = ~unknown
    condensed = measure(
        scores[kept], labels[kept], np.array([0, kept.sum()]), doc_ids=None if ids is None else ids[kept]
    )[0]
    counts = _counts(len(ranked))
    # of labellings with j relevant ones, those at the top are best and those at the bottom are worst
    tops = [ranked[:j] for j in counts]
    bottoms = [ranked[len(ranked) - j :] for j in counts]
    values = _of_labellings(measure, (scores, labels, ids), [*tops, *bottoms], highest)
    upper, lower = values[: len(counts)], values[len(counts) :]
    return np.array([upper[0], condensed, upper[-1], _least(lower), -_least(-upper)])


def _counts(n: int) -> list[int]:
    """Numbers of relevant documents to try: all, or evenly spaced if there are many."""
    if n < _MOST_LABELLINGS:
        return list(range(n + 1))
    return [int(j) for j in np.unique(np.linspace(0, n, _MOST_LABELLINGS).round())]


def _least(values: Array) -> float:
    return float("nan") if np.isnan(values).all() else float(np.nanmin(values))


def _of_labellings(
    measure: RankingMeasure, query: tuple[Array, Array, Array | None], relevant: list[Array], highest: float
) -> Float64Array:
    """Values of a query with each list of documents at the highest label."""
    scores, labels, ids = query
    n, copies = len(scores), len(relevant)
    changed = np.tile(labels, (copies, 1))
    for row, at in enumerate(relevant):
        changed[row, at] = highest
    doc_ids = None if ids is None else np.tile(ids, copies)
    qptr = np.arange(copies + 1) * n
    return measure(np.tile(scores, copies), changed.ravel(), qptr, doc_ids=doc_ids)
