"""Which methods and settings a search tries."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from directrix.errors import InputError
from directrix.rankers.judging import Weights
from directrix.rankers.kinds import RANKERS
from directrix.rankers.methods import Method

__all__ = ["Trial", "allowed", "that_weigh"]

Trial = tuple[Method, dict[str, Any]]
"""A method and the settings that a search tries."""


def allowed(trials: list[Trial], models: Collection[str] | None) -> list[Trial]:
    """Keep the candidates with the given models; None keeps all.

    Raises
    ------
    InputError
        If there is no such model, or no candidate with one.
    """
    if models is None:
        return trials
    models = [models] if isinstance(models, str) else models
    unknown = sorted(set(models) - set(RANKERS))
    kept = [trial for trial in trials if trial[0].model in models]
    if unknown or not kept:
        raise InputError(
            f"models={sorted(models)}: "
            + (f"there is no model {unknown[0]!r}" if unknown else "no candidate has one of these")
            + f"; models are {', '.join(RANKERS)}. Type e.g. models=['linear']."
        )
    return kept


def that_weigh(trials: list[Trial], weights: Weights) -> tuple[list[Trial], list[str]]:
    """Leave out the methods that know no weights of documents, where others do; and name them."""
    known = [trial for trial in trials if weights[0] is None or trial[0].weighs_docs]
    if not known:
        return trials, []
    names = dict.fromkeys(each.name for each, _ in trials if not any(each is other for other, _ in known))
    return known, list(names)
