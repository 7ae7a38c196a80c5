"""Surrogates and measures for CatBoost, which calls objectives with parts of the rows and without groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from directrix.data.frames import check_features
from directrix.data.missing import zeros_for_missing
from directrix.data.queries import Queries
from directrix.errors import InputError, MissingExtra
from directrix.interop.boosters import BoosterObjective, GroupedRows, Value, objective, pointers
from directrix.models.trees import quietly
from directrix.parameters import whole
from directrix.rankers.means import check_can_choose
from directrix.types import Array, Float64Array

__all__ = ["boost", "metric", "objective"]

# Parameters of CatBoost that `boost` sets itself, or has as arguments.
_OURS = {
    *("loss_function", "objective", "iterations", "num_boost_round", "n_estimators", "num_trees"),
    *("eval_metric", "custom_metric", "use_best_model", "early_stopping_rounds", "od_type", "od_wait"),
    *("od_pval", "boosting_type", "boost_from_average", "leaf_estimation_method"),
    "leaf_estimation_iterations",
}
# Parameters of the bins of features, which CatBoost takes when the pool is quantized.
_BINS = {"border_count", "max_bin", "feature_border_type"}
# CatBoost keeps labels, here the numbers of rows, in float32, which is exact only up to this integer.
_MOST_ROWS = 1 << 24
_DEFAULTS = {
    # Ordered boosting permutes the rows, and asks for the gradient at other scores.
    "boosting_type": "Plain",
    "leaf_estimation_method": "Newton",
    "leaf_estimation_iterations": 1,
    "boost_from_average": False,
    "bootstrap_type": "No",
    "allow_writing_files": False,
    "verbose": False,
    "random_seed": 0,
}


class CatBoostMetric(Value):
    """A measure as a metric of CatBoost; `metric` makes it."""

    def __init__(self, measure: Any, groups: Sequence[Any]) -> None:
        super().__init__(measure)
        self.groups = [np.asarray(sizes) for sizes in groups]

    def evaluate(self, approxes: Any, target: Any, _: Any) -> tuple[float, float]:
        """Return the mean over queries, and the weight 1, for the scores of one of the data sets."""
        labels = np.asarray(target)
        fitting = [sizes for sizes in self.groups if sizes.sum() == len(labels)]
        if len(fitting) != 1:
            raise InputError(
                f"{len(fitting)} of the {len(self.groups)} groups of this metric have {len(labels)} rows; "
                "give the sizes of the queries of every data set that is evaluated, each once."
            )
        return self.of(approxes[0], GroupedRows(labels, fitting[0])), 1.0

    def is_max_optimal(self) -> bool:
        """Return True: higher is better."""
        return True

    def get_final_error(self, error: float, _: float) -> float:
        """The mean itself."""
        return error


def metric(measure: Any, *groups: Any) -> CatBoostMetric:
    """Return a measure as a metric of CatBoost: ``eval_metric=metric("nDCG@10", sizes, sizes_valid)``.

    Parameters
    ----------
    measure : measure or str
        Evaluated exactly, under its own convention.
    *groups : integers (n_queries,)
        Numbers of rows of the queries, for every data set that CatBoost evaluates, because it does not pass
        them.

    Raises
    ------
    InputError
        If there is no such measure; when called, unless exactly one of the groups fits the rows.
    """
    return CatBoostMetric(measure, groups)


def boost(  # noqa: PLR0913
    objective: Any,
    X: Any,
    y: Any,
    *,
    group: Any,
    params: Mapping[str, Any] | None = None,
    iterations: int = 1000,
    query_weight: Any = None,
    eval_set: tuple[Any, Any, Any] | None = None,
    measure: Any = "nDCG@10",
    early_stopping_rounds: int | None = None,
    missing: Literal["error", "zero", "nan"] = "error",
) -> Any:
    """Train CatBoost with a surrogate, and return the sum of its trees, a ``catboost.CatBoost``.

    Parameters
    ----------
    objective : result of `objective`, Surrogate or str
        Function that the trees maximize.
    X : array or frame (n_docs, n_features)
        Numbers: CatBoost does not quantize categories beforehand.
    y : array (n_docs,)
        Labels >= 0.
    group : integers (n_queries,)
        Number of rows of each query, in order.
    params : mapping, optional
        Parameters of CatBoost except objective and iterations, e.g. ``{"depth": 6}``.
    iterations : int >= 1
        Maximum number of trees.
    query_weight : floats (n_queries,), optional
    eval_set : (X, y, group), optional
        Validation data; the number of trees with the best measure is kept.
    measure : measure or str
        Measure of the validation data.
    early_stopping_rounds : int >= 1, optional
        Stop after this number of trees without a better value.
    missing : {"error", "zero", "nan"}
        Meaning of missing values in X and the validation data: an error, 0, or NaN, which CatBoost takes.

    Raises
    ------
    MissingExtra
        If CatBoost is not installed.
    InputError
        If the data have no groups or more than 2^24 rows, or ``params`` has parameters that this function
        sets.

    Notes
    -----
    CatBoost calls an objective for parts of the rows. So the gradient of all rows is computed once per tree,
    and CatBoost receives it in parts while it grows one tree: about 45 ms per tree on MQ2008, compared with
    about 30 for its own YetiRank. Ordered boosting and categorical features are not available.
    """
    try:
        import catboost
    except ImportError:
        raise MissingExtra("catboost", "directrix.interop.catboost") from None
    loss = objective if isinstance(objective, BoosterObjective) else BoosterObjective(objective)
    rows = _rows_of(y, group, query_weight)
    parameters = _settings(params)
    X = _features(X, missing)
    pool = catboost.Pool(X, np.arange(len(rows.labels)))
    pool.quantize(**{name: parameters[name] for name in _BINS & parameters.keys()})
    validation = None
    if eval_set is not None:
        validation = _Validation(measure, _features(eval_set[0], missing), *eval_set[1:])
    scores, trees = np.zeros(len(rows.labels)), []
    for number in range(whole(iterations, "iterations", "boost")):
        step = {"iterations": 1, "random_seed": parameters["random_seed"] + number, "eval_metric": "RMSE"}
        # CatBoost maximizes, and the loss is to be minimized.
        slopes = -np.column_stack(loss.at(scores, rows))
        pool.set_baseline(scores[:, None])
        booster = catboost.CatBoost(parameters | step | {"loss_function": _Parts(slopes)})
        trees.append(quietly(booster.fit, pool))
        scores = scores + trees[-1].predict(X)
        if validation is not None and validation.add(trees[-1]) == early_stopping_rounds:
            break
    kept = trees if validation is None else trees[: validation.best]
    return kept[0] if len(kept) == 1 else catboost.sum_models(kept)


def _rows_of(y: Any, group: Any, query_weight: Any) -> GroupedRows:
    """Return the rows with their queries, which CatBoost must be able to number."""
    rows = _whole(y, group, query_weight)
    if len(rows.labels) > _MOST_ROWS:
        raise InputError(
            f"there are {len(rows.labels):,} rows, and CatBoost can number at most {_MOST_ROWS:,}; give "
            "fewer queries, or train with directrix.interop.lightgbm."
        )
    return rows


class _Parts:
    """Gradient and curvature of all rows, whose numbers are the labels of the pool."""

    def __init__(self, slopes: Float64Array) -> None:
        self._slopes = slopes

    def __deepcopy__(self, _: Any) -> _Parts:
        return self

    def calc_ders_range(self, _approxes: Any, targets: Any, _weights: Any) -> Array:
        slopes: Array = self._slopes[np.asarray(targets, dtype=np.int64)]
        return slopes


class _Validation:
    """Validation data, their scores after every tree, and the best number of trees."""

    def __init__(self, measure: Any, X: Any, y: Any, group: Any) -> None:
        self._value, self._X = Value(measure), X
        self._rows = _whole(y, group)
        labels = self._rows.labels
        q = Queries.from_arrays(np.empty((len(labels), 0)), labels, group=self._rows.sizes)
        check_can_choose(self._value.measure, q, "eval_set")
        self._scores, self._n, self.best, self._most = np.zeros(len(self._rows.labels)), 0, 1, -np.inf

    def add(self, tree: Any) -> int:
        """Return the number of trees since the best value."""
        self._scores = self._scores + tree.predict(self._X)
        self._n += 1
        value = self._value.of(self._scores, self._rows)
        if value > self._most:
            self.best, self._most = self._n, value
        return self._n - self.best


def _features(X: Any, missing: str) -> Any:
    """Return checked features, in their own form unless missing values are replaced by 0."""
    features = check_features(X, missing)
    return zeros_for_missing(features, None) if missing == "zero" else X


def _whole(y: Any, group: Any, query_weight: Any = None) -> GroupedRows:
    labels = np.asarray(y, dtype=np.float64)
    sizes = np.diff(pointers(group, len(labels)))
    return GroupedRows(labels, sizes, None, None if query_weight is None else np.asarray(query_weight))


def _settings(params: Mapping[str, Any] | None) -> dict[str, Any]:
    parameters = dict(params or {})
    if clash := sorted(_OURS & parameters.keys()):
        raise InputError(
            f"params has {', '.join(clash)}, which this function sets; leave them out, and type iterations=, "
            "eval_set=, measure= and early_stopping_rounds= as arguments."
        )
    return _DEFAULTS | parameters
