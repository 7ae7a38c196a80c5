"""A training of LambdaRank, watched: what each epoch is worth, and which pairs it learns from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.donmez2009.settings import ModelName, Settings
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.objectives.build import make_objective
from directrix.objectives.objective import Objective
from directrix.rankers.training import judge_of
from directrix.surrogates.lambdas import Lambda
from directrix.trainers.sgd import SGD
from directrix.types import Float64Array, Model, Step

__all__ = ["Watched", "model_of", "objective_of", "random_weights", "watch"]


@dataclass
class Watched:
    """What was seen of a training, epoch by epoch; epoch 0 is the start.

    Parameters
    ----------
    rate : float
    train, valid : list of float
        The measure on the training and the validation queries after every epoch.
    pairs : list of int
        Pairs of training documents with a force between them.
    best : dict of str to (int, float64 array)
        Epoch and parameters where ``train`` and ``valid`` were highest.
    kept : dict of int to float64 array
        Parameters of the epochs that were asked for.
    """

    rate: float
    train: list[float] = field(default_factory=list)
    valid: list[float] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    best: dict[str, tuple[int, Float64Array]] = field(default_factory=dict)
    kept: dict[int, Float64Array] = field(default_factory=dict)

    def best_of(self, part: str) -> float:
        """Highest value on a part: "train" or "valid"."""
        values: list[float] = getattr(self, part)
        return max(values)


def model_of(name: ModelName, settings: Settings) -> Model:
    """The net: one layer, or two with tanh between them."""
    return LinearModel() if name == "linear" else MLPModel((settings.hidden,), "tanh")


def objective_of(q: Queries, surrogate: Lambda, model: Model) -> Objective:
    """The objective of that net on queries."""
    return make_objective(q, surrogate, model)


def random_weights(model: Model, n_features: int, seed: int) -> Float64Array:
    """Weights before any training; for the linear net normal ones, of length 1 or so."""
    rng = np.random.default_rng(seed)
    if isinstance(model, MLPModel):
        return model.start(n_features, rng)
    weights: Float64Array = rng.standard_normal(n_features) / np.sqrt(n_features)
    return weights


def watch(  # noqa: PLR0913
    train: Queries,
    valid: Queries,
    measure: str,
    model: Model,
    rate: float,
    settings: Settings,
    *,
    start: Float64Array | None = None,
    epochs: int | None = None,
    keep: tuple[int, ...] = (),
) -> Watched:
    """Train with the forces of a measure, a query a step.

    Parameters
    ----------
    train, valid : Queries
    measure : str
    model : Model
    rate : float
    settings : Settings
    start : float64 (n_params,), optional
        Default: zeros for a linear model, else random.
    epochs : int, optional
        Default: those of the settings, which then may end early, see `Settings.patience`.
    keep : tuple of int
        Epochs whose parameters are kept.
    """
    surrogate = Lambda(measure)
    objective, held = objective_of(train, surrogate, model), objective_of(valid, surrogate, model)
    judges = {"train": judge_of(surrogate.measure, train), "valid": judge_of(surrogate.measure, valid)}
    linear = isinstance(model, LinearModel)
    if start is None:
        start = (
            np.zeros(train.n_features) if linear else random_weights(model, train.n_features, settings.seed)
        )
    patience = settings.patience if epochs is None else None
    trainer = SGD(
        learning_rate=rate,
        epochs=epochs or settings.epochs_of(train.n_queries),
        shrink=0.8,
        shrink_chance=0.3,
        restart_after=50,
        random_state=settings.seed,
    )
    seen = Watched(rate)

    def look(step: Step) -> bool:
        scores = {"train": objective.scores(step.params), "valid": held.scores(step.params)}
        for name, judge in judges.items():
            values: list[float] = getattr(seen, name)
            values.append(judge(scores[name].astype(np.float64)))
            if name not in seen.best or values[-1] > values[seen.best[name][0]]:
                seen.best[name] = step.iteration, np.array(step.params)
        pairs = surrogate.effective_pairs(scores["train"].astype(np.float64), train.labels, train.qptr)
        seen.pairs.append(int(pairs.sum()))
        if step.iteration in keep:
            seen.kept[step.iteration] = np.array(step.params)
        return patience is not None and step.iteration - seen.best["valid"][0] >= patience

    trainer.minimise(objective, start, callback=look)
    return seen
