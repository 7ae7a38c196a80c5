"""Rankers decomposed into a model, its parameters and scaled data, and copies with other parameters."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.base import Ranker
from directrix.rankers.gradient import GradientRanker
from directrix.types import Float64Array, Model


def decompose(ranker: Ranker, q: Queries) -> tuple[Model, Float64Array, Queries, GradientRanker]:
    """Return the model, a copy of the parameters, the scaled data, and the ranker that has them.

    The ranker is a `LinearRanker`, an `MLPRanker`, or an `AutoRanker` that chose one of them. Raises
    `InputError` if its model is not a vector of weights (stumps, trees), or the data have other features.

    Examples
    --------
    >>> from directrix import LinearRanker, Queries
    >>> q = Queries.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> ranker = LinearRanker("ListNet", max_iter=5).fit_queries(q)
    >>> bool((decompose(ranker, q)[1] == ranker.coef_).all())
    True
    """
    trained = ranker.trained()
    if not isinstance(trained, GradientRanker) or not trained.moves_smoothly:
        raise InputError(
            f"a {type(trained).__name__} has no weights that can be moved a little; a fitted LinearRanker or "
            "MLPRanker is needed, e.g. LinearRanker('ApproxNDCG').fit(X, y, qid=qid)."
        )
    queries = trained._ready(q)
    return trained._model(), trained._params.copy(), queries, trained


def with_parameters(
    ranker: GradientRanker,
    params: Float64Array,
    measure: RankingMeasure,
    value: float,
    record: Mapping[str, Any],
) -> Any:
    """Return a copy of a fitted ranker with other parameters; it predicts, scores and can be saved.

    The parameters, on scaled features, were chosen by ``measure``, which ``score`` reports from now on, with
    this mean ``value``. ``record`` says in JSON types how they were computed: ``"message"``, and whatever
    else the model file keeps. Raises `InputError` if the number of parameters differs, or they are not
    finite.
    """
    given = np.array(params, dtype=np.float64)
    if given.shape != ranker._params.shape or not np.isfinite(given).all():
        raise InputError(
            f"params has shape {given.shape}; {ranker._params.size} finite numbers are needed, as many "
            "as the ranker has."
        )
    other = copy.copy(ranker)
    other._params = given
    other.measure_ = measure
    other.result_ = replace(
        ranker.result_, params=given, value=-value, message=record["message"], own_loss=True, dual=None
    )
    result = {**ranker.training_["result"], "message": record["message"], "value": -value}
    result.pop("dual", None)
    other.training_ = {
        **ranker.training_,
        "measure": repr(measure),
        "result": result,
        "moved": dict(record),
    }
    return other
