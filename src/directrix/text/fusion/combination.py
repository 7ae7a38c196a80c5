"""A way to combine the scores of several runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from directrix.text.fusion.pool import Pool
from directrix.types import Float64Array, Int64Array

Normalizer = Literal["min-max", "z-score", "sum", "rank", "none"]
NORMALIZERS: tuple[Normalizer, ...] = get_args(Normalizer)

Kind = Literal["run", "linear", "rrf", "combmnz"]


@dataclass(frozen=True)
class Combination:
    r"""Weights of runs, and what they weigh.

    The score of a document is :math:`\sum_i w_i f_i(d)`, where :math:`f_i` is by ``kind``

    - "run": the score of one run, whose documents alone are ranked;
    - "linear": the score of the run as ``normalizer`` says (see `normalized`);
    - "rrf": :math:`1 / (c + \mathrm{rank}_i)`, Cormack, Clarke and Buettcher (2009), 0 where it is missing;
    - "combmnz": as "linear", and the sum is multiplied by the number of runs that have the document
      (Fox and Shaw 1994).
    """

    kind: Kind
    weights: tuple[float, ...]
    """One for each run, >= 0, of sum 1."""
    normalizer: Normalizer = "min-max"
    constant: float = 60.0
    """c of "rrf"."""

    def scores(self, pool: Pool) -> Float64Array:
        """Return the score of every document, -inf for those that no run retrieved."""
        if self.kind == "run":
            alone = pool.scores[:, int(np.argmax(self.weights))]
            return np.where(np.isnan(alone), -np.inf, alone)
        # a product of matrices rounds by the place of a row: documents would tie in one pool, not in another
        columns = zip(self.weights, self.parts(pool).T, strict=True)
        parts = np.sum([weight * column for weight, column in columns], axis=0)
        if self.kind == "combmnz":
            parts = parts * (~np.isnan(pool.scores)).sum(axis=1)
        return _in_float32(np.where(pool.is_retrieved, parts, -np.inf), pool.qptr)

    def parts(self, pool: Pool) -> Float64Array:
        """Return what is weighed, (n_docs, n_runs)."""
        if self.kind == "rrf":
            return inverse_ranks(pool, self.constant)
        return normalized(pool, self.normalizer)

    def to_dict(self) -> dict[str, Any]:
        """Return it in JSON types."""
        shown: dict[str, Any] = {"kind": self.kind, "weights": list(self.weights)}
        return shown | (
            {"constant": self.constant} if self.kind == "rrf" else {"normalizer": self.normalizer}
        )


def normalized(pool: Pool, normalizer: Normalizer) -> Float64Array:
    r"""Return the scores of every run, made comparable within each query.

    Over the documents that the run retrieved for the query, with the score s:

    ========= =============================================== =======================
    name      value                                           document that it lacks
    ========= =============================================== =======================
    min-max   :math:`(s - \min) / (\max - \min)`; 1 if equal   0
    z-score   :math:`(s - \mathrm{mean}) / \mathrm{deviation}` the lowest
    sum       :math:`(s - \min) / \sum (s - \min)`; 1/n if equal 0
    rank      :math:`1 - (\mathrm{rank} - 1) / n`              0
    none      s                                               the lowest
    ========= =============================================== =======================
    """
    out = np.zeros(pool.scores.shape)
    for first, last in zip(pool.qptr[:-1], pool.qptr[1:], strict=True):
        for i in range(len(pool.names)):
            s = pool.scores[first:last, i]
            has = ~np.isnan(s)
            if has.any():
                values = _OF[normalizer](s[has])
                lacks_lowest = normalizer in ("z-score", "none")
                out[first:last, i] = values.min() if lacks_lowest else 0.0
                out[first:last, i][has] = values
    return out


def _in_float32(scores: Float64Array, qptr: Int64Array) -> Float64Array:
    """Round to float32, in which trec_eval holds scores, without making different ones of a query equal."""
    out = np.empty(len(scores))
    for first, last in pairwise(qptr):
        values, place = np.unique(scores[first:last], return_inverse=True)
        bits = values.astype(np.float32).view(np.int32).astype(np.int64)
        steps = np.arange(len(bits))
        # as numbers of floats from 0, which become strictly increasing
        order = np.maximum.accumulate(np.where(bits < 0, -(bits + 2**31), bits) - steps) + steps
        rounded = np.abs(order).astype(np.int32).view(np.float32)
        out[first:last] = np.where(order < 0, -rounded, rounded)[place]
    return out


def inverse_ranks(pool: Pool, constant: float) -> Float64Array:
    """Return 1 / (constant + rank) of every run, 0 where it lacks the document; ranks begin at 1."""
    out = np.zeros(pool.scores.shape)
    for first, last in zip(pool.qptr[:-1], pool.qptr[1:], strict=True):
        for i in range(len(pool.names)):
            s = pool.scores[first:last, i]
            has = ~np.isnan(s)
            out[first:last, i][has] = 1.0 / (constant + _ranks(s[has]))
    return out


def _ranks(s: Float64Array) -> Float64Array:
    """Ranks from 1; equal scores keep the order of the pool."""
    ranks = np.empty(len(s))
    ranks[np.argsort(-s, kind="stable")] = np.arange(1, len(s) + 1)
    return ranks


def _min_max(s: Float64Array) -> Float64Array:
    low, high = float(s.min()), float(s.max())
    return (s - low) / (high - low) if high > low else np.ones(len(s))


def _z_score(s: Float64Array) -> Float64Array:
    return (s - float(s.mean())) / (float(s.std()) or 1.0)


def _share(s: Float64Array) -> Float64Array:
    above = s - float(s.min())
    total = float(above.sum())
    return above / total if total > 0.0 else np.full(len(s), 1.0 / len(s))


def _rank(s: Float64Array) -> Float64Array:
    return 1.0 - (_ranks(s) - 1.0) / len(s)


_OF: dict[str, Any] = {
    "min-max": _min_max,
    "z-score": _z_score,
    "sum": _share,
    "rank": _rank,
    "none": lambda s: s,
}
