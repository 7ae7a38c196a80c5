"""Settings: methods with their grids, paths of smoothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from directrix.reproductions.base import SeededSettings


@dataclass(frozen=True)
class Settings(SeededSettings):
    """What results depend on besides the data."""

    # methods that SmoothNDCG is compared with
    baselines: tuple[str, ...] = (
        "SmoothAP",
        "SoftNDCG",
        "RankSVM",
        "Regression",
        "SVMMap",
        "ListNet",
        "AdaRank-NDCG",
        "AdaRank-MAP",
        "RankBoost",
        "FRank",
        "CoordinateAscent",
    )
    # of SmoothNDCG and SmoothAP: weights of the penalty towards the regression start
    l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    # sigma_first, sigma_last: ends of the annealing
    sigma_first: float = 64.0
    sigma_last: float = 1 / 64
    iterations: int = 50  # of conjugate gradients in a round
    truncations: tuple[int | None, ...] = (1, 3, 5, 10, 20, None)  # cut-offs k to train with
    extensions: bool = True  # whether networks, trees and a kernel map are trained
    path_l2: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)  # penalties of the paths of smoothing
    starts: tuple[float, ...] = (64.0, 8.0, 1.0, 1 / 8)  # smoothings to begin an annealing at
    alone: tuple[float, ...] = (16.0, 1.0, 1 / 8, 1 / 64)  # smoothings to train at without annealing
    collections: int | None = None  # number of collections to run; None = all that the data folder holds
    folds: int | None = None  # number of folds of each; None = all

    @property
    def rounds(self) -> int:
        """Rounds of an annealing, sigma halved from one to the next."""
        return round(math.log2(self.sigma_first / self.sigma_last)) + 1

    @property
    def middle(self) -> float:
        """The penalty at which starts and smoothings are compared."""
        return self.path_l2[len(self.path_l2) // 3]


QUICK = Settings(
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
"""Settings of a quick run."""
