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


def tied_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Cases of a usual size in which documents of a query tie: some, in pairs, all."""
    for case in random_cases(rng):
        yield case._replace(name=f"{case.name} with ties", scores=np.round(2.0 * case.scores) / 2.0)
    yield from (case for case in hard_cases() if case.name in ("all scores tied", "ties in pairs"))


def all_cases(rng: np.random.Generator) -> Iterator[Case]:
    """All random cases, then all hard ones."""
    yield from random_cases(rng)
    yield from hard_cases()


def without_function(surrogate: Surrogate) -> str:
    """Return why the gradient is that of no function; empty if it is that of the value."""
    reasons = {
        "value_free": "value_free: forces, which are the gradient of no function",
        "estimated": "estimated: the gradient of an expected value, from samples",
    }
    return next((reason for trait, reason in reasons.items() if trait in surrogate.traits), "")


def permutations(surrogate: Surrogate, rng: np.random.Generator) -> Iterator[tuple[Case, Int64Array]]:
    """Cases, and another order of their documents; without ties for forces and estimates, as it matters."""
    for case in random_cases(rng) if without_function(surrogate) else all_cases(rng):
        yield case, np.concatenate([lo + rng.permutation(hi - lo) for _, lo, hi in each_query(case)])


def each_query(case: Case) -> Iterator[tuple[int, int, int]]:
    """Number of each query, its first document, and the end of its documents."""
    for q, (lo, hi) in enumerate(pairwise(case.qptr)):
        yield q, int(lo), int(hi)
