"""The six trained methods: features, model, and a path of settings of C."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.trec.scores import Form, RunScores
from directrix.data.trec.thresholds import RunThresholds
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel
from directrix.objectives.build import make_objective
from directrix.surrogates.structural import SVMMap, SVMRoc
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.svm_acc import SVMAcc, step_features
from directrix.types import Float64Array, Result

__all__ = ["METHODS", "QUICK", "Form", "Grid", "Method", "Step", "features_of", "path"]


class Method(NamedTuple):
    """One of the methods of the paper.

    Parameters
    ----------
    name : str
        As the paper has it.
    form : {"score", "percentile", "minmax"}
        What is thresholded: the score, or what remains of it in its query.
    loss : {"map", "roc", "accuracy", "balanced accuracy"}
        What the SVM bounds.
    """

    name: str
    form: Form
    loss: Literal["map", "roc", "accuracy", "balanced accuracy"]

    @property
    def is_structural(self) -> bool:
        """Whether it is trained by cutting planes, on queries, and not by classification, on documents."""
        return self.loss in ("map", "roc")


METHODS = (
    Method("SVMmap", "score", "map"),
    Method("SVMroc", "score", "roc"),
    Method("SVMacc", "score", "accuracy"),
    Method("SVMacc2", "score", "balanced accuracy"),
    Method("SVMacc3", "percentile", "accuracy"),
    Method("SVMacc4", "minmax", "accuracy"),
)


@dataclass(frozen=True)
class Grid:
    """What training depends on, beside the data.

    Parameters
    ----------
    hinge_c : tuple of float
        Ascending C of SVMmap and SVMroc, in the paper's units: 1/2 |w|^2 + C/n sum xi. Below the
        smallest the ranking hardly changes.
    accuracy_c : tuple of float
        Ascending C of SVMacc, SVMacc3 and SVMacc4: 1/2 |w|^2 + C sum xi^2 over the documents.
    balanced_c : tuple of float
        Ascending C of SVMacc2, where relevant documents weigh more; likewise.
    accuracy_loss : {"squared_hinge", "hinge"}
        Of SVMacc and its kin: squared, which can be minimised to the end, or as published.
    bins : int
        Thresholds a run.
    epsilon : float
        Gap of the mean hinge at which the cutting planes stop.
    max_iter : int
        Most iterations of the classification: steps of Newton's method, or passes for the hinge.
    """

    hinge_c: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    accuracy_c: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    balanced_c: tuple[float, ...] = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
    accuracy_loss: Literal["squared_hinge", "hinge"] = "squared_hinge"
    bins: int = 50
    epsilon: float = 1e-3
    max_iter: int = 200

    def c_of(self, method: Method) -> tuple[float, ...]:
        """The C that a method is trained with."""
        if method.is_structural:
            return self.hinge_c
        return self.balanced_c if method.loss == "balanced accuracy" else self.accuracy_c


QUICK = Grid(hinge_c=(1e-2, 1e-1, 1.0), accuracy_c=(1e-3, 1e-2), balanced_c=(1e-7, 1e-6), epsilon=1e-2)
"""For a look at the machinery; no figures to be quoted."""


class Step(NamedTuple):
    """A model of a path: its C, parameters, and whether its training converged."""

    c: float
    params: Float64Array
    is_converged: bool


def features_of(form: Form, train: RunScores, bins: int) -> tuple[Queries, StumpModel]:
    """Queries to train on, and the model of their thresholds.

    Scores are cut where those of the training topics are sensitive, percentiles and scaled scores at
    ``bins`` evenly spaced places within (0, 1).
    """
    return train.queries(form), StumpModel(RunThresholds.of(train, bins, form).values)


def path(method: Method, train: Queries, model: StumpModel, grid: Grid, *, seed: int) -> list[Step]:
    """Train a method for every C of its grid, ascending.

    The documents are those that a run retrieved: relevant ones that none did take no part in training.
    """
    start = np.zeros(model.n_params)
    if method.is_structural:
        surrogate = SVMMap(rel=1) if method.loss == "map" else SVMRoc(rel=1)
        trainer = CuttingPlane(epsilon=grid.epsilon)
        found = trainer.path(make_objective(train, surrogate, model), start, C=grid.hinge_c)
        return [_step(c, result) for c, result in zip(grid.hinge_c, found, strict=True)]
    columns = replace(
        train, features=step_features(model, train.features), feature_names=None
    )  # once, not for every C
    objective = make_objective(columns, SVMRoc(rel=1), LinearModel())  # SVMAcc asks nothing of the surrogate
    return [
        _step(c, _classifier(method, grid, c, seed).minimise(objective, start)) for c in grid.c_of(method)
    ]


def _classifier(method: Method, grid: Grid, c: float, seed: int) -> SVMAcc:
    return SVMAcc(
        C=c,
        loss=grid.accuracy_loss,
        balanced=method.loss == "balanced accuracy",
        max_iter=grid.max_iter,
        random_state=seed,
    )


def _step(c: float, result: Result) -> Step:
    return Step(c, result.params, result.status == "converged")
