"""What trainers require of an objective, and wrappers of a trainer; refusals say what to type."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.linear import LinearModel
from directrix.models.rows import column_reader
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import Objective
from directrix.types import Float64Array


def check_trainer(trainer: Any, wrapper: str) -> None:
    """Raise `InputError` if what is to be wrapped is not a trainer."""
    if not hasattr(trainer, "minimize"):
        raise InputError(f"{wrapper}({trainer!r}): a trainer is needed, e.g. {wrapper}(LBFGS()).")


def check_values(objective: Any, trainer: str) -> None:
    """Raise `InputError` for an objective whose gradient is not that of its loss: line searches need it."""
    if getattr(objective, "value_free", False):
        raise InputError(
            f"{trainer} compares losses, but the gradient of {getattr(objective, 'surrogate', objective)!r} "
            "is not that of its value, so the line search would fail. Use stochastic steps: "
            "trainer='sgd', or directrix.SGD(learning_rate=1e-3, epochs=700)."
        )


def refuse_second_penalty(objective: Any, trainer: str) -> None:
    """Raise `InputError` for an objective with a penalty: the trainer has its own, weighed by its C."""
    strength = getattr(getattr(objective, "penalty", None), "strength", 0.0)
    if strength > 0.0:
        raise InputError(
            f"l2={strength:g}: {trainer} weighs errors against its own penalty ||w||^2 / 2; set l2=0 and "
            f"give C, e.g. {trainer}(C=0.01)."
        )


def unpenalized_objective(objective: Any, trainer: str, models: tuple[type, ...], example: str) -> Objective:
    """Return the objective if it has queries, a model of the given classes and no penalty.

    Otherwise `InputError`: boosting and the measure itself do not use a penalty.
    """
    accepted = _objective_on_queries(objective, trainer, models, example)
    if accepted.penalty.strength > 0.0:
        raise InputError(
            f"l2={accepted.penalty.strength:g}: {trainer} has no use for a penalty on the weights; "
            "set l2=0. What keeps it from overfitting is fewer iterations, chosen on validation queries."
        )
    return accepted


def convex_objective(objective: Any, trainer: str) -> Objective:
    """Return the objective if it is convex in the parameters: a convex surrogate of a linear model.

    A surrogate with the trait ``convexifiable`` is accepted too; `InputError` for any other.
    """
    models, example = (LinearModel, StumpModel), 'linear_objective(queries, "RankSVM", l2=1e-3)'
    accepted = _objective_on_queries(objective, trainer, models, example)
    if not {"convex", "convexifiable"} & accepted.surrogate.traits:
        raise InputError(
            f"{trainer} needs a convex loss, and that of {accepted.surrogate!r} is not; train it with "
            "another trainer, e.g. trainer='lbfgs' (LBFGS()), or take a convex surrogate, e.g. RankSVM()."
        )
    return accepted


def linear_measure_objective(objective: Any, trainer: str) -> Objective:
    """`unpenalized_objective` for linear models and measures, which do not support document weights."""
    accepted = unpenalized_objective(
        objective, trainer, (LinearModel,), 'linear_objective(queries, "ApproxNDCG")'
    )
    weight = accepted.doc_weight
    if weight is not None and not (weight == weight[0]).all():
        raise InputError(
            f"document weights (sample_weight): {trainer} maximizes the measure itself, which has none; "
            "weight whole queries instead (query_weight=), or use a surrogate and a gradient, e.g. LBFGS()."
        )
    return accepted


def _objective_on_queries(objective: Any, trainer: str, models: tuple[type, ...], example: str) -> Objective:
    if not isinstance(objective, Objective) or not isinstance(objective.model, models):
        given = type(getattr(objective, "model", objective)).__name__
        wanted = " or ".join(model.__name__ for model in models)
        raise InputError(
            f"{trainer} trains a {wanted} on labeled queries and was given a {given}; "
            f"an objective such as {example} is needed, or another trainer, e.g. LBFGS()."
        )
    return objective


def weights_where_defined(owner: str, weight: Float64Array, values: Float64Array) -> Float64Array:
    """Return the queries' weights, 0 where the measure is undefined (NaN); `InputError` if none is left."""
    weight = np.where(np.isnan(values), 0.0, weight)
    if not weight.any():
        raise InputError(
            f"{owner}: it is defined for none of the {len(values)} queries, so nothing can be learned; at "
            "least one query needs documents of different labels."
        )
    return weight


def varying_features(q: Queries) -> tuple[int, ...]:
    """Features that order the documents of at least one query."""
    first, column = q.qptr[:-1][np.diff(q.qptr) > 0], column_reader(q.features)

    def varies(x: Float64Array) -> bool:
        return bool((np.maximum.reduceat(x, first) > np.minimum.reduceat(x, first)).any())

    return tuple(f for f in range(q.n_features) if varies(column(f)))
