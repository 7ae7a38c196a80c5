"""Measures of binary relevance: a document is relevant if its label is at least ``rel``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from directrix.measures.base import Empty, RankingMeasure
from directrix.measures.prepared import Ranking, Ties
from directrix.measures.terms import Form, query_sums, reciprocal_ranks
from directrix.parameters import Checks, number
from directrix.types import Float64Array, Int64Array


class BinaryMeasure(RankingMeasure):
    """A measure with a field ``rel``, the lowest label that counts as relevant."""

    @property
    def level(self) -> float:
        """Lowest relevant label as a number."""
        return float(getattr(self, "rel", 1))

    def worth(self, labels: Float64Array) -> Float64Array:
        """Return 1 for each relevant document, 0 for others."""
        return (labels >= self.level).astype(np.float64)

    @property
    def label_key(self) -> Hashable:
        """Measures with the same ``rel`` share the counts of relevant documents."""
        return "relevant", self.level

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Float64Array:
        """Count the relevant documents of every query."""
        from directrix.measures._kernels.precision import count_relevant

        n_rel = np.empty(len(qptr) - 1)
        count_relevant(labels, qptr, self.level, n_rel)
        return n_rel

    def hits(self, ranking: Ranking, k: int, n_rel: Float64Array, of: Float64Array) -> Float64Array:
        """Return each query's number of relevant documents in the top k (0: top R), divided by ``of``."""
        from directrix.measures._kernels.precision import hits

        count = np.empty(len(n_rel))
        hits(*ranking, self.level, k, n_rel, count)
        # A query without retrieved documents has the share 0; one without relevant ones is empty.
        share = np.divide(count, of, out=np.zeros_like(count), where=of > 0)
        return np.where(n_rel > 0, share, self.empty_value)


def unreached(measures: Iterable[Any], labels: Any) -> str:
    """Return a message if measures find nothing relevant because labels are fractions below 1; else ""."""
    highest = float(np.max(np.asarray(labels, dtype=np.float64), initial=0.0))
    # Labels that are all 0 may be right, and a level above 1 was chosen by the user. Only fractions below a
    # level of 1 are likely to be a mistake.
    blind = [m for m in measures if isinstance(m, BinaryMeasure) and 0.0 < highest < min(m.level, 1.0)]
    if not blind:
        return ""
    names = ", ".join(m.name for m in blind)
    first: Any = blind[0]
    return (
        f"{names}: no document is relevant, because the highest label is {highest!r}, below "
        f"rel={first.level!r}. Give grades (0, 1, 2, ...), or a lower level, e.g. "
        f"{replace(first, rel=highest).name}."
    )


def _denominator(measure: AP | Recall, n_rel: Float64Array) -> Float64Array:
    """Return the number of relevant documents; with ``denominator="capped"`` at most k."""
    return np.minimum(n_rel, measure.depth) if measure.denominator == "capped" else n_rel


@dataclass(frozen=True, kw_only=True, repr=False)
class AP(BinaryMeasure):
    r"""Average precision; its mean over queries is MAP.

    .. math:: \mathrm{AP} = \frac{1}{R} \sum_{i:\,r_i = 1,\ \pi(i) \le k} \mathrm{P@}\pi(i)

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank.
    rel : number > 0
        Lowest label that counts as relevant.
    denominator : {"relevant", "capped"}
        All R relevant documents (trec_eval), or min(R, k) (LightGBM, XGBoost).
    ties, empty
        As for `NDCG`.

    References
    ----------
    McSherry & Najork (2008), section 2.4, for the expectation under ties.

    Examples
    --------
    >>> AP()([8, 7, 6, 5, 4, 3, 2, 1], [1, 0, 0, 0, 0, 1, 1, 0], [0, 8])  # (1/1 + 2/6 + 3/7) / 3
    array([0.58730159])
    """

    symbol: ClassVar[str] = "AP"
    compiled: ClassVar[str] = "precision.average_precision"
    form: ClassVar[Form] = "precision"
    k: int | None = None
    rel: float = 1
    denominator: Literal["relevant", "capped"] = "relevant"
    ties: Ties = "expected"
    empty: Empty = "zero"

    def discounts(self, n: int) -> Float64Array:
        """Return 1 / rank."""
        return reciprocal_ranks(n)

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Number of relevant documents; with ``denominator="capped"`` at most k."""
        return _denominator(self, query_sums(worth, qptr))

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`."""
        capped = self.denominator == "capped"
        return *ranking, self.level, self.depth, prepared, capped, self.empty_value


@dataclass(frozen=True, kw_only=True, repr=False)
class Precision(BinaryMeasure):
    r"""Share of relevant documents among the first k.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off rank; None = all retrieved documents.
    denominator : {"k", "retrieved"}
        k even where fewer documents were retrieved (trec_eval), or min(k, retrieved).
    relative : bool
        Divide by the best possible precision, which the number of relevant documents limits (trec_eval's
        relative_P, set_relative_P).
    rel, ties, empty
        As for `AP`.

    Examples
    --------
    >>> Precision(k=5)([3, 2, 1], [1, 0, 1], [0, 3])
    array([0.4])
    """

    symbol: ClassVar[str] = "P"
    form: ClassVar[Form] = "sum"
    k: int | None = None
    rel: float = 1
    ties: Ties = "expected"
    empty: Empty = "zero"
    denominator: Literal["k", "retrieved"] = "k"
    relative: bool = False

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return the denominator of precision if all documents are retrieved."""
        return self._size(np.diff(qptr), query_sums(worth, qptr))

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        return self.hits(ranking, self.depth, prepared, self._size(ranking.retrieved, prepared))

    def _size(self, retrieved: Int64Array, n_rel: Float64Array) -> Float64Array:
        fixed = self.k is not None and self.denominator == "k"
        size = np.full(len(retrieved), self.depth) if fixed else np.minimum(retrieved, self.depth)
        return np.minimum(size, n_rel) if self.relative else size.astype(np.float64)


@dataclass(frozen=True, kw_only=True, repr=False)
class Recall(BinaryMeasure):
    r"""Share of all relevant documents that are among the first k.

    Parameters
    ----------
    denominator : {"relevant", "capped"}
        All R relevant documents (trec_eval, most tools), or min(R, k), so that the best value is always 1
        (Liang, Krishnan, Hoffman & Jebara 2018, and tools that follow them).
    k, rel, ties, empty
        As for `AP`.

    Examples
    --------
    >>> Recall(k=2)([3, 2, 1], [1, 0, 1], [0, 3])
    array([0.5])
    """

    symbol: ClassVar[str] = "R"
    form: ClassVar[Form] = "sum"
    k: int | None = None
    rel: float = 1
    ties: Ties = "expected"
    empty: Empty = "zero"
    denominator: Literal["relevant", "capped"] = "relevant"

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Number of relevant documents; with ``denominator="capped"`` at most k."""
        return _denominator(self, query_sums(worth, qptr))

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        return self.hits(ranking, self.depth, prepared, _denominator(self, prepared))


@dataclass(frozen=True, kw_only=True, repr=False)
class RPrecision(BinaryMeasure):
    r"""Precision at rank R, the number of relevant documents, or at a multiple of it.

    Parameters
    ----------
    times : number > 0
        Precision at rank ``times`` R + .9, rounded down (trec_eval's Rprec_mult).
    rel, ties, empty
        As for `AP`.

    Examples
    --------
    >>> RPrecision()([3, 2, 1], [1, 0, 1], [0, 3])
    array([0.5])
    """

    symbol: ClassVar[str] = "Rprec"
    checks: ClassVar[Checks] = {
        **RankingMeasure.checks,
        "times": partial(number, above=0.0, below=1e6, example=0.5),
    }
    form: ClassVar[Form] = "sum"
    times: float = 1
    rel: float = 1
    ties: Ties = "expected"
    empty: Empty = "zero"

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return the rank at which precision is computed."""
        return self._rank(query_sums(worth, qptr))

    def cutoff(self, worth: Float64Array, qptr: Int64Array) -> Int64Array:
        """Return the rank at which precision is computed."""
        return np.minimum(self._rank(query_sums(worth, qptr)), np.diff(qptr)).astype(np.int64)

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        rank = self._rank(prepared)
        # With a cut-off of 0, the kernel takes each query's own from the numbers that follow.
        return self.hits(ranking, 0, rank, rank)

    def _rank(self, n_rel: Float64Array) -> Float64Array:
        return np.floor(self.times * n_rel + 0.9)


@dataclass(frozen=True, kw_only=True, repr=False)
class IPrec(BinaryMeasure):
    r"""Interpolated precision: the largest precision at any rank whose recall is at least ``recall``.

    Parameters
    ----------
    recall : number in [0, 1]
        Recall level; written ``IPrec@0.1``.
    ties : {"order", "trec", "worst"}
        The expectation of a maximum has no closed form, so an order must be chosen.
    rel, empty
        As for `AP`.

    Examples
    --------
    >>> IPrec(recall=0.5)([4, 3, 2, 1], [0, 1, 1, 0], [0, 4])
    array([0.66666667])
    """

    symbol: ClassVar[str] = "IPrec"
    checks: ClassVar[Checks] = {
        **RankingMeasure.checks,
        "recall": partial(number, least=0.0, most=1.0, example=0.1),
    }
    compiled: ClassVar[str] = "precision.interpolated_precision"
    at: ClassVar[str] = "recall"
    recall: float = 0.0
    rel: float = 1
    ties: Literal["worst", "order", "trec"] = "worst"
    empty: Empty = "zero"

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """See `RankingMeasure.arguments`."""
        labels, _, retrieved, qptr = ranking
        return labels, retrieved, qptr, self.level, prepared, float(self.recall), self.empty_value
