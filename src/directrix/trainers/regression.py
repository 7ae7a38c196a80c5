"""The regression start: a linear ranker that predicts gains."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.stored import StoredFeatures
from directrix.measures.gains import check_squared_gains, gains
from directrix.threads import one_blas_thread
from directrix.trainers.normal_equations import ridge_of_blocks
from directrix.types import Float64Array

__all__ = ["regression_start"]


def regression_start(queries: Queries, *, ridge: float = 1.0, sample_weight: Any = None) -> Float64Array:
    r"""Weights of a ridge regression on the gains, classes reweighted.

    .. math:: \min_{w, b} \sum_i u_i (w \cdot x_i + b - g_i)^2 + \rho \lVert w \rVert^2

    with :math:`g = 2^l - 1` and weights u such that relevant (l > 0) and irrelevant documents
    weigh the same in total, n/2 each.

    Parameters
    ----------
    queries : Queries
        Training data.
    ridge : float > 0
        rho.
    sample_weight : float (n_docs,), or None
        Further factors on u.

    Returns
    -------
    float64 (n_features,)
        w; the intercept is dropped, it does not change a ranking.

    Raises
    ------
    InputError
        If a label is above 256: squares of its gain would not be floats.

    Notes
    -----
    O(n d^2) once for dense features, and a float64 copy of them; iterative for sparse ones; one read of those
    that stay in a file, with a result that differs by rounding. BLAS has one thread, so that the bits do not
    depend on how many there are.

    References
    ----------
    Chapelle & Wu (2010), Section 4 (the start of SmoothRank), doi:10.1007/s10791-009-9110-3.
    """
    from sklearn.linear_model import Ridge

    check_squared_gains(queries.labels)
    relevant = queries.labels > 0.0
    n, n_relevant = queries.n_docs, int(relevant.sum())
    weight = np.ones(n) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
    if 0 < n_relevant < n:
        weight = weight * np.where(relevant, 0.5 * n / n_relevant, 0.5 * n / (n - n_relevant))
    if isinstance(queries.features, StoredFeatures):
        return ridge_of_blocks(queries, gains(queries.labels), weight, ridge)
    model = Ridge(alpha=ridge, solver="auto" if hasattr(queries.features, "tocsr") else "cholesky")
    with one_blas_thread():
        model.fit(queries.features.astype(np.float64), gains(queries.labels), sample_weight=weight)
    return np.asarray(model.coef_, dtype=np.float64)
