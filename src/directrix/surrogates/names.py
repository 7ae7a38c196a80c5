"""Surrogates from their printed form: ``surrogate(repr(s)) == s``."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from directrix.errors import InputError, short_text
from directrix.parsing import (
    IN_MODULE,
    UNREADABLE,
    Call,
    build,
    call_of,
    import_named,
    parse_tree,
    unknown_name,
)
from directrix.registry import SURROGATES, load_class
from directrix.types import Surrogate

_FORM = 'a name with optional arguments, e.g. "ApproxNDCG(alpha=50.0)"'


def surrogate(text: str | Surrogate) -> Any:
    """Return the surrogate that a text names.

    Parameters
    ----------
    text : str or Surrogate
        ``"ApproxNDCG"`` or ``"ApproxNDCG(alpha=50, k=10)"``; names in any case, arguments as
        Python literals. A surrogate is returned unchanged.

    Raises
    ------
    InputError
        If the name or an argument is unknown, or the text is not of that form.

    Examples
    --------
    >>> surrogate("ApproxNDCG(alpha=50.0)")
    ApproxNDCG(alpha=50.0, k=None, beta=10.0, sigmoid='logistic', below=0.0)
    """
    if not isinstance(text, str):
        return text
    if named := IN_MODULE.fullmatch(text):
        raise InputError(
            f"surrogate {short_text(text)} is your own: no text or model file imports the module "
            f"{named[1]!r}. Pass the object, e.g. ranker.set_params(surrogate={named[2].strip()})."
        )
    call = _call(text, text)
    kinds = {name.lower(): name for name in SURROGATES}
    if call.name.lower() not in kinds:
        raise unknown_name(call.name, SURROGATES, "surrogate", text)
    return build(load_class(SURROGATES, kinds[call.name.lower()]), call, text)


def typed_surrogate(text: str) -> Any:
    """Return the surrogate that a user typed: as `surrogate`, or ``module:Name``, whose code is run."""
    named = IN_MODULE.fullmatch(text)
    if named is None:
        return surrogate(text)
    call = _call(named[2], text)
    # Only text that a user typed may import a module; `surrogate` also reads model files.
    value = import_named(named[1], call.name, f"surrogate {text!r}", "e.g. my_loss:MyLoss")
    if not (is_dataclass(value) and hasattr(value, "value_and_grad")):
        raise InputError(
            f"surrogate {text!r} must be a dataclass with value_and_grad, or an object of one, got "
            f"{short_text(value)}. Type e.g. my_loss:MyLoss."
        )
    return build(value, call, text)


def _call(text: str, whole: str) -> Call:
    try:
        return call_of(parse_tree(text))
    except UNREADABLE as error:
        raise InputError(f"surrogate {short_text(whole)} cannot be read: {error}. Needed: {_FORM}.") from None
