"""`Ranker`: scikit-learn's contract, with queries. In: queries. Out: ``model_``, a `FittedModel`."""

from __future__ import annotations

import os
from abc import ABC
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from directrix.data.frames import Categories
from directrix.data.queries import Queries, need_data, need_queries
from directrix.data.scale import fills_missing, fit_scale
from directrix.errors import Advice, InputError, NotConverged, warn
from directrix.measures.base import RankingMeasure
from directrix.models.trees import Trees
from directrix.parameters import Checks, check_fields
from directrix.rankers.calibration import Calibration, Kind, sampling_weights
from directrix.rankers.estimator import BaseEstimator
from directrix.rankers.fitted import FittedModel
from directrix.rankers.habits import check_arguments, explaining, name_here
from directrix.rankers.inputs import (
    RANKER_CHECKS,
    TrainedModel,
    Training,
    check_reached,
    document_weights,
    measure_of,
    one_set,
    query_weights,
    surrogate_of,
    training_for,
    warn_if_trained_on,
    warn_of_labels,
)
from directrix.rankers.means import can_choose, mean_of, query_means
from directrix.rankers.model_file import write_model
from directrix.rankers.nested import nested_parameters, with_nested
from directrix.rankers.record import check_readable, last_smoothing, own_model, training_record
from directrix.rankers.rows import queries_of
from directrix.rankers.scoring import ranks_some
from directrix.trainers.loop import STOPPED
from directrix.types import Callback, Data, Float64Array, Result


class Ranker(BaseEstimator, ABC):
    """Base of the rankers: scikit-learn's contract, with queries.

    A fitted ranker holds its model as one value, ``model_``; attributes such as ``scale_`` read it. A
    subclass with a model of its own has the constructor's ``surrogate``, ``scale``, ``patience`` and
    ``random_state``, and trains by `_minimize`. An ensemble or a search, which trains other rankers, defines
    `_train`.
    """

    model_: FittedModel
    measure_: RankingMeasure
    result_: Result
    surrogate: Any
    scale: Any
    patience: int | None
    checks: ClassVar[Checks] = RANKER_CHECKS
    """Checks of the constructor's parameters by name; see `directrix.parameters.check_fields`."""
    holds: ClassVar[frozenset[str]] = frozenset({"memory"})
    """Where its training features may be stored; see `directrix.types.Data`."""
    nested: ClassVar[tuple[str, ...]] = ("surrogate",)
    """Names of parameters that are frozen values, whose fields are parameters too: ``surrogate__alpha``."""
    model_type: ClassVar[str]
    """Name of its model, a key of `KINDS`; a search has none."""
    saved_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters in the model file, in addition to surrogate and random_state."""
    takes_nan: ClassVar[bool] = False
    """Whether the model itself takes missing values, without a scale."""
    _remedy: ClassVar[str] = ""
    """Further advice if a trained ranker ranks nothing."""

    def __new__(cls, *args: Any, **arguments: Any) -> Self:
        """Make an object, once the names of the arguments are checked."""
        check_arguments(cls, arguments)
        return super().__new__(cls)

    if not TYPE_CHECKING:  # a type checker would accept every name

        def __getattr__(self, name: str) -> Any:
            """Explain an attribute of other tools; any other error stays as it is."""
            if name == "model_":
                raise AttributeError(f"this {type(self).__name__} is not fitted; type fit(X, y, qid=qid).")
            if here := name_here(name):
                raise AttributeError(f"{type(self).__name__} has no {name!r}; did you mean {here}?")
            return object.__getattribute__(self, name)

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN): the scale fills it, or trees handle it."""
        return self.takes_nan or fills_missing(self.scale)

    @property
    def takes_categories(self) -> bool:
        """Whether a feature may hold categories."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
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
        missing: Literal["error", "zero", "nan"] = "error",
    ) -> Self:
        """Train on rows of documents.

        Parameters
        ----------
        X : array, frame, dict of columns or sparse matrix (n_docs, n_features)
            Features; NaN and None are missing values. Columns of a categorical type are for trees only.
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
            Validation queries, of which the best iteration is kept, or the last one if they cannot choose.
        eval_qid, eval_group : optional
            Their ``qid`` or ``group``; one of the two is needed with an ``eval_set``.
        measure : measure or str, optional
            The measure that chooses the iteration, that ``score`` reports and that a trainer of measures
            maximizes, e.g. "nDCG@10". Default: that of the trainer, else the one the surrogate tends to.
        callback : callable, or a list of them, optional
            Called with every `Step`: ``step.iteration``, ``loss``, ``score`` (on the validation queries) and
            ``params``; returning True ends the training.
        verbose : bool or int >= 0
            Print loss and validation measure after every step, or every ``verbose``-th.
        early_stopping_rounds : int >= 1, optional
            ``patience`` of this call, by its name in LightGBM and XGBoost.
        missing : {"error", "zero", "nan"}
            Meaning of missing values, here and in ``predict``: an error, 0, or NaN, which trees and a
            `Scale` that fills it take.

        Returns
        -------
        self
            Fitted.

        Raises
        ------
        InputError
            If neither qid nor group is given, if qid, group, weights or the validation set do not match the
            rows, if a label is negative, if a feature is infinite, or missing without a meaning that the
            ranker supports, or if the method does not support ``sample_weight``.
        ValueError
            From scikit-learn, for non-numeric input and labels that are not finite.

        Warns
        -----
        UserWarning
            If the validation queries cannot choose an iteration, or all documents of a query get one score.
        """
        check_fields(self)
        q = queries_of(self, X, y, qid=qid, group=group, like=self._resumed(), missing=missing)
        warn_of_labels(q)
        rows, ids = one_set(eval_set, eval_qid, eval_group)
        valid = queries_of(self, *rows, **ids, like=q, missing=missing, prefix="eval_") if rows else None
        weights = document_weights(sample_weight, q), query_weights(query_weight, q)
        stop = early_stopping_rounds
        return self._train(training_for(self, q, valid, measure, weights, callback, verbose, stop))

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
        for queries in (q,) if valid is None else (q, valid):
            need_data(queries, "fit_queries")
            # only the trainer needs features in memory: validation reads those of a file in blocks
            if queries.held not in self.holds and (queries is q or queries.held == "shards"):
                raise queries.features.refusal(f"training {type(self).__name__}")
        weights = doc_weight, query_weight
        return self._train(
            training_for(self, q, valid, measure, weights, callback, verbose, early_stopping_rounds)
        )

    def _train(self, training: Training) -> Self:
        """Train on checked data; warnings have the level of the caller of ``fit`` or ``fit_queries``."""
        q, valid, surrogate = training.queries, training.valid, self._surrogate()
        measure = self._measure_of(surrogate) if training.measure is None else training.measure
        check_reached(measure, q)
        if valid is not None and not can_choose(measure, valid):
            warn(
                f"{measure.name} has the same value for every ranking of the validation queries and cannot "
                "choose a step: they are left out, and the last step is kept.",
                advice=Advice("ordered-valid"),
                stacklevel=4,
            )
            valid = None
        scale = fit_scale(self.scale, q.features)
        scaled = q if scale is None else q.scaled(scale)
        valid = valid if valid is None or scale is None else valid.scaled(scale)
        patience = self.patience if training.patience is None else training.patience
        ready = replace(
            training, queries=scaled, valid=valid, measure=measure, scale=scale, patience=patience
        )
        trained = self._minimize(ready.watched(), surrogate)
        record = training_record(self, ready, q, surrogate, trained)
        missing = "error" if q.missing == "nan" and not self.takes_missing else q.missing
        result, smoothing = trained.result, last_smoothing(trained.result)
        self.measure_, self.result_ = measure, result
        self.surrogate_ = surrogate if smoothing is None else surrogate.at(smoothing)
        self.model_ = FittedModel(
            self.model_type,
            trained.model,
            result.params,
            q.n_features,
            q.feature_names,
            q.categories,
            missing,
            scale,
            record,
        )
        self._name_features(q)
        if result.status == "not_finite":
            warn(f"training ended early: {result.message}.", NotConverged, stacklevel=4)
        elif (
            result.message != STOPPED  # a search drops rankers that its clock stopped
            and getattr(self, "max_iter", 1) != 0
            and not ranks_some(self.model_, scaled)
        ):
            warn(
                "the trained ranker gives all documents of a query the same score, so it ranks nothing "
                f"({result.message.rstrip('.')}). Give features that differ within queries{self._remedy}.",
                stacklevel=4,
            )
        return self

    def _minimize(self, training: Training, surrogate: Any) -> TrainedModel:
        """Train on scaled features."""
        raise NotImplementedError(f"{type(self).__name__} must define _minimize, or _train")

    def _resumed(self) -> FittedModel | None:
        """The model of the last ``fit``, if this one starts from its parameters."""
        return vars(self).get("model_") if getattr(self, "warm_start", False) else None

    def _surrogate(self) -> Any:
        """The surrogate as an object."""
        return surrogate_of(self.surrogate)

    def _measure_of(self, surrogate: Any) -> RankingMeasure:
        """The measure to report where ``fit`` is not told."""
        return measure_of(surrogate)

    def _name_features(self, q: Queries | FittedModel) -> None:
        """Set number and names of the features as scikit-learn does."""
        self.n_features_in_ = q.n_features
        vars(self).pop("feature_names_in_", None)
        if q.feature_names is not None:
            self.feature_names_in_ = np.array(q.feature_names, dtype=object)

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
        return self._surrogate() if name == "surrogate" else getattr(self, name)

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
        self._check_fitted()
        scale = self.scale_
        if qid is None and group is None and scale is not None and scale.by_query:
            raise InputError(
                f"predict got rows without their queries, but scale={scale.kind!r} needs to know them; "
                "type predict(X, qid=qid), or predict(X, group=[len(X)]) for the rows of one query."
            )
        q = queries_of(self, X, qid=qid, group=group, like=self.model_, missing=missing)
        return q.restore(self.predict_queries(q))

    def _check_fitted(self) -> None:
        if "model_" not in vars(self):  # scikit-learn's check takes as long as short lists do
            check_is_fitted(self)

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order.

        Raises
        ------
        InputError
            If the number, names or order of the features differ from training, or features are missing or too
            large.
        """
        need_queries(q, "predict_queries")
        self._check_fitted()
        return self.model_.predict_queries(q)

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
        q = queries_of(self, X, y, qid=qid, group=group, like=self.model_)
        weights = document_weights(sample_weight, q)
        by_query = None if weights is None else query_means(weights, q)
        return mean_of(self.measure_, self.predict_queries(q), q, by_query)

    def calibrate(self, q: Queries | None, kind: Kind = "isotonic", rel: float = 1.0) -> Self:
        r"""Fit probabilities of relevance to the scores of queries that were not trained on.

        ``predict`` and the order of documents do not change. ``save`` stores the calibration, `load` and
        `load_scorer` restore it, and ``fit`` removes it.

        Parameters
        ----------
        q : Queries, or None
            With labels: thousands of documents for "isotonic", hundreds for "platt". Negatives of
            `directrix.data.from_interactions` count 1 / sampling probability, so the probabilities hold for
            all candidates. None removes a calibration.
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
        calibration = None
        if q is not None:
            need_data(q, "calibrate")
            warn_if_trained_on(q, self.training_, stacklevel=2)
            weights = sampling_weights(q)
            calibration = Calibration.fit(self.predict_queries(q), q.labels, kind, rel, weights)
        fitted.model_ = replace(fitted.model_, calibration=calibration)
        return self

    def predict_probability(self, X: Any, qid: Any = None, *, group: Any = None) -> Float64Array:
        """Return the probability that every row is relevant, float64 (n_docs,) in the order of ``predict``.

        Raises `InputError` as ``predict`` does, or if ``calibrate`` was not called after ``fit``.
        """
        check_is_fitted(self)
        return self.model_.probabilities(self.predict(X, qid, group=group))

    def trained(self) -> Any:
        """The ranker that computes the scores: itself, or the one that an `AutoRanker` chose."""
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a JSON file, atomically; `directrix.load` reads it back.

        An `AutoRanker` writes the ranker that it chose.

        Raises
        ------
        InputError
            If the file cannot be written, the model holds a number that is not finite, or the ranker, its
            measure, surrogate or trainer is of a class that would be read back as another one.
        """
        model, ranker = own_model(self), self.trained()
        check_readable(ranker, model)
        for member, fitted in zip(getattr(ranker, "members_", ()), model.members, strict=True):
            check_readable(member, fitted)
        write_model(model, path)

    @property
    def scale_(self) -> Any:
        """Fitted scale of the features, or None; of an ensemble a member's that needs the query of a row."""
        scales = (member.scale for member in self.model_.members)
        return next((scale for scale in scales if scale and scale.by_query), self.model_.scale)

    @property
    def missing_(self) -> str:
        """How missing values of the training data were read: "error", "zero" or "nan"."""
        return self.model_.missing

    @property
    def categories_(self) -> Categories | None:
        """Names of the categories of each feature, None for a feature of numbers, or for all."""
        return self.model_.categories

    @property
    def training_(self) -> Mapping[str, Any]:
        """The record of the training in the model file."""
        return self.model_.training

    @property
    def calibration_(self) -> Calibration:
        """Probabilities from scores; None before ``calibrate``."""
        return self.model_.calibration  # type: ignore[return-value]  # users call it after `calibrate`

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """Learning curves by step, from the start on: ``{"training": {"loss": [...]}, "valid_0": {...}}``.

        ``valid_0`` has the measure on the validation queries, under its name ("nDCG@10"); only with an
        ``eval_set``. It has LightGBM's form, so ``lightgbm.plot_metric`` draws it. It is empty after `load`,
        since model files do not store it. See `result_.trace` for further columns.
        """
        check_is_fitted(self)
        columns = (("training", "loss", "loss"), ("valid_0", self.measure_.name, "score"))
        curves = {}
        for dataset, name, column in columns:
            curve = [float(row.get(column, np.nan)) for row in self.result_.trace]
            if not np.isnan(curve).all():
                curves[dataset] = {name: curve}
        return curves

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each feature in the gain of the splits of trees: float64 (n_features,), with sum 1 or 0.

        Raises
        ------
        AttributeError
            If the model has no trees, so ``hasattr`` is False.
        """
        check_is_fitted(self)
        trees = self.model_.model
        if not isinstance(trees, Trees):
            raise AttributeError(
                f"{type(self.trained()).__name__} has no feature_importances_, which are the gains of splits "
                "of trees: a weight depends on the unit of its feature. "
                "directrix.experiments.permutation_importance(ranker, queries) measures how much any ranker "
                "depends on each feature."
            )
        gains = trees.gains().reshape(-1, self.n_features_in_).sum(axis=0)  # one block per scale
        shares: Float64Array = gains / (gains.sum() or 1.0)
        return shares
