r"""ApproxRank (Qin, Liu, Li 2010): measures with their ranks replaced by soft ranks.

The rank of a document is a count of the documents above it. With a sigmoid in place of the step function it
becomes smooth (Eq. 20),

.. math:: \hat\pi_i = 1 + \sum_{j \ne i} \sigma(\alpha (s_j - s_i)),

and so does every measure that is written as a function of positions. Truncations
:math:`[\pi_i < \pi_j]` and :math:`[\pi_i \le k]` become
:math:`\sigma(\beta(\hat\pi_j - \hat\pi_i))` and :math:`\sigma(\beta(k + 1/2 - \hat\pi_i))`. The latter is
flat far below k, where equal scores put all documents of a long query. So training begins with a copy in
which a ``share`` of the discount ignores it, see `CutOff`.

All of them cost O(R n) pairs for R documents that matter out of n, and only pairs inside the sigmoid's band
for large alpha. They need O(n) memory per query.

>>> query = np.array([0.2, 0.1]), np.array([0.0, 1.0]), np.array([0, 2])  # scores, labels, qptr
>>> value, grad = ApproxNDCG(alpha=10.0).value_and_grad(*query)
>>> bool(0.63 < value[0] < 1.0), bool(grad[1] > 0.0)  # smoother than nDCG, which is 0.63
(True, True)
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from directrix.data.checks import as_array, check_ranking
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.cascade import ERR, RR
from directrix.measures.dcg import NDCG
from directrix.measures.pairs import KendallTau
from directrix.measures.precision import AP, Precision
from directrix.measures.terms import Between, over_queries, query_sums
from directrix.parameters import positive
from directrix.surrogates.base import (
    PULLS,
    SMOOTH,
    Chunk,
    CutOff,
    MeasureSurrogate,
    Out,
    in_chunks,
    terms_of,
    writable,
)
from directrix.types import Float64Array, FloatArray, Int64Array

Sigmoid = Literal["logistic", "tanh", "arctan", "erf"]
# Number of each sigmoid in the kernels, and factor on its steepness: (1 + tanh z)/2 is logistic(2 z).
_SIGMOIDS: dict[str, tuple[int, float]] = {
    "logistic": (0, 1.0),
    "tanh": (0, 2.0),
    "arctan": (1, 1.0),
    "erf": (2, 1.0),
}


def sigmoid_code(sigmoid: str) -> tuple[int, float]:
    """Return the sigmoid's number in the kernels and the factor on its steepness, or raise `InputError`."""
    if sigmoid not in _SIGMOIDS:
        raise InputError(f"sigmoid={sigmoid!r}: type one of {', '.join(map(repr, _SIGMOIDS))}.")
    return _SIGMOIDS[sigmoid]


def soft_ranks(
    scores: FloatArray, qptr: Int64Array | None = None, *, alpha: float = 10.0, sigmoid: Sigmoid = "logistic"
) -> Float64Array:
    r"""Return soft ranks :math:`\hat\pi_i = 1 + \sum_{j \ne i} \sigma(\alpha (s_j - s_i))`.

    Parameters
    ----------
    scores : float (n_docs,)
        Higher is ranked first.
    qptr : int64 (n_queries + 1,), or None
        Query boundaries; None = one query.
    alpha : float > 0
        Steepness, in 1 / units of score.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Returns
    -------
    float64 (n_docs,)
        1 <= rank <= number of documents of the query; ranks of a query add up to n (n + 1)/2.

    Raises
    ------
    InputError
        If the arrays do not fit together, alpha is not > 0, or the sigmoid is unknown.

    Notes
    -----
    O(n log n + n b) time for a band of b documents, O(n) memory.

    References
    ----------
    Qin, Liu, Li (2010), Eq. (20) and Table 1, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    >>> soft_ranks(np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330]), alpha=100).round(5)
    array([2.00118, 4.     , 1.     , 5.     , 2.99882])
    """
    from directrix.surrogates._kernels.approx import pull_chunk

    alpha = positive(alpha, "alpha", "soft_ranks")
    scores = as_array(scores, "scores")
    bounds = np.array([0, scores.size]) if qptr is None else qptr
    scores, _, bounds = check_ranking(scores, np.zeros(scores.size), bounds)
    kind, factor = sigmoid_code(sigmoid)
    scores, bounds = writable(scores), writable(bounds)
    # The kernel computes ranks of documents with a gain, so here every document has one.
    data = scores, np.ones(len(scores)), bounds
    ranks, no_grad = np.zeros(len(scores)), (np.zeros_like(scores), False)
    in_chunks(lambda *chunk: pull_chunk(kind, factor * alpha, *data, *chunk, ranks, *no_grad), bounds)
    return ranks


class SoftRanks(CutOff):
    """Base of the surrogates in `approx`: soft ranks of steepness ``alpha`` in place of ranks."""

    usual_steepness: ClassVar[float] = 10.0
    alpha: float
    sigmoid: Sigmoid

    @property
    def steepness(self) -> float:
        """Alpha: scores closer than 1/alpha share their ranks."""
        return self.alpha

    def at(self, smoothing: float) -> Self:
        """Return a copy with alpha = 1/smoothing; beta, if there is one, keeps its ratio to alpha.

        As smoothing -> 0 the value tends to the exact measure wherever no scores tie.
        """
        smoothing, copy = positive(smoothing, "smoothing", f"{type(self).__name__}.at"), cast("Any", self)
        has_beta = any(field.name == "beta" for field in fields(copy))
        # Both steepnesses grow together, so that truncations get sharper as ranks do.
        beta = {"beta": copy.beta / self.alpha / smoothing} if has_beta else {}
        return cast("Self", replace(copy, alpha=1.0 / smoothing, **beta))


class ApproxRank(SoftRanks, MeasureSurrogate):
    """Base of the surrogates of one measure in `approx`, which tend to it as alpha and beta grow."""

    kernel_forms: ClassVar[tuple[int, int]] = (0, 0)
    """Numbers by which `separable_chunk` knows the form, without and with a cut-off k."""
    beta: float = 1.0

    @property
    def properties(self) -> frozenset[str]:
        """See `CutOff.properties`; pulls_at_ties without a cut-off."""
        return super().properties if self.has_cut else SMOOTH | PULLS

    def arguments(self) -> tuple[Any, ...]:
        """Return the surrogate's parameters for the kernels, in one tuple; see `separable_chunk`."""
        (kind, factor), k = sigmoid_code(self.sigmoid), getattr(self, "k", None)
        form = self.kernel_forms[k is not None]
        return ((form, kind, float(k or 0), factor * self.alpha, factor * self.beta, self.share),)


@dataclass(frozen=True)
class ApproxNDCG(ApproxRank):
    r"""Smooth nDCG@k.

    .. math:: \frac{1}{Z_k} \sum_i (2^{l_i} - 1)\, \frac{1}{\log_2(1 + \hat\pi_i)}
              \big[b + (1 - b)\, \sigma(\beta(k + 1/2 - \hat\pi_i))\big]

    without the last factor if ``k`` is None (Qin, Liu, Li 2010, Eq. 21), with b = ``share``.

    Parameters
    ----------
    alpha : float > 0
        Steepness of the soft ranks, in 1 / units of score. Larger is closer to nDCG and harder to
        optimize.
    k : int >= 1, or None
        Cut-off; None = the whole list.
    beta : float > 0
        Steepness of the cut-off, in 1 / ranks; not used if ``k`` is None.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        "erf" with alpha = 1/(2 sigma) gives SoftRank's expected ranks.
    below : float, 0 <= below < 1
        Sets the share of the discount that ignores the cut-off, below^((alpha/10)^2); 0 = the paper's rule,
        which rankers train in stages (`directrix.trainers.Continuation`). With a share the value is not that
        of the paper, and rankers train it as it is. Not used if ``k`` is None.

    Notes
    -----
    Without a cut-off the value lies in [0, 1]: soft ranks are mixtures of permutations and the
    discount is convex. With a cut-off it can exceed 1: more than k documents can share a rank below k + 1/2.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxNDCG(alpha=100.0).value_and_grad(*query)[0].round(4), dx.NDCG()(*query).round(4)
    (array([0.659]), array([0.659]))
    """

    compiled: ClassVar[str] = "approx.separable_chunk"
    measured: ClassVar[type[RankingMeasure]] = NDCG
    weighs_docs: ClassVar[bool] = True
    kernel_forms = (1, 2)
    alpha: float = 10.0
    k: int | None = None
    beta: float = 10.0
    sigmoid: Sigmoid = "logistic"

    below: float = 0.0

    @property
    def properties(self) -> frozenset[str]:
        """See `ApproxRank.properties`; unit_interval without a cut-off."""
        return super().properties | ({"unit_interval"} if self.k is None else set())


@dataclass(frozen=True)
class ApproxPrecision(ApproxRank):
    r"""Smooth P@k.

    .. math:: \frac1k \sum_i r_i \big[(1 - b)\, \sigma(\beta(k + 1/2 - \hat\pi_i))
              + b / \log_2(1 + \hat\pi_i)\big], \qquad b = \text{share}

    Qin, Liu & Li (2010) name it as future work; this form follows their rule for truncations. A document's
    weight multiplies its contribution; the divisor is still k.

    Parameters
    ----------
    k : int >= 1
        Cut-off.
    rel : float > 0
        Smallest label that counts as relevant.
    alpha, beta, sigmoid, below
        As for `ApproxNDCG`; ``below`` sets the share of the discount 1/log2(1 + rank).

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxPrecision(k=2).at(0.001).value_and_grad(*query)[0].round(4), dx.Precision(k=2)(*query)
    (array([0.5]), array([0.5]))
    """

    compiled: ClassVar[str] = "approx.separable_chunk"
    measured: ClassVar[type[RankingMeasure]] = Precision
    weighs_docs: ClassVar[bool] = True
    kernel_forms = (3, 3)
    k: int = 5
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"
    below: float = 0.0


@dataclass(frozen=True)
class ApproxAP(ApproxRank):
    r"""Smooth average precision (Qin, Liu, Li 2010, Eq. 22).

    .. math:: \frac1R \sum_j \frac{r_j}{\hat\pi_j}
              \Big[1 + \sum_{i \ne j} r_i\, \sigma(\beta(\hat\pi_j - \hat\pi_i))\Big]

    Parameters
    ----------
    rel : float > 0
        Smallest label that counts as relevant.
    alpha, beta, sigmoid
        As for `ApproxNDCG`; beta is the steepness of the truncation.

    Notes
    -----
    The bracket is a soft rank of the relevant documents among themselves, so the double sum
    costs no more than the first: the band of beta is a few ranks wide.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxAP(alpha=100.0).value_and_grad(*query)[0].round(4), dx.AP()(*query).round(4)
    (array([0.5833]), array([0.5833]))
    """

    compiled: ClassVar[str] = "approx.ap_chunk"
    measured: ClassVar[type[RankingMeasure]] = AP
    weighs_docs: ClassVar[bool] = True
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """Return relevance divided by the weighted number of relevant documents."""
        # A relevant document of weight 0 contributes nothing, but counts above others.
        least = None if doc_weight is None else np.maximum(doc_weight, 1e-100)
        return super().prepare(labels, qptr, least)


@dataclass(frozen=True)
class ApproxRR(ApproxRank):
    r"""Smooth reciprocal rank.

    .. math:: \sum_j \frac{r_j}{\hat\pi_j} \prod_{i \ne j}
              \big(1 - r_i\, \sigma(\beta(\hat\pi_j - \hat\pi_i))\big)

    Qin, Liu & Li (2010) name it as future work; this form follows their rule for truncations.

    Parameters
    ----------
    rel : float > 0
        Smallest label that counts as relevant.
    alpha, beta, sigmoid
        As for `ApproxNDCG`; beta is the steepness of the truncation.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxRR(alpha=100.0).value_and_grad(*query)[0].round(4), dx.RR()(*query).round(4)
    (array([0.5]), array([0.5]))
    """

    compiled: ClassVar[str] = "approx.cascade_chunk"
    measured: ClassVar[type[RankingMeasure]] = RR
    alpha: float = 10.0
    beta: float = 10.0
    rel: float = 1
    sigmoid: Sigmoid = "logistic"


@dataclass(frozen=True)
class ApproxERR(ApproxRank):
    r"""Smooth expected reciprocal rank, with :math:`R_i = (2^{l_i} - 1) / 2^{l_{max}}`.

    .. math:: \sum_i \frac{R_i}{\hat\pi_i} \prod_{j \ne i}
              \big(1 - R_j\, \sigma(\beta(\hat\pi_i - \hat\pi_j))\big)

    Parameters
    ----------
    l_max : int >= 1
        The highest label; a document of that label satisfies with probability 1 - 2^-l_max.
    alpha, beta, sigmoid
        As for `ApproxAP`.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> (
    ...     dx.ApproxERR(alpha=100.0, l_max=2).value_and_grad(*query)[0].round(4),
    ...     dx.ERR(l_max=2)(*query).round(4),
    ... )
    (array([0.3958]), array([0.3958]))
    """

    compiled: ClassVar[str] = "approx.cascade_chunk"
    measured: ClassVar[type[RankingMeasure]] = ERR
    alpha: float = 10.0
    beta: float = 10.0
    l_max: int = 4
    sigmoid: Sigmoid = "logistic"


@dataclass(frozen=True)
class ApproxKendall(ApproxRank):
    r"""Smooth Kendall tau-b between scores and labels.

    .. math:: \frac{\sum_{l_i > l_j} (2 \sigma(\alpha(s_i - s_j)) - 1)}
              {\sqrt{P\, n (n - 1) / 2}}

    with P the number of pairs of different labels.

    Parameters
    ----------
    alpha : float > 0
        Steepness, in 1 / units of score.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Notes
    -----
    Lies in [-1, 1].

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ApproxKendall(alpha=100.0).value_and_grad(*query)[0].round(4), dx.KendallTau()(*query).round(4)
    (array([-0.3333]), array([-0.3333]))
    """

    compiled: ClassVar[str] = "approx.kendall_chunk"
    measured: ClassVar[type[RankingMeasure]] = KendallTau
    alpha: float = 10.0
    sigmoid: Sigmoid = "logistic"

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """Return the labels."""
        return (np.array(labels, dtype=np.float64),)


@dataclass(frozen=True, repr=False)
class ApproxMeasure(SoftRanks):
    r"""Smooth form of any measure that is a sum of gains w times discounts D of ranks.

    .. math:: \frac{1}{Z} \sum_i w_i \big[(1 - b)\, D(\hat\pi_i) + b\, D(1) / \log_2(1 + \hat\pi_i)\big],
              \qquad b = \text{share}

    Parameters
    ----------
    measure : measure or str
        A sum over documents of the gain times the discount of the rank: RBP, DCG, your own
        (`directrix.define_measure`), ...
    alpha, sigmoid, below
        As for `ApproxNDCG`; ``below`` has no effect without a cut-off.

    Notes
    -----
    Between two ranks the discount D is the measure's `discount_between`: the function itself if the measure
    was defined with its slope, else a smooth curve through its values, which falls to 0 from rank k to k + 1.

    References
    ----------
    Qin, Liu, Li (2010), Section 4, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    >>> s, labels, qptr = np.array([0.3, 0.2, 0.1]), np.array([1.0, 0.0, 1.0]), np.array([0, 3])
    >>> ApproxMeasure("RBP(p=0.5)", alpha=1000.0).value_and_grad(s, labels, qptr)[0]  # 1/2 (1 + 1/4)
    array([0.625])
    """

    entries: ClassVar[tuple[str, ...]] = ("document",)
    measure: Any = "nDCG"
    alpha: float = 10.0
    sigmoid: Sigmoid = "logistic"
    below: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure.form != "sum" or not hasattr(self.measure, "k"):
            name = self.measure.name
            raise InputError(
                f"ApproxMeasure({name!r}): this measure is not a sum of each document's gain times the "
                "discount of its rank; use a surrogate made for it, such as ApproxAP, or "
                f"Lambda({name!r})."
            )

    @property
    def adds_gains(self) -> bool:
        """Whether the measure adds up gains of any sign."""
        return bool(self.measure.adds_gains)

    def discount(self, n: int) -> Between:
        """Return the smooth discount of the ranks of queries of up to n documents, and its slope."""
        cut_discount, share = self.measure.discount_between(n), self.share
        # Both discounts agree at rank 1, where log2(1 + rank) is 1; log1p is in units of log(2).
        first = share * float(self.measure.discounts(1)[0]) * np.log(2.0)

        def mixed(ranks: Float64Array) -> tuple[Float64Array, Float64Array]:
            value, slope = cut_discount(ranks)
            log = np.log1p(ranks)
            return (1.0 - share) * value + first / log, (1.0 - share) * slope - first / (
                log**2 * (1.0 + ranks)
            )

        return mixed if share else cut_discount

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """Return the gain of every document divided by the normalizer of its query."""
        terms = terms_of(self, labels, qptr)
        return (over_queries(terms.worth, terms.norm, qptr),)

    def fill(self, scores: FloatArray, prepared: Any, qptr: Int64Array, chunk: Chunk, out: Out) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        from directrix.surrogates._kernels.approx import pull_chunk

        first, last = chunk
        lo, hi = qptr[first], qptr[last]
        local, worth = qptr[first : last + 1] - lo, prepared[0][lo:hi]
        kind, factor = sigmoid_code(self.sigmoid)
        kernel_data = kind, factor * self.alpha, scores[lo:hi]
        ranks, grad = np.zeros(hi - lo), np.zeros_like(kernel_data[2])
        # The first pass only computes soft ranks: kernels cannot call the discount, which may be a user's
        # function.
        pull_chunk(*kernel_data, worth, local, 0, last - first, ranks, grad, False)  # noqa: FBT003
        earns = worth != 0.0
        value, slope = np.zeros(hi - lo), np.zeros(hi - lo)
        # Only documents with a gain need the discount of their rank.
        if earns.any():
            discount, steps = self.discount(int(np.diff(local).max()))(ranks[earns])
            value[earns], slope[earns] = worth[earns] * discount, worth[earns] * steps
        # The second pass distributes the slopes by rank over the documents that make up each rank.
        pull_chunk(*kernel_data, slope, local, 0, last - first, ranks, grad, True)  # noqa: FBT003
        out[0][first:last], out[1][lo:hi] = query_sums(value, local), grad
