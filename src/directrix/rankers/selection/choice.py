"""What a search keeps: one candidate or an ensemble, and whether it may need all documents of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from directrix.data.scale import is_by_query
from directrix.measures.base import RankingMeasure
from directrix.rankers.method import Trial
from directrix.rankers.selection.blend import Blend, blend
from directrix.rankers.selection.choose import contenders, preferred
from directrix.rankers.selection.trial import Fold, Trained
from directrix.rankers.training import mean_and_error
from directrix.types import Float64Array


class Choice(NamedTuple):
    """The preferred candidate, and the ensemble that replaces it, if there is one."""

    best: Trained
    mixed: Blend | None

    @property
    def values(self) -> Float64Array:
        """The measure on every validation query."""
        return self.best.candidate.values if self.mixed is None else self.mixed.values

    @property
    def needs_queries(self) -> bool:
        """Whether a document can only be scored together with the others of its query."""
        members = [self.best] if self.mixed is None else [trained for trained, _ in self.mixed.members]
        return any(needs_queries(trained.trial) for trained in members)


def needs_queries(trial: Trial) -> bool:
    """Whether the ranker of a trial scales by query, and so needs all documents of a query to score one."""
    return is_by_query(trial.ranker(None).scale)


def choice(
    tried: Sequence[Trained], folds: Sequence[Fold], measure: RankingMeasure, *, may_blend: bool
) -> Choice:
    """Return what is best on the validation queries.

    What needs all documents of a query to score one is chosen only if its lead over the best choice without
    such candidates, query by query, exceeds twice its standard error; see docs/decisions/selection.md.
    """
    able = contenders([trained.candidate for trained in tried])
    tried = [trained for trained in tried if any(trained.candidate is one for one in able)]
    best = _among(tried, folds, measure, may_blend=may_blend)
    alone = [trained for trained in tried if not needs_queries(trained.trial)]
    if not best.needs_queries or not alone:
        return best
    other = _among(alone, folds, measure, may_blend=may_blend)
    lead, error = mean_and_error(best.values - other.values)
    return best if lead > 2.0 * error else other


def _among(
    tried: Sequence[Trained], folds: Sequence[Fold], measure: RankingMeasure, *, may_blend: bool
) -> Choice:
    candidates = [trained.candidate for trained in tried]
    best = tried[candidates.index(preferred(candidates))]
    return Choice(best, blend(tried, folds, measure) if may_blend else None)
