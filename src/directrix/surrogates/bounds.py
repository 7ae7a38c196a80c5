r"""How far ApproxRank can be from the measure: the bounds of Qin, Liu, Li (2010).

All are guarantees for the logistic sigmoid, given that the scores of a query do not tie.
"""

from __future__ import annotations

import math

import numpy as np

from directrix.errors import InputError
from directrix.types import FloatArray

__all__ = ["ap_bound", "ndcg_bound", "rank_bound"]


def rank_bound(scores: FloatArray, alpha: float) -> float:
    r"""Bound on the error of soft ranks: Theorem 3 and Corollary 4.

    .. math:: \max_i |\hat\pi_i - \pi_i| < \frac{n - 1}{\exp(\delta \alpha) + 1}, \qquad
              \delta = \min_{i \ne j} |s_i - s_j|

    Parameters
    ----------
    scores : float (n,)
        Scores of one query.
    alpha : float > 0
        Steepness.

    Returns
    -------
    float
        In ranks; (n - 1)/2 if two scores tie.

    Examples
    --------
    >>> round(rank_bound(np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330]), alpha=100), 5)
    0.00471
    """
    ordered = np.sort(np.asarray(scores, dtype=np.float64))
    if len(ordered) < 2:
        return 0.0
    exponent = alpha * float(np.diff(ordered).min())
    return (len(ordered) - 1) * math.exp(-exponent) / (1.0 + math.exp(-exponent))


def ap_bound(eps: float, n_relevant: int, beta: float) -> float:
    r"""Bound on \|ApproxAP - AP\|: Theorem 5.

    .. math:: \frac{1}{1 + \exp(\beta(1 - 2\varepsilon))} \sum_{i=1}^R \frac{1}{i - \varepsilon}
              + 2\varepsilon \sum_{i=1}^R \frac{1}{i (i - \varepsilon)}

    Parameters
    ----------
    eps : float, 0 <= eps < 1/2
        Largest error of a soft rank.
    n_relevant : int >= 1
        Number of relevant documents R.
    beta : float > 0
        Steepness of the truncation.

    Returns
    -------
    float
        In units of AP.

    Raises
    ------
    InputError
        If ``eps`` is 1/2 or more: the theorem says nothing then.
    """
    if not 0.0 <= eps < 0.5:
        raise InputError(
            f"eps={eps:g}: Theorem 5 needs soft ranks that are less than 1/2 off; a larger alpha gives that."
        )
    i = np.arange(1, n_relevant + 1)
    weight = math.exp(-beta * (1.0 - 2.0 * eps))
    first = weight / (1.0 + weight) * float(np.sum(1.0 / (i - eps)))
    return first + 2.0 * eps * float(np.sum(1.0 / (i * (i - eps))))


def ndcg_bound(eps: float) -> float:
    r"""Bound on \|ApproxNDCG - nDCG\|: Theorem 6, :math:`\varepsilon / (2 \ln 2)`.

    Parameters
    ----------
    eps : float >= 0
        Largest error of a soft rank.

    Returns
    -------
    float
        In units of nDCG.
    """
    return eps / (2.0 * math.log(2.0))
