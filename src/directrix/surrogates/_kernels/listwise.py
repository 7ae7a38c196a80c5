"""Losses over a whole list: cross-entropy, Plackett-Luce, cosine; one query at a time, in float64."""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import FAST, GAP, longest_query
from directrix.surrogates._kernels.sigmoids import exponentials

_LOWEST = -700.0
"""exp of less is 0 next to the 1 that every sum below contains."""
_NARROW = 600.0
"""Range of scores whose exponentials, and their products with n, all are floats."""
_FLAT = 1e-30
"""Mean square of centered scores, of which the largest is 1, that is rounding alone."""


@kernel
def shifted_exponentials(x, top, z, e, inverse):
    """Fill e = exp(x - top) for x <= top; ``z`` and ``inverse`` are work space."""
    for j in range(len(x)):
        below = np.float64(x[j]) - top
        z[j] = _LOWEST if below < _LOWEST else below
    exponentials(z, 0.0, 1.0, e, inverse)


@kernel
def largest(x):
    """Largest of x."""
    top = -np.inf
    for j in range(len(x)):
        top = max(top, np.float64(x[j]))
    return top


@kernel
def smallest(x):
    """Smallest of x."""
    bottom = np.inf
    for j in range(len(x)):
        bottom = min(bottom, x[j])
    return bottom


@kernel(fastmath=FAST)
def total(e):
    """Sum of e."""
    result = 0.0
    for j in range(len(e)):
        result += e[j]
    return result


@kernel(fastmath=FAST)
def weighted_distance(target, s, top):
    """Sum of target * (s - top)."""
    result = 0.0
    for j in range(len(s)):
        result += target[j] * (np.float64(s[j]) - top)
    return result


@kernel
def listnet_chunk(target, scores, qptr, first, last, value, grad):
    """sum_j target_j log softmax(s)_j; the slope is target - softmax(s)."""
    floats = np.empty((3, longest_query(qptr, first, last) + GAP), dtype=target.dtype)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        n = hi - lo
        value[q] = 0.0
        if n == 0:
            continue
        s, t, g, e = scores[lo:hi], target[lo:hi], grad[lo:hi], floats[1, :n]
        top = largest(s)
        shifted_exponentials(s, top, floats[0, :n], e, floats[2, :n])
        mass = total(e)
        value[q] = weighted_distance(t, s, top) - math.log(mass)
        scale = 1.0 / mass
        for j in range(n):
            g[j] = t[j] - scale * e[j]


@kernel
def listmle_narrow(x, end, weight, slope, e, inverse, rate):
    """Same as `listmle_wide`, about five times as fast, for scores in a range of up to ``_NARROW``."""
    n = len(x)
    exponentials(x, largest(x), 1.0, e, inverse)
    value, lower, begin = 0.0, 0.0, 0
    while begin < n:
        stop, w = end[begin], weight[begin]
        here = 0.0
        for i in range(begin, stop):
            here += e[i]
            rate[i], slope[i] = 0.0, 0.0
            if begin > 0 and w > 0.0:
                value -= w * math.log1p(lower * inverse[i])
                rate[i] = w / (e[i] + lower)
                slope[i] = rate[i] * lower
        lower += here
        begin = stop
    higher, here = 0.0, 0.0
    for j in range(n - 1, -1, -1):
        if j < n - 1 and end[j] != end[j + 1]:
            higher += here
            here = 0.0
        here += rate[j]
        slope[j] -= higher * e[j]
    return value


@kernel
def level_against_lower(x, weight, top, mass, z, t, inverse, pull):
    r"""Minus weight * sum_i softplus(d_i), d_i = log(mass) + top - x_i, and pull = weight * sigma(d_i).

    mass * exp(top) is the sum of exponentials of all documents of lower levels. Returns the value and
    the sum of the pulls.
    """
    log_mass = math.log(mass)
    for i in range(len(x)):
        distance = abs((top - x[i]) + log_mass)
        z[i] = _LOWEST if distance > -_LOWEST else -distance
    exponentials(z, 0.0, 1.0, t, inverse)
    value, pulled = 0.0, 0.0
    for i in range(len(x)):
        distance = (top - x[i]) + log_mass
        value -= weight * (math.log1p(t[i]) + (distance if distance > 0.0 else 0.0))
        pull[i] = weight * ((1.0 if distance > 0.0 else t[i]) / (1.0 + t[i]))
        pulled += pull[i]
    return value, pulled


@kernel
def listmle_wide(x, end, weight, slope, floats, levels):
    r"""Each document against all of lower levels; x ascends by label, ``end`` closes its level.

    Upwards, (top, mass) holds sum exp(x) = mass exp(top) of the documents so far: a pair, since at
    scores of 1e30 top + log(mass) is top. Downwards, what documents pull from their lower sets is
    handed from set to set, for the sets are nested. O(n).
    """
    n = len(x)
    z, e, inverse = floats[1], floats[2], floats[3]
    tops, masses, pulls = levels[0], levels[1], levels[2]
    value, top, mass = 0.0, -np.inf, 0.0
    begin = 0
    while begin < n:
        stop = end[begin]
        size = stop - begin
        here = x[begin:stop]
        pulls[begin] = 0.0
        if begin > 0:
            w, pull = weight[begin], slope[begin:stop]
            part, pulled = level_against_lower(here, w, top, mass, z[:size], e[:size], inverse[:size], pull)
            value += part
            pulls[begin] = pulled
        else:
            for i in range(begin, stop):
                slope[i] = 0.0
        level_top = largest(here)
        shifted_exponentials(here, level_top, z[:size], e[:size], inverse[:size])
        higher = max(top, level_top)
        mass = mass * math.exp(top - higher) + total(e[:size]) * math.exp(level_top - higher)
        top = higher
        tops[begin], masses[begin] = top, mass
        begin = stop
    handed, stop = 0.0, n
    while stop > 0:
        begin = start_of_level(end, stop)
        if handed > 0.0:
            size = stop - begin
            share = handed / masses[begin]
            shifted_exponentials(x[begin:stop], tops[begin], z[:size], e[:size], inverse[:size])
            for i in range(begin, stop):
                slope[i] -= share * e[i - begin]
        if begin > 0:
            below = start_of_level(end, begin)
            ratio = masses[below] / masses[begin] * math.exp(tops[below] - tops[begin])
            handed = handed * ratio + pulls[begin]
        stop = begin
    return value


@kernel
def start_of_level(end, stop):
    """First document of the level that ends before ``stop``."""
    begin = stop - 1
    while begin > 0 and end[begin - 1] == stop:
        begin -= 1
    return begin


@kernel
def listmle_chunk(order, end, weight, scores, qptr, first, last, value, grad):
    """Plackett-Luce log likelihood; ``order`` ascends by label, ``end`` and ``weight`` are in that order."""
    n_most = longest_query(qptr, first, last)
    floats = np.empty((5, n_most + GAP))
    levels = np.empty((3, n_most))
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        n = hi - lo
        place, x, slope = order[lo:hi], floats[0, :n], floats[4, :n]
        for j in range(n):
            x[j] = scores[lo + place[j]]
        e, w = end[lo:hi], weight[lo:hi]
        if largest(x) - smallest(x) <= _NARROW:
            y, inverse, rate = floats[1, :n], floats[2, :n], floats[3, :n]
            value[q] = listmle_narrow(x, e, w, slope, y, inverse, rate)
        else:
            value[q] = listmle_wide(x, e, w, slope, floats, levels)
        for j in range(n):
            grad[lo + place[j]] = slope[j]


@kernel
def rank_cosine_chunk(centered, unit, scores, qptr, first, last, value, grad):
    """-(1 - cos)/2 between scores and ``unit``, of norm 1, or of norm 0 where there is nothing to learn."""
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        n = hi - lo
        s, u, g = scores[lo:hi], unit[lo:hi], grad[lo:hi]
        largest_size, wanted = 0.0, 0.0
        for j in range(n):
            largest_size = max(largest_size, abs(np.float64(s[j])))
            wanted += abs(u[j])
        value[q] = 0.0
        if wanted == 0.0:
            for j in range(n):
                g[j] = 0.0
            continue
        # Scores are divided by the largest, so that no square is infinite. The gradient is of the order of
        # its inverse: where that is no float, all scores count as 0.
        per = 1.0 / largest_size if largest_size > (1e-29 if s.itemsize == 4 else 1e-290) else 0.0
        mean, square, dot = 0.0, 0.0, 0.0
        if centered:
            for j in range(n):
                mean += per * s[j]
            mean /= n
        for j in range(n):
            a = per * s[j] - mean
            square += a * a
            dot += a * u[j]
        if square <= _FLAT * n:
            value[q] = -0.5
            for j in range(n):
                g[j] = 0.5 * u[j]
            continue
        norm = math.sqrt(square)
        cosine = dot / norm
        value[q] = 0.5 * (cosine - 1.0)
        along, scale = cosine / norm, 0.5 * per / norm
        for j in range(n):
            g[j] = scale * (u[j] - along * (per * s[j] - mean))
