"""Surrogates from their printed form: ``surrogate(repr(s)) == s``."""

from __future__ import annotations

import ast
import difflib
from typing import Any

from directrix.errors import InputError
from directrix.surrogates import (
    approx,
    approx_cascade,
    approx_measure,
    approx_pairs,
    dorm,
    lambdas,
    listwise,
    pairwise,
    pointwise,
    smooth,
    soft,
    structural,
)
from directrix.types import Surrogate

__all__ = ["SURROGATES", "surrogate"]

_FAMILIES = (
    approx,
    approx_cascade,
    approx_pairs,
    approx_measure,
    smooth,
    soft,
    lambdas,
    pairwise,
    listwise,
    pointwise,
    structural,
    dorm,
)
SURROGATES: dict[str, type[Any]] = {
    name: getattr(family, name) for family in _FAMILIES for name in family.__all__
}
"""Every surrogate that can be written as text."""


def surrogate(text: str | Surrogate) -> Any:
    """Return the surrogate that a text names.

    Parameters
    ----------
    text : str or Surrogate
        ``"ApproxNDCG"`` or ``"ApproxNDCG(alpha=50, k=10)"``; names in any case, arguments as
        Python literals. A surrogate is returned as it is.

    Raises
    ------
    InputError
        If the name or an argument is unknown, or the text is not of that form.

    Examples
    --------
    >>> surrogate("ApproxNDCG(alpha=50.0)")
    ApproxNDCG(alpha=50.0, k=None, beta=10.0, sigmoid='logistic')
    """
    if not isinstance(text, str):
        return text
    form = 'a name with optional arguments, e.g. "ApproxNDCG(alpha=50.0)"'
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        arguments = [ast.literal_eval(value) for value in call.args]
        keywords = {word.arg or "": ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError) as error:
        raise InputError(f"surrogate {text!r} cannot be read: {error}. Needed: {form}.") from None
    by_name = {known.lower(): kind for known, kind in SURROGATES.items()}
    if name.lower() not in by_name:
        near = difflib.get_close_matches(name, SURROGATES, n=1, cutoff=0.0)
        raise InputError(
            f"there is no surrogate {name or text!r}; did you mean {near[0]!r}? "
            f"Known: {', '.join(SURROGATES)}. Needed: {form}."
        )
    kind = by_name[name.lower()]
    try:
        return kind(*arguments, **keywords)
    except TypeError as error:
        raise InputError(f"surrogate {text!r}: {error}. Known fields: {_fields(kind)}.") from None


def _fields(kind: type[Any]) -> str:
    return ", ".join(f"{name}={field.default!r}" for name, field in kind.__dataclass_fields__.items())
