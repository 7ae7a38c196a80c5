"""`load_scorer`: a model file as a scorer of single lists, for servers; it needs only NumPy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Number
from typing import Any

import numpy as np

from directrix.data.checks import as_floats, has_finite_sum, is_empty
from directrix.data.columns import feature_label
from directrix.data.files import to_number
from directrix.data.frames import (
    Categories,
    are_dicts,
    by_name,
    cells_of,
    columns_of,
    columns_of_rows,
    is_frame,
    matrix_of,
    name_of,
)
from directrix.data.missing import check_missing, check_rule, zeros_for_missing
from directrix.data.scale import Scale
from directrix.data.statistics import inverse
from directrix.errors import InputError, short_text, warn
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel
from directrix.models.trees import Trees
from directrix.rankers.fitted import AnyModel, FittedModel
from directrix.rankers.model_file import read_model
from directrix.types import Array, Float64Array, Int64Array

_Scores = Callable[[Array], Float64Array]
"""From features (n_docs, n_features) without infinite values to scores."""


def load_scorer(path: str | os.PathLike[str], *, missing: str | None = None) -> Scorer:
    """Read a model that ``ranker.save`` or the command line wrote, to score one list at a time.

    It is for servers: it imports only NumPy, for trees also Numba, and scores a list in microseconds. `load`
    returns the estimator, which imports scikit-learn.

    Parameters
    ----------
    path : path
        The JSON file; nothing in it is ever executed.
    missing : {"nan", "zero"}, optional
        As in ``predict`` of the ranker.

    Returns
    -------
    Scorer
        Its scores are those of ``predict`` of the ranker, up to rounding.

    Raises
    ------
    InputError
        If the file cannot be read, any entry is missing or wrong, or it numbers categories without their
        names.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> dx.LinearRanker().fit_queries(q).save(path)
    >>> dx.load_scorer(path).rank(q.features[:3])
    array([0, 1, 2])
    """
    return Scorer(read_model(path), missing=missing)


class Scorer:
    """A fitted model for one list at a time.

    Parameters
    ----------
    model : FittedModel
        ``ranker.model_`` of a fitted ranker.
    missing : {"nan", "zero"}, optional
        As in ``predict`` of the ranker.

    Attributes
    ----------
    n_features : int
    feature_names : tuple of str, or None
        Names of the features in the order of their columns; None if the training data had no names.

    Raises
    ------
    InputError
        If a feature holds categories that were numbers in training, and have no names.
    """

    def __init__(self, model: FittedModel, *, missing: str | None = None) -> None:
        from directrix.rankers.scoring import place_among

        self._rule = "error" if missing is None else missing
        check_missing(self._rule)
        check_rule(missing, model.missing, "the list")
        if missing == "zero":
            members = tuple(replace(member, missing=missing) for member in model.members)
            model = replace(model, missing=missing, members=members)
        named = enumerate(model.categories or ())
        self._places = {i: place_among(names) for i, names in named if names is not None}
        for summand in model.summands:
            if isinstance(summand.model, Trees) and not self._places.keys() >= set(summand.model.categorical):
                raise InputError(
                    "this model has categories without names (categorical_features); type "
                    "directrix.load(path).predict(X), or train on a frame with columns of a categorical type."
                )
        self.n_features = model.n_features
        self.feature_names = model.feature_names
        self._model = model
        self._summands = [(one.share, _scores_of(one, model.categories)) for one in model.summands]

    def predict(self, features: Any) -> Float64Array:
        """Return the scores of the documents of a list.

        Parameters
        ----------
        features : array, list of rows, list of dicts, frame or dict of columns (n_docs, n_features)
            Features of all documents of one query; categories by their names, as in the training data. One
            that these do not have counts as missing, with a warning. A missing value (NaN, None, and a name
            that a dict of a row lacks) counts as in ``predict`` of the ranker. Names may have any order.

        Returns
        -------
        float64 (n_docs,)

        Raises
        ------
        InputError
            If there are not ``n_features`` features, or they have other names than those of the training
            data, or some are not numbers, infinite, missing where none was missing in training, or numbers
            where all categories are words.
        """
        if are_dicts(features):
            features = columns_of_rows(features, self.feature_names or ())
        if self.feature_names and is_frame(features):
            features = self._by_name(features)
        if self._places:
            features = self._coded(features)
        if isinstance(features, np.ndarray) and features.dtype in (np.float64, np.float32):
            X = np.ascontiguousarray(features)
        else:
            X = np.ascontiguousarray(as_floats(features, "features", "a row of numbers per document"))
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise InputError(
                f"features have shape {X.shape}; the model was trained on {self.n_features} features: a "
                f"list has one row of {self.n_features} numbers per document."
            )
        if not has_finite_sum(X):
            self._check(X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.zeros(len(X))
            for share, score in self._summands:
                scores += share * score(X)
        if not has_finite_sum(scores):
            self._check(X, scores)
        return scores

    def probability(self, features: Any) -> Float64Array:
        """Return the calibrated probability that each document of a list is relevant, in [0, 1].

        See `predict`. Also raises `InputError` if the model is not calibrated; see ``ranker.calibrate``.
        """
        return self._model.probabilities(self.predict(features))

    def rank(self, features: Any) -> Int64Array:
        """Return the positions of the documents of a list, the best first; equal scores keep their order.

        See `predict`.
        """
        return np.argsort(-self.predict(features), kind="stable")

    def _by_name(self, frame: Any) -> Any:
        """Return the columns of a frame in the order of the model, as numbers unless some are categories."""
        remedy = "Give the columns scorer.feature_names."
        columns = columns_of(by_name(frame, self.feature_names or (), "the list", remedy))
        if not self._places:
            return matrix_of(columns)
        return np.array([cells_of(column) for column in columns.values()], dtype=object).T

    def _coded(self, rows: Any) -> Array:
        """Return rows with places for the names of categories; zeros if they have the wrong shape."""
        from directrix.rankers.scoring import unseen_text

        X = np.array(rows, dtype=object)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            return np.zeros(X.shape)
        for column, place in self._places.items():
            is_given = np.array([not is_empty(x) for x in X[:, column]], dtype=bool)
            X[~is_given, column] = np.nan
            given = X[is_given, column]
            places = np.array([place(name_of(x)) for x in given], dtype=np.float64)
            # a place without a name goes to the side of missing values, and is not one
            X[is_given, column] = np.where(
                np.isnan(places), len((self._model.categories or ())[column] or ()), places
            )
            if len(unseen := given[np.isnan(places)]):
                name = feature_label(column, self.feature_names)
                self._check_names(name, unseen, column)
                note = unseen_text(name, len(unseen), len(given), name_of(unseen[0]))
                warn(f"the list: {note}; they count as missing.", stacklevel=3)
        return X

    def _check_names(self, label: str, unseen: Array, column: int) -> None:
        """Raise `InputError` for a number where all categories are words: it is a code of other data."""
        names = (self._model.categories or ())[column] or ()
        number = next((x for x in unseen if isinstance(x, Number) and not isinstance(x, bool)), None)
        if number is not None and all(math.isnan(to_number(name)) for name in names):
            raise InputError(
                f"{label} holds the number {short_text(number)}; the model was trained on names of "
                f"categories in it, e.g. {', '.join(map(short_text, names[:3]))}. Give names; for `Queries`, "
                "whose features hold codes, type directrix.load(path).predict_queries(q)."
            )

    def _check(self, X: Array, scores: Float64Array | None = None) -> None:
        """Raise `InputError` for features that the model does not take, or scores that are not finite."""
        from directrix.data.queries import Queries
        from directrix.rankers.scoring import check_scores

        q = Queries.from_arrays(
            X, np.zeros(len(X)), group=[len(X)], feature_names=self.feature_names, missing="nan"
        )
        self._model.check_values(replace(q, missing=self._rule), "the list")
        if scores is not None:
            check_scores(scores, q)


def _scores_of(fitted: FittedModel, categories: Categories | None) -> _Scores:
    scores = _of_scaled(fitted.scale, fitted.model, fitted.params)
    return (lambda X: scores(zeros_for_missing(X, categories))) if fitted.missing == "zero" else scores


def _of_scaled(scale: Any, model: AnyModel | None, params: Float64Array) -> _Scores:
    scores = partial(_SCORES[type(model)], model, params)
    if scale is None:
        return scores

    def scaled(X: Array) -> Float64Array:
        return scores(scale.apply(X, np.array([0, len(X)])))

    is_linear = isinstance(scale, Scale) and scale.center is not None and scale.kind != "log"
    if not isinstance(model, LinearModel) or not is_linear:
        return scaled
    # A linear scale is folded into the weights, so a list is scored by one product.
    weights = params * inverse(np.array(scale.width))
    constant = float(weights @ np.array(scale.center))

    def folded(X: Array) -> Float64Array:
        found = X @ weights - constant
        # A missing value needs the scale itself, which the folded weights have lost.
        return found if has_finite_sum(found) else scaled(X)

    return folded


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
    scores = np.zeros(len(X))
    for _, heights in model.heights(params, X):
        scores += heights
    return scores


_SCORES: dict[type, Callable[..., Float64Array]] = {
    LinearModel: lambda _, params, X: X @ params,
    MLPModel: _network,
    StumpModel: _stairs,
    Trees: lambda model, _, X: model.predict(X),
}
