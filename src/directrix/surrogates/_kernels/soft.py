r"""SoftNDCG of one query: rank distributions by their Fourier series, gradients with them.

The number X of documents above document i is a sum of independent coin throws with
probabilities :math:`q_j = P(S_j > S_i)`. Its characteristic function is a product, so with
:math:`u_j = 2 q_j - 1`, m coins, an odd N, and :math:`\theta_l = 2 \pi l / N`

.. math:: P(X = x) = \frac1N \sum_{|l| < N/2} e^{-i \theta_l (x - m/2)} \Phi_l, \qquad
          \Phi_l = \prod_j \big(\cos\tfrac{\theta_l}2 + i u_j \sin\tfrac{\theta_l}2\big).

Any :math:`f = \sum_x W(x) P(X = x)` is then :math:`\sum_l \hat W_l \Phi_l`, and its derivative
by :math:`u_j` is the same sum with :math:`\Phi_l` divided by its j-th factor and multiplied by
:math:`i \sin(\theta_l/2)`. The factor divided out is the very number multiplied in, so nothing
is lost to cancellation, and an odd N keeps it away from 0.

How many terms? X has variance v, so all but exp(-tail) of it lies within
:math:`t = tail/3 + \sqrt{(tail/3)^2 + 2\, tail\, v}` of its mean (Bernstein): N = 2 t + 1 keeps
that range apart. And :math:`|\Phi_l| \le \exp(-2 v \sin^2(\theta_l/2))`: terms beyond exp(-tail)
are left out. About 30 remain, for any v, any cut-off and any number of documents, at most
`_TERMS`.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import GAP, longest_query
from directrix.surrogates._kernels.sigmoids import exponentials
from directrix.surrogates._kernels.sorting import descending_order, finite_or_nan

_TERMS = 64
_CONTRACT = {"contract"}  # results do not depend on where an array starts: no sum is reordered


@kernel(fastmath=_CONTRACT)
def error_functions(x, here, scale, square, e, inverse, u):
    """Fill u = erf(z) and e = exp(-z^2) at z = scale (x - here), where abs(z) <= 8.

    To an absolute error of 2e-15: 1 - erf(z) = exp(-z^2) p((2 z - 4)/(z + 4)) for z >= 0, with p
    the Chebyshev sum of degree 18. Without a branch or a call, for vector registers.
    """
    for j in range(len(x)):
        z = scale * (x[j] - here)
        square[j] = z * z
    exponentials(square[: len(x)], 0.0, -1.0, e, inverse)
    for j in range(len(x)):
        z = scale * (x[j] - here)
        size = abs(z)
        t = (2.0 * size - 4.0) / (size + 4.0)
        poly = -6.432077093165844e-13
        poly = poly * t - 1.1417472522978755e-10
        poly = poly * t - 1.3093345851977745e-10
        poly = poly * t + 2.9695600076151685e-09
        poly = poly * t + 7.971998443323525e-10
        poly = poly * t - 6.684406383614117e-08
        poly = poly * t + 1.1142416148600398e-07
        poly = poly * t + 1.2988750242620868e-06
        poly = poly * t - 7.26483580291786e-06
        poly = poly * t - 2.659191505642415e-06
        poly = poly * t + 0.00022439815019653745
        poly = poly * t - 0.0015442591709526362
        poly = poly * t + 0.006685681773641526
        poly = poly * t - 0.021762555268689057
        poly = poly * t + 0.05666389896062609
        poly = poly * t - 0.12130979259428966
        poly = poly * t + 0.21603008065148802
        poly = poly * t - 0.32038938556046764
        poly = poly * t + 0.25539567631050586
        far = 1.0 - e[j] * poly
        u[j] = far if z > 0.0 else -far


@kernel
def _moments(u):
    """Mean and variance of the number of documents above."""
    total, squares = 0.0, 0.0
    for j in range(len(u)):
        total += u[j]
        squares += u[j] * u[j]
    return 0.5 * (len(u) + total), 0.25 * (len(u) - squares)


@kernel
def _terms(mean, variance, m, tail):
    """First and last x that matter, N, and the number of terms l >= 1 that do."""
    reach = tail / 3.0 + math.sqrt(tail * tail / 9.0 + 2.0 * tail * variance) + 1.0
    low, high = max(0, math.floor(mean - reach)), min(m, math.ceil(mean + reach))
    n = high - low + 1
    n += 1 - n % 2
    count = (n - 1) // 2
    # a quarter less: the variance that is left without one of the coins
    square = tail / (2.0 * max(variance - 0.25, 1e-9))
    if square < 1.0:
        count = min(count, math.ceil(n / math.pi * math.asin(math.sqrt(square))))
    return low, high, n, min(count, _TERMS)


@kernel(fastmath=_CONTRACT)
def _spectrum(discount, low, m, n, wr, wi, cos, sin, turn_r, turn_i):
    """Fill the transform of the discounts at low, low + 1, ...; return its term 0."""
    for t in range(len(wr)):
        angle = math.pi * (t + 1) / n
        cos[t], sin[t] = math.cos(angle), math.sin(angle)
        wr[t], wi[t] = 0.0, 0.0
        start = angle * (2 * low - m)
        turn_r[t], turn_i[t] = math.cos(start), -math.sin(start)
    mean = 0.0
    for x in range(len(discount)):
        d = discount[x] / n
        mean += d
        for t in range(len(wr)):
            r, i, c, s = turn_r[t], turn_i[t], cos[t], sin[t]
            wr[t] += d * r
            wi[t] += d * i
            # times exp(-i theta) = (c - i s)^2
            c2, s2 = c * c - s * s, 2.0 * c * s
            turn_r[t] = r * c2 + i * s2
            turn_i[t] = i * c2 - r * s2
    return mean


@kernel(fastmath=_CONTRACT)
def _product(u, cos, sin, a, b):
    """Fill a + i b with the product of cos + i u sin over all u."""
    for t in range(len(a)):
        a[t], b[t] = 1.0, 0.0
    j = 0
    while j + 4 <= len(u):
        u0, u1, u2, u3 = u[j], u[j + 1], u[j + 2], u[j + 3]
        for t in range(len(a)):
            c, s = cos[t], sin[t]
            # two documents at a time: (c + i s0)(c + i s1)
            s0, s1, s2, s3 = s * u0, s * u1, s * u2, s * u3
            r, i = c * c - s0 * s1, c * (s0 + s1)
            p, q = c * c - s2 * s3, c * (s2 + s3)
            r, i = r * p - i * q, r * q + i * p
            x, y = a[t], b[t]
            a[t], b[t] = x * r - y * i, x * i + y * r
        j += 4
    while j < len(u):
        for t in range(len(a)):
            c, s = cos[t], sin[t] * u[j]
            x, y = a[t], b[t]
            a[t], b[t] = x * c - y * s, x * s + y * c
        j += 1


@kernel(fastmath=_CONTRACT)
def _slopes(u, p, q, c, s, slopes):
    """Add sum_l (p_l + q_l u)/(c_l^2 + s_l^2 u^2) to the slopes, over four terms t and one division."""
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    c0, c1, c2, c3 = c[0] * c[0], c[1] * c[1], c[2] * c[2], c[3] * c[3]
    s0, s1, s2, s3 = s[0] * s[0], s[1] * s[1], s[2] * s[2], s[3] * s[3]
    for j in range(len(u)):
        x = u[j]
        y = x * x
        d0, d1, d2, d3 = c0 + s0 * y, c1 + s1 * y, c2 + s2 * y, c3 + s3 * y
        low = (p0 + q0 * x) * d1 + (p1 + q1 * x) * d0
        high = (p2 + q2 * x) * d3 + (p3 + q3 * x) * d2
        d0, d2 = d0 * d1, d2 * d3
        slopes[j] += (low * d2 + high * d0) / (d0 * d2)


@kernel
def _document(u, discount, tail, terms, slopes):
    """Expected discount of a document with u against those near it; fills its derivatives by u.

    ``discount[x]`` is what x documents above leave, 0 from its end on. The document itself must
    be among the u, as one that is never above: u = -1.
    """
    m = len(u)
    mean, variance = _moments(u)
    low, high, n, count = _terms(mean, variance, m, tail)
    for j in range(m):
        slopes[j] = 0.0
    if low >= len(discount):
        return 0.0
    width = (count + 15) // 16 * 16  # whole vector registers
    wr, wi, cos, sin = terms[0, :width], terms[1, :width], terms[2, :width], terms[3, :width]
    a, b, p, q = terms[4, :width], terms[5, :width], terms[6, :width], terms[7, :width]
    value = _spectrum(discount[low : high + 1], low, m, n, wr, wi, cos, sin, a, b)
    _product(u, cos, sin, a, b)
    for t in range(width):
        r, i = wr[t] * a[t] - wi[t] * b[t], wr[t] * b[t] + wi[t] * a[t]
        if t >= count:
            r, i, cos[t], sin[t] = 0.0, 0.0, 1.0, 0.0
        value += 2.0 * r
        p[t], q[t] = -2.0 * sin[t] * i * cos[t], 2.0 * sin[t] * r * sin[t]
    for t in range(0, count, 4):
        _slopes(u, p[t : t + 4], q[t : t + 4], cos[t : t + 4], sin[t : t + 4], slopes)
    return min(max(value, 0.0), discount[0])


@kernel(fastmath=_CONTRACT)
def _pull(factor, slopes, e, pull):
    """Add factor slopes e to the pull; return the sum of what was added."""
    for j in range(len(pull)):
        slopes[j] *= factor * e[j]
    for j in range(len(pull)):
        pull[j] += slopes[j]
    even, odd = 0.0, 0.0
    for j in range(0, len(pull) - 1, 2):
        even += slopes[j]
        odd += slopes[j + 1]
    if len(pull) % 2 == 1:
        even += slopes[len(pull) - 1]
    return even + odd


@kernel
def _query(s, gain, discount, sigma, grad, space):
    """Value and gradient of one query; NaN if a score is not finite."""
    n = len(s)
    floats, order, terms = space
    x, pull, u, e = floats[0], floats[1], floats[2], floats[3]
    inverse, square, slopes = floats[4], floats[5], floats[6]
    if not finite_or_nan(s, grad):
        return np.nan
    descending_order(s, order[:n])
    for j in range(n):
        x[j], pull[j] = np.float64(s[order[j]]), 0.0
    tail = 20.0 if s.itemsize == 4 else 36.0
    # Beyond the band a document is above or below for certain: n pairs add exp(-tail).
    band = math.sqrt(tail + math.log(n + 1.0))
    scale, value, first, last = 0.5 / sigma, 0.0, 0, 0
    for here in range(n):
        weight = gain[order[here]]
        if weight == 0.0:
            continue
        while scale * (x[first] - x[here]) > band:
            first += 1
        last = max(last, here)
        while last < n and scale * (x[here] - x[last]) <= band:
            last += 1
        if first >= len(discount):
            continue
        m = last - first
        error_functions(x[first:last], x[here], scale, square, e, inverse, u)
        u[here - first] = -1.0
        value += weight * _document(u[:m], discount[first:], tail, terms, slopes[:m])
        slopes[here - first] = 0.0
        factor = weight * scale * 1.1283791670955126  # 2 / sqrt(pi)
        pull[here] -= _pull(factor, slopes[:m], e[:m], pull[first:last])
    for j in range(n):
        grad[order[j]] = grad.dtype.type(pull[j])
    return value


@kernel
def soft_ndcg_chunk(sigma, k, below, gains, scores, qptr, first, last, value, grad):
    """Fill ``value[q]`` and the gradient of the documents of queries first <= q < last.

    Parameters
    ----------
    sigma : float > 0               standard deviation of a score
    k : int >= 1                    cut-off
    below : float                   factor on the discounts of the ranks below it
    gains : float64 (n_docs,)       over the ideal DCG@k; documents with 0 are not evaluated

    Notes
    -----
    About 30 complex products and 30 sums per pair in the band, whatever k; memory O(n).
    """
    n = longest_query(qptr, first, last)
    discount = np.empty(n if below > 0.0 else min(n, k))
    for r in range(len(discount)):
        discount[r] = (1.0 if r < k else below) * math.log(2.0) / math.log(r + 2.0)
    space = (
        np.empty((7, n + GAP)),
        np.empty(n, dtype=np.int64),
        np.empty((8, _TERMS)),
    )
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        reached = discount[: min(len(discount), hi - lo)]
        value[q] = _query(scores[lo:hi], gains[lo:hi], reached, sigma, grad[lo:hi], space)
