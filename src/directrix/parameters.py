"""Checks of parameters: numbers within limits, choices, and one form of message."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from math import inf, isfinite, nan
from numbers import Integral, Real
from typing import Any

from directrix.errors import InputError, short_text

SMALLEST, _LARGEST = 1e-30, 1e30


def number(  # noqa: PLR0913
    value: Any,
    name: str,
    owner: str = "",
    *,
    above: float = -inf,
    least: float = -inf,
    below: float = inf,
    most: float = inf,
    example: float,
) -> float:
    """Return a number with ``above < value < below`` and ``least <= value <= most`` as a Python number.

    Integers remain integers. Raises `InputError` if the value is not a number, is NaN or infinite, or is
    outside a limit. The message calls the parameter ``name``, and its class or function ``owner``, and
    suggests ``example``.
    """
    given: Any = value if isinstance(value, Real) and not isinstance(value, bool) else nan
    try:
        is_within = isfinite(given) and above < given < below and least <= given <= most
    except OverflowError:  # an integer that no float holds
        is_within = False
    if is_within:
        return int(given) if isinstance(given, Integral) else float(given)
    limits = ((">", above), (">=", least), ("<", below), ("<=", most))
    wanted = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if abs(limit) < inf)
    raise _refusal(value, name, owner, f"a number {wanted}", f"{example!r}")


def positive(value: Any, name: str, owner: str = "", least: float = 0.0) -> float:
    """Return a steepness, smoothing or label as a Python number > 0.

    ``least`` is the smallest allowed value: `SMALLEST` for a divisor. Raises `InputError` if the value is not
    such a number, or so large (1e30) or small that float32 could not hold the results.
    """
    limits = {"least": least} if least else {"above": 0.0}
    return number(value, name, owner, **limits, most=_LARGEST, example=10.0)


def share(value: Any, name: str) -> float:
    """Return a number strictly between 0 and 1 as a Python number, or raise `InputError`."""
    return number(value, name, above=0.0, below=1.0, example=0.05)


def whole(
    value: Any, name: str, owner: str = "", *, least: int = 1, below: float = 2**31, example: int = 10
) -> int:
    """Return an integer, least <= value < below, as a Python integer, or raise `InputError`."""
    integer = isinstance(value, Integral) and not isinstance(value, bool)
    if integer and least <= value < below:
        return int(value)
    wanted = f"an integer >= {least}{' and < 2^31' if integer and value > least else ''}"
    raise _refusal(value, name, owner, wanted, f"{max(least, example)}")


def seed_number(value: Any) -> int:
    """Return a seed, an integer >= 0 of any size, as a Python integer, or raise `InputError`."""
    return whole(value, "seed", least=0, below=inf, example=0)


def check_choice(value: Any, name: str, choices: Iterable[str]) -> None:
    """Raise `InputError` unless a value is one of the choices."""
    if value not in (known := tuple(choices)):
        raise InputError(f"{name}={short_text(value)}: {name} must be one of {', '.join(known)}.")


def check_fields(owner: Any) -> None:
    """Check the fields of a frozen dataclass by their names; numbers become Python numbers.

    `CONSTRAINTS` has the checks of numbers, and ``owner.choices`` the allowed values of other fields; a field
    with a bool as default must be a bool. None is allowed if the type includes it. Raises `InputError`.
    """
    kind, choices = type(owner).__name__, getattr(owner, "choices", {})
    for field in fields(owner):
        name, value = field.name, getattr(owner, field.name)
        if value is None and "None" in str(field.type):
            continue
        is_flag = isinstance(field.default, bool)
        allowed = (True, False) if is_flag else choices.get(name, (value,))
        if (is_flag and not isinstance(value, bool)) or value not in allowed:
            raise _refusal(value, name, kind, " or ".join(map(repr, allowed)), repr(allowed[0]))
        if name in CONSTRAINTS:
            object.__setattr__(owner, name, CONSTRAINTS[name](value, name, kind))


def _constraints(names: str, check: Callable[..., Any], **limits: Any) -> dict[str, Callable[..., Any]]:
    return dict.fromkeys(names.split(), partial(check, **limits))


CONSTRAINTS = {
    **_constraints("alpha beta rel", positive),
    **_constraints("sigma scale margin mu noise temperature", positive, least=SMALLEST),
    **_constraints("below average", number, least=0.0, below=1.0, example=0.9),
    **_constraints("decay shrink step subsample feature_fraction", number, above=0.0, most=1.0, example=0.8),
    **_constraints("shrink_chance", number, least=0.0, most=1.0, example=0.3),
    **_constraints("factor", number, above=0.0, below=1.0, example=0.5),
    **_constraints("anneal", number, least=1.0, example=4096.0),
    **_constraints("tol ftol", number, least=0.0, example=1e-6),
    **_constraints("l2", number, least=0.0, example=1.0),
    **_constraints("C spread", number, above=0.0, example=1.0),
    **_constraints("epsilon", number, above=0.0, example=1e-3),
    **_constraints("learning_rate", number, above=0.0, example=0.01),
    **_constraints("num_leaves max_bin", whole, least=2, example=15),
    **_constraints("draw seed", whole, least=0, example=0),
    **_constraints(
        "k l_max permutations samples max_iter epochs batch rounds memory steps n restart_after "
        "candidates patience repeats n_trees n_bags min_data_in_leaf",
        whole,
    ),
}
"""Checks of the fields of surrogates and trainers, by name."""


def _refusal(value: Any, name: str, owner: str, wanted: str, example: str) -> InputError:
    def call(given: str) -> str:
        return f"{owner}({name}={given})" if owner else f"{name}={given}"

    return InputError(f"{call(short_text(value))}: {name} must be {wanted}; type e.g. {call(example)}.")
