"""Declared forms of JSON values, and the check of a value against its form.

============================  ==============================================================
form                          value
============================  ==============================================================
``str``, ``dict``, ...        of this type; ``float``: any finite number; ``object``: anything
``range(a, b)``               an integer in the range
``frozenset``                 one of these texts
``[form]``                    a list of such values
``{"a": form, "b?": form}``   an object with these entries and perhaps more; "b" may be absent
``{str: form}``               an object whose entries all have this form
``(form, None)``              null or such a value
============================  ==============================================================
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from directrix.errors import InputError, short_text

# A message lists at most this number of problems of a file.
_MOST_PROBLEMS = 5
# A comparison with the largest float rejects NaN, infinities, and integers that no float holds.
_LARGEST = sys.float_info.max
_NAMES = {str: "text", dict: "an object", list: "a list", float: "a finite number", bool: "true or false"}


def check(value: Any, form: Any, where: str = "") -> None:
    """Raise `InputError` unless a value has a form; ``where`` is the path of the value in its file."""
    problems = list(islice(_problems(value, form, where), _MOST_PROBLEMS))
    if problems:
        raise InputError("; ".join(problems) + ".")


def _problems(value: Any, form: Any, where: str) -> Iterator[str]:
    if isinstance(form, tuple):
        if value is not None:
            yield from _problems(value, form[0], where)
    elif isinstance(form, dict):
        yield from _of_object(value, form, where)
    elif isinstance(form, list):
        if not isinstance(value, list):
            yield f"{where} is {short_text(value)}, must be a list"
        # Lists of numbers may be long, so the cheap test of the whole list comes before a look at each
        # value.
        elif not _all_fit(value, form[0]):
            for place, entry in enumerate(value):
                yield from _problems(entry, form[0], f"{where}[{place}]")
    elif not _fits(value, form):
        yield f"{where} is {short_text(value)}, must be {_name(form)}"


def _of_object(value: Any, form: dict[Any, Any], where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where or 'the file'} is {short_text(value)}, must be an object"
        return
    for key, entry_form in form.items():
        # The form `{str: form}` applies to every entry; a question mark marks an entry that may be absent.
        names = value if key is str else [key.removesuffix("?")]
        for name in names:
            path = f"{where}.{name}" if where else name
            if name in value:
                yield from _problems(value[name], entry_form, path)
            elif name == key:
                yield f"{path} is missing"


def _all_fit(values: list[Any], form: Any) -> bool:
    """Whether all fit; False where only a look at each can tell. Lists of numbers and of words are long."""
    kinds = set(map(type, values))
    if isinstance(form, range):
        return kinds <= {int} and (not values or (min(values) in form and max(values) in form))
    if form is str:
        return kinds <= {str}
    return form is float and kinds <= {int, float} and all(map(_is_finite, values))


def _fits(value: Any, form: Any) -> bool:
    if isinstance(form, frozenset):
        return isinstance(value, str) and value in form
    if isinstance(form, range):
        return type(value) is int and value in form
    if form is float:
        return type(value) in (int, float) and _is_finite(value)
    return isinstance(value, form)


# `math.isfinite` would raise an error for an integer that no float holds.
def _is_finite(value: float) -> bool:
    return -_LARGEST <= value <= _LARGEST


def _name(form: Any) -> str:
    if isinstance(form, frozenset):
        return f"one of {', '.join(map(repr, sorted(form)))}"
    if isinstance(form, range):
        return f"an integer from {form.start} to {form.stop - 1}"
    return _NAMES[form]
