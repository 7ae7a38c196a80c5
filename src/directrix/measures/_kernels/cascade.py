"""Expected reciprocal rank."""

from __future__ import annotations

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.dcg import exponential_gain


@kernel
def add_to_group(passed, j, x):
    """Add document j + 1, which is passed with chance x, to the Q(t) of a group of j; see the next kernel.

    Q'(t) = ((j + 1 - t) Q(t) + t x Q(t-1)) / (j + 1): all terms are positive, so nothing cancels. Fills no
    more places than ``passed`` has.
    """
    for t in range(min(j + 1, len(passed) - 1), 0, -1):
        passed[t] = ((j + 1 - t) * passed[t] + t * x * passed[t - 1]) / (j + 1)


@kernel
def chances_to_pass(labels, scale, most):
    """Q(0), Q(1), ... of a tied group, see the next kernel: at most ``most`` + 1 of them.

    Q(t) <= (mean pass chance)^t by Maclaurin's inequality, so places after which it is below 1e-18 add
    nothing. Documents that are always passed are added at once. With r others, of which each stops with
    chance c or more, this is O(m + r T), T = min(m, most, 42 m / (r c)): linear in m.
    """
    n_passed, stops = 0, 0.0
    for i in range(len(labels)):
        stop = exponential_gain(labels[i]) * scale
        n_passed += 1.0 - stop == 1.0
        stops += stop
    if stops > 0.0:
        enough = -42.0 / math.log1p(-stops / len(labels))  # for tiny chances beyond all integers
        if enough < most:
            most = min(most, math.ceil(enough) + 1)
    passed = np.zeros(most + 1)
    passed[: n_passed + 1] = 1.0
    for i in range(len(labels)):
        x = 1.0 - exponential_gain(labels[i]) * scale
        if x < 1.0:
            add_to_group(passed, n_passed, x)
            n_passed += 1
    return passed


@kernel
def expected_reciprocal_rank(ranked, ends, retrieved, qptr, k, l_max, empty, value):
    """ERR@k with stop chances (2^l - 1) / 2^l_max, exact over the orders of tied groups.

    In a tied group with pass chances x_1..x_m, let Q(t) be the mean over its orders of the
    chance to pass the first t documents: the t-th elementary symmetric polynomial of x over
    C(m, t). Place t then stops with chance Q(t-1) - Q(t). O(m) per group, see above.
    """
    scale = math.pow(2.0, -l_max)
    for q in range(len(qptr) - 1):
        lo, hi = qptr[q], qptr[q + 1]
        last = lo + min(retrieved[q], k)
        total = 0.0
        reach = 1.0
        i = lo
        while i < last:
            end = ends[i]
            if end == i + 1:
                stop = exponential_gain(ranked[i]) * scale
                total += reach * stop / (i - lo + 1.0)
                reach *= 1.0 - stop
                i = end
                continue
            # past the cut-off only Q up to the last counted place is needed
            passed = chances_to_pass(ranked[i:end], scale, min(end, last) - i)
            top = len(passed) - 1
            for t in range(1, top + 1):
                total += reach * (passed[t - 1] - passed[t]) / (i - lo + t)
            reach *= passed[top]
            i = end
        if total == 0.0:
            total = empty
            for i in range(lo, hi):
                if ranked[i] > 0.0:
                    total = 0.0
        value[q] = total
