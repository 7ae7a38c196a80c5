"""Methods of users: from a surrogate, a trainer or a ranker, also by its name in a module."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from typing import Any

from directrix.errors import Advice, InputError, short_text
from directrix.parsing import IN_MODULE, import_named
from directrix.rankers.kinds import KINDS, MODELS
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxNDCG
from directrix.surrogates.names import surrogate as parse_surrogate

# A linear method tries these penalties, in units of the measure per squared weight.
L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def imported(text: str) -> tuple[str, Any] | None:
    """Return the name and the object of ``module:Name``, whose code is run; None for any other text."""
    named = IN_MODULE.fullmatch(text)
    if named is None or "," in text:
        return None
    name = named[2].strip()
    return name, import_named(named[1], name, f"method {text!r}", "e.g. my_loss:MyLoss")


def user_method(value: Any, name: str = "") -> Method:
    """Return the method of a surrogate, a trainer or a ranker: an object, or a class with its defaults.

    `directrix.rankers.methods.method` says how they are trained. Raises `InputError` for anything else.
    """
    if isinstance(value, Method):
        return value
    kind = value if isinstance(value, type) else type(value)
    description: dict[str, Any] = {
        "name": name or kind.__name__,
        "source": f"{kind.__module__}.{kind.__qualname__}",
        "cost": "not stated",
        "use_when": "a method of your own",
        "keeps_best": True,
    }
    if hasattr(kind, "fit_queries"):
        model = next((model for model in MODELS if KINDS[model].load() is kind), None)
        if model is not None:
            made = value() if value is kind else value
            fixed = made.get_params(deep=False)
            surrogate = parse_surrogate(fixed.get("surrogate"))
            if is_dataclass(surrogate) and not isinstance(surrogate, type):
                fields = _fields(surrogate)
                # Fields of the surrogate become hyperparameters of the method, as in a method by name.
                if not fields.keys() & fixed.keys():
                    del fixed["surrogate"]
                    return Method(**description, model=model, surrogate=type(surrogate), fixed=fixed | fields)
            return Method(**description, model=model, fixed=fixed)
    if hasattr(kind, "value_and_grad"):
        description["surrogate"] = kind
    elif hasattr(kind, "minimize"):
        description |= {"surrogate": ApproxNDCG, "trainer": kind}
    elif hasattr(value, "resolved"):
        raise InputError(
            f"method {value.name!r} is an Entry, with settings and a grid for a comparison on folds.",
            Advice("method-of-entry"),
        )
    else:
        raise InputError(
            f"method {name or short_text(value)} must be a surrogate (value_and_grad), a trainer (minimize), "
            f"a ranker of directrix, or the class of one, got a {type(value).__name__}. Type e.g. 'ListNet'."
        )
    return Method(**description, fixed={} if value is kind else _fields(value), grid={"l2": L2})


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in inspect.signature(type(value)).parameters}
