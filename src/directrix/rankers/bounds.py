"""Constraints of users (bounds of weights, directions of features), by column and in JSON types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from directrix.errors import InputError, short_text
from directrix.objectives.penalty import Bounds
from directrix.rankers.inputs import Training, column_of
from directrix.types import Array, Float64Array

CONSTRAINTS = ("bounds", "monotone")
"""The parameters of rankers that are constraints, each by feature or None."""


def directions_of(monotone: Any, training: Training) -> Array:
    """Return 1 for each scaled column that may only raise a score, -1 for one that may only lower it, else 0.

    Raises `InputError` if ``monotone`` names an unknown feature, or one twice, or has another direction.
    """
    signs = np.zeros(training.n_given, dtype=np.int64)
    for column, name, sign in _by_column("monotone", monotone, training):
        if isinstance(sign, bool) or sign not in (1, -1):
            raise InputError(
                f"monotone has {short_text(sign)} for {name!r}; a direction is 1, the score never falls "
                "where the feature rises, or -1, it never rises."
            )
        signs[column] = sign
    # Every scale is increasing, so all columns of a feature have its direction.
    return np.tile(signs, training.n_columns)


def weight_bounds(bounds: Any, monotone: Any, training: Training) -> Bounds | None:
    """Return the bounds of one weight for each scaled column; None if there are no constraints.

    Raises `InputError` if they name an unknown feature, or one twice, or no number is within bounds.
    """
    if not bounds and not monotone:
        return None
    low, high = np.full(training.n_given, -np.inf), np.full(training.n_given, np.inf)
    if isinstance(bounds, str):
        low[:] = 0.0
    else:
        for column, name, pair in _by_column("bounds", bounds, training):
            low[column], high[column] = _interval(name, pair)
    low, high = np.tile(low, training.n_columns), np.tile(high, training.n_columns)
    low, high = _signed(low, high, directions_of(monotone, training))
    empty = np.flatnonzero(low > high)
    if len(empty):
        column = int(empty[0]) % training.n_given
        name = column if training.names is None else training.names[column]
        raise InputError(
            f"bounds and monotone contradict each other: no weight of feature {name!r} satisfies both; "
            "change one of them."
        )
    return Bounds(low, high)


def _signed(low: Float64Array, high: Float64Array, signs: Array) -> tuple[Float64Array, Float64Array]:
    """Limits that also keep the sign of these weights; 0 allows any."""
    return np.where(signs > 0, np.maximum(low, 0.0), low), np.where(signs < 0, np.minimum(high, 0.0), high)


def network_bounds(model: Any, monotone: Any, training: Training) -> Bounds | None:
    r"""Return the bounds that make a network monotone in some features; None if there are none.

    The weights of a feature in the first layer, and in the linear term, are >= 0 if it must raise the score,
    and <= 0 if it must lower it. All weights of later layers are >= 0; biases are free. Since activations are
    increasing, the scores are too.
    """
    if not monotone:
        return None
    # Signs are written into a vector of parameters through the views of its layers; 0 leaves a weight free.
    signs, n = directions_of(monotone, training), training.queries.n_features
    of_params = np.zeros(model.n_params(n))
    first, *later = model.layers(of_params, n)
    first.weights[:] = signs[:, None]
    for layer in later:
        layer.weights[:] = 1.0
    if model.residual:
        later[-1].weights[model.hidden[-1] :] = signs[:, None]
    return Bounds(*_signed(np.full(len(of_params), -np.inf), np.full(len(of_params), np.inf), of_params))


def _by_column(parameter: str, constraint: Mapping[Any, Any] | None, training: Training) -> list[Any]:
    """Columns that a constraint names, with the name and the value; each column once."""
    names = training.names or ()
    rows = [
        (column_of(name, names, training.n_given, parameter), name, value)
        for name, value in (constraint or {}).items()
    ]
    seen: dict[int, Any] = {}
    for column, name, _ in rows:
        if column in seen:
            raise InputError(
                f"{parameter} names one feature twice, as {seen[column]!r} and {name!r}; give it once."
            )
        seen[column] = name
    return rows


def _interval(name: Any, limits: Any) -> tuple[float, float]:
    try:
        low, high = limits
        low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
        valid = low <= high and low < np.inf and high > -np.inf
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise InputError(
            f"bounds has {short_text(limits)} for {name!r}; two numbers are needed, the lower one first, or "
            "None for no limit, e.g. (0, None); equal ones fix the weight."
        )
    return low, high


def to_entries(value: Any) -> Any:
    """Return a constraint as a model file holds it: a list of [feature, bounds or direction]."""
    if not isinstance(value, dict):
        return value
    return [[_plain(name), _plain(entry)] for name, entry in value.items()]


def _plain(value: Any) -> Any:
    """JSON types; None for an infinite limit."""
    if isinstance(value, tuple | list):
        return [_plain(limit) for limit in value]
    return None if isinstance(value, float | np.floating) and np.isinf(value) else value


def from_entries(parameter: str, stored: Any) -> Any:
    """Read the result of `to_entries`; `InputError` for anything else."""
    if not isinstance(stored, list):
        return stored
    rows = [tuple(row) for row in stored if isinstance(row, list) and len(row) == 2]
    if len(rows) < len(stored) or not all(type(name) in (int, str) for name, _ in rows):
        raise InputError(
            f"{parameter} is {short_text(stored)}; a list of [name or number of a feature, value] is needed."
        )
    return {name: tuple(value) if isinstance(value, list) else value for name, value in rows}
