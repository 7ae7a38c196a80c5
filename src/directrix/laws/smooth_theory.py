r"""Theory of SmoothNDCG: Sections 5.1 and 5.4 of Chapelle & Wu (2010)."""

from __future__ import annotations

import math

import numpy as np

from directrix.data.validate import check_ranking
from directrix.measures.gains import discounts, gains
from directrix.parameters import number, positive, whole
from directrix.types import Float64Array, FloatArray


def smooth_ndcg_bound(scores: FloatArray, labels: Float64Array, sigma: float, k: int | None = None) -> float:
    r"""Bound on \|SmoothNDCG - nDCG\| for one query (Section 5.1).

    .. math:: \frac{e^{-\delta^2/\sigma}}{Z_k} \sum_{j \le k} D(j) \sum_i |g_i - g_{d(j)}|, \qquad
              \delta = \min_{i \ne j} |s_i - s_j|

    The paper gives the rate :math:`O(e^{-\delta^2/\sigma})`; the constant is from its proof: no share
    :math:`h_{ij}` of a document other than d(j) exceeds :math:`e^{-\delta^2/\sigma}`.

    Parameters
    ----------
    scores : float (n,)
        Scores of one query.
    labels : float (n,)
        Its labels.
    sigma : float > 0
        Smoothing, in squared units of score.
    k : int >= 1, or None
        Cut-off.

    Returns
    -------
    float
        0 if there is no gain; above 1, and so without use, if two scores nearly tie.

    Raises
    ------
    InputError
        If scores and labels have different lengths, sigma is not > 0, or k is not an integer >= 1.

    Notes
    -----
    O(k n).

    Examples
    --------
    >>> round(smooth_ndcg_bound(np.array([3.0, 1.0, 2.0]), np.array([2.0, 0.0, 1.0]), sigma=0.1), 5)
    0.00011
    """
    scores, labels, _ = check_ranking(np.asarray(scores), labels, np.array([0, np.size(scores)]))
    sigma, gain = positive(sigma, "sigma", "smooth_ndcg_bound"), gains(labels)
    scores = scores.astype(np.float64)
    top = len(scores) if k is None else min(whole(k, "k", "smooth_ndcg_bound"), len(scores))
    discount = discounts(top)
    ideal = float(np.sort(gain)[::-1][:top] @ discount)
    if ideal == 0.0:
        return 0.0
    gap = float(np.diff(np.sort(scores)).min(initial=np.inf))
    order = np.argsort(-scores, kind="stable")[:top]
    spread = sum(d * float(np.abs(gain - gain[i]).sum()) for d, i in zip(discount, order, strict=True))
    return float(math.exp(-(gap**2) / sigma) * spread / ideal)


def smooth_rescaled(sigma: float, l2: float, scale: float) -> tuple[float, float]:
    r"""Smoothing and penalty of the same training problem for weights ``scale`` times as long (Section 5.4).

    With a penalty towards zero, w minimises the loss at :math:`(\sigma, \lambda)` if and only if
    c w minimises it at :math:`(\sigma c^2, \lambda / c^2)`, with the same value. So one of the two
    settings may be fixed; with a penalty towards a start :math:`w_0 \ne 0` it may not.

    Parameters
    ----------
    sigma, l2 : float
        Smoothing, and strength of the penalty.
    scale : float > 0
        c.

    Returns
    -------
    sigma, l2 : float

    Raises
    ------
    InputError
        If the scale is not > 0.

    Examples
    --------
    >>> smooth_rescaled(1.0, 0.01, scale=2.0)
    (4.0, 0.0025)
    """
    number(scale, "scale", "smooth_rescaled", above=0.0, example=2.0)
    return sigma * scale**2, l2 / scale**2
