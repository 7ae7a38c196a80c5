"""One epoch of Algorithm 1 for a linear model on ApproxRank, query by query in one kernel.

The general way, a Python call a query, spends more time between kernels than in them.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.models._kernels.linear import dense_add, dense_scores
from directrix.surrogates._kernels.approx import (
    ap_query,
    cascade_query,
    kendall_query,
    longest,
)
from directrix.surrogates._kernels.softrank import scratch, soft_rank_core

SEPARABLE, AP, CASCADE, KENDALL = 0, 1, 2, 3
FAMILIES = {"separable": SEPARABLE, "ap": AP, "cascade": CASCADE, "kendall": KENDALL}


@kernel
def sgd_epoch(family, spec, X, weights, qptr, query_weight, order, rate, l2, center, params):
    """Descend one query at a time; overwrites params and returns the mean loss on the way.

    Parameters
    ----------
    family, spec                          of the surrogate, see `separable_chunk`
    X : float (n_docs, n_features)        read-only
    weights : float64 (n_docs,)           the surrogate's, from its ``prepare``
    qptr : int64 (n_queries + 1,)
    query_weight : float64 (n_queries,)   of mean 1
    order : int64 (n,)
    rate, l2 : float
    center : float64 (n_features,)
    params : float64 (n_features,)        in and out
    """
    shape, kind, k, alpha, beta = spec
    n = longest(qptr, 0, len(qptr) - 1)
    scores, dscores = np.empty(n, dtype=X.dtype), np.empty(n, dtype=X.dtype)
    space, inner, ranks = scratch(n, scores), scratch(n, weights), np.empty(n)
    w, part = np.empty(len(params), dtype=X.dtype), np.empty(len(params), dtype=X.dtype)
    grad = np.empty(len(params))
    loss = 0.0
    for q in order:
        lo, hi = qptr[q], qptr[q + 1]
        size = hi - lo
        distance = 0.0
        for f in range(len(params)):
            w[f] = params[f]
            distance += (params[f] - center[f]) ** 2
            grad[f] = 0.0
        loss += l2 * distance
        dense_scores(X[lo:hi], w, scores)
        s, v, g = scores[:size], weights[lo:hi], dscores[:size]
        if family == SEPARABLE:
            value = soft_rank_core(s, v, shape, alpha, kind, k, beta, ranks, g, True, space)
        elif family == AP:
            value = ap_query(s, v, alpha, kind, beta, ranks, g, space, inner)
        elif family == CASCADE:
            value = cascade_query(s, v, alpha, kind, beta, ranks, g, space)
        else:
            value = kendall_query(s, v, alpha, kind, ranks, g, space)
        dense_add(X[lo:hi], dscores, part, grad)
        loss -= query_weight[q] * value
        for f in range(len(params)):
            params[f] += rate * (query_weight[q] * grad[f] - 2.0 * l2 * (params[f] - center[f]))
    return loss / max(len(order), 1)
