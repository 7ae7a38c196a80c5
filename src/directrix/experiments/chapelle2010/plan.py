"""What is run: collections, methods with their grids, paths of smoothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from directrix.errors import InputError
from directrix.experiments.crossval import Entry
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure
from directrix.rankers.method import Method
from directrix.rankers.methods import method

__all__ = ["COLLECTIONS", "FULL", "LETOR3", "MEASURES", "QUICK", "Plan", "there"]

LETOR3 = ("OHSUMED", "TD2003", "TD2004", "HP2003", "HP2004", "NP2003", "NP2004")
"""Collections of the paper."""
COLLECTIONS = (*LETOR3, "MQ2008")
"""These, and one of LETOR 4.0."""
MEASURES = (*(f"nDCG@{k}" for k in range(1, 11)), "AP")
"""What the paper's figures show, by the rules of LETOR 3.0's script."""
_BY_AP = ("SmoothAP", "SVMMap", "AdaRank-MAP", "RankBoost", "FRank")
_LISTS = ("SVMMap", "ListNet", "AdaRank-NDCG", "AdaRank-MAP")  # those that the paper calls listwise


@dataclass(frozen=True)
class Plan:
    """All that figures depend on, beside the data and the seed.

    Parameters
    ----------
    baselines : tuple of str
        Methods that SmoothNDCG is compared with.
    l2 : tuple of float
        Of SmoothNDCG and SmoothAP: weights of the penalty towards the regression start.
    sigma_first, sigma_last : float
        Ends of the annealing.
    iterations : int
        Of conjugate gradients in a round.
    truncations : tuple of int or None
        Cut-offs k to train with.
    extensions : bool
        Whether networks, trees and a kernel map are trained.
    path_l2 : tuple of float
        Penalties of the paths of smoothing.
    starts : tuple of float
        Smoothings to begin an annealing at.
    alone : tuple of float
        Smoothings to train at without annealing.
    collections : int or None
        How many of those that are there; None = all.
    folds : int or None
        How many of each; None = all.
    """

    baselines: tuple[str, ...] = (
        *("SmoothAP", "SoftNDCG", "RankSVM", "Regression", *_LISTS),
        *("RankBoost", "FRank", "CoordinateAscent"),
    )
    l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    sigma_first: float = 64.0
    sigma_last: float = 1 / 64
    iterations: int = 50
    truncations: tuple[int | None, ...] = (1, 3, 5, 10, 20, None)
    extensions: bool = True
    path_l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    starts: tuple[float, ...] = (64.0, 8.0, 1.0, 1 / 8)
    alone: tuple[float, ...] = (16.0, 1.0, 1 / 8, 1 / 64)
    collections: int | None = None
    folds: int | None = None

    def fixed(self) -> dict[str, Any]:
        """As JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @property
    def rounds(self) -> int:
        """Rounds of an annealing, sigma halved from one to the next."""
        return round(math.log2(self.sigma_first / self.sigma_last)) + 1

    @property
    def middle(self) -> float:
        """The penalty at which starts and smoothings are compared."""
        return self.path_l2[len(self.path_l2) // 3]

    @property
    def chosen_by(self) -> RankingMeasure:
        """nDCG@50, as in the paper; ties count as expected, for the script pays for the order of the file."""
        return measure("nDCG@50")

    def entries(self, *, is_first: bool) -> list[Entry]:
        """Rows of the tables; of the first collection also other cut-offs and other models."""
        smooth = [Entry("SmoothNDCG", "SmoothNDCG", self._annealed, {"l2": self.l2})]
        others = [self._baseline(name) for name in self.baselines]
        return [*smooth, *others, *(self._variants() if is_first else ())]

    def kernel_entry(self) -> Entry:
        """SmoothNDCG on mapped features."""
        return Entry("SmoothNDCG, kernel map", "SmoothNDCG", self._annealed, {"l2": self.l2})

    @property
    def _annealed(self) -> dict[str, Any]:
        return {
            "sigma_first": self.sigma_first,
            "sigma_last": self.sigma_last,
            "cg_iter": self.iterations,
        }

    def _baseline(self, name: str) -> Entry:
        by = measure("AP") if name in _BY_AP else None
        if name == "SmoothAP":
            return Entry(name, name, self._annealed, {"l2": self.l2}, by)
        return Entry(name, name, measure=by)

    def _variants(self) -> Iterator[Entry]:
        for k in self.truncations:
            settings = {**self._annealed, "k": k}
            yield Entry(_truncated(k), "SmoothNDCG", settings, {"l2": self.l2})
        if self.extensions:
            yield Entry("SmoothNDCG, network", _network(), self._annealed | {"cg_iter": 20})
            if _trees().is_installed:
                yield Entry("SmoothNDCG, trees", _trees())


FULL = Plan()
QUICK = Plan(
    baselines=("RankSVM", "Regression", "ListNet", "AdaRank-NDCG"),
    l2=(1e-3,),
    sigma_first=16.0,
    sigma_last=1 / 16,
    iterations=10,
    truncations=(1, 10),
    extensions=False,
    path_l2=(1e-3,),
    starts=(16.0, 1.0),
    alone=(16.0, 1 / 16),
    collections=1,
    folds=2,
)


def there(data: Path, plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Collections that are in the folder ``letor`` of the data and are run, and those that are not there.

    Raises
    ------
    InputError
        If there is none.
    """
    found = tuple(name for name in COLLECTIONS if (data / "letor" / name / "Fold1").is_dir())
    if not found:
        raise InputError(
            f"{data / 'letor'}: holds none of {', '.join(COLLECTIONS)}; a folder with Fold1, Fold2, ... is "
            "needed. Give --data the folder that has letor/OHSUMED/Fold1/train.txt below it."
        )
    return found[: plan.collections], tuple(name for name in COLLECTIONS if name not in found)


def _truncated(k: int | None) -> str:
    return f"SmoothNDCG, k = {'all' if k is None else k}"


def _network() -> Method:
    """Ten hidden units, Sect. 6; there is no start to be near to, so the penalty is the usual one."""
    return replace(
        method("SmoothNDCG"),
        name="SmoothNDCG-MLP",
        model="mlp",
        grid={"l2": (1e-4, 1e-3, 1e-2)},
        fixed={"k": 50, "hidden": (10,)},
    )


def _trees() -> Method:
    """Functional gradient boosting, Sect. 6."""
    boosted = method("BoostedNDCG")
    return replace(
        method("SmoothNDCG"),
        name="BoostedSmoothNDCG",
        model="trees",
        trainer="boosting",
        grid={"sigma": (0.1, 1.0), "learning_rate": (0.1,), "num_leaves": (7,)},
        fixed={**boosted.fixed, "k": 50},
        without=(),
    )
