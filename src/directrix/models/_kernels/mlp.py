"""Products of sparse rows with a matrix; dense ones are BLAS's."""

import numpy as np

from directrix.kernels import kernel


@kernel
def _add_scaled(total, row, factor):
    for k in range(len(total)):
        total[k] += factor * row[k]


@kernel
def csr_product(data, indices, indptr, weights, out):
    """Out (n, n_out) = X W for the rows that ``indptr`` (n + 1,) spans, summed in float64."""
    total = np.empty(weights.shape[1])
    for i in range(len(indptr) - 1):
        for k in range(len(total)):
            total[k] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            _add_scaled(total, weights[indices[p]], np.float64(data[p]))
        for k in range(len(total)):
            out[i, k] = total[k]


@kernel
def csr_add_product(data, indices, indptr, delta, grad):
    """Grad (float64) (n_features, n_out) += X^T delta."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            _add_scaled(grad[indices[p]], delta[i], np.float64(data[p]))
