"""Which candidates of a search keep to constraints on weights and features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.limits import CONSTRAINTS
from directrix.rankers.method import Trial
from directrix.rankers.named_trainers import takes_box


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that are no constraints, and those that are."""
    constraints = {name: settings[name] for name in CONSTRAINTS if settings.get(name) is not None}
    return {name: value for name, value in settings.items() if name not in CONSTRAINTS}, constraints


def with_constraints(trials: Iterable[Trial], constraints: Mapping[str, Any]) -> list[Trial]:
    """Return the trials with these constraints among their settings."""
    return [trial._replace(settings={**trial.settings, **constraints}) for trial in trials]


def keeping(
    trials: Sequence[Trial], measure: RankingMeasure, constraints: Mapping[str, Any]
) -> tuple[list[Trial], tuple[str, ...]]:
    """Return the trials that keep to the constraints, with them, and the methods that have none.

    Raises `InputError` if no trial is left.
    """
    kept = [trial for trial in trials if not constraints or _keeps(trial, measure, constraints)]
    able = {trial.method.name for trial in kept}
    names = dict.fromkeys(trial.method.name for trial in trials)
    if not kept:
        raise InputError(
            f"{', '.join(names)}: cannot keep to {' and '.join(constraints)}. Bounds are for "
            "linear models, monotone features for linear models, networks and trees; the trainers lbfgs, "
            "sgd, adam and coordinate-ascent keep to them.",
            python="Type e.g. method='ApproxNDCG'.",
            shell="Type e.g. --method ApproxNDCG.",
        )
    return with_constraints(kept, constraints), tuple(name for name in names if name not in able)


def _keeps(trial: Trial, measure: RankingMeasure, constraints: Mapping[str, Any]) -> bool:
    if not set(constraints) <= set(trial.method.settings):
        return False
    trainer = getattr(trial.ranker(measure), "trainer", None)
    return trainer is None or takes_box(trainer)  # trees have none
