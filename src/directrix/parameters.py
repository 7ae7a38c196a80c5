"""Checks of parameters: numbers within limits, words, objects, and one form of message.

The fields of a dataclass go in (a measure, a surrogate, a trainer, a ranker), and an `InputError` comes out
for the first field that cannot be what it is:

    check_fields(NDCG(k=10))  # as every measure does when it is made
    number(0.5, "p", "RBP", above=0.0, below=1.0, example=0.8)  # one number: returned as a Python number
    check_choice("ips", "estimator", ("naive", "ips"))  # one word
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache, partial
from math import inf, isfinite, nan
from numbers import Integral, Real
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from directrix.errors import InputError, in_words, short_text

Checks = Mapping[str, Callable[[Any, str, str], Any]]
"""For the fields of a class: functions of the value, its name and the class, which return it or raise."""

# Outside this range float32 could not hold the results of a steepness or a smoothing.
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
    checked: Any = value if isinstance(value, Real) and not isinstance(value, bool) else nan
    try:
        is_within = isfinite(checked) and above < checked < below and least <= checked <= most
    except OverflowError:
        # No float holds this integer, so it is outside of any range.
        is_within = False
    if is_within:
        return int(checked) if isinstance(checked, Integral) else float(checked)
    limits = ((">", above), (">=", least), ("<", below), ("<=", most))
    wanted = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if abs(limit) < inf)
    raise refusal(value, name, owner, f"a number {wanted}", f"{example!r}")


def positive(value: Any, name: str, owner: str = "", least: float = 0.0, example: float = 10.0) -> float:
    """Return a steepness, smoothing or label as a Python number > 0.

    ``least`` is the smallest allowed value: `SMALLEST` for a divisor. Raises `InputError` if the value is not
    such a number, or so large (1e30) or small that float32 could not hold the results.
    """
    limits = {"least": least} if least else {"above": 0.0}
    return number(value, name, owner, **limits, most=_LARGEST, example=example)


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
    limit = "< 2^31" if below == 2**31 else f"< {below}"
    wanted = f"an integer >= {least}{f' and {limit}' if integer and value > least else ''}"
    raise refusal(value, name, owner, wanted, f"{max(least, example)}")


def seed_number(value: Any) -> int:
    """Return a seed, an integer >= 0 of any size, as a Python integer, or raise `InputError`."""
    return whole(value, "seed", least=0, below=inf, example=0)


def check_choice(value: Any, name: str, choices: Iterable[str]) -> None:
    """Raise `InputError` unless a value is one of the choices."""
    if value not in (listed := tuple(choices)):
        raise InputError(f"{name}={short_text(value)}: {name} must be one of {', '.join(listed)}.")


def option(  # noqa: PLR0913
    value: Any,
    name: str,
    owner: str = "",
    *,
    words: Iterable[str] = (),
    types: tuple[type, ...] = (),
    methods: tuple[str, ...] = (),
    arrays: bool = False,
    wanted: str = "",
    example: str,
) -> Any:
    """Return a value that is one of the words, of one of the types, has all of the methods, or is an array.

    Raises `InputError` otherwise; ``wanted`` says in the message what else it may be.
    """
    is_word = isinstance(value, str) and value in words
    has_methods = bool(methods) and all(hasattr(value, method) for method in methods)
    is_array = arrays and hasattr(value, "__len__") and not isinstance(value, str | dict)
    if is_word or isinstance(value, types) or has_methods or is_array:
        return value
    listed = [*map(repr, sorted(words)), *filter(None, [wanted])]
    raise refusal(value, name, owner, in_words(listed, "or"), example)


@cache
def literal_words(kind: type) -> dict[str, tuple[Any, ...]]:
    """Return the words that each field of a class may hold: those of its annotation as a ``Literal``."""
    try:
        hints = get_type_hints(kind)
    except NameError:
        # A class that a user defined within a function may name types that only the function knows.
        return {}
    words = {}
    for name, hint in hints.items():
        members = (hint,) if get_origin(hint) is Literal else get_args(hint)
        if members and all(get_origin(member) is Literal or member is NoneType for member in members):
            words[name] = tuple(word for member in members for word in get_args(member))
    return words


def check_fields(owner: Any) -> None:
    """Check the fields of a dataclass: of a measure, a surrogate, a trainer or a ranker.

    A field whose annotation is a ``Literal`` holds one of its words, and one with a bool as default a bool.
    All others are checked by name: by ``owner.checks``, which is `CHECKS` where a class does not say
    otherwise. None is allowed as default, and if the annotation includes it. Numbers of frozen classes become
    those of Python; a ranker keeps what it was given, as scikit-learn requires. Raises `InputError`.
    """
    kind = type(owner)
    # A class without a table of its own uses the common one. The cache of `literal_words` needs hashable
    # arguments, and classes are.
    checks, words = getattr(kind, "checks", CHECKS), literal_words(kind)  # type: ignore[arg-type]
    for field in fields(owner):
        name, stored = field.name, getattr(owner, field.name)
        # None means "not set" where the default or the annotation allows it.
        if stored is None and (field.default is None or "None" in str(field.type)):
            continue
        # A NumPy scalar becomes a Python number, because it is shown in `repr` and saved as JSON.
        value = stored.item() if isinstance(stored, np.generic) else stored
        is_flag = isinstance(field.default, bool)
        allowed = (True, False) if is_flag else words.get(name)
        # 1 equals True, so a flag needs a test of its type as well.
        if allowed and (value not in allowed or (is_flag and not isinstance(value, bool))):
            raise refusal(value, name, kind.__name__, in_words(map(repr, allowed), "or"), repr(allowed[0]))
        if not allowed and name in checks:
            value = checks[name](value, name, kind.__name__)
        if value is not stored and kind.__dataclass_params__.frozen:
            # A frozen dataclass refuses plain assignment, even to itself.
            object.__setattr__(owner, name, value)


def _checks(names: str, check: Callable[..., Any], **limits: Any) -> dict[str, Callable[..., Any]]:
    return dict.fromkeys(names.split(), partial(check, **limits))


CHECKS: Checks = {
    **_checks("alpha beta rel", positive),
    **_checks("sigma scale margin mu noise temperature", positive, least=SMALLEST),
    **_checks("below average", number, least=0.0, below=1.0, example=0.9),
    **_checks("decay shrink step subsample feature_fraction", number, above=0.0, most=1.0, example=0.8),
    **_checks("shrink_chance", number, least=0.0, most=1.0, example=0.3),
    **_checks("factor", number, above=0.0, below=1.0, example=0.5),
    **_checks("anneal", number, least=1.0, example=4096.0),
    **_checks("tol ftol", number, least=0.0, example=1e-6),
    **_checks("l2", number, least=0.0, example=1.0),
    **_checks("C spread", number, above=0.0, example=1.0),
    **_checks("epsilon", number, above=0.0, example=1e-3),
    **_checks("learning_rate", number, above=0.0, example=0.01),
    # LightGBM takes no more leaves of a tree, and no more bins of a feature, than these limits.
    **_checks("num_leaves", whole, least=2, below=131_073, example=15),
    **_checks("max_bin", whole, least=2, below=65_536, example=15),
    **_checks("draw seed", whole, least=0, example=0),
    **_checks(
        "k l_max permutations samples max_iter epochs batch rounds memory steps n restart_after "
        "candidates patience repeats n_trees n_bags min_data_in_leaf",
        whole,
    ),
}
"""Checks of the fields of surrogates, trainers and rankers, by name: a name has one range in all classes."""


def refusal(value: Any, name: str, owner: str, wanted: str, example: str) -> InputError:
    """Return the error for a parameter that is not what is wanted, with the example to type."""

    def call(given: str) -> str:
        return f"{owner}({name}={given})" if owner else f"{name}={given}"

    return InputError(f"{call(short_text(value))}: {name} must be {wanted}; type e.g. {call(example)}.")
