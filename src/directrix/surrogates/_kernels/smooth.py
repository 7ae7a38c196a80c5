r"""SmoothRank: the document at a rank replaced by a soft one, for a chunk of queries.

With x the scores in descending order, rank j is held by document i to the share

.. math:: h_{ij} = \frac{u_{ij}}{\sum_m u_{mj}}, \qquad u_{ij} = e^{-(x_i - x_j)^2 / \sigma},

and everything is a function of the columns' means :math:`\bar g_j = \sum_i g_i h_{ij}`. With
:math:`c_j = \partial V / \partial \bar g_j` and :math:`P_{ij} = h_{ij} (x_i - x_j)(g_i - \bar g_j)`

.. math:: \frac{\partial V}{\partial x_p} =
          \frac{2}{\sigma} \Big( c_p \sum_i P_{ip} - \sum_j c_j P_{pj} \Big).

A column is one pass of exponentials over its band and one that adds to the gradient, so that no
more than a row is stored. Where :math:`(x_i - x_j)^2 / \sigma` > 37 + log n (17 + log n in float32) nothing
is left of u but rounding; a column without gain in its band has neither value nor gradient.
"""

import math

import numba
import numpy as np
from numba.extending import overload

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST, GAP, longest_query
from directrix.surrogates._kernels.sigmoids import exponential
from directrix.surrogates._kernels.sorting import descending_order, finite_or_nan

DCG, AP_PRODUCT, AP_DIRECT = 0, 1, 2


def _exp(z):
    """Exponential of -80 < z <= 0 without a branch or a call, so that loops of it are vectorized."""
    raise NotImplementedError("compiled only: the two forms below")


@overload(_exp, jit_options={"error_model": "numpy", "fastmath": FAST})
def _exp_of(z):
    """Compute `exponential`; for float32 with a polynomial of lower degree."""
    if z == numba.float32:
        one, half, log2e = np.float32(1.0), np.float32(0.5), np.float32(1.4426950408889634)
        high, low = np.float32(0.693359375), np.float32(-2.12194440e-4)
        c7, c6, c5 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
        c4, c3, c2 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)

        def exp32(z):
            power = np.floor(z * log2e + half)
            r = (z - power * high) - power * low
            scale = np.int32((np.int32(power) + np.int32(127)) << np.int32(23)).view(np.float32)
            poly = ((((c7 * r + c6) * r + c5) * r + c4) * r + c3) * r + c2
            return ((poly * r) * r + r + one) * scale

        return exp32

    def exp64(z):
        return exponential(z)

    return exp64


@kernel(fastmath=FAST)
def _column(x, gain, center, root, pull):
    """Sums of u and gain u over a band, with pull = u d, where d = (x - center)/sqrt(sigma)."""
    total, gained = x.dtype.type(0.0), x.dtype.type(0.0)
    for i in range(len(x)):
        d = (x[i] - center) * root
        u = _exp(-(d * d))
        pull[i] = u * d
        total += u
        gained += u * gain[i]
    return total, gained


@kernel(fastmath=FAST)
def _add(pull, gain, mean, a, slope):
    """Add a pull (gain - mean) to the slope; returns the sum of pull (gain - mean)."""
    total = pull.dtype.type(0.0)
    for i in range(len(slope)):
        part = pull[i] * (gain[i] - mean)
        slope[i] += a * part
        total += part
    return total


@kernel(fastmath=FAST)
def _add_two(pull, gain, mean, a, b, slope, second):
    """Same as `_add`, to two slopes."""
    total = pull.dtype.type(0.0)
    for i in range(len(slope)):
        part = pull[i] * (gain[i] - mean)
        slope[i] += a * part
        second[i] += b * part
        total += part
    return total


@kernel
def _share_between_ties(x, center):
    """Replace the pull on a rank by its mean over the documents that tie for it.

    Any order of tied documents is as good as another; the mean is over all of them.
    """
    begin = 0
    while begin < len(x):
        end, total = begin, 0.0
        while end < len(x) and x[end] == x[begin]:
            total += center[end]
            end += 1
        for j in range(begin, end):
            center[j] = total / (end - begin)
        begin = end


@kernel
def _coefficients(kind, discount, mean, before, tail):
    """Value of a column, c but for what later columns add, and the two running sums after it.

    ``before`` is the sum of the means of better ranks, ``tail`` that of discount x mean. In AP, a
    mean also multiplies those of all later ranks, which is known when all are done.
    """
    if kind == DCG:
        return discount * mean, discount, before, tail
    if kind == AP_PRODUCT:
        before += mean
        return discount * mean * before, discount * before - tail, before, tail + discount * mean
    tail += discount * mean
    return discount * mean * (1.0 + before), discount * (1.0 + before) - tail, before + mean, tail


@kernel
def smooth_query(s, w, kind, discount, sigma, grad, space):
    """Value and gradient of one query; 0 without documents, NaN if a score is not finite.

    Parameters
    ----------
    s : float (n,)                 scores
    w : float64 (n,)               gain over the ideal (DCG), relevance 0 or 1 (AP)
    kind : int                     DCG, AP_PRODUCT, AP_DIRECT
    discount : float64 (top,)      of ranks 1, 2, ...; later ones do not count
    sigma : float > 0              in squared units of score
    grad : float (n,)              out, overwritten
    space : tuple                  rows of floats, float64 and integers
    """
    n = len(s)
    floats, center, order = space
    ordered, gain, pull, slope, second = floats[0], floats[1], floats[2], floats[3], floats[4]
    x, zero, relevant = ordered[:n], floats.dtype.type(0.0), 0.0
    if not finite_or_nan(s, grad):
        return np.nan
    descending_order(s, order[:n])
    for i in range(n):
        ordered[i], gain[i] = s[order[i]], w[order[i]]
        slope[i], second[i], center[0, i], center[1, i] = zero, zero, 0.0, 0.0
        relevant += w[i]
    root = floats.dtype.type(1.0 / math.sqrt(sigma))
    # What is dropped beyond the band adds up to rounding: n documents, exp(-band) each.
    width = math.sqrt(sigma * ((17.0 if s.itemsize == 4 else 37.0) + math.log(max(n, 1))))
    value, before, tail, lo, hi, inside = 0.0, 0.0, 0.0, 0, 0, 0
    for j in range(min(n, len(discount))):
        here = np.float64(x[j])
        while np.float64(x[lo]) - here > width:
            inside -= gain[lo] != zero
            lo += 1
        while hi < n and here - np.float64(x[hi]) <= width:
            inside += gain[hi] != zero
            hi += 1
        if inside == 0:
            continue
        total, gained = _column(x[lo:hi], gain[lo:hi], x[j], root, pull)
        mean = gained / total
        more, c, before, tail = _coefficients(kind, discount[j], np.float64(mean), before, tail)
        value += more
        unit = -2.0 * np.float64(root) / np.float64(total)
        a, b = floats.dtype.type(c * unit), floats.dtype.type(unit)
        if kind == DCG:
            center[0, j] = -c * unit * _add(pull, gain[lo:hi], mean, a, slope[lo:hi])
        else:
            whole = unit * _add_two(pull, gain[lo:hi], mean, a, b, slope[lo:hi], second[lo:hi])
            center[0, j], center[1, j] = -c * whole, -whole
    for j in range(n):
        center[0, j] += tail * center[1, j]
    _share_between_ties(x, center[0])
    scale = 1.0 if kind == DCG else (1.0 / relevant if relevant > 0.0 else 0.0)
    for j in range(n):
        pulled = np.float64(slope[j]) + tail * np.float64(second[j]) + center[0, j]
        grad[order[j]] = floats.dtype.type(scale * pulled)
    return scale * value


@kernel
def smooth_chunk(kind, sigma, weights, discount, scores, qptr, first, last, value, grad):
    """Fill ``value[q]`` and the gradient of the documents of queries first <= q < last.

    Parameters
    ----------
    kind, sigma, discount          as in `smooth_query`
    weights : float64 (n_docs,)
    """
    n = longest_query(qptr, first, last)
    floats = np.empty((5, n + GAP), dtype=scores.dtype)
    space = floats, np.empty((2, n)), np.empty(n, dtype=np.int64)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        value[q] = smooth_query(scores[lo:hi], weights[lo:hi], kind, discount, sigma, grad[lo:hi], space)
