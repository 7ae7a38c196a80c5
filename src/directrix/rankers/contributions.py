"""Contributions of features to scores, and scores after permuting a feature within queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.lightgbm_text import written
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel
from directrix.models.trees import Trees, lightgbm
from directrix.models.walks import RememberedWalks, row_counts
from directrix.rankers.base import Ranker
from directrix.rankers.fitted import FittedModel
from directrix.rankers.record import own_model
from directrix.rankers.scoring import scores_by
from directrix.types import Array, Float64Array, Int64Array

_POINTS = (32, 128, 512)
"""Points on a path, until what is missing in the sum of its contributions is small enough."""
_REST = 1e-6

_Explainer = Callable[[Array, Array], Float64Array]
"""From scaled rows (n, d) and rows to compare them with (m, d) to contributions (n, d)."""

Reordered = Callable[[int, Int64Array], Float64Array]
"""From a column and an order of the rows, which keeps every row in its query, to the scores."""


class Contributions:
    r"""Contributions of features to scores, which add up to the difference from other documents of a query.

    .. math:: \sum_f c_{if} = s(x_i) - \frac{1}{m} \sum_k s(r_k)

    =========  =========================================================================================
    model      :math:`c_{if}`
    =========  =========================================================================================
    linear     :math:`w_f (x_{if} - \bar r_f)`
    stumps     the step function of the feature at :math:`x_{if}`, minus its mean over the :math:`r_k`
    trees      SHAP values by LightGBM (Lundberg, Erion & Lee 2018), minus their mean over the :math:`r_k`
    network    :math:`(x_{if} - r_{kf}) \int_0^1 \partial_f s(r_k + t (x_i - r_k)) \, dt`, mean over k
    =========  =========================================================================================

    x are scaled features; if a feature has several scales, their contributions are added. The last row is
    integrated gradients (Sundararajan, Taly & Yan 2017, Eq. 1), by Gauss-Legendre quadrature of 32 points, or
    128 or 512 if the sum is off by more than a millionth of the largest contribution; the kinks of "relu"
    leave a larger error. Contributions to an ensemble are weighted like its scores.

    Parameters
    ----------
    ranker : Ranker
        Fitted, with one of these models.
    q : Queries
        Queries on which SHAP values count how frequent each path through a tree is.

    Raises
    ------
    InputError
        If the ranker is not one of directrix's.
    MissingExtra
        If it has trees and LightGBM is not installed.

    References
    ----------
    Lundberg, Erion & Lee (2018), arXiv:1802.03888; Sundararajan, Taly & Yan (2017), ICML.
    """

    def __init__(self, ranker: Any, q: Queries) -> None:
        if not isinstance(ranker, Ranker):
            raise InputError(
                f"a {type(ranker).__name__} does not say what its features add to a score; a fitted "
                "LinearRanker, MLPRanker, StumpRanker, BoostedRanker, or an ensemble of them, is needed."
            )
        self._models = own_model(ranker).summands
        self._explainers: list[_Explainer] = [
            _of_trees(fitted.model, fitted.ready(q).features)
            if isinstance(fitted.model, Trees)
            else partial(_EXPLAINERS[type(fitted.model)], fitted.model, fitted.params)
            for fitted in self._models
        ]

    def of(self, query: Queries, rows: Any, others: Any) -> Float64Array:
        """Return contributions for rows of a query, compared with other rows: float64 (n, n_features)."""
        total = np.zeros((len(np.arange(query.n_docs)[rows]), query.n_features))
        for model, explain in zip(self._models, self._explainers, strict=True):
            X = np.asarray(model.ready(query).features, dtype=np.float64)
            by_column = explain(X[rows], X[others])
            total += model.share * by_column.reshape(len(by_column), -1, query.n_features).sum(axis=1)
        return total


def reordered_scores(ranker: Any, q: Queries) -> Reordered:
    """Return a function that maps a feature and an order of its values to the scores of the ranker.

    A scale maps equal values of a query to equal values, so features are scaled once and the scaled columns
    are permuted; only trees that split on them are evaluated again. A ranker of another library predicts
    everything again.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    q : Queries
        With dense features in memory, which are copied.
    """
    if not isinstance(ranker, Ranker):
        return _reordered(ranker.predict_queries, q, q.n_features)
    model = own_model(ranker)
    if not model.members:
        return _reordered_by(model, q)
    summands = [(member.share, _reordered_by(member, q)) for member in model.members]
    return lambda column, order: np.sum([share * scores(column, order) for share, scores in summands], axis=0)


def _reordered_by(model: FittedModel, q: Queries) -> Reordered:
    return _reordered(
        partial(scores_by, model.model, model.params), model.ready(q), q.n_features, model.model
    )


def _reordered(
    predict: Callable[[Queries], Float64Array], ready: Queries, n_features: int, model: Any = None
) -> Reordered:
    """Return the function for queries whose features are scaled; ``model`` is that of trees."""
    features = np.array(ready.features)
    walks = RememberedWalks(model, features) if isinstance(model, Trees) else None
    # The queries hold a read-only view of this array, which is permuted in place below.
    changed = replace(ready, features=features)

    def scores(column: int, order: Int64Array) -> Float64Array:
        # The columns of several scales are side by side, and all of the feature's move together.
        columns: Array = np.arange(column, features.shape[1], n_features)
        # The columns are permuted in place and restored afterwards, which saves a copy of all features.
        kept = features[:, columns]
        features[:, columns] = kept[order]
        try:
            return predict(changed) if walks is None else walks.after(features, columns)
        finally:
            features[:, columns] = kept

    return scores


def _of_stairs(model: StumpModel, params: Float64Array, X: Array, others: Array) -> Float64Array:
    def heights(rows: Array) -> Float64Array:
        levels = np.zeros(rows.shape)
        for f, column in model.heights(params, rows):
            levels[:, f] = column
        return levels

    shares: Float64Array = heights(X) - heights(others).mean(axis=0)
    return shares


def _of_trees(trees: Trees, seen: Any) -> _Explainer:
    if not trees.n_trees:
        return lambda X, others: np.zeros(X.shape)
    booster = lightgbm().Booster(model_str=written(trees, row_counts(trees, seen)))

    def values(rows: Array) -> Float64Array:
        shares: Float64Array = booster.predict(rows, pred_contrib=True, num_threads=1)[:, :-1]
        return shares

    return lambda X, others: values(X) - values(others).mean(axis=0)


def _of_network(model: MLPModel, params: Float64Array, X: Array, others: Array) -> Float64Array:
    """Return the integrated gradients of rows."""
    return np.array([_along_paths(model, params, x, others) for x in X]).reshape(X.shape)


def _along_paths(model: MLPModel, params: Float64Array, x: Array, others: Array) -> Float64Array:
    """Integrated gradients of a row from others, mean over them."""
    # Integrated gradients add up to the difference of scores, which shows the error of the quadrature.
    wanted = model.forward(params, x[None])[0][0] - model.forward(params, others)[0].mean()
    shares = np.zeros(len(x))
    for n_points in _POINTS:
        nodes, weights = np.polynomial.legendre.leggauss(n_points)
        shares = np.zeros(len(x))
        for at, weight in zip(0.5 + 0.5 * nodes, 0.5 * weights, strict=True):
            slopes = _slopes(model, params, others + at * (x - others))
            shares += weight * (slopes * (x - others)).mean(axis=0)
        if abs(shares.sum() - wanted) <= _REST * np.abs(shares).max():
            break
    return shares


def _slopes(model: MLPModel, params: Float64Array, X: Array) -> Float64Array:
    """Derivatives of the scores of rows with respect to their features."""
    layers, _, units = model.forward(params, X)[1]
    last = layers[-1].weights[:, 0]
    width = len(last) - X.shape[1] * model.residual
    slopes: Float64Array = np.tile(last[:width], (len(X), 1))
    for level in reversed(range(len(units))):
        # Layers are padded to whole vector registers; the padding has no derivative.
        phi = units[level][0][:, : model.hidden[level]]
        inner = slopes * (1.0 - phi * phi if model.activation == "tanh" else phi > 0.0)
        below = inner @ layers[level].weights.T
        slopes = below + slopes if model.skips(level) else below
    if model.residual:
        slopes += last[width:]
    return slopes


_EXPLAINERS: dict[type, Callable[..., Float64Array]] = {
    LinearModel: lambda _, params, X, others: params * (X - others.mean(axis=0)),
    MLPModel: _of_network,
    StumpModel: _of_stairs,
}
