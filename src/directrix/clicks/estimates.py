"""Estimates of rankers from the clicks of a log: their intervals, doubts, differences and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.data.columns import column_list
from directrix.errors import InputError, amount
from directrix.measures.bootstrap import equal_signs_p
from directrix.tables import PValue, ShowsTables, Table, json_value
from directrix.types import Float64Array

# A value is marked as doubtful if it comes from fewer queries, or has a smaller effective sample size.
_FEW_QUERIES = 30
_FEW_IMPRESSIONS = 100.0
# A value is marked as doubtful if the log lacks more than this share of what the target shows.
_MANY_UNSHOWN = 0.1
# A value is marked as doubtful if one query has more than this share of the variance.
_ONE_QUERY = 0.5
# These estimators are not marked for gaps. The first is biased anyway, and the second predicts unshown
# documents.
_NO_GAPS = ("naive", "doubly-robust")
# Relative error up to which a value counts as the same in all queries.
_ROUNDING = 1e-12
_SIGN = "documents that were never shown decide the sign of the difference"


@dataclass(frozen=True)
class Estimate:
    """Estimated value of one ranker by one estimator.

    Parameters
    ----------
    ranker, estimator : str
    value : float
        Mean over sessions.
    interval : (float, float)
        Interval of the value with confidence 1 - alpha, by queries.
    effective : float
        Effective sample size in impressions, (sum w)^2 / sum w^2 of the factors of their clicks.
    unshown : float
        Fraction of the documents that the ranker would have shown and the log never shows for the query; with
        estimators of whole lists and positions, never at that position.
    doubts : tuple of str
        Reasons why the interval is unreliable; empty if none is known.
    """

    ranker: str
    estimator: str
    value: float
    interval: tuple[float, float]
    effective: float
    unshown: float
    doubts: tuple[str, ...] = ()


class Difference(NamedTuple):
    """Difference of two rankers by one estimator, over the same queries."""

    first: str
    second: str
    estimator: str
    value: float
    """First minus second."""
    interval: tuple[float, float]
    p: float
    """Two-sided p-value of Student's t over queries; at least 2 / 2^n if only n of them differ."""
    doubts: tuple[str, ...] = ()
    """Reasons why the interval is unreliable, of both estimates and of the difference."""


class RatioSums(NamedTuple):
    """Numerator and denominator of a mean, by query (n_queries,)."""

    earned: Float64Array
    counted: Float64Array

    @property
    def value(self) -> float:
        """The mean."""
        return float(self.earned.sum() / self.counted.sum())

    def influence(self) -> Float64Array:
        """Linearized deviations of the ratio by query, which add up to 0."""
        return np.asarray((self.earned - self.value * self.counted) / self.counted.sum())


@dataclass(frozen=True, eq=False)
class CounterfactualResult(ShowsTables):
    """Result of `evaluate`.

    Parameters
    ----------
    measure : str
    estimates : tuple of Estimate
        Rankers in their order, each by every estimator.
    n_queries, n_sessions : int
        Numbers of queries and sessions of the log that count.
    alpha : float
    notes : tuple of str
    sums : dict
        Numerators and denominators by query, for each (ranker, estimator).
    shifts : dict
        Standard error of each value from estimated propensities, whose errors move all rankers together.
    """

    measure: str
    estimates: tuple[Estimate, ...]
    n_queries: int
    n_sessions: int
    alpha: float
    notes: tuple[str, ...]
    sums: Mapping[tuple[str, str], RatioSums]
    shifts: Mapping[tuple[str, str], float]

    def estimate(self, ranker: str, estimator: str) -> Estimate:
        """Return one estimate by its names."""
        by_name = {(estimate.ranker, estimate.estimator): estimate for estimate in self.estimates}
        if (ranker, estimator) in by_name:
            return by_name[ranker, estimator]
        names = column_list(f"{name} by {kind}" for name, kind in by_name)
        raise InputError(f"{ranker} by {estimator} was not estimated; the estimates are {names}.")

    def compare(self, first: str, second: str, estimator: str = "ips") -> Difference:
        """Return the difference of two rankers by one estimator, with interval and p, paired by query."""
        a, b = (self.estimate(ranker, estimator) for ranker in (first, second))
        sums = [self.sums[ranker, estimator] for ranker in (first, second)]
        shift = self.shifts[first, estimator] - self.shifts[second, estimator]
        value = a.value - b.value
        deviations = sums[0].influence() - sums[1].influence()
        n_queries = int((sums[0].counted > 0.0).sum())
        interval, p = _interval(value, deviations, n_queries, self.alpha, shift)
        # Queries with equal values say nothing, and the others cannot give a p below that of equal signs.
        gaps = sums[0].earned / sums[0].counted.sum() - sums[1].earned / sums[1].counted.sum()
        least = equal_signs_p(int((np.abs(gaps) > _ROUNDING * np.abs(gaps).max()).sum()))
        # The order of the arguments matters: `max` returns a first argument that is NaN.
        p = max(p, least)
        if least > self.alpha:
            interval = min(interval[0], 0.0), max(interval[1], 0.0)
        doubts = dict.fromkeys((*a.doubts, *b.doubts))
        by_shown = a.value / (1.0 - a.unshown) - b.value / (1.0 - b.unshown)
        if estimator not in _NO_GAPS and p < self.alpha and value * by_shown < 0.0:
            doubts = {_SIGN: None, **doubts}
        return Difference(first, second, estimator, value, interval, p, tuple(doubts))

    def _differences(self) -> list[Difference]:
        """Return the differences of all rankers from the first."""
        first = self.estimates[0].ranker
        others = [estimate for estimate in self.estimates if estimate.ranker != first]
        return [self.compare(other.ranker, first, other.estimator) for other in others]

    def tables(self) -> tuple[Table, ...]:
        """Return the estimates, and the differences of the rankers from the first, as tables."""
        doubted: dict[tuple[str, str], list[str]] = {}
        for estimate in self.estimates:
            for text in estimate.doubts:
                doubted.setdefault((estimate.ranker, text), []).append(estimate.estimator)
        rows = tuple(
            (
                e.ranker,
                e.estimator,
                e.value,
                *e.interval,
                f"{e.effective:,.0f}",
                e.unshown,
                "*" * bool(e.doubts),
            )
            for e in self.estimates
        )
        values = Table(
            f"{self.measure} by the log, {amount(self.n_sessions, 'sessions')} of "
            f"{amount(self.n_queries, 'queries')}",
            ("ranker", "estimator", self.measure, "low", "high", "effective", "unshown", ""),
            rows,
            digits=4,
            notes=(
                f"low, high: {1 - self.alpha:.0%} interval by queries. effective: effective sample size in "
                "impressions. unshown: share of the documents that the ranker would show and the log does "
                "not. *: the interval is unreliable, see below.",
                *self.notes,
                *(f"{ranker}, {', '.join(by)}: {text}." for (ranker, text), by in doubted.items()),
            ),
        )
        if not (pairs := self._differences()):
            return (values,)
        differences = Table(
            f"Differences of {self.measure}, paired by query",
            ("ranker", "minus", "estimator", "difference", "low", "high", "p", ""),
            tuple((*pair[:4], *pair.interval, PValue(pair.p), "*" * bool(pair.doubts)) for pair in pairs),
            digits=4,
            notes=tuple(f"{_name_of(pair)}: {_SIGN}." for pair in pairs if _SIGN in pair.doubts),
        )
        return values, differences

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types; values that are not finite are None."""
        keys = ("measure", "n_queries", "n_sessions", "alpha", "notes")
        estimates = list(map(vars, self.estimates))
        return dict(json_value({key: getattr(self, key) for key in keys} | {"estimates": estimates}))


def warnings_of(result: CounterfactualResult) -> Iterator[str]:
    """Yield what makes a decision by these estimates doubtful."""
    if signs := [_name_of(pair) for pair in result._differences() if _SIGN in pair.doubts]:
        yield f"{_SIGN}: {column_list(signs, 3)}. Interleave the rankers, or log randomized lists."
    if doubtful := [estimate for estimate in result.estimates if estimate.doubts]:
        texts = column_list((f"{e.ranker} by {e.estimator}: {e.doubts[0]}" for e in doubtful), 3)
        yield f"these intervals are unreliable: {texts}."


def _name_of(pair: Difference) -> str:
    return f"{pair.first} minus {pair.second} by {pair.estimator}"


def estimate_of(
    ranker: str, name: str, sums: RatioSums, shift: float, effective: float, unshown: float, alpha: float
) -> Estimate:
    """Return the estimate of a ranker with its interval and doubts."""
    influence, doubts = sums.influence(), []
    n_queries = int((sums.counted > 0.0).sum())
    if n_queries < _FEW_QUERIES:
        doubts.append(f"only {amount(n_queries, 'queries')}")
    if (total := float(influence @ influence)) > 0.0 and (top := np.max(influence**2) / total) > _ONE_QUERY:
        doubts.append(f"one query has {top:.0%} of the variance")
    if total <= (_ROUNDING * sums.value) ** 2:
        doubts.append("all queries have the same value")
    if effective < _FEW_IMPRESSIONS:
        doubts.append(f"the effective sample is {effective:.0f} impressions")
    interval, _ = _interval(sums.value, influence, n_queries, alpha, shift)
    # The interval does not cover what the log lacks, so a narrow one is misleading if much may be missing.
    is_narrow = unshown * abs(sums.value) > (interval[1] - interval[0]) / 4.0
    model = ", and is predicted by a model" if name == "doubly-robust" else ""
    if unshown > _MANY_UNSHOWN or (is_narrow and not model):
        doubts.append(f"{unshown:.0%} of what it would show was never shown{model}")
    return Estimate(ranker, name, sums.value, interval, effective, unshown, tuple(doubts))


def student_interval(
    value: float, error: float, degrees: int, alpha: float
) -> tuple[tuple[float, float], float]:
    """Return the interval of an estimate by Student's t, and the two-sided p-value of 0; the error is > 0."""
    from scipy.special import stdtr, stdtrit

    half = error * float(stdtrit(degrees, 1.0 - alpha / 2.0))
    return (value - half, value + half), 2.0 * float(stdtr(degrees, -abs(value) / error))


def _interval(
    value: float, influence: Float64Array, n_queries: int, alpha: float, shift: float
) -> tuple[tuple[float, float], float]:
    """Return `student_interval`, NaN without a variance over queries; ``shift`` is that of propensities."""
    if n_queries < 2 or math.sqrt(float(influence @ influence)) <= _ROUNDING * abs(value):
        return (math.nan, math.nan), math.nan if n_queries < 2 else float(value == 0.0)
    error = math.hypot(math.sqrt(float(influence @ influence) * n_queries / (n_queries - 1)), shift)
    return student_interval(value, error, n_queries - 1, alpha)
