r"""The surrogates of ApproxRank over chunks of queries, composed of `soft_rank_core`.

Every family takes one weight per document, computed once per data set from the labels:

========= ====================================== =============================================
family    value of a query                       weight of document i
========= ====================================== =============================================
separable sum_i w_i phi(rank_i)                  gain_i / Z (DCG), relevance_i / k (P@k)
ap        sum_j w_j q_j / rank_j                 relevance_j / R
cascade   sum_i w_i / rank_i prod_j (1 - w_j t)  stop probability of i
kendall   mean over pairs of 2 sigma - 1         label
========= ====================================== =============================================
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import longest_query
from directrix.surrogates._kernels.approx_core import scratch, soft_rank_core
from directrix.surrogates._kernels.borrowed import borrowed, keep
from directrix.surrogates._kernels.sigmoids import IDENTITY, saturation, sigmoid
from directrix.surrogates._kernels.sorting import descending_order


@kernel
def ap_query(s, w, alpha, sigmoid_kind, beta, ranks, grad, space, inner):
    r"""ApproxAP, Eq. (22): two soft rankings, one inside the other.

    The inner sum 1 + sum_{i != j} sigma(beta (rank_j - rank_i)) over relevant documents is
    itself a soft rank q_j, of the scores -rank, with steepness beta. So V = sum_j w_j q_j/rank_j.
    """
    n, spec = len(s), (IDENTITY, sigmoid_kind, 0.0, alpha, 0.0, 0.0)
    soft_rank_core(spec, s, w, 0, n, ranks, grad, False, *space)
    relevant = 0
    for j in range(n):
        relevant += w[j] != 0.0
    place = np.empty(relevant, dtype=np.int64)
    t, weight, q, dt = np.empty(relevant), np.empty(relevant), np.empty(relevant), np.empty(relevant)
    m = 0
    for j in range(n):
        if w[j] != 0.0:
            place[m], t[m], weight[m] = j, -ranks[j], w[j] / ranks[j]
            m += 1
    above = (IDENTITY, sigmoid_kind, 0.0, beta, 0.0, 0.0)
    value = soft_rank_core(above, t, weight, 0, relevant, q, dt, True, *inner)
    c = np.zeros(n)
    for m in range(relevant):
        c[place[m]] = weight[m] * q[m] / t[m] - dt[m]
    soft_rank_core(spec, s, c, 0, n, ranks, grad, True, *space)
    return value


@kernel
def cascade_query(s, w, alpha, sigmoid_kind, beta, ranks, grad, space):
    r"""sum_i w_i/rank_i prod_{j != i} (1 - w_j sigma(beta (rank_i - rank_j))): RR and ERR.

    In order of rank, documents far above contribute the constant 1 - w_j, those far below 1;
    only the band between has slopes. Products without one factor come from prefix and suffix
    products, since a factor may be zero.
    """
    n, spec = len(s), (IDENTITY, sigmoid_kind, 0.0, alpha, 0.0, 0.0)
    soft_rank_core(spec, s, w, 0, n, ranks, grad, False, *space)
    m = 0
    for j in range(n):
        m += w[j] != 0.0
    place = np.empty(m, dtype=np.int64)
    m = 0
    for j in range(n):
        if w[j] != 0.0:
            place[m] = j
            m += 1
    rank = ranks[place]
    order = np.empty(m, dtype=np.int64)
    descending_order(-rank, order)
    place, rank = place[order], rank[order]
    above = np.empty(m + 1)  # product of 1 - w over the documents above
    above[0] = 1.0
    for i in range(m):
        above[i + 1] = above[i] * (1.0 - w[place[i]])
    band = (saturation(sigmoid_kind, 8) + math.log(max(m, 1))) / beta
    c = np.zeros(n)
    prefix, factor, slope = np.empty(m + 1), np.empty(m), np.empty(m)
    value = 0.0
    lo, hi = 0, 0
    for i in range(m):
        while rank[i] - rank[lo] > band:
            lo += 1
        while hi < m and rank[hi] - rank[i] <= band:
            hi += 1
        base = w[place[i]] / rank[i] * above[lo]
        if base == 0.0:
            continue
        prefix[lo] = 1.0
        for j in range(lo, hi):
            factor[j], slope[j] = 1.0, 0.0
            if j != i:
                t, dt = sigmoid(sigmoid_kind, beta * (rank[i] - rank[j]))
                factor[j], slope[j] = 1.0 - w[place[j]] * t, -w[place[j]] * beta * dt
            prefix[j + 1] = prefix[j] * factor[j]
        value += base * prefix[hi]
        at_rank = -base * prefix[hi] / rank[i]
        suffix = 1.0
        for j in range(hi - 1, lo - 1, -1):
            pull = base * prefix[j] * suffix * slope[j]
            at_rank += pull
            c[place[j]] -= pull
            suffix *= factor[j]
        c[place[i]] += at_rank
    soft_rank_core(spec, s, c, 0, n, ranks, grad, True, *space)
    return value


@kernel
def kendall_query(s, labels, alpha, sigmoid_kind, ranks, grad, space):
    r"""Sum over pairs l_i > l_j of 2 sigma(alpha (s_i - s_j)) - 1, divided as tau-b.

    For one level, the soft ranks of its documents among all documents of that level or below
    add up to the pairs wanted plus a constant, since pairs within the level cancel.
    """
    n, spec = len(s), (IDENTITY, sigmoid_kind, 0.0, alpha, 0.0, 0.0)
    order = np.empty(n, dtype=np.int64)
    descending_order(-labels, order)
    x, part = s[order], np.empty_like(grad)
    weight = np.zeros(n)
    for j in range(n):
        grad[j] = 0.0
    value, pairs = 0.0, 0.0
    begin = 0
    while begin < n:
        end = begin
        while end < n and labels[order[end]] == labels[order[begin]]:
            end += 1
        level = end - begin
        pairs += float(level) * begin
        if begin > 0:
            for j in range(end):
                weight[j] = 0.0 if j < begin else -2.0
            total = soft_rank_core(spec, x, weight, 0, end, ranks, part, True, *space)
            value += float(level) * begin + float(level) * (level + 1.0) + total
            for j in range(end):
                grad[order[j]] += part[j]
        begin = end
    if pairs == 0.0:
        return 0.0
    norm = 1.0 / math.sqrt(pairs * (0.5 * n * (n - 1.0)))
    for j in range(n):
        grad[j] = grad[j] * grad.dtype.type(norm)
    return value * norm


@kernel
def separable_chunk(spec, weights, scores, qptr, first, last, value, grad):
    """Fill ``value[q]`` and the gradient of the documents of queries first <= q < last.

    The kernels of the other families take the same arguments. Each is compiled on first
    use; one kernel for all would compile four times as long for everyone.

    Parameters
    ----------
    spec : tuple (int, int, float, float, float, float)
        shape of phi, sigmoid, k, alpha, beta, below.
    weights : float64 (n_docs,)     see the module's table
    """
    n = longest_query(qptr, first, last)
    owned = (np.empty(n), *scratch(n, scores))
    ranks, docs, group, sums, table, kept, order, members = borrowed(owned)
    scores, weights, grad = borrowed((scores, weights, grad))
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        value[q] = soft_rank_core(
            spec, scores, weights, lo, hi, ranks, grad, True, docs, group, sums, table, kept, order, members
        )
    keep(owned)


@kernel
def ap_chunk(spec, weights, scores, qptr, first, last, value, grad):
    """Same as `separable_chunk` for the family ap."""
    _, sigmoid_kind, _, alpha, beta, _ = spec
    n = longest_query(qptr, first, last)
    owned = scratch(n, scores), scratch(n, weights), np.empty(n)
    space, inner, ranks = borrowed(owned)
    scores, weights, grad = borrowed((scores, weights, grad))
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        s, w, g = scores[lo:hi], weights[lo:hi], grad[lo:hi]
        value[q] = ap_query(s, w, alpha, sigmoid_kind, beta, ranks, g, space, inner)
    keep(owned)


@kernel
def cascade_chunk(spec, weights, scores, qptr, first, last, value, grad):
    """Same as `separable_chunk` for the family cascade."""
    _, sigmoid_kind, _, alpha, beta, _ = spec
    n = longest_query(qptr, first, last)
    owned = scratch(n, scores), np.empty(n)
    space, ranks = borrowed(owned)
    scores, weights, grad = borrowed((scores, weights, grad))
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        s, w, g = scores[lo:hi], weights[lo:hi], grad[lo:hi]
        value[q] = cascade_query(s, w, alpha, sigmoid_kind, beta, ranks, g, space)
    keep(owned)


@kernel
def kendall_chunk(spec, weights, scores, qptr, first, last, value, grad):
    """Same as `separable_chunk` for the family kendall."""
    _, sigmoid_kind, _, alpha, _, _ = spec
    n = longest_query(qptr, first, last)
    owned = scratch(n, scores), np.empty(n)
    space, ranks = borrowed(owned)
    scores, weights, grad = borrowed((scores, weights, grad))
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        s, w, g = scores[lo:hi], weights[lo:hi], grad[lo:hi]
        value[q] = kendall_query(s, w, alpha, sigmoid_kind, ranks, g, space)
    keep(owned)


@kernel
def pull_chunk(sigmoid_kind, alpha, scores, weights, qptr, first, last, ranks, grad, want_grad):
    """Soft ranks of the documents with weight and, if wanted, the pull-back of the weights."""
    spec = IDENTITY, sigmoid_kind, 0.0, alpha, 0.0, 0.0
    owned = scratch(longest_query(qptr, first, last), scores)
    space = borrowed(owned)
    for q in range(first, last):
        lo, hi = qptr[q], qptr[q + 1]
        soft_rank_core(spec, scores, weights, lo, hi, ranks[lo:hi], grad, want_grad, *space)
    keep(owned)
