"""The ranking of one query, or two of its documents, explained by contributions of features."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.frames import Categories
from directrix.data.queries import Queries
from directrix.data.sparse import dense
from directrix.errors import InputError, short_text
from directrix.rankers.contributions import Contributions
from directrix.tables import Table, Value
from directrix.types import Array, Float64Array

# A sentence or a row of a table names at most this number of features.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class RankedQuery:
    """The documents of a query, the best first, with what each feature adds to their scores.

    Parameters
    ----------
    query : hashable
    names : tuple of str
        Names of the features.
    documents : tuple of str
        Their identifiers, or else their positions in the data, from 1.
    labels, scores : float64 (n_docs,)
    values : float64 (n_docs, n_features)
        Features as they are in the data.
    contributions : float64 (n_docs, n_features)
        Each row adds up to the score minus the mean score of the query; see `Contributions`.
    categories : Categories, optional
    """

    query: Hashable
    names: tuple[str, ...]
    documents: tuple[str, ...]
    labels: Float64Array
    scores: Float64Array
    values: Array
    contributions: Float64Array
    categories: Categories | None = None

    def tables(self, top: int | None = None) -> tuple[Table]:
        """Return the first documents, each with the features that contribute most to its score."""
        rows = []
        ranked = zip(self.documents, self.labels, self.scores, self.values, self.contributions, strict=True)
        for place, (document, label, score, values, shares) in enumerate(list(ranked)[:top], start=1):
            most = [
                f"{self.names[f]} {shares[f]:+.3g} ({shown_value(values[f], f, self.categories)})"
                for f in contributing(shares)[:_NAMED]
            ]
            rows.append((place, document, f"{label:g}", float(score), ", ".join(most)))
        table = Table(
            f"Query {self.query}: the first {len(rows)} documents",
            ("rank", "document", "label", "score", "what contributes most (its value)"),
            tuple(rows),
            notes=(
                "A contribution is what the feature adds to the score, compared with the documents of the "
                "query; those of a document add up to its score minus their mean score.",
            ),
            digits=4,
        )
        return (table,)

    def to_dict(self) -> dict[str, Any]:
        """Return it in JSON types; features that do not contribute are left out."""
        rows = zip(self.documents, self.labels, self.scores, self.values, self.contributions, strict=True)
        return {
            "query": self.query,
            "documents": [
                {
                    "document": document,
                    "label": float(label),
                    "score": float(score),
                    "features": [
                        {
                            "feature": self.names[f],
                            "contribution": float(shares[f]),
                            "value": named_value(values[f], f, self.categories),
                        }
                        for f in contributing(shares)
                    ],
                }
                for document, label, score, values, shares in rows
            ],
        }


@dataclass(frozen=True, eq=False)
class Advantage:
    """Explanation of why one document is above another: what each feature adds to the score difference.

    Parameters
    ----------
    query : hashable
    names : tuple of str
        Names of the features.
    documents : (str, str)
        The one above, and the one below.
    ranks : (int, int)
    scores : (float, float)
    values : float64 (2, n_features)
        Their features.
    contributions : float64 (n_features,)
        They add up to the difference of the scores.
    categories : Categories, optional
    """

    query: Hashable
    names: tuple[str, ...]
    documents: tuple[str, str]
    ranks: tuple[int, int]
    scores: tuple[float, float]
    values: Array
    contributions: Float64Array
    categories: Categories | None = None

    def tables(self, top: int | None = None) -> tuple[Table]:
        """Return what each feature adds to the difference of the two documents."""
        (above, below), shown, rest = self.documents, self.ranked[:top], self.ranked[len(self.ranked[:top]) :]
        rows: list[tuple[Value, ...]] = [
            (
                self.names[f],
                float(self.contributions[f]),
                *(shown_value(value, f, self.categories, 6) for value in self.values[:, f]),
            )
            for f in shown
        ]
        # The features that are not shown have one row, so that the rows add up to the difference.
        if rest:
            rows.append((f"{len(rest)} others", float(self.contributions[rest].sum()), "", ""))
        rows.append(("score", self.scores[0] - self.scores[1], *(f"{score:.6g}" for score in self.scores)))
        heads = (
            "feature",
            "contribution",
            f"{above} (rank {self.ranks[0]})",
            f"{below} (rank {self.ranks[1]})",
        )
        return (Table(str(self), heads, tuple(rows), digits=4),)

    def to_dict(self) -> dict[str, Any]:
        """Return it in JSON types; features that do not contribute are left out."""
        (above, below), (first, second) = self.documents, self.ranks
        return {
            "query": self.query,
            "above": {"document": above, "rank": first, "score": self.scores[0]},
            "below": {"document": below, "rank": second, "score": self.scores[1]},
            "features": [
                {
                    "feature": self.names[f],
                    "contribution": float(self.contributions[f]),
                    "above": named_value(self.values[0, f], f, self.categories),
                    "below": named_value(self.values[1, f], f, self.categories),
                }
                for f in self.ranked
            ],
        }

    @property
    def ranked(self) -> list[int]:
        """Features with a contribution, by decreasing magnitude."""
        return contributing(self.contributions)

    def __str__(self) -> str:
        above, below = self.documents
        gap = self.scores[0] - self.scores[1]
        if not gap:
            return f"{above} and {below} have the same score."
        reasons = [
            f"{self.names[f]} {self.contributions[f]:+.3g} "
            f"({' against '.join(shown_value(value, f, self.categories) for value in self.values[:, f])})"
            for f in self.ranked[:_NAMED]
        ]
        rest = len(self.ranked) - len(reasons)
        more = f", and {rest} more" if rest else ""
        return f"{above} is above {below} by {gap:.3g}: {', '.join(reasons)}{more}."


def named_value(value: float, column: int, categories: Categories | None) -> float | str:
    """Return a value of a feature; for a category, its name."""
    names = None if categories is None else categories[column]
    return float(value) if names is None or np.isnan(value) else names[int(value)]


def shown_value(value: float, column: int, categories: Categories | None, digits: int = 4) -> str:
    """Return `named_value` as text."""
    named = named_value(value, column, categories)
    return named if isinstance(named, str) else f"{named:.{digits}g}"


def contributing(contributions: Float64Array) -> list[int]:
    """Return the features that contribute, by decreasing magnitude."""
    order = np.argsort(-np.abs(contributions), kind="stable")
    return [int(f) for f in order if contributions[f] != 0.0]


class OfQuery:
    """One query of some data: scores, order, and names of its documents."""

    def __init__(self, ranker: Any, q: Queries, query: Hashable, names: tuple[str, ...]) -> None:
        # A query may be given as text, as the shell does, where the data have numbers.
        places = [i for i, other in enumerate(q.query_ids) if other == query or str(other) == str(query)]
        if not places:
            first, last = q.query_ids[0], q.query_ids[-1]
            raise InputError(
                f"there is no query {short_text(query)}; the data have {q.n_queries} queries, {first} to "
                f"{last}. Give one of them."
            )
        self.q, self._names = q.take(places[:1]), names
        self._scores: Float64Array = ranker.predict_queries(self.q)
        ids = self.q.doc_ids
        self._ids = tuple(map(str, range(1, self.q.n_docs + 1) if ids is None else ids))
        self._order = np.argsort(-self._scores, kind="stable")

    def ranked(self, contributions: Contributions, top: int | None) -> RankedQuery:
        """Return the first documents, each compared with all documents of the query."""
        rows = self._order[:top]
        shares = contributions.of(self.q, rows, slice(None))
        return RankedQuery(
            self.q.query_ids[0],
            self._names,
            tuple(self._ids[i] for i in rows),
            self.q.labels[rows],
            self._scores[rows],
            self._values(rows),
            shares,
            self.q.categories,
        )

    def advantage(self, contributions: Contributions, first: str, second: str) -> Advantage:
        """Explain why one of two documents is above the other."""
        places = [self._place(document) for document in (first, second)]
        ranks = [int(np.flatnonzero(self._order == i)[0]) + 1 for i in places]
        if ranks[0] == ranks[1]:
            raise InputError(f"{first} and {second} are the same document; give two of one query.")
        # The document with the better rank comes first, in whatever order they were given.
        (high, a), (low, b) = sorted(zip(ranks, places, strict=True))
        return Advantage(
            self.q.query_ids[0],
            self._names,
            (self._ids[a], self._ids[b]),
            (high, low),
            (float(self._scores[a]), float(self._scores[b])),
            self._values(np.array([a, b])),
            contributions.of(self.q, [a], [b])[0],
            self.q.categories,
        )

    def _place(self, document: object) -> int:
        name = str(document)
        if name not in self._ids:
            raise InputError(
                f"query {self.q.query_ids[0]} has no document {short_text(name)}; it has {len(self._ids)}: "
                f"{', '.join(self._ids[:3])}, ... Give two of them."
            )
        return self._ids.index(name)

    def _values(self, rows: Array) -> Array:
        return dense(self.q.features[rows])
