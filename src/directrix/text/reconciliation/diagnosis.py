"""What in the data makes numbers of tools differ: ties, order, duplicates, missing judgments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.pairs import KendallTau
from directrix.tables import Table
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
        Retrieved documents without judgment, in judged queries.
    n_missing : int
        Judged documents that were not retrieved.
    queries_without_judgments, queries_not_ranked : int
        Queries of the ranking that nobody judged, and judged queries that the ranking lacks.
    queries_without_relevant : int
        Judged queries in which no label is above 0.
    n_tied : int
        Retrieved documents whose score another document of the query has too.
    tied_share : float
        Their share of the retrieved documents.
    tied_queries : int
        Queries with such documents.
    tied_pairs : int
        Pairs of tied documents with different labels.
    file_order : float
        Share of these pairs in which the document with the higher label comes first in the file; .5 if the
        order says nothing, NaN without such pairs.
    ties_from, ties_to : float
        The measure if all ties are broken in the worst and in the best order.
    unjudged : Unjudged or None
        What unjudged documents mean for the measure; None if there are none.
    """

    n_duplicates: int
    duplicates: tuple[tuple[Any, Any], ...]
    n_unjudged: int
    n_missing: int
    queries_without_judgments: int
    queries_not_ranked: int
    queries_without_relevant: int
    n_tied: int
    tied_share: float
    tied_queries: int
    tied_pairs: int
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
                f"Documents that occur again in their query: {self.n_duplicates:,} ({some}). Tools "
                "count them once, twice, or refuse them; remove them first."
            )
        lead = self.file_order - 0.5
        # 3 standard errors, of tau for many pairs of few documents, and of a share of independent pairs
        if self.tied_pairs and abs(lead) > max(_TELLING, self.n_tied**-0.5, 1.5 * self.tied_pairs**-0.5):
            side = "higher" if lead > 0.0 else "lower"
            out.append(
                f"Of {self.tied_pairs:,} pairs of tied documents with different labels, the {side} label "
                f"comes first in the file in {100 * (0.5 + abs(lead)):.0f} %: a tool that breaks ties by the "
                "order of the file reads the labels from it."
            )
        if self.queries_without_judgments:
            out.append(
                f"Queries of the ranking without judgments: {self.queries_without_judgments:,}. Some tools "
                "count them as 0, others leave them out."
            )
        if self.queries_not_ranked:
            out.append(
                f"Judged queries that are not in the ranking: {self.queries_not_ranked:,}. trec_eval "
                "counts them as 0 with -c only."
            )
        return tuple(out)

    def tables(self) -> tuple[Table, ...]:
        """Return a table of the data, and one of unjudged documents if there are any."""
        rows = (
            ("documents twice in a query", self.n_duplicates),
            ("retrieved documents without judgment", self.n_unjudged),
            ("judged documents not retrieved", self.n_missing),
            ("queries without judgments", self.queries_without_judgments),
            ("judged queries not ranked", self.queries_not_ranked),
            ("queries without relevant documents", self.queries_without_relevant),
            ("share of retrieved documents that tie", self.tied_share),
            ("queries with ties", self.tied_queries),
            ("value with all ties in the worst order", self.ties_from),
            ("value with all ties in the best order", self.ties_to),
            ("tied pairs with different labels", self.tied_pairs),
            ("share of them with the higher label first in the file", _finite(self.file_order)),
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
            "queries_without_judgments": self.queries_without_judgments,
            "queries_not_ranked": self.queries_not_ranked,
            "queries_without_relevant": self.queries_without_relevant,
            "tied_documents": self.n_tied,
            "tied_share": self.tied_share,
            "tied_queries": self.tied_queries,
            "tied_pairs": self.tied_pairs,
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
    n_pairs, file_order = _order_of_tied(material, tied)
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
        int(tied.sum()),
        float(tied.sum() / max(1, material.retrieved.sum())),
        len(np.unique(query[tied])),
        n_pairs,
        file_order,
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


def _order_of_tied(material: Material, tied: Array) -> tuple[int, float]:
    """Pairs of tied documents with different labels; share of them whose higher label comes first."""
    rows = np.flatnonzero(tied)
    rows = rows[np.lexsort((rows, material.scores[rows], material.query[rows]))]
    scores, query = material.scores[rows], material.query[rows]
    changes = (scores[1:] != scores[:-1]) | (query[1:] != query[:-1])
    qptr = np.unique(np.concatenate([[0], np.flatnonzero(changes) + 1, [len(rows)]]))
    labels = material.labels[rows]
    tau = KendallTau()(-np.arange(len(rows), dtype=np.float64), labels, qptr)
    n_pairs = in_order = 0.0
    for group in np.flatnonzero(~np.isnan(tau)).tolist():
        n = int(qptr[group + 1] - qptr[group])
        _, counts = np.unique(labels[qptr[group] : qptr[group + 1]], return_counts=True)
        total = n * (n - 1) / 2.0
        different = total - float((counts * (counts - 1) / 2.0).sum())
        n_pairs += different
        # tau-b is (in order - out of order) / sqrt(total * different), since no positions tie
        in_order += 0.5 * (different + float(tau[group]) * np.sqrt(total * different))
    return round(n_pairs), in_order / n_pairs if n_pairs else float("nan")


def _extremes_of_ties(measure: RankingMeasure, material: Material) -> tuple[float, float]:
    """Values of the measure with all ties in the worst and in the best order."""
    both = material.ranked & material.judged
    rows = material.rows_of(both)
    qptr = np.append(0, np.cumsum(np.diff(material.qptr)[both]))
    ties = getattr(measure, "ties", None)
    in_order = measure if ties is None else replace(measure, ties="order")  # type: ignore[call-arg]
    judged = material.judgments if measure.sees != "labels" else material.labels
    values = []
    for sign in (1.0, -1.0):
        at = rows[np.lexsort((sign * material.labels[rows], material.query[rows]))]
        values.append(measure.summary(in_order(material.scores[at], judged[at], qptr)))
    return values[0], values[1]
