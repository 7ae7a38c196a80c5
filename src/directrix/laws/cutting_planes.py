"""Bound on the number of constraints of a structural SVM: Theorem 1 of Yue et al. (2007)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.checks import check_form, check_ranking
from directrix.data.missing import check_cells
from directrix.data.sparse import dense
from directrix.parameters import number, whole
from directrix.types import Float64Array, Int64Array


def constraints_bound(n_queries: int, C: float, epsilon: float, radius: float, loss: float = 1.0) -> float:
    r"""Return a bound on the number of constraints that Algorithm 1 adds (Theorem 1).

    .. math:: \max\Big\{ \frac{2 n \bar\Delta}{\varepsilon},\
              \frac{8 C \bar\Delta \bar R^2}{\varepsilon^2} \Big\}

    for :math:`\min_w \frac12 \lVert w\rVert^2 + \frac Cn \sum_q \xi_q`, which
    ``CuttingPlane(slack="each", C=C)`` minimizes.

    Parameters
    ----------
    n_queries : int >= 1
        Number of training queries n.
    C : float > 0
        Weight of the slacks.
    epsilon : float > 0
        Violation, in units of the loss, below which a constraint is not added.
    radius : float >= 0
        :math:`\bar R`, the largest distance between the features of the true ranking of a query and those
        of any other, in units of the features; see `ranking_radius`.
    loss : float, 0 < loss <= 1
        :math:`\bar\Delta`, the largest loss of a ranking.

    Returns
    -------
    float
        A number of constraints.

    Raises
    ------
    InputError
        If a number is out of range.

    References
    ----------
    Yue, Finley, Radlinski & Joachims (2007), Theorem 1, doi:10.1145/1277741.1277790, after Tsochantaridis,
    Hofmann, Joachims & Altun (2005), Theorem 18, JMLR 6:1453-1484.

    Examples
    --------
    >>> round(constraints_bound(10, C=1.0, epsilon=0.1, radius=2.0), 6)  # 8 * 1 * 4 / 0.01
    3200.0
    """
    owner = "constraints_bound"
    n = whole(n_queries, "n_queries", owner)
    number(C, "C", owner, above=0.0, example=1.0)
    number(epsilon, "epsilon", owner, above=0.0, example=1e-3)
    number(radius, "radius", owner, least=0.0, example=1.0)
    number(loss, "loss", owner, above=0.0, most=1.0, example=1.0)
    return max(2.0 * n * loss / epsilon, 8.0 * C * loss * radius**2 / epsilon**2)


def ranking_radius(features: Any, labels: Float64Array, qptr: Int64Array, rel: float = 1.0) -> float:
    r"""Return a bound on the distance between the features of the true ranking and of any other.

    .. math:: \bar R^2 = \max_q \sum_f \Big( \frac{2}{R (n - R)} \max \Big\{
              \sum_{i, j} \max(0, x_{if} - x_{jf}),\ \sum_{i, j} \max(0, x_{jf} - x_{if}) \Big\} \Big)^2

    over the relevant documents i and the irrelevant ones j of a query. With the feature map of `SVMMap`,
    :math:`\Psi(y_q) - \Psi(y)` is 2/(R (n - R)) times the sum of x_i - x_j over the pairs that y puts in the
    wrong order, and each of its entries is largest for the pairs with one sign. The bound is attained if one
    ranking is the worst for all features.

    Parameters
    ----------
    features : float (n_docs, n_features), dense or CSR
        Features that the weights multiply.
    labels, qptr
        As for a surrogate.
    rel : float > 0
        Lowest label that counts as relevant.

    Returns
    -------
    float
        In units of the features; 0 without a query that has relevant and irrelevant documents.

    Raises
    ------
    InputError
        If labels and pointers do not fit together, or ``rel`` is not > 0.

    Notes
    -----
    It takes O(n d log n) time for d features; one query at a time is dense.

    References
    ----------
    Yue, Finley, Radlinski & Joachims (2007), Theorem 1, doi:10.1145/1277741.1277790; the bound is ours.

    Examples
    --------
    >>> round(ranking_radius(np.array([[3.0], [1.0], [0.0]]), np.array([1.0, 0, 0]), np.array([0, 3])), 3)
    5.0
    """
    n_docs, _ = check_form(features)
    check_cells(features, None, (), "row {}".format)
    _, labels, qptr = check_ranking(np.zeros(n_docs), labels, qptr)
    number(rel, "rel", "ranking_radius", above=0.0, example=1)
    largest = 0.0
    for lo, hi in pairwise(qptr):
        rows = features[lo:hi]
        # Only one query at a time becomes dense.
        X = dense(rows).astype(np.float64)
        relevant = labels[lo:hi] >= rel
        n_pairs = int(relevant.sum()) * int((~relevant).sum())
        if n_pairs:
            # An entry is largest if all pairs of one sign are in the wrong order.
            worst = np.maximum(_excess(X[relevant], X[~relevant]), _excess(X[~relevant], X[relevant]))
            largest = max(largest, float(np.linalg.norm(2.0 * worst / n_pairs)))
    return largest


def _excess(a: Float64Array, b: Float64Array) -> Float64Array:
    """Sum of max(0, a_i - b_j) over all pairs of rows, for every column."""
    lower = np.sort(b, axis=0)
    sums = np.vstack([np.zeros(b.shape[1]), np.cumsum(lower, axis=0)])
    total = np.empty(b.shape[1])
    for f in range(b.shape[1]):
        # A row exceeds the sorted entries before its place, so its excess is their number times it, less
        # their sum.
        below = np.searchsorted(lower[:, f], a[:, f])
        total[f] = below @ a[:, f] - sums[below, f].sum()
    return total
