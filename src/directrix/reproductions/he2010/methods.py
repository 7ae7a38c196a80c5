"""The methods that He and Liu compare, as entries of a cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from directrix.experiments.crossval import Entry
from directrix.experiments.tendency_on_data import random_models
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxAP, ApproxNDCG
from directrix.surrogates.soft import SoftNDCG
from directrix.trainers.stochastic import SGD
from directrix.trainers.wrappers import Restarts
from directrix.types import Float64Array, Objective, Result, Step, Trainer

MAP, NDCG = "ApproxRank-MAP", "ApproxRank-NDCG"
ONE_START, LISTNET = "ApproxRank-MAP, one start", "ListNet"
_SOURCE = "He & Liu (2010), Sect. 6.3"
_ANY_DIRECTION = 10.0  # spread of Restarts: the first start does not matter to the others


@dataclass(frozen=True)
class Grids:
    """Settings among which validation chooses."""

    # of ApproxRank, in 1 / units of score
    alphas: tuple[float, ...] = (10.0, *(50.0 * i for i in range(1, 9)), 800.0, 1600.0)
    sigmas: tuple[float, ...] = (0.1, 0.03, 0.01)  # of SoftRank, in units of score
    beta: float = 100.0  # of ApproxRank-MAP; the paper's 100
    C: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)  # of the structural SVMs
    # restarts, soft_restarts: random starts of ApproxRank, and of SoftRank; the one with the lowest loss is
    # kept
    restarts: int = 30
    soft_restarts: int = 5
    epochs: int = 50  # of gradient ascent, one query at a time, for each start
    folds: int = 5  # number of folds, from the first


QUICK_GRIDS = Grids(
    alphas=(50.0, 100.0, 400.0),
    sigmas=(0.1,),
    C=(0.1, 10.0),
    restarts=4,
    soft_restarts=2,
    epochs=10,
    folds=2,
)


@dataclass(frozen=True)
class RandomStart:
    """Run a trainer from weights of length 1 in a random direction, and ignore the start that is given."""

    trainer: Trainer
    random_state: int = 0  # of the direction

    def minimize(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Minimize from these weights."""
        drawn = random_models(2, len(start), seed=self.random_state)[0]
        return self.trainer.minimize(objective, drawn, callback=callback)


def _ascent(
    restarts: int = 30, epochs: int = 50, learning_rate: float = 0.01, random_state: int = 0
) -> RandomStart:
    ascent = SGD(learning_rate=learning_rate, epochs=epochs, random_state=random_state)
    return RandomStart(
        Restarts(ascent, restarts, spread=_ANY_DIRECTION, random_state=random_state), random_state
    )


def _method(name: str, surrogate: type[Any], **more: Any) -> Method:
    return Method(
        name=name,
        surrogate=surrogate,
        trainer=_ascent,
        source=_SOURCE,
        cost="epochs times restarts times one pass over the queries",
        use_when="to repeat the paper's experiment",
        fixed={"start": "zero", "l2": 0.0, **more},
    )


def entries(grids: Grids, seed: int) -> list[Entry]:
    """Return the rows of Tables 4 to 9, and ApproxRank-MAP from one start.

    MAP methods and ListNet are trained for and chosen by AP, the others by nDCG@10; ``seed`` is of starts and
    of gradient ascent.
    """
    ascent = {"epochs": grids.epochs, "random_state": seed}
    many, one = ({**ascent, "restarts": n} for n in (grids.restarts, 1))
    soft = {**ascent, "restarts": grids.soft_restarts}
    alphas, sigmas, slopes = {"alpha": grids.alphas}, {"sigma": grids.sigmas}, {"C": grids.C}
    approx_map, approx_ndcg = _method(MAP, ApproxAP, beta=grids.beta), _method(NDCG, ApproxNDCG)
    return [
        Entry("SVMmap", "SVMMap", {}, slopes, "AP"),
        Entry("DORM", "Dorm", {}, slopes, "nDCG@10"),
        Entry("PermuRank", "PermuRank", {}, slopes, "AP"),
        Entry("SVMndcg", "SVMNdcg", {}, slopes, "nDCG@10"),
        Entry("SoftRank", _method("SoftRank", SoftNDCG), soft, sigmas, "nDCG@10"),
        Entry(MAP, approx_map, many, alphas, "AP"),
        Entry(NDCG, approx_ndcg, many, alphas, "nDCG@10"),
        Entry(LISTNET, "ListNet", {}, None, "AP"),
        Entry(ONE_START, approx_map, one, alphas, "AP"),
    ]
