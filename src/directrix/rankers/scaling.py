"""Feature scaling as part of a ranker: fitted before training, stored in the model file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from directrix.data.queries import Queries
from directrix.data.scale import Scale
from directrix.errors import InputError

__all__ = ["scale_from", "scaled"]


def scaled(q: Queries, scale: Scale | None) -> Queries:
    """Return the queries with their features scaled."""
    return q if scale is None else replace(q, features=scale.apply(q.features, q.qptr))


def scale_from(path: Any, content: dict[str, Any] | None, n_features: int) -> Scale | None:
    """Rebuild the scale of a model file.

    Raises
    ------
    InputError
        If an entry is missing or wrong, or there is not one per feature.
    """
    if content is None:
        return None
    try:
        scale = Scale.from_json(content)
    except InputError as error:
        raise InputError(f'{path}: "scale": {error}') from error
    if scale.center is not None and len(scale.center) != n_features:
        raise InputError(
            f'{path}: "scale" has {len(scale.center)} centers for {n_features} features; there must be one '
            "per feature. Train the model again with `directrix train`."
        )
    return scale
