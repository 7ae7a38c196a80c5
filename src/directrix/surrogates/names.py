"""Surrogates from their printed form: ``surrogate(repr(s)) == s``."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any

from directrix.errors import InputError, short_text
from directrix.parsing import UNREADABLE, parse_call
from directrix.registry import SURROGATES, load_class
from directrix.types import Surrogate

_FORM = 'a name with optional arguments, e.g. "ApproxNDCG(alpha=50.0)"'


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
    ApproxNDCG(alpha=50.0, k=None, beta=10.0, sigmoid='logistic', below=0.9)
    """
    if not isinstance(text, str):
        return text
    try:
        call = parse_call(text)
    except UNREADABLE as error:
        raise InputError(f"surrogate {short_text(text)} cannot be read: {error}. Needed: {_FORM}.") from None
    name = next((known for known in SURROGATES if known.lower() == call.name.lower()), None)
    if name is None:
        near = difflib.get_close_matches(call.name, SURROGATES, n=1, cutoff=0.0)
        raise InputError(
            f"there is no surrogate {call.name or text!r}; did you mean {near[0]!r}? "
            f"Known: {', '.join(SURROGATES)}. Needed: {_FORM}."
        )
    kind = load_class(SURROGATES, name)
    try:
        return kind(*call.arguments, **call.fields)
    except TypeError as error:
        known = ", ".join(f"{field.name}={field.default!r}" for field in fields(kind))
        raise InputError(f"surrogate {text!r}: {error}. Known fields: {known}.") from None
