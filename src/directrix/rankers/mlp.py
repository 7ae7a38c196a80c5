"""A multi-layer perceptron trained for a measure, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from directrix.errors import InputError
from directrix.models.mlp import Activation, MLPModel
from directrix.objectives.penalty import Bounds
from directrix.parameters import Checks, number, option
from directrix.rankers.bounds import network_bounds
from directrix.rankers.fitted import FittedModel
from directrix.rankers.gradient import GradientRanker, checks_of
from directrix.rankers.inputs import Training
from directrix.rankers.named_trainers import seed_of, trainer_names
from directrix.surrogates.losses import ListNet
from directrix.types import Float64Array, Surrogate, Trainer


@dataclass(eq=False, repr=False)
class MLPRanker(GradientRanker):
    r"""Scores of a perceptron with hidden layers, trained for any surrogate.

    .. math:: \min_\theta \; -\frac{\sum_q v_q S_q(f_\theta(X))}{\sum_q v_q} + \lambda \lVert\theta\rVert^2

    with the surrogate S_q of query q, its weight v_q, ``l2`` = lambda, and the scores f of `MLPModel`.

    Parameters
    ----------
    surrogate : Surrogate or str, optional
        Function to maximize, e.g. ``ApproxNDCG(alpha=10)``, or its text. Default
        ``ListNet(target="shares")``, with which networks rank best on most data (docs/decisions/networks.md).
    hidden : tuple of int >= 1
        Width of every hidden layer; () is a linear ranker.
    activation : {"relu", "tanh"}
        Activation of the hidden layers.
    residual : bool
        Layers of equal width add their inputs, and the score has a linear term; see `MLPModel`.
    dropout : float >= 0 and < 1
        Share of the hidden units that a step of "adam" or "sgd" leaves out. Other trainers, validation and
        ``predict`` use all of them.
    trainer : {"adam", "sgd", "lbfgs", "cg"} or Trainer
        "adam": batches of 8 queries, steps that get smaller, averaged weights. "sgd": query by query.
        "lbfgs", "cg": full gradients. An object such as ``Adam(learning_rate=1e-2, batch=10)`` uses its own
        number of steps, not ``max_iter``.
    l2 : float >= 0
        Weight of the penalty on weights and biases, in units of the surrogate per square of them.
    scale : str or None
        As in `LinearRanker`. Random initial weights suit features of mean 0 and deviation 1, hence
        "standard"; use "log" or "quantile" if tails are heavy. If features lie in [0, 1] within each query,
        as LETOR's do, None gives better rankings.
    start : "random", MLPRanker, or array (n_params,)
        Initial weights: random, or as in `LinearRanker` those of another ranker with the same layers, or an
        array in the order of ``params_``.
    monotone : dict, optional
        Direction by the name or the column (from 0) of a feature: 1 if the score must not fall where the
        feature rises, -1 if it must not rise. It holds exactly, for any documents. The feature's weights in
        the first layer, and in the linear term, have that sign, and all weights of later layers are >= 0
        (Daniels & Velikova 2010, doi:10.1109/TNN.2010.2044803). With "relu" scores are then convex in the
        features; "tanh" can level off. Random initial weights of the wrong sign are flipped, and those of
        later layers divided by the root of their number; other starts are moved as for ``bounds`` of
        `LinearRanker`. It needs the trainer "adam", "sgd" or "lbfgs".
    max_iter : int >= 0
        Iterations (epochs of "adam" and "sgd"), as in `LinearRanker`; 0 keeps the start.
    patience : int >= 1, optional
        With an ``eval_set``: stop after this number of iterations without a better value on it.
        None: no early stop, only the best iteration is kept.
    warm_start : bool
        Start from ``params_`` of the last ``fit`` instead of random weights.
    random_state : int, RandomState or None
        Seed of the initial weights, and of the order of the queries, which also determines dropout; None is
        0.

    Attributes
    ----------
    params_ : float64 (n_params,)
        Weights and biases, on scaled features, in the order of `MLPModel`.
    result_, surrogate_, measure_, scale_, n_features_in_, feature_names_in_
        As in `LinearRanker`.

    Notes
    -----
    The loss has many minima, so another ``random_state`` gives another ranker; the same one gives the same
    bits for any number of threads. Since networks overfit the training queries, pass an ``eval_set``: the
    iteration that is best on validation queries is then kept.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, qid = np.array([[-1.0], [0.0], [1.0], [-0.9], [0.1], [0.8]]), [0, 1, 0] * 2, [1, 1, 1, 2, 2, 2]
    >>> ranker = MLPRanker(random_state=0).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid)
    1.0
    """

    model_type: ClassVar[str] = "mlp"
    moves_smoothly: ClassVar[bool] = True
    trainers: ClassVar[frozenset[str]] = trainer_names(MLPModel)
    saved_parameters: ClassVar[tuple[str, ...]] = (*GradientRanker.saved_parameters, "monotone")
    checks: ClassVar[Checks] = {
        **checks_of(trainers, ("random",)),
        "hidden": partial(option, types=(tuple, list), wanted="a tuple of integers", example="(128, 128)"),
        "dropout": partial(number, least=0.0, below=1.0, example=0.1),
    }

    surrogate: Surrogate | str | None = None
    _: KW_ONLY
    hidden: tuple[int, ...] = (128, 128)
    activation: Activation = "relu"
    residual: bool = True
    dropout: float = 0.1
    trainer: str | Trainer = "adam"
    l2: float = 1e-4
    scale: str | None = "standard"
    start: Any = "random"
    monotone: Mapping[int | str, int] | None = None
    max_iter: int = 60
    patience: int | None = 12
    warm_start: bool = False
    random_state: Any = None

    def _surrogate(self) -> Any:
        return ListNet(target="shares") if self.surrogate is None else super()._surrogate()

    @property
    def params_(self) -> Float64Array:
        """Weights and biases, on scaled features."""
        return self.model_.params

    def _model(self, training: Training, before: FittedModel | None) -> tuple[MLPModel, int]:
        model = MLPModel(self.hidden, self.activation, self.residual, self.dropout)
        theirs: Any = model if before is None else before.model
        if replace(theirs, dropout=model.dropout) != model:
            raise InputError(
                f"the start has the layers {theirs!r}, this ranker {model!r}; give both the same hidden, "
                "activation and residual, or fit with start='random' and warm_start=False."
            )
        return model, model.n_params(training.queries.n_features)

    def _bounds(self, model: MLPModel, training: Training) -> Bounds | None:
        return network_bounds(model, self.monotone, training)

    def _first(self, model: MLPModel, training: Training) -> Float64Array:
        n_features, bounds = training.queries.n_features, self._bounds(model, training)
        start = model.start(n_features, np.random.default_rng(seed_of(self.random_state)))
        if bounds is None:
            return start
        # half of them would be 0 at the nearest point within the bounds
        turned = np.where(bounds.nearest(start) == start, start, -start)
        for width, layer in zip(self.hidden, model.layers(turned, n_features)[1:], strict=True):
            # Weights of both signs cancel out on average; those of one sign add up, so they are made smaller.
            layer.weights[:width] /= width**0.5
        return turned
