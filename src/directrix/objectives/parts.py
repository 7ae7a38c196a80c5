"""Runs of whole queries, small enough that their features stay in a cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from directrix.types import Float64Array, Int64Array, Model, is_sparse

_BYTES_PER_PART = 4 << 20


class Part(NamedTuple):
    """A run of whole queries as a separate data set."""

    rows: Any
    qptr: Int64Array
    weight: Float64Array
    prepared: Any
    """What the surrogate prepared of the labels."""
    is_weighted: bool
    """Whether any weight differs from 1."""
    order: Int64Array | None = None
    """Which queries count; None = all."""
    place: int = 0
    """Position of its first query in the order of an epoch."""


class Span(NamedTuple):
    """Rows first <= i < last that are yet to be read."""

    first: int
    last: int


@dataclass(frozen=True)
class LazyParts(Sequence[Part]):
    """Parts that are made where they are used: ``make(first, last)`` for all bounds."""

    make: Callable[[int, int], Part]
    bounds: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.bounds)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return LazyParts(self.make, self.bounds[index])
        return self.make(*self.bounds[index])


def docs_per_part(features: Any, model: Model, *, as_dense: bool = False) -> int:
    """Number of documents whose features, and whatever the model makes of them, fill a part."""
    n_docs, n_features = features.shape
    if is_sparse(features) and not as_dense:
        per_doc = 12.0 * features.nnz / max(n_docs, 1)
    else:
        per_doc = float(n_features * features.dtype.itemsize)
    per_doc += float(getattr(model, "floats_per_row", 0) * features.dtype.itemsize)
    return max(256, int(_BYTES_PER_PART / max(per_doc, 1.0)))
