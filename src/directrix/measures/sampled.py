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

# Documents of full lists that are evaluated at a time, which bounds the memory.
_ROWS = 1 << 22
# Ranks at which the bias is computed: a list for each, so time and memory grow with their square.
_MOST_RANKS = 500
# Largest mean absolute bias over ranks, relative to the mean value, for which an estimate is given.
_BIAS = 0.25


def note_of(probability: Float64Array, untold: Sequence[str]) -> str:
    """Return the note below values of lists with sampled negatives, also on measures without an estimate."""
    is_drawn = probability < 1.0
    if not is_drawn.any():
        return ""
    limits = dict.fromkeys(f"{x:.2g}" for x in (probability.min(), probability[is_drawn].max()))
    note = (
        f"{is_drawn.mean():.0%} of the documents are negatives that were drawn, with probability "
        f"{' to '.join(limits)}: the values are those of the short "
        "lists. They are higher than for all candidates and may order rankers differently; do not compare "
        "them with values of full lists, or of other draws."
    )
    if untold:
        note += (
            f" There is no estimate of {', '.join(untold)} for all candidates: a drawn negative stands for "
            f"up to {1.0 / probability.min():.3g}, so the ranks near the top cannot be told apart."
        )
    return note


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
    # Copies are differences of rounded sums since the start of the list, so their errors do not add up. The
    # small number makes up for a sum that rounding has left just below a half.
    start = total[qptr[query]]
    rounded = np.floor(np.stack([total[:-1], total[1:]]) - start + 0.5 + 1e-6)
    copies = np.where(is_drawn, rounded[1] - rounded[0], 1.0).astype(np.int64)
    ends = np.append(0, np.cumsum(copies))[qptr]
    values = []
    bounds = query_chunks(ends, _ROWS)
    for first, last in itertools.pairwise(bounds):
        docs = slice(qptr[first], qptr[last])
        rows = np.repeat(order[docs], copies[docs])
        local = ends[first : last + 1] - ends[first]
        values.append(Prepared(measures, labels[rows], local)(scores[rows]))
    return [np.concatenate(chunks) for chunks in zip(*values, strict=True)]


def are_told(
    measures: Sequence[RankingMeasure], labels: Any, qptr: Int64Array, probability: Float64Array
) -> list[bool]:
    r"""Whether a draw tells ranks well enough for the estimates of measures for full lists.

    With the lowest probability p, an estimated rank is 1, 1 + 1/p, 1 + 2/p, ... For one relevant document at
    each rank, the expected estimate is compared with the value. The mean absolute bias must be at most a
    quarter of the mean value, both for ranks that are equally likely, and in proportion to 1 / rank.
    """
    from scipy.stats import binom

    labels, p = np.asarray(labels), float(probability.min())
    longest = np.add.reduceat(1.0 / probability, qptr[:-1]).max() if len(qptr) > 1 else 0.0
    n = int(min(longest, _MOST_RANKS))
    if p == 1.0 or n == 0 or not np.nanmax(labels) > 0.0:
        return [True] * len(measures)
    rank = np.arange(1, n + 1)
    of_lists = np.zeros((n * n, *labels.shape[1:]))
    # List r has its one relevant document at rank r.
    of_lists[:: n + 1].reshape(n, -1)[:, 0] = np.nanmax(labels)
    scores = np.tile(-rank.astype(np.float64), n)
    drawn = np.arange(n)
    estimated = np.minimum(np.floor(drawn / p + 0.5 + 1e-6).astype(np.int64), n - 1)
    # Each of the rank - 1 documents above is drawn with probability p, so their number is binomial.
    chance = binom.pmf(drawn, rank[:, None] - 1, p)
    weights, told = np.stack([np.ones(n), 1.0 / rank]), []
    values = Prepared(measures, of_lists, n * np.arange(n + 1))(scores)
    for measure, value in zip(measures, values, strict=True):
        # A measure with a unit has logarithms as values. They have no zero, so their bias is compared with 1.
        bias, size = chance @ value[estimated] - value, 1.0 if measure.unit else value
        told.append(bool((weights @ np.abs(bias) <= _BIAS * (weights @ np.abs(size + 0.0 * value))).all()))
    return told
