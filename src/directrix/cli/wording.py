"""What the library advises, in words that can be typed in a shell."""

from __future__ import annotations

__all__ = ["for_the_shell"]

_WORDS = (
    ("and no doc_ids were given", "and the data have none"),
    (
        "Leave out convention= for those, or use evaluate_conventions, which leaves them out.",
        "Leave out --convention for those, or see `directrix evaluate --convention all`.",
    ),
    ("Type e.g. models=['linear']", "Type e.g. --model linear"),
    ("Leave those out, or convention=.", "Leave those out, or --convention."),
    ("draw from the grid: search='random'", "draw from the grid: --search random"),
    ("for a fold tests, the next one chooses, the rest train. Type k=3, say", "type e.g. --folds 3"),
    ("scale the features (scale='standard')", "scale the features (--scale standard)"),
)


def for_the_shell(message: str) -> str:
    """Return an error's text with Python's arguments replaced by options of the command."""
    for python, shell in _WORDS:
        message = message.replace(python, shell)
    return message
