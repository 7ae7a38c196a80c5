"""What the evaluators share: strict JSON, float32 and decision trees."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DEEPEST, LONGEST = 1000, 50_000_000
"""Jackson's limits of nesting and of strings; Elasticsearch and OpenSearch keep the first, and raise the second to this."""


class RefusedError(Exception):
    """The engine does not take the file."""


def require(condition, message):
    if not condition:
        raise RefusedError(message)


def single(values):
    """To float32, where a large number becomes infinite."""
    with np.errstate(over="ignore"):
        return np.float32(values)


def parsed(text):
    """
    JSON as Jackson reads it for Elasticsearch and OpenSearch.

    JsonXContentImpl (elasticsearch main, libs/x-content): STRICT_DUPLICATE_DETECTION is on, ALLOW_NON_NUMERIC_NUMBERS is not.
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
        groups = [one.values() if isinstance(one, dict) else one for one in todo if isinstance(one, dict | list)]
        todo = [child for group in groups for child in group]
    return found


def keys(found, *, required=(), optional=(), of):
    """Reject what a strict ObjectParser rejects: another kind of value, unknown keys, and keys that are not there."""
    require(isinstance(found, dict), f"[{of}] is no object")
    for name in found:
        require(name in required or name in optional, f"[{of}] unknown field [{name}]")
    for name in required:
        require(name in found, f"[{of}] lacks [{name}]")


def number(value, of):
    """As ``declareFloat`` and ``declareDouble`` take it: a number, or a string that Java reads as one."""
    require(isinstance(value, int | float | str) and not isinstance(value, bool), f"[{of}] is no number")
    try:
        return float(value)
    except ValueError as error:
        raise RefusedError(f"[{of}] is no number") from error


@dataclass(frozen=True)
class Split:
    """A node: ``goes_left`` of the values of a feature, and a child that is a split or the value of a leaf."""

    feature: int
    goes_left: Callable
    left: object
    right: object


def leaf_of(node, X):
    """The value of the leaf that each row reaches."""
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
