"""Results as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_value(value: Any) -> Any:
    """Return a value in JSON types: numbers of NumPy as Python's, tuples as lists, NaN and infinity as None.

    Examples
    --------
    >>> json_value({"means": (0.5, float("nan")), "ranks": np.array([1, 2])})
    {'means': [0.5, None], 'ranks': [1, 2]}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: json_value(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
