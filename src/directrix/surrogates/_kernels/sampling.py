r"""PLRank and StochasticRank: gradients of a measure's expectation, by rankings from scores with noise.

Each measure here adds up :math:`x_p A_p D(p)` over the ranks p: worth of the document there, what is left
for it by those above, and the discount. A is 1 at the first rank, and below a document of worth x it becomes

============ ================== ==================== ====================
nDCG, P      AP                 RR                   ERR
============ ================== ==================== ====================
A            A + [x > 0]        0 if x > 0, else A   A (1 - x)
============ ================== ==================== ====================

Trading the ranks p and p + 1 of two neighbors a, b changes each of them by
:math:`(x_a - x_b) A_p (D(p) - D(p + 1))`. Documents are numbered by rank without noise.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.surrogates._kernels.lambdas import AVERAGE, CASCADE, FIRST, arrange, scratch
from directrix.surrogates._kernels.noise import GUMBEL, NORMAL, add_noise, next_key, query_key
from directrix.surrogates._kernels.pair_lambdas import LEAST_CURVATURE
from directrix.surrogates._kernels.sorting import descending_order

_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


@kernel
def _left(form, above, x):
    """A at the rank below a document of worth x."""
    if form == AVERAGE:
        return above + (1.0 if x > 0.0 else 0.0)
    if form == FIRST:
        return 0.0 if x > 0.0 else above
    return above * (1.0 - x) if form == CASCADE else above


@kernel
def _earned(form, x, order, discount, top, left, future):
    """Fill A D of each rank and what the ranks below it earn; return what all earn."""
    above, total = 1.0, 0.0
    for p in range(top):
        left[p] = above * discount[p]
        above = _left(form, above, x[order[p]])
    for p in range(top - 1, -1, -1):
        future[p] = total
        total += left[p] * x[order[p]]
    return total


@kernel
def _plackett_luce(x, u, order, top, rows, pull, bend):
    """Add a ranking's gradient and curvature of the expectation, for chances proportional to exp(u).

    Rank by rank from above, sums over the choices of a document are kept in units of its chance there: they
    shrink by the chance that another one was chosen, so nothing overflows. ``rows[7]`` is what the ranks
    below each rank earn in other rankings: only what they earn here beyond that speaks for a choice.
    """
    left, future, logs, means, usual = rows[3], rows[4], rows[5], rows[6], rows[7]
    log, mean = -np.inf, 0.0  # of the sum of exp(u), and of x by chance, over the documents from a rank on
    for p in range(len(order) - 1, -1, -1):
        d = order[p]
        ratio = math.exp(-abs(u[d] - log))
        share = (1.0 if u[d] >= log else ratio) / (1.0 + ratio)
        log = max(u[d], log) + math.log1p(ratio)
        mean += share * (x[d] - mean)
        logs[p], means[p] = log, mean
    gains, losses, pushes, squares = 0.0, 0.0, 0.0, 0.0
    for p in range(len(order)):
        d, last = order[p], min(p, top - 1)
        if p < top:
            kept = math.exp(logs[p] - logs[p - 1]) if p > 0 else 0.0
            surplus, push = future[p] - usual[p], left[p] * means[p] + max(future[p], usual[p])
            gains, losses = kept * gains + left[p], kept * losses + left[p] * means[p] + surplus
            pushes, squares = kept * pushes + push, kept**2 * squares + push
            pull[d] += surplus
        share = math.exp(u[d] - logs[last])
        pushed = share * pushes
        pull[d] += share * (gains * x[d] - losses)
        bend[d] += max(pushed - share**2 * squares, LEAST_CURVATURE * pushed)


@kernel
def _conditional(form, x, u, noisy, order, discount, top, pull, bend):
    """Add the gradient over one document's noise, in turn, with the others' fixed, and its curvature."""
    n = len(order)
    for d in range(n):
        above, rank = 1.0, 0
        for p in range(n):
            other = order[p]
            if other == d:
                continue
            if rank == top or above == 0.0:
                break
            step = (x[d] - x[other]) * above * (discount[rank] - discount[rank + 1])
            if step != 0.0:
                step *= _DENSITY * math.exp(-0.5 * (noisy[other] - u[d]) ** 2)
                pull[d] += step
                bend[d] += abs(step)
            above = _left(form, above, x[other])
            rank += 1


@kernel
def _sample(spec, x, u, discount, key, order, rows):
    """Fill ``rows[0]`` and ``rows[1]`` with gradient and curvature by rank; return the mean value."""
    form, depth, n_permutations, luce = spec
    n, total = len(x), 0.0
    pull, bend, noisy, top = rows[0, :n], rows[1, :n], rows[2, :n], min(n, depth)
    for p in range(n):
        pull[p], bend[p], order[p] = 0.0, 0.0, p
    _earned(form, x, order, discount, top, rows[3], rows[7])
    for sample in range(n_permutations):
        key = next_key(key)
        add_noise(GUMBEL if luce else NORMAL, u, 1.0, key, noisy)
        descending_order(noisy, order)
        total += _earned(form, x, order, discount, top, rows[3], rows[4])
        if luce:
            _plackett_luce(x, u, order, top, rows, pull, bend)
            for p in range(top):
                rows[7, p] += (rows[4, p] - rows[7, p]) / (sample + 2)
        else:
            _conditional(form, x, u, noisy, order, discount, top, pull, bend)
    mean = 0.0
    for p in range(n):
        pull[p] /= n_permutations
        bend[p] /= n_permutations
        mean += pull[p] / n
    for p in range(n):  # adds up to 0 in expectation; then so does every sample
        pull[p] -= mean
        bend[p] += abs(mean)
    return total / n_permutations


@kernel
def sampling_chunk(spec, worth, discount, labels, empty, scores, qptr, first, last, value, grad, curvature):
    """Estimates for the queries first <= q < last.

    Parameters
    ----------
    spec : tuple (tuple (int, int, int, bool), float, int)
        Form and cut-off of the measure, permutations, whether to sample by Plackett and Luce; units of
        score in a unit of noise, draw.
    worth : float64 (n_docs,)         x of the module's table
    discount : float64 (longest,)     D, 0 past the cut-off
    labels : float64 (n_docs,)
    empty : float64 (n_queries,)      value of queries in which no document is worth anything, else 0
    scores : float (n_docs,)
    qptr : int64 (n_queries + 1,)
    value : float64 (n_queries,)      out; NaN where a score is not finite, as the others
    grad, curvature : float (n_docs,) out; if they are one array, it is grad
    """
    setting, unit, draw = spec
    space = scratch(qptr, (first, last), scores)
    integers, rows = space[2], np.empty((10, space[2].shape[1]))
    for q in range(first, last):
        lo, n = qptr[q], qptr[q + 1] - qptr[q]
        finite = arrange(scores[lo : lo + n], worth[lo : lo + n], space)
        order, ranked, u = integers[0], rows[8, :n], rows[9, :n]
        for p in range(n):
            ranked[p] = labels[lo + order[p]]
            u[p] = (space[1][0, p] - space[1][0, 0]) / unit
        value[q] = np.nan
        if finite:
            key, x = query_key(ranked, draw), space[1][4, :n]
            value[q] = empty[q] + _sample(setting, x, u, discount, key, integers[1, :n], rows)
        for p in range(n):
            curvature[lo + order[p]] = rows[1, p] / unit**2 if finite else np.nan
            grad[lo + order[p]] = rows[0, p] / unit if finite else np.nan
