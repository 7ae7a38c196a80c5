"""What scales take from features: range, mean and deviation of the training data; percentiles of a query."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.data.stored import StoredFeatures
from directrix.types import Array, Float64Array


def statistics(kind: str, features: Any) -> tuple[Float64Array, Float64Array]:
    """Center and width of every feature, in float64; a width of 0 marks a constant one.

    They are minimum and range for "minmax", mean and standard deviation for "standard", the only kind for
    CSR. `StoredFeatures` are read once; their means and deviations differ from those in memory by rounding.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(features, StoredFeatures):
            return _of_blocks(kind, features)
        if sp.issparse(features):
            mean = np.asarray(features.mean(axis=0, dtype=np.float64)).ravel()
            second = np.asarray(features.astype(np.float64).power(2).mean(axis=0)).ravel()
            deviation = np.sqrt(np.maximum(second - mean**2, 0.0))
            deviation[deviation <= 1e-7 * np.sqrt(second)] = 0.0
            return mean, np.where(np.isinf(second), np.inf, deviation)  # the sum of squares overflowed
        low, high = features.min(axis=0).astype(np.float64), features.max(axis=0).astype(np.float64)
        if kind == "minmax":
            return low, high - low
        deviation = features.std(axis=0, dtype=np.float64)
        return features.mean(axis=0, dtype=np.float64), np.where(low == high, 0.0, deviation)


def _of_blocks(kind: str, features: StoredFeatures) -> tuple[Float64Array, Float64Array]:
    """Statistics of blocks, joined as Chan, Golub & LeVeque (1983) do, doi:10.2307/2683386."""
    n, d = 0, features.shape[1]
    low, high, mean, spread = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), np.zeros(d)
    bounds = np.append(np.arange(0, len(features), 1 << 16), len(features)).tolist()
    for rows in features.spans(itertools.pairwise(bounds)):
        low, high = np.minimum(low, rows.min(axis=0)), np.maximum(high, rows.max(axis=0))
        if kind == "standard":
            m = len(rows)
            step = rows.mean(axis=0, dtype=np.float64) - mean
            spread += rows.var(axis=0, dtype=np.float64) * m + step**2 * (n * m / (n + m))
            mean += step * (m / (n + m))
            n += m
    if kind == "minmax":
        return low, high - low
    return mean, np.where(low == high, 0.0, np.sqrt(spread / max(n, 1)))


def percentiles(part: Array) -> Float64Array:
    r"""Share of the other documents that have a smaller value, by feature.

    .. math:: \frac{|\{j : x_j < x_i\}|}{n - 1}

    over the n documents of one query. 0 for the smallest value and 1 for the largest if only one document
    has it; equal values get the same share. All are 0 if all values are equal. NaN stays NaN and is not
    counted as smaller than any value. Every column is sorted, O(n log n) each.
    """
    order = np.argsort(part, axis=0)
    values = np.take_along_axis(part, order, axis=0)
    place = np.arange(len(part), dtype=np.float64)[:, None]
    begins = np.vstack([np.zeros((1, part.shape[1]), dtype=bool), values[1:] != values[:-1]])
    below = np.maximum.accumulate(np.where(begins, place, 0.0), axis=0)
    out = np.empty(part.shape)
    np.put_along_axis(out, order, below / max(len(part) - 1, 1), axis=0)
    out[np.isnan(part)] = np.nan
    return out
