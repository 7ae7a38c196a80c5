"""A ranker that adds up threshold functions of single features, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.models.stumps import StumpModel, quantile_thresholds
from directrix.parameters import Checks, option, whole
from directrix.rankers.fitted import FittedModel
from directrix.rankers.gradient import GradientRanker, checks_of
from directrix.rankers.inputs import TrainedModel, Training
from directrix.rankers.named_trainers import trainer_names
from directrix.types import Float64Array, Surrogate, Trainer


def _check_thresholds(value: Any, name: str, owner: str) -> Any:
    if isinstance(value, Integral):
        return whole(value, name, owner, example=32)
    return option(value, name, owner, arrays=True, wanted="an integer or thresholds", example="32")


@dataclass(eq=False, repr=False)
class StumpRanker(GradientRanker):
    r"""Scores :math:`f(x) = \sum_f \sum_t w_{f,t} [x_f > \theta_{f,t}]`: a staircase of every feature.

    Boosting raises one step per round for a loss of its own; trainers with gradients move all of them for the
    surrogate.

    Parameters
    ----------
    surrogate : Surrogate or str, optional
        Function that trainers with gradients maximize; an error with the others. Default ``ApproxNDCG()``.
    trainer : str or Trainer, optional
        "rankboost", "frank", "svm-acc", "lbfgs", "cg", "adam", "sgd" or "cutting-plane": `RankBoost`,
        `FRank`, `SVMAcc`, `LBFGS`, `CG`, `Adam`, `SGD`, `CuttingPlane`. The first three have a loss of
        their own. Default "lbfgs" with a surrogate, "rankboost" without one. An object such as
        ``FRank(candidates=20)`` uses its own number of steps, not ``max_iter``.
    thresholds : int >= 1, or sequence of float
        Maximum number of thresholds per feature, at quantiles of the training data; or the thresholds,
        ascending, for every feature, after scaling; or one sequence of thresholds per feature, as
        `RunScores.thresholds` gives them.
    l2 : float >= 0
        Weight of a penalty on the squared steps; boosting has no penalty.
    scale : str or None
        As in `LinearRanker`; only kinds by query can change a ranking, but the others fill missing values.
    start : "zero", StumpRanker, or array (n_steps,)
        Initial steps: 0, or as in `LinearRanker` those of another ranker, with its thresholds, or an array in
        the order of ``coef_``.
    max_iter : int >= 0
        Rounds or iterations, as in `LinearRanker`.
    patience : int >= 1, optional
        With an ``eval_set``: stop after this number of rounds without a better value on it.
    warm_start : bool
        Start from ``coef_`` of the last ``fit``, with its thresholds.
    random_state : int, RandomState or None
        Seed of stochastic trainers: order of the queries; None is 0.

    Attributes
    ----------
    coef_ : float64 (n_steps,)
        The steps w, feature by feature.
    thresholds_ : list of float64 arrays
        theta of every feature.
    result_, surrogate_, measure_, scale_, n_features_in_, feature_names_in_
        As in `LinearRanker`.

    Notes
    -----
    Without an ``eval_set`` all rounds are kept, and 300 overfit small data.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import StumpRanker
    >>> X, y, qid = np.array([[0.0], [1.0], [2.0], [5.0]]), [1, 0, 0, 1], ["a", "a", "b", "b"]
    >>> ranker = StumpRanker(max_iter=10).fit(X, y, qid=qid)  # first down, then up
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    model_type: ClassVar[str] = "stumps"
    trainers: ClassVar[frozenset[str]] = trainer_names(StumpModel)
    is_additive: ClassVar[bool] = True
    saved_parameters: ClassVar[tuple[str, ...]] = (*GradientRanker.saved_parameters, "thresholds")
    checks: ClassVar[Checks] = {**checks_of(trainers, ("zero",)), "thresholds": _check_thresholds}

    surrogate: Surrogate | str | None = None
    _: KW_ONLY
    trainer: str | Trainer | None = None
    thresholds: Any = 32
    l2: float = 0.0
    scale: str | None = None
    start: Any = "zero"
    max_iter: int = 300
    patience: int | None = None
    warm_start: bool = False
    random_state: Any = None

    @property
    def _default_trainer(self) -> str:
        """Name of the trainer that ``trainer=None`` means."""
        return "rankboost" if self.surrogate is None else "lbfgs"

    @property
    def coef_(self) -> Float64Array:
        """The steps, feature by feature."""
        return self.model_.params

    @property
    def thresholds_(self) -> list[Float64Array]:
        """Thresholds of every feature."""
        stumps: Any = self.model_.model
        return np.split(stumps.values, stumps.ptr[1:-1])

    def _minimize(self, training: Training, surrogate: Any) -> TrainedModel:
        trained = super()._minimize(training, surrogate)
        if self.trainer is not None:
            return trained
        # a file, which has a surrogate, names the trainer
        return replace(trained, parameters={**trained.parameters, "trainer": self._default_trainer})

    def _model(self, training: Training, before: FittedModel | None) -> tuple[StumpModel, int]:
        if before is None:
            stumps: Any = StumpModel(self._thresholds_of(training.queries))
        else:
            stumps = before.model
        return stumps, stumps.n_params

    def _first(self, model: StumpModel, training: Training) -> Float64Array:
        return np.zeros(model.n_params)

    def _thresholds_of(self, q: Queries) -> list[Any]:
        thresholds = self.thresholds
        if isinstance(thresholds, Integral):
            return quantile_thresholds(q.features, int(thresholds))
        try:
            # One list of numbers and a list of lists differ by the dimension of their entries.
            rows = [np.array(row, dtype=np.float64) for row in thresholds]
        except (TypeError, ValueError):
            raise InputError(
                f"thresholds={thresholds!r}: a number of thresholds is needed, or ascending numbers for all "
                "features, or one sequence of numbers per feature. Type e.g. thresholds=[0.25, 0.5, 0.75]."
            ) from None
        if all(row.ndim == 0 for row in rows):
            return [rows] * q.n_features
        if len(rows) != q.n_features:
            raise InputError(
                f"thresholds holds {len(rows)} sequences for {q.n_features} features; one per feature is "
                "needed, or numbers for all features. Type e.g. thresholds=[0.25, 0.5, 0.75]."
            )
        return rows
