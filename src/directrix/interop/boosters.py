"""`objective` for all boosters, and measures on their data, prepared once for all trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import check_group
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.names import measure as as_measure
from directrix.objectives.scores import ScoreObjective, newton_step
from directrix.rankers.means import mean_over_queries
from directrix.surrogates.base import FIRST_SHARE
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.types import Array, Float64Array, Int64Array


class GroupedRows(NamedTuple):
    """Labels, sizes of the queries, and weights of a data set of a booster; weights may be None."""

    labels: Array
    sizes: Array
    doc_weight: Array | None = None
    query_weight: Array | None = None

    def is_same(self, other: GroupedRows) -> bool:
        """Whether both are equal, so that results for the other remain valid."""
        return all(
            mine is theirs or (mine is not None and theirs is not None and np.array_equal(mine, theirs))
            for mine, theirs in zip(self, other, strict=True)
        )


# Number of data sets whose results are kept: training and validation data of some folds.
_DATA_SETS = 16


class Remembering:
    """Base of callables that cache their results for data sets, but not in copies and pickles."""

    _kept: tuple[tuple[GroupedRows, Any], ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    def _recall(self, rows: GroupedRows) -> Any:
        """Return the cached result for these rows, or None; cross-validation alternates between its folds."""
        return next((value for earlier, value in self._kept if rows.is_same(earlier)), None)

    def _keep(self, rows: GroupedRows, value: Any) -> None:
        others = tuple(entry for entry in self._kept if not rows.is_same(entry[0]))
        self._kept = ((rows, value), *others)[:_DATA_SETS]


class BoosterObjective(Remembering):
    """A surrogate as an objective of boosters; `objective` makes it."""

    def __init__(self, surrogate: Any, seed: int = 0) -> None:
        chosen = as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate
        if isinstance(chosen, type) or not hasattr(chosen, "value_and_grad"):
            raise InputError(
                f"objective({chosen!r:.80}): a surrogate is needed, an object with value_and_grad; type e.g. "
                "objective(directrix.ApproxNDCG(alpha=10))."
            )
        self.surrogate, self.seed = chosen, seed

    def __repr__(self) -> str:
        return f"objective({self.surrogate!r})"

    def __call__(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> tuple[Float64Array, Float64Array]:
        """Return gradient and curvature for (scores, data set), or (labels, scores, weight, group)."""
        scores, rows = scores_and_rows(first, second, weight, group)
        return self.at(scores, rows)

    def calc_ders_range(self, *_: Any) -> Any:
        """Reject the use as CatBoost's own objective."""
        raise InputError(
            "CatBoost calls an objective with parts of the rows and without groups, so no list is whole; "
            "type directrix.interop.catboost.boost(objective, X, y, group=sizes, ...)."
        )

    def at(self, scores: Any, rows: GroupedRows) -> tuple[Float64Array, Float64Array]:
        """Return gradient and curvature of the loss, each (n_docs,), in the unit of `newton_step`."""
        scores = np.asarray(scores, dtype=np.float64).ravel()
        # Equal scores mean the first tree, so a new objective starts from scores of 0.
        if scores.size and not np.ptp(scores):
            scores, kept = np.zeros(len(scores)), None
        else:
            kept = self._recall(rows)
        objective, trees = kept or (self._objective(rows), 0)
        self._keep(rows, (objective, trees + 1))
        _, grad, curvature = objective.value_grad_curvature(scores, self.seed, trees)
        return newton_step(grad, curvature)

    def _objective(self, rows: GroupedRows) -> ScoreObjective:
        q = _queries(rows, adds_gains=getattr(self.surrogate, "adds_gains", False))
        weights: dict[str, Any] = {"query_weight": rows.query_weight, "doc_weight": rows.doc_weight}
        return ScoreObjective(q, self.surrogate, **weights).with_share(FIRST_SHARE)


def objective(surrogate: Any, *, seed: int = 0) -> BoosterObjective:
    """Return a surrogate as an objective of LightGBM, XGBoost, or `directrix.interop.catboost.boost`.

    Parameters
    ----------
    surrogate : Surrogate or str
        Function that the trees maximize, e.g. ``ApproxNDCG()``, or its name.
    seed : int >= 0
        Seed of the noise of a stochastic surrogate, such as `YetiRank`.

    Returns
    -------
    callable
        For ``params={"objective": ...}`` of ``lightgbm.train``, ``LGBMRanker(objective=...)`` and ``obj=`` of
        ``xgboost.train`` (``XGBRanker`` rejects user-defined objectives). Labels, groups and weights are
        those of the data set. It can be pickled and cloned.

    Raises
    ------
    InputError
        If the argument is not a surrogate; when called, if the data have no groups; from
        ``CatBoost(loss_function=...)``, which cannot use it.

    Notes
    -----
    Gradient and curvature are those of `BoostedRanker`, in units of their mean curvature, so that thresholds
    such as ``min_child_weight`` count documents. With its settings (docs/how-to/other-tools.md) the trees of
    LightGBM are the same. The cost is that of the surrogate, on all threads of `set_threads`.

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> from directrix.interop.lightgbm import metric, objective
    >>> X, y = np.array([[0.0], [1.0]] * 20), np.array([0, 1] * 20)
    >>> data = lightgbm.Dataset(X, y, group=[4] * 10)
    >>> params = {"objective": objective("ApproxNDCG"), "verbose": -1, "num_threads": 1}
    >>> trees = lightgbm.train(params, data, num_boost_round=3)
    >>> metric("nDCG@10")(trees.predict(X), data)
    ('nDCG@10', 1.0, True)
    """
    return BoosterObjective(surrogate, seed)


class Value(Remembering):
    """Mean of a measure over the queries of the data of a booster.

    Parameters
    ----------
    measure : measure or str
    """

    def __init__(self, measure: Any) -> None:
        self.measure = as_measure(measure)
        self.__name__ = self.measure.name

    def __repr__(self) -> str:
        return f"metric({self.measure!r})"

    def of(self, scores: Any, rows: GroupedRows) -> float:
        """Return the mean; queries for which the measure is undefined do not count."""
        ready = self._recall(rows)
        if ready is None:
            labels = np.asarray(rows.labels, dtype=np.float64)
            ready = self.measure.prepare(labels, pointers(rows.sizes, len(labels)))
            self._keep(rows, ready)
        return mean_over_queries(ready(np.asarray(scores, dtype=np.float64).ravel())[0], rows.query_weight)


def scores_and_rows(
    first: Any, second: Any, weight: Any = None, group: Any = None
) -> tuple[Any, GroupedRows]:
    """Distinguish the calls of boosters: with (scores, data set), or (labels, scores, weight, group)."""
    # The argument is a DMatrix of XGBoost, whose weights are those of queries.
    if hasattr(second, "get_uint_info"):
        weights = second.get_weight()
        sizes = np.diff(second.get_uint_info("group_ptr"))
        return first, GroupedRows(second.get_label(), sizes, None, weights if len(weights) else None)
    if hasattr(second, "get_group"):
        return first, GroupedRows(second.get_label(), second.get_group(), second.get_weight())
    return second, GroupedRows(first, group, weight)


def pointers(sizes: Any, n_docs: int) -> Int64Array:
    """Return query boundaries from sizes, or raise `InputError` if there are none or they do not fit."""
    if sizes is None or not np.size(sizes):
        raise InputError(
            "the data have no groups, so there are no lists to rank; give the number of rows of every query, "
            "e.g. group=[20, 31, ...]."
        )
    return check_group(sizes, n_docs)


def _queries(rows: GroupedRows, *, adds_gains: bool) -> Queries:
    labels = np.asarray(rows.labels, dtype=np.float64)
    pointers(rows.sizes, len(labels))
    # Counts allow labels below 0, which estimated gains may have.
    counts = np.ones(len(labels)) if adds_gains else None
    return Queries.from_arrays(np.empty((len(labels), 0)), labels, group=rows.sizes, counts=counts)
