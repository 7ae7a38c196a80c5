"""What the library advises, in words that can be typed in a shell."""

from __future__ import annotations

__all__ = ["for_the_shell"]

_WORDS = (
    ("read with missing='zero' (0) or missing='nan' (NaN, for models that take it)", "add --missing zero"),
    (
        "give the number of lines of each query: groups='FILE.query'",
        "write the number of lines of each query to a file of the same name with .query at its end",
    ),
    ("Leave out groups= (or move the .query file away)", "Move the .query file away"),
    ("Give the file that belongs to it: groups='...'", "Put the file that belongs to it in its place"),
    ("If the file counts features from 0: index_base=0", "If the file counts features from 0, add 1 to each"),
    (", or build Queries.from_arrays(X, y, qid=...), which takes any identifiers", " in the file first"),
    ("; dtype=numpy.float64 holds values up to 1.8e308", ""),
    ("type sparse=True", "it needs a machine with more memory"),
    ("Type scale='standard' (which only divides CSR features), scale=None,", "Type --scale standard,"),
    (" or read the file with sparse=False", " or leave out --scale"),
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
