"""Average precision as scikit-learn computes it: documents of the same score are retrieved together."""

from __future__ import annotations

import numpy as np

from directrix.measures.terms import query_sums
from directrix.types import Float64Array, Int64Array


def precision_of_thresholds(
    scores: Float64Array, labels: Float64Array, qptr: Int64Array, rel: float
) -> Float64Array:
    r"""Average precision over thresholds of the score, :math:`\sum_n (R_n - R_{n-1}) P_n`, of every query.

    Each relevant document has the precision at the end of its group of equal scores. NaN for a query without
    relevant documents; those of score -inf count among the relevant ones and earn nothing.

    >>> precision_of_thresholds(np.ones(2), np.array([1.0, 0.0]), np.array([0, 2]), 1.0)
    array([0.5])
    """
    sizes = np.diff(qptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-scores, query))
    ranked, relevant = scores[order], (labels[order] >= rel).astype(np.float64)
    n_relevant = query_sums(relevant, qptr)
    is_last = np.append((ranked[1:] != ranked[:-1]) | (query[1:] != query[:-1]), True)[: len(ranked)]
    place = np.arange(len(ranked))
    # the last place of each document's group: the next place that is last
    last = place[is_last][np.cumsum(is_last) - is_last]
    hits = np.cumsum(relevant) - np.repeat(np.append(0.0, np.cumsum(n_relevant))[:-1], sizes)
    precision = hits[last] / (last - np.repeat(qptr[:-1], sizes) + 1.0)
    earned = query_sums(np.where(ranked > -np.inf, relevant * precision, 0.0), qptr)
    return np.asarray(np.divide(earned, n_relevant, out=np.full(len(sizes), np.nan), where=n_relevant > 0.0))
