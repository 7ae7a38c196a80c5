r"""Structural support vector machines: one minus the hinge of the ranking that violates the margin most.

Let F score a whole ranking y of a query's R relevant and n - R irrelevant documents:

.. math:: F(s, y) = c \sum_{i\,\mathrm{relevant}}\ \sum_{j\,\mathrm{irrelevant}} y_{ij}\, (s_i - s_j), \qquad
          y_{ij} = \pm 1 \text{ as } i \text{ stands before } j \text{ or behind},

and :math:`\Delta(y)` = 1 - the measure of y, the surrogate is

.. math:: S = 1 - \max_y \big[ \Delta(y) + F(s, y) - F(s, y^*) \big],

where y* is any ranking with all relevant documents first. The maximum of linear functions is convex, and at
least the loss of the ranking by score, for which :math:`F(s, y) \ge F(s, y^*)`: S bounds the measure from
below (Yue et al. 2007, Proposition 1). The maximum over all rankings is exact and takes O(n log n). If F is
empty (no relevant or no irrelevant document), the gradient is 0 and S is constant.

Tied documents that are both relevant, or both irrelevant, get the mean coefficient of several maximizing
rankings, so the gradient does not depend on the order of documents.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from directrix.measures.base import RankingMeasure
from directrix.measures.cascade import RR
from directrix.measures.dcg import NDCG
from directrix.measures.pairs import ROCArea
from directrix.measures.precision import AP
from directrix.measures.terms import over_queries, query_sums
from directrix.surrogates.base import MeasureSurrogate, writable
from directrix.types import Float64Array, Int64Array

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Earnings: TypeAlias = tuple[Float64Array, Float64Array, Float64Array]


class Interleaved(MeasureSurrogate):
    """Base of surrogates whose rankings interleave the lists of relevant and of irrelevant documents."""

    compiled: ClassVar[str] = "structural.interleave_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document", "document", "data", "query", "query")
    rel: float

    @property
    def properties(self) -> frozenset[str]:
        """convex, bound, shift_invariant."""
        return frozenset({"convex", "bound", "shift_invariant"})

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Any, ...]:
        """Return relevance (0 or 1), gains, discounts, 2c of every query, and its value if margins hold."""
        relevant = labels >= self.rel
        gain, discount, perfect = self.earnings(labels, relevant, qptr)
        return relevant.astype(np.int64), gain, discount, 2.0 * self.margin(relevant, qptr), perfect

    @abstractmethod
    def earnings(self, labels: Float64Array, relevant: BoolArray, qptr: Int64Array) -> Earnings:
        """Return gains, discounts and values.

        The gain of the k-th relevant document from above is at each query's start + k (n_docs,). The discount
        of each rank is decreasing and convex (longest,). The value of each query is that if all margins hold.
        """

    def margin(self, relevant: BoolArray, qptr: Int64Array) -> Float64Array:
        """Return the constant c of every query: 1/(R (n - R)), or 0."""
        n_relevant = _counts(relevant, qptr)
        pairs = n_relevant * (np.diff(qptr) - n_relevant)
        return np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0.0)


def _counts(relevant: BoolArray, qptr: Int64Array) -> Float64Array:
    """Relevant documents of every query."""
    return query_sums(relevant.astype(np.float64), qptr)


def _places(qptr: Int64Array) -> Int64Array:
    """The documents of every query, counted from 0."""
    places: Int64Array = np.arange(qptr[-1]) - np.repeat(qptr[:-1], np.diff(qptr))
    return places


@dataclass(frozen=True)
class SVMMap(Interleaved):
    r"""SVMmap: the hinge of average precision.

    .. math:: 1 - \max_y \Big[ 1 - \mathrm{AP}(y) - \frac{2}{R (n - R)}
              \sum_{i\,\mathrm{rel}}\ \sum_{j\,\mathrm{irrel}} [y_{ij} = -1]\, (s_i - s_j) \Big]

    Parameters
    ----------
    rel : float > 0
        Lowest label that counts as relevant.

    Notes
    -----
    Eq. 5 of Yue et al. leaves out the factor 1/(R (n - R)) of their feature map. It is used here, because
    only with it is the ranking found the best of all.

    As in AP, a query without relevant documents has the value 0, and one without irrelevant ones 1. O(n log
    n) time, O(n) memory.

    References
    ----------
    Yue, Finley, Radlinski, Joachims (2007), A support vector method for optimizing average precision,
    Eq. 4 and Algorithm 2, doi:10.1145/1277741.1277790.

    Examples
    --------
    >>> labels = np.array([1.0, 0, 0, 0, 0, 1, 1, 0])  # the paper's Table 1
    >>> SVMMap().value_and_grad(np.zeros(8), labels, np.array([0, 8]))[0]  # worst AP: (1/6 + 2/7 + 3/8)/3
    array([0.27579365])
    """

    measured: ClassVar[type[RankingMeasure]] = AP
    rel: float = 1

    def earnings(self, labels: Float64Array, relevant: BoolArray, qptr: Int64Array) -> Earnings:
        """See `Interleaved.earnings`."""
        n_relevant, sizes = _counts(relevant, qptr), np.diff(qptr)
        # The k-th relevant document from above adds its precision, k over its rank, divided by R.
        gain = (_places(qptr) + 1.0) / np.repeat(np.maximum(n_relevant, 1.0), sizes)
        longest = int(sizes.max(initial=0))
        return gain, self.measure.discounts(longest), (n_relevant > 0.0).astype(np.float64)


@dataclass(frozen=True)
class PermuRank(SVMMap):
    r"""PermuRank for average precision: `SVMMap` with a score over all pairs.

    .. math:: F(s, y) = \frac{2}{n (n - 1)} \sum_{i < j} y_{ij}\, (s_i - s_j)

    Pairs of two relevant documents, or two irrelevant ones, are ordered by score in both rankings and cancel.
    Only the constant differs: c = 2/(n(n-1)), so a margin counts less if fewer documents are relevant.

    Parameters
    ----------
    rel : float > 0
        Lowest label that counts as relevant.

    References
    ----------
    Xu, Liu, Lu, Li, Ma (2008), Directly optimizing evaluation measures in learning to rank,
    doi:10.1145/1390334.1390355.

    Examples
    --------
    >>> scores, labels = np.array([0.5, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    >>> PermuRank().value_and_grad(scores, labels, np.array([0, 3]))
    (array([0.]), array([-0.66666667,  1.33333333, -0.66666667]))
    """

    def margin(self, relevant: BoolArray, qptr: Int64Array) -> Float64Array:
        """Return 2/(n (n - 1)) for every query."""
        sizes = np.diff(qptr).astype(np.float64)
        return 2.0 / np.maximum(sizes * (sizes - 1.0), 2.0)


@dataclass(frozen=True)
class SVMRoc(Interleaved):
    r"""SVMroc: the hinge of the area under the ROC curve, which is a mean over pairs.

    .. math:: 1 - \frac{1}{R (n - R)} \sum_{i\,\mathrm{rel}}\ \sum_{j\,\mathrm{irrel}}
              \max(0,\, 1 - 2 (s_i - s_j))

    Parameters
    ----------
    rel : float > 0
        Lowest label that counts as relevant.

    Notes
    -----
    A query without such pairs, which has no ROC area, has the value 1. O(n log n) time, O(n) memory.

    References
    ----------
    Joachims (2005), A support vector method for multivariate performance measures,
    doi:10.1145/1102351.1102399.

    Examples
    --------
    >>> scores, labels = np.array([0.5, 0.0, 0.25]), np.array([1.0, 0.0, 0.0])
    >>> SVMRoc().value_and_grad(scores, labels, np.array([0, 3]))  # 1 - (0 + 1/2)/2
    (array([0.75]), array([ 1.,  0., -1.]))
    """

    measured: ClassVar[type[RankingMeasure]] = ROCArea
    rel: float = 1

    def earnings(self, labels: Float64Array, relevant: BoolArray, qptr: Int64Array) -> Earnings:
        """See `Interleaved.earnings`."""
        sizes, share = np.diff(qptr), self.margin(relevant, qptr)
        # Each rank further down costs one more pair, so the discount falls by 1 per rank.
        return np.repeat(share, sizes), -np.arange(float(sizes.max(initial=0))), np.ones(len(share))


@dataclass(frozen=True)
class SVMMrr(Interleaved):
    r"""Structural SVM for the reciprocal rank.

    .. math:: 1 - \max_y \Big[ 1 - \frac{1}{\pi_1(y)} - \frac{2}{R (n - R)}
              \sum_{i\,\mathrm{rel}}\ \sum_{j\,\mathrm{irrel}} [y_{ij} = -1]\, (s_i - s_j) \Big]

    with :math:`\pi_1` the rank of the first relevant document.

    Parameters
    ----------
    rel : float > 0
        Lowest label that counts as relevant.

    Notes
    -----
    Yue et al. name it as future work. In the interleaving of Algorithm 2 only the rank of the first relevant
    document has a gain: :math:`\delta_j(1, 2) = \frac1j - \frac{1}{j + 1} - 2c (s_1 - s_j)`, which decreases
    in j as Lemma 1 requires, so the maximum is over all rankings. Below the first relevant document,
    irrelevant ones are placed by score alone.

    A query without relevant documents has the value 0, and one without irrelevant ones 1. O(n log n) time,
    O(n) memory.

    References
    ----------
    Yue, Finley, Radlinski, Joachims (2007), Section 6, doi:10.1145/1277741.1277790; Chakrabarti, Khanna,
    Sawant, Bhattacharyya (2008), Structured learning for non-smooth ranking losses,
    doi:10.1145/1401890.1401906.

    Examples
    --------
    >>> labels = np.array([1.0, 0, 0, 0, 0, 1, 1, 0])
    >>> SVMMrr().value_and_grad(np.zeros(8), labels, np.array([0, 8]))[0]  # lowest RR: 1/6
    array([0.16666667])
    """

    measured: ClassVar[type[RankingMeasure]] = RR
    rel: float = 1

    def earnings(self, labels: Float64Array, relevant: BoolArray, qptr: Int64Array) -> Earnings:
        """See `Interleaved.earnings`."""
        gain = (_places(qptr) == 0).astype(np.float64)
        # Tables of discounts are shared and read-only, and Numba would compile the kernel again for them.
        discount = writable(self.measure.discounts(int(np.diff(qptr).max(initial=0))))
        return gain, discount, (_counts(relevant, qptr) > 0.0).astype(np.float64)


@dataclass(frozen=True)
class SVMNdcg(Interleaved):
    r"""Structural SVM for nDCG.

    .. math:: 1 - \max_y \Big[ 1 - \frac1Z \sum_{k=1}^{R} g_k\, D(\pi_k(y)) - \frac{2}{R (n - R)}
              \sum_{i\,\mathrm{rel}}\ \sum_{j\,\mathrm{irrel}} [y_{ij} = -1]\, (s_i - s_j) \Big]

    with :math:`\pi_k` the rank of the k-th relevant document from above, D(p) = 1/log2(1 + p), Z the ideal
    DCG, and :math:`g_1 \le \dots \le g_R` the gains 2^l - 1 of the relevant documents, *ascending*.

    Parameters
    ----------
    rel : float > 0
        Lowest label that counts as relevant in F.

    Notes
    -----
    F distinguishes relevant documents from irrelevant ones, but not grades. If all relevant documents have
    the same gain and the others none, the maximum is over all rankings. Otherwise gains are in the worst
    order, and those of irrelevant documents count only in Z: S is lower than with the maximum over all
    rankings, but still a bound on nDCG, and concave. With gains in the order of scores, it would be neither.

    O(n log n) time, O(n) memory.

    References
    ----------
    Chakrabarti, Khanna, Sawant, Bhattacharyya (2008), Structured learning for non-smooth ranking losses,
    doi:10.1145/1401890.1401906.

    Examples
    --------
    >>> scores, labels = np.array([0.0, 0.1]), np.array([0.0, 1.0])
    >>> SVMNdcg().value_and_grad(scores, labels, np.array([0, 2]))[0]  # 1/log2(3) + 2 (0.1 - 0.0)
    array([0.83092975])
    """

    measured: ClassVar[type[RankingMeasure]] = NDCG
    rel: float = 1

    def earnings(self, labels: Float64Array, relevant: BoolArray, qptr: Int64Array) -> Earnings:
        """See `Interleaved.earnings`."""
        sizes, terms = np.diff(qptr), self.measure.terms(labels, qptr)
        discount = writable(terms.discount)
        # The relevant documents come first, by ascending label, which is the worst order of their gains.
        order = np.lexsort((labels, ~relevant, np.repeat(np.arange(len(sizes)), sizes)))
        gain = over_queries(np.where(relevant, terms.worth, 0.0)[order], terms.norm, qptr)
        # Rounding may raise the best value of nDCG above 1.
        return gain, discount, np.minimum(query_sums(gain * discount[_places(qptr)], qptr), 1.0)
