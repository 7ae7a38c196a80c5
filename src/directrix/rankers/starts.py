"""Where a training starts if `start` is not a name: at the weights of another ranker, or at given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from directrix.data.checks import as_floats
from directrix.errors import InputError
from directrix.rankers.base import Ranker
from directrix.rankers.fitting import Training
from directrix.rankers.inputs import check_names
from directrix.types import Float64Array


def start_of(start: Ranker, kind: type[Ranker], training: Training, name: str = "start") -> Any:
    """Return a fitted ranker of class ``kind`` whose parameters, or trees, a new one can start from.

    A ranker that is not fitted is fitted to the training queries first, whose features are scaled already.
    So a cross-validation, which copies by scikit-learn's ``clone``, trains the start on its own queries.

    Raises
    ------
    InputError
        If it is of another kind, or was fitted to other features; the message calls it ``name``.
    """
    is_fitted = hasattr(start, "n_features_in_")
    fitted: Any = (start if is_fitted else _fitted(start, training)).trained()
    if type(fitted) is not kind:
        weights = " or from an array of weights" if name == "start" else ""
        raise InputError(
            f"{name} is a fitted {type(fitted).__name__}; a {kind.__name__} starts from one of its own kind"
            f"{weights}. Type {name}={kind.__name__}(...).fit(X, y, qid=qid)."
        )
    if is_fitted:
        _check_features(fitted, training, name)
    return fitted


def _fitted(start: Ranker, training: Training) -> Ranker:
    unfitted = clone(start)
    if "scale" in unfitted.get_params(deep=False):
        unfitted.set_params(scale=None)
    q, _, measure, (doc_weight, query_weight), *_ = training
    fitted: Ranker = unfitted.fit_queries(
        q, measure=measure, doc_weight=doc_weight, query_weight=query_weight
    )
    return fitted


def _check_features(start: Any, training: Training, name: str) -> None:
    """Raise `InputError` unless both have the same number of features, scaled in the same way."""
    if start._n_inputs != training.queries.n_features:
        raise InputError(
            f"{name} was fitted to {start._n_inputs} scaled features, the data have "
            f"{training.queries.n_features}; fit it to the same features."
        )
    theirs, ours = (None if one is None else one.to_json() for one in (start.scale_, training.scale))
    if theirs != ours:
        raise InputError(
            f"{name} was fitted with {_scaling(start.scale_)}, this ranker scales features with "
            f"{_scaling(training.scale)}: its parameters mean something else here. Fit both with scale=None, "
            f"or give {name} without fitting it: it is then fitted to the same features."
        )
    check_names(training.queries, getattr(start, "feature_names_in_", None))
    if start.categories_ != training.queries.categories:
        raise InputError(
            f"{name} was fitted to other categories; fit both to frames with the same ones, e.g. of a "
            "categorical type that lists all."
        )


def given_weights(start: Any, n_params: int) -> Float64Array:
    """Return an array of weights as the first parameters; `InputError` unless there are ``n_params``."""
    weights = as_floats(start, "start", f"an array of {n_params} finite numbers").copy()
    if weights.shape != (n_params,) or not np.isfinite(weights).all():
        raise InputError(
            f"start has shape {weights.shape}; {n_params} finite numbers are needed, one for each "
            f"parameter of the model, e.g. start=numpy.zeros({n_params})."
        )
    return weights


def _scaling(scale: Any) -> str:
    return "scale=None" if scale is None else f"scale={scale.kind!r} of its own training queries"
