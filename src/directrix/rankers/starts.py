"""A fitted ranker as the start of another training."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from directrix.data.matching import match_features
from directrix.errors import InputError
from directrix.rankers.fitted import FittedModel
from directrix.rankers.inputs import Training


def started_from(ranker: Any, start: Any, training: Training, name: str) -> Any:
    """Return a fitted ranker of the same class whose parameters, or trees, this one can start from.

    One that is not fitted is fitted to the training queries first, whose features are scaled already: a
    cross-validation, which copies by scikit-learn's ``clone``, trains the start on its own queries. Raises
    `InputError` if it is of another class, or was fitted to features of other number, names or scale;
    ``name`` is that of the ranker's parameter.
    """
    if is_fitted := hasattr(start, "n_features_in_"):
        fitted = start.trained()
    else:
        unfitted = clone(start)
        # The features are scaled already, and a second scale would change what the weights mean.
        if "scale" in unfitted.get_params(deep=False):
            unfitted.set_params(scale=None)
        weights = {"doc_weight": training.doc_weight, "query_weight": training.query_weight}
        fitted = unfitted.fit_queries(training.queries, measure=training.measure, **weights).trained()
    kind = type(ranker).__name__
    if type(fitted) is not type(ranker):
        or_weights = " or from an array of weights" if name == "start" else ""
        raise InputError(
            f"{name} is a fitted {type(fitted).__name__}; a {kind} starts from one of its own kind"
            f"{or_weights}. Type {name}={kind}(...).fit(X, y, qid=qid)."
        )
    if not is_fitted:
        return fitted
    model = fitted.model_
    check_same(training, model, name, f"Fit {name} to the same features, or leave it out.")
    # Two scales are compared by their fitted numbers: the same kind on other queries scales otherwise.
    theirs, ours = (None if scale is None else scale.to_json() for scale in (model.scale, training.scale))
    if theirs != ours:
        raise InputError(
            f"{name} was fitted with {_scaling(model.scale)}, this ranker scales features with "
            f"{_scaling(training.scale)}: its parameters mean something else here. Fit both with scale=None, "
            f"or give {name} without fitting it: it is then fitted to the same features."
        )
    if model.categories != training.queries.categories:
        raise InputError(
            f"{name} was fitted to other categories; fit both to frames with the same ones, e.g. of a "
            "categorical type that lists all."
        )
    return fitted


def check_same(training: Training, model: FittedModel, name: str, remedy: str) -> None:
    """Raise `InputError` unless a model from which to start has the features of the training."""
    # Scaled queries have lost their names and have more columns; the training keeps both of the given ones.
    names = training.names or training.n_given
    match = match_features(names, model.feature_names or model.n_features)
    if text := match.problem("the training data", name):
        raise InputError(text, remedy)


def _scaling(scale: Any) -> str:
    return "scale=None" if scale is None else f"scale={scale.kind!r} of its own training queries"
