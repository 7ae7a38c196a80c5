"""Text of the form ``NAME(value, field=value)``, as ``repr`` writes measures, surrogates and trainers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

NOT_A_CALL = (SyntaxError, ValueError, MemoryError, RecursionError)
"""Errors that `parse_call` raises for a text of another form."""


class Call(NamedTuple):
    """A call that was read from text."""

    name: str
    """Empty if the text calls something without a name of its own, e.g. ``module.Name()``."""
    arguments: list[Any]
    """Values without a field, in order."""
    fields: dict[str, Any]
    """Values by field."""


def parse_call(text: str, value: Callable[[ast.expr], Any] = ast.literal_eval) -> Call:
    """Read ``NAME``, or ``NAME(value, field=value)``; raises `NOT_A_CALL` if the text has another form.

    ``value`` turns the syntax tree of each value into the value, and may raise too; the default accepts
    Python literals.

    >>> parse_call("ApproxNDCG(50, k=10)")
    Call(name='ApproxNDCG', arguments=[50], fields={'k': 10})
    """
    return call_of(ast.parse(text.strip(), mode="eval").body, value)


def call_of(tree: ast.expr, value: Callable[[ast.expr], Any] = ast.literal_eval) -> Call:
    """Read a syntax tree as `parse_call` reads text: for values that are calls themselves."""
    call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
    return Call(
        call.func.id if isinstance(call.func, ast.Name) else "",
        [value(argument) for argument in call.args],
        {field.arg or "": value(field.value) for field in call.keywords},
    )
