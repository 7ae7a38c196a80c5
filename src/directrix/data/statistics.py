"""What scales take from features: range, mean and deviation of the training data; percentiles of a query."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from directrix.data.sparse import absent_values
from directrix.data.stored import StoredFeatures
from directrix.types import Array, Float64Array, is_sparse


def signed_log(values: Array) -> Float64Array:
    """``sign(x) log(1 + |x|)``."""
    return np.copysign(np.log1p(np.abs(values.astype(np.float64))), values)


def statistics(kind: str, features: Any) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Center, width and mean of every feature, in float64; a width of 0 marks a constant one.

    They are minimum and range for "minmax", mean and standard deviation for "standard", for "log" those of
    `signed_log`. Missing values (NaN) do not count, and a feature without any value has zeros.
    `StoredFeatures` are read once.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if hasattr(features, "moments"):  # of shards
            return of_moments(kind, features.moments(kind))
        if isinstance(features, StoredFeatures):
            stored = features.spans(itertools.pairwise(block_rows(features)))
            return of_moments(kind, moments_of(kind, features.shape[1], stored))
        if is_sparse(features):
            return of_moments(kind, _moments_of_csr(kind, features))
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


def _moments_of_csr(kind: str, X: Any) -> Moments:
    """Moments of sparse features; those that are not stored count with the value that they have."""
    data, absent = X.data.astype(np.float64), absent_values(X)
    if kind == "log":
        data, absent = signed_log(data), signed_log(absent)
    n_docs, n_features = X.shape
    n_absent = n_docs - np.bincount(X.indices, minlength=n_features)
    is_given = ~np.isnan(data)
    values, f = data[is_given], X.indices[is_given]
    number = n_absent + np.bincount(f, minlength=n_features).astype(np.float64)

    def total(terms: Float64Array, of_absent: Float64Array) -> Float64Array:
        sums: Float64Array = np.where(n_absent > 0, n_absent * of_absent, 0.0)  # infinite where there is none
        return sums + np.bincount(f, terms, n_features)

    mean = total(values, absent) / np.maximum(number, 1)
    low, high = (np.where(n_absent > 0, absent, end) for end in (np.inf, -np.inf))
    np.minimum.at(low, f, values)
    np.maximum.at(high, f, values)
    return Moments(number, mean, total((values - mean[f]) ** 2, (absent - mean) ** 2), low, high)


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
