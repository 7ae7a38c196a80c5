"""`StoredRanker`: data are prepared, a trainer is called, and the fitted model can be kept in a file."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Hidden, StrOptions
from sklearn.utils.validation import check_is_fitted

from directrix.data.queries import Queries, need_queries
from directrix.data.scale import SCALES, fills_missing, fit_scale, is_scale
from directrix.errors import Advice, InputError, NotConverged, warn
from directrix.measures.base import RankingMeasure
from directrix.rankers.base import Ranker
from directrix.rankers.bounds import CONSTRAINTS, to_entries
from directrix.rankers.inputs import Training, check_reached, measure_of, surrogate_of
from directrix.rankers.means import can_choose
from directrix.rankers.record import last_smoothing, training_record
from directrix.rankers.saved import AnyModel, SavedModel
from directrix.rankers.scoring import check_names, scores_by
from directrix.trainers.progress import STOPPED
from directrix.types import Float64Array, Result


class _ScaleNames(StrOptions):  # type: ignore[misc]  # scikit-learn has no types
    """The kinds of scales, and several of them joined by plus signs."""

    def is_satisfied_by(self, val: Any) -> bool:
        return is_scale(val)

    def __str__(self) -> str:
        kinds = ", ".join(map(repr, SCALES))
        return f"one of {kinds}, several joined by plus signs ('raw+query-percentile')"


SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "surrogate": [HasMethods(["value_and_grad"]), str, None, Hidden(callable)],  # `surrogate_of` explains it
    "scale": [_ScaleNames(set(SCALES)), None],
    "random_state": ["random_state"],
}
"""Constraints that scikit-learn checks, of the parameters that all of these rankers have."""


_FEW_QUERIES = 64


class StoredRanker(Ranker):
    """Base of the rankers that a model file can hold.

    A subclass has the constructor's ``surrogate``, ``scale`` and ``random_state``, trains (`_minimize`),
    and gets and sets its fitted model (`_fitted_model`, `_take`), whose scores `SavedModel` computes.
    """

    nested: ClassVar[tuple[str, ...]] = ("surrogate",)
    model_type: ClassVar[str]
    """Name of its model, a key of `KINDS`."""
    saved_parameters: ClassVar[tuple[str, ...]]
    """Parameters in the model file, in addition to surrogate and random_state."""
    takes_nan: ClassVar[bool] = False
    """Whether the model itself takes missing values, without a scale."""

    _remedy: ClassVar[str] = ""
    """Further advice if a trained ranker ranks nothing."""

    surrogate: Any
    scale: Any
    patience: int | None

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN): the scale fills it, or trees handle it."""
        return self.takes_nan or fills_missing(self.scale)

    @property
    def _n_inputs(self) -> int:
        """Columns of the scaled features."""
        return int(self.n_features_in_) * (1 if self.scale_ is None else self.scale_.n_columns)

    def _surrogate(self) -> Any:
        """The surrogate as an object."""
        return surrogate_of(self.surrogate)

    def _measure_of(self, surrogate: Any) -> RankingMeasure:
        """The measure to report where ``fit`` is not told."""
        return measure_of(surrogate)

    def _value_of(self, name: str) -> Any:
        return self._surrogate() if name == "surrogate" else super()._value_of(name)

    def _train(self, training: Training) -> Self:
        q, valid, surrogate = training.queries, training.valid, self._surrogate()
        measure = self._measure_of(surrogate) if training.measure is None else training.measure
        check_reached(measure, q)
        if valid is not None and not can_choose(measure, valid):
            warn(
                f"{measure.name} has the same value for every ranking of the validation queries and cannot "
                "choose a step: they are left out, and the last step is kept.",
                advice=Advice("ordered-valid"),
                stacklevel=5,
            )
            valid = None
        scale = fit_scale(self.scale, q.features)
        data, judged = (one if one is None or scale is None else one.scaled(scale) for one in (q, valid))
        scaled = replace(training, queries=data, valid=judged, measure=measure, scale=scale)
        self._patience = self.patience if training.patience is None else training.patience
        trainer, result = self._minimize(scaled.watched(measure), surrogate)
        self.measure_, self.scale_, self.result_ = measure, scale, result
        smoothing = last_smoothing(result)
        self.surrogate_ = surrogate if smoothing is None else surrogate.at(smoothing)
        self._name_features(q)
        self.training_ = training_record(self, q, surrogate, trainer, result)
        is_kept = self.takes_missing and (q.missing == "nan" or "missing" in self.training_["data"])
        self.missing_ = "zero" if q.missing == "zero" else "nan" if is_kept else "error"
        if result.status == "not_finite":
            warn(f"training ended early: {result.message}.", NotConverged, stacklevel=5)
        elif result.message != STOPPED and not self._ranks(data):  # a search drops what its clock stops
            warn(
                "the trained ranker gives all documents of a query the same score, so it ranks nothing "
                f"({result.message.rstrip('.')}). Give features that differ within queries{self._remedy}.",
                stacklevel=5,
            )
        return self

    def _ranks(self, data: Any) -> bool:
        """Whether some documents of a training query have different scores; data on disk are not read."""
        if data.held != "memory" or getattr(self, "max_iter", 1) == 0:
            return True
        model, params = self._fitted_model()
        some = data.take(np.arange(min(data.n_queries, _FEW_QUERIES)))  # nearly always enough
        for q in (some, data):
            scores = scores_by(model, params, q)
            first = q.qptr[:-1][np.diff(q.qptr) > 0]
            if (np.minimum.reduceat(scores, first) < np.maximum.reduceat(scores, first)).any():
                return True
        return False

    def parameter_to_save(self, name: str) -> Any:
        """Return a constructor parameter as the model file stores it, or the value that ``fit`` used."""
        value = self._patience if name == "patience" else getattr(self, name)
        return to_entries(value) if name in CONSTRAINTS else value

    @abstractmethod
    def _minimize(self, training: Training, surrogate: Any) -> tuple[Any, Result]:
        """Train on scaled features; set the model and return the trainer, for the record, and its result."""

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order.

        Raises
        ------
        InputError
            If the number, names or order of the features differ from training, or features are missing or too
            large.
        """
        need_queries(q, "predict_queries")
        return self._content().predict_queries(q)

    def _start_from(self, start: Ranker, training: Training, name: str = "start") -> Any:
        """Return a fitted ranker of the same class whose parameters, or trees, this one can start from.

        One that is not fitted is fitted to the training queries first, whose features are scaled already:
        a cross-validation, which copies by scikit-learn's ``clone``, trains the start on its own queries.
        """
        is_fitted = hasattr(start, "n_features_in_")
        fitted = (start if is_fitted else _fit_start(start, training)).trained()
        kind = type(self).__name__
        if type(fitted) is not type(self):
            weights = " or from an array of weights" if name == "start" else ""
            raise InputError(
                f"{name} is a fitted {type(fitted).__name__}; a {kind} starts from one of its own kind"
                f"{weights}. Type {name}={kind}(...).fit(X, y, qid=qid)."
            )
        if is_fitted:
            _check_start(fitted, training, name)
        return fitted

    def _content(self) -> SavedModel:
        check_is_fitted(self)
        model, params = self._fitted_model()
        named = self._features_saved()
        return SavedModel(
            self.model_type,
            model,
            params,
            *named,
            self.missing_,
            self.scale_,
            self.training_,
            calibration=self.calibration_,
        )

    def take_model(self, saved: SavedModel) -> None:
        """Become the fitted ranker of a model file, except for measure and result."""
        self.scale_, self.missing_, self.training_ = saved.scale, saved.missing, dict(saved.training)
        self._take(saved.model, saved.params)

    @abstractmethod
    def _fitted_model(self) -> tuple[AnyModel, Float64Array]:
        """The fitted model and its parameters."""

    @abstractmethod
    def _take(self, model: Any, params: Float64Array) -> None:
        """Take these as the fitted model and its parameters."""


def _fit_start(start: Ranker, training: Training) -> Ranker:
    unfitted = clone(start)
    if "scale" in unfitted.get_params(deep=False):
        unfitted.set_params(scale=None)
    weights = {"doc_weight": training.doc_weight, "query_weight": training.query_weight}
    fitted: Ranker = unfitted.fit_queries(training.queries, measure=training.measure, **weights)
    return fitted


def _check_start(start: Any, training: Training, name: str) -> None:
    """Raise `InputError` unless both have the same number of features, scaled in the same way."""
    if start._n_inputs != training.queries.n_features:
        raise InputError(
            f"{name} was fitted to {start._n_inputs} scaled features, the data have "
            f"{training.queries.n_features}; fit it to the same features."
        )
    theirs, ours = (None if one is None else one.to_json() for one in (start.scale_, training.scale))
    if theirs != ours:
        raise InputError(
            f"{name} was fitted with {_scaling(start.scale_)}, this ranker scales features with "
            f"{_scaling(training.scale)}: its parameters mean something else here. Fit both with scale=None, "
            f"or give {name} without fitting it: it is then fitted to the same features."
        )
    check_names(training.queries, getattr(start, "feature_names_in_", None))
    if start.categories_ != training.queries.categories:
        raise InputError(
            f"{name} was fitted to other categories; fit both to frames with the same ones, e.g. of a "
            "categorical type that lists all."
        )


def _scaling(scale: Any) -> str:
    return "scale=None" if scale is None else f"scale={scale.kind!r} of its own training queries"
