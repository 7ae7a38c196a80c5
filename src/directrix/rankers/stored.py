"""What every ranker shares that is trained once and kept in a model file."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from directrix.data.queries import Queries
from directrix.data.scale import SCALES, Scale
from directrix.errors import InputError, NotConverged, warn
from directrix.measures.base import RankingMeasure
from directrix.rankers.base import HasMethods, Ranker, StrOptions
from directrix.rankers.checks import check_finite, check_scores, surrogate_of
from directrix.rankers.scaling import scaled
from directrix.rankers.training import last_smoothing, sharpened, training_record
from directrix.types import Float64Array, Result

__all__ = ["SHARED_CONSTRAINTS", "StoredRanker"]

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "surrogate": [HasMethods(["value_and_grad"]), str, None],
    "scale": [StrOptions(set(SCALES)), None],
    "random_state": ["random_state"],
}
"""What scikit-learn checks of the parameters that all of these rankers have."""


class StoredRanker(Ranker):
    """Base of the rankers that a model file can hold.

    A subclass has the constructor's ``surrogate``, ``scale`` and ``random_state``, trains and ends with
    `_finished`, scores (`_scored`), and says what of it stands in a file (`_model_json`, `_restore_model`).
    """

    model_type: ClassVar[str]
    """What the model file calls it."""
    saved_parameters: ClassVar[dict[str, str]]
    """Parameters that the model file keeps, beside surrogate and random_state, and their JSON kinds."""
    missing_shows: ClassVar[bool] = True
    """Whether a feature that is NaN makes the score NaN; otherwise features are looked at before."""

    surrogate: Any

    def _surrogate(self) -> Any:
        """The surrogate as an object."""
        return surrogate_of(self.surrogate)

    def _finished(
        self,
        q: Queries,
        goal: RankingMeasure,
        surrogate: Any,
        scale: Scale | None,
        trainer: Any,
        result: Result,
    ) -> Self:
        """Set what every fitted ranker has, and warn of a training that failed; the end of `_train`."""
        self.measure_, self.scale_, self.result_ = goal, scale, result
        self.surrogate_ = sharpened(surrogate, last_smoothing(result))
        self._name_features(q)
        self.training_ = training_record(self, q, surrogate, trainer, result)
        if result.status == "not_finite":
            warn(f"training ended early: {result.message}.", NotConverged, stacklevel=5)
        return self

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order.

        Raises
        ------
        InputError
            If there are other features than in training, or they are missing or too large.
        """
        scores = self._scored(self._ready(q))
        check_scores(scores, q)
        return scores

    def _ready(self, q: Queries) -> Queries:
        """Queries as the fitted model takes them: looked at, and scaled."""
        check_is_fitted(self)
        if q.n_features != self.n_features_in_:
            raise InputError(
                f"the data have {q.n_features} features, the model was trained on {self.n_features_in_}; "
                "give data with the same features in the same order."
            )
        if not self.missing_shows:
            check_finite(q, "the data")
        return scaled(q, self.scale_)

    @abstractmethod
    def _scored(self, q: Queries) -> Float64Array:
        """Scores of scaled queries by the fitted model."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, whole or not at all; `directrix.load` reads it back.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        from directrix.rankers.model_file import content_of
        from directrix.rankers.persistence import write_model_file

        check_is_fitted(self)
        write_model_file(path, content_of(self))

    @abstractmethod
    def _model_json(self) -> dict[str, Any]:
        """What the model file holds of the fitted model, in JSON types."""

    @abstractmethod
    def _restore_model(self, path: Any, model: dict[str, Any], n_features: int) -> Float64Array:
        """Check ``model``, as `_model_json` made it, set the fitted attributes, and return the parameters."""
