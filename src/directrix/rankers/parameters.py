"""Rankers taken apart into a model, its parameters and the data as it sees them, and put together again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.auto import AutoRanker
from directrix.rankers.gradient import GradientRanker
from directrix.rankers.linear import LinearRanker
from directrix.rankers.mlp import MLPRanker
from directrix.types import Float64Array, Model

__all__ = ["Apart", "taken_apart", "with_parameters"]


class Apart(NamedTuple):
    """A fitted ranker on given data, as functions of its parameters need it.

    Parameters
    ----------
    model : Model
        Scores from features.
    params : float64 (n_params,)
        A copy of the fitted parameters.
    queries : Queries
        The data, scaled as the ranker scales.
    ranker : LinearRanker or MLPRanker
        The ranker itself; of an `AutoRanker` the chosen one.
    """

    model: Model
    params: Float64Array
    queries: Queries
    ranker: GradientRanker


def taken_apart(ranker: Any, q: Queries) -> Apart:
    """Return what a fitted ranker is made of.

    Parameters
    ----------
    ranker : LinearRanker, MLPRanker, or AutoRanker that chose one of them
        Fitted.
    q : Queries
        Data with the features that the ranker was trained on.

    Raises
    ------
    InputError
        If its model is no vector of weights (stumps, trees), or the data have other features.

    Examples
    --------
    >>> from directrix import LinearRanker, Queries
    >>> q = Queries.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2])
    >>> ranker = LinearRanker("ListNet", max_iter=5).fit_queries(q)
    >>> bool((taken_apart(ranker, q).params == ranker.coef_).all())
    True
    """
    if isinstance(ranker, AutoRanker):
        check_is_fitted(ranker)
        ranker = ranker.ranker_
    if not isinstance(ranker, LinearRanker | MLPRanker):
        raise InputError(
            f"a {type(ranker).__name__} has no weights that can be moved a little; a fitted LinearRanker or "
            "MLPRanker is needed, e.g. LinearRanker('ApproxNDCG').fit(X, y, qid=qid)."
        )
    queries = ranker._ready(q)
    return Apart(ranker._model(), ranker._params.copy(), queries, ranker)


def with_parameters(
    ranker: GradientRanker,
    params: Float64Array,
    measure: RankingMeasure,
    value: float,
    record: Mapping[str, Any],
) -> Any:
    """Return a copy of a fitted ranker with other parameters; it predicts, scores and can be saved.

    Parameters
    ----------
    ranker : LinearRanker or MLPRanker
        Fitted; it stays as it is.
    params : float64 (n_params,)
        Weights, on scaled features.
    measure : measure
        What the parameters were chosen by, and what ``score`` reports from now on.
    value : float
        Mean of the measure on the data they were chosen on.
    record : mapping of JSON types
        How they were found: ``"message"``, and whatever else the model file is to keep.

    Raises
    ------
    InputError
        If there are not as many parameters, or they are not finite.
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
