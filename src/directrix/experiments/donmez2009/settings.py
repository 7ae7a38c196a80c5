"""What is run, and how much of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

__all__ = ["CONSTRUCTIONS", "MODELS", "PAPER", "QUICK", "Artificial", "ModelName", "Settings"]

ModelName = Literal["linear", "mlp"]
MODELS: tuple[ModelName, ...] = ("linear", "mlp")
CONSTRUCTIONS = (  # in the order of Table 1
    "ranknet-weight-pairs",
    "local-gradient",
    "local-cost",
    "spring-smooth",
    "discrete-bounded",
)


@dataclass(frozen=True)
class Artificial:
    """The artificial data: labels 0 to 4 by a random cubic polynomial, see `directrix.data.make_cubic`.

    Parameters
    ----------
    n_features, docs_per_query, n_monomials : int
        Its size; 285 monomials are all there are of 10 features.
    n_train, n_valid, n_test : int
        Queries.
    sizes : tuple of int
        Numbers of training queries, ascending, for the study of effective pairs.
    """

    n_features: int = 10
    docs_per_query: int = 50
    n_monomials: int = 285
    n_train: int = 300
    n_valid: int = 200
    n_test: int = 1000
    sizes: tuple[int, ...] = (25, 50, 100, 200, 400, 800, 1600)


PAPER = Artificial(300, 50, 2000, 10_000, 5_000, 10_000, (100, 300, 1000, 3000, 10_000))
"""The size of the paper, with 2,000 of the 4.6 million monomials: 1.5 GB, and hours of training."""


@dataclass(frozen=True)
class Settings:
    """What the figures depend on, beside the data.

    Parameters
    ----------
    rates : tuple of float
        Learning rates; validation queries choose.
    epochs, steps : int
        Passes over the queries, fewer where they would take more than so many steps.
    patience : int
        Epochs without a better value on the validation queries after which a training ends.
    hidden : int
        Units of the hidden layer of the two-layer net.
    folds : int
        Of OHSUMED, the first ones.
    mq2008_folds : int
        Of MQ2008, which has seven times as many queries.
    eps, delta : float
        Of the test of local optimality: 459 directions for .01 and .01.
    polish_moves : int
        Most moves along rising directions.
    artificial : Artificial
    seed : int
        Of everything random.
    """

    rates: tuple[float, ...] = (1e-3, 1e-2, 1e-1)
    epochs: int = 300
    steps: int = 45_000
    patience: int = 40
    hidden: int = 10
    folds: int = 5
    mq2008_folds: int = 2
    eps: float = 0.01
    delta: float = 0.01
    polish_moves: int = 300
    artificial: Artificial = field(default_factory=Artificial)
    seed: int = 0

    def epochs_of(self, n_queries: int) -> int:
        """Epochs of a training on so many queries."""
        return max(1, min(self.epochs, self.steps // n_queries))

    def fixed(self) -> dict[str, Any]:
        """As JSON, what runs of one folder must share."""
        return asdict(self)


QUICK = Settings(
    rates=(1e-2,),
    epochs=20,
    steps=3_000,
    patience=10,
    folds=1,
    mq2008_folds=1,
    eps=0.05,
    delta=0.05,
    polish_moves=5,
    artificial=Artificial(n_train=60, n_valid=40, n_test=100, sizes=(15, 60)),
)
"""For a look at the machinery; no figures to be quoted."""
