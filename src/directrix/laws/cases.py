"""Random and hard queries on which the laws of surrogates are tested."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from directrix.types import Float64Array, Int64Array, Surrogate


class Case(NamedTuple):
    """Queries, and a name for messages."""

    name: str
    scores: Float64Array
    labels: Float64Array
    qptr: Int64Array


def random_cases(rng: np.random.Generator, n_cases: int = 8) -> Iterator[Case]:
    """Cases of five queries with up to 23 documents."""
    for case in range(n_cases):
        sizes = rng.integers(1, 24, size=5)
        qptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        labels = rng.choice([0.0, 1.0, 2.0, 3.0], size=qptr[-1], p=[0.5, 0.25, 0.15, 0.1])
        yield Case(f"random {case}", rng.standard_normal(qptr[-1]), labels, qptr)


def hard_cases() -> Iterator[Case]:
    """Cases of one query: ties, equal labels, a single document, scores that are huge or tiny."""
    one, six = np.array([0, 1], dtype=np.int64), np.array([0, 6], dtype=np.int64)
    mixed = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0])
    ramp = np.arange(6.0)
    yield Case("one relevant document", np.array([0.5]), np.array([1.0]), one)
    yield Case("one irrelevant document", np.array([0.5]), np.array([0.0]), one)
    yield Case("all scores tied", np.zeros(6), mixed, six)
    yield Case("ties in pairs", np.floor(ramp / 2.0), mixed, six)
    yield Case("all labels equal", ramp, np.ones(6), six)
    yield Case("no relevant document", ramp, np.zeros(6), six)
    yield Case("scores of 1e30", np.where(ramp % 2 == 0, 1e30, -1e30), mixed, six)
    yield Case("all scores tied at 1e30", np.full(6, 1e30), mixed, six)
    yield Case("scores of 1e30 and 0", np.where(ramp % 2 == 0, 1e30, ramp), mixed, six)
    for tiny in (1e-30, 1e-40, 1e-310):  # denormal in float32, and in float64
        yield Case(f"scores of {tiny:g}", ramp * tiny, mixed, six)


def all_cases(rng: np.random.Generator) -> Iterator[Case]:
    """All random cases, then all hard ones."""
    yield from random_cases(rng)
    yield from hard_cases()


def permutations(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[tuple[Case, Int64Array]]:
    """Cases, and another order of their documents; without ties for forces and estimates, as it matters."""
    estimated = "random" in surrogate.traits and "smooth" not in surrogate.traits
    hard = [] if "value_free" in surrogate.traits or estimated else hard_cases()
    for case in [*random_cases(rng), *hard]:
        yield case, np.concatenate([lo + rng.permutation(hi - lo) for _, lo, hi in each_query(case)])


def each_query(case: Case) -> Iterator[tuple[int, int, int]]:
    """Number of each query, its first document, and the end of its documents."""
    for q, (lo, hi) in enumerate(pairwise(case.qptr)):
        yield q, int(lo), int(hi)
