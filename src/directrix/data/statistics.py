"""Range, mean and deviation of every feature, for scales by training data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.data.stored import StoredFeatures
from directrix.types import Float64Array

__all__ = ["statistics"]


def statistics(kind: str, features: Any) -> tuple[Float64Array, Float64Array]:
    """Center and width of every feature, in float64; a width of 0 marks a constant one.

    Parameters
    ----------
    kind : {"minmax", "standard"}
        Minimum and range, or mean and standard deviation; of CSR the latter only.
    features : float32 or float64 (n_docs, n_features), CSR, or `StoredFeatures`
        Stored features are read once; their means and deviations differ from those in memory by rounding.
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
