"""Losses that are sums over documents."""

from directrix.kernels import kernel


@kernel
def regression_chunk(intercept, target, weight, scores, qptr, first, last, value, grad):
    """-sum_i w_i (s_i - b - target_i)^2, with the best b of the query if ``intercept``, else b = 0."""
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        s, t, w, g = scores[lo:hi], target[lo:hi], weight[lo:hi], grad[lo:hi]
        b = 0.0
        if intercept:
            weights, residuals = 0.0, 0.0
            for i in range(hi - lo):
                weights += w[i]
                residuals += w[i] * (s[i] - t[i])
            b = residuals / weights if weights > 0.0 else 0.0
        loss = 0.0
        for i in range(hi - lo):
            residual = (s[i] - t[i]) - b
            loss += w[i] * residual * residual
            g[i] = -2.0 * w[i] * residual
        value[q] = -loss
