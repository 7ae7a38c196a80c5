"""Scores, surrogate and gradient of a linear model, one or a few queries at a time in one kernel.

The general method, three kernels over a part of many queries, reads the features of a query again
after they have left the fastest cache, and costs three calls per part.
"""

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import longest_query
from directrix.models._kernels.linear import dense_add, dense_scores
from directrix.surrogates._kernels.approx_core import scratch, soft_rank_core
from directrix.surrogates._kernels.borrowed import borrowed, keep

_DOCS_AT_ONCE = 128
"""Short queries share their passes over the features, which still are in the fastest caches."""


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
    n_queries = len(qptr) - 1
    n = longest_query(qptr, 0, n_queries)
    linear = np.empty(X.shape[0], dtype=X.dtype), np.empty(X.shape[0], dtype=X.dtype), np.empty_like(w)
    owned = (*linear, np.empty(n), *scratch(n, w))
    scores, dscores, part, ranks, docs, group, sums, table, kept, order, members = borrowed(owned)
    X, weights, w, grad = borrowed((X, weights, w, grad))
    first = 0
    while first < n_queries:
        last = first + 1
        while last < n_queries and qptr[last + 1] - qptr[first] <= _DOCS_AT_ONCE:
            last += 1
        begin, end = qptr[first], qptr[last]
        dense_scores(X, begin, end, w, scores, begin)
        for q in range(first, last):
            lo, hi = qptr[q], qptr[q + 1]
            value[q] = soft_rank_core(
                spec, scores, weights, lo, hi, ranks, dscores, True, docs, group, sums, table, kept, order,
                members,
            )  # fmt: skip
            if query_weight[q] != 1.0:
                for i in range(lo, hi):
                    dscores[i] *= X.dtype.type(query_weight[q])
        dense_add(X, begin, end, dscores, begin, part, grad)
        first = last
    keep(owned)
