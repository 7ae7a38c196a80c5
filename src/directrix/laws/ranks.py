"""Bounds on the error of smoothed ranks: soft ranks of ApproxRank, ranks of noisy scores of SoftRank."""

from __future__ import annotations

import numpy as np

from directrix.data.checks import as_floats, check_ranking
from directrix.parameters import positive
from directrix.types import Float64Array, FloatArray, Int64Array


def rank_bounds(scores: FloatArray, alpha: float, qptr: Int64Array | None = None) -> Float64Array:
    r"""Bound on the error of the soft rank of every document: Theorem 3.

    .. math:: |\hat\pi_i - \pi_i| \le \frac{n - 1}{\exp(\delta_i \alpha) + 1}, \qquad
              \delta_i = \min_{j \ne i} |s_i - s_j|

    The paper prints <, which holds for 3 documents and more. Of 2 documents each has exactly this error.

    Parameters
    ----------
    scores : float (n_docs,)
        Scores of one or more queries.
    alpha : float > 0
        Steepness, in 1 / units of score.
    qptr : int64 (n_queries + 1,), or None
        Query boundaries; None = one query.

    Returns
    -------
    float64 (n_docs,)
        In ranks, at most (n - 1)/2, which is the bound of a document whose score ties.

    Raises
    ------
    InputError
        If alpha is not > 0.

    Notes
    -----
    O(n log n). It holds for the logistic sigmoid.

    References
    ----------
    Qin, Liu & Li (2010), Eq. 24, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    The scores of the paper's Table 1, with gaps of .06744 (first and last document) to 1.57:

    >>> rank_bounds(np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330]), alpha=100).round(5)
    array([0.00471, 0.     , 0.     , 0.     , 0.00471])
    """
    gaps, others = _gaps(scores, qptr)
    small = np.exp(-positive(alpha, "alpha", "rank_bounds") * gaps)
    return np.asarray(others * small / (1.0 + small))


def rank_bound(scores: FloatArray, alpha: float) -> float:
    r"""Bound on the error of all soft ranks of a query: Corollary 4, the largest of `rank_bounds`.

    .. math:: \max_i |\hat\pi_i - \pi_i| \le \frac{n - 1}{\exp(\delta \alpha) + 1}, \qquad
              \delta = \min_{i \ne j} |s_i - s_j|

    Parameters
    ----------
    scores : float (n,)
        Scores of one query.
    alpha : float > 0
        Steepness, in 1 / units of score.

    Returns
    -------
    float
        In ranks; (n - 1)/2 if two scores tie.

    Raises
    ------
    InputError
        If alpha is not > 0.

    Notes
    -----
    O(n log n).

    References
    ----------
    Qin, Liu & Li (2010), Eq. 25, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    >>> round(rank_bound(np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330]), alpha=100), 5)
    0.00471
    """
    return float(rank_bounds(scores, alpha).max(initial=0.0))


def noisy_rank_bounds(scores: FloatArray, sigma: float) -> Float64Array:
    r"""Bound on the mean error of every document's rank if scores are noisy, as in SoftRank.

    .. math:: \mathrm E|R_i - \pi_i| \le \sum_{j \ne i} \tfrac12
              \operatorname{erfc}\Big(\frac{|s_i - s_j|}{2\sigma}\Big)
              \le \frac{n - 1}{2} \operatorname{erfc}\Big(\frac{\delta_i}{2\sigma}\Big), \qquad
              \delta_i = \min_{j \ne i} |s_i - s_j|

    with :math:`R_i` the rank of document i among scores :math:`N(s_j, \sigma^2)`: each pair that changes its
    order moves the document by one rank. The second bound is returned. `ndcg_bound` of its largest value
    bounds \|SoftNDCG - nDCG\|, and twice that the tendency correlation coefficient.

    Parameters
    ----------
    scores : float (n,)
        Scores of one query.
    sigma : float > 0
        Standard deviation of a score, in units of score.

    Returns
    -------
    float64 (n,)
        In ranks, at most (n - 1)/2.

    Raises
    ------
    InputError
        If sigma is not > 0.

    Notes
    -----
    O(n log n). He and Liu bound the same distance by the mean and the variance of the ranks (Lemma 2), which
    gives a larger bound, see docs/decisions/optimality.md.

    References
    ----------
    He & Liu (2010), Theorem 2 and Lemma 2, Information Retrieval 13; the form is ours.

    Examples
    --------
    The example after Theorem 2, 200 documents with scores .1 apart. The paper bounds the coefficient by 1000
    at sigma = .02 and by .02 at sigma = .01; with this bound of the ranks it is at most

    >>> from directrix.laws import ndcg_bound
    >>> scores = 0.1 * np.arange(200)
    >>> [float(f"{2 * ndcg_bound(noisy_rank_bounds(scores, sigma).max()):.1e}") for sigma in (0.02, 0.01)]
    [0.058, 2.2e-10]
    """
    from scipy.special import erfc

    gaps, others = _gaps(scores, None)
    sigma = positive(sigma, "sigma", "noisy_rank_bounds")
    return np.asarray(0.5 * others * erfc(gaps / (2.0 * sigma)))


def _gaps(scores: FloatArray, qptr: Int64Array | None) -> tuple[Float64Array, Int64Array]:
    """Distance of every score from the nearest other of its query, and the number of others."""
    given = as_floats(scores, "scores").shape
    scores, _, qptr = check_ranking(scores, np.zeros(given), [0, *given] if qptr is None else qptr)
    sizes = np.diff(qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((scores, query))
    within = np.where(np.diff(query) == 0, np.diff(scores[order]), np.inf)
    apart = np.concatenate([[np.inf], within, [np.inf]])
    gaps = np.empty(len(scores))
    gaps[order] = np.minimum(apart[:-1], apart[1:])[: len(scores)]
    return gaps, np.repeat(sizes - 1, sizes)
