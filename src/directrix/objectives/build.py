"""How objectives are made: from queries, surrogate, model, penalty and weights."""

from __future__ import annotations

from typing import Any

from directrix.data.checks import weights_of
from directrix.data.queries import Queries, need_queries
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError
from directrix.models.linear import LinearModel, one_per_feature
from directrix.objectives.box import Box
from directrix.objectives.kernels import kernel_for
from directrix.objectives.objective import Objective
from directrix.objectives.penalty import L2
from directrix.objectives.source import Memory
from directrix.objectives.stream import Stream
from directrix.surrogates.base import kernel_surrogate
from directrix.surrogates.names import surrogate as as_surrogate
from directrix.types import Model, Surrogate


def make_objective(
    queries: Queries,
    surrogate: Surrogate | str,
    model: Model,
    *,
    penalty: L2 | None = None,
    query_weight: Any = None,
    doc_weight: Any = None,
    box: Box | None = None,
) -> Objective:
    """Loss of a model's parameters on given data.

    Parameters
    ----------
    queries : Queries
        Training data; for a linear model also of `directrix.data.open_parquet`.
    surrogate : Surrogate or str
        What to maximize; a string is parsed by `directrix.surrogate`.
    model : Model
        Scores from features.
    penalty : L2
        Added to the loss.
    query_weight : float (n_queries,), or None
        Weights >= 0 of the queries in the mean, whatever their sum; None = all equal.
    doc_weight : float (n_docs,), or None
        Factors >= 0 on what each document earns, in the order of ``queries`` (e.g. inverse
        propensities of clicks). ApproxNDCG and ApproxAP divide by the weighted ideal, so that
        their best value stays 1; surrogates that are not a sum over documents take none.
    box : Box, or None
        Limits of the parameters. Only trainers with ``takes_box`` use it: `LBFGS`, `SGD`, `Adam` and
        `CoordinateAscent`.

    Raises
    ------
    InputError
        If there is no query, or weights do not fit, are negative or add up to 0.
    """
    need_queries(queries, "an objective")
    if not queries.n_queries:
        raise InputError("there is no query to train on; pass Queries with at least one query.")
    parsed = as_surrogate(surrogate) if isinstance(surrogate, str) else surrogate
    weight = weights_of(query_weight, queries.n_queries, "query_weight", "query")
    if query_weight is not None:
        weight = weight / weight.mean()
    documents = (
        None if doc_weight is None else weights_of(doc_weight, queries.n_docs, "doc_weight", "document")
    )
    source = Stream if isinstance(queries.features, StoredFeatures) else Memory
    return Objective(
        source.cut(queries, kernel_surrogate(parsed), model, weight, documents),
        kernel_for(parsed, model, queries.features),
        penalty or L2(),
        box,
    )


def linear_objective(
    queries: Queries,
    surrogate: Surrogate | str,
    l2: float = 0.0,
    *,
    w0: Any = None,
    query_weight: Any = None,
    doc_weight: Any = None,
) -> Objective:
    r"""Loss of a linear ranker: :math:`-\overline{S}(X w) + \lambda \lVert w - w_0\rVert^2`.

    Parameters
    ----------
    queries : Queries
        Training data, dense or CSR, or of `directrix.data.open_parquet`, whose features are read as they are
        used.
    surrogate : Surrogate or str
        What to maximize, e.g. ``ApproxNDCG(alpha=10)`` or ``"ApproxNDCG(alpha=10)"``.
    l2 : float >= 0
        Strength lambda of the penalty.
    w0 : float (n_features,), or None
        Where the penalty pulls to; None = the origin.
    query_weight, doc_weight
        As in `make_objective`.

    Examples
    --------
    >>> import numpy as np, directrix as dx
    >>> q = dx.Queries.from_arrays(np.eye(3), np.array([0.0, 1.0, 2.0]), qid=[7, 7, 7])
    >>> loss, grad = dx.linear_objective(q, "ApproxNDCG").value_and_grad(np.array([0.0, 0.1, 1.0]))
    >>> round(loss, 3), grad.round(3)
    (-0.987, array([ 0.082, -0.081, -0.001]))
    """
    need_queries(queries, "linear_objective")
    center = None if w0 is None else one_per_feature(w0, queries.n_features, "w0")
    penalty = L2(l2, center)
    return make_objective(
        queries, surrogate, LinearModel(), penalty=penalty, query_weight=query_weight, doc_weight=doc_weight
    )
