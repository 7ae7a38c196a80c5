"""The one loop of training, and the checks of what trainers require of an objective.

In: the start and the callback. Out: a `Result`. Every trainer runs inside ``with loop:``; a `step` records
parameters and loss, a `stop` leaves the block with the reason:

>>> import numpy as np
>>> loop, params = Loop(np.ones(1), None, unit="rounds"), np.ones(1)
>>> with loop:
...     while True:
...         loop.step(params, float(params @ params))
...         loop.limit(3, "rounds")
...         params = params / 2
>>> loop.result().message
'3 rounds done; raise rounds=3 to continue'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

from directrix.data.checks import as_floats
from directrix.data.queries import Queries
from directrix.data.sparse import column_reader
from directrix.errors import InputError, amount
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.objectives.objective import DataObjective
from directrix.parameters import check_fields
from directrix.types import Callback, Float64Array, Result, Status, Step

# Messages of results, which several trainers use.
STOPPED = "stopped by the callback"
NOT_FINITE_AT_START = (
    "the loss is not finite at the start; scale the features (scale 'standard'), or test a surrogate of your "
    "own with directrix.laws.check_surrogate"
)


class _Stopped(Exception):
    """Leave the block of a loop."""


class Loop:
    """A training run in progress; `check`, `step`, `limit` and `stop` may leave its block, ``with loop:``.

    ``params`` and ``loss`` are those of the last step; of the start and NaN before the first. ``trace`` has
    one row per step; ``status`` and ``message`` say why it stopped. ``unit`` names steps in messages, and
    ``remedy`` is for a loss that is not finite after some.
    """

    status: Status
    message: str

    def __init__(
        self,
        start: Float64Array,
        callback: Callback | None,
        *,
        unit: str = "iterations",
        remedy: str = "scale the features (scale 'standard')",
    ) -> None:
        self.params, self.loss = as_floats(start, "start").copy(), np.nan
        if self.params.ndim != 1:
            raise InputError(
                f"start has shape {self.params.shape}; a vector is needed, one number per parameter."
            )
        self.callback, self.unit, self.remedy = callback, unit, remedy
        self.trace: list[dict[str, Any]] = []

    @property
    def iterations(self) -> int:
        """Steps after the start."""
        return max(len(self.trace) - 1, 0)

    def not_finite(self, number: int) -> str:
        """Return the message for a loss that is not finite in the step of this number; 0 is the start."""
        if not number:
            return NOT_FINITE_AT_START
        return f"the loss is not finite after {amount(number, self.unit)}; {self.remedy}"

    def check(self, *numbers: Any) -> None:
        """Stop with status "not_finite" unless all numbers are finite: call it before the `step`."""
        if not all(np.isfinite(number).all() for number in numbers):
            self.stop("not_finite", self.not_finite(len(self.trace)))

    def step(self, params: Float64Array, loss: float, **columns: Any) -> None:
        """Record a step, with further columns of the trace; stop if the callback says so."""
        number = len(self.trace)
        # Trainers change their parameters in place, so the step keeps a copy.
        self.params, self.loss = np.array(params), loss
        self.trace.append({"iteration": number, "loss": loss, **columns})
        step = Step(number, loss, params, columns.get("score", np.nan))
        if self.callback is not None and self.callback(step):
            self.stop("stopped", STOPPED)

    def limit(self, most: int, field: str) -> None:
        """Stop after this number of steps, which a field of the trainer sets."""
        if self.iterations >= most:
            self.stop("max_iter", f"{amount(most, self.unit)} done; raise {field}={most} to continue")

    def stop(self, status: Status, message: str) -> None:
        """Leave the block."""
        self.status, self.message = status, message
        raise _Stopped

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        # Only the end of the run is swallowed; other exceptions pass.
        return kind is _Stopped

    def result(self, counts: dict[str, int] | None = None, **more: Any) -> Result:
        """Return the last step as the result, with its number in ``counts`` and further fields."""
        counts = {"iterations": self.iterations, **(counts or {})}
        return Result(self.params, float(self.loss), self.status, self.message, counts, self.trace, **more)


class Best:
    """The best step of a run by its score on validation queries; higher is better, and NaN is never best."""

    def __init__(self, patience: int | None) -> None:
        self.patience, self.step, self.score = patience, 0, -np.inf

    def improves(self, step: int, score: float) -> bool:
        """Keep the number of a step, and return True, if its score is the highest so far."""
        is_new = score > self.score
        if is_new:
            self.step, self.score = step, score
        return is_new

    def ran_out(self, step: int) -> bool:
        """Whether ``patience`` steps went by without a new best."""
        return self.patience is not None and step - self.step >= self.patience

    def check(self, steps: str) -> None:
        """Raise `InputError` if the score was never a number; ``steps`` says in how many steps."""
        if not np.isfinite(self.score):
            raise InputError(
                f"the score was NaN {steps}, so none is best; the measure must be defined for at least one "
                "validation query."
            )


def added_counts(results: Iterable[Result]) -> dict[str, int]:
    """Add up the counts of several runs, except for ``best``, which is the number of a step."""
    total: Counter[str] = Counter()
    for result in results:
        total.update(result.counts)
    # The number of the best step is no count, and wrappers number it themselves.
    del total["best"]
    return dict(total)


class Settings:
    """Base of trainers, frozen dataclasses: it checks their fields by name, and parses measures."""

    models: ClassVar[tuple[type, ...]] = (object,)
    """Classes of the models that it trains."""

    def __post_init__(self) -> None:
        fields: Any = self
        if hasattr(self, "trainer") and not hasattr(fields.trainer, "minimize"):
            name = type(self).__name__
            raise InputError(f"{name}({fields.trainer!r}): a trainer is needed, e.g. {name}(LBFGS()).")
        check_fields(self)
        if getattr(self, "measure", None) is not None:
            object.__setattr__(self, "measure", parse_measure(fields.measure))


def check_values(objective: Any, trainer: Settings) -> None:
    """Raise `InputError` if the gradient of an objective is not that of its loss, as line searches need."""
    if getattr(objective, "value_free", False):
        raise InputError(
            f"{type(trainer).__name__} compares losses, but the gradient of "
            f"{getattr(objective, 'surrogate', objective)!r} is not that of its value, so the line search "
            "would fail. Use stochastic steps: trainer='sgd', or directrix.SGD(learning_rate=1e-3)."
        )


def data_objective(objective: Any, trainer: Settings) -> DataObjective:
    """Return the objective if it has queries and a model that the trainer trains; else `InputError`."""
    model = objective.source.model if isinstance(objective, DataObjective) else None
    if not isinstance(objective, DataObjective) or not isinstance(model, trainer.models):
        received = type(objective if model is None else model).__name__
        wanted = " or ".join(model.__name__ for model in trainer.models)
        example = 'linear_objective(queries, "RankSVM")'
        if LinearModel not in trainer.models:
            example = 'make_objective(queries, "RankSVM", StumpModel(quantile_thresholds(X)))'
        raise InputError(
            f"{type(trainer).__name__} trains a {wanted} on labeled queries and was given a {received}; "
            f"an objective such as {example} is needed, or another trainer, e.g. LBFGS()."
        )
    return objective


def unpenalized_objective(objective: Any, trainer: Settings) -> DataObjective:
    """Return `data_objective` without a penalty: boosting and measures do not use one; others have C."""
    accepted, name = data_objective(objective, trainer), type(trainer).__name__
    if accepted.penalty.strength > 0.0:
        reason = (
            "has no use for a penalty on the weights; set l2=0. Fewer iterations, chosen on validation "
            "queries, keep it from overfitting."
        )
        if hasattr(trainer, "C"):
            reason = f"has its own penalty ||w||^2 / 2; set l2=0 and give C, e.g. {name}(C=0.01)."
        raise InputError(f"l2={accepted.penalty.strength:g}: {name} {reason}")
    return accepted


def linear_measure_objective(objective: Any, trainer: Settings) -> DataObjective:
    """Return `unpenalized_objective` for trainers of a measure, which do not support document weights."""
    accepted = unpenalized_objective(objective, trainer)
    weight = accepted.source.doc_weight
    if weight is not None and not (weight == weight[0]).all():
        raise InputError(
            f"document weights (sample_weight): {type(trainer).__name__} maximizes the measure itself, which "
            "has none; weight whole queries instead (query_weight=), or use a surrogate and a gradient, e.g. "
            "LBFGS()."
        )
    return accepted


def varying_features(q: Queries) -> tuple[int, ...]:
    """Features that order the documents of at least one query."""
    # A query without documents cannot be reduced, and orders nothing.
    first, column = q.qptr[:-1][np.diff(q.qptr) > 0], column_reader(q.features)

    def varies(x: Float64Array) -> bool:
        return bool((np.maximum.reduceat(x, first) > np.minimum.reduceat(x, first)).any())

    return tuple(f for f in range(q.n_features) if varies(column(f)))


Seed = int | np.random.Generator | None
