"""Text of the form ``NAME(value, field=value)``, as ``repr`` writes measures, surrogates and trainers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

NOT_A_CALL = (SyntaxError, ValueError, MemoryError, RecursionError)
"""Errors that `parse_call` raises for a text of another form."""


class Call(NamedTuple):
    """A call that was read from text.

    Parameters
    ----------
    name : str
        Empty if the text calls something without a name of its own, e.g. ``module.Name()``.
    arguments : list
        Values without a field, in order.
    fields : dict
        Values by field.
    """

    name: str
    arguments: list[Any]
    fields: dict[str, Any]


def parse_call(text: str, value: Callable[[ast.expr], Any] = ast.literal_eval) -> Call:
    """Read ``NAME``, or ``NAME(value, field=value)``.

    Parameters
    ----------
    text : str
    value : callable
        Turns the syntax tree of each value into the value; the default accepts Python literals.

    Raises
    ------
    SyntaxError, ValueError, MemoryError, RecursionError
        If the text has another form (`NOT_A_CALL`); and whatever ``value`` raises.

    Examples
    --------
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
