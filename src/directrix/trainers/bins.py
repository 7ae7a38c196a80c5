"""Bins of features, between which trees split, and their sharing among training runs.

In: features, in memory or a sample of them. Out: `Bins`, thresholds and a byte for every value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from directrix.data.sparse import columns_reader
from directrix.models.stumps import middles
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array

MAX_BIN = 127
"""Bins of values by default; docs/decisions/boosting.md."""
MOST_BINS = 254
"""Bins of values that fit into a byte, together with one for missing values."""
_SAMPLE = 200_000
"""Most documents, evenly spaced, on whose values the thresholds depend."""
_SHARED: ContextVar[dict[tuple[Any, ...], tuple[Any, Any]] | None] = ContextVar("_SHARED", default=None)


@contextmanager
def sharing_bins() -> Iterator[None]:
    """Bin a data set once for all training runs in this context; binning takes as long as 50 trees.

    The data must not change meanwhile, because they are recognized by the identity of their features.
    """
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def shared(features: Any, kind: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return what ``make`` returns; within `sharing_bins` it is called once for these features and kind."""
    made = _SHARED.get()
    if made is None:
        return make()
    key = id(features), *kind
    if key not in made:
        # The features are kept too: while they live, no other object gets their identity.
        made[key] = features, make()
    return made[key][1]


class Bins(NamedTuple):
    """Features in bins of one byte; see `directrix.trainers._kernels.oblivious`."""

    columns: Array
    """Number of each value's bin, uint8 (n_features, n_docs)."""
    cuts: tuple[Float64Array, ...]
    """Thresholds of every feature, ascending."""
    missing: Array
    """The bin of missing values, uint8 (n_features,)."""
    has_missing: Array
    """Whether values were missing in training; otherwise missing ones count as 0, bool (n_features,)."""

    @classmethod
    def of(cls, features: Any, max_bin: int) -> Bins:
        """Return the bins of training data: one for every value, or quantiles."""
        rows = sample_rows(features.shape[0])
        has_missing = np.zeros(features.shape[1], dtype=bool)

        def work(first: int, block: Array) -> None:
            has_missing[first : first + block.shape[1]] = np.isnan(block).any(axis=0)

        _by_columns(features, work)
        drawn = features if len(rows) == features.shape[0] else features[rows]
        return cls.from_sample(drawn, has_missing, max_bin).filled(features)

    @classmethod
    def from_sample(cls, features: Any, has_missing: Array, max_bin: int) -> Bins:
        """Return the thresholds of the documents of `sample_rows`, without documents."""
        cuts: list[Any] = [None] * features.shape[1]

        def work(first: int, block: Array) -> None:
            for f, column in enumerate(np.ascontiguousarray(block.T), first):
                cuts[f] = _thresholds(column[~np.isnan(column)], max_bin)

        _by_columns(features, work)
        missing = np.array([len(thresholds) + 1 for thresholds in cuts], dtype=np.uint8)
        return cls(np.empty((len(cuts), 0), np.uint8), tuple(cuts), missing, has_missing)

    def filled(self, features: Any) -> Bins:
        """Return the bins of other features, by the same thresholds."""
        from directrix.trainers._kernels.bins import bin_rows

        n_docs, n_features = features.shape
        columns = np.empty((n_features, n_docs), dtype=np.uint8)
        n_cuts = np.array([len(thresholds) for thresholds in self.cuts])
        cuts = np.zeros((n_features, int(n_cuts.max(initial=0))))
        for f, thresholds in enumerate(self.cuts):
            cuts[f, : n_cuts[f]] = thresholds

        def work(first: int, block: Array) -> None:
            some = slice(first, first + block.shape[1])
            bin_rows(
                block, *(array[some] for array in (n_cuts, cuts, self.missing, self.has_missing, columns))
            )

        _by_columns(features, work)
        return self._replace(columns=columns)


def sample_rows(n_docs: int) -> Array:
    """Return the documents on whose values thresholds depend.

    Evenly spaced ones need no random numbers, and include all of small data.
    """
    return np.linspace(0, n_docs - 1, min(n_docs, _SAMPLE)).astype(np.int64)


def _by_columns(features: Any, work: Callable[[int, Array], None]) -> None:
    """Call ``work(first, block)`` for blocks of columns (n_docs, n) on all threads, with its first number."""
    # A row of a block fills a line of the cache, which is 64 bytes.
    width, read = columns_reader(features, 64 // features.dtype.itemsize)
    run_chunks(lambda c: work(c * width, read(c * width)), -(-features.shape[1] // width))


def _thresholds(values: Float64Array, max_bin: int) -> Float64Array:
    """Middles between neighboring values, at most ``max_bin - 1``."""
    distinct, counts = np.unique(values, return_counts=True)
    distinct = distinct.astype(np.float64)
    if len(distinct) > max_bin:
        # Values that fill a bin alone do not take the bins of others.
        weight = np.minimum(counts, len(values) / max_bin)
        # Each value falls into the bin in which the middle of its weight lies.
        middle = np.cumsum(weight) - 0.5 * weight
        number = (middle / weight.sum() * max_bin).astype(np.int64)
        ends = np.flatnonzero(np.diff(number))
    else:
        ends = np.arange(len(distinct) - 1)
    return middles(distinct[ends], distinct[ends + 1])
