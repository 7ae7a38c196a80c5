"""Runs of whole queries, small enough that their features stay in a cache."""

from __future__ import annotations

from typing import Any, NamedTuple

import scipy.sparse as sp

from directrix.data.stored import StoredFeatures
from directrix.models.linear import rows_of
from directrix.types import Float64Array, Int64Array, Model

__all__ = ["Part", "Span", "docs_per_part", "prepared_rows"]

_BYTES_PER_PART = 4 << 20


class Part(NamedTuple):
    """A run of whole queries as a data set of its own."""

    rows: Any
    qptr: Int64Array
    weight: Float64Array
    prepared: Any
    """What the surrogate made of the labels; the labels, if it makes nothing of them beforehand."""
    order: Int64Array | None = None
    """Which queries count; None = all."""


class Span(NamedTuple):
    """Rows first <= i < last that are yet to be read."""

    first: int
    last: int


def docs_per_part(features: Any, model: Model) -> int:
    """Number of documents whose features, or whatever the model makes of them, fill a part."""
    n_docs, n_features = features.shape
    if sp.issparse(features):
        per_doc = 12.0 * features.nnz / max(n_docs, 1)
    else:
        per_doc = float(n_features * features.itemsize)
    per_doc = max(per_doc, float(getattr(model, "floats_per_row", 0) * features.dtype.itemsize))
    return max(256, int(_BYTES_PER_PART / max(per_doc, 1.0)))


def prepared_rows(features: Any, model: Model, first: int, last: int) -> Any:
    """Rows of the features as the model likes to have them, see `StumpModel.prepare`.

    Of features that stay in a file only where they are; see `directrix.objectives.streamed`.
    """
    if isinstance(features, StoredFeatures):
        return Span(first, last)
    rows = rows_of(features, first, last)
    return model.prepare(rows) if hasattr(model, "prepare") else rows
