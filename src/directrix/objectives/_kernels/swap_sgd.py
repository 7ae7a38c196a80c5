"""One epoch of SGD with LambdaRank's gradients, query by query, for a linear model or one hidden layer.

The general method, one Python call per query, spends ten times as long between kernels as in them if queries
have twenty documents.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import longest_query
from directrix.models._kernels.layers import add_product, pack, product, through
from directrix.models._kernels.linear import dense_add, dense_scores
from directrix.objectives._kernels.epochs import descend
from directrix.surrogates._kernels.lambdas import lambda_chunk


@kernel
def _lambdas(lambdas, step, q, scores, bounds, value, g):
    """Lambdas ``g`` of the documents of query q, times its weight, for their ``scores`` (n,).

    ``lambdas`` are the spec of `lambda_chunk`, its prepared arrays, weights of queries, their boundaries in
    the data and in the order of the steps, and the ranking of `lambda_chunk` in that order.
    """
    spec, (worth, unit, discount, labels), weight, qptr, places, (grouped, ranked, ends) = lambdas
    lo, hi, at = qptr[q], qptr[q + 1], slice(places[step], places[step + 1])
    bounds[1] = hi - lo
    ranking, here = (grouped, ranked[at], ends[at]), slice(q, q + 1)
    data = worth[lo:hi], unit[here], discount, labels[lo:hi]
    lambda_chunk(spec, scores, *data, bounds, (0, 1), ranking, value[step : step + 1], g)
    for i in range(hi - lo):
        ends[places[step] + i] += places[step]
        g[i] *= g.dtype.type(weight[q])


@kernel
def linear_epoch(X, lambdas, order, steps, value, params):
    """Descend one query of ``order`` at a time; overwrites params, and returns the mean penalty.

    Parameters
    ----------
    X : float (n_docs, n_features)   read-only
    lambdas : tuple                   of `_lambdas`; out: the ranking
    order : int64 (n,)
    steps : tuple                    of `descend`
    value : float64 (n,)             out; 0, or NaN where a score is not finite
    params : float64 (n_params,)     in and out
    """
    qptr, d = lambdas[3], len(params)
    n, penalty = longest_query(qptr, 0, len(qptr) - 1), 0.0
    scores, g = np.empty(n, dtype=X.dtype), np.empty(n, dtype=X.dtype)
    w, part = np.empty(d, dtype=X.dtype), np.empty(d, dtype=X.dtype)
    grad, bounds = np.empty(d), np.zeros(2, dtype=np.int64)
    for step, q in enumerate(order):
        lo, hi = qptr[q], qptr[q + 1]
        for f in range(d):
            w[f], grad[f] = params[f], 0.0
        dense_scores(X, lo, hi, w, scores, 0)
        _lambdas(lambdas, step, q, scores[: hi - lo], bounds, value, g[: hi - lo])
        dense_add(X, lo, hi, g, 0, part, grad)
        penalty += descend(params, grad, steps)
    return penalty / len(order)


@kernel
def hidden_epoch(X, lambdas, order, layer, drawn, steps, value, params):
    """Do what `linear_epoch` does, for a network with one hidden layer.

    Parameters
    ----------
    layer : tuple (int, int, bool)   hidden units; columns of whole vectors for them; whether they are tanh
    drawn : uint16 (0, 0)            of `through`: no unit is dropped
    """
    units, padded, is_tanh = layer
    qptr, d, dtype = lambdas[3], X.shape[1], X.dtype
    n, penalty, first, lanes = longest_query(qptr, 0, len(qptr) - 1), 0.0, d * units, 64 // X.itemsize
    low = dtype.type(-np.inf if is_tanh else 0.0)
    scores, g = np.empty(n, dtype=dtype), np.empty(n, dtype=dtype)
    w, part, bias = np.zeros(padded, dtype=dtype), np.empty(units, dtype=dtype), np.zeros((1, padded), dtype)
    panels, none = np.empty((padded // lanes, d, lanes), dtype=dtype), np.empty((0, 0), dtype=dtype)
    phi, inner = np.empty((n, padded), dtype=dtype), np.empty((n, padded), dtype=dtype)
    total, grad, bounds = np.empty((d, padded)), np.empty(len(params)), np.zeros(2, dtype=np.int64)
    for step, q in enumerate(order):
        lo, size = qptr[q], qptr[q + 1] - qptr[q]
        rows, a, slopes = X[lo : lo + size], phi[:size], inner[:size]
        pack(params[:first].reshape((d, units)), False, panels)
        for k in range(units):
            bias[0, k], w[k] = params[first + k], params[first + units + k]
        product(rows, panels, bias, low, a)
        if is_tanh:
            for i in range(size):
                for k in range(units):
                    a[i, k] = math.tanh(a[i, k])
        dense_scores(a, 0, size, w[:units], scores, 0)
        _lambdas(lambdas, step, q, scores[:size], bounds, value, g[:size])
        grad[:], total[:] = 0.0, 0.0
        dense_add(a, 0, size, g, 0, part, grad[first + units :])
        through(none, g, w, a, is_tanh, drawn, 0, dtype.type(1.0), slopes, grad[first : first + units])
        add_product(rows, slopes, lanes, total)
        for f in range(d):
            for k in range(units):
                grad[f * units + k] = total[f, k]
        penalty += descend(params, grad, steps)
    return penalty / len(order)
