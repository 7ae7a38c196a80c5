r"""LambdaLoss: logistic losses of pairs, weighted by what their ranks are worth to nDCG@k.

The documents are numbered by rank. Every document i with a gain meets all those of lower gains:

.. math:: w_{ij} = (G_i - G_j) \left(\varrho |D_i - D_j| + \mu\, \delta_{|i-j|}\, m_{\max(i,j)}\right)
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST, GAP, longest_query
from directrix.surrogates._kernels.pair_lambdas import LEAST_CURVATURE
from directrix.surrogates._kernels.sigmoids import exponential, logarithm
from directrix.surrogates._kernels.sorting import descending_order, finite_or_nan

_LN2 = math.log(2.0)
_FARTHEST = 700.0
"""exp of less than minus this is 0 next to 1."""


@kernel(fastmath=FAST)
def _weights(i, x, place, worth, factor, step, weight):
    """Fill the weight of every pair of document i and another, 0 unless that has the lower gain."""
    best, rank, value = x[i], place[i], worth[i]
    for j in range(len(x)):
        below = place[j] > rank
        share = step[place[j] - rank] * factor[j] if below else step[rank - place[j]] * factor[i]
        weight[j] = (best - x[j]) * (abs(value - worth[j]) + share) if best > x[j] else 0.0


@kernel(fastmath=FAST)
def _row(here, s, weight, pull, bend):
    """Take a document against all others; returns the sums of its losses, in nats, lambdas and curvatures."""
    loss, slope, curvature = 0.0, 0.0, 0.0
    for j in range(len(s)):
        z = s[j] - here
        distance = abs(z)
        t = exponential(-distance if distance < _FARTHEST else -_FARTHEST)
        loss += weight[j] * (logarithm(1.0 + t) + (z if z > 0.0 else 0.0))
        p = (1.0 if z > 0.0 else t) / (1.0 + t)
        pushed = weight[j] * p
        bent = pushed * (1.0 - p if 1.0 - p > LEAST_CURVATURE else LEAST_CURVATURE)
        slope += pushed
        curvature += bent
        pull[j] -= pushed
        bend[j] += bent
    return loss, slope, curvature


@kernel
def _arrange(scores, gain, spec, discount, order, place, floats):
    """Fill score, gain, worth and factor by rank; tied documents have the first of their ranks."""
    k, absolute, _ = spec
    s, x, worth, factor = floats[0], floats[1], floats[2], floats[3]
    n = len(scores)
    descending_order(scores, order)
    for p in range(n):
        s[p], x[p] = scores[order[p]], gain[order[p]]
        rank = place[p - 1] if p > 0 and s[p] == s[p - 1] else p
        place[p] = rank
        worth[p] = absolute * discount[rank] if rank < k else 0.0
        factor[p] = 1.0 if rank < k else 1.0 / (1.0 - discount[rank])
        floats[4, p] = floats[5, p] = 0.0


@kernel
def lambdaloss_chunk(spec, gain, scores, qptr, first, last, value, grad, curvature):
    """Minus the loss in bits, its slope where ranks stay as they are, and the sum of w p (1 - p) / ln 2.

    Parameters
    ----------
    spec : tuple (int, float, float)   cut-off; rho, 1 or 0; mu
    gain : float64 (n_docs,)           over the ideal DCG@k
    curvature : float (n_docs,)        out, before grad; may be the same array
    """
    longest = longest_query(qptr, first, last)
    floats, integers = np.empty((7, longest + GAP)), np.empty((2, longest), dtype=np.int64)
    discount, step = np.empty(longest + 1), np.empty(longest + 1)
    for r in range(longest + 1):
        discount[r] = _LN2 / math.log(r + 2.0)
    for d in range(longest + 1):
        step[d] = spec[2] * (discount[max(d, 1) - 1] - discount[max(d, 1)])
    for q in range(first, last):
        lo, n = qptr[q], qptr[q + 1] - qptr[q]
        g = grad[lo : lo + n]
        if not finite_or_nan(scores[lo : lo + n], g):
            value[q] = np.nan
            for p in range(n):
                curvature[lo + p] = np.nan
            continue
        order, place = integers[0, :n], integers[1, :n]
        _arrange(scores[lo : lo + n], gain[lo : lo + n], spec, discount, order, place, floats)
        s, x, worth, factor = floats[0, :n], floats[1, :n], floats[2, :n], floats[3, :n]
        pull, bend, weight, loss = floats[4, :n], floats[5, :n], floats[6, :n], 0.0
        for i in range(n):
            if x[i] > 0.0:
                _weights(i, x, place, worth, factor, step, weight)
                part, slope, bent = _row(s[i], s, weight, pull, bend)
                loss += part
                pull[i] += slope
                bend[i] += bent
        value[q] = -loss / _LN2
        for p in range(n):
            curvature[lo + order[p]] = bend[p] / _LN2
            g[order[p]] = pull[p] / _LN2
