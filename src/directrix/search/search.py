"""`AutoRanker`, which chooses among candidates on validation queries, and `SearchResult`."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from directrix.data.checks import check_unrepeated, weights_of
from directrix.data.queries import Queries
from directrix.errors import Advice, InputError, warn
from directrix.export.engine import checker
from directrix.export.target import target as export_target
from directrix.measures.base import RankingMeasure
from directrix.rankers.base import Ranker
from directrix.rankers.ensemble import EnsembleRanker
from directrix.rankers.fitted import FittedModel
from directrix.rankers.inputs import (
    Training,
    Weights,
    check_measurable,
    check_trainable,
    goal_of,
    same_rows,
)
from directrix.rankers.means import mean_and_error, surrogate_gap
from directrix.rankers.method import Auto, Method
from directrix.rankers.methods import method as method_named
from directrix.rankers.named_trainers import seed_of
from directrix.search.candidates import CUT_SHORT, UNTRAINED, Candidate, candidates_of, distinct
from directrix.search.choice import Blend, choice
from directrix.search.clock import Clock
from directrix.search.folds import UNWEIGHTED, Fold, few, search_folds
from directrix.search.notes import (
    notes_on_budget,
    notes_on_data,
    notes_on_features,
    notes_on_methods,
    why_blended,
    why_chosen,
)
from directrix.search.race import Race
from directrix.search.single_feature import Baseline, baseline_of
from directrix.search.training import refit
from directrix.types import Float64Array, Progress


class _Plan(NamedTuple):
    """The measure and candidates of a search, and the excluded methods."""

    measure: RankingMeasure
    candidates: tuple[Candidate, ...]
    """In the order of preference."""
    absent: tuple[Method, ...]
    """Methods that are excluded because their packages are not installed."""
    unable: Mapping[str, Sequence[str]]
    """Names of excluded methods by the reason."""


@dataclass(eq=False, repr=False)
class AutoRanker(Ranker):
    """Try the settings of a method's grid, and keep the ranker with the best validation score.

    Each of several methods is tried with the setting in the middle of its grid, and the best third with all
    settings. From 100,000 documents on, the default trees are trained first, then the two best methods that
    are ahead of them on a sample. With several methods, the best trees are also trained as bags (``n_bags``
    of `BoostedRanker`). The result is the mean of the best candidates of the four best methods, the default
    trees and the bags, without those behind the best by more than two standard errors.

    Parameters
    ----------
    measure : measure or str
        Measure to train for, to choose by, and to report in ``score``.
    method : Method or str
        "auto": the strong methods that suit the measure; or the name of one method, or several as "A,B"; see
        `methods`.
    settings : mapping, optional
        Settings to fix, such as ``{"alpha": 50}``: they replace the grid's values. With ``bounds`` or
        ``monotone`` only methods that support these constraints are tried.
    models : list of str, optional
        Only methods with these models: "linear", "mlp", "stumps", "trees", e.g. with ``single`` for an engine
        that runs linear models. Default: all that are installed.
    by_query : bool
        Also try scaling by query, as the command line does, which is better if the level of features differs
        between queries. ``predict`` may then need ``qid``, and all documents of a query.
    folds : int >= 1, optional
        Without an ``eval_set``: every candidate is evaluated by cross-validation in this number of folds, and
        the chosen one is trained again on all queries; 1 holds out a fifth. Default: 5, or 1 from 1,000
        queries on. With fewer than 10 queries, candidates are compared on the training queries.
    time_budget : float > 0, optional
        Seconds for all candidates, without the compilation of kernels and the final refit on all queries. A
        candidate that exceeds its share is stopped, and chosen only if it is ahead of all that finished, or
        none did. From 10,000 documents on, the default trees come first and may take all of the time. Results
        then depend on the machine's speed.
    single : bool
        Keep one ranker, never an ensemble.
    simple : bool
        Keep one ranker, of the first method in the order of "auto" that is within one standard error of the
        best: linear models come before networks, and these before trees.
    n_jobs : int, optional
        Number of runs at a time, in processes; -1 = all cores. Results have the same bits for any number. Not
        with a time budget.
    random_state : int, RandomState or None
        Seed of the folds and of stochastic trainers; None is 0.
    engine : str, optional
        A target of `directrix.export`, with a version if its versions differ, such as "opensearch:3.5". Only
        methods that can be exported to it are tried, without an ensemble if it takes only single models.

    Attributes
    ----------
    ranker_ : Ranker
        The fitted chosen ranker; an `EnsembleRanker` if several were chosen.
    search_ : SearchResult
        All candidates with their results, and the reason for the choice.
    measure_, result_, n_features_in_, feature_names_in_
        Those of ``ranker_``.

    Raises
    ------
    InputError
        Raised by ``fit`` if the method lacks a setting, or the setting has no effect in a search or a wrong
        value, or no candidate can use the data. If other candidates can be trained, ``search_`` has a note
        instead.

    Notes
    -----
    Without a time budget, the same data and seed give the same bits. The cost is at most the number of
    candidates (bags count as five) times folds times one ``fit``, plus one ``fit`` of each member without an
    ``eval_set``. docs/decisions/selection.md says which candidates are dropped, and when an ensemble is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import AutoRanker
    >>> X, qid = np.random.default_rng(0).random((60, 3)), np.repeat(np.arange(12), 5)
    >>> y = (X[:, 0] > 0.6).astype(int)
    >>> ranker = AutoRanker("nDCG@3", method="ApproxNDCG", folds=2).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid) > 0.9, ranker.search_.chosen.name
    (True, 'ApproxNDCG')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": "no_validation",  # `directrix.measure` says what it takes
        "method": [str, Method],
        "settings": [Mapping, None],
        "models": [str, list, tuple, set, None],
        "by_query": ["boolean"],
        "folds": [Interval(Integral, 1, None, closed="left"), None],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "single": ["boolean"],
        "simple": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "engine": [str, None],
    }

    nested: ClassVar[tuple[str, ...]] = ()
    measure: RankingMeasure | str = "nDCG@10"
    _: KW_ONLY
    method: Method | str = "auto"
    settings: Mapping[str, Any] | None = None
    models: Collection[str] | None = None
    by_query: bool = False
    folds: int | None = None
    time_budget: float | None = None
    single: bool = False
    simple: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    engine: str | None = None

    def _train(self, training: Training) -> Self:
        if training.callback is not None:
            raise InputError(
                "AutoRanker takes no callback: it trains many rankers. Set time_budget= to end it, or use "
                "AutoRanker(...).search(queries, progress=)."
            )
        weights = training.doc_weight, training.query_weight
        progress = _Printer() if training.verbose else None
        plan = self._plan(training.measure)
        result = self._run(plan, training.queries, training.valid, weights, progress)
        if training.verbose:
            print(f"chosen: {result.name}\nwhy: {result.why}", flush=True)
        return self

    def search(
        self,
        q: Any,
        valid: Any = None,
        *,
        weights: Weights = UNWEIGHTED,
        progress: Progress | None = None,
    ) -> SearchResult:
        """Fit to `Queries` and return all candidates, as ``search_`` holds them; see ``fit``.

        Parameters
        ----------
        q, valid : Queries or ShardedQueries
            Training and validation queries. Shards need ``valid``; only the best of their methods is tried
            with all settings, without an ensemble.
        weights : (doc_weight, query_weight), optional
            As in ``fit_queries``.
        progress : callable, optional
            ``progress(done, total, text)`` at every step of every candidate. If it returns True, the search
            ends as at the end of a time budget, and keeps the best ranker so far without the final refit.

        Returns
        -------
        SearchResult

        Raises
        ------
        InputError
            As in ``fit``, or if ``valid`` holds the rows of ``q``.

        Examples
        --------
        >>> import directrix as dx
        >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
        >>> result = dx.AutoRanker("AP", method="RankNet", folds=2).search(q)
        >>> result.name, type(result.ranker).__name__
        ('RankNet l2=0.1', 'LinearRanker')
        """
        self._validate_params()
        return self._run(self._plan(), q, valid, weights, progress)

    def check_parameters(self) -> None:
        """Check the constructor's parameters, and the settings of all candidates, as ``fit`` would.

        Raises
        ------
        InputError
            If a name is not known, a setting does not exist or has no effect in a search, or no method has
            one of the models.
        ValueError
            scikit-learn's ``InvalidParameterError``.
        """
        super().check_parameters()
        self._plan()

    def _plan(self, measure: RankingMeasure | None = None) -> _Plan:
        """List the candidates for a measure, by default the ranker's, and check every setting."""
        goal = goal_of(self.measure if measure is None else measure)
        if self.engine is not None:
            export_target(self.engine)
        method = method_named(self.method) if isinstance(self.method, str) else self.method
        candidates, unable = candidates_of(method, goal, self.settings, self.models)
        for candidate in candidates:
            candidate.ranker().check_parameters()
        suited = method.suited(goal) if isinstance(method, Auto) else ()
        absent = (m for m in suited if not m.is_installed and (self.models is None or m.model in self.models))
        kept = [c for c in candidates if self.by_query or not c.needs_queries]
        if not kept:
            raise InputError(
                "every candidate scales features by query, which is excluded.",
                Advice("by-query"),
            )
        tried = distinct(kept)
        reasons = {
            "cannot keep to the constraints": unable,
            "equal another method with these settings": _absent(kept, tried),
        }
        return _Plan(goal, tuple(tried), tuple(absent), reasons)

    def _run(
        self, plan: _Plan, q: Any, valid: Any, weights: Weights, progress: Progress | None
    ) -> SearchResult:
        """Train and evaluate the candidates, and choose."""
        clock = Clock(self.time_budget, len(plan.candidates), progress)
        measure, seed = plan.measure, seed_of(self.random_state)
        n_jobs = 1 if self.n_jobs is None else int(self.n_jobs)
        is_sharded = q.held == "shards"
        if is_sharded:
            _check_shards(valid, (self.folds, self.time_budget, *weights, None if n_jobs == 1 else n_jobs))
        else:
            weights = _checked(q, valid, weights, n_jobs, self.time_budget)
        able, unable = self._suited(plan, q, weights)
        parts, selection = search_folds(q, valid, weights, self.folds, seed)
        for part in () if is_sharded else (parts[0].train, parts[0].valid):
            check_measurable(measure, part)
        baseline = baseline_of(parts, measure, seed)
        clock.total = len(able)
        race = Race(able, parts, measure, clock, n_jobs=n_jobs, is_costly=is_sharded)
        tried, used, compiling = tuple(race.run()), clock.used, clock.compiling
        several = not is_sharded and len({c.name for c in able}) > 1
        takes_ensembles = self.engine is None or not export_target(self.engine).models
        may_blend = several and takes_ensembles and not self.single and not self.simple
        best, mixed = choice(tried, parts, measure, may_blend=may_blend, simple=self.simple)
        is_refitted = valid is None and parts[0].train is not q
        late: tuple[str, ...] = ()
        may_refit = is_refitted and not clock.is_stopped
        if mixed is not None and may_refit and (seconds := _seconds_to_refit(mixed, q, parts)) > clock.left:
            late = (f"an ensemble was left out: to train its members on all queries takes {seconds:.0f} s",)
            mixed = None

        def trained(candidate: Candidate) -> Any:
            if is_refitted and not clock.is_stopped:
                again = refit(candidate, q, weights, measure, clock)
                if not clock.is_stopped:
                    return again
            return candidate.rankers[0]

        members = () if mixed is None else mixed.members
        kept = set(map(id, members or (best,)))  # only the choice needs rankers and scores of the others
        tried = tuple(c if id(c) in kept else replace(c, rankers=(), scores=np.zeros(0)) for c in tried)
        if mixed is None:
            ranker, why = trained(best), why_chosen(best, tried, measure)
        else:
            why = why_blended(mixed, measure)
            rankers = [trained(candidate) for candidate in members]
            ranker = EnsembleRanker.of_fitted(rankers, q, measure)
        scores, values = (best.scores, best.values) if mixed is None else (mixed.scores, mixed.values)
        _warn_if_level(scores)
        has_gap = mixed is None and best.method.surrogate is not None and not is_sharded
        gap = surrogate_gap(ranker, few(q)) if has_gap else math.nan
        notes = (
            *notes_on_features(q.feature_names, baseline, values),
            *notes_on_data(parts, measure, best, ranker, gap),
            *notes_on_methods(plan.absent, unable, race.failed),
            *notes_on_budget(self.time_budget or math.inf, used, tried, race.untried, compiling),
            *race.notes(),
            *late,
        )
        if is_refitted:
            selection += ", not trained again on all" if clock.is_stopped else ", then trained on all"
        _record(ranker, values, selection, len(tried))
        self.search_ = SearchResult(
            ranker, best, tried, selection, why, gap, notes, members, scores, self.folds, seed, baseline
        )
        self.ranker_, self.measure_, self.result_ = ranker, ranker.measure_, ranker.result_
        self._name_features(q)
        return self.search_

    def _suited(
        self, plan: _Plan, q: Any, weights: Weights
    ) -> tuple[Sequence[Candidate], Mapping[str, Sequence[str]]]:
        """Return the candidates that suit data and engine, and the names of excluded methods by reason."""
        able: Sequence[Candidate] = [replace(c, seed=seed_of(self.random_state)) for c in plan.candidates]
        unable = dict(plan.unable)

        def keep(kept: Sequence[Candidate], reason: str) -> None:
            nonlocal able
            unable[reason], able = _absent(able, kept), kept

        if q.held == "shards":
            keep(_trainable_on_shards(able), "do not suit data in shards")
        else:
            weighing = [c for c in able if weights[0] is None or c.method.weighs_docs]
            keep(weighing or able, "do not support weights of documents")
        if q.categories is not None:
            splitting = [c for c in able if c.ranker().takes_categories]
            keep(splitting or able, "compare numbers, and some features are categories")
        if self.engine is not None:
            title = export_target(self.engine).title
            keep(_exportable(able, self.engine, q), f"cannot be exported to {title}")
        return able, unable

    @property
    def takes_missing(self) -> bool:
        """Whether features may be missing (NaN): some candidate supports it, and others are excluded."""
        try:
            return any(c.ranker().takes_missing for c in self._plan().candidates)
        except ValueError:  # fit raises it again, not an error of missing values
            return True

    @property
    def takes_categories(self) -> bool:
        """Whether features may hold categories; candidates without trees are then excluded."""
        return True

    def trained(self) -> Ranker:
        """The chosen ranker."""
        check_is_fitted(self)
        chosen: Ranker = self.ranker_
        return chosen

    @property
    def model_(self) -> FittedModel:  # type: ignore[override]
        """The model of the chosen ranker."""
        return self.trained().model_


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Parameters
    ----------
    ranker : Ranker
        Fitted with the chosen settings, or an `EnsembleRanker` of ``members``.
    chosen : Candidate
        The best single candidate; see `preferred`.
    candidates : tuple of Candidate
        All candidates that were tried, in order.
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
    members : tuple of Candidate
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
    chosen: Candidate
    candidates: tuple[Candidate, ...]
    selection: str
    why: str
    gap: float
    notes: tuple[str, ...] = ()
    members: tuple[Candidate, ...] = ()
    scores: Float64Array = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    folds: int | None = None
    seed: int = 0
    baseline: Baseline | None = None

    @property
    def name(self) -> str:
        """The chosen candidate or ensemble, in words."""
        count = len(self.members)
        return f"an ensemble of {count} candidates" if count else self.chosen.label

    def part_of(self, candidate: Candidate) -> str:
        """Return "chosen", "member", or the outcome of the candidate.

        If the time budget stopped it, the number of steps follows: "chosen, stopped after 8 of 300 trees".
        """
        part = "chosen" if candidate is self.chosen and not self.members else candidate.outcome
        if any(member is candidate for member in self.members):
            part = "member"
        if not candidate.progress or part == UNTRAINED:
            return part
        stopped = f"stopped after {candidate.progress}"
        return stopped if part == CUT_SHORT else f"{part}, {stopped}"


def _checked(q: Queries, valid: Any, weights: Weights, n_jobs: int, time_budget: float | None) -> Weights:
    """Return the weights as arrays, or raise `InputError` if a search cannot use what it is given."""
    check_trainable(q)
    for part, which in ((q, "the training data"), (valid, "the validation data")):
        if part is not None:
            check_unrepeated(part, which)
    if n_jobs != 1 and time_budget is not None:
        raise InputError(
            f"{n_jobs} training runs at a time cannot share a time budget.",
            Advice("jobs-or-budget"),
        )
    if valid is not None and valid is not q and same_rows(valid, q):
        raise InputError(
            "the validation data hold the same rows as the training data, so overfitting cannot be detected.",
            Advice("no-valid"),
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


def _exportable(candidates: Sequence[Candidate], engine: str, q: Any) -> Sequence[Candidate]:
    """Return candidates whose models can be exported; raise the first `InputError` if there is none."""
    check, kept, errors = checker(engine, q), [], []
    for candidate in candidates:
        try:
            check(candidate.ranker())
            kept.append(candidate)
        except InputError as error:
            errors.append(error)
    if not kept:
        raise errors[0]
    return kept


def _trainable_on_shards(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep candidates that train on shards; of several methods, none with one step per query.

    Every step is a request to all shards.
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
    return float(sum(c.seconds * q.n_queries / n_trained for c in mixed.members))


def _warn_if_level(scores: Float64Array) -> None:
    """Warn if a choice gives all documents of a query the same score; on shards there are no ``scores``."""
    if len(scores) and not scores.any():
        warn(
            "the chosen ranker gives all documents of a query the same score, so it ranks nothing. Give "
            "features that differ within queries.",
            stacklevel=5,
        )


def _record(ranker: Any, values: Float64Array, selection: str, n_candidates: int) -> None:
    """Record the basis of the choice with the training; model files hold it."""
    defined = int((~np.isnan(values)).sum())
    value, error = mean_and_error(values)
    chosen = {
        "on": selection,
        "queries": defined,
        "value": value if defined else None,
        "error": None if math.isnan(error) else error or None,
        "candidates": n_candidates,
    }
    ranker.model_ = ranker.model_.recorded(selection=chosen)


class _Printer:
    """Prints a line at the end of every candidate of a search."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self, done: int, total: int, text: str) -> None:
        if done > self._last:
            self._last = done
            print(f"[{done}/{total}]\t{text}", flush=True)
