"""Bounds on the distance between a surrogate and its measure.

Those of ApproxRank, by Qin, Liu and Li (2010), hold for the logistic sigmoid, provided that the scores of a
query do not tie.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from directrix.errors import InputError
from directrix.laws.ranks import rank_bounds
from directrix.parameters import number, whole
from directrix.surrogates.approx import ApproxAP, ApproxNDCG, soft_ranks
from directrix.types import Float64Array, Int64Array, Surrogate

BOUNDS = ("gap", "gaps", "ranks", "relevant")
"""Sources of the error eps of the soft ranks; see `bounds_of`."""
_AS_LOGISTIC = {"logistic": 1.0, "tanh": 2.0}  # factor on z: (1 + tanh z)/2 = logistic(2 z)


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
    r"""Bounds of the paper on \|surrogate - measure\| for every query.

    Theorem 5 for ApproxAP, Theorem 6 for ApproxNDCG, of the error eps of the soft ranks:

    - "gap": at most this, by the least gap of two scores (Corollary 4), before anything is ranked;
    - "gaps": at most this for the relevant documents, each by the gap next to it (Theorem 3);
    - "ranks": the largest of all documents, measured;
    - "relevant": the largest of the relevant documents, measured: the proofs need no others.

    Float64 (n_queries,) each, in units of the measure. NaN where the theorem gives no bound: no document is
    relevant, scores tie (for "gaps" and "relevant": those of a relevant document), eps is not below 1/2 for
    ApproxAP, or the bound is 1 or more, larger than any difference of two measures. Empty if no theorem
    covers the surrogate: it has a cut-off, or a sigmoid that is not logistic.

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
    for q in np.flatnonzero(np.logical_or.reduceat(relevant, qptr[:-1])):
        documents = slice(int(qptr[q]), int(qptr[q + 1]))
        counts = relevant[documents]
        limits = limit[documents]
        eps: dict[str, float] = {}
        if not is_tied[documents][counts].any():
            eps |= {"relevant": float(off[documents][counts].max()), "gaps": float(limits[counts].max())}
        if not is_tied[documents].any():
            eps |= {"ranks": float(off[documents].max()), "gap": float(limits.max())}
        for kind, error in eps.items():
            if isinstance(surrogate, ApproxNDCG):
                bound = ndcg_bound(error)
            else:
                bound = ap_bound(error, int(counts.sum()), surrogate.beta * factor) if error < 0.5 else np.nan
            bounds[kind][q] = bound if bound < 1.0 else np.nan
    return bounds


def _ranks(scores: Float64Array, qptr: Int64Array) -> tuple[Float64Array, npt.NDArray[np.bool_]]:
    """1-based ranks, of equal scores in some order, and which documents share their score."""
    sizes = np.diff(qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-scores, query))
    ranks, is_tied = np.empty(len(scores)), np.zeros(len(scores), dtype=bool)
    ranks[order] = np.arange(len(scores)) - np.repeat(qptr[:-1], sizes) + 1.0
    equal = (np.diff(scores[order]) == 0.0) & (np.diff(query) == 0)
    is_tied[order[1:][equal]] = is_tied[order[:-1][equal]] = True
    return ranks, is_tied
