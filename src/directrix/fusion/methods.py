"""The methods that `fuse` compares, with exact line searches for their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np

from directrix.fusion.combination import NORMALIZERS, Combination, Normalizer, Pool, normalized
from directrix.fusion.result import BEST_RUN, RRF_60, Chosen
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.types import Array, Float64Array, Int64Array

CONSTANTS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 100.0, 200.0, 500.0)
"""Constants of RRF that are tried."""

_DRAWN = 50  # random weights, with equal ones and each run alone
_CLIMBED = 2  # the best of these, from which single weights are moved
_BEATING = 4  # times the cut-off: documents that others are compared with
_SWEEPS = 20
_GAIN = 1e-12


class Optimum(NamedTuple):
    """The best weights of one kind of combination."""

    combination: Combination
    interval: tuple[float, float] | None
    """Of two runs: weights of the second that are equally good, and better than all others."""


class Weigher:
    """Searches weights for a measure on the queries of a pool.

    Documents that no run retrieved count in the ideal ranking, or among the relevant ones, and earn nothing.
    The line search is over the others, without those that no weights bring above the cut-off; each query
    counts there as much as the whole list allows at most, over what this part allows. That is exact where a
    measure is a sum over ranked documents, over a constant of the query: nDCG, AP, precision, recall, RR,
    ERR and RBP.
    """

    def __init__(self, pool: Pool, measure: RankingMeasure, seed: int) -> None:
        self.pool, self.measure, self.seed = pool, measure, seed
        self._exact = measure.prepare(pool.labels, pool.qptr, doc_ids=pool.doc_ids)
        self._optima: dict[Combination, Optimum] = {}

    def of(self, queries: Int64Array) -> Weigher:
        """Return a search on some of the queries."""
        return Weigher(self.pool.take(queries), self.measure, self.seed)

    @cached_property
    def _is_reached(self) -> Array:
        """Whether weights can bring the document among those that the measure sees."""
        return self.pool.is_retrieved & ~beaten(self.pool, self.measure.depth)

    @cached_property
    def _reached(self) -> Pool:
        return self.pool.only(self._is_reached)

    @cached_property
    def _line(self) -> LineSearch:
        part = self._reached
        return LineSearch(
            self.measure, part.labels, part.qptr, query_weight=self._worth, doc_ids=part.doc_ids
        )

    @cached_property
    def _worth(self) -> Float64Array:
        """The weight of every query in the line search; 0 where all weights give the same value."""
        pool, part, measure = self.pool, self._reached, self.measure
        whole = self._exact(np.where(self._is_reached, pool.labels, -np.inf))[0]
        of_part = measure(part.labels, part.labels, part.qptr, doc_ids=part.doc_ids)
        is_some = np.isfinite(of_part) & np.isfinite(whole) & (of_part > 0.0)
        return np.divide(whole, of_part, out=np.zeros(len(whole)), where=is_some)

    def value(self, combination: Combination) -> Float64Array:
        """Return the measure of every query; NaN where it is undefined."""
        return self.value_of(combination.scores(self.pool))

    def value_of(self, scores: Float64Array) -> Float64Array:
        """Return the measure of every query for scores of all documents, -inf = not retrieved."""
        return np.asarray(self._exact(scores)[0])

    @property
    def is_flat(self) -> bool:
        """Whether all weights are equally good: none bring a relevant document among those that count."""
        return not self._worth.any()

    @property
    def single_runs(self) -> list[Combination]:
        """Each run alone."""
        return [Combination("run", tuple(row)) for row in np.eye(len(self.pool.names)).tolist()]

    def best_run(self) -> Combination:
        """Return the best run; the first of equals."""
        return max(self.single_runs, key=lambda run: float(np.nanmean(self.value(run))))

    def linear(self, normalizer: Normalizer) -> Optimum:
        """Return the best weights of scores."""
        return self._best(Combination("linear", self.equal, normalizer))

    def rrf(self, constant: float) -> Optimum:
        """Return the best weights of reciprocal ranks."""
        return self._best(Combination("rrf", self.equal, constant=constant))

    def rrf_constant(self) -> Combination:
        """Return RRF of equal weights with the best constant; the nearest to 60 of equals."""
        tried = [Combination("rrf", self.equal, constant=c) for c in CONSTANTS]
        return max(
            tried, key=lambda one: (round(float(np.nanmean(self.value(one))), 12), -abs(one.constant - 60.0))
        )

    @property
    def equal(self) -> tuple[float, ...]:
        """Equal weights of sum 1."""
        n = len(self.pool.names)
        return (1.0 / n,) * n

    def _best(self, shape: Combination) -> Optimum:
        if shape not in self._optima:
            self._optima[shape] = self._search(shape)
        return self._optima[shape]

    def _search(self, shape: Combination) -> Optimum:
        n = len(shape.weights)
        if self.is_flat:
            return Optimum(shape, (0.0, 1.0) if n == 2 else None)
        parts = shape.parts(self.pool)[self._is_reached]
        if n == 2:
            # one line holds all weights, so its best point is the best of all
            point = self._line.best(parts[:, 0], parts[:, 1] - parts[:, 0], within=(0.0, 1.0))
            low, high = (min(max(end, 0.0), 1.0) for end in point.interval)
            return Optimum(replace(shape, weights=(1.0 - point.t, point.t)), (low, high))
        rng = np.random.default_rng(self.seed)
        drawn = np.concatenate([np.full((1, n), 1.0 / n), np.eye(n), rng.dirichlet(np.ones(n), size=_DRAWN)])
        values = [self._line.value(parts @ start) for start in drawn]
        best_value, best = -np.inf, drawn[0]
        for start in drawn[np.argsort(-np.array(values), kind="stable")[:_CLIMBED]]:
            value, weights = self._climb(parts, start)
            if value > best_value + _GAIN:
                best_value, best = value, weights
        return Optimum(replace(shape, weights=tuple(best.tolist())), None)

    def _climb(self, parts: Float64Array, weights: Float64Array) -> tuple[float, Float64Array]:
        """Change one weight after another, each to its best value >= 0, until none gains."""
        n = len(weights)
        value, without = self._line.value(parts @ weights), 0
        for i in islice(cycle(range(n)), _SWEEPS * n):
            without += 1
            if np.delete(weights, i).sum() > 0.0:  # alone, any weight > 0 is the same
                point = self._line.best(parts @ weights, parts[:, i], within=(-weights[i], np.inf))
                moved = np.maximum(weights + point.t * np.eye(n)[i], 0.0)
                moved = moved / moved.sum()
                reached = self._line.value(parts @ moved)  # rounding of the weights may part ties
                if reached > value + _GAIN:  # then this weight is the best on its line
                    value, weights, without = reached, moved, 1
            if without == n:
                break
        return value, weights


def beaten(pool: Pool, depth: int) -> Array:
    """Return for every document whether ``depth`` others are above it in every run.

    No weights bring such a document among the first ``depth``. Documents are compared with those that are
    best by their worst normalized score, so some are not noticed. O(n_docs depth n_runs).
    """
    is_beaten = np.zeros(len(pool.doc_ids), dtype=np.bool_)
    parts = normalized(pool, "none")  # above in these is above with any normalizer
    for first, last in zip(pool.qptr[:-1], pool.qptr[1:], strict=True):
        if last - first > depth:
            of = parts[first:last]
            best = of[np.argsort(-of.min(axis=1), kind="stable")[: _BEATING * depth]]
            above = sum((other > of).all(axis=1).astype(np.int64) for other in best)
            is_beaten[first:last] = above >= depth
    return is_beaten


Choose = Callable[[Weigher, Sequence[str]], Chosen]
"""Takes the queries to choose on, and their classes."""

_LEAST_OF_CLASS = 5  # queries of a class with weights of its own


def fusion_methods(*, has_classes: bool) -> dict[str, Choose]:
    """Return the methods by name, simple ones first; the one by class only if there are classes."""
    methods: dict[str, Choose] = {
        BEST_RUN: lambda weigher, _: _plain(weigher.best_run()),
        RRF_60: lambda weigher, _: _plain(Combination("rrf", weigher.equal)),
        "RRF, best c": lambda weigher, _: _plain(weigher.rrf_constant()),
        "CombSUM": lambda weigher, _: _plain(Combination("linear", weigher.equal)),
        "CombMNZ": lambda weigher, _: _plain(Combination("combmnz", weigher.equal)),
        "RRF, weights": _weighted_rrf,
        **{f"linear, {name}": partial(_linear, name) for name in NORMALIZERS},
        "linear, best normalizer": lambda weigher, _: _best_linear(weigher),
    }
    return methods | ({"linear, by class": _by_class} if has_classes else {})


def _plain(combination: Combination) -> Chosen:
    return Chosen({"": combination})


def _weighted_rrf(weigher: Weigher, _: Sequence[str]) -> Chosen:
    optimum = weigher.rrf(weigher.rrf_constant().constant)
    return Chosen({"": optimum.combination}, optimum.interval)


def _linear(normalizer: Normalizer, weigher: Weigher, _: Sequence[str]) -> Chosen:
    optimum = weigher.linear(normalizer)
    return Chosen({"": optimum.combination}, optimum.interval)


def _best_linear(weigher: Weigher) -> Chosen:
    every = [weigher.linear(name) for name in NORMALIZERS]
    best = max(every, key=lambda optimum: round(float(np.nanmean(weigher.value(optimum.combination))), 12))
    return Chosen({"": best.combination}, best.interval)


def _by_class(weigher: Weigher, classes: Sequence[str]) -> Chosen:
    """Choose normalizer and weights for all, and weights of each class that has enough queries."""
    common = _best_linear(weigher).of_class[""]
    of_class = {"": common}
    for name in sorted(set(classes) - {""}):
        queries = np.flatnonzero([one == name for one in classes])
        if len(queries) >= _LEAST_OF_CLASS:
            of_class[name] = weigher.of(queries).linear(common.normalizer).combination
    return Chosen(of_class)
