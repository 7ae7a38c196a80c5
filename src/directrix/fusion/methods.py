"""The methods that `fuse` compares, with exact line searches for their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import cycle, islice

import numpy as np

from directrix.data.trec.pool import Pool
from directrix.fusion.combination import NORMALIZERS, Chosen, Combination, Normalizer, normalized
from directrix.measures.base import RankingMeasure
from directrix.measures.line_search import LineSearch
from directrix.types import Array, Float64Array, Int64Array

CONSTANTS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 100.0, 200.0, 500.0)
"""Constants of RRF that are tried."""

BEST_RUN, RRF_60 = "best run", "RRF, c = 60"
"""The methods that all others are compared with."""

# Number of random starting weights; equal ones and each run alone are also starts.
_SAMPLED = 50
# Number of the best starting weights from which coordinate ascent begins.
_CLIMBED = 2
# Documents that others are compared with, as a multiple of the cut-off.
_COMPARED = 4
# Coordinate ascent moves each weight at most this number of times.
_SWEEPS = 20
# A smaller gain of the measure is rounding.
_GAIN = 1e-12
# Decimals in which two values must differ to be different.
_DIGITS = 12
# Weight with which a run adds its documents without changing the order of the others.
_LITTLE = 1e-9


class Weigher:
    """Searches weights for a measure on the queries of a pool.

    Documents that no run retrieved count in the ideal ranking, or among the relevant ones, but gain nothing.
    The line search leaves them out, and those that no weights bring above the cut-off.
    """

    def __init__(self, pool: Pool, measure: RankingMeasure, seed: int) -> None:
        self.pool, self.measure, self.seed = pool, measure, seed
        self._exact = measure.prepare(pool.labels, pool.qptr, doc_ids=pool.doc_ids)
        self._optima: dict[Combination, Chosen] = {}

    def of(self, queries: Int64Array) -> Weigher:
        """Return a search on some of the queries."""
        return Weigher(self.pool.take(queries), self.measure, self.seed)

    @cached_property
    def _is_reached(self) -> Array:
        """Whether weights can bring the document among those that the measure sees."""
        # A measure of pairs depends on all documents.
        if self.measure.form == "pairs":
            return np.ones(len(self.pool.doc_ids), dtype=bool)
        return self.pool.is_retrieved & ~dominated(self.pool, self.measure.depth)

    @cached_property
    def _line(self) -> LineSearch:
        pool = self.pool
        return LineSearch(
            self.measure, pool.labels, pool.qptr, doc_ids=pool.doc_ids, is_ranked=self._is_reached
        )

    def value(self, scores: Combination | Float64Array) -> Float64Array:
        """Return the values of `evaluate` by query for scores of all documents, -inf = not retrieved."""
        document_scores = scores.scores(self.pool) if isinstance(scores, Combination) else scores
        is_seen = self.pool.is_judged | (document_scores > -np.inf)
        if is_seen.all():
            return np.asarray(self._exact(document_scores)[0])
        subpool = self.pool.only(is_seen)
        return self.measure(document_scores[is_seen], subpool.labels, subpool.qptr, doc_ids=subpool.doc_ids)

    @cached_property
    def is_flat(self) -> bool:
        """Whether all weights are equally good: none bring a relevant document above the cut-off."""
        # The call raises for a measure without terms, which has no line search.
        self.measure.terms(self.pool.labels, self.pool.qptr)
        best = self._exact(np.where(self._is_reached, self.pool.labels, -np.inf))[0]
        return not (best > 0.0).any()

    @property
    def single_runs(self) -> list[Combination]:
        """Each run alone."""
        return [Combination("run", tuple(row)) for row in np.eye(len(self.pool.tags)).tolist()]

    @property
    def equal(self) -> tuple[float, ...]:
        """Equal weights of sum 1."""
        n = len(self.pool.tags)
        return (1.0 / n,) * n

    def mean(self, combination: Combination) -> float:
        """Return the mean of the measure over the queries where it is defined."""
        return float(np.nanmean(self.value(combination)))

    def rrf_constant(self) -> float:
        """Return the best constant of RRF with equal weights; of equally good ones, the nearest to 60."""
        values = {c: round(self.mean(Combination("rrf", self.equal, constant=c)), _DIGITS) for c in CONSTANTS}
        return max(CONSTANTS, key=lambda c: (values[c], -abs(c - 60.0)))

    def best_linear(self) -> Chosen:
        """Return the best weights of scores with the best normalizer."""
        every = [self.linear(name) for name in NORMALIZERS]
        return max(every, key=lambda chosen: round(self.mean(chosen.combination), _DIGITS))

    def linear(self, normalizer: Normalizer) -> Chosen:
        """Return the best weights of scores."""
        return self.best(Combination("linear", self.equal, normalizer))

    def best(self, shape: Combination) -> Chosen:
        """Return a combination with the best weights."""
        if shape not in self._optima:
            self._optima[shape] = self._search(shape)
        return self._optima[shape]

    def _search(self, shape: Combination) -> Chosen:
        n = len(shape.weights)
        if self.is_flat:
            return Chosen({"": shape}, (0.0, 1.0) if n == 2 else None)
        terms = shape.parts(self.pool)
        # A document that no run retrieved stays below all others with any weights.
        terms[~self.pool.is_retrieved] = terms.min() - 1.0
        terms, interval = terms[self._is_reached], None
        weights: list[tuple[float, ...]]
        if n == 2:
            # One line holds all weights of two runs.
            point = self._line.best(terms[:, 0], terms[:, 1] - terms[:, 0], within=(0.0, 1.0))
            low, high = (min(max(end, 0.0), 1.0) for end in point.interval)
            weights, interval = [(1.0 - point.t, point.t)], (low, high)
        else:
            weights = self._climbed(terms, shape)
        # At equal weights documents may tie, and with all weight on one run only its documents are left,
        # so these points are tried as well.
        weights += [shape.weights, *map(tuple, np.eye(n).tolist())]
        best = max(
            weights, key=lambda candidate: round(self.mean(replace(shape, weights=candidate)), _DIGITS)
        )
        return Chosen({"": replace(shape, weights=best)}, interval if best is weights[0] else None)

    def _climbed(self, terms: Float64Array, shape: Combination) -> list[tuple[float, ...]]:
        """Return weights with the best value that coordinate ascent reaches, and such weights above 0."""
        n, rng = len(shape.weights), np.random.default_rng(self.seed)
        starts = np.concatenate([[shape.weights], np.eye(n), rng.dirichlet(np.ones(n), size=_SAMPLED)])
        values = [self._line.value(terms @ start) for start in starts]
        best_value, best = -np.inf, starts[0]
        for start in starts[np.argsort(-np.array(values), kind="stable")[:_CLIMBED]]:
            value, weights = self._climb(terms, start)
            if value > best_value + _GAIN:
                best_value, best = value, weights
        return [tuple(best.tolist()), tuple(((1.0 - _LITTLE) * best + _LITTLE / n).tolist())]

    def _climb(self, terms: Float64Array, weights: Float64Array) -> tuple[float, Float64Array]:
        """Change one weight after another, each to its best value >= 0, until none gains."""
        n = len(weights)
        value, without = self._line.value(terms @ weights), 0
        for i in islice(cycle(range(n)), _SWEEPS * n):
            without += 1
            # A run that is alone has the same order with any weight > 0.
            if np.delete(weights, i).sum() > 0.0:
                point = self._line.best(terms @ weights, terms[:, i], within=(-weights[i], np.inf))
                moved = np.maximum(weights + point.t * np.eye(n)[i], 0.0)
                moved = moved / moved.sum()
                # Normalizing the weights rounds them, which may separate ties, so the value is computed
                # again.
                reached = self._line.value(terms @ moved)
                # The new weight is the best on its line, so the count of steps without a gain restarts at 1.
                if reached > value + _GAIN:
                    value, weights, without = reached, moved, 1
            if without == n:
                break
        return value, weights


def dominated(pool: Pool, depth: int) -> Array:
    """Return for every document whether ``depth`` others are above it in every run.

    No weights bring such a document among the first ``depth``. Documents are compared only with those with
    the highest worst normalized score, so some dominated ones are missed. O(n_docs depth n_runs).
    """
    is_dominated = np.zeros(len(pool.doc_ids), dtype=np.bool_)
    # A document that is above another in these scores is above it with any normalizer.
    normalized_scores = normalized(pool, "none")
    for first, last in zip(pool.qptr[:-1], pool.qptr[1:], strict=True):
        if last - first > depth:
            scores = normalized_scores[first:last]
            best = scores[np.argsort(-scores.min(axis=1), kind="stable")[: _COMPARED * depth]]
            above = sum((other > scores).all(axis=1).astype(np.int64) for other in best)
            is_dominated[first:last] = above >= depth
    return is_dominated


Choose = Callable[[Weigher, Sequence[str]], Chosen]
"""A method: from the queries to choose on, and their classes, to its choice."""

# Smallest number of queries for which a class gets weights of its own.
_LEAST_OF_CLASS = 5


def fusion_methods(*, has_classes: bool) -> dict[str, Choose]:
    """Return the methods by name, simple ones first; the one by class only if there are classes."""

    def fixed(shape: Callable[[Weigher], Combination]) -> Choose:
        return lambda weigher, _: Chosen({"": shape(weigher)})

    def rrf(weigher: Weigher) -> Combination:
        return Combination("rrf", weigher.equal, constant=weigher.rrf_constant())

    def linear(normalizer: Normalizer) -> Choose:
        return lambda weigher, _: weigher.linear(normalizer)

    methods: dict[str, Choose] = {
        BEST_RUN: fixed(lambda weigher: max(weigher.single_runs, key=weigher.mean)),
        RRF_60: fixed(lambda weigher: Combination("rrf", weigher.equal)),
        "RRF, best c": fixed(rrf),
        "CombSUM": fixed(lambda weigher: Combination("linear", weigher.equal)),
        "CombMNZ": fixed(lambda weigher: Combination("combmnz", weigher.equal)),
        "RRF, weights": lambda weigher, _: weigher.best(rrf(weigher)),
        **{f"linear, {name}": linear(name) for name in NORMALIZERS},
        "linear, best normalizer": lambda weigher, _: weigher.best_linear(),
    }
    return methods | ({"linear, by class": _by_class} if has_classes else {})


def _by_class(weigher: Weigher, classes: Sequence[str]) -> Chosen:
    """Choose normalizer and weights for all queries, and weights of each class that has enough of them."""
    common = weigher.best_linear().combination
    of_class = {"": common}
    for name in sorted(set(classes) - {""}):
        queries = np.flatnonzero([class_of_query == name for class_of_query in classes])
        if len(queries) >= _LEAST_OF_CLASS:
            of_class[name] = weigher.of(queries).linear(common.normalizer).combination
    return Chosen(of_class)
