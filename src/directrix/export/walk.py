"""Trees out of JSON, as readers of search engines walk them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from directrix.types import Array

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
