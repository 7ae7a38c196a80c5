"""Theory of SmoothNDCG: error, steepness, equivalent settings (Chapelle & Wu 2010, Section 5)."""

from __future__ import annotations

import math

import numpy as np

from directrix.data.checks import as_array, check_ranking
from directrix.measures.terms import discounts, gains
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
    O(n log n + k n).

    References
    ----------
    Chapelle & Wu (2010), Section 5.1, doi:10.1007/s10791-009-9110-3; the constant is ours.

    Examples
    --------
    >>> round(smooth_ndcg_bound(np.array([3.0, 1.0, 2.0]), np.array([2.0, 0.0, 1.0]), sigma=0.1), 5)
    0.00011
    """
    scores, labels, _ = check_ranking(as_array(scores, "scores"), labels, np.array([0, np.size(scores)]))
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
    return float(math.exp(-gap * gap / sigma) * spread / ideal)


def smooth_rescaled(sigma: float, l2: float, scale: float) -> tuple[float, float]:
    r"""Smoothing and penalty of the same training problem for weights ``scale`` times as long (Section 5.4).

    With a penalty towards zero, w minimizes the loss at :math:`(\sigma, \lambda)` if and only if
    c w minimizes it at :math:`(\sigma c^2, \lambda / c^2)`, with the same value. So one of the two
    settings may be fixed; with a penalty towards a start :math:`w_0 \ne 0` it may not.

    Parameters
    ----------
    sigma, l2 : float
        Smoothing, in squared units of score, and strength of the penalty.
    scale : float > 0
        c.

    Returns
    -------
    sigma, l2 : float
        :math:`\sigma c^2` and :math:`\lambda / c^2`.

    Raises
    ------
    InputError
        If the scale is not > 0.

    References
    ----------
    Chapelle & Wu (2010), Section 5.4, doi:10.1007/s10791-009-9110-3.

    Examples
    --------
    >>> smooth_rescaled(1.0, 0.01, scale=2.0)
    (4.0, 0.0025)
    """
    number(scale, "scale", "smooth_rescaled", above=0.0, example=2.0)
    return sigma * scale**2, l2 / scale**2


def smooth_ndcg_lipschitz(n_docs: int, sigma: float) -> float:
    r"""Bound on how fast SmoothNDCG changes with the scores of a query (Section 5.2).

    .. math:: |A(s) - A(s')| \le L \lVert s - s' \rVert, \qquad L = \frac{4 m (m + 1)}{\sqrt{2 e \sigma}}

    Parameters
    ----------
    n_docs : int >= 1
        Number m of documents of the query.
    sigma : float > 0
        Smoothing, in squared units of score.

    Returns
    -------
    float
        In 1 / units of score; for labels and cut-offs of any kind.

    Raises
    ------
    InputError
        If ``n_docs`` is not an integer >= 1, or sigma not > 0.

    Notes
    -----
    The steps of the paper, whose constants the text that we have lacks. No share times its distance,
    :math:`h_{ij} |s_i - s_{d(j)}|`, exceeds :math:`\max_d |d| e^{-d^2/\sigma} = \sqrt{\sigma / (2 e)}`; so
    the sum of the slopes' magnitudes is at most

    .. math:: \frac{4}{\sqrt{2 e \sigma}} \frac{1}{Z} \sum_j D(j) \sum_i |g_i - \bar g_j|
              \le \frac{4 (m + 1)}{\sqrt{2 e \sigma}} \frac{1}{Z} \sum_j D(j) \sum_i g_i,

    and by Chebyshev's sum inequality :math:`\frac1Z \sum_j D(j) \sum_i g_i \le m`, because no nDCG
    exceeds 1.

    References
    ----------
    Chapelle & Wu (2010), Section 5.2, doi:10.1007/s10791-009-9110-3; the constant is ours.

    Examples
    --------
    >>> round(smooth_ndcg_lipschitz(10, sigma=1.0), 2), round(smooth_ndcg_lipschitz(10, sigma=0.25), 2)
    (188.71, 377.42)
    """
    m = whole(n_docs, "n_docs", "smooth_ndcg_lipschitz")
    sigma = positive(sigma, "sigma", "smooth_ndcg_lipschitz")
    return 4.0 * m * (m + 1.0) / math.sqrt(2.0 * math.e * sigma)


def generalization_bound(
    n_queries: int,
    n_docs: int,
    *,
    lipschitz: float,
    norm: float,
    radius: float,
    delta: float = 0.05,
    largest: float = 1.0,
) -> float:
    r"""Bound on how far the expected loss of a linear ranker is above its training loss (Theorem 1).

    .. math:: \mathrm{E}\, \phi - \frac1n \sum_q \phi_q \le \sqrt{2 \pi}\, L B X \sqrt{\frac mn}
              + M \sqrt{\frac{8 \ln(2 / \delta)}{n}}

    for all weights with :math:`\lVert w \rVert \le B`, with probability 1 - delta over n independent queries.

    Parameters
    ----------
    n_queries, n_docs : int >= 1
        Number n of training queries, and m of documents of each query.
    lipschitz : float >= 0
        L: how fast the loss of a query changes with its scores, e.g. `smooth_ndcg_lipschitz`.
    norm : float >= 0
        B, the largest length of the weights.
    radius : float >= 0
        X, the largest length of the features of a document.
    delta : float, 0 < delta < 1
        Probability with which the bound may fail.
    largest : float > 0
        M: the loss of a query lies in an interval of this length.

    Returns
    -------
    float
        In units of the loss; of no use if it is above ``largest``.

    Raises
    ------
    InputError
        If a number is out of its range.

    Notes
    -----
    The text that we have lacks the formula; this is the proof of its Appendix 1 with the constants written
    out. By Slepian's lemma (with the constant 1 of Sudakov and Fernique) the Gaussian complexity of the
    losses is at most that of :math:`L \sum_{qj} h_{qj}\, w \cdot x_{qj}`, which is at most
    :math:`\frac{2 L B}{n} \sqrt{\sum_{qj} \lVert x_{qj} \rVert^2}`. The Rademacher complexity is at most
    :math:`\sqrt{\pi/2}` times as large, and bounds the difference by Theorem 8 of Bartlett & Mendelson (2003,
    JMLR 3:463-482).

    References
    ----------
    Chapelle & Wu (2010), Section 5.2, Theorem 1 and Appendix 1, doi:10.1007/s10791-009-9110-3; the
    constants are ours.

    Examples
    --------
    >>> round(generalization_bound(10_000, 10, lipschitz=1.0, norm=1.0, radius=1.0), 3)
    0.134
    """
    owner = "generalization_bound"
    n, m = whole(n_queries, "n_queries", owner), whole(n_docs, "n_docs", owner)
    for name, value in (("lipschitz", lipschitz), ("norm", norm), ("radius", radius)):
        number(value, name, owner, least=0.0, example=1.0)
    number(delta, "delta", owner, above=0.0, below=1.0, example=0.05)
    number(largest, "largest", owner, above=0.0, example=1.0)
    complexity = math.sqrt(2.0 * math.pi) * lipschitz * norm * radius * math.sqrt(m / n)
    return complexity + largest * math.sqrt(8.0 * math.log(2.0 / delta) / n)
