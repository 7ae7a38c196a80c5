"""What every ranker shares that is trained once and kept in a model file."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from directrix.data.queries import Queries, need_queries
from directrix.data.scale import SCALES, Scale, ScaleUnion, fills_missing, fit_scale, is_scale
from directrix.data.shards.queries import ShardedQueries
from directrix.errors import InputError, NotConverged, warn
from directrix.measures.base import RankingMeasure
from directrix.rankers.base import Ranker
from directrix.rankers.categories import matched
from directrix.rankers.contents import FittedModel
from directrix.rankers.fitting import Training
from directrix.rankers.inputs import check_finite, check_names, check_reached, check_scores, surrogate_of
from directrix.rankers.limits import CONSTRAINTS, to_entries
from directrix.rankers.missing import read_as
from directrix.rankers.persistence import Saved
from directrix.rankers.training import last_smoothing, measure_of, sharpened, training_record
from directrix.types import Float64Array, Result


class _ScaleNames(StrOptions):  # type: ignore[misc]  # scikit-learn has no types
    """The kinds of scales, and several of them joined by plus signs."""

    def is_satisfied_by(self, val: Any) -> bool:
        return is_scale(val)

    def __str__(self) -> str:
        kinds = ", ".join(map(repr, SCALES))
        return f"one of {kinds}, several joined by plus signs ('raw+query-percentile')"


SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "surrogate": [HasMethods(["value_and_grad"]), str, None],
    "scale": [_ScaleNames(set(SCALES)), None],
    "random_state": ["random_state"],
}
"""What scikit-learn checks of the parameters that all of these rankers have."""


class StoredRanker(Saved, Ranker):
    """Base of the rankers that a model file can hold.

    A subclass has the constructor's ``surrogate``, ``scale`` and ``random_state``, trains (`_minimize`),
    scores (`_scored`), and writes and reads its model (`_model_json`, `_take`).
    """

    nested: ClassVar[tuple[str, ...]] = ("surrogate",)
    model_type: ClassVar[str]
    """Name of its model, a key of `KINDS`."""
    saved_parameters: ClassVar[dict[str, str]]
    """Parameters in the model file, in addition to surrogate and random_state, and their JSON kinds."""
    missing_shows: ClassVar[bool] = True
    """Whether a feature that is NaN makes the score NaN; otherwise features are checked before."""

    takes_nan: ClassVar[bool] = False
    """Whether the model itself takes missing values, without a scale."""

    surrogate: Any
    scale: Any
    patience: int | None

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN): the scale fills it, or trees take it as it is."""
        return self.takes_nan or fills_missing(self.scale)

    @property
    def _may_be_missing(self) -> bool:
        """The same of the fitted model."""
        return self.missing_ == "zero" or self.takes_nan or (self.scale_ is not None and self.scale_.fills)

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
        q, valid, measure, *_ = training
        surrogate = self._surrogate()
        if measure is None:
            measure = self._measure_of(surrogate)
        check_reached(measure, q)
        scale = fit_scale(self.scale, q.features)
        data, judged = _scaled(q, scale), None if valid is None else _scaled(valid, scale)
        scaled = training._replace(queries=data, valid=judged, measure=measure, scale=scale)
        self._patience = self.patience if training.patience is None else training.patience
        trainer, result = self._minimize(scaled.watched(measure), surrogate)
        self.measure_, self.scale_, self.result_ = measure, scale, result
        self.surrogate_ = sharpened(surrogate, last_smoothing(result))
        self._name_features(q)
        self.training_ = training_record(self, q, surrogate, trainer, result)
        is_kept = self.takes_missing and (q.missing == "nan" or "missing" in self.training_["data"])
        self.missing_ = "zero" if q.missing == "zero" else "nan" if is_kept else "error"
        if result.status == "not_finite":
            warn(f"training ended early: {result.message}.", NotConverged, stacklevel=4)
        return self

    def parameter_to_save(self, name: str) -> Any:
        """Value of a constructor's parameter as the model file holds it, or what ``fit`` got in its place."""
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
            If there are features of other number, names or order than in training, or they are missing or
            too large.
        """
        scores = self._scored(self._ready(q))
        check_scores(scores, q, allow_missing=self._may_be_missing)
        return scores

    def _ready(self, q: Queries) -> Queries:
        """Queries as the fitted model takes them: checked, and scaled."""
        check_is_fitted(self)
        if not isinstance(q, ShardedQueries):
            need_queries(q, "predict_queries")
        if q.n_features != self.n_features_in_:
            raise InputError(
                f"the data have {q.n_features} features, the model was trained on {self.n_features_in_}; "
                "give data with the same features in the same order."
            )
        check_names(q, getattr(self, "feature_names_in_", None))
        q = q if isinstance(q, ShardedQueries) else matched(q, self.categories_)
        q = read_as(q, self.missing_)
        if not self.missing_shows or (self.scale_ is not None and not self.scale_.fills):
            check_finite(q, "the data", allow_missing=self._may_be_missing)
        ready: Queries = _scaled(q, self.scale_)
        return ready

    @abstractmethod
    def _scored(self, q: Queries) -> Float64Array:
        """Scores of scaled queries by the fitted model."""

    def to_json(self) -> dict[str, Any]:
        """Return what the model file holds, in JSON types."""
        check_is_fitted(self)
        return {
            "model": {"type": self.model_type, **self._model_json()},
            "features": self._features_json() | {"missing": self.missing_},
            "scale": None if self.scale_ is None else self.scale_.to_json(),
            "training": self.training_,
        }

    @abstractmethod
    def _model_json(self) -> dict[str, Any]:
        """What the model file holds of the fitted model, in JSON types."""

    @abstractmethod
    def _take(self, fitted: FittedModel) -> None:
        """Take the model of a file as the fitted one."""


def _scaled(q: Any, scale: Scale | ScaleUnion | None) -> Any:
    if isinstance(q, ShardedQueries):
        return q if scale is None else q.scaled(scale)
    # a union has more columns than names
    return q if scale is None else replace(q, features=scale.apply(q.features, q.qptr), feature_names=None)
