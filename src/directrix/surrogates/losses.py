r"""Losses that tend to no measure: over documents (regression), pairs (RankNet, RankSVM) and whole lists.

A loss over a list compares the scores with one list made from the labels, in O(n) per query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.pairs import KendallTau
from directrix.measures.terms import check_squared_gains, gains, query_sums
from directrix.surrogates.base import Chunk, KernelSurrogate, Out, uniforms
from directrix.types import Float64Array, FloatArray, Int64Array

Target = Literal["gains", "labels"]


class LossSurrogate(KernelSurrogate):
    """Base of the losses, negated to be maximized."""

    measure: ClassVar[RankingMeasure] = NDCG()
    """nDCG: the measure that is reported by default; the loss tends neither to it nor to any other."""

    @property
    def properties(self) -> frozenset[str]:
        """smooth, convex, shift_invariant, unless a loss states others."""
        return frozenset({"smooth", "convex", "shift_invariant"})

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """See `KernelSurrogate.prepare`; rejects labels that are too large for the measure."""
        self.measure.check_labels(float(labels.max(initial=0.0)))
        return super().prepare(labels, qptr, doc_weight)


def by_label(labels: Float64Array, qptr: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Order the documents of every query by ascending label, equal labels by input order.

    Returns that order and, at each of its positions, the number of the label, counted from 0 over all
    queries.
    """
    query = np.repeat(np.arange(len(qptr) - 1), np.diff(qptr))
    order = np.lexsort((labels, query))
    is_first = np.ones(len(labels), dtype=bool)
    is_first[1:] = (np.diff(labels[order]) != 0.0) | (np.diff(query) != 0)
    return order, np.cumsum(is_first) - 1


def targets(labels: Float64Array, target: str) -> Float64Array:
    """Return gains 2^l - 1, or with "labels" the labels themselves."""
    return gains(labels, "linear" if target == "labels" else "exp")


@dataclass(frozen=True)
class Regression(LossSurrogate):
    r"""Minus the weighted squared error of scores as predictions of gains.

    .. math:: -\sum_i u_i (s_i - b - (2^{l_i} - 1))^2

    where the weights u of the relevant (l > 0) and of the irrelevant documents of a query each add up to 1/2,
    or to 1 if all documents are of one kind.

    Parameters
    ----------
    intercept : bool
        True: b is the best intercept for each query, so only differences within the query are predicted, and
        a shift of its scores does not change the loss. False: b = 0, plain regression, for a model with an
        intercept.
    target : {"gains", "labels"}
        Predicted values: the gains 2^l - 1, or the labels themselves, which are gains of any sign. With
        "labels", all documents of a query have the weight u = 1/n: weights that depend on noisy gains would
        bias the prediction.

    Notes
    -----
    The loss is convex and costs O(n) per query; the value is at most 0. Document weights are factors on u,
    which balances the classes of every query; `regression_start` balances them over the whole data set and is
    solved directly.

    References
    ----------
    Cossock & Zhang (2006), doi:10.1007/11776420_44 (regression for ranking); Chapelle & Wu (2010),
    Section 4 (reweighted classes), doi:10.1007/s10791-009-9110-3.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.Regression().value_and_grad(*query)[0].round(4)
    array([-1.7819])
    """

    compiled: ClassVar[str] = "pointwise.regression_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document", "document")
    intercept: bool = True
    target: Target = "gains"

    @property
    def adds_gains(self) -> bool:
        """Whether the predicted values are the labels."""
        return self.target == "labels"

    @property
    def properties(self) -> frozenset[str]:
        """smooth, convex; shift_invariant with intercepts."""
        always = frozenset({"smooth", "convex"})
        return always | {"shift_invariant"} if self.intercept else always

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> tuple[Float64Array, Float64Array]:
        """Gains and weights of the documents.

        Raises
        ------
        InputError
            If a label is above 256: squares of its gain would overflow.
        """
        sizes = np.diff(qptr)
        if self.target == "labels":
            weight = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
            return labels.copy(), weight if doc_weight is None else weight * doc_weight
        check_squared_gains(labels)
        relevant = labels > 0.0
        n_relevant = np.repeat(query_sums(relevant.astype(np.float64), qptr), sizes)
        # Weights balance the two classes within each query; a single class gets all of the weight.
        same_class = np.where(relevant, n_relevant, np.repeat(sizes, sizes) - n_relevant)
        share = np.where((n_relevant > 0.0) & (n_relevant < np.repeat(sizes, sizes)), 0.5, 1.0)
        weight = share / same_class
        return gains(labels), weight if doc_weight is None else weight * doc_weight

    def arguments(self) -> tuple[Any, ...]:
        """Whether queries have intercepts."""
        return (self.intercept,)

    def curvature(
        self,
        scores: FloatArray,
        prepared: tuple[Float64Array, Float64Array],
        qptr: Int64Array,
        grad: FloatArray,
    ) -> Float64Array:
        """2 u, the diagonal of the second derivatives (an upper bound of it with an intercept)."""
        return 2.0 * prepared[1]


class _Pairwise(LossSurrogate):
    """Minus the mean loss over a query's pairs of different labels."""

    measure: ClassVar[RankingMeasure] = KendallTau()
    """Kendall's tau-b, which counts the same pairs; not a limit."""
    entries: ClassVar[tuple[str, ...]] = ("document", "document", "query")

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """Return ranks of labels in their queries, from 0, document weights, and 1/number of pairs."""
        levels, shares = super().prepare(labels, qptr)
        return levels, np.ones(len(labels)) if doc_weight is None else doc_weight, shares

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Return the ranks of the labels, and 1/number of pairs."""
        sizes = np.diff(qptr)
        order, level = by_label(labels, qptr)
        levels = np.empty(len(labels), dtype=np.int64)
        # Numbers of labels count over all queries, so the first one of each query is subtracted.
        levels[order] = level - level[np.repeat(qptr[:-1], sizes)]
        # The number of pairs with different labels is half of n^2 less the sum, over documents, of the number
        # with the same label.
        alike = np.bincount(level)[level].astype(np.float64)
        pairs = 0.5 * (sizes.astype(np.float64) ** 2 - query_sums(alike, qptr))
        return levels, np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0.0)


@dataclass(frozen=True)
class RankNet(_Pairwise):
    r"""Minus the cross entropy of pairs.

    .. math:: -\frac1P \sum_{l_i > l_j} \log\big(1 + e^{-(s_i - s_j)}\big)

    with P the number of pairs of different labels of the query; 0 if there is none. The weight of a document
    is a factor on the pairs in which it is the better one.

    Notes
    -----
    Burges et al. add up all pairs of all queries; here all queries have the same weight, as in every
    measure. ``query_weight`` = P gives their sum, up to a factor.

    O(P) time, O(n) memory. Four pairs share a division, and each document needs one logarithm; if weights
    differ, each pair needs its own.

    References
    ----------
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender (2005), Eq. 3 with target 1,
    doi:10.1145/1102351.1102363.

    Examples
    --------
    >>> scores, labels, qptr = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 2.0]), np.array([0, 3])
    >>> RankNet().value_and_grad(scores, labels, qptr)[0]  # (log(2) + 2 log(1 + 1/e))/3
    array([-0.43989019])
    """

    compiled: ClassVar[str] = "pairwise.rank_net_chunk"


@dataclass(frozen=True)
class RankSVM(_Pairwise):
    r"""Minus the squared hinge of pairs: RankSVM in the primal.

    .. math:: -\frac1P \sum_{l_i > l_j} \max(0,\, 1 - (s_i - s_j))^2

    with P the number of pairs of different labels of the query; 0 if there is none. The weight of a document
    is a factor on the pairs in which it is the better one. Propensity SVM-rank (Joachims, Swaminathan &
    Schnabel 2017) compares a clicked document with all others: see `directrix.clicks.by_clicked_document`.

    Notes
    -----
    With ``l2`` > 0, which sets the scale of the margin, the minimum is unique. All queries have
    the same weight; ``query_weight`` = P adds up pairs as the original does, and l2 = 1/(2 C sum P) then
    corresponds to its C, in 1/2 \|w\|^2 + C sum of losses.

    The value bounds Kendall's tau-b from below: a pair in the wrong order or tied loses at least 1/P.

    O(n log n) time, O(n) memory, for any number of different labels: documents are sorted once, and
    neighboring runs of labels are merged.

    References
    ----------
    Chapelle, Keerthi (2010), Efficient algorithms for ranking with SVMs, Eq. 4 (there with C in place of
    1/P), doi:10.1007/s10791-009-9109-9; Joachims, Swaminathan, Schnabel (2017), doi:10.1145/3018661.3018699.

    Examples
    --------
    >>> scores, labels, qptr = np.array([0.0, 0.0, 1.5]), np.array([1.0, 0.0, 2.0]), np.array([0, 3])
    >>> RankSVM().value_and_grad(scores, labels, qptr)[0]  # only the tied pair has a loss: 1/3
    array([-0.33333333])
    """

    compiled: ClassVar[str] = "pairwise.rank_svm_chunk"

    @property
    def properties(self) -> frozenset[str]:
        """smooth, convex, shift_invariant, bound (of Kendall's tau-b)."""
        return super().properties | {"bound"}


class _TopOne(LossSurrogate):
    """Minus the cross entropy of shares P that `prepare` returns and those of the scores."""

    compiled: ClassVar[str] = "listwise.listnet_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document",)

    def curvature(
        self, scores: FloatArray, prepared: tuple[Float64Array], qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """Return p (1 - p), the diagonal of the second derivatives, but at least the gradient's magnitude.

        The gradient is P - p; where p is almost 0, p (1 - p) alone would make unbounded steps.
        """
        slope = grad.astype(np.float64)
        # The gradient is P - p, so the shares of the scores need no further exponentials.
        p = prepared[0] - slope
        return np.maximum(p * (1.0 - p), np.abs(slope))


@dataclass(frozen=True)
class ListNet(_TopOne):
    r"""Minus the cross entropy of the top-one probabilities of labels and scores.

    .. math:: \sum_i P_i \log\frac{e^{s_i}}{\sum_j e^{s_j}},
              \qquad P_i = \frac{e^{y_i/T}}{\sum_j e^{y_j/T}}

    Parameters
    ----------
    target : {"labels", "gains", "shares"}
        y: the labels, as published, or their gains 2^l - 1, which put more weight on the best. With "shares",
        P_i is the gain divided by the sum of gains of the query, so irrelevant documents have P_i = 0.
    temperature : float > 0
        T, in units of y. If it is small, only the documents of the highest label count, all equally. It has
        no effect on "shares".

    Notes
    -----
    The loss is convex; the value is at most minus the entropy of P, in nats. A query without a relevant
    document has a uniform P, which equal scores attain. O(n) per query.

    References
    ----------
    Cao, Qin, Liu, Tsai & Li (2007), top-one probabilities with phi = exp, doi:10.1145/1273496.1273513.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.ListNet().value_and_grad(*query)[1].round(4)  # the first document has too much of the probability
    array([-0.3419,  0.3116,  0.0303])
    """

    target: Target | Literal["shares"] = "labels"
    temperature: float = 1.0

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """P of every document."""
        sizes = np.diff(qptr)
        if self.target == "shares":
            y = targets(labels, "gains")
            total = np.repeat(query_sums(y, qptr), sizes)
            return (np.where(total > 0.0, y, 1.0) / np.where(total > 0.0, total, np.repeat(sizes, sizes)),)
        y = targets(labels, self.target)
        top = _tops(y, qptr)
        # The highest target cancels in the shares, and without it no exponential overflows. A small
        # temperature may make the exponent -inf, whose share is 0.
        with np.errstate(over="ignore"):
            p: Float64Array = np.exp((y - np.repeat(top, sizes)) / self.temperature)
        return (p / np.repeat(query_sums(p, qptr), sizes),)


@dataclass(frozen=True)
class XENDCG(_TopOne):
    r"""XE-NDCG: minus a cross entropy with random labels, which bounds nDCG.

    .. math:: \sum_i P_i \log\frac{e^{s_i}}{\sum_j e^{s_j}},
              \qquad P_i = \frac{2^{l_i} - \gamma_i}{\sum_j (2^{l_j} - \gamma_j)}

    with gamma uniform on (0, 1) for every document. Irrelevant documents have a share too, a different one in
    every draw.

    Parameters
    ----------
    draw : int >= 0
        Seed of the noise. Boosting uses other noise for every tree, SGD and Adam for every epoch; other
        trainers keep it, so that they maximize one function.

    Notes
    -----
    Noise belongs to the positions of documents: it depends on ``draw`` and the labels of the query in their
    order, so a query has the same noise in any batch.

    The loss is convex; the value is at most minus the entropy of P, in nats. O(n) per query.

    References
    ----------
    Bruch (2021), An alternative cross entropy loss for learning-to-rank, WWW, arXiv:1911.09798. The loss is
    negated here; LightGBM calls it rank_xendcg.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.surrogate("XENDCG").value_and_grad(*query)[1].round(4)
    array([-0.3593,  0.211 ,  0.1482])
    """

    draw: int = 0

    @property
    def properties(self) -> frozenset[str]:
        """smooth, convex, shift_invariant, random."""
        return super().properties | {"random"}

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """Return 2^l of every document."""
        return (np.exp2(labels),)

    def shares(self, powers: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return P of every document, from the powers 2^l that `prepare` returned."""
        y = powers - uniforms(powers, qptr, self.draw)
        shares: Float64Array = y / np.repeat(query_sums(y, qptr), np.diff(qptr))
        return shares

    def fill(self, scores: FloatArray, prepared: Any, qptr: Int64Array, chunk: Chunk, out: Out) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        first, last = chunk
        docs, local = slice(qptr[first], qptr[last]), qptr[first : last + 1] - qptr[first]
        shares, chunk_out = (self.shares(prepared[0][docs], local),), (out[0][first:last], out[1][docs])
        super().fill(scores[docs], shares, local, (0, last - first), chunk_out)

    def curvature(
        self, scores: FloatArray, prepared: tuple[Float64Array], qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """See `ListNet.curvature`."""
        return super().curvature(scores, (self.shares(prepared[0], qptr),), qptr, grad)


@dataclass(frozen=True)
class ListMLE(LossSurrogate):
    r"""Plackett-Luce log likelihood of the order that the labels give.

    .. math:: \sum_i c_i \log\frac{e^{s_i}}{e^{s_i} + \sum_{l_j < l_i} e^{s_j}}

    The i-th factor is the probability, under Plackett-Luce, that document i comes before all documents
    with lower labels. If all labels differ, these are the published factors; documents with the same
    label are not compared.

    Parameters
    ----------
    k : int >= 1, or None
        Only the first k positions of the order by label count: c is the probability that a document has one
        of them when equal labels are ordered at random. None: c = 1.

    Notes
    -----
    The loss is convex; the value is at most 0, in nats, and 0 if all labels are equal. It is a sum over
    documents above the lowest label, as published, so a query with many of them weighs more than one with
    few. O(n) per query, after sorting by label once per data set.

    References
    ----------
    Xia, Liu, Wang, Zhang & Li (2008), doi:10.1145/1390156.1390306; with k: Xia, Liu & Li (2009),
    "Statistical Consistency of Top-k Ranking".

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> value, _ = dx.ListMLE().value_and_grad(np.zeros(3), np.array([0.0, 2.0, 1.0]), np.array([0, 3]))
    >>> np.exp(value).round(4)  # equal scores: each of the 3! orders is as likely
    array([0.1667])
    """

    compiled: ClassVar[str] = "listwise.listmle_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document", "document", "document")
    k: int | None = None

    def from_labels(
        self, labels: Float64Array, qptr: Int64Array
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """Return the order of every query by ascending label and, in it, the ends of levels and factors c."""
        order, level = by_label(labels, qptr)
        sizes, in_level = np.diff(qptr), np.bincount(level)
        first = np.repeat(qptr[:-1], sizes)
        end = np.cumsum(in_level)[level] - first
        # Documents with higher labels take the first positions. Those of one label share what remains of the
        # k.
        better = np.repeat(sizes, sizes) - end
        places = np.inf if self.k is None else float(self.k)
        factor = np.clip((places - better) / in_level[level], 0.0, 1.0)
        return (order - first).astype(np.int64), end.astype(np.int64), factor


@dataclass(frozen=True)
class RankCosine(LossSurrogate):
    r"""Minus the cosine loss between the scores and the labels or their gains.

    .. math:: -\frac{1}{2}\left(1 - \frac{\langle y, s\rangle}{\lVert y\rVert \lVert s\rVert}\right)

    Parameters
    ----------
    target : {"gains", "labels"}
        y, a map of labels that the paper does not specify: exponential (gains 2^l - 1) or linear (labels).
    centered : bool
        False: as published. A shift of all scores, which changes no ranking, changes this loss. True: y and s
        minus their query means, so the value is -(1 - Pearson's correlation)/2 and shift-invariant.

    Notes
    -----
    The value lies in [-1, 0] and is not convex. It is the same for all positive multiples of the scores, so a
    penalty on the weights shrinks them without end. Where all scores are 0 (equal, if centered), it is
    undefined: it is set to -1/2, as at a right angle, and the gradient points to y. A query without a
    relevant document (with equal labels, if centered) has the value 0 and no gradient. O(n) per query.

    References
    ----------
    Qin, Zhang, Tsai, Wang, Liu & Li (2008), "Query-level loss functions for information retrieval",
    doi:10.1016/j.ipm.2007.07.016.

    Examples
    --------
    >>> import directrix as dx, numpy as np
    >>> query = np.array([0.9, 0.7, 0.2]), np.array([0.0, 2.0, 1.0]), np.array([0, 3])  # scores, labels, qptr
    >>> dx.RankCosine().value_and_grad(*query)[0].round(4)
    array([-0.1858])
    """

    compiled: ClassVar[str] = "listwise.rank_cosine_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document",)
    target: Target = "gains"
    centered: bool = False

    @property
    def properties(self) -> frozenset[str]:
        """shift_invariant if centered; not smooth: a vector of zeros (or of equal scores) has no cosine."""
        return frozenset({"shift_invariant"} if self.centered else ())

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """Compute y over its norm, centered if ``centered``; 0 where the norm is 0."""
        y, sizes = targets(labels, self.target), np.diff(qptr)
        top = _tops(y, qptr)
        # Squares of large gains would overflow, so the largest becomes 1 first.
        y = y / np.repeat(np.where(top > 0.0, top, 1.0), sizes)
        if self.centered:
            y = y - np.repeat(query_sums(y, qptr) / np.maximum(sizes, 1), sizes)
        norm = np.sqrt(query_sums(y * y, qptr))
        # A norm that is nothing but rounding, as of equal centered labels, counts as 0.
        unit: Float64Array = y / np.repeat(np.where(norm > 1e-14 * sizes, norm, np.inf), sizes)
        return (unit,)

    def arguments(self) -> tuple[Any, ...]:
        """Whether scores are centered."""
        return (self.centered,)


def _tops(y: Float64Array, qptr: Int64Array) -> Float64Array:
    """Largest y >= 0 of every query; 0 for a query without documents."""
    tops, filled = np.zeros(len(qptr) - 1), np.diff(qptr) > 0
    if filled.any():
        tops[filled] = np.maximum.reduceat(y, qptr[:-1][filled])
    return tops
