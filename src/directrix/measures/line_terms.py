"""Measures as sums over documents of what each earns at its place: what a line search needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.cascade import ERR, RBP
from directrix.measures.dcg import DCG, NDCG
from directrix.measures.gains import discounts, gains
from directrix.measures.pairs import ROCArea
from directrix.measures.precision import AP, RR, Precision, Recall, RPrecision, Success
from directrix.types import Float64Array, Int64Array

__all__ = ["Terms", "terms_of"]

_SUMS = (NDCG, DCG, AP, RR, Success, Precision, Recall, RPrecision, ERR, RBP, ROCArea)


class Terms(NamedTuple):
    """A measure of query q: ``constant[q] + scale[q] * sum of what its documents earn``.

    Parameters
    ----------
    family : int
        How a document earns, see `directrix.measures._kernels.line_search`.
    worth : float64 (n_docs,)
        Gain, relevance, or chance to stop; a document with none earns nothing.
    k : int64 (n_queries,)
        Ranks that count.
    table : float64 (longest + 1,)
        Sums of the discounts of the first ranks.
    scale, constant : float64 (n_queries,)
        NaN in ``constant``: the measure skips the query.
    """

    family: int
    worth: Float64Array
    k: Int64Array
    table: Float64Array
    scale: Float64Array
    constant: Float64Array


def terms_of(measure: RankingMeasure, labels: Float64Array, qptr: Int64Array) -> Terms:
    """Take a measure apart.

    Raises
    ------
    InputError
        If it is no such sum (interpolated precision, Kendall's tau).
    """
    if not isinstance(measure, _SUMS):
        raise InputError(
            f"{measure!r} is no sum over documents of what each earns at its place, which a line search "
            f"needs; it takes {', '.join(cls.symbol for cls in _SUMS)}, e.g. measure='nDCG@10'."
        )
    measure.check_labels(float(labels.max(initial=0.0)))
    n = np.diff(qptr)
    worth = _worth(measure, labels)
    query = np.repeat(np.arange(len(n)), n)
    total = np.asarray(np.bincount(query, worth, minlength=len(n)), dtype=np.float64)
    family, step = _step(measure, int(n.max(initial=0)))
    k = total.astype(np.int64) if isinstance(measure, RPrecision) else np.minimum(n, measure.depth)
    norm = _norm(measure, total, n.astype(np.float64))
    if isinstance(measure, NDCG):
        norm = measure.label_part(labels, qptr)
    nothing = (total <= 0.0) | (norm <= 0.0)
    scale = np.divide(1.0, norm, out=np.zeros(len(n)), where=~nothing)
    constant = np.where(nothing, measure.fill, 1.0 if isinstance(measure, ROCArea) else 0.0)
    if isinstance(measure, DCG):
        constant[:] = 0.0
    return Terms(family, worth, k.astype(np.int64), np.append(0.0, np.cumsum(step)), scale, constant)


def _worth(measure: RankingMeasure, labels: Float64Array) -> Float64Array:
    if isinstance(measure, NDCG | DCG):
        return gains(labels, measure.gain)
    if isinstance(measure, ERR):
        stop: Float64Array = gains(labels) * 2.0**-measure.l_max
        return stop
    return (labels >= getattr(measure, "rel", 1)).astype(np.float64)


def _step(measure: RankingMeasure, longest: int) -> tuple[int, Float64Array]:
    """How documents earn, and the discount of every rank."""
    from directrix.measures._kernels.line_search import CASCADE, DISCOUNTED, FIRST_HIT, PAIRS, PRECISION

    ranks = np.arange(1, longest + 1, dtype=np.float64)
    if isinstance(measure, NDCG | DCG):
        return DISCOUNTED, discounts(longest, measure.discount)
    if isinstance(measure, RBP):
        return DISCOUNTED, (1.0 - measure.p) * measure.p ** (ranks - 1.0)
    if isinstance(measure, Success):
        return FIRST_HIT, np.ones(longest)
    for cls, family in ((AP, PRECISION), (RR, FIRST_HIT), (ERR, CASCADE)):
        if isinstance(measure, cls):
            return family, 1.0 / ranks
    return PAIRS if isinstance(measure, ROCArea) else DISCOUNTED, np.ones(longest)


def _norm(measure: RankingMeasure, total: Float64Array, n: Float64Array) -> Float64Array:
    """What the sum is divided by, but for nDCG."""
    if isinstance(measure, AP) and measure.denominator == "capped":
        return np.minimum(total, measure.depth)
    if isinstance(measure, Precision):
        fixed = measure.k is not None and measure.denominator == "k"
        return np.full(len(n), float(measure.depth)) if fixed else np.minimum(n, measure.depth)
    if isinstance(measure, ROCArea):
        return total * (n - total)
    return total if isinstance(measure, AP | Recall | RPrecision) else np.ones(len(n))
