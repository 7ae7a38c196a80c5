"""Trainers by name: what ``trainer="lbfgs"`` of a ranker stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

from sklearn.utils import check_random_state

from directrix.measures.base import RankingMeasure
from directrix.trainers.adam import Adam
from directrix.trainers.adarank import AdaRank
from directrix.trainers.cg import CG
from directrix.trainers.coordinate_ascent import CoordinateAscent
from directrix.trainers.frank import FRank
from directrix.trainers.lbfgs import LBFGS
from directrix.trainers.rankboost import RankBoost
from directrix.trainers.sgd import SGD
from directrix.types import Trainer

__all__ = ["BY_GRADIENT", "TRAINERS", "Plan", "seed_of", "trainer_of"]


class Plan(NamedTuple):
    """What a ranker knows when it makes its trainer."""

    max_iter: int
    seed: Any
    goal: RankingMeasure


TRAINERS: Mapping[str, Callable[[Plan], Trainer]] = {
    "lbfgs": lambda plan: LBFGS(max_iter=plan.max_iter),
    "cg": lambda plan: CG(max_iter=plan.max_iter),
    "adam": lambda plan: Adam(epochs=plan.max_iter, random_state=plan.seed),
    "coordinate-ascent": lambda plan: CoordinateAscent(
        plan.goal, max_iter=plan.max_iter, random_state=plan.seed
    ),
    "adarank": lambda plan: AdaRank(plan.goal, rounds=plan.max_iter),
    "frank": lambda plan: FRank(rounds=plan.max_iter),
    "rankboost": lambda plan: RankBoost(rounds=plan.max_iter),
    "sgd": lambda plan: SGD(epochs=plan.max_iter, random_state=plan.seed),
}

BY_GRADIENT = frozenset({"lbfgs", "cg", "adam", "sgd"})
"""Those that train any model; the others want a linear one or stumps."""


def trainer_of(ranker: Any, goal: RankingMeasure) -> Trainer:
    """Return the ranker's trainer; one given as an object is taken as it is."""
    if not isinstance(ranker.trainer, str):
        trainer: Trainer = ranker.trainer
        return trainer
    seed = seed_of(ranker.random_state)
    return TRAINERS[ranker.trainer](Plan(max(int(ranker.max_iter), 1), seed, goal))


def seed_of(random_state: Any) -> Any:
    """Return the seed of a generator: what is given, or drawn from scikit-learn's kind of generator."""
    if random_state is None or isinstance(random_state, Integral):
        return random_state
    return int(check_random_state(random_state).randint(2**31 - 1))
