"""The methods that He and Liu compare, as entries of a cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from directrix.experiments.crossval import Entry
from directrix.experiments.tendency_samples import random_models
from directrix.rankers.method import Method
from directrix.surrogates.approx import ApproxAP, ApproxNDCG
from directrix.surrogates.soft import SoftNDCG
from directrix.trainers.restarts import Restarts
from directrix.trainers.result import Result, Step
from directrix.trainers.sgd import SGD
from directrix.types import Float64Array, Objective, Trainer

__all__ = ["LISTNET", "MAP", "NDCG", "ONE_START", "QUICK", "Grids", "RandomStart", "entries"]

MAP, NDCG = "ApproxRank-MAP", "ApproxRank-NDCG"
ONE_START, LISTNET = "ApproxRank-MAP, one start", "ListNet"
_SOURCE = "He & Liu (2010), Sect. 6.3"
_ANY_DIRECTION = 10.0  # spread of Restarts: the first start does not matter to the others


@dataclass(frozen=True)
class Grids:
    """Settings that are tried in training.

    Parameters
    ----------
    alphas : tuple of float
        Of ApproxRank, in 1 / units of score.
    sigmas : tuple of float
        Of SoftRank, in units of score.
    beta : float
        Of ApproxRank-MAP; the paper's 100.
    C : tuple of float
        Of the structural SVMs.
    restarts, soft_restarts : int
        Random starts of ApproxRank, and of SoftRank, of which the one with the lowest loss is kept.
    epochs : int
        Of gradient ascent, one query at a time, for each start.
    folds : int
        The first so many.
    """

    alphas: tuple[float, ...] = (10.0, *(50.0 * i for i in range(1, 9)), 800.0, 1600.0)
    sigmas: tuple[float, ...] = (0.1, 0.03, 0.01)
    beta: float = 100.0
    C: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0)
    restarts: int = 30
    soft_restarts: int = 5
    epochs: int = 50
    folds: int = 5


QUICK = Grids(
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
    """Run a trainer from weights of length 1 in a random direction, whatever start is given.

    Parameters
    ----------
    trainer : Trainer
    random_state : int
        Of the direction.
    """

    trainer: Trainer
    random_state: int = 0

    def minimise(
        self,
        objective: Objective,
        start: Float64Array,
        *,
        callback: Callable[[Step], bool | None] | None = None,
    ) -> Result:
        """Minimise from there."""
        drawn = random_models(2, len(start), seed=self.random_state)[0]
        return self.trainer.minimise(objective, drawn, callback=callback)


def _ascent(restarts: int = 30, epochs: int = 50, rate: float = 0.01, random_state: int = 0) -> RandomStart:
    ascent = SGD(rate=rate, epochs=epochs, random_state=random_state)
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


@dataclass(frozen=True)
class _Plan:
    """One row of the tables: its method, what it is trained for and chosen by, what is tried."""

    name: str
    method: Method | str
    measure: str
    settings: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, Any] | None = None


def entries(grids: Grids, seed: int) -> list[Entry]:
    """Rows of Tables 4 to 9, and ApproxRank-MAP from one start.

    Parameters
    ----------
    grids : Grids
    seed : int
        Of starts and of gradient ascent.

    Returns
    -------
    list of Entry
        MAP methods and ListNet are trained for and chosen by AP, the others by nDCG@10.
    """
    ascent = {"epochs": grids.epochs, "random_state": seed}
    alphas, slopes = {"alpha": grids.alphas}, {"C": grids.C}
    many = {**ascent, "restarts": grids.restarts}
    approx_map = _method(MAP, ApproxAP, beta=grids.beta)
    plans = [
        _Plan("SVMmap", "SVMMap", "AP", grid=slopes),
        _Plan("DORM", "Dorm", "nDCG@10", grid=slopes),
        _Plan("PermuRank", "PermuRank", "AP", grid=slopes),
        _Plan("SVMndcg", "SVMNdcg", "nDCG@10", grid=slopes),
        _Plan(
            "SoftRank",
            _method("SoftRank", SoftNDCG),
            "nDCG@10",
            {**ascent, "restarts": grids.soft_restarts},
            {"sigma": grids.sigmas},
        ),
        _Plan(MAP, approx_map, "AP", many, alphas),
        _Plan(NDCG, _method(NDCG, ApproxNDCG), "nDCG@10", many, alphas),
        _Plan(LISTNET, "ListNet", "AP"),
        _Plan(ONE_START, approx_map, "AP", {**ascent, "restarts": 1}, alphas),
    ]
    return [Entry(p.name, p.method, p.settings, p.grid, p.measure) for p in plans]
