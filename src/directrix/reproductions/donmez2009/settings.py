"""Names of nets, measures and constructions, and the settings of the experiments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from directrix.reproductions.base import SeededSettings
from directrix.surrogates.lambdas import Construction

NETS = {"linear": "single-layer", "mlp": "two-layer"}
"""Models, and what tables call them."""
MEASURES = ("nDCG", "nDCG@10", "AP", "RR")
"""What is trained for and tested, without the least relevant label."""
CONSTRUCTIONS: tuple[Construction, ...] = (
    "ranknet-weight-pairs",
    "local-gradient",
    "local-cost",
    "spring-smooth",
    "discrete-bounded",
)
"""Constructions of the forces, in the order of Table 1."""
USUAL = CONSTRUCTIONS[0]
"""The construction of LambdaRank, which the paper recommends."""


EVERY_CHANGE = "ranknet-weight-pairs, every change"
"""The usual construction with every change of RR, where Eq. (11) has those of misranked pairs alone."""


def options_of(measure: str, construction: str) -> dict[str, Any]:
    """Return the options of `Lambda` for a construction; for RR only the pairs of Eq. (11) exert forces.

    The bound of "spring-smooth" lifts the zeros of Eq. (11) too, so that all pairs exert forces.
    """
    if construction == EVERY_CHANGE:
        return {"construction": USUAL, "pairs": "all"}
    literal = short(measure) == "RR" and construction != "spring-smooth"
    return {"construction": construction, "pairs": "misranked" if literal else "all"}


def short(measure: str) -> str:
    """Return a measure without its least relevant label: "AP" for "AP(rel=2)"."""
    return measure.split("(")[0]


@dataclass(frozen=True)
class Artificial:
    """Size of the artificial data: labels 0 to 4 by a random cubic polynomial, see `make_cubic`."""

    # n_features, docs_per_query, n_monomials: 10 features have 285 monomials
    n_features: int = 10
    docs_per_query: int = 50
    n_monomials: int = 285
    # n_train, n_valid, n_test: numbers of queries
    n_train: int = 300
    n_valid: int = 200
    n_test: int = 1000
    # numbers of training queries, ascending, for the study of effective pairs
    sizes: tuple[int, ...] = (25, 50, 100, 200, 400, 800, 1600)


PAPER_SIZE = Artificial(300, 50, 2000, 10_000, 5_000, 10_000, ())
"""The size of the paper, with 2,000 of the 4.6 million monomials: 1.5 GB."""


@dataclass(frozen=True)
class Large:
    """Trainings on the artificial data at the paper's size."""

    size: Artificial = PAPER_SIZE
    trained: tuple[tuple[str, str], ...] = (("linear", "nDCG"),)  # nets and measures
    rates: tuple[float, ...] = (1e-5, 1e-4, 1e-3)  # learning rates; validation queries choose


@dataclass(frozen=True)
class Settings(SeededSettings):
    """What results depend on besides the data."""

    # seed: of everything random
    rates: tuple[float, ...] = (1e-3, 1e-2, 1e-1)  # learning rates; validation queries choose
    epochs: int = 700  # passes over the training queries
    # trainings that are compared on test queries stop after this number of epochs without a better value on
    # the validation queries; those whose weights are tested for local optimality never do
    patience: int = 100
    hidden: int = 10  # units of the hidden layer of the two-layer net
    folds: int = 5  # number of folds to keep of OHSUMED
    mq2008_folds: int = 5  # of MQ2008
    # eps, delta: of the test of local optimality: 459 directions for .01 and .01
    eps: float = 0.01
    delta: float = 0.01
    polish_moves: int = 300  # maximum number of moves along rising directions
    artificial: Artificial = field(default_factory=Artificial)
    large: Large | None = field(default_factory=Large)  # None = not run
    others: bool = True  # whether to test the weights of other constructions and learners

    @property
    def letor_folds(self) -> dict[str, int]:
        """Number of folds to keep of each LETOR collection."""
        return {"OHSUMED": self.folds, "MQ2008": self.mq2008_folds}


QUICK = Settings(
    rates=(1e-2,),
    epochs=20,
    patience=10,
    folds=1,
    mq2008_folds=1,
    eps=0.05,
    delta=0.05,
    polish_moves=5,
    artificial=Artificial(n_train=60, n_valid=40, n_test=100, sizes=(15, 60)),
    large=None,
    others=False,
)
"""Settings of a quick run."""
