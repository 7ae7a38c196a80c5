"""`FittedModel`: a fitted ranker as a value.

A trained ranker holds it as ``model_``, `load` returns it to an estimator, and `load_scorer`, explanations,
exports and cards read it. Queries go in, and their scores come out, with NumPy alone, and Numba for trees:

>>> import directrix as dx
>>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
>>> model = dx.LinearRanker().fit_queries(q).model_
>>> model.type, model.n_features, model.predict_queries(q).shape
('linear', 4, (200,))

`directrix.rankers.model_file` writes it to a file and reads it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.data.frames import Categories
from directrix.data.missing import check_finite, read_as
from directrix.data.scale import RAW, Scale, ScaleUnion, fills_missing, kinds_of
from directrix.errors import Advice, InputError
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel
from directrix.models.trees import Trees
from directrix.rankers.calibration import Calibration
from directrix.types import Array, Float64Array

if TYPE_CHECKING:
    from directrix.data.queries import Queries

AnyModel = LinearModel | MLPModel | StumpModel | Trees


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted ranker as a value, and the content of its file."""

    type: str
    """Type of the model: a key of `directrix.rankers.kinds.KINDS`."""
    model: AnyModel | None
    """None for an ensemble."""
    params: Float64Array
    """Parameters of the model; of trees the values of their leaves, of an ensemble none."""
    n_features: int
    feature_names: tuple[str, ...] | None
    categories: Categories | None
    missing: str
    """How missing values of the training data were read, one of `MISSING`."""
    scale: Scale | ScaleUnion | None
    training: Mapping[str, Any]
    """The record of the training, in JSON types."""
    members: tuple[FittedModel, ...] = ()
    weight: float = 1.0
    spread: float = 1.0
    calibration: Calibration | None = None
    """From scores to probabilities, see ``ranker.calibrate``."""

    @property
    def summands(self) -> tuple[FittedModel, ...]:
        """The models whose scores are added, each times its `share`: the members, or the model itself."""
        return self.members or (self,)

    @property
    def share(self) -> float:
        """Factor on the scores of a member."""
        return self.weight / self.spread

    @property
    def n_columns(self) -> int:
        """Number of scaled columns that the model sees."""
        return self.n_features * (1 if self.scale is None else self.scale.n_columns)

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN)."""
        return all(
            summand.missing == "zero"
            or isinstance(summand.model, Trees)
            or (summand.scale is not None and summand.scale.fills)
            for summand in self.summands
        )

    @cached_property
    def unlearned(self) -> Array:
        """Whether a missing value of a feature has no meaning, since training had none: (n_features,)."""
        if self.members:
            of_any: Array = np.logical_or.reduce([member.unlearned for member in self.members])
            return of_any
        unlearned = np.full(self.n_features, self.missing == "error" and self.takes_missing)
        if self.missing == "nan" and isinstance(self.model, Trees):
            kinds = kinds_of(None if self.scale is None else self.scale.kind) or (RAW,)
            for column in self.model.without_side:
                # The columns of several scales are side by side, one block of columns per scale.
                block, feature = divmod(column, self.n_features)
                # A scale that fills missing values gives them a meaning, even if the trees have no side for
                # them.
                unlearned[feature] |= not fills_missing(kinds[block])
        return unlearned

    def recorded(self, **entries: Any) -> FittedModel:
        """Return the model with further entries in its record, in JSON types."""
        return replace(self, training={**self.training, **entries})

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, in their order.

        Features are taken by name, in any order. Raises `InputError` if their number or names differ from
        training, or if features are missing or too large.
        """
        from directrix.data.queries import need_data
        from directrix.rankers.scoring import check_scores, scores_by, take_features

        need_data(q, "predict_queries")
        q = take_features(q, self)
        if not self.members:
            scores = scores_by(self.model, self.params, self.ready(q))
            check_scores(scores, q)
            return scores
        scores = np.zeros(q.n_docs)
        for member in self.members:
            with np.errstate(over="ignore", invalid="ignore"):
                scores += member.share * member.predict_queries(q)
        check_scores(scores, q)
        return scores

    def ready(self, q: Queries) -> Queries:
        """Return the checked and scaled queries, whose features must be in the order of training."""
        from directrix.data.queries import need_data
        from directrix.rankers.scoring import check_same_features, recoded

        need_data(q, "predict_queries")
        check_same_features(q, self)
        self.check_values(q, "the data")
        q = read_as(recoded(q, self.categories), self.missing)
        return q if self.scale is None else q.scaled(self.scale)

    def check_values(self, q: Queries, name: str) -> None:
        """Raise `InputError` for features that are infinite, or missing without a meaning."""
        takes = self.takes_missing
        check_finite(q, name, allow_missing=takes, rule=self.missing, unlearned=self.unlearned)

    def probabilities(self, scores: Float64Array) -> Float64Array:
        """Return the calibrated probabilities of scores; `InputError` if the model is not calibrated."""
        if self.calibration is None:
            raise InputError(
                "this model is not calibrated, so its scores are not probabilities.",
                Advice("calibrate"),
            )
        return self.calibration(scores)
