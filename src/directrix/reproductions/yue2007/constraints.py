"""Algorithm 1 as published: how many constraints it adds, next to the bound of Theorem 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.data.trec.features import RunScores
from directrix.laws.cutting_planes import constraints_bound, ranking_radius
from directrix.measures.precision import AP
from directrix.objectives.objective import make_objective
from directrix.reproductions.yue2007.methods import METHODS, Grid, features_of
from directrix.surrogates.structural import SVMMap
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.svm_acc import step_features

_PASSES = 200  # of Algorithm 1 over the topics; the full run needs fewer


class Count(NamedTuple):
    """Trainings for one C; means over trials, but for the first three."""

    c: float
    bound: float  # of Theorem 1, the smallest of the trials
    largest: int  # most constraints of a trial
    added: float  # constraints that Algorithm 1 added
    passes: float  # over the topics
    one_slack: float  # planes of the form with one slack, to the same gap


@dataclass(frozen=True, eq=False)
class Constraints:
    """Counts on one data set, for every C."""

    name: str
    radius: float  # largest of the trials
    counts: tuple[Count, ...]
    n_trainings: int
    n_converged: int

    @property
    def is_bounded(self) -> bool:
        """Whether no training added more constraints than Theorem 1 says."""
        return all(count.largest <= count.bound for count in self.counts)


def count_constraints(train: RunScores, grid: Grid) -> dict[str, Any]:
    """Train SVMmap for every C with a slack for each topic, and with one for all; JSON."""
    queries, model = features_of(METHODS[0].form, train, grid.bins)
    objective, start = make_objective(queries, SVMMap(rel=1), model), np.zeros(model.n_params)
    rows = []
    for c in grid.hinge_c:
        each, one = (
            CuttingPlane(epsilon=grid.epsilon, slack=slack, C=c, max_iter=most).minimize(objective, start)
            for slack, most in (("each", _PASSES), ("one", 2000))
        )
        rows.append(
            {
                "c": c,
                "added": each.counts["added"],
                "passes": each.counts["iterations"],
                "one_slack": one.counts["added"],
                "converged": each.status == "converged",
            }
        )
    worst = AP(rel=1)(-queries.labels, queries.labels, queries.qptr)
    return {
        "n": queries.n_queries,
        "epsilon": grid.epsilon,
        "radius": ranking_radius(step_features(model, queries.features), queries.labels, queries.qptr),
        "loss": 1.0 - float(worst.min()),
        "rows": rows,
    }


def constraints_of(name: str, trials: Sequence[Any]) -> Constraints:
    """Return the counts on a data set, from `count_constraints` of its trials."""
    counts = []
    for rows in zip(*(trial["rows"] for trial in trials), strict=True):
        c = float(rows[0]["c"])
        added, passes, one_slack = (
            [int(row[key]) for row in rows] for key in ("added", "passes", "one_slack")
        )
        bounds = [
            constraints_bound(trial["n"], c, trial["epsilon"], trial["radius"], trial["loss"])
            for trial in trials
        ]
        means = (float(np.mean(values)) for values in (added, passes, one_slack))
        counts.append(Count(c, min(bounds), max(added), *means))
    converged = [row["converged"] for trial in trials for row in trial["rows"]]
    radius = max((trial["radius"] for trial in trials), default=0.0)
    return Constraints(name, radius, tuple(counts), len(converged), sum(converged))
