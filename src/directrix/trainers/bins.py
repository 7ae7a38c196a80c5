"""The bins that LightGBM sorts the values of features into, shared by the trainings of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp

from directrix.data.queries import Queries
from directrix.models.trees import lightgbm, quietly
from directrix.types import Float64Array

_SHARED: ContextVar[dict[tuple[Any, ...], tuple[Any, Any]] | None] = ContextVar("_SHARED", default=None)


@contextmanager
def sharing_bins() -> Iterator[None]:
    """Bin the values of a data set once for all trainings in this context; binning takes as long as 50 trees.

    The data must not change meanwhile: they are recognized by the identity of their features.
    """
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


def binned(
    data: Queries,
    settings: dict[str, Any],
    like: Any = None,
    *,
    own: Mapping[str, Any] | None = None,
    start: Float64Array | None = None,
    categorical: Sequence[int] = (),
) -> Any:
    """Return LightGBM's data set of the features, for validation data with the bins of another one.

    ``own`` are the settings that users passed through, on which bins may depend; ``start`` are first scores;
    ``categorical`` are columns of categories.
    """
    # LightGBM's own objective needs labels and weights, and a data set does not give up what was set once
    shared = _SHARED.get() if settings["objective"] == "none" and start is None else None
    key = id(data.features), id(like), settings["max_bin"], repr(own), tuple(categorical)
    if shared is not None and key in shared:
        return shared[key][1]
    no_labels = np.zeros(data.n_docs)
    chosen = {} if like is not None else {"categorical_feature": list(categorical)}
    # SciPy's sparse matrices stay sparse; scaled ones become dense
    features = data.features if sp.issparse(data.features) else np.asarray(data.features)
    rows = lightgbm().Dataset(features, no_labels, like, params=settings, free_raw_data=True, **chosen)
    if start is not None:
        rows.set_init_score(start)
    quietly(rows.construct)
    if shared is not None:
        shared[key] = data.features, rows  # the features stay alive, and with them their identity
    return rows
