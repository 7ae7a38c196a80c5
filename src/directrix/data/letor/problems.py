"""What can be wrong with a line of svmlight text, in words."""

from __future__ import annotations

from directrix.data._kernels import letor as codes
from directrix.data.options import IF_MISSING
from directrix.data.problems import Problem

_SHAPE = "Each line reads `label qid:ID index:value ... # comment`."
_NUMBER = "Correct the line or remove it. " + _SHAPE
_ORDER = "Write the indices of each line in increasing order, once each. " + _SHAPE

_TEXTS: dict[int, tuple[str, ...]] = {  # what is wrong, the remedy, and the remedy in a shell if it differs
    codes.LABEL: ("the label is {token}, not a number", _NUMBER),
    codes.LABEL_RANGE: (
        "the label is {token}; labels are finite and >= 0",
        "Shift the labels so that the lowest is 0, e.g. -1/1 to 0/1.",
    ),
    codes.LABEL_LARGE: (
        "the label is {token}; labels are finite and >= 0",
        "Write the highest grade of the scale instead, e.g. 4.",
    ),
    codes.NO_QID: (
        "no qid: {token} follows the label, where `qid:ID` is needed",
        "Add qid:ID to every line, or give the number of lines of each query: groups='FILE.query'.",
        "Add qid:ID to every line, or write the number of lines of each query to a file of the same "
        "name with .query appended.",
    ),
    codes.QID: (
        "the query is {token}; files need an integer of 64 bits, e.g. qid:7",
        "Number the queries, or build Queries.from_arrays(X, y, qid=...), which takes any identifiers.",
        "Number the queries in the file first.",
    ),
    codes.QID_AND_GROUPS: (
        "{token} names a query, though the queries come from group sizes",
        "Leave out groups= (or move the .query file away), or remove the qid from every line.",
        "Move the .query file away, or remove the qid from every line.",
    ),
    codes.FEATURE: ("{token} is no feature; `index:value` is needed", _NUMBER),
    codes.INDEX_ZERO: (
        "the feature index of {token} is below the first one, 1",
        "If the file counts features from 0: index_base=0.",
        "If the file counts features from 0, add 1 to each.",
    ),
    codes.INDEX_ORDER: ("the feature index of {token} is lower than the one before it", _ORDER),
    codes.INDEX_DOUBLE: ("the feature index of {token} occurs twice", _ORDER),
    codes.INDEX_RANGE: ("the feature index of {token} is too large; at most 2147483647 is possible", _NUMBER),
    codes.VALUE: ("the value of {token} is not a number", _NUMBER),
    codes.VALUE_MISSING: (
        "the value of {token} is missing; a finite number is needed",
        IF_MISSING["python"],
        IF_MISSING["shell"],
    ),
    codes.VALUE_INFINITE: ("the value of {token} is infinite; a finite number is needed", _NUMBER),
    codes.VALUE_RANGE: (
        "the value of {token} is too large for {dtype}",
        "Rescale the feature; dtype=numpy.float64 holds values up to 1.8e308.",
        "Rescale the feature.",
    ),
}


def problem_of(line: int, code: int, token: bytes, dtype: str) -> Problem:
    """Return a problem from the code that the kernel gave it and the text that it points at."""
    text = token[:60].decode("utf-8", "replace")
    shown = repr(text[:40] + "..." if len(text) > 40 else text) if text else "the end of the line"
    what, *remedies = _TEXTS[code]
    return Problem(line, what.format(token=shown, dtype=dtype), *remedies)
