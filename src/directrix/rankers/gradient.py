"""Rankers whose model is a vector of parameters: objective, trainer, validation, record.

In: a `Training` and the surrogate. Out: a `TrainedModel`, whose parameters a trainer found.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from directrix.data.checks import as_floats
from directrix.errors import Advice, InputError
from directrix.measures.base import RankingMeasure
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2, Bounds
from directrix.parameters import Checks, option, whole
from directrix.rankers.base import Ranker
from directrix.rankers.bounds import CONSTRAINTS
from directrix.rankers.fitted import FittedModel
from directrix.rankers.inputs import TrainedModel, Training
from directrix.rankers.means import mean_evaluator, mean_evaluator_on_shards
from directrix.rankers.named_trainers import (
    check_bounds,
    measure_set,
    reject_unused_surrogate,
    trainer_named,
    trainer_of,
)
from directrix.rankers.record import own_model
from directrix.rankers.scoring import scores_by
from directrix.rankers.shards import OnShards
from directrix.rankers.starts import check_same, started_from
from directrix.surrogates.base import FIRST_SHARE, CutOff
from directrix.trainers.wrappers import BestSoFar, Continuation
from directrix.types import Float64Array, Model, Result, Surrogate


def checks_of(trainers: frozenset[str], starts: tuple[str, ...]) -> Checks:
    """Return the checks of the parameters that all of these rankers have."""
    return {
        **Ranker.checks,
        "trainer": partial(
            option,
            words=trainers,
            methods=("minimize",),
            wanted="an object with minimize",
            example=repr(min(trainers)),
        ),
        "start": partial(
            option,
            words=starts,
            methods=("fit_queries", "predict_queries"),
            arrays=True,
            wanted="a ranker or an array of parameters",
            example=repr(starts[0]),
        ),
        "max_iter": partial(whole, least=0),
    }


class GradientRanker(OnShards):
    """Base of rankers that a trainer fits.

    A subclass has a constructor with ``surrogate``, ``trainer``, ``l2``, ``scale``, ``start``,
    ``max_iter``, ``patience``, ``warm_start`` and ``random_state``, a model (`_model`), and its first
    parameters (`_first`) for each name of a start.
    """

    trainer: Any
    l2: float
    start: Any
    max_iter: int
    nested: ClassVar[tuple[str, ...]] = ("surrogate", "trainer")
    moves_smoothly: ClassVar[bool] = False
    """Whether a small change of the parameters changes the scores a little."""
    is_additive: ClassVar[bool] = False
    """Whether the model adds up small models, as boosting does, and so keeps the first share of a cut-off."""
    trainers: ClassVar[frozenset[str]]
    """Names that ``trainer`` takes."""
    saved_parameters: ClassVar[tuple[str, ...]] = ("trainer", "l2", "scale", "start", "max_iter", "patience")

    @abstractmethod
    def _model(self, training: Training, before: FittedModel | None) -> tuple[Any, int]:
        """Return a model for scaled features and the number of its parameters.

        ``before`` is a fitted model with whose parameters it starts, if there is one. Raises `InputError`
        if this model cannot take them.
        """

    @abstractmethod
    def _first(self, model: Any, training: Training) -> Float64Array:
        """Return the initial parameters of a model by the name that ``start`` is."""

    def _value_of(self, name: str) -> Any:
        return trainer_named(self) if name == "trainer" else super()._value_of(name)

    def _measure_of(self, surrogate: Any) -> RankingMeasure:
        return measure_set(self.trainer) or super()._measure_of(surrogate)

    @property
    def is_constrained(self) -> bool:
        """Whether parameters have bounds."""
        return any(bool(getattr(self, name, None)) for name in CONSTRAINTS)

    def _bounds(self, model: Any, training: Training) -> Bounds | None:
        """Bounds of the parameters, on scaled features."""
        return None

    def _minimize(self, training: Training, surrogate: Surrogate) -> TrainedModel:
        valid, measure = training.valid, training.measure
        if self.is_constrained:
            check_bounds(self.trainer, self.trainers)
        trainer = trainer_of(self, measure)
        reject_unused_surrogate(surrogate, trainer)
        model, start = self._start(training)
        parameters = {} if isinstance(self.start, str) else {"start": start}
        bounds = self._bounds(model, training)
        # Trainers with bounds need a start within them.
        start = start if bounds is None else bounds.nearest(start)
        is_center = getattr(self, "center", "zero") == "start"
        objective = make_objective(
            training.queries,
            surrogate,
            model,
            penalty=L2(float(self.l2), start if is_center else None),
            bounds=bounds,
            doc_weight=training.doc_weight,
            query_weight=training.query_weight,
        )
        stages = trainer if isinstance(trainer, Continuation) else Continuation(trainer)
        trained = objective
        if self.is_additive and isinstance(surrogate, CutOff):
            # the paper's function alone overfits many small models (docs/decisions/cut-offs.md)
            trained = objective.with_share(FIRST_SHARE)
        if valid is not None:
            if valid.held == "shards":
                score = mean_evaluator_on_shards(measure, model, valid)
            else:
                mean = mean_evaluator(measure, valid)
                score = lambda params: mean(scores_by(model, params, valid))  # noqa: E731
            stages = replace(stages, trainer=BestSoFar(stages.trainer, score, training.patience))
        if self.max_iter == 0:
            value, _ = objective.value_and_grad(start)
            message = "The start was kept: max_iter is 0."
            counts = {"iterations": 0, "evaluations": 1}
            result = Result(start, float(value), "max_iter", message, counts)
        else:
            result = stages.minimize(trained, start, callback=training.callback)
            if trained is not objective and not result.own_loss:
                # The result reports the requested objective, not the one with a share of the discount.
                result = replace(result, value=objective.value_and_grad(result.params)[0])
        if not np.isfinite(result.params).all():
            result = replace(result, params=start, message=f"{result.message}; the start was kept")
        return TrainedModel(model, trainer, result, parameters)

    def _start(self, training: Training) -> tuple[Any, Float64Array]:
        """Return a model of the scaled features, and the parameters from which the trainer starts."""
        before = self._resumed()
        if before is not None:
            remedy = "Fit with warm_start=False to start again from the beginning."
            check_same(training, before, "the last fit", remedy)
            if before.n_columns != training.queries.n_features:
                raise InputError(
                    f"warm_start: the last fit had {before.n_columns} scaled columns, this one has "
                    f"{training.queries.n_features}; both must have the same scale.",
                    remedy,
                )
        elif isinstance(self.start, Ranker):
            before = started_from(self, self.start, training, "start").model_
        model, n_params = self._model(training, before)
        if before is not None:
            return model, before.params.copy()
        if isinstance(self.start, str):
            return model, self._first(model, training)
        return model, _given_weights(self.start, n_params)


def _given_weights(start: Any, n_params: int) -> Float64Array:
    """Return an array of weights as the first parameters; `InputError` unless there are ``n_params``."""
    weights = as_floats(start, "start", f"an array of {n_params} finite numbers").copy()
    if weights.shape != (n_params,) or not np.isfinite(weights).all():
        raise InputError(
            f"start has shape {weights.shape}; {n_params} finite numbers are needed, one for each "
            f"parameter of the model, e.g. start=numpy.zeros({n_params})."
        )
    return weights


def decompose(ranker: Ranker, q: Any) -> tuple[Model, Float64Array, Any, GradientRanker]:
    """Return the model, a copy of the parameters, the scaled data, and the ranker that has them.

    The ranker is a `LinearRanker`, an `MLPRanker`, or an `AutoRanker` that chose one of them. Raises
    `InputError` if its model is not a vector of weights (stumps, trees), or the data have other features.

    Examples
    --------
    >>> from directrix import LinearRanker, Queries
    >>> q = Queries.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 2], group=[3])
    >>> ranker = LinearRanker("ListNet", max_iter=5).fit_queries(q)
    >>> bool((decompose(ranker, q)[1] == ranker.coef_).all())
    True
    """
    trained = ranker.trained()
    if not isinstance(trained, GradientRanker) or not trained.moves_smoothly:
        raise InputError(
            f"the {type(trained).__name__} has no weights that can be moved a little; a fitted LinearRanker "
            "or MLPRanker is needed.",
            Advice("linear-ranker"),
        )
    if trained.is_constrained:
        raise InputError(
            "this ranker has bounds or monotone features; weights that are moved a little may leave their "
            "bounds.",
            Advice("unconstrained"),
        )
    fitted: Any = own_model(trained)
    return fitted.model, fitted.params.copy(), fitted.ready(q), trained


def with_parameters(
    ranker: GradientRanker,
    params: Float64Array,
    measure: RankingMeasure,
    value: float,
    record: Mapping[str, Any],
) -> Any:
    """Return a copy of a fitted ranker with other parameters; it predicts, scores and can be saved.

    The parameters, on scaled features, were chosen by ``measure``, which ``score`` reports from now on, with
    this mean ``value``. ``record`` describes in JSON types how they were computed: ``"message"``, and other
    entries of the model file.
    """
    other = copy.copy(ranker)
    params = np.array(params, dtype=np.float64)
    other.measure_ = measure
    other.result_ = replace(
        ranker.result_,
        params=params,
        value=-value,
        message=record["message"],
        own_loss=True,
        dual=None,
    )
    result = {**ranker.training_["result"], "message": record["message"], "value": -value}
    result.pop("dual", None)
    training = {**ranker.training_, "measure": repr(measure), "result": result, "moved": dict(record)}
    # The selection was recorded for the parameters that are replaced here.
    training.pop("selection", None)
    other.model_ = replace(ranker.model_, params=params, training=training)
    return other
