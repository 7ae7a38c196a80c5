"""What every ranker shares: scikit-learn's contract, with queries.

The only file that may import scikit-learn's private helpers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from directrix.data.frames import by_column
from directrix.data.grouping import require_queries
from directrix.data.queries import Queries, need_queries
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.rankers.fitted import Fitted
from directrix.rankers.fitting import Training, training_for
from directrix.rankers.inputs import one_set, per_document, per_query
from directrix.rankers.nested import NestedParameters
from directrix.rankers.rows import coded_rows
from directrix.rankers.training import mean_of, query_means
from directrix.types import Callback, Float64Array

F = TypeVar("F", bound=Callable[..., Any])
fit_context: Callable[..., Callable[[F], F]] = _fit_context
"""Checks the constructor's parameters when ``fit`` begins."""


class Ranker(Fitted, NestedParameters, ABC):
    """Base of the rankers: rows and query identifiers in, `Queries` out, and back.

    A subclass trains on `Queries` (`_train`) and scores them (`predict_queries`).
    """

    reads_files: ClassVar[bool] = False
    """Whether it takes `Queries` of `directrix.data.open_parquet`, whose features stay in their file."""

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN), in training and after it."""
        return False

    @property
    def takes_categories(self) -> bool:
        """Whether a feature may hold categories."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.takes_missing
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(  # noqa: PLR0913
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        measure: RankingMeasure | str | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        verbose: bool | int = False,
        early_stopping_rounds: int | None = None,
    ) -> Self:
        """Train on rows of documents.

        Parameters
        ----------
        X : array, frame, dict of columns or sparse matrix (n_docs, n_features)
            Features. NaN is a missing value: for trees, and for a ``scale`` that fills it, see `Scale`.
            Columns of a categorical type are for trees.
        y : array (n_docs,)
            Labels, >= 0, higher is better.
        qid : hashables (n_docs,)
            Query of every row, in any order; ``numpy.zeros(len(y))`` if all rows belong to one query.
        group : ints (n_queries,)
            Instead of ``qid``: sizes of consecutive queries.
        sample_weight : array (n_docs,), optional
            Factor on what each document earns, e.g. the inverse propensity of a click.
        query_weight : array (n_queries,) in order of first appearance, or dict by query id, optional
            Weight of each query in the mean over queries that training maximizes.
        eval_set : (X, y) or [(X, y)], optional
            Validation queries: the iteration that is best on them is kept.
        eval_qid, eval_group : optional
            Their ``qid`` or ``group``; one of the two is needed with an ``eval_set``.
        measure : measure or str, optional
            The measure that chooses the iteration and that ``score`` reports, e.g. "nDCG@10".
            A trainer of measures, such as `CoordinateAscent`, maximizes it, unless it was made for another
            one. Default: the measure of the trainer, else the one that the surrogate tends to.
        callback : callable, or a list of them, optional
            Called with every `Step`: ``step.iteration``, ``loss``, ``score`` (on the validation queries) and
            ``params``; returning True ends the training.
        verbose : bool or int >= 0
            Print loss and validation measure after every step, or every ``verbose``-th.
        early_stopping_rounds : int >= 1, optional
            ``patience`` of this training, under the name that LightGBM and XGBoost give it.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        InputError
            If neither qid nor group is given, if qid, group, weights or the validation set do not fit the
            rows, if a label is negative, if a feature is infinite, or missing and the ranker takes no missing
            values, or if the method does not support ``sample_weight``.
        ValueError
            From scikit-learn, for non-numeric input and labels that are not finite.
        """
        q = self._grouped(X, y, qid, group, reset=not self._continues())
        validation = one_set(eval_set, eval_qid, eval_group)
        valid = None if validation is None else self._grouped(*validation, reset=False, prefix="eval_")
        by_document = per_document(sample_weight, q, "sample_weight")
        weights = by_document, per_query(query_weight, q, "query_weight")
        stopping = verbose, early_stopping_rounds
        return self._train(training_for(self, q, valid, measure, weights, callback, *stopping))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_queries(  # noqa: PLR0913
        self,
        q: Queries,
        valid: Queries | None = None,
        *,
        measure: RankingMeasure | str | None = None,
        doc_weight: Float64Array | None = None,
        query_weight: Float64Array | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        verbose: bool | int = False,
        early_stopping_rounds: int | None = None,
    ) -> Self:
        """Train on `Queries`, as `directrix.read_letor` returns them; see ``fit``.

        A `LinearRanker` also takes those of `directrix.data.open_parquet`, whose features stay in their file,
        with a trainer that needs gradients only.

        Parameters
        ----------
        q, valid : Queries
            Training and validation data.
        measure : measure or str, optional
            As in ``fit``.
        doc_weight, query_weight : arrays, optional
            In the order of ``q``.
        callback, verbose, early_stopping_rounds : optional
            As in ``fit``.

        Raises
        ------
        InputError
            As ``fit``.
        """
        for given in (q,) if valid is None else (q, valid):
            need_queries(given, "fit_queries")
        if isinstance(q.features, StoredFeatures) and not self.reads_files:
            raise q.features.refusal(f"training {type(self).__name__}")
        weights = doc_weight, query_weight
        stopping = verbose, early_stopping_rounds
        return self._train(training_for(self, q, valid, measure, weights, callback, *stopping))

    @abstractmethod
    def _train(self, training: Training) -> Self:
        """Train on checked data.

        Warn with ``stacklevel=4``: that is the caller of ``fit`` or ``fit_queries``.
        """

    def _continues(self) -> bool:
        """Whether ``fit`` starts from the parameters of the last one."""
        return bool(getattr(self, "warm_start", False)) and hasattr(self, "result_")

    def _grouped(self, X: Any, y: Any, qid: Any, group: Any, *, reset: bool, prefix: str = "") -> Queries:
        """Check rows and labels, and group them by query; the message calls them ``prefix`` + "qid"."""
        (X, y), categories = coded_rows(self, X, y, reset=reset)
        require_queries(qid, group, len(y), prefix)
        return self._queries(X, y, qid, group, categories)

    def _queries(self, X: Any, y: Any, qid: Any, group: Any, categories: Any) -> Queries:
        """Group checked rows by query; ``categories`` are their names by the name of the column."""
        known = getattr(self, "feature_names_in_", None)
        names = None if known is None else known.tolist()
        q = Queries.from_arrays(X, y, qid=qid, group=group, feature_names=names, missing="nan")
        # the caller gave no rule for missing values, so whether there are any decides
        return replace(q, categories=by_column(categories, names or ()), missing="error")

    def check_parameters(self) -> None:
        """Check the constructor's parameters now, as ``fit`` would.

        Raises
        ------
        ValueError
            scikit-learn's ``InvalidParameterError``.
        """
        self._validate_params()

    def predict(self, X: Any, qid: Any = None, *, group: Any = None) -> Float64Array:
        """Return the score of every row, in the order of the rows; higher is better.

        Parameters
        ----------
        X : array, frame, dict of columns or sparse matrix (n_docs, n_features)
            Features.
        qid, group : optional
            Query of every row, or sizes of queries; needed only with a scale by query.

        Returns
        -------
        float64 (n_docs,)
            Scores; only their order within a query means something.

        Raises
        ------
        InputError
            If the features are scaled by query and neither qid nor group is given, or a feature is infinite,
            or missing and the ranker takes no missing values.
        """
        check_is_fitted(self)
        scale = getattr(self, "scale_", None)
        if qid is None and group is None and scale is not None and scale.by_query:
            raise InputError(
                f"predict got rows without their queries, but scale={scale.kind!r} needs to know them; "
                "type predict(X, qid=qid), or predict(X, group=[len(X)]) for the rows of one query."
            )
        return self._row_scores(X, qid, group)

    def _row_scores(self, X: Any, qid: Any = None, group: Any = None) -> Float64Array:
        """Scores of rows; without their queries they are of one."""
        X, categories = coded_rows(self, X, reset=False)
        qid = np.zeros(X.shape[0]) if qid is None and group is None else qid
        q = self._queries(X, np.zeros(X.shape[0]), qid, group, categories)
        return q.restore(self.predict_queries(q))

    @abstractmethod
    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order."""

    def score(
        self, X: Any, y: Any, qid: Any = None, *, group: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean over queries of ``measure_``: the number that the ranker was trained for.

        Parameters
        ----------
        X, y, qid, group
            As in ``fit``: qid or group is needed.
        sample_weight : array (n_docs,), optional
            A query weighs the mean of its rows' weights in the mean over queries.

        Returns
        -------
        float
            Queries for which the measure is undefined do not count; NaN if it is undefined for all.

        Raises
        ------
        InputError
            If neither qid nor group is given.
        """
        check_is_fitted(self)
        q = self._grouped(X, y, qid, group, reset=False)
        weights = per_document(sample_weight, q, "sample_weight")
        by_query = None if weights is None else query_means(weights, q)
        return mean_of(self.measure_, self.predict_queries(q), q, by_query)
