"""`AutoRanker`, which chooses among candidates on validation queries: the estimator of a search."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from directrix.errors import Advice, InputError
from directrix.export.engine import Engine
from directrix.measures.base import RankingMeasure
from directrix.parameters import Checks, number, option, whole
from directrix.rankers.base import Ranker
from directrix.rankers.fitted import FittedModel
from directrix.rankers.inputs import Training, Weights, goal_of
from directrix.rankers.method import Method
from directrix.rankers.methods import method as method_named
from directrix.rankers.named_trainers import seed_of
from directrix.search.folds import UNWEIGHTED
from directrix.search.plan import Plan, candidates_of, distinct, lost
from directrix.search.search import SearchResult, search
from directrix.types import Progress


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
        that runs linear models. Default: all.
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
        All trials of candidates, and the reason for the choice.
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

    checks: ClassVar[Checks] = {
        **Ranker.checks,
        "method": partial(option, types=(str, Method), wanted="a name or a `Method`", example="'auto'"),
        "settings": partial(option, types=(Mapping,), wanted="a dict", example="{'l2': 0.01}"),
        "models": partial(option, types=(str, list, tuple, set), wanted="names", example="['linear']"),
        "folds": whole,
        "time_budget": partial(number, above=0.0, example=60.0),
        "n_jobs": partial(option, types=(Integral,), wanted="an integer", example="-1"),
        "engine": partial(option, types=(str,), wanted="a name", example="'onnx'"),
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
        plan = self.plan(training.measure)
        result = search(plan, training.queries, training.valid, weights=weights, progress=progress)
        self._keep(result, training.queries)
        if training.verbose:
            print(f"chosen: {result.name}\nwhy: {result.why}", flush=True)
        return self

    def search(
        self,
        queries: Any,
        valid: Any = None,
        *,
        weights: Weights = UNWEIGHTED,
        progress: Progress | None = None,
    ) -> SearchResult:
        """Fit to `Queries` and return all trials, as ``search_`` holds them; see ``fit``.

        Parameters
        ----------
        queries, valid : Queries or ShardedQueries
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
            As in ``fit``, or if ``valid`` holds the rows of ``queries``.

        Examples
        --------
        >>> import directrix as dx
        >>> queries = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
        >>> result = dx.AutoRanker("AP", method="RankNet", folds=2).search(queries)
        >>> result.name, type(result.ranker).__name__
        ('RankNet l2=0.1', 'LinearRanker')
        """
        result = search(self.plan(), queries, valid, weights=weights, progress=progress)
        self._keep(result, queries)
        return result

    def check_parameters(self) -> None:
        """Check the constructor's parameters, and the settings of all candidates, as ``fit`` would.

        Raises
        ------
        InputError
            If a parameter is none of those that the class takes, a name is not known, a setting does not
            exist or has no effect in a search, or no method has one of the models.
        """
        self.plan()

    def plan(self, measure: RankingMeasure | None = None) -> Plan:
        """Return what the search will try, checked as by ``check_parameters``, before data are read.

        Parameters
        ----------
        measure : measure, optional
            Instead of that of the ranker.
        """
        super().check_parameters()
        goal = goal_of(self.measure if measure is None else measure)
        engine = None if self.engine is None else Engine.named(self.engine)
        method = method_named(self.method) if isinstance(self.method, str) else self.method
        seed = seed_of(self.random_state)
        candidates, unable = candidates_of(method, goal, self.settings, self.models, seed)
        # Settings are checked on rankers that are never trained, so a wrong one costs no training time.
        for candidate in candidates:
            candidate.unfitted.check_parameters()
        kept = [c for c in candidates if self.by_query or not c.needs_queries]
        if not kept:
            raise InputError(
                "every candidate scales features by query, which is excluded.",
                Advice("by-query"),
            )
        tried = distinct(kept)
        return Plan(
            goal,
            tuple(tried),
            excluded={
                "cannot keep to the constraints": unable,
                "equal another method with these settings": lost(kept, tried),
            },
            folds=self.folds,
            time_budget=self.time_budget,
            single=self.single,
            simple=self.simple,
            n_jobs=1 if self.n_jobs is None else int(self.n_jobs),
            seed=seed,
            engine=engine,
        )

    def _keep(self, result: SearchResult, queries: Any) -> None:
        self.search_, self.ranker_ = result, result.ranker
        self.measure_, self.result_ = self.ranker_.measure_, self.ranker_.result_
        self._name_features(queries)

    @property
    def takes_missing(self) -> bool:
        """Whether features may be missing (NaN): some candidate supports it, and others are excluded."""
        try:
            return any(c.unfitted.takes_missing for c in self.plan().candidates)
        # A plan that cannot be made raises its own error in `fit`. A complaint about missing values would
        # hide it.
        except ValueError:
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


class _Printer:
    """Prints a line at the end of every candidate of a search."""

    def __init__(self) -> None:
        self._last = 0

    def __call__(self, done: int, total: int, text: str) -> None:
        if done > self._last:
            self._last = done
            print(f"[{done}/{total}]\t{text}", flush=True)
