"""The paper's future work: effective pairs of other constructions; optimality of them and other learners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.optimality import certify
from directrix.experiments.splits import Split
from directrix.measures.names import measure as parse_measure
from directrix.objectives.objective import make_objective
from directrix.rankers.methods import method
from directrix.reproductions.donmez2009.certificates import EXAMINED, as_json
from directrix.reproductions.donmez2009.collection import MeasuredCollection
from directrix.reproductions.donmez2009.methods import COMPARED
from directrix.reproductions.donmez2009.settings import CONSTRUCTIONS, EVERY_CHANGE, NETS, Settings
from directrix.reproductions.donmez2009.training import at_every_rate, forces_for, model_of, random_weights

LEARNERS = {
    "nDCG": ("RankNet", "RankSVM", "ListNet", "ApproxNDCG", "SmoothNDCG", "CoordinateAscent"),
    "AP": ("ApproxAP", "SmoothAP", "SVMMap", "CoordinateAscent"),
}
"""Methods with linear models whose weights are tested, by the measure that is tested."""


class Counted(NamedTuple):
    """Effective pairs of a construction at the same weights as of all others."""

    collection: str
    model: str
    measure: str
    construction: str
    # numbers of pairs at random weights, and at those that validation chose of the usual training
    start: int
    end: int


def pair_cells(
    collections: Mapping[str, MeasuredCollection], trainings: Mapping[Any, Any], settings: Settings
) -> list[Cell]:
    """Count the effective pairs of every construction, on the training queries of the first folds.

    Returns
    -------
    list of Cell
        Keys are ("pairs", collection, net, measure). Results are by construction the numbers of pairs at
        random weights and at those that validation chose of the training with the usual construction.
    """
    return [
        Cell(
            ("pairs", name, model, full),
            _pairs,
            (one.first.train, model, full, trainings["training", name, model, short]["weights"], settings),
        )
        for name, one in collections.items()
        for model in NETS
        for short, full in one.measures.items()
    ]


def _pairs(
    train: Queries, model: str, measure: str, weights: Mapping[str, Any], settings: Settings
) -> dict[str, list[int]]:
    net = model_of(model, settings)
    objective = make_objective(train, forces_for(measure), net)
    scores = [
        objective.scores(params).astype(np.float64)
        for params in (random_weights(net, train.n_features, settings.seed), np.array(weights["chosen"]))
    ]
    return {
        name: [
            int(forces_for(measure, name).effective_pairs(of, train.labels, train.qptr).sum())
            for of in scores
        ]
        for name in CONSTRUCTIONS
    }


def counted(cells: Mapping[Any, Any]) -> tuple[Counted, ...]:
    """Return the results of `pair_cells`, whose measures are short names."""
    return tuple(
        Counted(collection, model, measure, construction, *counts)
        for (_, collection, model, measure), one in cells.items()
        for construction, counts in one.items()
    )


def other_cells(collections: Mapping[str, MeasuredCollection], settings: Settings) -> list[Cell]:
    """Test the weights of single-layer nets with other forces, and of other learners, for optimality.

    Returns
    -------
    list of Cell
        Keys are (kind, collection, name, measure) of the kinds "construction" and "learner". The results are
        those of `certificate_cells`, at the epoch that is best on the training queries at any rate, with
        ``relative``: the same with steps relative to the norm of the weights. None if the settings leave
        them out.
    """
    if not settings.others:
        return []
    examined = {name: collections[name] for name in EXAMINED if name in collections}
    return [
        *(
            Cell(
                ("construction", name, construction, one.measures[measure]),
                _construction,
                (one.first, construction, one.measures[measure], settings),
            )
            for name, one in examined.items()
            for measure in COMPARED
            for construction in (*CONSTRUCTIONS, *[EVERY_CHANGE] * (measure == "RR"))
        ),
        *(
            Cell(
                ("learner", name, learner, one.measures[measure]),
                _learner,
                (one.first.train, learner, one.measures[measure], settings),
            )
            for name, one in examined.items()
            for measure, learners in LEARNERS.items()
            for learner in learners
        ),
    ]


def _construction(split: Split, construction: str, measure: str, settings: Settings) -> dict[str, Any]:
    forces = forces_for(measure, construction)
    trainings, _ = at_every_rate(split, "linear", forces, settings)
    params = max(trainings, key=lambda one: one.best_of("train")).best["train"][1]
    objective = make_objective(split.train, forces, model_of("linear", settings))
    return _both(params, objective, measure, params, settings)


def _learner(train: Queries, learner: str, measure: str, settings: Settings) -> dict[str, Any]:
    goal = parse_measure(measure)
    trial = method(learner).candidates(goal, {})[0]
    ranker = trial.ranker(goal, settings.seed).fit_queries(train)
    return _both(ranker, train, measure, ranker.coef_, settings)


def _both(weights: Any, data: Any, measure: str, params: Any, settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {"eps": settings.eps, "delta": settings.delta, "seed": settings.seed}
    absolute, relative = (
        as_json(certify(weights, data, measure, relative=relative, **options), params)
        for relative in (False, True)
    )
    return {**absolute, "relative": relative}
