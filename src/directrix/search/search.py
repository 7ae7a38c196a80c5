"""The search itself: try candidates, let the measure choose on validation queries."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from directrix.data.checks import weights_of
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.ensemble import EnsembleRanker
from directrix.rankers.inputs import Weights, check_measurable, check_trainable, goal_of, same_rows
from directrix.rankers.method import Auto, Method
from directrix.rankers.methods import method as method_named
from directrix.rankers.training import mean_and_error, surrogate_gap
from directrix.search.candidates import CUT_SHORT, UNTRAINED, Candidate, candidates_of
from directrix.search.choice import Blend, choice
from directrix.search.clock import Clock
from directrix.search.folds import UNWEIGHTED, Fold, search_folds
from directrix.search.notes import notes_on_budget, notes_on_data, notes_on_methods, why_blended, why_chosen
from directrix.search.race import Race
from directrix.search.training import refit
from directrix.types import Float64Array, Progress


def search(
    q: Queries,
    valid: Queries | None = None,
    *,
    method: Method | str = "auto",
    measure: RankingMeasure | str = "nDCG@10",
    settings: Mapping[str, Any] | None = None,
    models: Collection[str] | None = None,
    by_query: bool = True,
    **options: Any,
) -> SearchResult:
    """Train the settings of a method's grid and keep the best by the measure, or an ensemble.

    Of several methods each is tried with the setting in the middle of its grid, and the best third with all
    settings. An ensemble is returned if its lead over the best candidate exceeds the standard error.

    Parameters
    ----------
    q : Queries
        Training queries.
    valid : Queries, optional
        Validation queries. Without them every candidate is evaluated on queries that it was not trained on,
        by cross-validation, and the chosen one is trained again on all; with fewer than 10 queries the
        candidates are compared on the training queries.
    method, measure : Method or str, measure or str
        What to search, several as "A,B", "auto": those that suit the measure; and what chooses.
    settings, models : mapping, names, optional
        Settings to fix: they replace the grid's values, and with ``bounds`` or ``monotone`` only methods that
        keep to them are tried; and which models may be trained: "linear", "mlp", "stumps", "trees", default
        all that are installed.
    by_query : bool
        Try scales by query too. The ranker may then need all documents of a query to score one of them.
    **options
        ``folds``, ``time_budget``, ``weights``, ``seed``, ``single``, ``n_jobs``, ``progress``: see
        `Search.run`.

    Returns
    -------
    SearchResult

    Raises
    ------
    InputError
        If the method does not have a setting, or it has no effect in a search or a wrong value, or the data
        cannot be used by any candidate; where others can be trained, a note says so.

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
    return Search.of(method, measure, settings, models, by_query=by_query).run(q, valid, **options)


@dataclass(frozen=True, eq=False)
class Search:
    """Candidates in the order of preference, and the measure that chooses among them."""

    measure: RankingMeasure
    candidates: tuple[Candidate, ...]
    absent: tuple[Method, ...] = ()
    """Methods that are left out because their packages are not installed."""
    unable: tuple[str, ...] = ()
    """Methods that are left out because they cannot keep to the constraints."""

    @classmethod
    def of(
        cls,
        method: Method | str,
        measure: RankingMeasure | str,
        settings: Mapping[str, Any] | None = None,
        models: Collection[str] | None = None,
        *,
        by_query: bool = True,
    ) -> Self:
        """List what is tried, and check every setting, before any data are read; see `search`.

        Raises `InputError` if a name is not known, a setting does not exist or has no effect in a search, or
        no method has one of the models, and scikit-learn's ``InvalidParameterError`` for the value of a
        ranker's parameter.
        """
        goal = goal_of(measure)
        method = method_named(method) if isinstance(method, str) else method
        candidates, unable = candidates_of(method, goal, settings, models)
        for candidate in candidates:
            candidate.ranker().check_parameters()
        suited = method.suited(goal) if isinstance(method, Auto) else ()
        absent = tuple(m for m in suited if not m.is_installed and (models is None or m.model in models))
        kept = [c for c in candidates if by_query or not c.needs_queries]
        if not kept:
            raise InputError(
                "every candidate scales features by query, which is excluded.",
                python="Type by_query=True.",
                shell="Leave out --no-by-query.",
            )
        return cls(goal, tuple(kept), absent, unable)

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return the search with these settings in every candidate."""
        changed = (replace(c, settings={**c.settings, **settings}) for c in self.candidates)
        return replace(self, candidates=tuple(changed))

    @property
    def takes_missing(self) -> bool:
        """Whether any candidate takes features that are missing (NaN); the others are then left out."""
        return any(c.ranker().takes_missing for c in self.candidates)

    def run(  # noqa: PLR0913
        self,
        q: Any,
        valid: Any = None,
        *,
        folds: int | None = None,
        time_budget: float | None = None,
        weights: Weights = UNWEIGHTED,
        seed: int = 0,
        single: bool = False,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> SearchResult:
        """Train and judge the candidates, and choose.

        Shards need ``valid``; only the best of their methods is tried with all settings, without ensemble.

        Parameters
        ----------
        q, valid : Queries or ShardedQueries
            Training and validation queries.
        folds : int >= 1, optional
            Number of folds without ``valid``; 1 holds back a fifth. Default: 5, from 1,000 queries on 1.
        time_budget : float > 0, optional
            Seconds for all candidates, without compilation and the last training, on all queries. A stopped
            candidate is chosen only if it leads all that finished: results depend on the machine's speed.
        weights : (doc_weight, query_weight), optional
            As in ``fit_queries``.
        seed, single : int, bool
            Seed of the split and of stochastic trainers; whether to return one candidate, never an ensemble.
        n_jobs : int
            Trainings at a time, in processes; -1 = all cores. Same bits for any; not with a time budget.
        progress : callable, optional
            ``progress(done, total, text)`` at every step of every candidate.
        """
        is_sharded = q.held == "shards"
        candidates: Sequence[Candidate] = [replace(c, seed=seed) for c in self.candidates]
        if is_sharded:
            _check_shards(valid, (folds, time_budget, *weights, None if n_jobs == 1 else n_jobs))
            candidates, reason = _trainable_on_shards(candidates), "do not suit data in shards"
        else:
            weights = _checked(q, valid, weights, n_jobs, time_budget)
            candidates, reason = _weighing(candidates, weights), "do not support weights of documents"
        parts, selection = search_folds(q, valid, weights, folds, seed)
        for part in () if is_sharded else (parts[0].train, parts[0].judge):
            check_measurable(self.measure, part)
        clock = Clock(time_budget, len(candidates), progress)
        race = Race(candidates, parts, self.measure, clock, n_jobs=n_jobs, is_costly=is_sharded)
        tried, used = tuple(race.run()), clock.used
        may_blend = not single and not is_sharded and len({c.name for c in candidates}) > 1
        best, mixed = choice(tried, parts, self.measure, may_blend=may_blend)
        is_refitted = valid is None and parts[0].train is not q
        late: tuple[str, ...] = ()
        if mixed is not None and is_refitted and (seconds := _seconds_to_refit(mixed, q, parts)) > clock.left:
            late = (f"an ensemble was left out: to train its members on all queries takes {seconds:.0f} s",)
            mixed = None

        def trained(candidate: Candidate) -> Any:
            return refit(candidate, q, weights, self.measure, clock) if is_refitted else candidate.rankers[-1]

        members = () if mixed is None else mixed.members
        if mixed is None:
            ranker, why = trained(best), why_chosen(best, tried, self.measure)
        else:
            why = why_blended(mixed, self.measure)
            rankers = [trained(candidate) for candidate, _ in members]
            ranker = EnsembleRanker.of_fitted(rankers, [weight for _, weight in members], q, self.measure)
        scores, values = (best.scores, best.values) if mixed is None else (mixed.scores, mixed.values)
        has_gap = mixed is None and best.method.surrogate is not None and not is_sharded
        gap = surrogate_gap(ranker, q) if has_gap else math.nan
        unable = {"cannot keep to the constraints": self.unable, reason: _absent(self.candidates, candidates)}
        notes = (
            *notes_on_data(parts, self.measure, best, ranker, gap),
            *notes_on_methods(self.absent, unable, race.failed),
            *notes_on_budget(time_budget or math.inf, used, tried, race.untried),
            *race.notes(),
            *late,
        )
        _record(ranker, values, selection, len(tried))
        return SearchResult(ranker, best, tried, selection, why, gap, notes, members, scores, folds, seed)


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Parameters
    ----------
    ranker : Ranker
        Fitted with the chosen settings, or an `EnsembleRanker` of ``members``.
    chosen : Candidate
        The best single candidate, unless an earlier method is as good: see `preferred`.
    candidates : tuple of Candidate
        All that were tried, in order.
    selection : str
        On which queries the choice was made, in words.
    why : str
        By how much the chosen candidate is ahead of the best of another method, or the ensemble of the best
        single candidate, with the standard error, in words.
    gap : float
        Mean over the training queries of abs(surrogate - its measure), at the end: how far what was
        optimized is from what it replaces; NaN where no surrogate of a measure was optimized.
    notes : tuple of str
        What the caller should know, for example that no query has documents of different labels.
    members : tuple of (Candidate, float)
        The members of the ensemble with their weights, the heaviest first; empty for a single ranker.
    scores : float64 (n_docs,)
        Scores of the validation queries of all folds by what was chosen, before it was trained again on all
        queries, in units of their spread on the training queries.
    folds : int or None
    seed : int
        As they were given: with the data they determine the folds, see `search_folds`.
    """

    ranker: Any
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    selection: str
    why: str
    gap: float
    notes: tuple[str, ...] = ()
    members: tuple[tuple[Candidate, float], ...] = ()
    scores: Float64Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    folds: int | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        """The chosen candidate or ensemble, in words."""
        count = len(self.members)
        return f"an ensemble of {count} candidates" if count else self.chosen.label

    def part_of(self, candidate: Candidate) -> str:
        """Return "chosen", "member 0.25" (with its weight), or the outcome of the candidate.

        After how many steps the time budget stopped it follows: "chosen, stopped after 8 of 300 trees".
        """
        part = "chosen" if candidate is self.chosen and not self.members else candidate.outcome
        for member, weight in self.members:
            if member is candidate:
                part = f"member {weight:.2f}"
        if not candidate.progress or part == UNTRAINED:
            return part
        stopped = f"stopped after {candidate.progress}"
        return stopped if part == CUT_SHORT else f"{part}, {stopped}"


def _checked(q: Queries, valid: Any, weights: Weights, n_jobs: int, time_budget: float | None) -> Weights:
    """Return the weights as arrays, or raise `InputError` if a search cannot use what it is given."""
    check_trainable(q)
    if n_jobs != 1 and time_budget is not None:
        raise InputError(
            f"{n_jobs} trainings at a time cannot share a time budget.",
            python="Leave out n_jobs or time_budget.",
            shell="Leave out --jobs or --time-budget.",
        )
    if valid is not None and valid is not q and same_rows(valid, q):
        raise InputError(
            "the validation data hold the same rows as the training data, so overfitting cannot be detected.",
            python="Leave them out: the choice is then made by cross-validation.",
            shell="Leave out --valid: the choice is then made by cross-validation.",
        )
    by_document, by_query = weights
    return (
        None if by_document is None else weights_of(by_document, q.n_docs, "doc_weight", "document"),
        None if by_query is None else weights_of(by_query, q.n_queries, "query_weight", "query"),
    )


def _check_shards(valid: Any, options: Sequence[Any]) -> None:
    if valid is None or any(given is not None for given in options):
        raise InputError(
            "a search on shards needs validation data, and takes no folds, time_budget, weights or n_jobs. "
            "Give valid= alone."
        )


def _weighing(candidates: Sequence[Candidate], weights: Weights) -> Sequence[Candidate]:
    """Leave out the methods without weights of documents, where others support them."""
    return [c for c in candidates if weights[0] is None or c.method.weighs_docs] or candidates


def _trainable_on_shards(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep what is trained on shards; of several methods none that takes a step for each query.

    Every step is a question to all shards.
    """
    able = [c for c in candidates if "shards" in c.ranker().holds]
    if not able:
        raise InputError(
            "none of these methods is trained on shards: their rankers need all features in one place. "
            "Choose a method with a linear model or a network, e.g. ApproxNDCG."
        )
    if len({c.name for c in able}) == 1:
        return able
    trainers = [c.ranker().trainer for c in able]
    few = [trainer != "sgd" and getattr(trainer, "batch", None) != 1 for trainer in trainers]
    return [c for c, is_few in zip(able, few, strict=True) if is_few]


def _absent(candidates: Sequence[Candidate], kept: Sequence[Candidate]) -> list[str]:
    """Names of the methods that are no longer among the candidates."""
    names = {c.name for c in kept}
    return list(dict.fromkeys(c.name for c in candidates if c.name not in names))


def _seconds_to_refit(mixed: Blend, q: Queries, folds: Sequence[Fold]) -> float:
    """Seconds that training the members again on all queries takes."""
    n_trained = sum(fold.train.n_queries for fold in folds)
    return float(sum(c.seconds * q.n_queries / n_trained for c, _ in mixed.members))


def _record(ranker: Any, values: Float64Array, selection: str, n_candidates: int) -> None:
    """Keep in the record of the training what the choice was made by; model files hold it."""
    defined = int((~np.isnan(values)).sum())
    value, error = mean_and_error(values)
    ranker.training_ = {
        **ranker.training_,
        "selection": {
            "on": selection,
            "queries": defined,
            "value": value if defined else None,
            "error": error if defined > 1 else None,
            "candidates": n_candidates,
        },
    }
