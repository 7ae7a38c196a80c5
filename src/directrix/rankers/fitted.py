"""What a fitted ranker does for one list, and says of itself: features, their use, its learning curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from directrix.data.checks import as_floats
from directrix.data.frames import is_frame, matrix_of
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.rankers.persistence import Saved
from directrix.rankers.serving import PLAIN, best_first, kept_model
from directrix.types import Float64Array, Int64Array


class Fitted:
    """Attributes of rankers that exist after ``fit``."""

    _row_scores: Callable[..., Float64Array]

    def trained(self) -> Any:
        """The ranker that scores: itself; of an `AutoRanker` the chosen one."""
        return self

    def rank(self, features: Any) -> Int64Array:
        """Return the order of the documents of one list: their positions, the best first.

        For servers: it takes microseconds, where ``predict`` also takes many lists, CSR, and names.

        Parameters
        ----------
        features : array or list of rows (n_docs, n_features)
            Of all documents of one query. Frames, dicts of columns and CSR go the slower way of ``predict``.

        Returns
        -------
        int64 (n_docs,)
            Positions in descending order of the score; documents with equal scores keep their order. Scores
            are those of ``predict`` but for rounding: the sum of a linear model is not in the same order.

        Raises
        ------
        InputError
            If there are other than ``n_features_in_`` features, or some are not numbers, infinite, or missing
            (NaN) where the model takes no missing values.
        """
        ranker = self.trained()
        if ranker is not self:
            ranked: Int64Array = ranker.rank(features)
            return ranked
        check_is_fitted(self)
        model = kept_model(self) if type(features) in PLAIN and isinstance(self, Saved) else None
        if model is not None:
            return model.rank(features)
        try:
            return best_first(self._row_scores(features))
        except InputError:
            raise
        except (TypeError, ValueError) as error:  # of scikit-learn, for text and for what is no array
            if is_frame(features):
                matrix_of(features)  # names the column
            as_floats(features, "features", "a row of numbers per document")
            raise InputError(f"features: {error}") from error

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

    def _features_json(self) -> dict[str, Any]:
        """Number and names of the features, as a model file holds them."""
        names = getattr(self, "feature_names_in_", None)
        listed = [None if one is None else list(one) for one in self.categories_ or ()]
        return {
            "count": self.n_features_in_,
            "names": None if names is None else [str(name) for name in names],
            **({"categories": listed} if listed else {}),
        }
