"""The trained methods: their features, their model, and training for every C of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.trec.features import Form, RunScores, RunThresholds
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import make_objective
from directrix.surrogates.structural import SVMMap, SVMRoc
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.svm_acc import SVMAcc, step_features
from directrix.types import Float64Array, Result


class Method(NamedTuple):
    """One of the methods of the paper."""

    name: str  # as the paper has it
    # what is thresholded: the score, or what remains of it in its query
    form: Form
    # what the SVM bounds
    loss: Literal["map", "roc", "accuracy", "balanced accuracy"]
    # of a classifier: squared, which can be minimized to the end, or as published
    errors: Literal["squared_hinge", "hinge"] = "squared_hinge"

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
    Method("SVMacc (hinge)", "score", "accuracy", "hinge"),
)


@dataclass(frozen=True)
class Grid:
    """What training depends on besides the data."""

    # ascending C of SVMmap and SVMroc, in the paper's units: 1/2 |w|^2 + C/n sum xi. Below the smallest the
    # ranking hardly changes.
    hinge_c: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    # ascending C of SVMacc, SVMacc3 and SVMacc4: 1/2 |w|^2 + C sum xi^2 over the documents
    accuracy_c: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    # ascending C of SVMacc2, where relevant documents weigh more; likewise
    balanced_c: tuple[float, ...] = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
    # ascending C of SVMacc with the hinge: 1/2 |w|^2 + C sum xi over the documents
    published_c: tuple[float, ...] = (1e-3, 1e-2, 1e-1)
    bins: int = 50  # thresholds per run
    epsilon: float = 1e-3  # gap of the mean hinge at which the cutting planes stop
    newton: int = 200  # steps of Newton's method for the classifiers
    passes: int = 50  # of coordinate descent over the documents, for the hinge

    def c_of(self, method: Method) -> tuple[float, ...]:
        """Return the values of C that a method is trained with."""
        if method.is_structural:
            return self.hinge_c
        if method.errors == "hinge":
            return self.published_c
        return self.balanced_c if method.loss == "balanced accuracy" else self.accuracy_c


QUICK_GRID = Grid(
    hinge_c=(1e-2, 1e-1, 1.0),
    accuracy_c=(1e-3, 1e-2),
    balanced_c=(1e-7, 1e-6),
    published_c=(1e-2,),
    epsilon=1e-2,
    passes=10,
)
"""Grid of a quick run."""


class Step(NamedTuple):
    """A trained model: its C, its parameters, and whether the training converged."""

    c: float
    params: Float64Array
    is_converged: bool


def features_of(form: Form, train: RunScores, bins: int) -> tuple[Queries, StumpModel]:
    """Return the queries to train on, and the model of their thresholds.

    Scores are cut where those of the training topics are sensitive, percentiles and scaled scores at
    ``bins`` evenly spaced places within (0, 1).
    """
    return train.queries(form), StumpModel(RunThresholds.of(train, bins, form).values)


def train_path(method: Method, train: Queries, model: StumpModel, grid: Grid, *, seed: int) -> list[Step]:
    """Train a method for every C of its grid, ascending.

    The documents are those that a run retrieved: relevant ones that no run retrieved take no part in
    training.
    """
    start, grid_c = np.zeros(model.n_params), grid.c_of(method)
    results: Sequence[Result]
    if method.is_structural:
        surrogate = SVMMap(rel=1) if method.loss == "map" else SVMRoc(rel=1)
        objective = make_objective(train, surrogate, model)
        results = CuttingPlane(epsilon=grid.epsilon).path(objective, start, C=grid_c)
    else:
        # once, not for every C
        columns = replace(train, features=step_features(model, train.features), feature_names=None)
        objective = make_objective(columns, SVMRoc(rel=1), LinearModel())  # SVMAcc does not use the surrogate
        classifier = SVMAcc(
            loss=method.errors,
            balanced=method.loss == "balanced accuracy",
            max_iter=grid.passes if method.errors == "hinge" else grid.newton,
            random_state=seed,
        )
        results = [replace(classifier, C=c).minimize(objective, start) for c in grid_c]
    return [
        Step(c, result.params, result.status == "converged")
        for c, result in zip(grid_c, results, strict=True)
    ]
