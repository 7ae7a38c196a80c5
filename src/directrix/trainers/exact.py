"""What trainers that need more than a loss and its gradient ask of an objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import Objective
from directrix.types import Float64Array

__all__ = ["columns", "convex_of", "features_of", "linear_of", "objective_of"]


def objective_of(objective: Any, trainer: str, model: type, example: str) -> Objective:
    """Return the objective if it holds queries and a model of the given class.

    Raises
    ------
    InputError
        If it does not, or has a penalty: boosting and the measure itself know none.
    """
    found = _on_queries(objective, trainer, (model,), example)
    if found.penalty.strength > 0.0:
        raise InputError(
            f"l2={found.penalty.strength:g}: {trainer} has no use for a penalty on the weights; "
            "set l2=0. What keeps it from overfitting is fewer iterations, chosen on validation queries."
        )
    return found


def convex_of(objective: Any, trainer: str) -> Objective:
    """Return the objective if it is convex in the parameters: a convex surrogate of a linear model.

    Raises
    ------
    InputError
        If it is not, also where only holding the surrogate (``convex_when_held``) makes it so.
    """
    found = _on_queries(
        objective, trainer, (LinearModel, StumpModel), 'linear_objective(queries, "RankSVM", l2=1e-3)'
    )
    if not {"convex", "convex_when_held"} & found.surrogate.traits:
        raise InputError(
            f"{trainer} needs a convex loss, and that of {found.surrogate!r} is not; train it with another "
            "trainer, e.g. trainer='lbfgs' (LBFGS()), or take a convex surrogate, e.g. RankSVM()."
        )
    return found


def linear_of(objective: Any, trainer: str) -> Objective:
    """`objective_of` for linear models and measures, which do not know document weights."""
    found = objective_of(objective, trainer, LinearModel, 'linear_objective(queries, "ApproxNDCG")')
    weight = found.doc_weight
    if weight is not None and not (weight == weight[0]).all():
        raise InputError(
            f"document weights (sample_weight): {trainer} maximises the measure itself, which has none; "
            "weigh whole queries instead (query_weight=), or use a surrogate and a gradient, e.g. LBFGS()."
        )
    return found


def _on_queries(objective: Any, trainer: str, models: tuple[type, ...], example: str) -> Objective:
    if not isinstance(objective, Objective) or not isinstance(objective.model, models):
        given = type(getattr(objective, "model", objective)).__name__
        wanted = " or ".join(model.__name__ for model in models)
        raise InputError(
            f"{trainer} trains a {wanted} on labelled queries and was given a {given}; "
            f"needed is an objective such as {example}, or another trainer, e.g. LBFGS()."
        )
    return objective


def columns(q: Queries) -> Callable[[int], Float64Array]:
    """Return a function from the number of a feature to its values, float64 (n_docs,)."""
    if hasattr(q.features, "tocsc"):
        by_feature = q.features.tocsc()
        return lambda f: np.asarray(by_feature[:, [f]].toarray(), dtype=np.float64).ravel()
    return lambda f: np.asarray(q.features[:, f], dtype=np.float64)


def features_of(q: Queries) -> tuple[int, ...]:
    """Features that order the documents of at least one query."""
    column, there = columns(q), np.diff(q.qptr) > 0
    first = q.qptr[:-1][there]
    found = []
    for f in range(q.n_features):
        x = column(f)
        if (np.maximum.reduceat(x, first) > np.minimum.reduceat(x, first)).any():
            found.append(f)
    return tuple(found)
