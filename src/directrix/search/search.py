"""`search`: plan, train, choose, refit.

A `Plan` and queries go in, and a `SearchResult` comes out, with the fitted ranker and all trials:

>>> import directrix as dx
>>> plan = dx.AutoRanker("AP", method="RankNet", folds=2).plan()
>>> result = search(plan, dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0))
>>> result.name, len(result.trials) == len(plan.candidates)
('RankNet l2=0.1', True)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from directrix.data.checks import check_unrepeated, weights_of
from directrix.errors import Advice, InputError, warn
from directrix.rankers.inputs import Weights, check_measurable, check_training, same_rows
from directrix.rankers.kinds import KINDS
from directrix.rankers.means import mean_and_error, surrogate_gap
from directrix.search.choice import Choice, choice
from directrix.search.clock import Clock
from directrix.search.folds import UNWEIGHTED, Fold, few, search_folds
from directrix.search.halving import TrainingRuns, successive_halving
from directrix.search.notes import (
    notes_on_budget,
    notes_on_data,
    notes_on_features,
    notes_on_methods,
    why,
)
from directrix.search.plan import Plan
from directrix.search.single_feature import Baseline, baseline_of
from directrix.search.training import refit
from directrix.search.trial import CUT_SHORT, UNTRAINED, Trial
from directrix.types import Float64Array, Progress


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Parameters
    ----------
    ranker : Ranker
        Fitted with the chosen settings, or an `EnsembleRanker` of ``members``.
    chosen : Trial
        The best single trial; see `preferred`.
    trials : tuple of Trial
        All candidates that were tried, in the order of preference.
    selection : str
        Description of the queries that decided the choice.
    why : str
        Lead of the chosen candidate over the best of another method, or of the ensemble over its best member,
        with the standard error, in words.
    gap : float
        Mean over the training queries of abs(surrogate - its measure), at the end: the approximation error;
        NaN if no surrogate of a measure was optimized.
    notes : tuple of str
        Notes for the caller, for example that no query has documents of different labels.
    members : tuple of Trial
        The members of the ensemble, the best first; empty for a single ranker.
    scores : float64 (n_docs,)
        Scores of the validation queries of all folds by the choice, before the refit on all queries, in units
        of their spread on the training queries.
    folds : int or None
    seed : int
        Arguments of the search; with the data they determine the folds, see `search_folds`.
    baseline : Baseline or None
        Results of the best single feature, chosen on training queries, or None; see `baseline_of`.
    """

    ranker: Any
    chosen: Trial
    trials: tuple[Trial, ...]
    selection: str
    why: str
    gap: float
    notes: tuple[str, ...] = ()
    members: tuple[Trial, ...] = ()
    scores: Float64Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    folds: int | None = None
    seed: int = 0
    baseline: Baseline | None = None

    @property
    def name(self) -> str:
        """The chosen candidate or ensemble, in words."""
        count = len(self.members)
        return f"an ensemble of {count} candidates" if count else self.chosen.label

    def part_of(self, trial: Trial) -> str:
        """Return "chosen", "member", or the outcome of the trial.

        If the time budget stopped it, the number of steps follows: "chosen, stopped after 8 of 300 trees".
        """
        outcome = "chosen" if trial is self.chosen and not self.members else trial.outcome
        if any(member is trial for member in self.members):
            outcome = "member"
        if not trial.progress or outcome == UNTRAINED:
            return outcome
        stopped = f"stopped after {trial.progress}"
        return stopped if outcome == CUT_SHORT else f"{outcome}, {stopped}"


def search(
    plan: Plan,
    queries: Any,
    valid: Any = None,
    *,
    weights: Weights = UNWEIGHTED,
    progress: Progress | None = None,
) -> SearchResult:
    """Train the candidates of a plan on queries, and choose; see `AutoRanker.search`."""
    clock = Clock(plan.time_budget, len(plan.candidates), progress)
    measure, is_sharded = plan.measure, queries.held == "shards"
    weights = _checked(plan, queries, valid, weights)
    plan = plan.suited_to(queries, weights)
    folds, selection = search_folds(queries, valid, weights, plan.folds, plan.seed)
    for data in () if is_sharded else (folds[0].train, folds[0].valid):
        check_measurable(measure, data)
    baseline = baseline_of(folds, measure, plan.seed)
    clock.total = len(plan.candidates)
    runs = successive_halving(plan.candidates, TrainingRuns(folds, measure, clock, plan.n_jobs))
    used, compiling = clock.used, clock.compiling

    takes_ensembles = plan.engine is None or plan.engine.takes_ensembles
    may_blend = takes_ensembles and not (is_sharded or plan.single or plan.simple)
    # The errors of one method's settings are correlated, so their mean would gain little.
    may_blend = may_blend and len({candidate.name for candidate in plan.candidates}) > 1
    chosen = choice(runs.trials, folds, measure, may_blend=may_blend, simple=plan.simple)
    is_refitted = valid is None and folds[0].train is not queries
    if chosen.members and is_refitted and not clock.is_stopped:
        seconds = _seconds_to_refit(chosen.members, queries.n_queries, folds)
        if seconds > clock.left:
            text = "an ensemble was left out: to train its members on all queries takes"
            runs.notes.append(f"{text} {seconds:.0f} s")
            chosen = Choice.of(chosen.best)
    # The rankers and scores of the other trials were needed for the choice alone, and are released here.
    kept = set(map(id, chosen.kept))
    trials = tuple(t if id(t) in kept else replace(t, rankers=(), scores=np.zeros(0)) for t in runs.trials)

    def final(trial: Trial) -> Any:
        if is_refitted and not clock.is_stopped:
            again = refit(trial, queries, weights, measure, clock)
            if not clock.is_stopped:
                return again
        return trial.rankers[0]

    rankers = [final(trial) for trial in chosen.kept]
    ranker = rankers[0]
    if chosen.members:
        ranker = KINDS["ensemble"].load().of_fitted(rankers, queries, measure)
    if is_refitted:
        selection += ", not trained again on all" if clock.is_stopped else ", then trained on all"
    if len(chosen.scores) and not chosen.scores.any():
        warn(
            "the chosen ranker gives all documents of a query the same score, so it ranks nothing. Give "
            "features that differ within queries.",
            stacklevel=3,
        )
    has_gap = not (chosen.members or is_sharded) and chosen.best.candidate.method.surrogate is not None
    gap = surrogate_gap(ranker, few(queries)) if has_gap else math.nan
    notes = (
        *notes_on_features(queries.feature_names, baseline, chosen.values),
        *notes_on_data(folds, measure, chosen.best, ranker, gap),
        *notes_on_methods(plan, runs.failed),
        *notes_on_budget(plan.time_budget or math.inf, used, trials, runs.untried, compiling),
        *runs.notes,
    )
    ranker.model_ = ranker.model_.recorded(selection=_record(chosen, selection, len(trials)))
    return SearchResult(
        ranker,
        chosen.best,
        trials,
        selection,
        why(chosen, trials, measure),
        gap,
        notes,
        chosen.members,
        chosen.scores,
        plan.folds,
        plan.seed,
        baseline,
    )


def _checked(plan: Plan, queries: Any, valid: Any, weights: Weights) -> Weights:
    """Return the weights as arrays, or raise `InputError` if a search cannot use what it is given."""
    if queries.held == "shards":
        options = plan.folds, plan.time_budget, *weights
        if valid is None or plan.n_jobs != 1 or any(option is not None for option in options):
            raise InputError(
                "a search on shards needs validation data, and takes no folds, time_budget, weights or "
                "n_jobs. Give valid= alone."
            )
        return weights
    check_training(queries, valid, allow_missing=True)
    for data, name in ((queries, "the training data"), (valid, "the validation data")):
        if data is not None:
            check_unrepeated(data, name)
    if plan.n_jobs != 1 and plan.time_budget is not None:
        raise InputError(
            f"{plan.n_jobs} training runs at a time cannot share a time budget.",
            Advice("jobs-or-budget"),
        )
    if valid is not None and valid is not queries and same_rows(valid, queries):
        raise InputError(
            "the validation data hold the same rows as the training data, so overfitting cannot be detected.",
            Advice("no-valid"),
        )
    by_document, by_query = weights
    return (
        None if by_document is None else weights_of(by_document, queries.n_docs, "doc_weight", "document"),
        None if by_query is None else weights_of(by_query, queries.n_queries, "query_weight", "query"),
    )


def _seconds_to_refit(members: Sequence[Trial], n_queries: int, folds: Sequence[Fold]) -> float:
    """Seconds that training the members again on all queries takes."""
    # The time of a trial is the sum over its folds, so it is scaled by the queries that all folds train on.
    n_trained = sum(fold.train.n_queries for fold in folds)
    return float(sum(trial.seconds * n_queries / n_trained for trial in members))


def _record(chosen: Choice, selection: str, n_candidates: int) -> dict[str, Any]:
    """Return the basis of the choice, which model files hold."""
    defined = int((~np.isnan(chosen.values)).sum())
    value, error = mean_and_error(chosen.values)
    return {
        "on": selection,
        "queries": defined,
        "value": value if defined else None,
        "error": None if math.isnan(error) else error or None,
        "candidates": n_candidates,
    }
