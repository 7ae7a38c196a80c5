"""What to tell the caller of a search: what the figures of the candidates do not show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.selection.folds import Fold
from directrix.rankers.selection.trial import Candidate


def of_data(folds: list[Fold], measure: RankingMeasure, best: Candidate) -> Iterator[str]:
    """Yield remarks on queries from which training learns nothing, or that cannot rank the candidates."""
    train, judge = folds[0].train, folds[0].judge
    if not any(_has_order(fold.train) for fold in folds):
        yield "no training query has documents of different labels, so there is no order to learn"
    if math.isnan(best.valid):
        yield f"{measure.name} is undefined on all validation queries, so the first candidate was kept"
    elif judge is not train and not any(_has_order(fold.judge) for fold in folds):
        yield (
            "no validation query has documents of different labels, so all candidates are equal and the "
            "first was kept"
        )


def _has_order(q: Queries) -> bool:
    """Whether any query has documents of different labels."""
    first = q.qptr[:-1][np.diff(q.qptr) > 0]
    return bool(np.any(np.minimum.reduceat(q.labels, first) < np.maximum.reduceat(q.labels, first)))


def other_gain(measure: RankingMeasure) -> Iterator[str]:
    """Yield a remark on a measure whose gains differ from those of the surrogates."""
    if getattr(measure, "gain", "exp") != "exp":
        yield (
            f"training maximises the gain 2^label - 1; {measure.name} chooses among the candidates and is "
            "what score reports"
        )


def of_trials(
    without_weights: Sequence[str],
    failed: Mapping[str, InputError],
    n_untried: int,
    n_trials: int,
    budget: float | None,
) -> Iterator[str]:
    """Yield remarks on methods that could not be trained, and on trials that the time budget left out."""
    if without_weights:
        yield f"{', '.join(without_weights)}: not trained, because they do not support weights of documents"
    for name, error in failed.items():
        yield f"{name} could not be trained with every setting: {error}"
    if n_untried:
        cut = f"{n_untried} of {n_trials} candidates were not trained"
        yield f"the time budget of {budget:g} s was used up: {cut}"
