"""Weights of queries and documents, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.data.form import as_floats
from directrix.errors import InputError
from directrix.types import Float64Array


def weights_of(weights: Any, n: int, name: str, what: str, advice: str = "") -> Float64Array:
    """Return weights of n queries or documents, finite, >= 0 and not all 0, float64 (n,); None = all 1."""
    if weights is None:
        return np.ones(n)
    array = as_floats(weights, name, f"one number >= 0 per {what}")
    if array.shape != (n,):
        raise InputError(
            f"{name} has shape {array.shape}; the data need one number per {what}, shape ({n},).",
            python=advice,
        )
    bad = np.flatnonzero(~((array >= 0.0) & (array < np.inf)))
    if len(bad):
        raise InputError(
            f"{name}[{bad[0]}] is {array[bad[0]]:g}; weights are finite numbers >= 0. "
            f"Type e.g. numpy.clip({name}, 0, None)."
        )
    if len(array) and not array.any():
        raise InputError(
            f"{name} is zero everywhere; at least one weight must be positive. Leave {name} out."
        )
    return array
