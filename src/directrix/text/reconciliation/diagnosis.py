"""What in the data makes numbers of tools differ: ties, order, duplicates, missing judgements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.pairs import KendallTau
from directrix.reports.tables import Table
from directrix.text.reconciliation.material import Material
from directrix.text.reconciliation.unjudged import Unjudged, unjudged_range
from directrix.types import Array

_SHOWN = 3
_TELLING = 0.02  # a share of pairs this far from one half is worth a remark


@dataclass(frozen=True)
class Diagnosis:
    """What in the data makes numbers of tools differ; part of the result of `reconcile`.

    Parameters
    ----------
    n_duplicates : int
        Documents that occur again in their query.
    duplicates : tuple of (query, document)
        The first of them.
    n_unjudged : int
        Retrieved documents without judgement, in judged queries.
    n_missing : int
        Judged documents that were not retrieved.
    queries_without_judgements, queries_not_ranked : int
        Queries of the ranking that nobody judged, and judged queries that the ranking lacks.
    queries_without_relevant : int
        Judged queries in which no label is above 0.
    tied_share : float
        Share of the retrieved documents whose score another document of the query has too.
    tied_queries : int
        Queries with such documents.
    file_order : float
        Share of the pairs of documents with different labels in which the one with the higher label comes
        first in the file; .5 if the order says nothing, NaN without such pairs.
    ties_from, ties_to : float
        The measure if all ties are broken in the worst and in the best order.
    unjudged : Unjudged or None
        What unjudged documents mean for the measure; None if there are none.
    """

    n_duplicates: int
    duplicates: tuple[tuple[Any, Any], ...]
    n_unjudged: int
    n_missing: int
    queries_without_judgements: int
    queries_not_ranked: int
    queries_without_relevant: int
    tied_share: float
    tied_queries: int
    file_order: float
    ties_from: float
    ties_to: float
    unjudged: Unjudged | None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about what deserves attention."""
        out = []
        if self.n_duplicates:
            some = ", ".join(f"{doc} in query {query}" for query, doc in self.duplicates)
            out.append(
                f"{self.n_duplicates:,} documents occur twice in their query ({some}): tools count them once, "
                "twice, or refuse them. Remove them first."
            )
        if self.tied_queries and abs(self.file_order - 0.5) > _TELLING:
            side = "high" if self.file_order > 0.5 else "low"  # noqa: PLR2004
            out.append(
                f"The file has documents with {side} labels first (in {100 * max(self.file_order, 1 - self.file_order):.0f} % of "
                "the pairs), and scores tie: a tool that breaks ties by the order of the file reads the labels "
                "there."
            )
        if self.queries_without_judgements:
            out.append(
                f"{self.queries_without_judgements:,} queries of the ranking have no judgements: some tools "
                "count them as 0, others leave them out."
            )
        if self.queries_not_ranked:
            out.append(
                f"{self.queries_not_ranked:,} judged queries are not in the ranking: trec_eval counts them as 0 "
                "with -c only."
            )
        return tuple(out)

    def tables(self) -> tuple[Table, ...]:
        """Return a table of the data, and one of unjudged documents if there are any."""
        rows = (
            ("documents twice in a query", self.n_duplicates),
            ("retrieved documents without judgement", self.n_unjudged),
            ("judged documents not retrieved", self.n_missing),
            ("queries without judgements", self.queries_without_judgements),
            ("judged queries not ranked", self.queries_not_ranked),
            ("queries without relevant documents", self.queries_without_relevant),
            ("share of retrieved documents that tie", self.tied_share),
            ("queries with ties", self.tied_queries),
            ("value with all ties in the worst order", self.ties_from),
            ("value with all ties in the best order", self.ties_to),
            ("pairs with the higher label first in the file", _finite(self.file_order)),
        )
        data = Table("The data", ("what", "value"), rows, digits=4)
        return (data,) if self.unjudged is None else (data, self.unjudged.table())

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON types."""
        return {
            "duplicates": self.n_duplicates,
            "duplicate_examples": [[str(query), str(doc)] for query, doc in self.duplicates],
            "unjudged_documents": self.n_unjudged,
            "missing_documents": self.n_missing,
            "queries_without_judgements": self.queries_without_judgements,
            "queries_not_ranked": self.queries_not_ranked,
            "queries_without_relevant": self.queries_without_relevant,
            "tied_share": self.tied_share,
            "tied_queries": self.tied_queries,
            "file_order": _finite(self.file_order),
            "ties_from": self.ties_from,
            "ties_to": self.ties_to,
            "unjudged": None if self.unjudged is None else self.unjudged.to_dict(),
            "remarks": list(self.remarks),
        }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def diagnose(measure: RankingMeasure, material: Material) -> Diagnosis:
    """Look for everything in the data that makes numbers differ."""
    both = material.ranked & material.judged
    in_both = both[material.query]
    labels, query = material.labels, material.query
    relevant = np.bincount(query, labels > 0.0, len(both)) > 0
    tied = _tied(material)
    pairs = _duplicates(material)
    low, high = _extremes_of_ties(measure, material)
    n_unjudged = int((material.unjudged & material.retrieved & in_both).sum())
    return Diagnosis(
        len(pairs),
        tuple(pairs[:_SHOWN]),
        n_unjudged,
        int((~material.retrieved).sum()),
        int((material.ranked & ~material.judged).sum()),
        int((material.judged & ~material.ranked).sum()),
        int((material.judged & ~relevant).sum()),
        float(tied.sum() / max(1, material.retrieved.sum())),
        len(np.unique(query[tied])),
        _file_order(material),
        low,
        high,
        unjudged_range(measure, material) if n_unjudged else None,
    )


def _tied(material: Material) -> Array:
    """Which retrieved documents share their score with another one of the query."""
    query, scores = material.query, material.scores
    order = np.lexsort((scores, query))
    ranked, of = scores[order], query[order]
    same = (ranked[1:] == ranked[:-1]) & (of[1:] == of[:-1]) & material.retrieved[order][1:]
    tied = np.zeros(len(scores), dtype=bool)
    tied[order[:-1]] |= same
    tied[order[1:]] |= same
    return tied


def _duplicates(material: Material) -> list[tuple[Any, Any]]:
    if material.doc_ids is None:
        return []
    seen: set[tuple[int, Any]] = set()
    out = []
    for query, doc in zip(material.query.tolist(), material.doc_ids.tolist(), strict=True):
        if (query, doc) in seen:
            out.append((material.query_ids[query], doc))
        seen.add((query, doc))
    return out


def _file_order(material: Material) -> float:
    """Share of pairs with different labels whose higher label comes first, over queries; NaN without any."""
    kept = material.retrieved
    qptr = np.append(0, np.cumsum(np.bincount(material.query[kept], minlength=len(material.qptr) - 1)))
    position = np.arange(qptr[-1], dtype=np.float64)
    labels = material.labels[kept]
    return _share_in_order(-position, labels, qptr)


def _share_in_order(scores: Array, labels: Array, qptr: Array) -> float:
    """Pairs in the order of their labels, over pairs of different labels, from tau-b of queries without ties."""
    tau = KendallTau()(scores, labels, qptr)
    pairs, weight = np.zeros(len(tau)), np.zeros(len(tau))
    for q in np.flatnonzero(~np.isnan(tau)).tolist():
        n = int(qptr[q + 1] - qptr[q])
        _, counts = np.unique(labels[qptr[q] : qptr[q + 1]], return_counts=True)
        total = n * (n - 1) / 2.0
        weight[q] = total - (counts * (counts - 1) / 2.0).sum()
        pairs[q] = 0.5 * (weight[q] + tau[q] * np.sqrt(total * weight[q]))
    return float(pairs.sum() / weight.sum()) if weight.sum() > 0.0 else float("nan")


def _extremes_of_ties(measure: RankingMeasure, material: Material) -> tuple[float, float]:
    """Values of the measure with all ties in the worst and in the best order."""
    both = material.ranked & material.judged
    rows = material.rows_of(both)
    qptr = np.append(0, np.cumsum(np.diff(material.qptr)[both]))
    ties = getattr(measure, "ties", None)
    lowest = replace(measure, ties="worst") if ties is not None else measure  # type: ignore[call-arg]
    highest = replace(measure, ties="order") if ties is not None else measure  # type: ignore[call-arg]
    judged = material.judgements if measure.sees != "labels" else material.labels
    best = rows[np.lexsort((-material.labels[rows], material.query[rows]))]
    return tuple(  # type: ignore[return-value]
        m.summary(m(material.scores[at], judged[at], qptr)) for m, at in ((lowest, rows), (highest, best))
    )
