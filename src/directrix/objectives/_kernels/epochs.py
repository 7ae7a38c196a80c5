"""One epoch of SGD for a linear model, in one kernel for each surrogate.

The general method, one Python call per batch, takes up to thirty times as long if batches have five
documents.
"""

from functools import cache

import numpy as np

from directrix.kernels import kernel
from directrix.models._kernels.linear import dense_add, dense_scores
from directrix.surrogates._kernels.borrowed import borrowed, keep


@kernel
def descend(params, grad, steps):
    """Take a step; returns the penalty before it.

    ``steps`` are the learning rate, and strength and center (n_params,) of the penalty.
    """
    rate, l2, center = steps
    distance = 0.0
    for f in range(len(params)):
        away = params[f] - center[f]
        distance += away**2
        params[f] += rate * (grad[f] - 2.0 * l2 * away)
    return l2 * distance


@cache
def epoch_of(chunk):
    """Return the kernel of an epoch for a compiled chunk, see `KernelSurrogate.kernel`."""

    def epoch(data, X, qptr, query_weight, order, batch, steps, out, params):
        """Descend one batch of queries at a time; overwrites params, returns the mean loss of the batches.

        Parameters
        ----------
        data : tuple                          first arguments of the chunk: settings and prepared arrays
        X : float (n_docs, n_features)        read-only
        qptr : int64 (n_queries + 1,)
        query_weight : float64 (n_queries,)   of mean 1
        order : int64 (n,)
        batch : int >= 1                      queries per step
        steps : tuple                         of `descend`
        out : tuple                           outputs of the chunk; out, for all queries and documents
        params : float64 (n_features,)        in and out
        """
        d, loss = len(params), 0.0
        owned = np.empty(d, dtype=X.dtype), np.empty(d, dtype=X.dtype), np.empty(len(X), dtype=X.dtype)
        w, part, scores = borrowed(owned)
        data, X, qptr, out = borrowed((data, X, qptr, out))
        value, slopes, grad = out[0], out[1], np.empty(d)
        for begin in range(0, len(order), batch):
            end, total = min(begin + batch, len(order)), 0.0
            for f in range(d):
                w[f], grad[f] = params[f], 0.0
            for q in order[begin:end]:
                lo, hi = qptr[q], qptr[q + 1]
                dense_scores(X, lo, hi, w, scores, lo)
                chunk(*data, scores, qptr, q, q + 1, *out)
                total += query_weight[q] * value[q]
                if query_weight[q] != 1.0:
                    for i in range(lo, hi):
                        slopes[i] *= X.dtype.type(query_weight[q])
                dense_add(X, lo, hi, slopes, lo, part, grad)
            size = end - begin
            for f in range(d):
                grad[f] /= size
            loss += descend(params, grad, steps) - total / size
        keep(owned)
        return loss / -(-len(order) // batch)

    epoch.__qualname__ = f"epoch_of_{chunk.__name__}"
    return kernel(epoch)
