"""The choice among trials, and whether the mean of several is better: functions of the trials alone.

In: trials. Out: the ranker to keep, and the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error, mean_over_queries, values_of
from directrix.search import rules
from directrix.search.folds import Fold, validation_queries
from directrix.search.trial import CUT_SHORT, INCOMPLETE, UNTRAINED, Trial
from directrix.types import Float64Array


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Return trials with the best first; equally good ones are always in the order of preference."""
    return sorted(trials, key=lambda trial: (-trial.or_worst, trial.place))


def leading(trials: Iterable[Trial]) -> dict[str, Trial]:
    """Return the best trial of each method, the best method first."""
    leaders: dict[str, Trial] = {}
    for trial in ranked(trials):
        leaders.setdefault(trial.name, trial)
    return leaders


def contenders(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that can be chosen.

    These are the ones that finished, and those that the time budget stopped but are ahead of all finished
    ones. The value of a stopped run does not show what it would have reached. If none finished, they are
    those that were stopped after a step, or else before all folds were tried, or before a step.
    """
    finished = [trial for trial in trials if not trial.outcome]
    if finished:
        best = max(trial.or_worst for trial in finished)
        return [t for t in trials if not t.outcome or (t.outcome == CUT_SHORT and t.or_worst > best)]
    by_outcome = ([t for t in trials if t.outcome == end] for end in (CUT_SHORT, INCOMPLETE, UNTRAINED))
    return next(filter(None, by_outcome), [])


def preferred(trials: Sequence[Trial], *, simple: bool = False) -> Trial:
    """Return the best of the `contenders`.

    With ``simple``, return the most preferred method whose best trial is within one standard error of it. The
    error is that of the mean difference over the validation queries, query by query.
    """
    able = contenders(trials)
    best, leaders = ranked(able)[0], leading(able)
    if simple:
        for name in dict.fromkeys(trial.name for trial in sorted(able, key=lambda trial: trial.place)):
            leader = leaders[name]
            behind, error = difference(best, leader)
            if not behind > error and math.isnan(leader.valid) == math.isnan(best.valid):
                return leader
    return best


def difference(first: Trial, second: Trial) -> tuple[float, float]:
    """Return the mean difference over the validation queries, and its standard error."""
    return (0.0, 0.0) if first is second else mean_and_error(first.values - second.values)


def is_tied(trial: Trial, best: Trial) -> bool:
    """Whether a trial is behind the best by at most two standard errors, query by query."""
    behind, error = difference(best, trial)
    # An unknown error is NaN, for which every comparison is false: such a trial counts as tied.
    return not behind > rules.CLEARLY * error


def is_hopeless(values: Float64Array, trials: Sequence[Trial]) -> bool:
    """Whether values are behind the best trial by more than two standard errors, query by query.

    They are those of the first validation queries.
    """
    able = contenders(trials)
    if not able:
        return False
    # A candidate that has tried some folds is compared on their queries alone, which come first in all
    # values.
    gaps = ranked(able)[0].values[: len(values)] - values
    behind, error = mean_and_error(gaps)
    n_queries = np.count_nonzero(~np.isnan(gaps))
    return bool(n_queries >= rules.FEWEST_QUERIES and behind > rules.CLEARLY * error)


def eligible(trials: Sequence[Trial]) -> list[Trial]:
    """Return the best trial of each method that can be chosen, and the anchors, in their order."""
    able = contenders(trials)
    leaders = leading(able).values()
    return [trial for trial in able if trial in leaders or trial.candidate.is_anchor]


@dataclass(frozen=True, eq=False)
class Choice:
    """The best single trial, or the mean of several: its members, scores and values.

    Parameters
    ----------
    best : Trial
        The preferred single trial.
    members : tuple of Trial
        The best first; empty if ``best`` is chosen alone.
    scores, values : float64
        Scores of the validation queries, and the measure on each query.
    """

    best: Trial
    members: tuple[Trial, ...]
    scores: Float64Array
    values: Float64Array

    @classmethod
    def of(cls, trial: Trial) -> Choice:
        """Return the choice of a trial alone."""
        return cls(trial, (), trial.scores, trial.values)

    @property
    def kept(self) -> tuple[Trial, ...]:
        """The trials whose rankers are used."""
        return self.members or (self.best,)

    @property
    def valid(self) -> float:
        """The measure on the validation queries."""
        return mean_over_queries(self.values)

    @property
    def lead(self) -> tuple[float, float, int]:
        """Lead over the best member, with its standard error, and the number of queries."""
        ahead = self.values - self.kept[0].values
        return *mean_and_error(ahead), int(np.count_nonzero(~np.isnan(ahead)))


def blend(trials: Sequence[Trial], folds: Sequence[Fold], measure: RankingMeasure) -> Choice | None:
    """Return the mean of the trials that validation cannot distinguish, or None if there is only one.

    These are the best trials of the four best methods and the anchors, except those that are behind the best
    by more than two standard errors, query by query. Their scores count equally, in units of their spread.
    Averages are not compared with single trials: the highest of many values is too high by chance, but that
    of an average is not (docs/decisions/selection.md). The result is None for fewer than ten validation
    queries.
    """
    # A ranker that gives all documents the same score would only dilute the mean.
    pool = [trial for trial in eligible(trials) if trial.scores.any() and not math.isnan(trial.valid)]
    if len(pool) < 2 or folds[0].valid is folds[0].train:
        return None
    order, names = ranked(pool), list(leading(pool))[: rules.MEMBERS]
    able = (trial for trial in order if trial.name in names or trial.candidate.is_anchor)
    members = tuple(trial for trial in able if is_tied(trial, order[0]))
    # Scores are already divided by their spread, so members with large scores do not outweigh the others.
    scores = np.mean([trial.scores for trial in members], axis=0)
    values = values_of(measure, scores, validation_queries(folds))
    mean = Choice(preferred(trials), members, scores, values)
    return mean if len(members) > 1 and mean.lead[2] >= rules.FEWEST_QUERIES else None


def choice(
    trials: Sequence[Trial],
    folds: Sequence[Fold],
    measure: RankingMeasure,
    *,
    may_blend: bool,
    simple: bool = False,
) -> Choice:
    """Return the preferred trial, or the mean of several.

    What needs all documents of a query is chosen only if its lead over the best choice without it, query by
    query, exceeds its standard error; see docs/decisions/selection.md.
    """

    def best_of(able: Sequence[Trial]) -> Choice:
        mean = blend(able, folds, measure) if may_blend else None
        return mean or Choice.of(preferred(able, simple=simple))

    able = contenders(trials)
    best = best_of(able)
    # Rankers that scale by query cannot score a document alone. They must earn this by more than one error.
    alone = [trial for trial in able if not trial.candidate.needs_queries]
    if not alone or not any(trial.candidate.needs_queries for trial in best.kept):
        return best
    other = best_of(alone)
    lead, error = mean_and_error(best.values - other.values)
    return best if lead > error else other
