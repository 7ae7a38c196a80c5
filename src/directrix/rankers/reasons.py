"""What to say of a search: why this candidate, and what the numbers do not show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from directrix.data.queries import Queries
from directrix.measures.base import RankingMeasure
from directrix.rankers.judging import Fold

if TYPE_CHECKING:
    from directrix.rankers.search import Candidate

__all__ = ["not_tried", "nothing_to_learn", "other_gain", "why_chosen"]


def why_chosen(best: Candidate, candidates: tuple[Candidate, ...], goal: RankingMeasure) -> str:
    """Compare with the best candidate of any other method, query by query."""
    others = [c for c in candidates if c.method != best.method and not math.isnan(c.valid)]
    if not others or math.isnan(best.valid):
        return f"{goal.name} {best.valid:.4f}, the best of {len(candidates)} settings of {best.method}"
    second = max(others, key=lambda c: c.valid)
    difference = best.values - second.values
    difference = difference[~np.isnan(difference)]
    error = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else math.nan
    text = (
        f"{goal.name} {best.valid:.4f}, ahead of the best other method, {second.label}, by "
        f"{difference.mean():.4f} +- {error:.4f} over {len(difference)} queries"
    )
    if not difference.mean() > 2.0 * error:
        text += "; so small a difference may be chance"
    return text


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


def not_tried(missing: int, total: int, budget: float | None) -> Iterator[str]:
    """Candidates for which there was no time."""
    if missing:
        yield f"the time budget of {budget:g} s was used up: {missing} of {total} candidates were not tried"
