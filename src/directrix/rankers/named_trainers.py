"""Trainers by name, what ``trainer="lbfgs"`` of a ranker stands for, and from their printed form."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

from sklearn.utils import check_random_state

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.parsing import call_of
from directrix.trainers.adam import Adam
from directrix.trainers.adarank import AdaRank
from directrix.trainers.anneal import Anneal
from directrix.trainers.cg import CG
from directrix.trainers.coordinate_ascent import CoordinateAscent
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.frank import FRank
from directrix.trainers.lbfgs import LBFGS
from directrix.trainers.rankboost import RankBoost
from directrix.trainers.restarts import Restarts
from directrix.trainers.sgd import SGD
from directrix.trainers.svm_acc import SVMAcc
from directrix.types import Trainer

__all__ = ["BY_GRADIENT", "TRAINERS", "Plan", "seed_of", "trainer_from", "trainer_of"]


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
    "cutting-plane": lambda plan: CuttingPlane(max_iter=plan.max_iter),
    "adarank": lambda plan: AdaRank(plan.goal, rounds=plan.max_iter),
    "frank": lambda plan: FRank(rounds=plan.max_iter),
    "rankboost": lambda plan: RankBoost(rounds=plan.max_iter),
    "sgd": lambda plan: SGD(epochs=plan.max_iter, random_state=plan.seed),
    "svm-acc": lambda plan: SVMAcc(max_iter=plan.max_iter, random_state=plan.seed),
}

BY_GRADIENT = frozenset({"lbfgs", "cg", "adam", "sgd"})
"""Those that train any model; the others want a linear one or stumps."""

_KINDS: Mapping[str, Callable[..., Trainer]] = {
    kind.__name__: kind
    for kind in (
        *(LBFGS, CG, Adam, SGD, CuttingPlane),
        *(CoordinateAscent, AdaRank, RankBoost, FRank, SVMAcc),
        *(Anneal, Restarts),
    )
}


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


def trainer_from(text: str) -> Trainer | str:
    """Return the trainer whose ``repr`` a text is, or the text itself, which no ranker trains with.

    Raises
    ------
    InputError
        If it is a trainer of directrix, with a setting that it does not have or take.
    """
    try:
        tree = ast.parse(text, mode="eval").body
        found: Trainer = _built(tree)
    except InputError:
        raise
    except TypeError as error:
        raise InputError(f"trainer {text!r}: {error}.") from None
    except (SyntaxError, ValueError, LookupError, MemoryError, RecursionError):
        return text
    return found


def _built(node: ast.expr) -> Any:
    """A literal, a measure, or a trainer of such."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    call = call_of(node, _built)
    if call.name in _KINDS:
        return _KINDS[call.name](*call.arguments, **call.fields)
    try:
        return parse_measure(ast.unparse(node))
    except InputError as error:
        raise LookupError(call.name) from error
