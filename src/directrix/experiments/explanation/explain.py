"""`explain`: the features that a ranker depends on, and why a document has its rank.

A fitted ranker and queries go in. Importances, and reasons for the ranks of single documents, come out:

>>> import directrix as dx
>>> q, _ = dx.data.make_linear(20, 10, 2, seed=0)
>>> explain(dx.LinearRanker("ListNet").fit_queries(q, measure="AP"), q).importance.measure
'AP'
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from directrix.data.queries import Queries, need_queries
from directrix.errors import InputError
from directrix.experiments.explanation.effects import (
    Dependence,
    LeftOut,
    dependence,
    dependence_table,
    left_out,
)
from directrix.experiments.explanation.of_query import Advantage, OfQuery, RankedQuery
from directrix.experiments.importance import Importance, permutation_importance, sampled_queries
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.parameters import whole
from directrix.rankers.contributions import Contributions
from directrix.rankers.means import mean_over_queries
from directrix.tables import Table
from directrix.types import Progress

# Features are shuffled for this number of documents over all repeats. With more, the choice of queries is the
# larger source of noise.
_SHUFFLED = 200_000
# With few documents, a feature is shuffled at most this number of times.
_MOST_REPEATS = 5
# Of more features, only those whose first shuffle moves the scores most are examined.
_MOST_FEATURES = 1000
# Features become dense. This number of float64 values takes 2 GiB; of larger data a sample of the queries is
# used.
_MOST_CELLS = 1 << 28
# `Dependence` changes features in whole queries with about this number of documents.
_MOVED = 4_000
# The table of groups shows this number of features for each group.
_IN_GROUPS = 5
# The paths through trees are counted on about this number of documents.
_SEEN = 10_000


@dataclass(frozen=True)
class QueryGroup:
    """The importance of features for some of the queries.

    Parameters
    ----------
    name : str
    n_queries : int
    value : float
        Mean of the measure over them.
    mean : tuple of float
        Importance of every feature.
    intervals : tuple of (float, float)
        Interval of every feature, 95 %.
    """

    name: str
    n_queries: int
    value: float
    mean: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Result of `explain`.

    Parameters
    ----------
    importance : Importance
        Importance of all features.
    groups : tuple of QueryGroup
        The same for groups of queries.
    dependence : tuple of Dependence
        Dependence of the rank on the most important features.
    left_out : LeftOut or None
        Falls of the measure after training without them.
    ranker, queries
        As they were given.
    """

    importance: Importance
    groups: tuple[QueryGroup, ...]
    dependence: tuple[Dependence, ...]
    left_out: LeftOut | None
    ranker: Any = field(repr=False)
    queries: Queries = field(repr=False)

    @cached_property
    def _contributions(self) -> Contributions:
        return contributions_on(self.ranker, self.queries)

    def query(self, query: Hashable, *, top: int | None = 10) -> RankedQuery:
        """Return the first documents of a query with what each feature adds to their scores.

        Raises `InputError` if there is no such query, or the ranker is not one of directrix's.
        """
        return self._of(query).ranked(self._contributions, top)

    def pair(self, query: Hashable, first: Any, second: Any) -> Advantage:
        """Explain why one of two documents of a query is above the other; ``print`` shows one sentence.

        Raises `InputError` if there is no such query or document, or the ranker is not one of directrix's.
        """
        return self._of(query).advantage(self._contributions, first, second)

    def tables(self, top: int = 10) -> tuple[Table, ...]:
        """Return the tables of the ``top`` features: importance, ranks by values, groups of queries."""
        tables = [_importance_table(self, top)]
        if self.dependence:
            tables.append(dependence_table(self.dependence[:top]))
        if self.groups:
            names = self.importance.names
            rows = [
                (group.name, group.n_queries, group.value, names[j], group.mean[j], *group.intervals[j])
                for group in self.groups
                for j in self.importance.ranked[:_IN_GROUPS]
            ]
            heads = ("group", "queries", self.importance.measure, "feature", "importance", "low", "high")
            tables.append(Table("Groups of queries", heads, tuple(rows), digits=4))
        return tuple(tables)

    def to_dict(self) -> dict[str, Any]:
        """Return all results in JSON types; features are in the order of their importance."""
        importance, without = self.importance, self.left_out
        moves = {move.feature: move for move in self.dependence}
        features = []
        for j in importance.ranked:
            name = importance.names[j]
            row = {"feature": name, **_fall(float(importance.mean[j]), importance.interval(j))}
            if without is not None and j in without.columns:
                row["left_out"] = _fall(without.mean(j), without.interval(j))
            if name in moves:
                keys = ("values", "rank", "error", "own_rank")
                row["dependence"] = {key: getattr(moves[name], key) for key in keys}
                # Readers of JSON have no table of categories, so names replace their codes.
                row["dependence"] |= {"values": moves[name].categories} if moves[name].categories else {}
            features.append(row)
        groups = [
            {
                "group": group.name,
                "queries": group.n_queries,
                "value": group.value,
                "features": [
                    {"feature": importance.names[j], **_fall(group.mean[j], group.intervals[j])}
                    for j in importance.ranked
                ],
            }
            for group in self.groups
        ]
        head = {"measure": importance.measure, "value": importance.value}
        sizes = {"queries": importance.n_queries, "documents": importance.n_docs}
        return {**head, **sizes, "features": features, "groups": groups}

    def _of(self, query: Hashable) -> OfQuery:
        return OfQuery(self.ranker, self.queries, query, self.importance.names)


def explain(  # noqa: PLR0913
    ranker: Any,
    queries: Queries,
    measure: RankingMeasure | str | None = None,
    *,
    train: Queries | None = None,
    valid: Queries | None = None,
    groups: Mapping[Any, str] | None = None,
    top: int = 10,
    n_repeats: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Explanation:
    """Explain a ranker: importance of its features for a measure, their effect on ranks and scores.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    queries : Queries
        With labels, preferably queries that took no part in training.
    measure : measure or str, optional
        Default: the one that the ranker was trained for.
    train, valid : Queries, optional
        Training data of the ranker, to retrain it without each of the ``top`` features.
    groups : mapping of query to str, optional
        Names of groups of queries; queries that it lacks belong to none.
    top : int >= 0
        Number of features, the most important ones, whose effect on ranks is computed, and that are left out.
    n_repeats : int >= 1, optional
        Number of shuffles. Default 5; fewer for more than 40,000 documents, 1 from 200,000 on.
    seed : int >= 0
        Seed of the random numbers.
    progress : callable, optional
        Called with the number of finished training runs, their total, and the name of a feature.

    Raises
    ------
    InputError
        If there are no queries, the ranker cannot use the data, or ``groups`` names none of the queries.

    Notes
    -----
    Two redundant features are both important to this ranker, although either can be left out of the next one;
    see `permutation_importance`, and docs/decisions/experiments.md. With more than 1,000 features, only those
    that move the scores most are examined. Cost: one prediction per feature and repeat, 30 predictions of
    4,000 documents per feature of ``top``, and one training run for each of them.

    Examples
    --------
    >>> import numpy as np
    >>> import directrix as dx
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> q = dx.Queries.from_arrays(X, X[:, 0] > 0.5, group=[10] * 6, feature_names=["title", "length"])
    >>> explanation = dx.explain(dx.LinearRanker().fit_queries(q, measure="AP"), q)
    >>> explanation.importance.names[explanation.importance.ranked[0]]
    'title'
    >>> explanation.pair(0, 1, 2).documents  # the one above comes first
    ('1', '2')
    """
    need_queries(queries, "explain")
    whole(top, "top", least=0)
    goal = ranker.measure_ if measure is None else parse_measure(measure)
    importance = permutation_importance(ranker, queries, goal, seed=seed, **_extent(queries, n_repeats))
    chosen = importance.shown(top)
    # Ranks are computed once for each value of a feature, so few queries are used.
    few, names = sampled_queries(queries, _MOVED, seed), importance.names
    without = None
    if train is not None:
        without = left_out(ranker, queries, goal, chosen, names, (train, valid), progress)
    return Explanation(
        importance,
        () if groups is None else _grouped(importance, groups),
        tuple(dependence(ranker, few, j, names[j], seed) for j in chosen),
        without,
        ranker,
        queries,
    )


def _extent(q: Queries, n_repeats: int | None) -> dict[str, int]:
    """How much of the data is shuffled, and how often."""
    if n_repeats is None:
        n_repeats = min(max(_SHUFFLED // max(q.n_docs, 1), 1), _MOST_REPEATS)
    n_docs = max(_MOST_CELLS // max(q.n_features, 1), 1)
    return {"n_repeats": n_repeats, "n_features": _MOST_FEATURES, "n_docs": n_docs}


def _fall(mean: float, interval: tuple[float, float]) -> dict[str, Any]:
    return {"importance": mean, "interval": list(interval)}


def contributions_on(ranker: Any, q: Queries) -> Contributions:
    """Return the contributions of a ranker; paths through trees are counted on some of the queries."""
    return Contributions(ranker, sampled_queries(q, _SEEN, 0))


def _grouped(importance: Importance, groups: Mapping[Any, str]) -> tuple[QueryGroup, ...]:
    """Return the importances for each group, in the order of the names."""
    by_text = {str(query): name for query, name in groups.items()}
    names = [by_text.get(str(query)) for query in importance.query_ids]
    if not any(name is not None for name in names):
        example = next(iter(by_text), "")
        raise InputError(
            f"groups: none of the {len(names)} queries, {importance.query_ids[0]} to "
            f"{importance.query_ids[-1]}, has a group, though e.g. {example!r} has one; give the ids of "
            "these queries."
        )
    query_groups = []
    for name in sorted({name for name in names if name is not None}):
        rows = [i for i, of_query in enumerate(names) if of_query == name]
        columns = range(len(importance.names))
        mean = tuple(mean_over_queries(importance.falls[j, rows]) for j in columns)
        value = mean_over_queries(importance.values[rows])
        intervals = tuple(importance.interval(j, rows) for j in columns)
        query_groups.append(QueryGroup(name, len(rows), value, mean, intervals))
    return tuple(query_groups)


def _importance_table(explanation: Explanation, top: int) -> Table:
    """Return the importances, with what training without the features costs."""
    (table,), without = explanation.importance.tables(top), explanation.left_out
    if without is None:
        return table
    falls = [
        (without.mean(j), *without.interval(j)) if j in without.columns else (None,) * 3
        for j in explanation.importance.shown(top)
    ]
    note = f"left out: how far it falls from {without.value:.4f} when the ranker is trained without it."
    return replace(
        table,
        columns=(*table.columns, "fall", "low", "high"),
        groups=(("", 4), ("left out", 3)),
        rows=tuple((*row, *fall) for row, fall in zip(table.rows, falls, strict=True)),
        notes=(*table.notes, note),
    )
