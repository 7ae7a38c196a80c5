"""What scales take from features: range, mean and deviation of the training data; percentiles of a query."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from directrix.data.stored import StoredFeatures
from directrix.types import Array, Float64Array, is_sparse


def signed_log(values: Array) -> Float64Array:
    """``sign(x) log(1 + |x|)``."""
    return np.copysign(np.log1p(np.abs(values.astype(np.float64))), values)


def statistics(kind: str, features: Any) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Center, width and mean of every feature, in float64; a width of 0 marks a constant one.

    They are minimum and range for "minmax", mean and standard deviation for "standard", for "log" those of
    `signed_log`; CSR has no "minmax". Missing values (NaN) do not count, and a feature without any value has
    zeros. `StoredFeatures` are read once.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if hasattr(features, "moments"):  # of shards
            return of_moments(kind, features.moments(kind))
        if isinstance(features, StoredFeatures):
            stored = features.spans(itertools.pairwise(block_rows(features)))
            return of_moments(kind, moments_of(kind, features.shape[1], stored))
        if is_sparse(features):
            return _of_csr(signed_log(features.data) if kind == "log" else features.data, features)
        low, high = features.min(axis=0).astype(np.float64), features.max(axis=0).astype(np.float64)
        if kind == "log" or np.isnan(low).any():
            spans = itertools.pairwise(block_rows(features))
            blocks = (features[a:b] for a, b in spans)
            return of_moments(kind, moments_of(kind, features.shape[1], blocks))
        mean = features.mean(axis=0, dtype=np.float64)
        if kind == "minmax":
            return low, high - low, np.clip(mean, low, high)
        deviation = features.std(axis=0, dtype=np.float64)
        return mean, np.where(low == high, 0.0, deviation), mean


def block_rows(features: Any) -> list[int]:
    """Boundaries of the blocks of rows by which features in a file, and the same in memory, are read."""
    return np.append(np.arange(0, len(features), 1 << 16), len(features)).tolist()


def _of_csr(data: Array, features: Any) -> tuple[Float64Array, Float64Array, Float64Array]:
    from scipy.sparse import csr_array

    missing = np.isnan(data)
    n, gaps = features.shape[0], np.bincount(features.indices[missing], minlength=features.shape[1])
    parts = np.where(missing, data.dtype.type(0.0), data), features.indices, features.indptr
    filled = csr_array(parts, shape=features.shape)
    factor = n / np.maximum(n - gaps, 1)  # exactly 1 where nothing is missing
    mean = np.asarray(filled.mean(axis=0, dtype=np.float64)).ravel() * factor
    second = np.asarray(filled.astype(np.float64).power(2).mean(axis=0)).ravel() * factor
    deviation = np.sqrt(np.maximum(second - mean**2, 0.0))
    deviation[deviation <= 1e-7 * np.sqrt(second)] = 0.0
    return mean, np.where(np.isinf(second), np.inf, deviation), mean  # the sum of squares overflowed


class Moments(NamedTuple):
    """Of every feature: number, mean, sum of squares about it, least and greatest of the values not missing.

    Where there is no value the last two are infinite.
    """

    number: Float64Array
    mean: Float64Array
    spread: Float64Array
    low: Float64Array
    high: Float64Array

    @np.errstate(over="ignore", invalid="ignore")
    def and_those_of(self, other: Moments) -> Moments:
        """Return the moments of both, as Chan, Golub & LeVeque (1983) join them, doi:10.2307/2683386."""
        step, both = other.mean - self.mean, np.maximum(self.number + other.number, 1)
        return Moments(
            self.number + other.number,
            self.mean + step * (other.number / both),
            self.spread + (other.spread + step**2 * (self.number * other.number / both)),
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )


@np.errstate(over="ignore", invalid="ignore")
def moments_of(kind: str, n_features: int, blocks: Iterable[Array]) -> Moments:
    """Moments of rows that come in blocks; of their `signed_log` if the kind of scale is "log"."""
    zeros, infinite = np.zeros(n_features), np.full(n_features, np.inf)
    total = Moments(zeros, zeros, zeros, infinite, -infinite)
    for given in blocks:
        rows = signed_log(given) if kind == "log" else given
        low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
        gaps = np.isnan(rows).sum(axis=0)
        m = len(rows) - gaps
        if gaps.any():
            rows = np.where(
                np.isnan(rows), np.nansum(rows, axis=0, dtype=np.float64) / np.maximum(m, 1), rows
            )
        mean = rows.mean(axis=0, dtype=np.float64)
        spread = rows.var(axis=0, dtype=np.float64) * len(rows)
        total = total.and_those_of(Moments(m, mean, spread, low, high))
    return total


def of_moments(kind: str, of: Moments) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return what `statistics` does, from moments."""
    low, high = np.where(of.number > 0, of.low, 0.0), np.where(of.number > 0, of.high, 0.0)
    if kind == "minmax":
        return low, high - low, np.clip(of.mean, low, high)
    deviation = np.sqrt(of.spread / np.maximum(of.number, 1))
    return of.mean, np.where(low == high, 0.0, deviation), of.mean


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
