r"""Losses over a whole list: ListNet, XE-NDCG, ListMLE, RankCosine.

All compare the list of scores with one list made of the labels, in O(n) per query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from directrix.measures.terms import query_sums
from directrix.surrogates.base import (
    Chunk,
    LossSurrogate,
    Out,
    RandomSurrogate,
    Target,
    by_label,
    targets,
    uniforms,
)
from directrix.types import Float64Array, FloatArray, Int64Array


class _TopOne(LossSurrogate):
    """Minus the cross entropy of shares P that `prepare` returns and those of the scores."""

    compiled: ClassVar[str] = "listwise.listnet_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document",)

    def curvature(
        self, scores: FloatArray, prepared: tuple[Float64Array], qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """P (1 - p), the diagonal of the second derivatives, but at least the gradient's magnitude.

        The gradient is P - p; where p has all but vanished, p (1 - p) alone would make steps without bound.
        """
        slope = grad.astype(np.float64)
        p = prepared[0] - slope
        return np.maximum(p * (1.0 - p), np.abs(slope))


@dataclass(frozen=True)
class ListNet(_TopOne):
    r"""Minus the cross-entropy of top-one probabilities, those of the labels and those of the scores.

    .. math:: \sum_i P_i \log\frac{e^{s_i}}{\sum_j e^{s_j}},
              \qquad P_i = \frac{e^{y_i/T}}{\sum_j e^{y_j/T}}

    Parameters
    ----------
    target : {"labels", "gains", "shares"}
        y: the labels, as published, or their gains 2^l - 1, which put more weight on the best. With "shares"
        P_i is the gain itself, divided by the sum of those of its query: irrelevant documents have P_i = 0.
    temperature : float > 0
        T, in units of y. If small, only the documents of the highest label count, all alike. Has no effect
        on "shares".

    Notes
    -----
    Convex as a loss; at most minus the entropy of P, in nats. A query without a relevant document
    has a uniform P, which is reached at equal scores. O(n) per query.

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
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"target": ("labels", "gains", "shares")}

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """P of every document."""
        sizes = np.diff(qptr)
        if self.target == "shares":
            y = targets(labels, "gains")
            total = np.repeat(query_sums(y, qptr), sizes)
            return (np.where(total > 0.0, y, 1.0) / np.where(total > 0.0, total, np.repeat(sizes, sizes)),)
        y = targets(labels, self.target)
        top = _tops(y, qptr)
        with np.errstate(over="ignore"):
            p: Float64Array = np.exp((y - np.repeat(top, sizes)) / self.temperature)
        return (p / np.repeat(query_sums(p, qptr), sizes),)


@dataclass(frozen=True)
class XENDCG(RandomSurrogate, _TopOne):
    r"""XE-NDCG: minus a cross entropy whose labels are drawn, which bounds nDCG.

    .. math:: \sum_i P_i \log\frac{e^{s_i}}{\sum_j e^{s_j}},
              \qquad P_i = \frac{2^{l_i} - \gamma_i}{\sum_j (2^{l_j} - \gamma_j)}

    with gamma uniform on (0, 1) for every document. Irrelevant documents have a share too, a different one in
    every draw.

    Parameters
    ----------
    draw : int >= 0
        Number of the noise. Boosting takes other noise for every tree, SGD and Adam for every epoch; other
        trainers keep it, so that they maximize one function.

    Notes
    -----
    Noise belongs to the places of documents: it follows from ``draw`` and the labels of the query in their
    order, so that a query has the same noise in any batch.

    Convex as a loss; at most minus the entropy of P, in nats. O(n) per query.

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
        """2^l of every document."""
        return (np.exp2(labels),)

    def shares(self, powers: Float64Array, qptr: Int64Array) -> Float64Array:
        """P of every document, of the powers 2^l that `prepare` returned."""
        y = powers - uniforms(powers, qptr, self.draw)
        shares: Float64Array = y / np.repeat(query_sums(y, qptr), np.diff(qptr))
        return shares

    def fill(self, scores: FloatArray, prepared: Any, qptr: Int64Array, chunk: Chunk, out: Out) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        first, last = chunk
        docs, local = slice(qptr[first], qptr[last]), qptr[first : last + 1] - qptr[first]
        shares, part = (self.shares(prepared[0][docs], local),), (out[0][first:last], out[1][docs])
        super().fill(scores[docs], shares, local, (0, last - first), part)

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
    with lower labels. With no two labels alike these are the published factors; documents with the same
    label are not compared.

    Parameters
    ----------
    k : int >= 1, or None
        Only the first k places of the order by label count: c is the chance of a document to have one
        of them when equal labels are ordered at random. None: c = 1.

    Notes
    -----
    Convex as a loss; at most 0, in nats; 0 if all labels are equal. It is a sum over documents above the
    lowest label, as published, so a query with many of them weighs more than one with few. O(n) per
    query, after sorting by label once per data set.

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
        """Order of every query by ascending label; in that order, the ends of levels and the factors c."""
        order, level = by_label(labels, qptr)
        sizes, in_level = np.diff(qptr), np.bincount(level)
        first = np.repeat(qptr[:-1], sizes)
        end = np.cumsum(in_level)[level] - first
        better = np.repeat(sizes, sizes) - end
        places = np.inf if self.k is None else float(self.k)
        factor = np.clip((places - better) / in_level[level], 0.0, 1.0)
        return (order - first).astype(np.int64), end.astype(np.int64), factor


@dataclass(frozen=True)
class RankCosine(LossSurrogate):
    r"""Minus the cosine loss between the scores and the worth of the labels.

    .. math:: -\frac{1}{2}\left(1 - \frac{\langle y, s\rangle}{\lVert y\rVert \lVert s\rVert}\right)

    Parameters
    ----------
    target : {"gains", "labels"}
        y, a map of labels that the paper does not specify: exponential (gains 2^l - 1) or linear (labels).
    centered : bool
        False: as published. A shift of all scores, which changes no ranking, changes this loss. True:
        y and s less their means over the query, which makes it -(1 - Pearson's correlation)/2, and
        shift-invariant.

    Notes
    -----
    In [-1, 0]; the same for all multiples > 0 of the scores, so that a penalty on the weights alone
    shrinks them without end; not convex. Not defined where all scores are 0 (equal, if centered): the value
    is -1/2 there, as at a right angle, and the gradient points to y. A query without a relevant
    document (with equal labels, if centered) has the value 0 and no gradient. O(n) per query.

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
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"target": ("gains", "labels")}

    @property
    def properties(self) -> frozenset[str]:
        """shift_invariant if centered; not smooth: a vector of zeros (or of equal scores) has no cosine."""
        return frozenset({"shift_invariant"} if self.centered else ())

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array]:
        """Compute y over its norm, centered if ``centered``; 0 where the norm is 0."""
        y, sizes = targets(labels, self.target), np.diff(qptr)
        top = _tops(y, qptr)
        y = y / np.repeat(np.where(top > 0.0, top, 1.0), sizes)  # squares of large gains would overflow
        if self.centered:
            y = y - np.repeat(query_sums(y, qptr) / np.maximum(sizes, 1), sizes)
        norm = np.sqrt(query_sums(y * y, qptr))
        unit: Float64Array = y / np.repeat(np.where(norm > 1e-14 * sizes, norm, np.inf), sizes)
        return (unit,)

    def settings(self) -> tuple[Any, ...]:
        """Whether scores are centered."""
        return (self.centered,)


def _tops(y: Float64Array, qptr: Int64Array) -> Float64Array:
    """Largest y >= 0 of every query; 0 for a query without documents."""
    tops, filled = np.zeros(len(qptr) - 1), np.diff(qptr) > 0
    if filled.any():
        tops[filled] = np.maximum.reduceat(y, qptr[:-1][filled])
    return tops
