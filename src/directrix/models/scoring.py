"""Scores of many parameter vectors on the same rows: a run of rows stays in the cache for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.models.rows import row_slice
from directrix.threads import one_blas_thread, run_chunks
from directrix.types import Float64Array, Model

_ROWS_PER_CHUNK = 4096
"""Rows that are scored at a time: they and hidden values stay in the cache, and memory small."""


def scores_of(model: Model, params: Float64Array, X: Any) -> Float64Array:
    """Return the scores of all rows for each of several parameter vectors.

    ``params`` are (n_vectors, n_params); the scores (n_vectors, n_docs) are float64, computed in the
    precision of the features X of `Queries`, as rankers do. The scores of a vector have the same bits
    whatever the other vectors are, and for any number of threads. Raises `InputError` if the number of
    parameters is not that of the model. The features are read once from memory, by runs of 4096 rows on
    several threads.

    Examples
    --------
    >>> from directrix.models.linear import LinearModel
    >>> scores_of(LinearModel(), np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([[ 3.,  5.],
           [ 8., 12.]])
    """
    n_docs = X.shape[0]
    scores = np.empty((len(params), n_docs))

    def work(c: int) -> None:
        lo, hi = c * _ROWS_PER_CHUNK, min((c + 1) * _ROWS_PER_CHUNK, n_docs)
        rows = row_slice(X, lo, hi)
        for vector, out in zip(params, scores, strict=True):
            out[lo:hi] = model.forward(vector, rows)[0]

    with one_blas_thread():
        run_chunks(work, -(-n_docs // _ROWS_PER_CHUNK))
    return scores
