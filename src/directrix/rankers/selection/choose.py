"""Which candidate of a search is chosen, and by how much it is ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.rankers.selection.trial import Candidate


def preferred(candidates: Sequence[Candidate]) -> Candidate:
    """Return the earliest method whose best candidate is within one standard error of the best of all.

    The error is that of the mean difference over the validation queries, query by query. Of the candidates
    of a method the best counts; of equals the earliest.
    """
    best = max(candidates, key=lambda c: c.or_worst)
    for name in dict.fromkeys(c.method for c in candidates):
        of_method = max((c for c in candidates if c.method == name), key=lambda c: c.or_worst)
        difference, error = _difference(best, of_method)
        if difference <= error and math.isnan(of_method.valid) == math.isnan(best.valid):
            return of_method
    return best


def why_chosen(chosen: Candidate, candidates: Sequence[Candidate], measure: RankingMeasure) -> str:
    """Compare with the best candidate of the other methods, query by query."""
    others = [c for c in candidates if c.method != chosen.method and not math.isnan(c.valid)]
    if not others or math.isnan(chosen.valid):
        count = len(candidates)
        among = f"the best of {count} settings" if count > 1 else "the only candidate"
        return f"{measure.name} {chosen.valid:.4f}, {among} of {chosen.method}"
    second = max(others, key=lambda c: c.valid)
    difference, error = _difference(chosen, second)
    n = int((~np.isnan(chosen.values - second.values)).sum())
    apart = f"{abs(difference):.4f} +- {error:.4f} over {n} queries"
    if difference < 0.0:
        return (
            f"{measure.name} {chosen.valid:.4f}; {second.label} is ahead by {apart}, less than one standard "
            f"error, and {chosen.method} comes first in the order of preference"
        )
    text = f"{measure.name} {chosen.valid:.4f}, ahead of the best other method, {second.label}, by {apart}"
    return text if difference > 2.0 * error else f"{text}; a difference this small may be chance"


def _difference(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean difference over the validation queries, and its standard error."""
    difference = one.values - other.values
    difference = difference[~np.isnan(difference)]
    if len(difference) < 2 or one is other:
        return (0.0, 0.0) if one is other or not len(difference) else (float(difference[0]), 0.0)
    return float(difference.mean()), float(difference.std(ddof=1) / len(difference) ** 0.5)
