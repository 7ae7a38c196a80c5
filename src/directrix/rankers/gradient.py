"""Rankers whose model is a vector of parameters: objective, trainer, validation, record."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from directrix.data.queries import Queries
from directrix.data.scale import fit_scale
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.models.rows import row_slice
from directrix.objectives.build import make_objective
from directrix.objectives.objective import Objective
from directrix.objectives.penalty import L2
from directrix.rankers.base import HasMethods, Interval, StrOptions
from directrix.rankers.checks import check_trainable
from directrix.rankers.inputs import row_weights
from directrix.rankers.named_trainers import trainer_of
from directrix.rankers.scaling import scaled
from directrix.rankers.stored import SHARED_CONSTRAINTS, StoredRanker
from directrix.rankers.training import judge_of, kept_start, measure_of
from directrix.trainers.best import BestSoFar
from directrix.types import Callback, Float64Array, Model, Surrogate

__all__ = ["GradientRanker", "constraints"]


def constraints(trainers: frozenset[str]) -> dict[str, list[Any]]:
    """What scikit-learn checks of the parameters that all of these rankers have."""
    return {
        **SHARED_CONSTRAINTS,
        "trainer": [StrOptions(set(trainers)), HasMethods(["minimise"])],
        "l2": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
    }


class GradientRanker(StoredRanker):
    """Base of rankers that a trainer fits; the parameters of the constructor are each one's own.

    A subclass has the constructor's ``surrogate``, ``trainer``, ``l2``, ``scale``, ``max_iter``,
    ``patience``, ``warm_start`` and ``random_state``, and says what its model is (`_model`), where training
    starts (`_first`), and under which name it keeps the fitted parameters (`_params`).
    """

    trainers: ClassVar[frozenset[str]]
    """Names that ``trainer`` takes."""
    saved_parameters: ClassVar[dict[str, str]] = {
        "trainer": "text",
        "l2": "number",
        "scale": "text or null",
        "max_iter": "number",
        "patience": "number or null or absent",
    }

    @abstractmethod
    def _model(self) -> Model:
        """Scores from features."""

    @abstractmethod
    def _first(self, q: Queries, weight: Float64Array | None) -> Float64Array:
        """First parameters of a training on scaled queries, whose rows have these weights."""

    @property
    @abstractmethod
    def _params(self) -> Float64Array:
        """The fitted parameters."""

    @_params.setter
    def _params(self, params: Float64Array) -> None: ...

    def _objective(
        self,
        q: Queries,
        surrogate: Surrogate,
        penalty: L2,
        weights: tuple[Float64Array | None, Float64Array | None],
    ) -> Objective:
        by_document, by_query = weights
        return make_objective(
            q, surrogate, self._model(), penalty=penalty, doc_weight=by_document, query_weight=by_query
        )

    def _penalty(self, start: Float64Array) -> L2:
        return L2(float(self.l2))

    def _train(
        self,
        q: Queries,
        valid: Queries | None,
        measure: RankingMeasure | str | None,
        weights: tuple[Float64Array | None, Float64Array | None],
        callback: Callback | None,
    ) -> Self:
        check_trainable(q)
        surrogate = self._surrogate()
        goal = measure_of(surrogate) if measure is None else parse_measure(measure)
        trainer = trainer_of(self, goal)
        scale = fit_scale(self.scale, q.features)
        data = scaled(q, scale)
        start = self._start(data, row_weights(data, *weights))
        objective = self._objective(data, surrogate, self._penalty(start), weights)
        watched = trainer
        if valid is not None:
            judged = scaled(valid, scale)
            judge = judge_of(goal, judged)
            watched = BestSoFar(trainer, lambda params: judge(self._scores(params, judged)), self.patience)
        result = (
            kept_start(objective, start)
            if self.max_iter == 0
            else watched.minimise(objective, start, callback=callback)
        )
        if not np.isfinite(result.params).all():
            result = replace(result, params=start, message=f"{result.message}; the start was kept")
        self._params = result.params
        return self._finished(q, goal, surrogate, scale, trainer, result)

    def _scored(self, q: Queries) -> Float64Array:
        return self._scores(self._params, q)

    def _scores(self, params: Float64Array, q: Queries) -> Float64Array:
        """Scores of scaled queries, computed as in training: in the precision of the features."""
        if isinstance(q.features, StoredFeatures):
            return np.concatenate([self._of_rows(params, rows) for _, rows in q.features.blocks(q.qptr)])
        return self._of_rows(params, row_slice(q.features, 0, q.n_docs))

    def _of_rows(self, params: Float64Array, rows: Any) -> Float64Array:
        return np.asarray(self._model().forward(params, rows)[0], dtype=np.float64)

    def _start(self, q: Queries, weight: Float64Array | None) -> Float64Array:
        if not self._continues():
            return self._first(q, weight)
        if self.n_features_in_ != q.n_features:
            raise InputError(
                f"warm_start: the last fit had {self.n_features_in_} features, the data have {q.n_features}; "
                "fit with warm_start=False to start anew."
            )
        return self._params.copy()
