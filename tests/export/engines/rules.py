"""Strict JSON, float32 and decision trees: the parts that the evaluators share."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DEEPEST, LONGEST = 1000, 50_000_000
"""Limits of nesting and of strings in Elasticsearch and OpenSearch, which read JSON with Jackson."""


class RefusedError(Exception):
    """The engine does not take the file."""


def require(condition, message):
    if not condition:
        raise RefusedError(message)


def single(values):
    """Convert to float32, where a large number becomes infinite."""
    with np.errstate(over="ignore"):
        return np.float32(values)


def parsed(text):
    """
    Read JSON as Jackson does for Elasticsearch and OpenSearch.

    JsonXContentImpl (elasticsearch main, libs/x-content) sets STRICT_DUPLICATE_DETECTION, and not
    ALLOW_NON_NUMERIC_NUMBERS.
    """

    def unique(pairs):
        require(len(dict(pairs)) == len(pairs), f"duplicate key in {[key for key, _ in pairs]}")
        return dict(pairs)

    def refuse(literal):
        raise RefusedError(f"{literal} is not JSON")

    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        found = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise RefusedError(str(error)) from error
    level, todo = 0, [found]
    while todo:
        level += 1
        require(level <= DEEPEST, "nested too deeply")
        require(all(len(one) <= LONGEST for one in todo if isinstance(one, str)), "a string is too long")
        groups = [
            one.values() if isinstance(one, dict) else one for one in todo if isinstance(one, dict | list)
        ]
        todo = [child for group in groups for child in group]
    return found


def keys(found, *, required=(), optional=(), of):
    """Reject another kind of value, unknown keys and missing keys, as a strict ObjectParser does."""
    require(isinstance(found, dict), f"[{of}] is no object")
    for name in found:
        require(name in required or name in optional, f"[{of}] unknown field [{name}]")
    for name in required:
        require(name in found, f"[{of}] lacks [{name}]")


def number(value, of):
    """Take a number, or a string that Java reads as one, as ``declareFloat`` and ``declareDouble`` do."""
    require(isinstance(value, int | float | str) and not isinstance(value, bool), f"[{of}] is no number")
    try:
        return float(value)
    except ValueError as error:
        raise RefusedError(f"[{of}] is no number") from error


@dataclass(frozen=True)
class Split:
    """A split sends values of a feature to one of two children: splits, or values of leaves."""

    feature: int
    goes_left: Callable
    left: object
    right: object


def leaf_of(node, X):
    """Return the value of the leaf that each row reaches."""
    found = np.empty(len(X))
    todo = [(node, np.arange(len(X)))]
    while todo:
        node, rows = todo.pop()
        if not isinstance(node, Split):
            found[rows] = node
        elif len(rows):
            goes_left = node.goes_left(X[rows, node.feature])
            todo += [(node.left, rows[goes_left]), (node.right, rows[~goes_left])]
    return found
