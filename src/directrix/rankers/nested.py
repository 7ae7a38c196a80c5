"""Fields of surrogates and trainers as parameters: ``surrogate__alpha``, ``trainer__max_iter``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from directrix.errors import InputError


class NestedParameters(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator with parameters that are frozen values, whose fields are parameters too."""

    nested: ClassVar[tuple[str, ...]] = ()
    """Names of these parameters."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - as in scikit-learn
        """Return the constructor's parameters, and with ``deep`` those of surrogate and trainer.

        Parameters
        ----------
        deep : bool
            Also ``surrogate__alpha``, ``trainer__max_iter``, ``trainer__trainer__max_iter`` and so on. A
            surrogate that is None or text has the parameters of the surrogate that it means, a trainer by
            name those of the trainer that ``fit`` makes of it.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        for name in self.nested if deep else ():
            try:
                value = self._value_of(name)
            except (ValueError, TypeError, LookupError, OverflowError):  # fit says what is wrong with it
                continue
            params |= _nested_parameters(name, value)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ranker, its surrogate and its trainer: ``set_params(surrogate__alpha=5.0)``.

        Surrogates and trainers are replaced by changed copies; the objects that were given stay as they are.

        Raises
        ------
        InputError
            If surrogate or trainer does not have a parameter of this name, or refuses the value.
        ValueError
            If the constructor does not have a parameter of this name.
        """
        changes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key in list(params):
            name, _, path = key.partition("__")
            if path and name in self.nested:
                changes[name][path] = params.pop(key)
        super().set_params(**params)
        for name, more in changes.items():
            value = self._value_of(name)
            changed = _with_nested(name, value, more)
            if changed is not value:
                setattr(self, name, changed)
        return self

    def _value_of(self, name: str) -> Any:
        """The object that a parameter of `nested` means, where it may be None or text."""
        return getattr(self, name)


def _nested_parameters(name: str, value: Any) -> dict[str, Any]:
    """Fields of a dataclass, and of the dataclasses in it: ``{"trainer__trainer__max_iter": 200, ...}``."""
    parameters: dict[str, Any] = {}
    for field, inner in _fields(value).items():
        parameters[f"{name}__{field}"] = inner
        parameters |= _nested_parameters(f"{name}__{field}", inner)
    return parameters


def _with_nested(name: str, value: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of a dataclass with other fields; ``value`` itself if nothing changes.

    ``changes`` are by field, or by the path to a field of a dataclass in it: ``"trainer__max_iter"``.
    """
    known = _fields(value)
    if not known:
        raise InputError(
            f"{name}={value!r} has no parameters that could be set; give an object that has them, e.g. "
            "surrogate=ApproxNDCG(alpha=5.0) or trainer=LBFGS(max_iter=50)."
        )
    new: dict[str, Any] = {}
    inner: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for path, given in changes.items():
        field, _, rest = path.partition("__")
        if field not in known:
            raise InputError(
                f"{name}__{field}: {value!r} does not have this parameter; it has "
                f"{', '.join(known)}. Type ranker.get_params() to see all names."
            )
        if rest:
            inner[field][rest] = given
        else:
            new[field] = given
    for field, more in inner.items():
        new[field] = _with_nested(f"{name}__{field}", new.get(field, known[field]), more)
    is_same = all(
        type(new[field]) is type(known[field]) and repr(new[field]) == repr(known[field]) for field in new
    )
    return value if is_same else replace(value, **new)


def _fields(value: Any) -> dict[str, Any]:
    """Name and value of what `dataclasses.replace` takes; empty for anything else than a dataclass."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
