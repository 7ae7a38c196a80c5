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
  :math:`E = \exp(\alpha (s - s_{mid}))`: n exponentials, then divisions alone (`approx_pair_sums`). It is
  valid where E neither overflows nor vanishes, so wide queries are sorted and cut in groups.
* Saturation: a pair with :math:`\alpha |s_i - s_j|` beyond `saturation` + log n adds 0 or 1, to
  the rounding of a sum of n. In sorted order every document needs only the pairs in its band;
  the rest is a count. No array is larger than a constant times the query.

Slopes carry an absolute error of about eps alpha c_i, where eps is the resolution of the dtype.
"""

import math

import numpy as np

from directrix.kernels import kernel
from directrix.measures._kernels.workspace import GAP
from directrix.surrogates._kernels.approx_pair_sums import (
    E_HERE,
    HERE,
    PULL,
    RANK,
    SLOPE,
    SLOPE_SUM,
    SUM,
    VALUE,
    C,
    E,
    F,
    X,
    pair_pulls,
    pair_sums,
)
from directrix.surrogates._kernels.sigmoids import DCG, LOGISTIC, exponential, logarithm, phi, saturation
from directrix.surrogates._kernels.sorting import descending_order

_LN2 = math.log(2.0)
_REGISTER = 16  # float32 numbers in the widest registers
_GROUP = 256
"""Most documents whose pairs are summed at once: their numbers stay in the fastest cache."""
_TABLE = 8192
"""Numbers of the table of pairs, for bands in which at least 16 documents of a group fit into it."""


@kernel
def scratch(n, like):
    """Work space for queries of up to n documents, as `soft_rank_core` takes it."""
    width = n + GAP
    return (
        np.empty((4, width), dtype=like.dtype),
        np.empty((3, _GROUP + GAP), dtype=like.dtype),
        np.empty((5, _GROUP + GAP)),
        np.empty(max(_TABLE, _REGISTER * width), dtype=like.dtype),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )


@kernel(forceinline=True, fastmath={"reassoc", "nsz"})
def _all_finite(scores, lo, hi):
    total = scores.dtype.type(0.0)
    for j in range(np.uint64(lo), np.uint64(hi)):
        total += scores[j] * scores.dtype.type(0.0)
    return total == 0.0


@kernel(forceinline=True, fastmath={"nnan", "nsz"})
def _range(scores, lo, hi):
    """Lowest and highest of finite numbers."""
    low, high = scores[lo], scores[lo]
    for j in range(np.uint64(lo), np.uint64(hi)):
        low, high = min(low, scores[j]), max(high, scores[j])
    return low, high


@kernel(forceinline=True)
def _arrange(scores, weights, lo, hi, is_sorted, docs, kept, order, members):
    """Copy scores and weights into the work space; list, and count, the documents with weight."""
    n, count, first = hi - lo, 0, np.uint64(lo)
    if is_sorted:
        descending_order(scores[lo:hi], order)
        for j in range(n):
            document = lo + order[j]
            docs[X, j] = scores[document]
            weight = weights[document]
            kept[count], members[count] = weight, j
            count += weight != 0.0
    else:
        for j in range(np.uint64(n)):
            docs[X, j] = scores[first + j]
        for j in range(np.uint64(n)):
            weight = weights[first + j]
            kept[count], members[count] = weight, j
            count += weight != 0.0
    for j in range(n):
        docs[PULL, j] = docs.dtype.type(0.0)
    return count


@kernel(forceinline=True)
def _exponentials(docs, lo, hi, middle, alpha):
    """Fill E and F of the documents lo <= j < hi."""
    for j in range(np.uint64(lo), np.uint64(hi)):
        value = exponential(alpha * (np.float64(docs[X, j]) - middle))
        docs[E, j] = value
        docs[F, j] = 1.0 / value


@kernel(forceinline=True)
def _dcg_discounts(sums, m):
    """Fill VALUE with 1/log2(1 + rank), and SLOPE with its derivative, for the first m ranks."""
    for i in range(m):
        y = 1.0 + sums[RANK, i]
        log = logarithm(y)
        inverse = 1.0 / (log * y)
        value = _LN2 * y * inverse
        sums[VALUE, i], sums[SLOPE, i] = value, -value * inverse


@kernel(forceinline=True)
def _group(docs, n, members, begin, stop, lo, hi, alpha, band, reach):
    """Documents with weight that share a band: members from begin to end, and lo <= j < hi.

    A register full, and more as long as they span less than the band. E_i / E_j stays below exp(reach).
    Groups follow each other: lo and hi come in as those of the one before.
    """
    top, end = np.float64(docs[X, members[begin]]), begin + 1
    while end < stop and end - begin < _GROUP:
        width = alpha * (top - np.float64(docs[X, members[end]]))
        if width > (reach - band if end - begin < _REGISTER else 0.5 * band):
            break
        end += 1
    bottom = np.float64(docs[X, members[end - 1]])
    while alpha * (np.float64(docs[X, lo]) - top) > band:
        lo += 1
    while hi < n and alpha * (bottom - np.float64(docs[X, hi])) <= band:
        hi += 1
    return end, lo, hi, 0.5 * top + 0.5 * bottom


@kernel(forceinline=True)
def _gather(docs, members, begin, m, group):
    """Fill HERE and E_HERE of a group of m documents, and up to three more; returns m rounded up to fours."""
    padded = (m + 3) // 4 * 4
    for i in range(m):
        group[HERE, i] = docs[X, members[begin + i]]
        group[E_HERE, i] = docs[E, members[begin + i]]
    for i in range(m, padded):
        group[E_HERE, i], group[C, i] = docs.dtype.type(1.0), docs.dtype.type(0.0)
    return padded


@kernel
def soft_rank_core(
    spec, scores, weights, lo, hi, ranks, grad, want_grad, docs, group, sums, table, kept, order, members
):
    """Value, ranks and gradient for one query; see the module's docstring.

    Parameters
    ----------
    spec : tuple
        IDENTITY, DCG, DCG_CUT (cut at k) or CUT (1 up to k); LOGISTIC, ARCTAN or ERF; k; alpha in 1 / units
        of score, and beta of the cut-off; share of the discount that ignores the cut-off
    scores, weights : float, float64 (n_docs,)    documents with weight 0 are not evaluated
    lo, hi : int                   the query's documents
    ranks : float64 (hi - lo,)     out, soft ranks of the documents with weight
    grad : float (n_docs,)         out, overwritten from lo to hi; untouched if not want_grad
    others : of `scratch`; apart, since to unpack a tuple counts references (see `approx_pair_sums`)

    Returns
    -------
    float64
        V; 0 for a query without documents, NaN (and so the gradient) if a score is not finite.
    """
    shape, sigmoid_kind, k, alpha, beta, below = spec
    n = hi - lo
    if n == 0:
        return 0.0
    if not _all_finite(scores, lo, hi):
        for j in range(n):
            ranks[j] = np.nan
            if want_grad:
                grad[lo + j] = docs.dtype.type(np.nan)
        return np.nan
    # What is dropped beyond the band adds up to rounding: n pairs, exp(-band) each.
    band = saturation(sigmoid_kind, scores.itemsize) + (math.log(n) if sigmoid_kind == LOGISTIC else 0.0)
    # e f of a pair stays below exp(reach), and beyond the band between exp(18) and the largest number
    reach, beyond = (70.0, 1e23) if scores.itemsize == 4 else (600.0, 1e173)
    low, high = _range(scores, lo, hi)
    # Short queries do without sorting as long as one set of exponentials spans them.
    span = alpha * (np.float64(high) - np.float64(low))
    is_sorted = band < np.inf and span > (reach if n < 256 else min(reach, 4.0 * band))
    n_members = _arrange(scores, weights, lo, hi, is_sorted, docs, kept, order, members)
    middle = 0.5 * np.float64(low) + 0.5 * np.float64(high)
    value, begin, end, left, right = 0.0, 0, 0, 0, 0 if is_sorted else n
    while begin < n_members:
        if is_sorted:
            end, left, right, middle = _group(
                docs, n, members, begin, n_members, left, right, alpha, band, reach
            )
        else:
            end = min(begin + _GROUP, n_members)
        width = (right - left + _REGISTER - 1) // _REGISTER * _REGISTER
        end = min(end, begin + len(table) // width // 4 * 4)
        if sigmoid_kind == LOGISTIC and (is_sorted or begin == 0):
            _exponentials(docs, left, right, middle, alpha)
            for j in range(right, left + width):
                docs[F, j] = beyond
        m = end - begin
        padded = _gather(docs, members, begin, m, group)
        pair_sums(sigmoid_kind, alpha, docs, left, right, width, group, padded, table, sums)
        for i in range(padded):
            # the pair of the document with itself is 1/2
            sums[RANK, i] = 0.5 + left + sums[SUM, i]
        if shape == DCG:
            _dcg_discounts(sums, padded)
        else:
            for i in range(m):
                sums[VALUE, i], sums[SLOPE, i] = phi(shape, sums[RANK, i], k, sigmoid_kind, beta, below)
        for i in range(m):
            document = members[begin + i]
            slope = alpha * kept[begin + i] * sums[SLOPE, i]
            value += kept[begin + i] * sums[VALUE, i]
            ranks[order[document] if is_sorted else document] = sums[RANK, i]
            group[C, i] = slope
            docs[PULL, document] -= docs.dtype.type(slope * sums[SLOPE_SUM, i])
        if want_grad:
            pair_pulls(sigmoid_kind, alpha, docs, left, right, width, group, padded, table)
        begin = end
    if want_grad:
        for j in range(n):
            grad[lo + (order[j] if is_sorted else j)] = docs[PULL, j]
    return value
