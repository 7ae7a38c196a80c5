"""Weights of queries and documents, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.types import Float64Array

__all__ = ["check_weights", "weights_of"]


def check_weights(weights: Float64Array, name: str) -> None:
    """Raise `InputError` unless the weights are finite, >= 0, and not all 0."""
    bad = np.flatnonzero(~((weights >= 0.0) & (weights < np.inf)))
    if len(bad):
        raise InputError(
            f"{name}[{bad[0]}] is {weights[bad[0]]:g}; weights are finite numbers >= 0. "
            f"Type e.g. numpy.clip({name}, 0, None)."
        )
    if len(weights) and not weights.any():
        raise InputError(
            f"{name} is zero everywhere; at least one weight must be positive. Leave {name} out."
        )


def weights_of(weights: Any, n: int, name: str, what: str) -> Float64Array:
    """Return checked weights of n queries or documents, float64 (n,); None = all 1."""
    if weights is None:
        return np.ones(n)
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} holds a value that is not a number; one number per {what} is needed."
        ) from None
    if array.shape != (n,):
        raise InputError(
            f"{name} has shape {array.shape}; the data need one number per {what}, shape ({n},)."
        )
    check_weights(array, name)
    return array
