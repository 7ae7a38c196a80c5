"""``--set key=value``, and mistakes of usage as exit status 2."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from directrix.cli.wording import for_the_shell
from directrix.errors import InputError

__all__ = ["parse_settings", "usage"]


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Read ``key=value`` texts; values are Python literals, anything else stays text.

    Raises
    ------
    InputError
        If a text has no ``=``, or a key appears twice.
    """
    settings: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.isidentifier():
            raise InputError(f"--set {text!r}: is not KEY=VALUE; type e.g. --set alpha=50.")
        if key in settings:
            raise InputError(f"--set {key}: is given twice; give it once.")
        try:
            settings[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            settings[key] = {"true": True, "false": False, "none": None}.get(value.lower(), value)
    return settings


@contextmanager
def usage() -> Iterator[None]:
    """Report what is wrong with an option, not with the data, as wrong usage."""
    try:
        yield
    except (ValueError, TypeError) as error:  # InputError and scikit-learn's parameter errors are ValueErrors
        message = error.in_shell if isinstance(error, InputError) else str(error)
        raise typer.BadParameter(for_the_shell(message)) from None
