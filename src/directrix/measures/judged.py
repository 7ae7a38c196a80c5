"""Measures that depend on which documents were judged: bpref, inferred AP, and the judged share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from directrix.measures.base import Empty, RankingMeasure
from directrix.measures.precision import BinaryMeasure
from directrix.measures.prepared import POOLED, Ranking, Sees, Ties
from directrix.measures.terms import query_sums
from directrix.types import Float64Array, Int64Array

# trec_eval's infAP adds this to its counts, so that the share is defined where nothing was judged.
_EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True, repr=False)
class Bpref(BinaryMeasure):
    r"""Binary preference: how rarely documents judged irrelevant are ranked above relevant ones.

    .. math:: \mathrm{bpref} = \frac{1}{R} \sum_{i:\,r_i = 1}
              \left(1 - \frac{\min(n_i, R)}{\min(N, R)}\right)

    over the retrieved relevant documents. R documents are relevant and N are judged irrelevant, :math:`n_i`
    of them ranked above document i. Documents that were not judged (label NaN or below 0) do not count.
    Labels without NaN are all judgments.

    Parameters
    ----------
    rel, empty
        As for `AP`.
    ties : {"expected", "order", "trec", "ranx", "worst"}
        As for `NDCG`; the expectation is exact.

    References
    ----------
    Buckley & Voorhees (2004), doi:10.1145/1008992.1009000, as in trec_eval 9 and 10.

    Examples
    --------
    >>> Bpref()([5, 4, 3, 2, 1], [0, 1, np.nan, 0, 1], [0, 5])  # ((1 - 1/2) + (1 - 2/2)) / 2
    array([0.25])
    """

    symbol: ClassVar[str] = "Bpref"
    sees: ClassVar[Sees] = "judgments"
    rel: float = 1
    ties: Ties = "expected"
    empty: Empty = "zero"

    @property
    def label_key(self) -> Hashable:
        """Measures with the same ``rel`` share the counts of documents."""
        return "judged", self.level

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Float64Array:
        """Count the relevant documents of every query, and those judged irrelevant (2, n_queries)."""
        is_judged, is_relevant = labels >= 0.0, labels >= self.level
        return np.stack(
            [query_sums(mask.astype(np.float64), qptr) for mask in (is_relevant, is_judged & ~is_relevant)]
        )

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        query, place = _places(ranking)
        is_relevant = ranking.labels >= self.level
        is_counted = place < ranking.retrieved[query]
        first, end = _groups(ranking)
        relevant, irrelevant = (
            np.append(0, np.cumsum(mask & is_counted))
            for mask in (is_relevant, (ranking.labels >= 0.0) & ~is_relevant)
        )
        n_rel, n_non = prepared
        limit = n_rel[query[first]]
        above = irrelevant[first] - irrelevant[ranking.qptr[query[first]]]
        tied = irrelevant[end] - irrelevant[first]
        # A relevant document of a group has 0, 1, ... or all of its irrelevant ones above it, each as likely.
        mean = (_sum_of_least(above + tied, limit) - _sum_of_least(above - 1, limit)) / (tied + 1)
        lost = np.divide(
            mean, np.minimum(n_non, n_rel)[query[first]], out=np.zeros(len(first)), where=mean > 0.0
        )
        of_group = (relevant[end] - relevant[first]) * (1.0 - lost)
        total = np.bincount(query[first], weights=of_group, minlength=len(n_rel))
        return np.where(n_rel > 0, total / np.maximum(n_rel, 1.0), self.empty_value)


@dataclass(frozen=True, kw_only=True, repr=False)
class InfAP(BinaryMeasure):
    r"""Inferred average precision, from judgments of a random sample of the pool.

    .. math:: \frac{1}{R} \sum_{i:\,r_i = 1} \left(\frac{1}{p} + \frac{d}{p}\,
              \frac{r + \epsilon}{r + n + 2 \epsilon}\right),\qquad p = \pi(i),\ \epsilon = 10^{-5}

    Ranked above document i are r relevant documents, n judged irrelevant, and d of the pool, judged or not. A
    label below 0 (-1 in qrels) means in the pool, but not judged; NaN means not in the pool, hence
    irrelevant. If all of the pool is judged, the value is close to `AP`.

    Parameters
    ----------
    ties : {"worst", "order", "trec"}
        The expectation has no closed form, so an order must be chosen. "worst": the lowest label first, and
        unjudged documents before all others.
    rel, empty
        As for `AP`.

    References
    ----------
    Yilmaz & Aslam (2006), doi:10.1145/1183614.1183633, with the constant of trec_eval.

    Examples
    --------
    >>> InfAP()([3, 2, 1], [1, -1, 1], [0, 3]).round(4)  # (1 + (1/3 + 2/3)) / 2
    array([1.])
    """

    symbol: ClassVar[str] = "infAP"
    sees: ClassVar[Sees] = "judgments"
    rel: float = 1
    ties: Literal["worst", "order", "trec"] = "worst"
    empty: Empty = "zero"

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        query, place = _places(ranking)
        is_relevant, is_judged = ranking.labels >= self.level, ranking.labels >= 0.0
        relevant, labeled, pooled = (
            _above(mask, ranking.qptr) for mask in (is_relevant, is_judged, ranking.labels >= POOLED)
        )
        share = (relevant + _EPSILON) / (labeled + 2.0 * _EPSILON)
        earned = (1.0 + pooled * share) / (place + 1.0)
        is_counted = is_relevant & (place < ranking.retrieved[query])
        total = query_sums(np.where(is_counted, earned, 0.0), ranking.qptr)
        return np.where(prepared > 0, total / np.maximum(prepared, 1.0), self.empty_value)


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgedRate(RankingMeasure):
    """Share of judged documents among the first k, written ``Judged@10``.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank; None = all retrieved documents. If fewer were retrieved, it is a share of those, as in
        ir_measures. A label below 0 (in the pool, not judged) is not a judgment, as in trec_eval.
    ties
        As for `NDCG`.

    Examples
    --------
    >>> JudgedRate(k=2)([3, 2, 1], [1, np.nan, 0], [0, 3])
    array([0.5])
    """

    symbol: ClassVar[str] = "Judged"
    sees: ClassVar[Sees] = "judgments"
    instead: ClassVar[str] = "nDCG@10"
    k: int | None = None
    ties: Ties = "expected"

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        from directrix.measures._kernels.precision import hits

        count, size = np.empty(len(ranking.retrieved)), np.minimum(ranking.retrieved, self.depth)
        # With a cut-off, the kernel does not read numbers of relevant documents. Every label >= 0 was judged,
        # so 0 is the level.
        hits(*ranking, 0.0, self.depth, count, count)
        return np.divide(count, size, out=np.zeros_like(count), where=size > 0)


def _places(ranking: Ranking) -> tuple[Int64Array, Int64Array]:
    """Query and place, from 0, of every document."""
    sizes = np.diff(ranking.qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    return query, np.arange(len(query)) - ranking.qptr[query]


def _groups(ranking: Ranking) -> tuple[Int64Array, Int64Array]:
    """First document of every tied group, and its end."""
    from directrix.measures._kernels.order import group_starts

    starts = np.zeros(len(ranking.labels), dtype=np.bool_)
    group_starts(ranking.ends, starts)
    first = np.flatnonzero(starts)
    return first, ranking.ends[first]


def _above(mask: Any, qptr: Int64Array) -> Int64Array:
    """How many of these documents stand above each one of their query."""
    before = np.cumsum(mask) - mask
    # The running count starts at the first query, so the count before each query is subtracted.
    counts: Int64Array = before - np.repeat(np.append(0, np.cumsum(mask))[qptr[:-1]], np.diff(qptr))
    return counts


def _sum_of_least(last: Float64Array, limit: Float64Array) -> Float64Array:
    """Sum of min(t, limit) for t = 0..last."""
    # Up to the limit the terms are 0, 1, 2, ...; each later one is the limit.
    full = np.minimum(last, limit)
    total: Float64Array = full * (full + 1.0) / 2.0 + (last - full) * limit
    return total
