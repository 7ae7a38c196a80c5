"""Measures of diversity, for queries with subtopics."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from directrix.measures.base import Empty, RankingMeasure
from directrix.measures.prepared import Ranking, Sees
from directrix.measures.terms import discounts, reciprocal_ranks
from directrix.parameters import Checks, number
from directrix.types import Array, Float64Array, Int64Array

Order = Literal["trec", "order"]


class _NoveltyMeasure(RankingMeasure):
    r"""A measure in which a document gains less for each document above it on the same subtopic.

    The document at rank p gains :math:`D(p) \sum_s r_s (1 - \alpha)^{c_s}`: D is the discount, :math:`r_s` is
    1 if the document is relevant for subtopic s, and :math:`c_s` documents above it are.
    """

    sees: ClassVar[Sees] = "subtopics"
    instead: ClassVar[str] = "nDCG@10"
    checks: ClassVar[Checks] = {
        **RankingMeasure.checks,
        "alpha": partial(number, above=0.0, most=1.0, example=0.5),
    }

    @property
    def label_key(self) -> Hashable:
        """Each measure has ideal rankings of its own."""
        return self

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> tuple[Array, Float64Array]:
        """Return which subtopics each document is relevant for, and the best value of every query.

        The first is bool (n_docs, n_subtopics), the second float64 (n_queries,).
        """
        # A subtopic without a judgment is NaN, which no level exceeds.
        relevant = labels >= float(getattr(self, "rel", 1))
        best = [self._best(relevant[lo:hi]) for lo, hi in pairwise(qptr)]
        return relevant, np.array(best)

    def of_ranking(self, ranking: Ranking, prepared: Any) -> Float64Array:
        """Return the value of every query of a ranking, whose labels are the rows of the judgments."""
        relevant, norm = prepared
        value = np.full(len(norm), self.empty_value)
        for q in np.flatnonzero(norm > 0.0):
            lo = ranking.qptr[q]
            rows = ranking.labels[lo : lo + min(ranking.retrieved[q], self.depth)].astype(np.int64)
            value[q] = self._earned(relevant[rows]) / norm[q]
        return value

    def _earned(self, relevant: Array) -> float:
        """Return what a list of documents earns."""
        # The running sum includes the document itself, which does not reduce its own gain.
        seen = np.cumsum(relevant, axis=0) - relevant
        kept = 1.0 - float(getattr(self, "alpha", 0.5))
        return float(self.discounts(len(relevant)) @ (relevant * kept**seen).sum(axis=1))

    def _best(self, relevant: Array) -> float:
        """Norm of a query by its documents; 0 if none is relevant."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, repr=False)
class AlphaNDCG(_NoveltyMeasure):
    r"""nDCG for queries with subtopics, written ``alpha_nDCG@20``: repetition gains less.

    .. math:: \frac{1}{Z} \sum_{p=1}^{k} \frac{1}{\log_2(1 + p)} \sum_s r_{ps} (1 - \alpha)^{c_s(p)}

    :math:`r_{ps}` is 1 if the document at rank p is relevant for subtopic s, else 0; :math:`c_s(p)` documents
    above it are. Z is the sum for an ideal ranking, found greedily because the exact one is NP-complete.
    Among equally good documents, the one with the highest id comes first. All of this agrees with ndeval.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank.
    alpha : number in (0, 1]
        Penalty on repetition.
    rel : number > 0
        Lowest judgment that counts as relevant.
    ties : {"trec", "order"}
        Order of tied documents: the highest id first, or as in the input.
    empty
        As for `NDCG`.

    References
    ----------
    Clarke et al. (2008), doi:10.1145/1390334.1390446.

    Examples
    --------
    >>> labels = np.array([[1, 0], [1, 0], [0, 1]])  # of two subtopics
    >>> (AlphaNDCG() @ 2)([3, 2, 1], labels, [0, 3]).round(4)  # (1 + 1/2 D) / (1 + D), with D = 1/log2(3)
    array([0.8066])
    """

    symbol: ClassVar[str] = "alpha_nDCG"
    k: int | None = None
    alpha: float = 0.5
    rel: float = 1
    ties: Order = "trec"
    empty: Empty = "zero"

    def discounts(self, n: int) -> Float64Array:
        """1 / log2(1 + rank)."""
        return discounts(n, "log2")

    def _best(self, relevant: Array) -> float:
        left = relevant[relevant.any(axis=1)].astype(np.float64)
        chosen: list[Float64Array] = []
        worth = np.ones(relevant.shape[1])
        while len(left) and len(chosen) < self.depth:
            # The first of equal documents is taken. Under ties="trec" rows come by descending id, as in
            # ndeval.
            best = int(np.argmax(left @ worth))
            chosen.append(left[best])
            worth *= 1.0 - self.alpha * left[best]
            left = np.delete(left, best, axis=0)
        return self._earned(np.array(chosen)) if chosen else 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class ERRIA(_NoveltyMeasure):
    r"""Intent-aware ERR for queries with subtopics, written ``ERR_IA@20``.

    .. math:: \frac{\sum_{p=1}^{k} \frac{1}{p} \sum_s r_{ps} (1 - \alpha)^{c_s(p)}}
              {S \sum_{p=1}^{k} \frac{1}{p} (1 - \alpha)^{p - 1}}

    in the notation of `AlphaNDCG`, with S subtopics that have a relevant document. This is the mean ERR of
    the subtopics, whose users stop at a relevant document with probability :math:`\alpha`, divided by its
    value for documents relevant for all of them. This normalization is ndeval's and does not depend on the
    collection. (ndeval itself omits it for k = 1, and has no k above 20.)

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank.
    alpha : number in (0, 1]
        Probability of stopping at a relevant document.
    rel, ties, empty
        As for `AlphaNDCG`.

    References
    ----------
    Chapelle et al. (2011), doi:10.1007/s10791-011-9167-7; Chapelle et al. (2009), section 7.

    Examples
    --------
    >>> labels = np.array([[1, 0], [1, 0], [0, 1]])  # of two subtopics
    >>> (ERRIA() @ 2)([3, 2, 1], labels, [0, 3])  # (1 + 1/2 * 1/2) / (2 (1 + 1/2 * 1/2))
    array([0.5])
    """

    symbol: ClassVar[str] = "ERR_IA"
    k: int | None = None
    alpha: float = 0.5
    rel: float = 1
    ties: Order = "trec"
    empty: Empty = "zero"

    def discounts(self, n: int) -> Float64Array:
        """Return 1 / rank."""
        return reciprocal_ranks(n)

    def _best(self, relevant: Array) -> float:
        kept = 1.0 - self.alpha
        # Over all ranks, the sum of kept**(p - 1) / p is -log(1 - kept) / kept, and 1 for kept = 0.
        if self.k is None:
            best = -math.log(self.alpha) / kept if kept > 0.0 else 1.0
        else:
            best = float(self.discounts(self.k) @ kept ** np.arange(self.k))
        return float(relevant.any(axis=0).sum()) * best
