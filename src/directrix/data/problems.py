"""All problems of a file in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from directrix.errors import InputError

__all__ = ["Problem", "raise_problems"]

_SHOWN = 20


class Problem(NamedTuple):
    """One bad line: where, what arrived, and what to do about it.

    Parameters
    ----------
    line : int
        From 1.
    what : str
        What arrived and what is needed.
    remedy : str
        What to type next.
    """

    line: int
    what: str
    remedy: str


def raise_problems(path: object, problems: Sequence[Problem], n_problems: int) -> None:
    """Raise `InputError` with the first 20 of them and the number of the others, if there are any."""
    if not problems:
        return
    shown = sorted(problems)[:_SHOWN]
    remedies = " ".join(dict.fromkeys(problem.remedy for problem in shown))
    if n_problems == 1:
        raise InputError(f"{path}:{shown[0].line}: {shown[0].what}. {remedies}")
    lines = [f"  {path}:{problem.line}: {problem.what}" for problem in shown]
    if n_problems > len(shown):
        lines.append(f"  ... and {n_problems - len(shown):,} more")
    raise InputError("\n".join([f"{path}: {n_problems:,} lines cannot be used:", *lines, remedies]))
