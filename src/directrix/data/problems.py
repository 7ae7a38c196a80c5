"""All problems of a file in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from directrix.errors import InputError

_SHOWN = 20


class Problem(NamedTuple):
    """One bad line: where, what arrived, and what to do about it."""

    line: int
    """From 1."""
    what: str
    """What arrived and what is needed."""
    remedy: str
    """What to type next."""
    shell: str = ""
    """What to type in a shell instead; "" = the same."""


def raise_problems(path: object, problems: Sequence[Problem], n_problems: int | None = None) -> None:
    """Raise `InputError` with the first 20 problems and the number of the others, if there are any.

    ``n_problems`` is the number of all of them, where ``problems`` holds only some.
    """
    if not problems:
        return
    n = len(problems) if n_problems is None else n_problems
    shown = sorted(problems)[:_SHOWN]
    lines = [f"{path}:{problem.line}: {problem.what}" for problem in shown]
    text, gap = f"{lines[0]}.", ""
    if n > 1:
        more = [f"... and {n - len(shown):,} more"] if n > len(shown) else []
        text, gap = "\n  ".join([f"{path}: {n:,} lines cannot be used:", *lines, *more]), "\n"
    python = " ".join(dict.fromkeys(problem.remedy for problem in shown))
    shell = " ".join(dict.fromkeys(problem.shell or problem.remedy for problem in shown))
    raise InputError(text, python=gap + python, shell=gap + shell)
