"""One epoch of Algorithm 1 for a linear model on ApproxRank, batch by batch in one kernel.

The general method, one Python call per query, spends more time between kernels than in them.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.models._kernels.linear import dense_add, dense_scores
from directrix.surrogates._kernels.approx import (
    ap_query,
    cascade_query,
    kendall_query,
)
from directrix.surrogates._kernels.approx_core import scratch, soft_rank_core
from directrix.surrogates._kernels.borrowed import borrowed, keep

SEPARABLE, AP, CASCADE, KENDALL = 0, 1, 2, 3
FAMILIES = {
    "approx.separable_chunk": SEPARABLE,
    "approx.ap_chunk": AP,
    "approx.cascade_chunk": CASCADE,
    "approx.kendall_chunk": KENDALL,
}


@kernel
def sgd_epoch(family, spec, X, weights, qptr, query_weight, order, batch, rate, l2, center, params, grad):
    """Descend one batch of queries at a time; overwrites params and returns the mean loss of the batches.

    A rate of 0 leaves the parameters as they are: this computes loss and gradient of some queries.

    Parameters
    ----------
    family, spec                          of the surrogate, see `separable_chunk`
    X : float (n_docs, n_features)        read-only
    weights : float64 (n_docs,)           the surrogate's, from its ``prepare``
    qptr : int64 (n_queries + 1,)
    query_weight : float64 (n_queries,)   of mean 1
    order : int64 (n,)
    batch : int >= 1                      queries per step
    rate, l2 : float
    center : float64 (n_features,)
    params : float64 (n_features,)        in and out
    grad : float64 (n_features,)          out: of the weighted sum of the last batch, without the penalty
    """
    _, kind, _, alpha, beta, _ = spec
    n = 0
    for q in order:
        n = max(n, qptr[q + 1] - qptr[q])
    d, dtype = len(params), X.dtype
    linear = (
        np.empty(n, dtype=dtype),
        np.empty(n, dtype=dtype),
        np.empty(d, dtype=dtype),
        np.empty(d, dtype=dtype),
    )
    owned = linear, (scratch(n, linear[0]), scratch(n, weights), np.empty(n))
    (scores, dscores, w, part), (space, inner, ranks) = borrowed(owned)
    X, weights = borrowed((X, weights))
    loss = 0.0
    for begin in range(0, len(order), batch):
        end = min(begin + batch, len(order))
        distance = 0.0
        for f in range(len(params)):
            w[f] = params[f]
            distance += (params[f] - center[f]) ** 2
            grad[f] = 0.0
        total = 0.0
        for q in order[begin:end]:
            lo, hi = qptr[q], qptr[q + 1]
            s, v, g = scores[: hi - lo], weights[lo:hi], dscores[: hi - lo]
            dense_scores(X, lo, hi, w, scores, 0)
            if family == SEPARABLE:
                value = soft_rank_core(spec, s, v, 0, hi - lo, ranks, g, True, *space)
            elif family == AP:
                value = ap_query(s, v, alpha, kind, beta, ranks, g, space, inner)
            elif family == CASCADE:
                value = cascade_query(s, v, alpha, kind, beta, ranks, g, space)
            else:
                value = kendall_query(s, v, alpha, kind, ranks, g, space)
            total += query_weight[q] * value
            if query_weight[q] != 1.0:
                for i in range(len(g)):
                    g[i] *= X.dtype.type(query_weight[q])
            dense_add(X, lo, hi, dscores, 0, part, grad)
        size = end - begin
        loss += l2 * distance - total / size
        for f in range(len(params)):
            params[f] += rate * (grad[f] / size - 2.0 * l2 * (params[f] - center[f]))
    keep(owned)
    return loss / -(-len(order) // batch)
