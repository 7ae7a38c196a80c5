"""Scores, surrogate and gradient of a linear model, query by query in one kernel.

The general way, three kernels over a part of many queries, reads the features of a query again
after they have left the fastest cache, and pays three calls a part.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.models._kernels.linear import dense_add, dense_scores
from directrix.surrogates._kernels.approx import longest
from directrix.surrogates._kernels.softrank import scratch, soft_rank_core


@kernel
def fused_separable(spec, X, weights, qptr, query_weight, w, value, grad):
    """Value of every query, and the gradient of their weighted sum with respect to w.

    Parameters
    ----------
    spec, weights                         of the surrogate, see `separable_chunk`
    X : float (n_docs, n_features)        read-only
    qptr : int64 (n_queries + 1,)
    query_weight : float64 (n_queries,)
    w : float (n_features,)               of the dtype of X
    value : float64 (n_queries,)          out
    grad : float64 (n_features,)          out, added to
    """
    shape, sigmoid_kind, k, alpha, beta = spec
    n_queries = len(qptr) - 1
    n = longest(qptr, 0, n_queries)
    scores, dscores = np.empty(n, dtype=X.dtype), np.empty(n, dtype=X.dtype)
    space, ranks, part = scratch(n, scores), np.empty(n), np.empty(len(w), dtype=X.dtype)
    for q in range(n_queries):
        lo, hi = qptr[q], qptr[q + 1]
        s, v, g = scores[: hi - lo], weights[lo:hi], dscores[: hi - lo]
        dense_scores(X[lo:hi], w, s)
        value[q] = soft_rank_core(s, v, shape, alpha, sigmoid_kind, k, beta, ranks, g, True, space)
        if query_weight[q] != 1.0:
            for i in range(len(g)):
                g[i] *= X.dtype.type(query_weight[q])
        dense_add(X[lo:hi], g, part, grad)
