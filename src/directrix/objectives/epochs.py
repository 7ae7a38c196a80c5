"""One epoch of SGD in one compiled kernel, for surrogates and models that have one.

In: a source in memory, a surrogate, parameters, the order of the queries and the step size. The parameters
are changed in place; out comes the mean of the losses before the steps. For lists of five documents, one
Python call per step takes thirty times as long as the step itself (docs/decisions/kernels.md).

>>> import numpy as np, directrix as dx
>>> objective = dx.linear_objective(dx.data.make_cubic(5, 10, 4, seed=0), "ListNet")
>>> params = np.zeros(4)
>>> fused_epoch(objective.source, objective.surrogate, params, np.arange(5), 1, 0.1, objective.penalty) > 0
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.models.linear import LinearModel, one_per_feature
from directrix.models.mlp import ALL_KEPT, MLPModel, padded_width
from directrix.objectives.penalty import L2
from directrix.objectives.source import Memory, with_noise_of
from directrix.surrogates.base import KernelSurrogate, kernel_surrogate, writable
from directrix.surrogates.lambdas import Lambda
from directrix.types import Float64Array, Int64Array, Surrogate, is_sparse


def fused_epoch(
    source: Any,
    surrogate: Surrogate,
    params: Float64Array,
    order: Int64Array,
    batch: int,
    rate: float,
    penalty: L2,
) -> float | None:
    """Run the epoch in a kernel; return None, and change nothing, if there is none for it.

    The result equals that of batches one after another (`Memory.batches_of`) up to rounding.
    """
    is_dense = isinstance(source, Memory) and not is_sparse(source.queries.features)
    kernel = kernel_surrogate(surrogate)
    if not is_dense or kernel is not surrogate:
        return None
    center = np.zeros_like(params) if penalty.center is None else writable(penalty.center)
    steps, model = (float(rate), float(penalty.strength), center), source.model
    is_linear = type(model) is LinearModel
    # The kernels of LambdaRank also train networks of one hidden layer without dropout.
    if isinstance(model, MLPModel):
        has_lambda_kernel = len(model.hidden) == 1 and not model.residual and not model.dropout
    else:
        has_lambda_kernel = is_linear
    if isinstance(surrogate, Lambda) and has_lambda_kernel:
        return _lambda_epoch(source, surrogate, params, order, steps) if batch == 1 else None
    # The compiled chunk, with whole prepared arrays, must do all that `KernelSurrogate.fill` does.
    does_all = kernel.compiled and kernel.entries and type(kernel).fill is KernelSurrogate.fill
    if not (is_linear and does_all):
        return None
    usual = batch * source.queries.n_docs / source.queries.n_queries
    # For large batches, several threads are faster than one kernel.
    if batch > 1 and usual > source.docs_per_thread:
        return None
    return _linear_epoch(
        source, with_noise_of(order, surrogate), params, order, min(batch, len(order)), steps
    )


def _linear_epoch(
    source: Memory,
    surrogate: Any,
    params: Float64Array,
    order: Int64Array,
    batch: int,
    steps: tuple[Any, ...],
) -> float:
    """Run the epoch of a linear model; ``steps`` are the arguments of the kernel `descend`."""
    from directrix.objectives._kernels.epochs import epoch_of

    # Kernels do not check indices, and would read past the end of fewer parameters.
    one_per_feature(params, source.queries.n_features, "params")
    whole = source.whole
    out = np.empty(len(whole.weight)), np.empty(len(whole.rows), whole.rows.dtype)
    data = (*surrogate.arguments(), *whole.prepared), whole.rows, whole.qptr, whole.weight
    epoch = epoch_of(surrogate.kernel().func)
    return float(epoch(*data, order, batch, steps, surrogate.outputs(out), params))


def _lambda_epoch(
    source: Memory, surrogate: Lambda, params: Float64Array, order: Int64Array, steps: tuple[Any, ...]
) -> float:
    """Run the epoch of LambdaRank, one query per step, for a linear model or one hidden layer."""
    from directrix.objectives._kernels.swap_sgd import hidden_epoch, linear_epoch

    model, n_features = source.model, source.queries.n_features
    if isinstance(model, MLPModel):
        # Splitting the parameters into layers checks their number.
        model.layers(params, n_features)
    else:
        one_per_feature(params, n_features, "params")
    whole = source.whole
    *arrays, constant = whole.prepared
    # Boundaries of the queries in the order of the epoch, in which the kernel writes the rankings.
    places = np.append(0, np.cumsum(np.diff(whole.qptr)[order]))
    ranking, value = surrogate.new_ranking(int(places[-1])), np.zeros(len(order))
    problem = *surrogate.arguments(), tuple(arrays), whole.weight, whole.qptr, places, ranking
    if isinstance(model, MLPModel):
        width = model.hidden[0]
        layer = width, padded_width(width, whole.rows.dtype), model.activation == "tanh"
        loss = hidden_epoch(whole.rows, problem, order, layer, ALL_KEPT, steps, value, params)
    else:
        loss = linear_epoch(whole.rows, problem, order, steps, value, params)
    # The kernel adds the penalty of each step; the measure is computed for all rankings at once.
    value += surrogate.ranked_value(ranking, places, None if constant is None else constant[order])
    return float(loss - np.mean(whole.weight[order] * value))
