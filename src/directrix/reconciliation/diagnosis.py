"""Causes in the data for differences between tools: ties, order, duplicates, missing judgments."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.judged import JudgedRate
from directrix.measures.pairs import KendallTau
from directrix.measures.prepared import trec_order
from directrix.measures.terms import query_sums
from directrix.reconciliation.material import Material
from directrix.tables import Table, json_value
from directrix.types import Array, Float64Array

# Cut-off of judged@k for a measure without one.
_DEPTH = 10
# Number of labelings that are examined from the top, and again from the bottom, for each query.
_MOST_LABELINGS = 501
# This number of duplicates is kept as examples.
_SHOWN = 3
# A share of pairs is reported if it differs from one half by this much.
_TELLING = 0.02


@dataclass(frozen=True)
class Unjudged:
    """A measure with unjudged documents as not relevant, removed, or labeled for or against the ranking."""

    k: int
    """Depth of ``judged_rate``: the cut-off of the measure, 10 if it has none."""
    judged_rate: float
    """Mean share of judged documents among the first k."""
    not_relevant: float
    """The measure with unjudged documents as not relevant."""
    condensed: float
    """The measure on condensed lists: unjudged documents removed (Sakai 2007)."""
    relevant: float
    """The measure with all retrieved unjudged documents at the highest label."""
    worst: float
    """The lowest value if each unjudged document has label 0 or the highest label."""
    best: float
    """The highest such value."""

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


def unjudged_range(measure: RankingMeasure, material: Material) -> Unjudged | None:
    """Evaluate a measure for every meaning of unjudged documents; None if it reads judgments itself.

    For a query with u unjudged documents, 2(u + 1) labelings are evaluated, or a sample if there are more
    than 500. For a given number of relevant documents, the best labeling has them at the top, and the worst
    at the bottom.
    """
    if measure.sees != "labels":
        return None
    rows, qptr = material.rows_of_both()
    scores = material.scores[rows]
    if measure.tie_rule == "trec":
        # The measure ranks documents in the order in which they are given.
        measure = replace(measure, ties="order")  # type: ignore[call-arg]
        # Scores are rounded as trec_eval reads them.
        scores = scores.astype(np.float32).astype(np.float64)
        if material.doc_ids is not None:
            order = trec_order(material.doc_ids[rows], qptr)
            rows, scores = rows[order], scores[order]
    labels, unknown = material.labels[rows], material.unjudged[rows] & (scores > -np.inf)
    highest = float(labels.max(initial=0.0)) or 1.0
    condensed_qptr = np.append(0, np.cumsum(query_sums((~unknown).astype(np.float64), qptr)))
    condensed = measure(scores[~unknown], labels[~unknown], condensed_qptr.astype(np.int64))
    extremes = [
        _extremes(measure, scores[first:last], labels[first:last], unknown[first:last], highest)
        for first, last in pairwise(qptr.tolist())
    ]
    not_relevant, relevant, worst, best = map(measure.summary, np.array(extremes).T)
    k = getattr(measure, "k", None) or _DEPTH
    rate = JudgedRate(k=k)
    share = rate.summary(rate(scores, np.where(unknown, np.nan, labels), qptr))
    return Unjudged(k, share, not_relevant, measure.summary(condensed), relevant, worst, best)


def _extremes(
    measure: RankingMeasure, scores: Float64Array, labels: Float64Array, unknown: Array, highest: float
) -> tuple[float, ...]:
    """Return the values of a query with unjudged documents not relevant, relevant, at worst and at best."""
    ranked = np.flatnonzero(unknown)[np.argsort(-scores[unknown], kind="stable")]
    counts = np.unique(np.linspace(0, len(ranked), min(len(ranked) + 1, _MOST_LABELINGS)).round())
    place, n = np.arange(len(ranked)), len(counts)
    # The first half has the relevant documents at the top of the ranking, the second half at the bottom.
    labelings = np.tile(labels, (2 * n, 1))
    labelings[:n, ranked] = highest * (place < counts[:, None])
    labelings[n:, ranked] = highest * (place >= len(ranked) - counts[:, None])
    qptr = np.arange(2 * n + 1) * len(scores)
    upper, lower = np.split(measure(np.tile(scores, 2 * n), labelings.ravel(), qptr), 2)
    return upper[0], upper[-1], np.fmin.reduce(lower), np.fmax.reduce(upper)


@dataclass(frozen=True)
class Diagnosis:
    """Causes in the data for differences between tools; part of the result of `reconcile`."""

    duplicates: int
    """Documents that occur more than once in a query."""
    duplicate_examples: tuple[tuple[Any, Any], ...]
    """The first of them."""
    unjudged_documents: int
    """Retrieved documents without judgment, in judged queries."""
    missing_documents: int
    """Judged documents that were not retrieved."""
    queries_without_judgments: int
    """Queries of the ranking without judgments."""
    queries_not_ranked: int
    """Judged queries that the ranking lacks."""
    queries_without_relevant: int
    """Judged queries in which no label is above 0."""
    tied_documents: int
    """Retrieved documents that tie with another document of the query."""
    tied_share: float
    """Their share of the retrieved documents."""
    tied_queries: int
    """Queries with such documents."""
    tied_pairs: int
    """Pairs of tied documents with different labels."""
    file_order: float
    """Share of these pairs in which the document with the higher label comes first in the file; .5 if the
    order is uninformative, NaN without such pairs."""
    ties_from: float
    """The measure if all ties are broken in the worst order."""
    ties_to: float
    """The measure if all ties are broken in the best order."""
    unjudged: Unjudged | None
    """Effect of unjudged documents on the measure; None if there are none."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on causes that deserve attention."""
        out = []
        if self.duplicates:
            some = ", ".join(f"{doc} in query {query}" for query, doc in self.duplicate_examples)
            out.append(
                f"Documents that occur again in their query: {self.duplicates:,} ({some}). Tools "
                "count them once, twice, or reject them; remove them first."
            )
        lead = self.file_order - 0.5
        # The limit is three standard errors: of tau, for many pairs of few documents, and of a share of
        # independent pairs.
        if self.tied_pairs and abs(lead) > max(
            _TELLING, self.tied_documents**-0.5, 1.5 * self.tied_pairs**-0.5
        ):
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
            ("documents twice in a query", self.duplicates),
            ("retrieved documents without judgment", self.unjudged_documents),
            ("judged documents not retrieved", self.missing_documents),
            ("queries without judgments", self.queries_without_judgments),
            ("judged queries not ranked", self.queries_not_ranked),
            ("queries without relevant documents", self.queries_without_relevant),
            ("share of retrieved documents that tie", self.tied_share),
            ("queries with ties", self.tied_queries),
            ("value with all ties in the worst order", self.ties_from),
            ("value with all ties in the best order", self.ties_to),
            ("tied pairs with different labels", self.tied_pairs),
            ("share of them with the higher label first in the file", json_value(self.file_order)),
        )
        data = Table("The data", ("what", "value"), rows, digits=4)
        return (data,) if self.unjudged is None else (data, self.unjudged.table())

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON types."""
        examples = [[str(query), str(doc)] for query, doc in self.duplicate_examples]
        shown = asdict(self) | {"duplicate_examples": examples, "remarks": self.remarks}
        return dict(json_value(shown))


def diagnose(measure: RankingMeasure, material: Material) -> Diagnosis:
    """Find everything in the data that makes numbers differ."""
    query, ranked, has_judgments = material.query, material.ranked, material.judged
    relevant = np.bincount(query, material.labels > 0.0, len(material.qptr) - 1) > 0
    tied, duplicates = material.tied(), _duplicates(material)
    tied_pairs, file_order = _order_of_tied(material, tied)
    ties_from, ties_to = _extremes_of_ties(measure, material)
    unjudged = int((material.unjudged & material.retrieved & material.both[query]).sum())
    return Diagnosis(
        duplicates=len(duplicates),
        duplicate_examples=tuple(duplicates[:_SHOWN]),
        unjudged_documents=unjudged,
        missing_documents=int((~material.retrieved).sum()),
        queries_without_judgments=int((ranked & ~has_judgments).sum()),
        queries_not_ranked=int((has_judgments & ~ranked).sum()),
        queries_without_relevant=int((has_judgments & ~relevant).sum()),
        tied_documents=int(tied.sum()),
        tied_share=float(tied.sum() / max(1, material.retrieved.sum())),
        tied_queries=len(np.unique(query[tied])),
        tied_pairs=tied_pairs,
        file_order=file_order,
        ties_from=ties_from,
        ties_to=ties_to,
        unjudged=unjudged_range(measure, material) if unjudged else None,
    )


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
        # No positions tie, so tau-b is (in order - out of order) / sqrt(total * different).
        in_order += 0.5 * (different + float(tau[group]) * np.sqrt(total * different))
    return round(n_pairs), in_order / n_pairs if n_pairs else float("nan")


def _extremes_of_ties(measure: RankingMeasure, material: Material) -> tuple[float, float]:
    """Return the values of the measure with all ties in the worst and in the best order."""
    rows, qptr = material.rows_of_both()
    ties = getattr(measure, "ties", None)
    in_order = measure if ties is None else replace(measure, ties="order")  # type: ignore[call-arg]
    judgments = material.judgments if measure.sees != "labels" else material.labels
    values = []
    for sign in (1.0, -1.0):
        # With the rule "order", ties are ranked in this order of the labels.
        at = rows[np.lexsort((sign * material.labels[rows], material.query[rows]))]
        values.append(measure.summary(in_order(material.scores[at], judgments[at], qptr)))
    return values[0], values[1]
