"""Explanations of the choice, and notes on a search."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from directrix.errors import InputError, amount
from directrix.measures.base import RankingMeasure
from directrix.rankers.means import mean_and_error
from directrix.search import rules
from directrix.search.choice import Choice, contenders, difference, ranked
from directrix.search.folds import Fold
from directrix.search.plan import Plan
from directrix.search.single_feature import Baseline
from directrix.search.trial import DROPPED, SAMPLE, UNTRAINED, Trial
from directrix.types import Float64Array


def standing(trained: Trial, trials: Sequence[Trial], measure: RankingMeasure) -> str:
    """Return one line on the result of a trial, compared with those so far."""
    best = ranked(contenders(trials))[0]
    if trained.progress:
        reason = f"stopped after {trained.progress}"
    elif trained.outcome == DROPPED:
        queries = amount(len(trained.values), "queries")
        reason = f"dropped: on its {queries} more than two standard errors behind {best.label}"
    elif trained.or_worst == best.or_worst:
        reason = "the best so far"
    else:
        reason = f"{best.or_worst - trained.or_worst:.4f} behind {best.label}"
    return f"{trained.label}: {measure.name} {trained.valid:.4f}, {trained.seconds:.1f} s; {reason}"


def why(choice: Choice, trials: Sequence[Trial], measure: RankingMeasure) -> str:
    """Compare the chosen trial with the best of the other methods, or an ensemble with its best member."""
    if choice.members:
        ahead, error, n = choice.lead
        labels = ", ".join(trial.label for trial in choice.members)
        return (
            f"{measure.name} {choice.valid:.4f}, the mean of {len(choice.members)} candidates, none of them "
            f"behind the first by more than two standard errors: {labels}; {ahead:+.4f}{_spread(error)} "
            f"compared with the first over {amount(n, 'queries')}"
        )
    chosen, able = choice.best, contenders(trials)
    others = [trial for trial in able if trial.name != chosen.name and not math.isnan(trial.valid)]
    value = f"{measure.name} {chosen.valid:.4f}"
    if chosen.progress:
        value += f", stopped after {chosen.progress}"
    if not others or math.isnan(chosen.valid):
        count = sum(trial.name == chosen.name for trial in able)
        rank = f"the best of {count} settings of" if count > 1 else "the only candidate of"
        return f"{value}, {rank} {chosen.name}"
    second = ranked(others)[0]
    ahead, error = difference(chosen, second)
    n = int((~np.isnan(chosen.values - second.values)).sum())
    apart = f"{abs(ahead):.4f}{_spread(error)} over {amount(n, 'queries')}"
    if ahead < 0.0:
        reason = f"and {chosen.name} comes first in the order of preference"
        if second.candidate.needs_queries and not chosen.candidate.needs_queries:
            reason = "too little for a model that needs all documents of a query to score one"
        return f"{value}; {second.label} is ahead by {apart}, {reason}"
    text = f"{value}, ahead of the best other method, {second.label}, by {apart}"
    return text if ahead > rules.CLEARLY * error else f"{text}; a difference this small may be chance"


def _spread(error: float) -> str:
    """Return a standard error in words, "" where too few or equal queries do not tell it."""
    return "" if math.isnan(error) else f" +- {error:.4f}"


def notes_on_data(
    folds: Sequence[Fold], measure: RankingMeasure, best: Trial, ranker: Any, gap: float
) -> Iterator[str]:
    """Yield notes on validation queries without differences, on gains, and on scaling by query."""
    if math.isnan(best.valid):
        yield f"{measure.name} is undefined on all validation queries, so the first candidate was kept"
    elif folds[0].valid is not folds[0].train and not any(fold.can_choose(measure) for fold in folds):
        yield (
            f"{measure.name} has the same value for every ranking of the validation queries, so all "
            "candidates are equal and the first was kept"
        )
    # A surrogate of the same measure has the same gain; only other surrogates train with the exponential one.
    is_exponential = getattr(getattr(ranker, "surrogate_", None), "measure", None) != measure
    if not math.isnan(gap) and is_exponential and getattr(measure, "gain", "exp") != "exp":
        yield (
            f"training maximizes the gain 2^label - 1; {measure.name} chooses among the candidates and is "
            "what score reports"
        )
    scale = ranker.scale_
    if scale is not None and scale.by_query:
        yield (
            f"the model scales features by query ({scale.kind}): to score one document it needs all "
            "documents of the query; a search without scaling by query (by_query) leaves such models out"
        )


# These are common names of the column in which search logs keep the displayed position.
_POSITIONS = ("position", "pos", "rank", "serp_rank", "serp_position", "old_rank", "current_rank")


def notes_on_features(
    names: Sequence[str] | None, baseline: Baseline | None, values: Float64Array
) -> Iterator[str]:
    """Yield notes on features that hold an old ranking, and on the lead over the best feature."""
    if positions := [name for name in names or () if name.lower() in _POSITIONS]:
        yield (
            f"the feature {', '.join(positions)} looks like the position in an earlier ranking: a model that "
            "uses it repeats that ranking, and cannot score documents without a position. Leave it out "
            "of the features"
        )
    if baseline is not None:
        # A trial that was dropped or stopped has values for its first folds only.
        ahead, error = mean_and_error(values - baseline.values[: len(values)])
        # The comparison is also false if the error is unknown (NaN), and then the note is needed too.
        if not ahead > rules.CLEARLY * error:
            where = "ahead of" if ahead > 0.0 else "not ahead of"
            chance = "" if ahead < -rules.CLEARLY * error else ", which may be chance"
            yield f"{where} the {baseline.label}: difference {ahead:+.4f}{_spread(error)}{chance}"


def notes_on_methods(plan: Plan, failed: Mapping[str, InputError]) -> Iterator[str]:
    """Yield notes on methods that a plan excludes, and on ``failed`` ones."""
    for reason, excluded in plan.excluded.items():
        if excluded:
            yield f"{', '.join(excluded)}: not trained, because they {reason}"
    by_error: dict[str, list[str]] = {}
    for name, error in failed.items():
        by_error.setdefault(str(error), []).append(name)
    for text, alike in by_error.items():
        yield f"{', '.join(alike)} could not be trained with every setting: {text}"


def notes_on_budget(
    budget: float,
    used: float,
    trials: Sequence[Trial],
    untried: Sequence[str],
    compiling: float = 0.0,
) -> Iterator[str]:
    """Yield notes on runs that were stopped or skipped, and on the seconds of a time budget."""
    stopped = [
        f"{c.label} after {c.progress}{' on the sample' if c.outcome == SAMPLE else ''}"
        for c in trials
        if c.progress and c.outcome != UNTRAINED
    ]
    # Labels are the keys, so a candidate counts once even if it began on the sample and on all documents.
    begun = {c.label: c.name for c in trials if c.outcome == UNTRAINED}
    if stopped:
        finished = any(not c.outcome for c in trials)
        rule = "chosen only if ahead of all that finished" if finished else "no candidate finished"
        yield f"stopped before the end ({rule}): {', '.join(stopped)}"
    if untrained := Counter([*begun.values(), *untried]):
        names = (f"{name} ({n} settings)" if n > 1 else name for name, n in untrained.items())
        yield f"not trained for lack of time: {', '.join(names)}"
    extra = f"; it does not count the {compiling:.0f} s of compiling kernels" if compiling >= 1.0 else ""
    if used > budget:
        yield f"the time budget of {budget:g} s was used up: the candidates took {used:.1f} s{extra}"
    elif budget < math.inf and (stopped or untrained or extra):
        yield f"the candidates took {used:.1f} s of the time budget of {budget:g} s{extra}"
    if budget < math.inf:
        yield "under a time budget results depend on the clock: another run may choose otherwise"
