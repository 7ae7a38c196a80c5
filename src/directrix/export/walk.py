"""How search engines score: trees out of JSON, and sums in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.types import Array, Float64Array

Question = Callable[[Any, Array], tuple[Array, Any, Any] | None]
"""From a node and the numbers of its rows to which of them go left, and both children; None at a leaf."""


def leaves(node: Any, own: Array, ask: Question, out: Array, value: str) -> None:
    """Set ``out[own]`` to the leaves that the rows ``own`` reach; ``value`` is the key of their values."""
    answer = ask(node, own)
    if answer is None:
        out[own] = float(node[value])
        return
    is_left, left, right = answer
    leaves(left, own[is_left], ask, out, value)
    leaves(right, own[~is_left], ask, out, value)


def sum_in_float32(terms: Array) -> Float64Array:
    """Return the sums of rows of float32 (n_rows, n_terms), one term after another as Java adds them."""
    return np.cumsum(terms, axis=1, dtype=np.float32)[:, -1].astype(np.float64)
