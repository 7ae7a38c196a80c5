"""The search itself: try a grid, let the measure choose on validation queries."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from directrix.data.checks import weights_of
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.ensemble import EnsembleRanker
from directrix.rankers.inputs import Weights, check_measurable, check_trainable, goal_of, same_rows
from directrix.rankers.kinds import MODELS
from directrix.rankers.method import Auto, Method, Trial
from directrix.rankers.methods import method as method_named
from directrix.rankers.selection import choose
from directrix.rankers.selection.blend import Blend, judged
from directrix.rankers.selection.choice import choice, needs_queries
from directrix.rankers.selection.clock import Clock, Progress
from directrix.rankers.selection.constrained import keeping, split_settings
from directrix.rankers.selection.race import Race
from directrix.rankers.selection.result import Search
from directrix.rankers.selection.trial import Target, Trained, refit, selection_folds
from directrix.rankers.training import surrogate_gap, values_of


class SearchPlan(NamedTuple):
    """What chooses, and the trials in the order in which they are run; checked before any data are read."""

    measure: RankingMeasure
    trials: Sequence[Trial]
    absent: tuple[Method, ...] = ()
    """Methods that are left out because their packages are not installed."""
    unable: tuple[str, ...] = ()
    """Methods that are left out because they cannot keep to the constraints."""

    @property
    def takes_missing(self) -> bool:
        """Whether any candidate takes features that are missing (NaN); the others are then left out."""
        return any(trial.ranker(self.measure).takes_missing for trial in self.trials)


def search(  # noqa: PLR0913
    q: Queries,
    valid: Queries | None = None,
    *,
    method: Method | str = "auto",
    measure: RankingMeasure | str = "nDCG@10",
    settings: Mapping[str, Any] | None = None,
    models: Collection[str] | None = None,
    by_query: bool = True,
    folds: int | None = None,
    time_budget: float | None = None,
    weights: Weights = (None, None),
    seed: int = 0,
    single: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Search:
    """Train the settings of a method's grid and keep the one that the measure prefers, or an ensemble.

    Of several methods each is tried with the setting in the middle of its grid, and the best third with all
    settings. An ensemble is returned if its lead over the best candidate exceeds the standard error.

    Parameters
    ----------
    q : Queries
        Training queries.
    valid : Queries, optional
        Validation queries. Without them every candidate is judged on queries that it was not trained on, by
        cross-validation in ``folds`` folds, and the chosen one is trained again on all; with fewer than 10
        queries the training queries judge.
    method, measure : Method or str, measure or str
        What to search, several as "A,B", "auto": those that suit the measure; and what chooses.
    settings, models : mapping, names, optional
        Settings to fix: they replace the grid's values, and with ``bounds`` or ``monotone`` only methods that
        keep to them are tried; and which models may be trained: "linear", "mlp", "stumps", "trees", default
        all that are installed.
    by_query : bool
        Try scales by query too. The ranker may then need all documents of a query to score one of them.
    folds : int >= 1, optional
        1 holds back a fifth of the queries. Default: 5, and 1 from 1,000 queries on.
    time_budget : float > 0, optional
        Seconds for all candidates, without compiling kernels and training the chosen one again on all
        queries. What takes longer than its share is stopped, and chosen only if it is ahead of all that
        finished, or none did: results depend on the speed of the machine.
    weights : (doc_weight, query_weight), optional
        As in ``fit_queries``.
    seed, single : int, bool
        Seed of the split and of stochastic trainers; whether to return one candidate, never an ensemble.
    n_jobs : int
        Trainings at a time, in processes; -1 = all cores. Same bits for any; not with a time budget.
    progress : callable, optional
        ``progress(done, total, text)`` at every step of every candidate.

    Returns
    -------
    Search

    Raises
    ------
    InputError
        If the method does not have a setting, or it has no effect in a search or a wrong value, or the data
        cannot be used by any candidate; where others can be trained, a remark says so.

    Notes
    -----
    Deterministic without a time budget: the same data and seed give the same bits. Cost: at most the number
    of candidates times folds times one ``fit``, and without ``valid`` one ``fit`` of each member.
    docs/decisions/selection.md says which candidates are dropped, and when an ensemble is kept.

    Examples
    --------
    >>> import directrix as dx
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.search(q, method="RankNet", measure="AP", folds=2)
    >>> result.name, type(result.ranker).__name__
    ('RankNet l2=0.1', 'LinearRanker')
    """
    plan = plan_search(method, measure, settings or {}, models, by_query=by_query)
    run = partial(run_search, folds=folds, time_budget=time_budget, weights=weights, n_jobs=n_jobs)
    return run(plan, q, valid, seed=seed, single=single, progress=progress)


def plan_search(
    method: Method | str,
    measure: RankingMeasure | str,
    settings: Mapping[str, Any],
    models: Collection[str] | None,
    *,
    by_query: bool = True,
) -> SearchPlan:
    """List what `search` tries, and check every setting, before any data are read.

    Raises `InputError` if a name is not known, a setting does not exist or has no effect in a search, or no
    method has one of the models, and scikit-learn's ``InvalidParameterError`` for the value of a ranker's
    parameter.
    """
    measure = goal_of(measure)
    method = method_named(method) if isinstance(method, str) else method
    others, constraints = split_settings(settings)
    trials = _with_models(method.candidates(measure, others), models)
    trials, unable = keeping(trials, measure, constraints)
    for trial in trials:
        trial.ranker(measure).check_parameters()
    suited = method.suited(measure) if isinstance(method, Auto) else ()
    absent = tuple(m for m in suited if not m.is_installed and (models is None or m.model in models))
    return SearchPlan(measure, trials if by_query else _without_queries(trials), absent, unable)


def run_search(  # noqa: PLR0913
    plan: SearchPlan,
    q: Queries,
    valid: Queries | None = None,
    *,
    folds: int | None = None,
    time_budget: float | None = None,
    weights: Weights = (None, None),
    seed: int = 0,
    single: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Search:
    """Train and judge what is planned; see `search`."""
    check_trainable(q)
    if n_jobs != 1 and time_budget is not None:
        raise InputError(
            f"{n_jobs} trainings at a time cannot share a time budget.",
            python="Leave out n_jobs or time_budget.",
            shell="Leave out --jobs or --time-budget.",
        )
    if valid is not None and valid is not q and same_rows(valid, q):
        raise InputError(
            "the validation data hold the same rows as the training data, which say nothing about other "
            "queries.",
            python="Leave them out: the choice is then made by cross-validation.",
            shell="Leave out --valid: the choice is then made by cross-validation.",
        )
    weights = _checked(weights, q)
    trials, without_weights = _supporting_weights(plan.trials, weights)
    parts, selection = selection_folds(q, valid, weights, folds, seed)
    for part in (parts[0].train, parts[0].judge):
        check_measurable(plan.measure, part)
    clock = Clock(time_budget, len(trials), progress)
    race = Race(trials, parts, Target(plan.measure, seed=seed), clock, n_jobs)
    tried, used = race.run(), clock.used
    candidates = tuple(trained.candidate for trained in tried)
    final = _Final(race, q, weights, is_refitted=valid is None and parts[0].train is not q)
    may_blend = not single and len({trial.method.name for trial in trials}) > 1
    best, mixed = choice(tried, parts, plan.measure, may_blend=may_blend)
    too_long = 0.0 if mixed is None else final.seconds_beyond_budget(mixed)
    if mixed is not None and not too_long:
        ranker, gap, scores = final.ensemble(mixed), math.nan, mixed.scores
        members = tuple((trained.candidate, weight) for trained, weight in mixed.members)
        why = choose.why_blended(members, mixed.valid, mixed.single, mixed.lead, plan.measure)
    else:
        ranker, members, scores = final.ranker(best), (), best.scores
        gap = math.nan if best.trial.method.surrogate is None else surrogate_gap(ranker, q)
        why = choose.why_chosen(best.candidate, candidates, plan.measure)
    texts = (
        *choose.remarks_on_data(parts, plan.measure, best.candidate),
        *choose.remarks_on_gains(plan.measure, gap),
        *choose.remarks_on_scales(ranker),
        *choose.remarks_on_packages(plan.absent),
        *choose.remarks_on_constraints(plan.unable),
        *choose.remarks_on_trials(without_weights, race.failed),
        *choose.remarks_on_budget(time_budget or math.inf, used, candidates, race.untried),
        *race.remarks(),
    )
    if too_long:
        texts += (f"an ensemble was left out: to train its members on all queries takes {too_long:.0f} s",)
    values = best.candidate.values if not members else values_of(plan.measure, scores, judged(parts))
    choose.keep_selection(ranker, values, selection, len(candidates))
    return Search(
        ranker, best.candidate, candidates, selection, why, gap, texts, members, scores, folds, seed
    )


@dataclass(frozen=True)
class _Final:
    """The last step of a search: trains what was chosen on all queries, if it was not yet."""

    race: Race
    q: Queries
    weights: Weights
    is_refitted: bool

    def ranker(self, trained: Trained) -> Any:
        """Return the fitted ranker of one candidate."""
        if not self.is_refitted:
            return trained.rankers[-1]
        self.race.clock.start_refit(trained.candidate.method)
        return refit(trained, self.q, self.weights, self.race.target, self.race.clock)

    def ensemble(self, mixed: Blend) -> EnsembleRanker:
        """Return the ensemble of fitted members."""
        members = [self.ranker(trained) for trained, _ in mixed.members]
        weights = [weight for _, weight in mixed.members]
        return EnsembleRanker.of_fitted(members, weights, self.q, self.race.target.measure)

    def seconds_beyond_budget(self, mixed: Blend) -> float:
        """Seconds that training the members again takes, if the time budget does not have them; else 0."""
        if not self.is_refitted:
            return 0.0
        n_trained = sum(fold.train.n_queries for fold in self.race.folds)
        seconds = sum(t.candidate.seconds * self.q.n_queries / n_trained for t, _ in mixed.members)
        return seconds if seconds > self.race.clock.left else 0.0


def _with_models(trials: list[Trial], models: Collection[str] | None) -> list[Trial]:
    """Keep the trials with the given models; None keeps all."""
    if models is None:
        return trials
    models = [models] if isinstance(models, str) else models
    unknown = sorted(set(models) - set(MODELS))
    matching = [trial for trial in trials if trial.method.model in models]
    if unknown or not matching:
        raise InputError(
            f"models={sorted(models)}: "
            + (f"there is no model {unknown[0]!r}" if unknown else "no candidate has one of these models")
            + f"; models are {', '.join(MODELS)}.",
            python="Type e.g. models=['linear'].",
            shell="Type e.g. --model linear.",
        )
    return matching


def _without_queries(trials: list[Trial]) -> list[Trial]:
    """Keep the trials that score a document without the others of its query."""
    kept = [trial for trial in trials if not needs_queries(trial)]
    if not kept:
        raise InputError(
            "every candidate scales features by query, which is excluded.",
            python="Type by_query=True.",
            shell="Leave out --no-by-query.",
        )
    return kept


def _supporting_weights(trials: Sequence[Trial], weights: Weights) -> tuple[Sequence[Trial], list[str]]:
    """Leave out the methods without weights of documents, where others support them; and name them."""
    supporting = [trial for trial in trials if weights[0] is None or trial.method.weighs_docs]
    if not supporting:
        return trials, []
    names = {trial.method.name for trial in supporting}
    return supporting, list(dict.fromkeys(t.method.name for t in trials if t.method.name not in names))


def _checked(weights: Weights, q: Queries) -> Weights:
    by_document, by_query = weights
    return (
        None if by_document is None else weights_of(by_document, q.n_docs, "doc_weight", "document"),
        None if by_query is None else weights_of(by_query, q.n_queries, "query_weight", "query"),
    )
