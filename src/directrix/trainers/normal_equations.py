"""Ridge regression by its normal equations, for features that are read block by block."""

from __future__ import annotations

import numpy as np

from directrix.data.queries import Queries
from directrix.threads import one_blas_thread
from directrix.types import Float64Array

__all__ = ["ridge_of_blocks"]

_ROWS = 4096  # brought to float64 at one time


def ridge_of_blocks(queries: Queries, goal: Float64Array, weight: Float64Array, ridge: float) -> Float64Array:
    r"""Weights of a weighted ridge regression with an intercept, which is dropped.

    .. math:: \min_{w, b} \sum_i u_i (w \cdot x_i + b - g_i)^2 + \rho \lVert w \rVert^2

    Parameters
    ----------
    queries : Queries
        Features are `StoredFeatures`.
    goal, weight : float64 (n_docs,)
        g and u.
    ridge : float > 0
        rho.

    Returns
    -------
    float64 (n_features,)
        w.

    Notes
    -----
    One read of the features, O(n d^2) operations, O(d^2) memory. Features are moved by the mean of the first
    rows before their products are summed: products of numbers far from 0 would lose the digits that matter.
    """
    d = queries.n_features
    products, sums, total = np.zeros((d + 1, d + 1)), np.zeros(d + 1), 0.0
    middle: Float64Array | None = None
    with one_blas_thread():
        for before, rows in queries.features.blocks(queries.qptr):
            if middle is None:
                middle = np.append(rows[:_ROWS].mean(axis=0, dtype=np.float64), goal[:_ROWS].mean()).astype(
                    np.float64
                )
            for first in range(0, len(rows), _ROWS):
                part = rows[first : first + _ROWS]
                here = slice(before + first, before + first + len(part))
                columns = np.column_stack([part, goal[here]]) - middle
                weighted = columns * weight[here, None]
                products += weighted.T @ columns
                sums += weighted.sum(axis=0)
                total += float(weight[here].sum())
        centred = products - np.outer(sums, sums) / total
        solution = np.linalg.solve(centred[:d, :d] + ridge * np.eye(d), centred[:d, d])
    return np.asarray(solution, dtype=np.float64)
