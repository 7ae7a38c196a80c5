r"""Soft ranks of one query, a function of them, and its gradient: the core of ApproxRank.

Everything that ApproxRank does is one operation, `soft_rank_core`: for the documents that
matter (weight :math:`w_i \ne 0`)

.. math:: \hat\pi_i = 1 + \sum_{j \ne i} \sigma(\alpha (s_j - s_i)), \qquad
          V = \sum_i w_i\, \varphi(\hat\pi_i), \qquad
          \frac{\partial V}{\partial s_k} = \alpha \sum_i c_i\,
          \sigma'(\alpha (s_k - s_i)) \;-\; \alpha\, c_k \sum_j \sigma'(\alpha (s_j - s_k)),

with :math:`c_i = w_i \varphi'(\hat\pi_i)`. :math:`\varphi` = identity gives the ranks
themselves, and their pull-back when ``w`` is a gradient with respect to ranks.

Two facts make it fast.

* Factored sigmoid: :math:`\sigma(\alpha(s_j - s_i)) = 1 / (1 + E_i / E_j)` with
  :math:`E = \exp(\alpha (s - s_{mid}))`: n exponentials, then one division a pair. It is
  valid where E neither overflows nor vanishes, so wide queries are sorted and cut in blocks.
* Saturation: a pair with :math:`\alpha |s_i - s_j|` beyond `saturation` + log n adds 0 or 1, to
  the rounding of a sum of n. In sorted order every document needs only the pairs in its band;
  the rest is a count. No array is larger than the query.

Slopes carry an absolute error of about eps alpha c_i, where eps is the resolution of the dtype.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.surrogates._kernels.sigmoids import (
    FAST,
    LOGISTIC,
    exponentials,
    phi,
    saturation,
    sigmoid,
)
from directrix.surrogates._kernels.sorting import descending_order

_GAP = 128


@kernel(fastmath=FAST)
def _logistic_rows(e0, e1, e2, e3, inverse, d0, d1, d2, d3):
    """Sums of p_j = 1/(1 + e/e_j) and of its slopes p_j (1 - p_j), which are kept, for four e."""
    one = inverse.dtype.type(1.0)
    zero = inverse.dtype.type(0.0)
    s0, s1, s2, s3, t0, t1, t2, t3 = zero, zero, zero, zero, zero, zero, zero, zero
    for j in range(len(inverse)):
        f = inverse[j]
        p0, p1 = one / (one + e0 * f), one / (one + e1 * f)
        p2, p3 = one / (one + e2 * f), one / (one + e3 * f)
        q0, q1, q2, q3 = p0 * (one - p0), p1 * (one - p1), p2 * (one - p2), p3 * (one - p3)
        d0[j], d1[j], d2[j], d3[j] = q0, q1, q2, q3
        s0, s1, s2, s3 = s0 + p0, s1 + p1, s2 + p2, s3 + p3
        t0, t1, t2, t3 = t0 + q0, t1 + q1, t2 + q2, t3 + q3
    return s0, s1, s2, s3, t0, t1, t2, t3


@kernel(fastmath=FAST)
def _any_row(kind, alpha, s_i, s, slopes):
    """Like `_logistic_rows` for one document and any sigmoid, a call a pair."""
    total = 0.0
    total_slope = 0.0
    for j in range(len(s)):
        p, d = sigmoid(kind, alpha * (np.float64(s[j]) - s_i))
        slopes[j] = d
        total += p
        total_slope += d
    return total, total_slope


@kernel(fastmath=FAST)
def _add_rows(c0, c1, c2, c3, d0, d1, d2, d3, grad):
    for j in range(len(grad)):
        grad[j] += (c0 * d0[j] + c1 * d1[j]) + (c2 * d2[j] + c3 * d3[j])


@kernel
def scratch(n, like):
    """Work space for queries of up to n documents: floats, float64 and integers.

    Compiled loops run in vector registers only where their arrays start far enough apart; the
    gap between rows sees to that, so that sums have the same bits whatever the space.
    """
    width = n + _GAP
    return np.empty((8, width), dtype=like.dtype), np.empty(n), np.empty((2, n), dtype=np.int64)


@kernel
def _block(x, begin, alpha, band, reach):
    """A block begin <= i < end of sorted scores whose bands, first <= j < last, share exponentials."""
    n, end = len(x), len(x)
    top = np.float64(x[begin])
    while end > begin + 1 and alpha * (top - np.float64(x[end - 1])) > 2.0 * (reach - band):
        end = begin + 1 + (end - begin - 1) // 2
    bottom = np.float64(x[end - 1])
    first, last = begin, end
    while first > 0 and alpha * (np.float64(x[first - 1]) - top) <= band:
        first -= 1
    while last < n and alpha * (bottom - np.float64(x[last])) <= band:
        last += 1
    return end, first, last, 0.5 * top + 0.5 * bottom


@kernel
def _sums(kind, alpha, x, members, count, lo, hi, floats, sums):
    """Sums over lo <= j < hi of sigma and sigma' for up to four documents; fills slopes.

    ``sums[0, m]`` leaves out the pair of the document with itself.
    """
    e, inverse = floats[0], floats[1]
    size = hi - lo
    if kind == LOGISTIC:
        # A place that is not taken has e = inf: its p and slopes are 0.
        one, none = floats.dtype.type(1.0), floats.dtype.type(np.inf)
        e0, e1 = e[members[0]], e[members[1]] if count > 1 else none
        e2, e3 = e[members[2]] if count > 2 else none, e[members[3]] if count > 3 else none
        s0, s1, s2, s3, t0, t1, t2, t3 = _logistic_rows(
            e0, e1, e2, e3, inverse[lo:hi], floats[4], floats[5], floats[6], floats[7]
        )
        sums[0, 0], sums[0, 1], sums[0, 2], sums[0, 3] = s0, s1, s2, s3
        sums[1, 0], sums[1, 1], sums[1, 2], sums[1, 3] = t0, t1, t2, t3
        for m in range(count):
            sums[0, m] -= one / (one + e[members[m]] * inverse[members[m]])
        return
    for m in range(4):
        for j in range(size):
            floats[4 + m, j] = floats.dtype.type(0.0)
    for m in range(count):
        here = np.float64(x[members[m]])
        total, slope = _any_row(kind, alpha, here, x[lo:hi], floats[4 + m])
        sums[0, m], sums[1, m] = total - 0.5, slope


@kernel
def _arrange(s, w, alpha, band, reach, space):
    """Copy scores and weights into the work space, sorted if that saves work.

    Returns whether they are sorted, the middle of their range, and whether all are finite.
    """
    n = len(s)
    floats, weights, integers = space
    order = integers[0]
    low, high, finite = s[0], s[0], True
    for j in range(n):
        low, high = min(low, s[j]), max(high, s[j])
        finite &= np.isfinite(s[j])
        order[j] = j
    # Short queries do without sorting as long as one set of exponentials spans them.
    span = alpha * (np.float64(high) - np.float64(low))
    is_sorted = finite and band < np.inf and span > (2.0 * reach if n < 256 else 4.0 * band)
    if is_sorted:
        descending_order(s, order)
    for j in range(n):
        floats[2, j] = s[order[j]]
        floats[3, j] = floats.dtype.type(0.0)
        weights[j] = w[order[j]]
    return is_sorted, 0.5 * np.float64(low) + 0.5 * np.float64(high), finite


@kernel
def _next_four(weights, i, end, members):
    """Find the next documents with weight from i on, up to four; how many, and where to go on."""
    count = 0
    while i < end and count < 4:
        if weights[i] != 0.0:
            members[count] = i
            count += 1
        i += 1
    return count, i


@kernel
def soft_rank_core(s, w, shape, alpha, sigmoid_kind, k, beta, ranks, grad, want_grad, space):
    """Value, ranks and gradient for one query; see the module's docstring.

    Parameters
    ----------
    s : float (n,)                 scores
    w : float64 (n,)               weights; documents with 0 are not evaluated
    shape : int                    IDENTITY, DCG, DCG_CUT (cut at k), CUT (1 up to k)
    alpha : float > 0              in 1 / units of score
    sigmoid_kind : int             LOGISTIC, ARCTAN, ERF
    k, beta : float                cut-off and its steepness
    ranks : float64 (n,)           out, soft ranks of the documents with weight
    grad : float (n,)              out, overwritten; untouched if not want_grad
    space : tuple                  from `scratch`

    Returns
    -------
    float64
        V; 0 for a query without documents, NaN (and so the gradient) if a score is not finite.
    """
    n = len(s)
    if n == 0:
        return 0.0
    floats, weights, integers = space
    x, pull, order, zero = floats[2, :n], floats[3], integers[0], floats.dtype.type(0.0)
    # What is dropped beyond the band adds up to rounding: n pairs, exp(-band) each.
    band = saturation(sigmoid_kind, s.itemsize) + (math.log(n) if sigmoid_kind == LOGISTIC else 0.0)
    reach = 80.0 if s.itemsize == 4 else 700.0  # exp(reach) is far from overflow
    is_sorted, middle, finite = _arrange(s, w, alpha, band, reach, space)
    if not finite:
        for j in range(n):
            ranks[j] = np.nan
            if want_grad:
                grad[j] = floats.dtype.type(np.nan)
        return np.nan
    sums, c, members = np.zeros((2, 4)), np.zeros(4, dtype=floats.dtype), np.empty(4, dtype=np.int64)
    value, end, first, last = 0.0, 0, 0, n
    while end < n:
        i, end = end, n
        if is_sorted:
            end, first, last, middle = _block(x, i, alpha, band, reach)
        if sigmoid_kind == LOGISTIC:
            e, inverse = floats[0, first:last], floats[1, first:last]
            exponentials(x[first:last], middle, alpha, integers[1], e, inverse)
        lo, hi = first, last
        while True:
            # Four documents at a time: their bands overlap, and one pass serves them all.
            count, i = _next_four(weights, i, end, members)
            if count == 0:
                break
            if is_sorted:
                top, bottom = np.float64(x[members[0]]), np.float64(x[members[count - 1]])
                while alpha * (np.float64(x[lo]) - top) > band:
                    lo += 1
                hi = members[count - 1]
                while hi < last and alpha * (bottom - np.float64(x[hi])) <= band:
                    hi += 1
            _sums(sigmoid_kind, alpha, x, members, count, lo, hi, floats, sums)
            for m in range(4):
                c[m] = zero
            for m in range(count):
                here = members[m]
                rank = 1.0 + lo + sums[0, m]
                ranks[order[here]] = rank
                f, df = phi(shape, rank, k, sigmoid_kind, beta)
                slope = alpha * weights[here] * df
                value += weights[here] * f
                c[m] = slope
                pull[here] -= floats.dtype.type(slope * sums[1, m])
            if want_grad:
                _add_rows(c[0], c[1], c[2], c[3], floats[4], floats[5], floats[6], floats[7], pull[lo:hi])
    if want_grad:
        for j in range(n):
            grad[order[j]] = pull[j]
    return value
