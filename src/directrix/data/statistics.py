"""Statistics of features, and the maps of scales."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import has_finite_sum
from directrix.data.columns import feature_label
from directrix.data.sparse import absent_values, column_reader
from directrix.errors import InputError
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array, Int64Array, is_sparse

# Documents are scaled in blocks of this number, so that the float64 copy stays small.
_BLOCK = 1 << 13
# Statistics are added up over blocks of this number of rows, wherever the features are stored.
_STATISTICS_BLOCK = 1 << 16


def signed_log(values: Array) -> Float64Array:
    """``sign(x) log(1 + |x|)``."""
    return np.copysign(np.log1p(np.abs(values.astype(np.float64))), values)


def statistics(kind: str, features: Any) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return center, width and mean of every feature, in float64; a width of 0 marks a constant one.

    They are minimum and range for "minmax", mean and standard deviation for "standard", and for "log" those
    of `signed_log`. Missing values (NaN) do not count, and a feature without any value has zeros.
    `StoredFeatures` are read once.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # Features in a file, or in shards, compute their moments themselves.
        if hasattr(features, "moments"):
            return of_moments(kind, features.moments(kind))
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
    """Return the boundaries of blocks of rows, the same for features in a file and in memory."""
    return np.append(np.arange(0, len(features), _STATISTICS_BLOCK), len(features)).tolist()


class Moments(NamedTuple):
    """Count, mean, sum of squared deviations, minimum and maximum of each feature, without NaN.

    Without any value, the last two are infinite.
    """

    number: Float64Array
    mean: Float64Array
    spread: Float64Array
    low: Float64Array
    high: Float64Array

    @np.errstate(over="ignore", invalid="ignore")
    def combine(self, other: Moments) -> Moments:
        """Return the combined moments (Chan, Golub & LeVeque 1983, doi:10.2307/2683386)."""
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
    """Return the moments of blocks of rows, or of their `signed_log` if the kind of scale is "log"."""
    zeros, infinite = np.zeros(n_features), np.full(n_features, np.inf)
    total = Moments(zeros, zeros, zeros, infinite, -infinite)
    for block in blocks:
        rows = signed_log(block) if kind == "log" else block
        low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
        gaps = np.isnan(rows).sum(axis=0)
        m = len(rows) - gaps
        if gaps.any():
            # The mean of its column in place of NaN changes neither the mean nor the squared deviations.
            rows = np.where(
                np.isnan(rows), np.nansum(rows, axis=0, dtype=np.float64) / np.maximum(m, 1), rows
            )
        mean = rows.mean(axis=0, dtype=np.float64)
        spread = rows.var(axis=0, dtype=np.float64) * len(rows)
        total = total.combine(Moments(m, mean, spread, low, high))
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
        # A column without absent entries has no value for them, and 0 times infinity is NaN.
        sums: Float64Array = np.where(n_absent > 0, n_absent * of_absent, 0.0)
        return sums + np.bincount(f, terms, n_features)

    mean = total(values, absent) / np.maximum(number, 1)
    low, high = (np.where(n_absent > 0, absent, end) for end in (np.inf, -np.inf))
    np.minimum.at(low, f, values)
    np.maximum.at(high, f, values)
    return Moments(number, mean, total((values - mean[f]) ** 2, (absent - mean) ** 2), low, high)


def of_moments(kind: str, moments: Moments) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the result of `statistics`, from moments."""
    number, mean, spread, low, high = moments
    low, high = np.where(number > 0, low, 0.0), np.where(number > 0, high, 0.0)
    if kind == "minmax":
        # Rounding may put the mean outside the range.
        return low, high - low, np.clip(mean, low, high)
    deviation = np.sqrt(spread / np.maximum(number, 1))
    return mean, np.where(low == high, 0.0, deviation), mean


def percentiles(rows: Array) -> Float64Array:
    r"""Return the share of the other documents that have a smaller value, by feature.

    .. math:: \frac{|\{j : x_j < x_i\}|}{n - 1}

    over the n documents of one query. It is 0 for the smallest value, and 1 for the largest if only one
    document has it; equal values get the same share. All are 0 if all values are equal. NaN stays NaN and
    does not count as smaller than any value. Every column is sorted, O(n log n) each.
    """
    order = np.argsort(rows, axis=0)
    values = np.take_along_axis(rows, order, axis=0)
    place = np.arange(len(rows), dtype=np.float64)[:, None]
    begins = np.vstack([np.zeros((1, rows.shape[1]), dtype=bool), values[1:] != values[:-1]])
    # In a run of equal values, all have the place at which it begins.
    below = np.maximum.accumulate(np.where(begins, place, 0.0), axis=0)
    out = np.empty(rows.shape)
    np.put_along_axis(out, order, below / max(len(rows) - 1, 1), axis=0)
    out[np.isnan(rows)] = np.nan
    return out


def inverse(width: Array) -> Array:
    """``1 / width``, 0 where the width is 0."""
    factor = np.zeros(len(width))
    with np.errstate(over="ignore"):
        np.divide(1.0, width, out=factor, where=width > 0)
    return factor


def _divided(values: Array, width: Array) -> Array:
    """``values / width``, 0 where the width is 0."""
    factor = inverse(width)
    # Widths below 5.6e-309 have no finite reciprocal.
    tiny = np.isinf(factor)
    out: Array = values * np.where(tiny, 0.0, factor)
    if tiny.any():
        out[:, tiny] = values[:, tiny] / width[tiny]
    return out


def check_width(width: Array, where: str, columns: Any = None) -> None:
    """Raise `InputError` at an infinite width; ``columns`` are their numbers for messages."""
    if np.isinf(width).any():
        column = _number_of(np.argmax(np.isinf(width)), columns)
        raise InputError(
            f"features: the range or deviation of {feature_label(column)} in {where} is too large for a "
            f"float; values below 1e150 can be scaled. Divide the column first, e.g. X[:, {column}] /= 1e200."
        )


def _number_of(column: Any, columns: Any) -> int:
    return int(column if columns is None else columns[column])


def mapped(
    features: Array,
    center: Array,
    width: Array,
    empty_value: Array | None = None,
    *,
    log: bool = False,
    columns: Any = None,
) -> Array:
    """Return ``(x - center) / width``, or that of logarithms.

    A missing value becomes the result for ``empty_value`` (n_features,), if there is one.

    Raises `InputError` at a finite value that becomes infinite; ``columns`` are the numbers of columns
    for messages.
    """
    out = np.empty_like(features, order="C")
    for first in range(0, len(features), _BLOCK):
        rows = slice(first, first + _BLOCK)
        block = features[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            out[rows] = _divided((signed_log(block) if log else block) - center, width)
        if has_finite_sum(out[rows]):
            continue
        if empty_value is not None:
            of_missing = _divided(np.array([empty_value]) - center, width)
            out[rows] = np.where(np.isnan(block), of_missing, out[rows])
        bad = ~np.isfinite(out[rows]) & np.isfinite(block)
        if bad.any():
            row, column = np.unravel_index(np.argmax(bad), bad.shape)
            name = feature_label(_number_of(column, columns))
            raise InputError(
                f"features: {block[row, column].item():g} in {name} is too large for {out.dtype} once it is "
                "scaled; values near those of training are needed. Clip it, or use features in float64."
            )
    return out


def mapped_by_query(kind: str, features: Array, qptr: Int64Array) -> Array:
    """Scale the rows of every query by their own statistics."""
    out = np.empty_like(features, order="C")
    for query, (first, last) in enumerate(itertools.pairwise(qptr.tolist())):
        if first < last:
            out[first:last] = map_query(kind, features[first:last], query)
    return out


def map_query(kind: str, features: Array, query: int, columns: Any = None) -> Array:
    """Return the rows of one query, scaled; ``query`` and ``columns`` are their numbers for messages."""
    if kind == "query-percentile":
        return percentiles(features).astype(features.dtype)
    rows = features.astype(np.float64)
    low, high = rows.min(axis=0), rows.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isnan(low).any():
            # Statistics that leave out missing values take more time than those below.
            center, width, _ = statistics(kind.removeprefix("query-"), rows)
        elif kind == "query-minmax":
            center, width = low, high - low
        else:
            # Thresholds of trees separate values that differ by one bit, so sums must not depend on the
            # order of rows or on other columns.
            ascending = np.sort(np.ascontiguousarray(rows.T), axis=1)
            center, width = ascending.mean(axis=1), np.where(low < high, ascending.std(axis=1), 0.0)
    check_width(width, f"query {query}", columns)
    return mapped(features, center, width, columns=columns)


MAX_KNOTS = 256
"""Largest number of knots of one feature."""
# Knots come from a sample of this number of documents, if there are more.
_SAMPLE = 1 << 16
Rows = tuple[tuple[float, ...], ...]


def fit_knots(features: Any) -> tuple[Rows, Rows]:
    """Return at most `MAX_KNOTS` ascending values of each feature, and their normal scores.

    They come from all documents, or from 65,536 sampled with a fixed seed, the same ones in memory and in a
    file, which is read once. A feature without any value has one knot, 0. It takes O(n log n) per feature.
    """
    # Features in a file, or in shards, read rows by number.
    n_docs, is_elsewhere = int(features.shape[0]), hasattr(features, "rows")
    sample = features
    if n_docs > _SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(n_docs, _SAMPLE, replace=False))
        sample = features.rows(chosen) if is_elsewhere else features[chosen]
    elif is_elsewhere:
        sample = features.rows(np.arange(n_docs))
    read = column_reader(sample)
    columns = (read(f) for f in range(sample.shape[1]))
    pairs = [_knots(column[~np.isnan(column)]) for column in columns]
    return tuple(tuple(x.tolist()) for x, _ in pairs), tuple(tuple(z.tolist()) for _, z in pairs)


def _knots(values: Array) -> tuple[Float64Array, Float64Array]:
    if not len(values):
        return np.zeros(1), np.zeros(1)
    from scipy.special import ndtri

    n = len(values)
    values, counts = np.unique(values, return_counts=True)
    scores = ndtri((np.cumsum(counts) - counts / 2) / n)
    if len(values) > MAX_KNOTS:
        # The first and last values of equal steps of the score are knots: so tails keep knots, and no
        # line crosses a jump.
        cells = np.ceil((scores - scores[0]) * (MAX_KNOTS / 2 / (scores[-1] - scores[0])))
        cuts = np.flatnonzero(np.diff(np.clip(cells, 1, MAX_KNOTS / 2)))
        chosen = np.unique(np.concatenate([[0], cuts, cuts + 1, [len(values) - 1]]))
        values, scores = values[chosen], scores[chosen]
    return values.astype(np.float64), scores


def knot_scores(features: Array, knots: Rows, scores: Rows, columns: Any = None) -> Array:
    """Return normal scores of features, in their dtype: interpolated, clipped, 0 for missing values.

    ``columns`` are the numbers of columns for messages.
    """
    if not has_finite_sum(features) and np.isinf(features).any():
        row, column = np.argwhere(np.isinf(features))[0]
        number = _number_of(column, columns)
        raise InputError(
            f"features: {features[row, column]:g} in {feature_label(number)}; finite numbers are needed. "
            f"Clip the column, e.g. numpy.clip(X[:, {number}], -1e30, 1e30)."
        )
    out = np.empty_like(features, order="C")
    pairs = [(np.array(x), np.array(z)) for x, z in zip(knots, scores, strict=True)]

    def interpolate(block: int) -> None:
        rows = slice(block * _BLOCK, (block + 1) * _BLOCK)
        columns = np.array(features[rows].T, dtype=np.float64, order="C")
        for column, (x, z) in zip(columns, pairs, strict=True):
            column[:] = np.where(np.isnan(column), 0.0, np.interp(column, x, z))
        out[rows] = columns.T

    run_chunks(interpolate, -(-len(features) // _BLOCK))
    return out
