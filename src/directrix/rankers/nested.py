"""Fields of frozen values as parameters of their owner: ``surrogate__alpha``, ``trainer__max_iter``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from directrix.errors import InputError


def nested_parameters(name: str, value: Any) -> dict[str, Any]:
    """Fields of a dataclass, and of the dataclasses in it: ``{"trainer__trainer__max_iter": 200, ...}``."""
    parameters: dict[str, Any] = {}
    for field, inner in _fields(value).items():
        parameters[f"{name}__{field}"] = inner
        parameters |= nested_parameters(f"{name}__{field}", inner)
    return parameters


def with_nested(name: str, value: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of a dataclass with other fields; ``value`` itself if nothing changes.

    ``changes`` are by field, or by the path to a field of a dataclass in it: ``"trainer__max_iter"``.
    """
    current = _fields(value)
    if not current:
        raise InputError(
            f"{name}={value!r} has no parameters that could be set; give an object that has them, e.g. "
            "surrogate=ApproxNDCG(alpha=5.0) or trainer=LBFGS(max_iter=50)."
        )
    new: dict[str, Any] = {}
    inner: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for path, entry in changes.items():
        field, _, rest = path.partition("__")
        if field not in current:
            raise InputError(
                f"{name}__{field}: {value!r} does not have this parameter; it has "
                f"{', '.join(current)}. Type ranker.get_params() to see all names."
            )
        if rest:
            inner[field][rest] = entry
        else:
            new[field] = entry
    for field, more in inner.items():
        new[field] = with_nested(f"{name}__{field}", new.get(field, current[field]), more)
    # Equal values keep the given object, and so a name such as "ListNet" stays a text in the parameters.
    is_same = all(
        type(new[field]) is type(current[field]) and repr(new[field]) == repr(current[field]) for field in new
    )
    return value if is_same else replace(value, **new)


def _fields(value: Any) -> dict[str, Any]:
    """Name and value of what `dataclasses.replace` takes; empty for anything else than a dataclass."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
