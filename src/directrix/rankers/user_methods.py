"""Methods of the user's own: of a surrogate, a trainer or a ranker, also by the name in a module."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from directrix.errors import InputError, short_text
from directrix.measures.base import RankingMeasure
from directrix.parsing import IN_MODULE, import_named
from directrix.rankers.kinds import KINDS, MODELS
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxNDCG

L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""The penalties that a linear method tries."""
_PARTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("surrogate", "value_and_grad", {}),
    ("trainer", "minimize", {"surrogate": ApproxNDCG}),
)
_NEEDED = (
    "a surrogate (value_and_grad), a trainer (minimize), a ranker of directrix (LinearRanker, MLPRanker, "
    "StumpRanker, BoostedRanker or a subclass) or a method, or the class of one, is needed"
)


@dataclass(frozen=True, kw_only=True)
class RankerMethod(Method):
    """A ranker as the user made it; its settings are its own parameters."""

    template: Any = field(default=None, hash=False, repr=False)

    @property
    def settings(self) -> tuple[str, ...]:
        """Parameters of the ranker."""
        return tuple(self.template.get_params(deep=False))

    def ranker(self, *, measure: RankingMeasure | str | None = None, **settings: Any) -> Any:
        """Return an unfitted copy of the ranker with other settings."""
        from sklearn.base import clone  # a second that `directrix methods` does not need

        self.check_settings(settings)
        return clone(self.template).set_params(**settings)


def imported(text: str) -> tuple[str, Any] | None:
    """Return the name and the object of ``module:Name``, whose code is run; None for any other text."""
    named = IN_MODULE.fullmatch(text)
    if named is None or "," in text:
        return None
    name = named[2].strip()
    return name, import_named(named[1], name, f"method {text!r}", "e.g. --method my_loss:MyLoss")


def user_method(value: Any, name: str = "") -> Method:
    """Return the method of a surrogate, a trainer or a ranker: an object, or a class with its defaults.

    A surrogate is maximized by L-BFGS for a linear model, a trainer gets ApproxNDCG; validation chooses the
    penalty ``l2``, and the step that is kept. A ranker is trained as it is. Raises `InputError` for anything
    else.
    """
    if isinstance(value, Method):
        return value
    kind = value if isinstance(value, type) else type(value)
    parts: dict[str, Any] = {
        "name": name or kind.__name__,
        "source": f"{kind.__module__}.{kind.__qualname__}",
        "cost": "not stated",
        "use_when": "a method of your own",
        "keeps_best": True,
    }
    if hasattr(kind, "fit_queries"):
        made = value() if value is kind else value
        model = next((model for model in MODELS if isinstance(made, KINDS[model].load())), None)
        if model is not None:
            return RankerMethod(**parts, model=model, template=made)
    for part, needed, rest in _PARTS:
        if hasattr(kind, needed):
            names = () if value is kind else inspect.signature(kind).parameters
            fixed = {name: getattr(value, name) for name in names}
            return Method(**(parts | rest | {part: kind, "fixed": fixed, "grid": {"l2": L2}}))
    raise InputError(f"method {name or short_text(value)} is a {type(value).__name__}; {_NEEDED}.")
