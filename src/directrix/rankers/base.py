"""`Ranker`: scikit-learn's contract, with queries."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from directrix.data.checks import as_floats, check_missing, is_missing, reject_masked, unmasked
from directrix.data.frames import (
    Categories,
    are_dicts,
    by_column,
    cells_of,
    collected,
    columns_of,
    columns_of_rows,
    encoded,
    is_dict,
    is_frame,
    matrix_of,
)
from directrix.data.grouping import require_queries
from directrix.data.queries import Queries, filled, need_data
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.parameters import CHECKS, Checks, check_fields, option, whole
from directrix.rankers.calibration import Calibration, Kind, sampling_weights
from directrix.rankers.estimator import BaseEstimator
from directrix.rankers.habits import check_arguments, explaining, name_here
from directrix.rankers.inputs import (
    Training,
    document_weights,
    explain_rejected,
    one_set,
    query_weights,
    training_for,
    warn_if_trained_on,
    warn_of_labels,
)
from directrix.rankers.means import mean_of, query_means
from directrix.rankers.nested import nested_parameters, with_nested
from directrix.rankers.record import check_own, check_readable
from directrix.rankers.saved import SavedModel
from directrix.types import Callback, Data, Float64Array


def _check_random_state(value: Any, name: str, owner: str) -> Any:
    if isinstance(value, np.random.RandomState):
        return value
    return whole(value, name, owner, least=0, below=2**32, example=0)


class Ranker(BaseEstimator, ABC):
    """Base of the rankers, which converts rows and query identifiers to `Queries` and back.

    A subclass trains on `Queries` (`_train`) and scores them (`predict_queries`).
    """

    measure_: RankingMeasure
    calibration_: Calibration = None  # type: ignore[assignment]  # None before `calibrate`
    checks: ClassVar[Checks] = {
        **CHECKS,
        "random_state": _check_random_state,
        "monotone": partial(option, types=(dict,), wanted="a dict of 1 or -1 by feature", example="{0: 1}"),
    }
    """Checks of the constructor's parameters by name; see `directrix.parameters.check_fields`."""
    holds: ClassVar[frozenset[str]] = frozenset({"memory"})
    """Where its training features may be stored; see `directrix.types.Data`."""

    nested: ClassVar[tuple[str, ...]] = ()
    """Names of parameters that are frozen values, whose fields are parameters too: ``surrogate__alpha``."""

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Make an object, once the names of the arguments are checked."""
        check_arguments(cls, given)
        return super().__new__(cls)

    if not TYPE_CHECKING:  # it would let every name pass

        def __getattr__(self, name: str) -> Any:
            """Explain an attribute of other tools; any other error stays as it is."""
            if here := name_here(name):
                raise AttributeError(f"{type(self).__name__} has no {name!r}; did you mean {here}?")
            return object.__getattribute__(self, name)

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN), in training and in prediction."""
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

    @explaining
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
            Features. NaN is a missing value, for trees and for a ``scale`` that fills it; see `Scale`.
            Columns of a categorical type are for trees only.
        y : array (n_docs,)
            Labels, >= 0, higher is better.
        qid : hashables (n_docs,)
            Query of every row, in any order; ``numpy.zeros(len(y))`` if all rows belong to one query.
        group : ints (n_queries,)
            Instead of ``qid``: sizes of consecutive queries.
        sample_weight : array (n_docs,), optional
            Factor on the gain of each document, e.g. the inverse propensity of a click.
        query_weight : array (n_queries,) in order of first appearance, or by query id, optional
            Weight of each query in the mean over queries that training maximizes. By query id: in a dict, or
            in the index of a pandas Series, as groupby returns it.
        eval_set : (X, y) or [(X, y)], optional
            Validation queries: the iteration that is best on them is kept. If the measure has the same value
            for every ranking of them, a warning says so, and the last iteration is kept.
        eval_qid, eval_group : optional
            Their ``qid`` or ``group``; one of the two is needed with an ``eval_set``.
        measure : measure or str, optional
            The measure that chooses the iteration and that ``score`` reports, e.g. "nDCG@10". A trainer of
            measures, such as `CoordinateAscent`, maximizes it, unless it has its own. Default: the measure of
            the trainer, else the one that the surrogate tends to.
        callback : callable, or a list of them, optional
            Called with every `Step`: ``step.iteration``, ``loss``, ``score`` (on the validation queries) and
            ``params``; returning True ends the training.
        verbose : bool or int >= 0
            Print loss and validation measure after every step, or every ``verbose``-th.
        early_stopping_rounds : int >= 1, optional
            ``patience`` of this call, by its name in LightGBM and XGBoost.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        InputError
            If neither qid nor group is given, if qid, group, weights or the validation set do not match the
            rows, if a label is negative, if a feature is infinite, or missing and the ranker takes no missing
            values, or if the method does not support ``sample_weight``.
        ValueError
            From scikit-learn, for non-numeric input and labels that are not finite.

        Warns
        -----
        UserWarning
            If the validation queries cannot choose an iteration, or all documents of a query get one score.
        """
        check_fields(self)
        q = self._grouped(X, y, qid, group, reset=not self._continues())
        warn_of_labels(q)
        self.categories_ = q.categories  # the validation set has the same ones
        validation = one_set(eval_set, eval_qid, eval_group)
        valid = None if validation is None else self._grouped(*validation, reset=False, prefix="eval_")
        by_document = document_weights(sample_weight, q, "sample_weight")
        weights = by_document, query_weights(query_weight, q, "query_weight")
        stopping = verbose, early_stopping_rounds
        return self._train(training_for(self, q, valid, measure, weights, callback, *stopping))

    @explaining
    def fit_queries(  # noqa: PLR0913
        self,
        q: Data,
        valid: Data | None = None,
        *,
        measure: RankingMeasure | str | None = None,
        doc_weight: Float64Array | None = None,
        query_weight: Float64Array | None = None,
        callback: Callback | Sequence[Callback] | None = None,
        verbose: bool | int = False,
        early_stopping_rounds: int | None = None,
    ) -> Self:
        """Train on `Queries`, as `directrix.read_letor` returns them; see ``fit``.

        With a trainer that needs only gradients, a `LinearRanker` also accepts the result of
        `directrix.data.open_parquet`, whose features stay in their file. Rankers with ``fit_shards`` accept
        that of `directrix.data.open_shards`.

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
        check_fields(self)
        for given in (q,) if valid is None else (q, valid):
            need_data(given, "fit_queries")
            if given.held not in self.holds and (given is q or given.held == "shards"):
                raise given.features.refusal(f"training {type(self).__name__}")
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
        (X, y), categories = _coded_rows(self, X, y, reset=reset)
        require_queries(qid, group, len(y), prefix)
        return self._queries(X, y, qid, group, categories)

    def _queries(self, X: Any, y: Any, qid: Any, group: Any, categories: Any, missing: Any = None) -> Queries:
        """Group checked rows by query; ``categories`` are their names by the name of the column."""
        known = getattr(self, "feature_names_in_", None)
        names = None if known is None else known.tolist()
        q = Queries.from_arrays(X, y, qid=qid, group=group, feature_names=names, missing="nan")
        # without a rule of the caller, that of the model decides, or in training whether any are missing
        rule = "error" if missing is None else missing
        check_missing(rule)
        return filled(replace(q, categories=by_column(categories, names or ()), missing=rule))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - as in scikit-learn
        """Return the constructor's parameters, and with ``deep`` those of surrogate and trainer.

        Parameters
        ----------
        deep : bool
            Also ``surrogate__alpha``, ``trainer__max_iter``, ``trainer__trainer__max_iter`` and so on. A
            surrogate given as None or text has the parameters of the surrogate that it means; a trainer given
            by name has those of the trainer that ``fit`` makes.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        for name in self.nested if deep else ():
            try:
                value = self._value_of(name)
            except (ValueError, TypeError, LookupError, OverflowError):  # fit says what is wrong with it
                continue
            params |= nested_parameters(name, value)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ranker, its surrogate and its trainer: ``set_params(surrogate__alpha=5.0)``.

        Surrogates and trainers are replaced by changed copies; the given objects do not change.

        Raises
        ------
        InputError
            If surrogate or trainer does not have a parameter of this name, or rejects the value.
        ValueError
            If the constructor does not have a parameter of this name.
        """
        changes: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key in list(params):
            name, _, path = key.partition("__")
            if path and name in self.nested:
                changes[name][path] = params.pop(key)
        super().set_params(**params)
        for name, more in changes.items():
            value = self._value_of(name)
            changed = with_nested(name, value, more)
            if changed is not value:
                setattr(self, name, changed)
        return self

    def _value_of(self, name: str) -> Any:
        """The object that a parameter of `nested` means, where it may be None or text."""
        return getattr(self, name)

    def check_parameters(self) -> None:
        """Check the constructor's parameters now, as ``fit`` would.

        Raises
        ------
        InputError
            If a parameter is none of those that the class takes.
        """
        check_fields(self)

    @explaining
    def predict(
        self, X: Any, qid: Any = None, *, group: Any = None, missing: str | None = None
    ) -> Float64Array:
        """Return the score of every row, in the order of the rows; higher is better.

        Parameters
        ----------
        X : array, frame, dict of columns or sparse matrix (n_docs, n_features)
            Features.
        qid, group : optional
            Query of every row, or sizes of queries; needed only with a scale by query.
        missing : {"nan", "zero"}, optional
            How missing values (NaN) count if the training data had none: as trees and scales take them, or as
            0. Default: an error.

        Returns
        -------
        float64 (n_docs,)
            Scores; only their order within a query is meaningful.

        Raises
        ------
        InputError
            If the features are scaled by query and neither qid nor group is given, or a feature is infinite,
            or missing where none was missing in training.
        """
        check_is_fitted(self)
        scale = getattr(self, "scale_", None)
        if qid is None and group is None and scale is not None and scale.by_query:
            raise InputError(
                f"predict got rows without their queries, but scale={scale.kind!r} needs to know them; "
                "type predict(X, qid=qid), or predict(X, group=[len(X)]) for the rows of one query."
            )
        X, categories = _coded_rows(self, X, reset=False)
        qid = np.zeros(X.shape[0]) if qid is None and group is None else qid  # of one query
        q = self._queries(X, np.zeros(X.shape[0]), qid, group, categories, missing)
        return q.restore(self.predict_queries(q))

    @abstractmethod
    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order."""

    def score(
        self, X: Any, y: Any, qid: Any = None, *, group: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the mean over queries of ``measure_``, for which the ranker was trained.

        Parameters
        ----------
        X, y, qid, group
            As in ``fit``: qid or group is needed.
        sample_weight : array (n_docs,), optional
            The weight of a query in the mean over queries is the mean weight of its rows.

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
        weights = document_weights(sample_weight, q, "sample_weight")
        by_query = None if weights is None else query_means(weights, q)
        return mean_of(self.measure_, self.predict_queries(q), q, by_query)

    def calibrate(self, q: Queries, kind: Kind = "isotonic", rel: float = 1.0) -> Self:
        r"""Fit probabilities of relevance to the scores of queries that were not trained on.

        ``predict`` and the order of documents do not change. ``save`` stores the calibration, `load` and
        `load_scorer` restore it, and ``fit`` removes it.

        Parameters
        ----------
        q : Queries
            With labels: thousands of documents for "isotonic", hundreds for "platt". Negatives of
            `directrix.data.from_interactions` count 1 / sampling probability, so the probabilities hold for
            all candidates.
        kind : {"isotonic", "platt"}
            Isotonic regression (Zadrozny & Elkan 2002), which is nonparametric, or Platt's sigmoid
            :math:`1 / (1 + e^{-(a s + b)})` (1999).
        rel : float > 0
            Lowest label that counts as relevant.

        Returns
        -------
        self
            With ``calibration_``, a function from scores to probabilities that increases with the score; on
            plateaus of the isotonic regression by less than a millionth, to avoid ties.

        Raises
        ------
        InputError
            If all or no documents are relevant, or relevant documents do not have higher scores.

        Warns
        -----
        UserWarning
            If these are the training data, where the probabilities would be too extreme.

        Examples
        --------
        >>> import directrix as dx
        >>> q, _ = dx.data.make_linear(n_queries=40, docs_per_query=10, n_features=4, seed=0)
        >>> ranker = dx.LinearRanker().fit_queries(q.take(range(20)))
        >>> ranker.calibrate(q.take(range(20, 40)), "platt").predict_probability(q.features[:2]).shape
        (2,)
        """
        fitted = self.trained()
        need_data(q, "calibrate")
        warn_if_trained_on(q, fitted.training_, stacklevel=2)
        scores, weights = self.predict_queries(q), sampling_weights(q)
        self.calibration_ = fitted.calibration_ = Calibration.fit(scores, q.labels, kind, rel, weights)
        return self

    def predict_probability(self, X: Any, qid: Any = None, *, group: Any = None) -> Float64Array:
        """Return the probability that every row is relevant, float64 (n_docs,) in the order of ``predict``.

        Raises `InputError` as ``predict`` does, or if ``calibrate`` was not called after ``fit``.
        """
        check_is_fitted(self)
        saved: SavedModel = self.trained()._content()
        return saved.probabilities(self.predict(X, qid, group=group))

    def trained(self) -> Any:
        """The ranker that computes the scores: itself, or the one that an `AutoRanker` chose."""
        return self

    def saved_model(self) -> SavedModel:
        """Return the fitted model as a value, the content of its file; see `SavedModel`.

        Raises `InputError` for a subclass of the user, which may compute other scores than its model.
        """
        ranker = self.trained()
        for one in (self, ranker):
            check_own(one)
        model: SavedModel = ranker._content()
        return model

    def _content(self) -> SavedModel:
        """The model of a ranker that computes scores itself, also of a user's class."""
        raise NotImplementedError(f"{type(self).__name__} must define _content, or trained")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file, atomically; `directrix.load` reads it back.

        An `AutoRanker` writes the ranker that it chose.

        Raises
        ------
        InputError
            If the file cannot be written, the model holds a number that is not finite, or the ranker, its
            measure, surrogate or trainer is of a class that would be read back as another one.
        """
        saved, ranker = self.saved_model(), self.trained()
        members = zip(getattr(ranker, "members_", ()), saved.members, strict=True)
        for one, part in ((ranker, saved), *members):
            check_readable(one, part)
        saved.save(path)

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """Learning curves by step, from the start on: ``{"training": {"loss": [...]}, "valid_0": {...}}``.

        ``valid_0`` has the measure on the validation queries, under its name ("nDCG@10"); only with an
        ``eval_set``. It has LightGBM's form, so ``lightgbm.plot_metric`` draws it. It is empty after `load`,
        since model files do not store it. See `result_.trace` for further columns.
        """
        check_is_fitted(self)
        ranker: Any = self.trained()
        columns = (("training", "loss", "loss"), ("valid_0", ranker.measure_.name, "score"))
        curves = {}
        for part, name, column in columns:
            curve = [float(row.get(column, np.nan)) for row in ranker.result_.trace]
            if not np.isnan(curve).all():
                curves[part] = {name: curve}
        return curves

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each feature in the gain of the splits of trees: float64 (n_features,), with sum 1.

        Raises
        ------
        AttributeError
            If the model has no trees, so ``hasattr`` is False.
        """
        check_is_fitted(self)
        ranker = self.trained()
        if ranker is not self:
            shares: Float64Array = ranker.feature_importances_
            return shares
        raise AttributeError(
            f"{type(self).__name__} has no feature_importances_, which are the gains of splits of trees: a "
            "weight depends on the unit of its feature. directrix.experiments.permutation_importance(ranker, "
            "queries) measures how much any ranker depends on each feature."
        )

    def _name_features(self, q: Queries) -> None:
        """Keep number, names and categories of the features; forget names and calibration of the last fit."""
        self.n_features_in_, self.categories_ = q.n_features, q.categories
        vars(self).pop("calibration_", None)
        if q.feature_names is not None:
            self.feature_names_in_ = np.array(q.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _features_saved(self) -> tuple[int, tuple[str, ...] | None, Categories | None]:
        """Number, names and categories of the features, as `SavedModel` has them."""
        names = getattr(self, "feature_names_in_", None)
        return self.n_features_in_, None if names is None else tuple(map(str, names)), self.categories_


_ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}


def _coded_rows(ranker: Any, X: Any, *labels: Any, reset: bool) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """Return `_checked_rows`, and the names of the categories of the columns that have any."""
    if are_dicts(X):
        X = columns_of_rows(X, () if reset else getattr(ranker, "feature_names_in_", ()))
    X, names = encoded(X, () if reset else _texts_of_categories(ranker, X))
    return _checked_rows(ranker, X, *labels, reset=reset), names


def _texts_of_categories(ranker: Any, X: Any) -> list[Any]:
    """Return the columns that held categories in training and now hold text, or missing values alone."""
    known = zip(getattr(ranker, "feature_names_in_", ()), ranker.categories_ or (), strict=False)
    names = [name for name, categories in known if categories is not None]
    columns = columns_of(X) if names and is_frame(X) else {}
    cells = {name: cells_of(columns.get(name, ())) for name in names}
    return [name for name in names if _are_texts(cells[name])]


def _are_texts(cells: list[Any]) -> bool:
    return any(isinstance(cell, str) for cell in cells) or all(map(is_missing, cells))


def _checked_rows(ranker: Any, X: Any, *labels: Any, reset: bool) -> Any:
    """Return features, and labels if they are given, as arrays; ``reset`` keeps number and names of features.

    Columns of a dict are taken by name, in any order. Raises as `sklearn.utils.validation.validate_data`.
    """
    settings = {**_ROWS, "y_numeric": True} if labels else _ROWS
    for given in labels:
        reject_masked(given, "y")
    if getattr(getattr(X, "dtype", None), "names", None):
        raise InputError(f"X has records of dtype {X.dtype}; one number in each cell is needed.")
    X = unmasked(X)
    if isinstance(X, list | tuple):  # None and pandas.NA are missing, as in frames
        X = as_floats(X, "X", "a row of numbers per document")
    if not is_dict(X):
        try:
            return validate_data(ranker, collected(X), *labels, reset=reset, **settings)
        except OverflowError as error:
            raise InputError(
                f"X or y holds a number that is not a float ({error}); numbers up to 1e308 are needed. Type "
                "numpy.asarray(X, dtype=float) to find it."
            ) from None
        except (TypeError, ValueError) as error:
            explain_rejected(X, labels, () if reset else getattr(ranker, "feature_names_in_", ()), error)
            raise
    known = list(getattr(ranker, "feature_names_in_", X)) if not reset else list(X)
    if set(known) != set(X):
        raise InputError(
            f"X has the columns {', '.join(map(str, X))}; those of the training data, "
            f"{', '.join(map(str, known))}, are needed. Give {{name: X[name] for name in "
            "ranker.feature_names_in_}."
        )
    with warnings.catch_warnings():  # an array has no names
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        rows = matrix_of({name: X[name] for name in known})
        checked = validate_data(ranker, rows, *labels, reset=reset, **settings)
    if reset and all(isinstance(name, str) for name in known):
        ranker.feature_names_in_ = np.array(known, dtype=object)
    return checked
