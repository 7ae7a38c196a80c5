"""What a fitted ranker says of itself: its model, its features and their use, its learning curve."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from directrix.data.frames import Categories
from directrix.data.queries import Queries
from directrix.rankers.saved import SavedModel
from directrix.types import Float64Array


class Fitted:
    """Attributes of rankers that exist after ``fit``."""

    def trained(self) -> Any:
        """The ranker that scores: itself; of an `AutoRanker` the chosen one."""
        return self

    def saved_model(self) -> SavedModel:
        """Return the fitted model as a value, which its file holds; see `SavedModel`."""
        model: SavedModel = self.trained().saved_model()
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into one JSON file, whole or not at all; `directrix.load` reads it back.

        An `AutoRanker` writes the ranker that it chose.

        Raises
        ------
        InputError
            If the file cannot be written, or the model holds a number that is not finite.
        """
        self.saved_model().save(path)

    @property
    def evals_result_(self) -> dict[str, dict[str, list[float]]]:
        """Learning curve, by step from the start on: ``{"training": {"loss": [...]}, "valid_0": {...}}``.

        ``valid_0`` has the measure on the validation queries, under its name ("nDCG@10"); only with an
        ``eval_set``. The form is that of LightGBM, whose ``plot_metric`` draws it. Empty after `load`, for a
        model file does not hold it. See `result_.trace` for further columns.
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
        """Share of each feature in the gain of the splits, of trees only: float64 (n_features,), sum 1.

        Raises
        ------
        AttributeError
            If the model is not one of trees, so that ``hasattr`` is False.
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
        """Keep number, names and categories of the features, and forget names of an earlier ``fit``."""
        self.n_features_in_, self.categories_ = q.n_features, q.categories
        if q.feature_names is not None:
            self.feature_names_in_ = np.array(q.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _features_saved(self) -> tuple[int, tuple[str, ...] | None, Categories | None]:
        """Number, names and categories of the features, as `SavedModel` has them."""
        names = getattr(self, "feature_names_in_", None)
        return self.n_features_in_, None if names is None else tuple(map(str, names)), self.categories_
