"""Read-only views of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.data.stored import StoredFeatures
from directrix.types import is_sparse


def frozen(array: Any) -> Any:
    """Return a read-only view of an array, or None."""
    if array is None:
        return None
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def frozen_features(features: Any) -> Any:
    """Return features that cannot be changed: an array, CSR, or those of a file, as they are."""
    if isinstance(features, StoredFeatures):
        return features
    if not is_sparse(features):
        return frozen(features)
    out = type(features)(features.shape, dtype=features.dtype)
    out.data, out.indices, out.indptr = map(frozen, (features.data, features.indices, features.indptr))
    return out
