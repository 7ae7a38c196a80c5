"""How much a measure depends on each feature: the fall when the values of the feature are shuffled."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from directrix.data.queries import Queries, need_queries
from directrix.data.sparse import dense
from directrix.errors import InputError, amount
from directrix.experiments.significance.pairs import t_interval
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.parameters import seed_number, whole
from directrix.rankers.contributions import reordered_scores
from directrix.rankers.means import evaluator_of, mean_and_error, mean_over_queries
from directrix.tables import Table
from directrix.types import Array, Float64Array

# Many features are first compared on a sample with about _CELLS values, and at least _FEWEST_DOCS documents.
_FEWEST_DOCS, _CELLS = 50, 50_000


@dataclass(frozen=True, eq=False)
class Importance:
    """Result of `permutation_importance`.

    Parameters
    ----------
    measure : str
        Name of the measure.
    value : float
        Mean of the measure over the queries that were used, with all features unchanged.
    names : tuple of str
        Names of all features; "feature 1", ... if they have none.
    mean, error : float64 (n_features,)
        The importance, in units of the measure, and its standard error over queries; NaN for features that
        were not examined, and the error where the queries do not tell it.
    n_queries, n_docs : int
        Size of the queries that were used.
    values : float64 (n_queries,)
        The measure of each of these queries; NaN where it is undefined.
    falls : float64 (n_features, n_queries)
        The importance for each of these queries.
    query_ids : tuple of hashable
        The queries that were used.
    n_given : int
        Number of queries from which these were drawn.
    """

    measure: str
    value: float
    names: tuple[str, ...]
    mean: Float64Array
    error: Float64Array
    n_queries: int
    n_docs: int
    values: Float64Array = field(repr=False)
    falls: Float64Array = field(repr=False)
    query_ids: tuple[Hashable, ...] = field(repr=False)
    n_given: int

    @property
    def ranked(self) -> list[int]:
        """Columns of the features that were examined, the most important first; ties keep their order."""
        examined = np.flatnonzero(~np.isnan(self.mean))
        return [int(j) for j in examined[np.argsort(-self.mean[examined], kind="stable")]]

    def interval(
        self, column: int, queries: Any = slice(None), *, confidence: float = 0.95
    ) -> tuple[float, float]:
        """Return the `t_interval` of the importance of a column, over some of the queries."""
        falls = self.falls[column, queries]
        return t_interval(falls, np.zeros_like(falls), confidence=confidence)

    @property
    def headline(self) -> str:
        """Sentence with up to three features that are important by more than chance.

        Their intervals are above 0 after Bonferroni's correction for the number of examined features.
        """
        joint = 1.0 - 0.05 / max(1, len(self.ranked))
        best = [self.names[j] for j in self.shown(3) if self.interval(j, confidence=joint)[0] > 0.0]
        if best:
            return f"most important: {', '.join(best)}"
        return f"no feature has an importance that is more than chance on {amount(self.n_queries, 'queries')}"

    def shown(self, top: int) -> list[int]:
        """Return the columns of the ``top`` features that make a difference, the most important first."""
        return [j for j in self.ranked if self.mean[j] or self.error[j] > 0.0][:top]

    def tables(self, top: int = 20) -> tuple[Table]:
        """Return the importances of the ``top`` features, with their intervals."""
        n_used = len(self.shown(len(self.names)))
        notes = [
            "importance: how far the measure falls when the values of the feature are shuffled within every "
            "query; low, high: 95 % interval over queries, for each feature alone; - if they do not tell it."
        ]
        if n_used < len(self.ranked):
            notes.append(f"{len(self.ranked) - n_used} of {len(self.ranked)} features make no difference.")
        if self.n_queries < self.n_given:
            notes.append(f"Measured on {self.n_queries} of {self.n_given} queries, drawn at random.")
        if len(self.ranked) < len(self.names):
            notes.append(f"Examined: the {len(self.ranked)} of {len(self.names)} that move the scores most.")
        sizes = f"{amount(self.n_queries, 'queries')}, {amount(self.n_docs, 'documents')}"
        table = Table(
            f"Importance of features for {self.measure}, {self.value:.4f} on {sizes}",
            ("feature", "importance", "low", "high"),
            tuple((self.names[j], float(self.mean[j]), *self.interval(j)) for j in self.shown(top)),
            notes=tuple(notes),
            digits=4,
        )
        return (table,)


def permutation_importance(  # noqa: PLR0913
    ranker: Any,
    q: Queries,
    measure: RankingMeasure | str | None = None,
    *,
    n_repeats: int = 5,
    top: int | None = None,
    n_features: int | None = None,
    n_docs: int | None = None,
    seed: int = 0,
) -> Importance:
    r"""Return the mean fall of a measure when the values of a feature are shuffled within every query.

    .. math:: I_j = \frac{1}{Q R} \sum_{q, r} \bigl( M_q(f(X)) - M_q(f(X^{(j, r)})) \bigr)

    :math:`M_q` is the measure of query q, f the ranker, and :math:`X^{(j, r)}` the features of q with column
    j in a random order. Any ranker can be examined; nothing is trained. A feature that the ranker does not
    use has importance 0, exactly.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    q : Queries
        Queries with labels, preferably those that took no part in training.
    measure : measure or str, optional
        Default: the one that the ranker was trained for.
    n_repeats : int >= 1
        R, the number of shuffles.
    top : int >= 1, optional
        Shuffle only this number of features ``n_repeats`` times, those whose first shuffle costs most;
        default all.
    n_features : int >= 1, optional
        Examine only those that move the scores most when shuffled, on some of the queries. Default: all.
    n_docs : int >= 1, optional
        Use whole queries, sampled at random, with about this number of documents. Default: all.
    seed : int >= 0
        Seed of the random numbers.

    Raises
    ------
    InputError
        If there are no queries, or the ranker cannot use the data.

    Notes
    -----
    The shuffle stays within the query, since only differences within a query affect the ranking. So a feature
    with one value per query has importance 0, even if a nonlinear ranker uses it together with others. Two
    redundant features share their importance, since each can replace the other
    (docs/decisions/experiments.md).

    Cost: one prediction and one evaluation for every feature and repeat. Features are scaled once; boosted
    trees are evaluated again only where the path of a row depends on the feature.

    References
    ----------
    Breiman (2001), Sect. 10, doi:10.1023/A:1010933404324; Fisher, Rudin & Dominici (2019), JMLR 20(177).

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import LinearRanker, Queries, experiments
    >>> X = np.random.default_rng(0).random((60, 2))
    >>> q = Queries.from_arrays(X, X[:, 0] > 0.5, group=[10] * 6)
    >>> result = experiments.permutation_importance(LinearRanker().fit_queries(q, measure="AP"), q)
    >>> result.ranked, bool(result.mean[0] > 10.0 * abs(result.mean[1]))
    ([0, 1], True)
    """
    _check(q, seed, n_repeats=n_repeats, top=top, n_features=n_features, n_docs=n_docs)
    goal = ranker.measure_ if measure is None else parse_measure(measure)
    few = sampled_queries(q, n_docs, seed)
    shuffles = _Shuffles(ranker, few, goal, seed)
    columns = range(q.n_features) if n_features is None else _moving(ranker, few, n_features, goal, seed)
    (mean, error), falls = np.full((2, q.n_features), np.nan), np.full((q.n_features, few.n_queries), np.nan)
    for j, of_repeats in _falls(shuffles, columns, n_repeats, top).items():
        falls[j] = np.mean(of_repeats, axis=0)
        mean[j], error[j] = mean_and_error(falls[j])
    value, names = mean_over_queries(shuffles.values), feature_labels(ranker, q)
    of_queries = few.n_queries, few.n_docs, shuffles.values, falls, tuple(few.query_ids), q.n_queries
    return Importance(goal.name, value, names, mean, error, *of_queries)


def _check(q: Queries, seed: int, **counts: int | None) -> None:
    need_queries(q, "permutation_importance")
    seed_number(seed)
    if not q.n_docs:
        raise InputError("permutation_importance got no documents; queries with labels are needed.")
    for name, count in counts.items():
        if count is not None:
            whole(count, name)


def _falls(
    shuffles: _Shuffles, columns: Iterable[int], n_repeats: int, top: int | None
) -> dict[int, list[Float64Array]]:
    """Falls by query for every shuffle of every column; those not among the ``top`` have one shuffle."""
    falls = {j: [shuffles.fall(j, 0)] for j in columns}
    first = {j: mean_over_queries(fall[0]) for j, fall in falls.items()}
    # The sort is stable, so features with equal falls keep their order and a seed gives the same features.
    for j in sorted(falls, key=lambda j: -np.nan_to_num(first[j]))[:top]:
        falls[j] += [shuffles.fall(j, repeat) for repeat in range(1, n_repeats)]
    return falls


class _Shuffles:
    """The queries, and how far the measure falls for each of them when a column is shuffled."""

    def __init__(self, ranker: Any, q: Queries, measure: RankingMeasure, seed: int) -> None:
        self._q, self._seed, self._reordered = q, seed, reordered_scores(ranker, q)
        self._query = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
        self._evaluate: Callable[[Float64Array], Float64Array] = evaluator_of(measure, q)
        self.scores: Float64Array = ranker.predict_queries(q)
        self.values = np.array(self._evaluate(self.scores))

    def fall(self, column: int, repeat: int) -> Float64Array:
        """Value of every query minus that after the shuffle; 0 where the scores stay the same."""
        scores = self.shuffled_scores(column, repeat)
        if np.array_equal(scores, self.scores):
            scores = self.scores
        fall: Float64Array = self.values - self._evaluate(scores)
        return fall

    def shuffled_scores(self, column: int, repeat: int) -> Float64Array:
        """Scores with the values of a column in a random order within every query."""
        rng = np.random.default_rng([self._seed, column, repeat])
        # Query numbers plus a fraction in [0, 1) sort the rows at random, but keep each row in its query.
        order = np.argsort(self._query + rng.random(len(self._query)), kind="stable")
        values = self._q.features[:, column]
        # A shuffle that changes no value needs no prediction.
        if np.array_equal(values[order], values, equal_nan=True):
            return self.scores
        return self._reordered(column, order)


def sampled_queries(q: Queries, n_docs: int | None, seed: int) -> Queries:
    """Whole queries with about ``n_docs`` documents, at least one, with dense features in memory."""
    if n_docs is not None and n_docs < q.n_docs:
        order = np.random.default_rng(seed).permutation(q.n_queries)
        count = int(np.searchsorted(np.cumsum(np.diff(q.qptr)[order]), n_docs)) + 1
        q = q.take(np.sort(order[:count]))
    return replace(q, features=np.ascontiguousarray(dense(q.features)))


def _moving(ranker: Any, q: Queries, n_features: int, measure: RankingMeasure, seed: int) -> list[int]:
    """The columns that move the scores most, in their order."""
    if n_features >= q.n_features:
        return list(range(q.n_features))
    sampled = sampled_queries(q, max(_FEWEST_DOCS, _CELLS // q.n_features), seed)
    shuffles = _Shuffles(ranker, sampled, measure, seed)
    moves: Array = np.array(
        [np.square(shuffles.shuffled_scores(j, 0) - shuffles.scores).mean() for j in range(q.n_features)]
    )
    return sorted(np.argsort(-moves, kind="stable")[:n_features].tolist())


def feature_labels(ranker: Any, q: Queries | None = None) -> tuple[str, ...]:
    """Return the feature names of the data, else those of the ranker, else "feature 1", ..."""
    names = getattr(q, "feature_names", None) or getattr(ranker, "feature_names_in_", None)
    if names is not None:
        return tuple(map(str, names))
    return tuple(f"feature {j + 1}" for j in range(ranker.n_features_in_ if q is None else q.n_features))
