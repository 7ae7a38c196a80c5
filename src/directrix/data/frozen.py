"""Read-only views of arrays."""

from __future__ import annotations

from typing import Any

from directrix.data.form import as_array
from directrix.data.sparse import ScaledCsr
from directrix.data.stored import StoredFeatures
from directrix.types import is_sparse


def frozen(array: Any, name: str) -> Any:
    """Return a read-only view of an array, or None; ``name`` is for messages."""
    if array is None:
        return None
    view = as_array(array, name).view()
    view.flags.writeable = False
    return view


def frozen_features(features: Any) -> Any:
    """Return features that cannot be changed: an array, CSR, or those of a file, as they are."""
    if isinstance(features, StoredFeatures | ScaledCsr):
        return features
    if not is_sparse(features):
        return frozen(features, "features")
    out = type(features)(features.shape, dtype=features.dtype)
    out.data, out.indices, out.indptr = (
        frozen(part, "features") for part in (features.data, features.indices, features.indptr)
    )
    return out
