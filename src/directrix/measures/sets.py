"""Measures of the retrieved set, numbers of documents, and geometric mean average precision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from directrix.measures.base import Empty, RankingMeasure
from directrix.measures.precision import AP, BinaryMeasure
from directrix.measures.prepared import Ranking, Ties
from directrix.parameters import Checks, number
from directrix.types import Float64Array

# trec_eval's smallest average precision: a query without a hit does not make the geometric mean 0.
_FLOOR = 1e-5


@dataclass(frozen=True, kw_only=True, repr=False)
class SetF(BinaryMeasure):
    r"""Weighted harmonic mean of the precision P and the recall R of all retrieved documents.

    .. math:: F = \frac{(1 + \beta) P R}{\beta P + R}

    Precision and recall of the set are `Precision` and `Recall` without a cut-off, also written ``SetP`` and
    ``SetR``; ``SetP(relative=True)`` divides by the best precision of any set of that size.

    Parameters
    ----------
    beta : number > 0
        Weight of recall, as in trec_eval and ir_measures; van Rijsbergen squares it: his F2 needs 4.
    rel, empty
        As for `AP`.

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, chapter 7; trec_eval's set_F.

    Examples
    --------
    >>> SetF()([3, 2, -np.inf], [1, 0, 1], [0, 3])  # P = R = 1/2
    array([0.5])
    """

    symbol: ClassVar[str] = "SetF"
    checks: ClassVar[Checks] = {**RankingMeasure.checks, "beta": partial(number, above=0.0, example=1)}
    beta: float = 1
    rel: float = 1
    empty: Empty = "zero"

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        precision, recall = _of_set(self, ranking, prepared)
        # Where precision and recall are both 0, so is their mean.
        top, bottom = (1.0 + self.beta) * precision * recall, self.beta * precision + recall
        return np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0.0)


@dataclass(frozen=True, kw_only=True, repr=False)
class SetAP(BinaryMeasure):
    """Precision times recall of all retrieved documents: trec_eval's set_map.

    Parameters
    ----------
    rel, empty
        As for `AP`.

    Examples
    --------
    >>> SetAP()([3, 2, -np.inf], [1, 0, 1], [0, 3])  # 1/2 * 1/2
    array([0.25])
    """

    symbol: ClassVar[str] = "SetAP"
    rel: float = 1
    empty: Empty = "zero"

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        precision, recall = _of_set(self, ranking, prepared)
        return precision * recall


def _of_set(m: BinaryMeasure, ranking: Ranking, prepared: Float64Array) -> tuple[Float64Array, Float64Array]:
    return (
        m.hits(ranking, m.depth, prepared, ranking.retrieved.astype(np.float64)),
        m.hits(ranking, m.depth, prepared, prepared),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class GMAP(BinaryMeasure):
    r"""Geometric mean of average precision: failing on a query is costly.

    .. math:: \mathrm{GMAP} = \exp \frac{1}{|Q|} \sum_q \ln \max(\mathrm{AP}_q, 10^{-5})

    The value of one query is the logarithm, as in trec_eval, so tests and differences use logarithms. Only
    the values of `evaluate` and `compare` for all queries are the GMAP.

    Parameters
    ----------
    k, rel, denominator, ties, empty
        As for `AP`.

    References
    ----------
    Robertson (2006), doi:10.1145/1183614.1183630, with the floor of trec_eval's gm_map.

    Examples
    --------
    >>> from directrix import evaluate
    >>> evaluate("GMAP", [2, 1, 2, 1], [1, 0, 0, 1], group=[2, 2])  # sqrt(1 * 1/2)
    {'GMAP': 0.7071067811865476}
    """

    symbol: ClassVar[str] = "GMAP"
    highest: ClassVar[float] = 0.0
    instead: ClassVar[str] = "AP"
    unit: ClassVar[str] = "ln AP"
    k: int | None = None
    rel: float = 1
    denominator: Literal["relevant", "capped"] = "relevant"
    ties: Ties = "expected"
    empty: Empty = "zero"

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the logarithm of the average precision of every query."""
        fields = {name: getattr(self, name) for name in ("k", "rel", "denominator", "ties", "empty")}
        value: Float64Array = np.log(np.maximum(AP(**fields).of_ranking(ranking, prepared), _FLOOR))
        return value

    def summary(self, values: Float64Array) -> float:
        """Geometric mean."""
        return float(np.exp(super().summary(values)))


class _Count(BinaryMeasure):
    """A number of documents; for all queries together it is their sum."""

    highest: ClassVar[float] = np.inf
    instead: ClassVar[str] = "nDCG@10"

    @property
    def empty_value(self) -> float:
        """Value of a query without documents."""
        return 0.0

    def summary(self, values: Float64Array) -> float:
        """Sum."""
        return float(values.sum())


@dataclass(frozen=True, kw_only=True, repr=False)
class NumRet(_Count):
    """Number of retrieved documents: trec_eval's num_ret, and num_rel_ret with ``rel=1``.

    Parameters
    ----------
    rel : number > 0, or None
        Count only documents whose label is at least this.

    Examples
    --------
    >>> NumRet()([3, 2, -np.inf], [1, 0, 1], [0, 3]), NumRet(rel=1)([3, 2, -np.inf], [1, 0, 1], [0, 3])
    (array([2.]), array([1.]))
    """

    symbol: ClassVar[str] = "NumRet"
    rel: float | None = None

    @property
    def level(self) -> float:
        """Lowest label that counts, as a number."""
        return -np.inf if self.rel is None else float(self.rel)

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        return self.hits(ranking, self.depth, prepared, np.ones_like(prepared))


@dataclass(frozen=True, kw_only=True, repr=False)
class NumRel(_Count):
    """Number of relevant documents: trec_eval's num_rel.

    Parameters
    ----------
    rel : number > 0
        Lowest label that counts as relevant.

    Examples
    --------
    >>> NumRel()([3, 2, -np.inf], [1, 0, 1], [0, 3])
    array([2.])
    """

    symbol: ClassVar[str] = "NumRel"
    rel: float = 1

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        return prepared.copy()


@dataclass(frozen=True, kw_only=True, repr=False)
class NumQ(_Count):
    """Number of queries: 1 for each.

    Examples
    --------
    >>> NumQ()([3, 2], [1, 0], [0, 1, 2])
    array([1., 1.])
    """

    symbol: ClassVar[str] = "NumQ"

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query."""
        return np.ones(len(ranking.retrieved))
