"""LambdaRank trained epoch by epoch: its measure, and the pairs that it learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.splits import Split
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.objectives.objective import make_objective
from directrix.rankers.training import judge_of
from directrix.reproductions.donmez2009.collection import ARTIFICIAL, MeasuredCollection, artificial
from directrix.reproductions.donmez2009.settings import NETS, USUAL, Settings, options_of
from directrix.surrogates.lambdas import Lambda
from directrix.trainers.stochastic import SGD
from directrix.types import Float64Array, Model, Step

_EARLY = (7, 12)  # epochs whose weights Section 8 tests


@dataclass
class Watched:
    """Values of a training after every epoch; epoch 0 is the start."""

    rate: float
    # train, valid: the measure on the training and the validation queries after every epoch
    train: list[float] = field(default_factory=list)
    valid: list[float] = field(default_factory=list)
    # numbers of pairs of training documents with a force between them; and, for RR, whose pairs are those of
    # Eq. (11), of those whose exchange changes it
    pairs: list[int] = field(default_factory=list)
    changing: list[int] = field(default_factory=list)
    restarts: int = 0
    # dict of str to (int, float64 array): epoch and parameters where `train` and `valid` were highest
    best: dict[str, tuple[int, Float64Array]] = field(default_factory=dict)
    # dict of int to float64 array: parameters after the epochs of `keep`
    kept: dict[int, Float64Array] = field(default_factory=dict)

    def best_of(self, part: str) -> float:
        """Return the highest value on a part, "train" or "valid"."""
        values: list[float] = getattr(self, part)
        return max(values)


def model_of(name: str, settings: Settings) -> Model:
    """Return a net: one layer, or two with tanh between them."""
    return LinearModel() if name == "linear" else MLPModel((settings.hidden,), "tanh")


def random_weights(model: Model, n_features: int, seed: int) -> Float64Array:
    """Return weights before any training; for the linear net normal ones, of a length near 1."""
    rng = np.random.default_rng(seed)
    if isinstance(model, MLPModel):
        return model.start(n_features, rng)
    weights: Float64Array = rng.standard_normal(n_features) / np.sqrt(n_features)
    return weights


def watch(  # noqa: PLR0913
    train: Queries,
    valid: Queries,
    forces: Lambda,
    model: Model,
    rate: float,
    settings: Settings,
    *,
    start: Float64Array | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    keep: tuple[int, ...] = (),
) -> Watched:
    """Train with the forces of a measure, one query per step, as Section 7 says.

    After a lower value on the training queries the rate shrinks with a chance; after 50 epochs of one value
    on the validation queries the training restarts at random weights.

    Parameters
    ----------
    train, valid : Queries
    forces : Lambda
    model : Model
    rate : float
    settings : Settings
    start : float64 (n_params,), optional
        Default: random.
    epochs : int, optional
        Default: those of the settings.
    patience : int, optional
        Stop after this number of epochs without a better value on the validation queries; None = never.
    keep : tuple of int
        Epochs whose parameters to keep.
    """
    objective, held = make_objective(train, forces, model), make_objective(valid, forces, model)
    judges = {"train": judge_of(forces.measure, train), "valid": judge_of(forces.measure, valid)}
    every = replace(forces, pairs="all") if forces.pairs == "misranked" else None
    if start is None:
        start = random_weights(model, train.n_features, settings.seed)
    watched = Watched(rate)
    trainer = SGD(
        learning_rate=rate,
        epochs=epochs or settings.epochs,
        shrink=0.8,
        shrink_chance=0.3,
        restart_after=50,
        random_state=settings.seed,
    ).watching(lambda _: watched.valid[-1])

    def record(step: Step) -> bool:
        scores = {"train": objective.scores(step.params), "valid": held.scores(step.params)}
        for name, judge in judges.items():
            values: list[float] = getattr(watched, name)
            values.append(judge(scores[name].astype(np.float64)))
            if name not in watched.best or values[-1] > values[watched.best[name][0]]:
                watched.best[name] = step.iteration, np.array(step.params)
        ranked = scores["train"].astype(np.float64), train.labels, train.qptr
        watched.pairs.append(int(forces.effective_pairs(*ranked).sum()))
        if every is not None:
            watched.changing.append(int(every.effective_pairs(*ranked).sum()))
        if step.iteration in keep:
            watched.kept[step.iteration] = np.array(step.params)
        return patience is not None and step.iteration - watched.best["valid"][0] >= patience

    watched.restarts = trainer.minimize(objective, start, callback=record).counts["restarts"]
    return watched


def training_cells(collections: Mapping[str, MeasuredCollection], settings: Settings) -> list[Cell]:
    """Train for every measure on the first fold of every collection, at every rate.

    Returns
    -------
    list of Cell
        Keys are ("training", collection, net, measure). Results are ``pairs`` after every epoch at the
        ``rate`` that validation chose, and for RR ``changing``, see `Watched`; ``restarts`` by rate; and
        ``weights``: parameters ``chosen`` by validation, ``converged``, which are the best on the training
        queries at any rate, and those after epochs 7 and 12.
    """
    return [
        Cell(("training", name, model, measure), _training, (one.first, model, measure, settings))
        for name, one in collections.items()
        for model in NETS
        for measure in one.measures.values()
    ]


def size_cells(collections: Mapping[str, MeasuredCollection], settings: Settings) -> list[Cell]:
    """Train the two-layer net for every measure on more and more artificial queries (Fig. 5).

    Returns
    -------
    list of Cell
        Keys are ("size", number of queries, measure). Results are ``pairs``, the mean over epochs at the
        rate that validation chose, and ``test``: the values of every measure on the test queries.
    """
    measures = tuple(collections[ARTIFICIAL].measures.values())
    _, split = artificial(settings.artificial, settings.seed)
    return [
        Cell(("size", size, measure), _size, (_first(split, size), measure, measures, settings))
        for size in settings.artificial.sizes
        for measure in measures
    ]


def _first(split: Split, n_queries: int) -> Split:
    return Split(split.name, split.train.take(np.arange(n_queries)), split.valid, split.test)


def at_every_rate(
    split: Split,
    model: str,
    forces: Lambda,
    settings: Settings,
    *,
    patience: int | None = None,
    keep: tuple[int, ...] = (),
) -> tuple[list[Watched], Watched]:
    """Return all trainings, and the one that validation chooses: the first of equals."""
    net = model_of(model, settings)
    assert split.valid is not None
    trainings = [
        watch(split.train, split.valid, forces, net, rate, settings, patience=patience, keep=keep)
        for rate in settings.rates
    ]
    return trainings, max(trainings, key=lambda one: one.best_of("valid"))


def forces_for(measure: str, construction: str = USUAL) -> Lambda:
    """Return the forces of a measure as the paper has them, for RR those of Eq. (11)."""
    return Lambda(measure, **options_of(measure, construction))


def _training(split: Split, model: str, measure: str, settings: Settings) -> dict[str, Any]:
    trainings, chosen = at_every_rate(split, model, forces_for(measure), settings, keep=_EARLY)
    highest = max(trainings, key=lambda one: one.best_of("train"))
    weights = {
        "chosen": chosen.best["valid"],
        "converged": highest.best["train"],
        **{f"epoch {epoch}": (epoch, params) for epoch, params in chosen.kept.items()},
    }
    return {
        "rate": chosen.rate,
        "best_rate": highest.rate,
        "by_rate": {f"{one.rate:g}": one.best_of("valid") for one in trainings},
        "restarts": {f"{one.rate:g}": one.restarts for one in trainings},
        "train": chosen.train,
        "valid": chosen.valid,
        "pairs": chosen.pairs,
        "changing": chosen.changing,
        "weights": {name: params.tolist() for name, (_, params) in weights.items()},
        "epochs": {name: epoch for name, (epoch, _) in weights.items()},
    }


def _size(split: Split, measure: str, measures: Sequence[str], settings: Settings) -> dict[str, Any]:
    forces = forces_for(measure)
    _, chosen = at_every_rate(split, "mlp", forces, settings, patience=settings.patience)
    objective = make_objective(split.test, forces, model_of("mlp", settings))
    scores = objective.scores(chosen.best["valid"][1]).astype(np.float64)
    test = split.test
    return {
        "pairs": float(np.mean(chosen.pairs)),
        "test": {name: parse_measure(name)(scores, test.labels, test.qptr).tolist() for name in measures},
    }
