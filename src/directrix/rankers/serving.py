"""Scores of one list by a fitted model, in microseconds: NumPy alone, but for trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import as_floats, has_finite_sum
from directrix.data.frames import zeros_for_missing
from directrix.data.scale import Scale
from directrix.data.statistics import inverse
from directrix.errors import InputError
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel
from directrix.models.trees import Trees
from directrix.rankers.contents import Contents, FittedModel, contents_of
from directrix.types import Array, Float64Array, Int64Array

PLAIN = (np.ndarray, list, tuple)
"""Types of features that say nothing but numbers; a frame has names, whose order is checked elsewhere."""

Scorer = Callable[[Array], Float64Array]
"""From features (n_docs, n_features) without infinite values to scores."""


class Served(NamedTuple):
    """A fitted model for one list at a time. Its scores are those of ``predict``, but for rounding."""

    n_features: int
    takes_missing: bool
    scorer: Scorer

    def rank(self, features: Any) -> Int64Array:
        """Return the positions of the documents of a list, the best first; see `Ranker.rank`."""
        if isinstance(features, np.ndarray) and features.dtype in (np.float64, np.float32):
            X = np.ascontiguousarray(features)
        else:
            X = np.ascontiguousarray(as_floats(features, "features", "a row of numbers per document"))
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise InputError(
                f"features have shape {X.shape}; the model was trained on {self.n_features} features: a "
                f"list has one row of {self.n_features} numbers per document."
            )
        is_finite = has_finite_sum(X)
        if not is_finite:
            self._check(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.scorer(X)
        if not has_finite_sum(scores):
            self._check(X, scores)
        return best_first(scores)

    def _check(self, X: Array, scores: Float64Array | None = None) -> None:
        """Raise `InputError` for features that the model does not take, or scores that are not finite."""
        from directrix.data.queries import Queries
        from directrix.rankers.inputs import check_finite, check_scores

        q = Queries.from_arrays(X, np.zeros(len(X)), group=[len(X)], missing="nan")
        check_finite(q, "the list", allow_missing=self.takes_missing)
        if scores is not None:
            check_scores(scores, q, allow_missing=self.takes_missing)


class Kept(NamedTuple):
    """The model for lists that a ranker keeps, and the record of the training that it is from."""

    training: Any
    model: Served | None


def kept_model(ranker: Any) -> Served | None:
    """Return the model for lists of a fitted ranker that has a file, made at the first call after ``fit``."""
    kept = vars(ranker).get("_served")
    if kept is None or kept.training is not ranker.training_:
        model = served(contents_of("the model", ranker.to_json()))
        kept = ranker._served = Kept(ranker.training_, model)
    found: Served | None = kept.model
    return found


def served(contents: Contents) -> Served | None:
    """Return the model for lists; None if arrays do not say all that it needs: it has categories."""
    members = contents.members or (contents,)
    models = [_fitted(member).model for member in members]
    if contents.categories is not None or any(isinstance(m, Trees) and m.categorical for m in models):
        return None
    takes_missing = all(
        member.missing == "zero"
        or isinstance(model, Trees)
        or (member.scale is not None and member.scale.fills)
        for model, member in zip(models, members, strict=True)
    )
    scorers = [_scorer(member) for member in members]
    shares = [member.weight / member.spread for member in members]
    scorer = scorers[0] if not contents.members else partial(_weighted, shares, scorers)
    return Served(contents.n_features, takes_missing, scorer)


def best_first(scores: Float64Array) -> Int64Array:
    """Return the positions of documents by descending score; equal ones keep their order."""
    return np.argsort(-scores, kind="stable")


def _fitted(contents: Contents) -> FittedModel:
    assert contents.fitted is not None, "only ensembles have no model of their own"
    return contents.fitted


def _weighted(shares: list[float], scorers: list[Scorer], X: Array) -> Float64Array:
    total = np.zeros(len(X))
    for share, scorer in zip(shares, scorers, strict=True):
        total += share * scorer(X)
    return total


def _scorer(contents: Contents) -> Scorer:
    scorer = _own_scorer(contents)
    return partial(_of_filled, scorer) if contents.missing == "zero" else scorer


def _of_filled(scorer: Scorer, X: Array) -> Float64Array:
    return scorer(zeros_for_missing(X, None))


def _own_scorer(contents: Contents) -> Scorer:
    scale, (model, params) = contents.scale, _fitted(contents)
    scorer = partial(_SCORERS[type(model)], model, params)
    if scale is None:
        return scorer
    scaled = partial(_scaled, scale.apply, scorer)
    if not isinstance(model, LinearModel) or not isinstance(scale, Scale) or scale.center is None:
        return scaled
    if scale.kind == "log":
        return scaled
    weights = params * inverse(np.array(scale.width))
    return partial(_folded, weights, float(weights @ np.array(scale.center)), scaled)


def _scaled(scale: Callable[..., Array], scorer: Scorer, X: Array) -> Float64Array:
    return scorer(scale(X, np.array([0, len(X)])))


def _folded(weights: Float64Array, constant: float, scaled: Scorer, X: Array) -> Float64Array:
    """Scores of a linear model whose scale is in its weights; a missing value needs the scale itself."""
    scores = X @ weights - constant
    return scores if has_finite_sum(scores) else scaled(X)


def _linear(model: LinearModel, params: Float64Array, X: Array) -> Float64Array:
    return X @ params


def _network(model: MLPModel, params: Float64Array, X: Array) -> Float64Array:
    layers, units = model.layers(params, X.shape[1]), X
    for level, layer in enumerate(layers[:-1]):
        phi = units @ layer.weights + np.asarray(layer.bias)
        phi = np.tanh(phi) if model.activation == "tanh" else np.maximum(phi, 0.0)
        units = phi + units if model.skips(level) else phi
    last = layers[-1].weights[:, 0]
    inputs = np.hstack([units, X]) if model.residual else units
    return inputs @ last


def _stairs(model: StumpModel, params: Float64Array, X: Array) -> Float64Array:
    scores, ptr = np.zeros(len(X)), model.ptr
    for f in np.flatnonzero(np.diff(ptr)):
        own = slice(ptr[f], ptr[f + 1])
        heights = np.append(0.0, np.cumsum(params[own]))
        scores += heights[np.searchsorted(model.values[own], X[:, f])]
    return scores


def _trees(model: Trees, params: Float64Array, X: Array) -> Float64Array:
    return model.predict(X)


_SCORERS: dict[type, Callable[..., Float64Array]] = {
    LinearModel: _linear,
    MLPModel: _network,
    StumpModel: _stairs,
    Trees: _trees,
}
