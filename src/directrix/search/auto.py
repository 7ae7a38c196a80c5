"""A ranker that chooses its method itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.base import Ranker
from directrix.rankers.inputs import Training
from directrix.rankers.named_trainers import seed_of
from directrix.search.search import Search
from directrix.types import Float64Array


@dataclass(eq=False, repr=False)
class AutoRanker(Ranker):
    """Try the strong methods that suit a measure, and keep the ranker with the best validation score.

    With several methods, keeps an ensemble if it leads by more than one standard error.

    Parameters
    ----------
    measure : measure or str
        Measure to train for, to choose by, and to report in ``score``.
    method : str
        "auto", or the name of a method, whose grid is then searched, or several as "A,B"; see `methods`.
    models : list of str, optional
        Only methods with these models: "linear", "mlp", "stumps", "trees", e.g. with ``single`` for an engine
        that runs linear ones; default all that are installed.
    by_query : bool
        Try scales by query too, as `search` does: better where the level of features differs between
        queries. ``predict`` may then need ``qid``, and all documents of a query.
    folds : int >= 1, optional
        Without an ``eval_set``: every candidate is judged by cross-validation in this number of folds, and
        the chosen one is trained again on all queries; 1 holds back a fifth. Default: 5, and 1 from 1,000
        queries on.
    time_budget : float > 0, optional
        Seconds for all candidates, without compiling kernels. One that takes more than its share is stopped,
        and chosen only if it is ahead of all that finished, or none did.
    single : bool
        Keep one ranker, never an ensemble.
    n_jobs : int, optional
        Trainings at a time, in processes; -1 = all cores. Same bits for any; not with a time budget.
    random_state : int, RandomState or None
        Of the folds, and of stochastic trainers; None is 0.

    Attributes
    ----------
    ranker_ : Ranker
        The chosen one, fitted; an `EnsembleRanker` if several were.
    search_ : SearchResult
        All candidates with their figures, and why one was chosen.
    measure_, result_, n_features_in_, feature_names_in_
        Those of ``ranker_``.

    See Also
    --------
    search : The same for `Queries`, with the full report.

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
        "method": [str],
        "models": [list, tuple, set, None],
        "by_query": ["boolean"],
        "folds": [Interval(Integral, 1, None, closed="left"), None],
        "time_budget": [Interval(Real, 0, None, closed="neither"), None],
        "single": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    measure: RankingMeasure | str = "nDCG@10"
    _: KW_ONLY
    method: str = "auto"
    models: Collection[str] | None = None
    by_query: bool = False
    folds: int | None = None
    time_budget: float | None = None
    single: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    def _train(self, training: Training) -> Self:
        q, measure = training.queries, training.measure
        if training.callback is not None:
            raise InputError(
                "AutoRanker takes no callback: it trains many rankers. Set time_budget= to end it, or use "
                "directrix.search(..., progress=)."
            )
        self.search_ = self._search(self.measure if measure is None else measure).run(
            q,
            training.valid,
            folds=self.folds,
            time_budget=self.time_budget,
            weights=(training.doc_weight, training.query_weight),
            single=bool(self.single),
            n_jobs=1 if self.n_jobs is None else int(self.n_jobs),
            seed=seed_of(self.random_state),
            progress=_Printer() if training.verbose else None,
        )
        self.ranker_ = self.search_.ranker
        self.measure_, self.result_ = self.ranker_.measure_, self.ranker_.result_
        self._name_features(q)
        return self

    def _search(self, measure: RankingMeasure | str) -> Search:
        return Search.of(self.method, measure, models=self.models, by_query=bool(self.by_query))

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN): some candidate takes it; the others are then left out."""
        try:
            return self._search(self.measure).takes_missing
        except ValueError:  # parameters that fit refuses
            return False

    @property
    def takes_categories(self) -> bool:
        """Whether a feature may hold categories: candidates without trees are then left out."""
        return True

    def trained(self) -> Ranker:
        """The chosen ranker."""
        check_is_fitted(self)
        chosen: Ranker = self.ranker_
        return chosen

    @property
    def scale_(self) -> Any:
        """The scale of the chosen ranker."""
        return self.trained().scale_

    @property
    def missing_(self) -> str:
        """How missing values of the training data were read."""
        check_is_fitted(self)
        rule: str = self.ranker_.missing_
        return rule

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order."""
        return self.trained().predict_queries(q)


class _Printer:
    """Prints a line at the beginning of every candidate of a search."""

    def __init__(self) -> None:
        self._last = -1

    def __call__(self, done: int, total: int, text: str) -> None:
        if done != self._last:
            self._last = done
            print(f"[{min(done + 1, total)}/{total}]\t{text}", flush=True)
