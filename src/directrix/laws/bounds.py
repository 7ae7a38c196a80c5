"""Bounds on the distance between a surrogate and its measure.

The bounds for ApproxRank, by Qin, Liu and Li (2010), hold for the logistic sigmoid, provided that the scores
of a query do not tie.

In: scores, and the parameters of a surrogate. Out: numbers that its error cannot exceed:

>>> ndcg_bound(rank_bounds(np.array([0.0, 0.5, 1.0]), alpha=20.0).max()) < 1e-4
True
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from directrix.data.checks import as_array, as_floats, check_ranking
from directrix.errors import InputError
from directrix.measures.terms import discounts, gains
from directrix.parameters import number, positive, whole
from directrix.surrogates.approx import ApproxAP, ApproxNDCG, soft_ranks
from directrix.types import Float64Array, FloatArray, Int64Array, Surrogate


def rank_bounds(scores: FloatArray, alpha: float, qptr: Int64Array | None = None) -> Float64Array:
    r"""Return bounds on the errors of soft ranks (Theorem 3); their maximum is Corollary 4.

    .. math:: |\hat\pi_i - \pi_i| \le \frac{n - 1}{\exp(\delta_i \alpha) + 1}, \qquad
              \delta_i = \min_{j \ne i} |s_i - s_j|

    The paper prints <, which holds for 3 or more documents. With 2 documents, each has exactly this error.

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
    Qin, Liu & Li (2010), Eq. 24 and 25, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    The scores of the paper's Table 1, with gaps of .06744 (first and last document) to 1.57:

    >>> rank_bounds(np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330]), alpha=100).round(5)
    array([0.00471, 0.     , 0.     , 0.     , 0.00471])
    """
    gaps, others = _gaps(scores, qptr)
    # 1/(exp(x) + 1) is written with exp(-x), which cannot overflow.
    small = np.exp(-positive(alpha, "alpha", "rank_bounds") * gaps)
    return np.asarray(others * small / (1.0 + small))


def noisy_rank_bounds(scores: FloatArray, sigma: float) -> Float64Array:
    r"""Return bounds on the mean error of every document's rank if scores are noisy, as in SoftRank.

    .. math:: \mathrm E|R_i - \pi_i| \le \sum_{j \ne i} \tfrac12
              \operatorname{erfc}\Big(\frac{|s_i - s_j|}{2\sigma}\Big)
              \le \frac{n - 1}{2} \operatorname{erfc}\Big(\frac{\delta_i}{2\sigma}\Big), \qquad
              \delta_i = \min_{j \ne i} |s_i - s_j|

    with :math:`R_i` the rank of document i among scores :math:`N(s_j, \sigma^2)`: each pair that changes its
    order moves the document by one rank. The second bound is returned. `ndcg_bound` of its largest value
    bounds \|SoftNDCG - nDCG\|, and twice this bounds the tendency correlation coefficient.

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
    gives a larger bound; see docs/decisions/structural.md.

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
    """Distance of every score from the nearest other one of its query, and the number of others."""
    shape = as_floats(scores, "scores").shape
    scores, _, qptr = check_ranking(scores, np.zeros(shape), [0, *shape] if qptr is None else qptr)
    sizes = np.diff(qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((scores, query))
    # In sorted order, the nearest score is next to each one; the last of a query has no next one.
    within = np.where(np.diff(query) == 0, np.diff(scores[order]), np.inf)
    apart = np.concatenate([[np.inf], within, [np.inf]])
    gaps = np.empty(len(scores))
    gaps[order] = np.minimum(apart[:-1], apart[1:])[: len(scores)]
    return gaps, np.repeat(sizes - 1, sizes)


BOUNDS = ("gap", "gaps", "ranks", "relevant")
"""Sources of the error eps of the soft ranks; see `bounds_of`."""
# Factor on z that makes a sigmoid logistic: (1 + tanh z)/2 is logistic(2 z).
_AS_LOGISTIC = {"logistic": 1.0, "tanh": 2.0}


def ap_bound(eps: float, n_relevant: int, beta: float) -> float:
    r"""Return a bound on \|ApproxAP - AP\|: Theorem 5.

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
        If ``eps`` is 1/2 or more, for which the theorem gives no bound.

    Examples
    --------
    >>> from directrix.laws import ap_bound
    >>> round(ap_bound(0.01, n_relevant=5, beta=10.0), 4)
    0.0296
    """
    eps = number(eps, "eps", "ap_bound", least=0.0, example=0.01)
    n_relevant = whole(n_relevant, "n_relevant", "ap_bound", least=0, below=1 << 24)
    beta = number(beta, "beta", "ap_bound", example=10.0)
    if eps >= 0.5:
        raise InputError(
            f"eps={eps:g}: Theorem 5 needs soft ranks with errors below 1/2; use a larger alpha."
        )
    i = np.arange(1, n_relevant + 1)
    # 1/(1 + exp(x)) is written with exp(-x), which cannot overflow.
    weight = math.exp(-beta * (1.0 - 2.0 * eps))
    first = weight / (1.0 + weight) * float(np.sum(1.0 / (i - eps)))
    return first + 2.0 * eps * float(np.sum(1.0 / (i * (i - eps))))


def ndcg_bound(eps: float) -> float:
    r"""Return a bound on \|ApproxNDCG - nDCG\|: Theorem 6, :math:`\varepsilon / (2 \ln 2)`.

    Parameters
    ----------
    eps : float >= 0
        Largest error of a soft rank.

    Returns
    -------
    float
        In units of nDCG.

    Examples
    --------
    >>> from directrix.laws import ndcg_bound
    >>> round(ndcg_bound(0.01), 4)
    0.0072
    """
    return number(eps, "eps", "ndcg_bound", least=0.0, example=0.01) / (2.0 * math.log(2.0))


def bounds_of(
    surrogate: Surrogate, scores: Float64Array, labels: Float64Array, qptr: Int64Array
) -> dict[str, Float64Array]:
    r"""Return the paper's bounds on \|surrogate - measure\| for every query.

    These apply Theorem 5 (ApproxAP) or Theorem 6 (ApproxNDCG) to an error eps of the soft ranks:

    - "gap": upper bound by the smallest gap of two scores (Corollary 4), before ranking;
    - "gaps": upper bound for the relevant documents, each by the gap next to it (Theorem 3);
    - "ranks": the largest error of all documents, measured;
    - "relevant": the largest error of the relevant documents, measured: the proofs need no others.

    Each is float64 (n_queries,), in units of the measure. It is NaN where the theorem gives no bound: no
    document is relevant, scores tie (for "gaps" and "relevant": those of a relevant document), eps is not
    below 1/2 for ApproxAP, or the bound is 1 or more and so trivial. The result is empty if no theorem covers
    the surrogate: it has a cut-off, or a sigmoid that is not logistic.

    Examples
    --------
    The example of the paper, with the relevant document third:

    >>> s = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])
    >>> labels, qptr = np.array([0.0, 0.0, 0.0, 0.0, 1.0]), np.array([0, 5])
    >>> bounds = bounds_of(ApproxAP(alpha=100.0, beta=100.0), s, labels, qptr)
    >>> {kind: bounds[kind].round(4).tolist() for kind in BOUNDS}
    {'gap': [0.0095], 'gaps': [0.0095], 'ranks': [0.0024], 'relevant': [0.0024]}
    """
    if not isinstance(surrogate, ApproxAP | ApproxNDCG) or surrogate.sigmoid not in _AS_LOGISTIC:
        return {}
    if isinstance(surrogate, ApproxNDCG) and surrogate.k is not None:
        return {}
    factor = _AS_LOGISTIC[surrogate.sigmoid]
    ranks, is_tied = _ranks(scores, qptr)
    off = np.abs(soft_ranks(scores, qptr, alpha=surrogate.alpha, sigmoid=surrogate.sigmoid) - ranks)
    limit = rank_bounds(scores, surrogate.alpha * factor, qptr)
    relevant = labels >= getattr(surrogate, "rel", 1)
    bounds = {kind: np.full(len(qptr) - 1, np.nan) for kind in BOUNDS}
    # The theorems say nothing about queries without relevant documents.
    for q in np.flatnonzero(np.logical_or.reduceat(relevant, qptr[:-1])):
        documents = slice(int(qptr[q]), int(qptr[q + 1]))
        counts = relevant[documents]
        limits = limit[documents]
        eps: dict[str, float] = {}
        # The theorems hold for distinct scores: of the relevant documents, or of all.
        if not is_tied[documents][counts].any():
            eps |= {"relevant": float(off[documents][counts].max()), "gaps": float(limits[counts].max())}
        if not is_tied[documents].any():
            eps |= {"ranks": float(off[documents].max()), "gap": float(limits.max())}
        for kind, error in eps.items():
            if isinstance(surrogate, ApproxNDCG):
                bound = ndcg_bound(error)
            else:
                bound = ap_bound(error, int(counts.sum()), surrogate.beta * factor) if error < 0.5 else np.nan
            # A bound of 1 or more is trivial.
            bounds[kind][q] = bound if bound < 1.0 else np.nan
    return bounds


def _ranks(scores: Float64Array, qptr: Int64Array) -> tuple[Float64Array, npt.NDArray[np.bool_]]:
    """1-based ranks, with equal scores in some order, and which documents share their score."""
    sizes = np.diff(qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-scores, query))
    ranks, is_tied = np.empty(len(scores)), np.zeros(len(scores), dtype=bool)
    ranks[order] = np.arange(len(scores)) - np.repeat(qptr[:-1], sizes) + 1.0
    equal = (np.diff(scores[order]) == 0.0) & (np.diff(query) == 0)
    is_tied[order[1:][equal]] = is_tied[order[:-1][equal]] = True
    return ranks, is_tied


def smooth_ndcg_bound(scores: FloatArray, labels: Float64Array, sigma: float, k: int | None = None) -> float:
    r"""Return a bound on \|SmoothNDCG - nDCG\| for one query (Section 5.1).

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
        0 if there is no gain; above 1, and thus useless, if two scores nearly tie.

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


def smooth_ndcg_lipschitz(n_docs: int, sigma: float) -> float:
    r"""Return a Lipschitz constant of SmoothNDCG in the scores of a query (Section 5.2).

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
        If ``n_docs`` is not an integer >= 1, or sigma is not > 0.

    Notes
    -----
    These are the steps of the paper; our copy of it lacks the constants. No share times its distance,
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
    r"""Return a bound on the expected loss of a linear ranker minus its training loss (Theorem 1).

    .. math:: \mathrm{E}\, \phi - \frac1n \sum_q \phi_q \le \sqrt{2 \pi}\, L B X \sqrt{\frac mn}
              + M \sqrt{\frac{8 \ln(2 / \delta)}{n}}

    for all weights with :math:`\lVert w \rVert \le B`, with probability 1 - delta over n independent queries.

    Parameters
    ----------
    n_queries, n_docs : int >= 1
        Number n of training queries, and m of documents of each query.
    lipschitz : float >= 0
        L: Lipschitz constant of the loss of a query in its scores, e.g. `smooth_ndcg_lipschitz`.
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
        In units of the loss; useless if it is above ``largest``.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    Our copy of the paper lacks the formula; this follows the proof of its Appendix 1, with the constants
    written out. By Slepian's lemma (with the constant 1 of Sudakov and Fernique) the Gaussian complexity of
    the losses is at most that of :math:`L \sum_{qj} h_{qj}\, w \cdot x_{qj}`, which is at most :math:`\frac{2
    L B}{n} \sqrt{\sum_{qj} \lVert x_{qj} \rVert^2}`. The Rademacher complexity is at most
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
