"""Measures of lists with sampled negatives: a note, and an estimate of the value for full lists."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.data.checks import as_floats, check_length
from directrix.errors import InputError
from directrix.measures.prepared import Prepared
from directrix.threads import query_chunks
from directrix.types import Float64Array, Int64Array

if TYPE_CHECKING:
    from directrix.measures.base import RankingMeasure

_ROWS = 1 << 22


def note_of(probability: Float64Array) -> str:
    """Return the note that tables show below values of lists with sampled negatives; "" without any."""
    is_drawn = probability < 1.0
    if not is_drawn.any():
        return ""
    limits = dict.fromkeys(f"{x:.2g}" for x in (probability.min(), probability[is_drawn].max()))
    return (
        f"{is_drawn.mean():.0%} of the documents are negatives that were drawn, with probability "
        f"{' to '.join(limits)}: the values are those of the short "
        "lists. They are higher than for all candidates and may order rankers differently; do not compare "
        "them with values of full lists, or of other draws."
    )


def check_sampling(sampling: Any, n_docs: int) -> Float64Array:
    """Return probabilities (n_docs,); `InputError` unless they are in (0, 1]."""
    probability = as_floats(sampling, "sampling")
    check_length(len(probability), n_docs, "sampling", "scores")
    if len(bad := np.flatnonzero(~((probability > 0.0) & (probability <= 1.0)))):
        raise InputError(
            f"sampling: {probability[bad[0]]:g} in row {bad[0]}; each must be a probability in (0, 1], 1 for "
            "a document that was not drawn. Type e.g. sampling=q.sampling."
        )
    return probability


def estimates_for_full_lists(
    measures: Sequence[RankingMeasure],
    scores: Any,
    labels: Any,
    qptr: Int64Array,
    probability: Float64Array,
) -> list[Float64Array]:
    r"""Estimate each query's values of the measures for full lists.

    A document stands for 1 / p documents with its score: the estimate of each rank,

    .. math:: \hat r_i = 1 + \sum_{j:\,s_j > s_i} 1 / p_j,

    is unbiased for every sampling scheme, and the measure is computed from the estimated ranks. A
    measure that is not a linear function of ranks keeps a bias, which decreases with the number of negatives.
    Memory is that of some million documents; time is that of the full lists.

    References
    ----------
    Krichene & Rendle (2020), doi:10.1145/3394486.3403226, for uniform draws, where the sum is
    (r - 1)(n - 1) / m; Horvitz & Thompson (1952).
    """
    scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    query = np.repeat(np.arange(len(qptr) - 1), np.diff(qptr))
    order = np.lexsort((-scores, query))
    is_drawn = probability[order] < 1.0
    total = np.append(0.0, np.cumsum(np.where(is_drawn, 1.0 / probability[order], 0.0)))
    start = total[qptr[query]]  # of the list of each document; rounded so that errors do not add up
    rounded = np.floor(np.stack([total[:-1], total[1:]]) - start + 0.5 + 1e-6)
    copies = np.where(is_drawn, rounded[1] - rounded[0], 1.0).astype(np.int64)
    ends = np.append(0, np.cumsum(copies))[qptr]
    values = []
    bounds = query_chunks(ends, _ROWS)
    for first, last in itertools.pairwise(bounds):
        part = slice(qptr[first], qptr[last])
        rows = np.repeat(order[part], copies[part])
        part_ptr = ends[first : last + 1] - ends[first]
        values.append(Prepared(measures, labels[rows], part_ptr)(scores[rows]))
    return [np.concatenate(part) for part in zip(*values, strict=True)]
