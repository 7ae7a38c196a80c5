"""What to say of a search: why this candidate, and what the numbers do not show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.judging import Fold

if TYPE_CHECKING:
    from directrix.rankers.candidates import Candidate

__all__ = [
    "not_trained",
    "not_tried",
    "nothing_to_learn",
    "other_gain",
    "preferred",
    "unweighable",
    "why_chosen",
]


def preferred(candidates: Sequence[Candidate]) -> Candidate:
    """Return the earliest method whose best candidate is within one standard error of the best of all.

    The error is that of the mean difference over the validation queries, query by query. Of the candidates
    of a method the best counts; of equals the earliest.
    """
    best = max(candidates, key=lambda c: c.or_worst)
    for name in dict.fromkeys(c.method for c in candidates):
        own = max((c for c in candidates if c.method == name), key=lambda c: c.or_worst)
        difference, error = _ahead(best, own)
        if difference <= error and math.isnan(own.valid) == math.isnan(best.valid):
            return own
    return best


def _ahead(one: Candidate, other: Candidate) -> tuple[float, float]:
    """Mean difference over the validation queries, and its standard error."""
    difference = one.values - other.values
    difference = difference[~np.isnan(difference)]
    if len(difference) < 2 or one is other:
        return (0.0, 0.0) if one is other or not len(difference) else (float(difference[0]), 0.0)
    return float(difference.mean()), float(difference.std(ddof=1) / len(difference) ** 0.5)


def why_chosen(chosen: Candidate, candidates: Sequence[Candidate], goal: RankingMeasure) -> str:
    """Compare with the best candidate of the other methods, query by query."""
    others = [c for c in candidates if c.method != chosen.method and not math.isnan(c.valid)]
    if not others or math.isnan(chosen.valid):
        count = len(candidates)
        among = f"the best of {count} settings" if count > 1 else "the only candidate"
        return f"{goal.name} {chosen.valid:.4f}, {among} of {chosen.method}"
    second = max(others, key=lambda c: c.valid)
    difference, error = _ahead(chosen, second)
    n = int((~np.isnan(chosen.values - second.values)).sum())
    apart = f"{abs(difference):.4f} +- {error:.4f} over {n} queries"
    if difference < 0.0:
        return (
            f"{goal.name} {chosen.valid:.4f}; {second.label} is ahead by {apart}, less than one standard "
            f"error, and {chosen.method} comes first in the order of preference"
        )
    text = f"{goal.name} {chosen.valid:.4f}, ahead of the best other method, {second.label}, by {apart}"
    return text if difference > 2.0 * error else f"{text}; so small a difference may be chance"


def nothing_to_learn(folds: list[Fold], goal: RankingMeasure, best: Candidate) -> Iterator[str]:
    """Queries on which nothing can be learned, or chosen."""
    train, judge = folds[0].train, folds[0].judge
    if not any(_has_order(fold.train) for fold in folds):
        yield "no training query has documents of different labels, so there is no order to learn"
    if math.isnan(best.valid):
        yield f"{goal.name} is undefined on all validation queries, so the first candidate was kept"
    elif judge is not train and not any(_has_order(fold.judge) for fold in folds):
        yield (
            "no validation query has documents of different labels, so all candidates are equal and the "
            "first was kept"
        )


def _has_order(q: Queries) -> bool:
    """Whether any query has documents of different labels."""
    first = q.qptr[:-1][np.diff(q.qptr) > 0]
    return bool(np.any(np.minimum.reduceat(q.labels, first) < np.maximum.reduceat(q.labels, first)))


def other_gain(goal: RankingMeasure) -> Iterator[str]:
    """A measure whose gains are not those that the surrogates know."""
    if getattr(goal, "gain", "exp") != "exp":
        yield (
            f"training maximises the gain 2^label - 1; {goal.name} chooses among the candidates and is "
            "what score reports"
        )


def not_trained(failed: Mapping[str, InputError]) -> Iterator[str]:
    """Methods that refused the data."""
    for name, error in failed.items():
        yield f"{name} could not be trained with every setting: {error}"


def unweighable(names: Sequence[str]) -> Iterator[str]:
    """Methods without weights of documents."""
    if names:
        yield f"{', '.join(names)}: not tried, for they know no weights of documents"


def not_tried(missing: int, total: int, budget: float | None) -> Iterator[str]:
    """Candidates for which there was no time."""
    if missing:
        yield f"the time budget of {budget:g} s was used up: {missing} of {total} candidates were not tried"
