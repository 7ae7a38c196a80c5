"""Which methods and settings a search tries, and how each did."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from directrix.errors import InputError
from directrix.rankers.judging import Weights
from directrix.rankers.kinds import RANKERS
from directrix.rankers.methods import Method
from directrix.types import Float64Array

__all__ = ["Candidate", "Trial", "allowed", "by_turns", "that_weigh"]

Trial = tuple[Method, dict[str, Any]]
"""A method and the settings that a search tries."""


@dataclass(frozen=True)
class Candidate:
    """One setting of the grid and how it did.

    Parameters
    ----------
    method : str
        Name of the method.
    settings : mapping
        What was set.
    valid, train : float
        Mean of the measure on the validation and the training queries.
    steps : int
        Iterations, epochs, rounds or trees of the ranker that was judged; the median over folds.
    status : str
        Why training stopped, see `Result`; of the last fold.
    seconds : float
        What it cost.
    values : float64 (n_queries,)
        The measure on every validation query, NaN where it is undefined.
    """

    method: str
    settings: Mapping[str, Any]
    valid: float
    train: float
    steps: int
    status: str
    seconds: float = field(compare=False)
    values: Float64Array = field(compare=False, repr=False)

    @property
    def or_worst(self) -> float:
        """``valid``, and less than anything where the measure is undefined."""
        return -math.inf if math.isnan(self.valid) else self.valid

    @property
    def label(self) -> str:
        """Method and settings in one line: ``ApproxNDCG alpha=10 l2=0.001``."""
        settings = (f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.settings.items())
        return " ".join([self.method, *settings])


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


def by_turns(trials: list[Trial]) -> list[Trial]:
    """The first setting of every method, then the second of every method, and so on."""
    turn: dict[str, int] = {}
    turns = []
    for part, _ in trials:
        turns.append(turn.setdefault(part.name, 0))
        turn[part.name] += 1
    return [trials[i] for i in sorted(range(len(trials)), key=turns.__getitem__)]
