"""A linear ranker trained for a measure, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from directrix.models.linear import LinearModel
from directrix.objectives.penalty import Bounds
from directrix.rankers.bounds import ON_MONOTONE, weight_bounds
from directrix.rankers.fitted import FittedModel
from directrix.rankers.gradient import GradientRanker, constraints
from directrix.rankers.inputs import Training, row_weights
from directrix.rankers.named_trainers import trainer_names
from directrix.trainers.regression import regression_start
from directrix.types import Float64Array, Surrogate, Trainer


@dataclass(eq=False, repr=False)
class LinearRanker(GradientRanker):
    r"""Scores :math:`f(x) = w \cdot x`, with `w` trained for the measure you report.

    .. math:: \min_w \; -\frac{\sum_q v_q \, S_q(Xw)}{\sum_q v_q} + \lambda \lVert w - w_c \rVert^2

    with the surrogate S_q of query q, its weight v_q, ``l2`` = lambda, and w_c = 0 or the start.

    Parameters
    ----------
    surrogate : Surrogate or str, optional
        Function to maximize, e.g. ``ApproxNDCG(alpha=50)``, or its text. Default ``ApproxNDCG()``. It is an
        error with a trainer that has a loss of its own.
    trainer : str or Trainer
        Training method. "lbfgs" and "cg": full gradients, deterministic. "sgd": Algorithm 1 of Qin, Liu & Li
        (2010), query by query; "adam" likewise. "cutting-plane": for convex surrogates with ``l2`` > 0, to a
        proven distance from the minimum (``result_.gap``), see `CuttingPlane`. "coordinate-ascent" and
        "adarank": the measure itself (``measure`` of ``fit``, by default nDCG). "svm-acc": `SVMAcc`. These
        three have a loss of their own. ``LinearRanker.trainers`` has all names. An object such as
        ``SGD(learning_rate=0.1)`` uses its own number of steps, not ``max_iter``. Its ``measure`` and
        ``random_state`` are those of the ranker unless they are set.
    l2 : float >= 0
        Weight of the penalty, in units of the measure per squared weight.
    scale : str or None
        Bring features to a common scale first, see `Scale`; stored with the model. Without it, a feature
        whose deviation is a hundredth of the others' may keep a weight near 0. By the training data:
        "standard", "minmax", "log" (heavy tails), "quantile" (any distribution); they fill missing values.
        By query: "query-minmax", "query-standard", "query-percentile"; ``predict`` then needs ``qid``.
        Joined by plus signs, columns side by side: "standard+query-percentile"; "raw" is not a scaling.
    start : {"regression", "zero"}, LinearRanker, or array (n_features,)
        Initial weights: those of a ridge regression on the gains with reweighted classes
        (Chapelle & Wu 2010, Sect. 4) and the weights given to ``fit``; zero; those of another ranker, such as
        ``LinearRanker("RankSVM", l2=0.01)`` (ibid., Sect. 4.4.1); or the given weights, on scaled features.
        A ranker that is not fitted is fitted to the training queries first, on features scaled in the same
        way. The same happens in cross-validation, because scikit-learn's ``clone`` makes an unfitted copy.
    bounds : "nonnegative" or dict, optional
        Bounds of weights: all >= 0, or (low, high) by the name or the column (from 0) of a feature, with None
        for no limit and equal numbers for a fixed weight: ``{"price": (None, 0), "clicks": (0, None)}``. They
        hold for weights on scaled features, with several scales for each of the feature's weights. Every
        scale is increasing, so signs mean the same for unscaled features. Trainers "lbfgs", "sgd", "adam" and
        "coordinate-ascent" stay within bounds, and so do `Anneal` and `Restarts` around them; the others
        reject them. A start outside the bounds is moved to the nearest weights within them.
    monotone : dict, optional
        Sign by the name or the column of a feature: 1 for a weight >= 0, -1 for a weight <= 0; any ``bounds``
        hold too.
    center : {"zero", "start"}
        Center w_c of the penalty. "start" is the penalty of SmoothRank (Chapelle & Wu 2010).
    max_iter : int >= 0
        Iterations (epochs of "sgd" and "adam", rounds of "adarank"), for a surrogate with a cut-off in each
        stage of `directrix.trainers.Continuation`; 0 keeps the start: the regression itself, whatever the
        trainer.
    patience : int >= 1, optional
        With an ``eval_set``: stop after this number of iterations without a better value on it.
        Default: no early stop, only the best iteration is kept.
    warm_start : bool
        Start from ``coef_`` of the last ``fit`` instead of ``start``.
    random_state : int, RandomState or None
        Seed of stochastic trainers: order of the queries, or of the features of "coordinate-ascent"; None
        is 0.

    Attributes
    ----------
    coef_ : float64 (n_features,), or a multiple for several scales side by side
        The weights, on scaled features.
    result_ : Result
        Why training stopped, and its trace.
    surrogate_ : Surrogate
        Maximized function; with `Anneal`, at the smoothing where training ended.
    measure_ : measure
        Measure that ``score`` reports: ``measure`` of ``fit``, else that of the trainer, else of the
        surrogate.
    scale_ : fitted scale or None
        Scaling that ``predict`` applies first.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    In a grid search the values of ``surrogate`` and ``trainer`` are whole surrogates and trainers, or texts
    of them; their fields are parameters too, of wrapped trainers as well:
    ``GridSearchCV(ranker, {"surrogate__alpha": [3.0, 10.0, 30.0], "trainer__max_iter": [50, 200]})``.

    Examples
    --------
    >>> import numpy as np
    >>> from directrix import LinearRanker
    >>> X, y, qid = np.array([[0.0], [1.0], [2.0], [5.0]]), [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> ranker = LinearRanker("ApproxNDCG(alpha=50.0)").fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    model_type: ClassVar[str] = "linear"
    holds: ClassVar[frozenset[str]] = frozenset({"memory", "file", "shards"})
    moves_smoothly: ClassVar[bool] = True
    trainers: ClassVar[frozenset[str]] = trainer_names(LinearModel)
    saved_parameters: ClassVar[tuple[str, ...]] = (
        *GradientRanker.saved_parameters, "bounds", "monotone", "center"
    )  # fmt: skip
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **constraints(trainers, frozenset({"regression", "zero"})),
        "bounds": [StrOptions({"nonnegative"}), dict, None],
        "monotone": ON_MONOTONE,
        "center": [StrOptions({"zero", "start"})],
    }

    surrogate: Surrogate | str | None = None
    _: KW_ONLY
    trainer: str | Trainer = "lbfgs"
    l2: float = 0.0
    scale: str | None = None
    start: Any = "regression"
    bounds: Mapping[int | str, tuple[float | None, float | None]] | str | None = None
    monotone: Mapping[int | str, int] | None = None
    center: str = "zero"
    max_iter: int = 200
    patience: int | None = None
    warm_start: bool = False
    random_state: Any = None

    @property
    def coef_(self) -> Float64Array:
        """The weights, on scaled features."""
        return self.model_.params

    def _model(self, training: Training, before: FittedModel | None) -> tuple[LinearModel, int]:
        return LinearModel(), training.queries.n_features

    def _first(self, model: LinearModel, training: Training) -> Float64Array:
        q = training.queries
        if self.start == "zero":
            return np.zeros(q.n_features)
        return regression_start(q, sample_weight=row_weights(q, training.doc_weight, training.query_weight))

    def _bounds(self, model: LinearModel, training: Training) -> Bounds | None:
        return weight_bounds(self.bounds, self.monotone, training)
