"""Reject what is not `Queries`, or not `Data`."""

from __future__ import annotations

from typing import Any

from directrix.data.queries import Queries
from directrix.errors import InputError, short_text


def need_queries(given: Any, where: str) -> None:
    """Raise `InputError` unless this is `Queries`; ``where`` is the function that got it."""
    if not isinstance(given, Queries):
        raise InputError(
            f"{where} got {short_text(given)}, a {type(given).__name__}; Queries are needed. Type "
            "directrix.Queries.from_arrays(X, y, qid=qid), or directrix.read_letor(path)."
        )


def need_data(given: Any, where: str) -> None:
    """Raise `InputError` unless this fulfills `directrix.types.Data`."""
    if not hasattr(given, "held"):
        need_queries(given, where)
