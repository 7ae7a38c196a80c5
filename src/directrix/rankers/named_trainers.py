"""Trainers by name: what ``trainer="lbfgs"`` of a ranker stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

from sklearn.utils import check_random_state

from directrix.measures.base import RankingMeasure
from directrix.trainers.lbfgs import LBFGS
from directrix.trainers.sgd import SGD
from directrix.types import Trainer

__all__ = ["TRAINERS", "Plan", "trainer_of"]


class Plan(NamedTuple):
    """What a ranker knows when it makes its trainer."""

    max_iter: int
    seed: Any
    goal: RankingMeasure


TRAINERS: Mapping[str, Callable[[Plan], Trainer]] = {
    "lbfgs": lambda plan: LBFGS(max_iter=plan.max_iter),
    "sgd": lambda plan: SGD(epochs=plan.max_iter, random_state=plan.seed),
}


def trainer_of(ranker: Any, goal: RankingMeasure) -> Trainer:
    """Return the ranker's trainer; one given as an object is taken as it is."""
    if not isinstance(ranker.trainer, str):
        trainer: Trainer = ranker.trainer
        return trainer
    seed = ranker.random_state
    if seed is not None and not isinstance(seed, Integral):
        seed = int(check_random_state(seed).randint(2**31 - 1))
    return TRAINERS[ranker.trainer](Plan(max(int(ranker.max_iter), 1), seed, goal))
