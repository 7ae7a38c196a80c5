"""Constraints that scikit-learn checks, of the parameters that several rankers have."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import HasMethods, Hidden, Interval, StrOptions

from directrix.data.scale import SCALES, is_scale


class _ScaleNames(StrOptions):  # type: ignore[misc]  # scikit-learn has no types
    """The kinds of scales, and several of them joined by plus signs."""

    def is_satisfied_by(self, val: Any) -> bool:
        return is_scale(val)

    def __str__(self) -> str:
        kinds = ", ".join(map(repr, SCALES))
        return f"one of {kinds}, several joined by plus signs ('raw+query-percentile')"


SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "surrogate": [HasMethods(["value_and_grad"]), str, None, Hidden(callable)],  # `surrogate_of` explains it
    "scale": [_ScaleNames(set(SCALES)), None],
    "random_state": ["random_state"],
}
"""Of the parameters that all rankers with a model of their own have."""


def gradient_constraints(trainers: frozenset[str], starts: frozenset[str]) -> dict[str, list[Any]]:
    """Return those of the parameters that all rankers have that a trainer fits."""
    return {
        **SHARED_CONSTRAINTS,
        "trainer": [StrOptions(set(trainers)), HasMethods(["minimize"])],
        "l2": [Interval(Real, 0, None, closed="left")],
        "start": [StrOptions(set(starts)), HasMethods(["fit_queries", "predict_queries"]), "array-like"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
    }
