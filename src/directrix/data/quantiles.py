"""Normal scores of features by their empirical distribution, as knots of a piecewise linear map."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.data.sparse import column_of_csr
from directrix.data.statistics import block_rows
from directrix.data.validate import has_finite_sum
from directrix.errors import InputError
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array, is_sparse

MAX_KNOTS = 256
"""Of one feature."""
_SAMPLE = 1 << 16  # documents
_BLOCK = 1 << 13  # documents, so that the float64 copy stays small
Rows = tuple[tuple[float, ...], ...]


def fit_knots(features: Any) -> tuple[Rows, Rows]:
    """Values of each feature, ascending, at most `MAX_KNOTS`, and their normal scores.

    They are from all documents, or from 65,536 drawn with a fixed seed: the same ones in memory and in a
    file, which is read once. A feature without any value has one knot, 0. O(n log n) per feature.
    """
    sample = _sample(features)
    read = column_of_csr(sample) if is_sparse(sample) else lambda f: sample[:, f]
    columns = (read(f) for f in range(sample.shape[1]))
    pairs = [_knots(column[~np.isnan(column)]) for column in columns]
    return tuple(tuple(x.tolist()) for x, _ in pairs), tuple(tuple(z.tolist()) for _, z in pairs)


def _sample(features: Any) -> Any:
    n, in_memory = int(features.shape[0]), isinstance(features, np.ndarray) or is_sparse(features)
    if in_memory and n <= _SAMPLE:
        return features
    chosen = (
        np.arange(n) if n <= _SAMPLE else np.sort(np.random.default_rng(0).choice(n, _SAMPLE, replace=False))
    )
    if in_memory:
        return features[chosen]
    if hasattr(features, "rows"):  # of shards
        rows: Array = features.rows(chosen)
        return rows
    out, bounds = np.empty((len(chosen), features.shape[1]), features.dtype), block_rows(features)
    cuts = np.searchsorted(chosen, bounds)
    for number, rows in enumerate(features.spans(itertools.pairwise(bounds))):
        first, last = cuts[number : number + 2]
        out[first:last] = rows[chosen[first:last] - bounds[number]]
    return out


def _knots(values: Array) -> tuple[Float64Array, Float64Array]:
    if not len(values):
        return np.zeros(1), np.zeros(1)
    from scipy.special import ndtri

    n = len(values)
    values, counts = np.unique(values, return_counts=True)
    scores = ndtri((np.cumsum(counts) - counts / 2) / n)
    if len(values) > MAX_KNOTS:
        # first and last value of equal steps of the score: tails keep knots, and no line crosses a jump
        cells = np.ceil((scores - scores[0]) * (MAX_KNOTS / 2 / (scores[-1] - scores[0])))
        cuts = np.flatnonzero(np.diff(np.clip(cells, 1, MAX_KNOTS / 2)))
        chosen = np.unique(np.concatenate([[0], cuts, cuts + 1, [len(values) - 1]]))
        values, scores = values[chosen], scores[chosen]
    return values.astype(np.float64), scores


def knot_scores(
    features: Array, knots: Rows, scores: Rows, cell: Callable[[int, int], tuple[int, int]] | None = None
) -> Array:
    """Normal scores of features, in their dtype: interpolated, clipped to the ends, 0 for a missing value.

    ``cell`` turns row and column into those of a message.
    """
    infinite = np.zeros(0) if has_finite_sum(features) else np.argwhere(np.isinf(features))
    if infinite.size:
        row, column = infinite[0].tolist()
        value = features[row, column]
        row, column = (row, column) if cell is None else cell(row, column)
        raise InputError(
            f"features: {value:g} at row {row}, column {column}; finite numbers are needed. "
            f"Clip the column, e.g. numpy.clip(X[:, {column}], -1e30, 1e30)."
        )
    out = np.empty_like(features, order="C")
    pairs = [(np.array(x), np.array(z)) for x, z in zip(knots, scores, strict=True)]

    def fill(block: int) -> None:
        rows = slice(block * _BLOCK, (block + 1) * _BLOCK)
        columns = np.array(features[rows].T, dtype=np.float64, order="C")
        for column, (x, z) in zip(columns, pairs, strict=True):
            column[:] = np.where(np.isnan(column), 0.0, np.interp(column, x, z))
        out[rows] = columns.T

    run_chunks(fill, -(-len(features) // _BLOCK))
    return out
