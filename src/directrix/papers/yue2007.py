"""Yue, Finley, Radlinski and Joachims (2007), Section 5: SVMmap on retrieval functions as features.

Trials use runs of TREC-7, and runs made from collections with documents. C is chosen by validation, and
results are on test topics.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.trec.features import Form, RunScores
from directrix.errors import InputError
from directrix.experiments.cells import Cell
from directrix.experiments.significance import Significance, signed_rank
from directrix.fusion.thresholds import RunThresholds
from directrix.laws.cutting_planes import constraints_bound, ranking_radius
from directrix.measures.precision import AP
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import make_objective
from directrix.papers.paper import Experiment, Results
from directrix.papers.workspace import Workspace
from directrix.papers.yue2007_data import RunsOfTopics, ap_of_topics, read_runs, text_runs
from directrix.surrogates.structural import SVMMap, SVMRoc
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.svm_acc import SVMAcc, step_features
from directrix.types import Float64Array, Int64Array, Result

# the methods


class ComparedMethod(NamedTuple):
    """One of the methods of the paper."""

    # The paper's name.
    name: str
    # Either the score is thresholded, or its percentile or scaled value within the query.
    form: Form
    # The SVM bounds this loss.
    loss: Literal["map", "roc", "accuracy", "balanced accuracy"]
    # A classifier has squared errors, which can be minimized to the end, or those that the paper has.
    errors: Literal["squared_hinge", "hinge"] = "squared_hinge"

    @property
    def is_structural(self) -> bool:
        """Whether it is trained by cutting planes, on queries, and not by classification, on documents."""
        return self.loss in ("map", "roc")


METHODS = (
    ComparedMethod("SVMmap", "score", "map"),
    ComparedMethod("SVMroc", "score", "roc"),
    ComparedMethod("SVMacc", "score", "accuracy"),
    ComparedMethod("SVMacc2", "score", "balanced accuracy"),
    ComparedMethod("SVMacc3", "percentile", "accuracy"),
    ComparedMethod("SVMacc4", "minmax", "accuracy"),
    ComparedMethod("SVMacc (hinge)", "score", "accuracy", "hinge"),
)
SVM_MAP = METHODS[0].name


@dataclass(frozen=True)
class Grid:
    """Settings of the training runs; all values of C ascend."""

    # SVMmap and SVMroc minimize 1/2 |w|^2 + C/n sum xi, in the paper's units. Below the smallest C the
    # ranking hardly changes.
    hinge_c: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    # SVMacc, SVMacc3 and SVMacc4 minimize 1/2 |w|^2 + C sum xi^2 over the documents.
    accuracy_c: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    # SVMacc2 minimizes the same, but relevant documents weigh more.
    balanced_c: tuple[float, ...] = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
    # SVMacc with the hinge minimizes 1/2 |w|^2 + C sum xi over the documents.
    published_c: tuple[float, ...] = (1e-3, 1e-2, 1e-1)
    # The number of thresholds per run.
    bins: int = 50
    # The gap of the mean hinge at which the cutting planes stop.
    epsilon: float = 1e-3
    # The maximum number of steps of Newton's method for the classifiers.
    newton: int = 200
    # The number of passes of coordinate descent over the documents, for the hinge.
    passes: int = 50

    def c_of(self, method: ComparedMethod) -> tuple[float, ...]:
        """Return the values of C that a method is trained with."""
        if method.is_structural:
            return self.hinge_c
        if method.errors == "hinge":
            return self.published_c
        return self.balanced_c if method.loss == "balanced accuracy" else self.accuracy_c


def features_of(form: Form, train: RunScores, bins: int) -> tuple[Queries, StumpModel]:
    """Return the queries to train on, and the model of their thresholds.

    Scores have thresholds where those of the training topics are sensitive; percentiles and scaled scores
    have ``bins`` evenly spaced thresholds within (0, 1).
    """
    return train.queries(form), StumpModel(RunThresholds.of(train, bins, form).values)


def train_path(
    method: ComparedMethod, train: Queries, model: StumpModel, grid: Grid, *, seed: int
) -> Sequence[Result]:
    """Train a method for every C of its grid, in this order.

    Only documents that a run retrieved are used for training.
    """
    start, grid_c = np.zeros(model.n_params), grid.c_of(method)
    if method.is_structural:
        surrogate = SVMMap(rel=1) if method.loss == "map" else SVMRoc(rel=1)
        objective = make_objective(train, surrogate, model)
        return CuttingPlane(epsilon=grid.epsilon).path(objective, start, C=grid_c)
    # The columns of the thresholds are the same for every C. SVMAcc does not use the surrogate.
    columns = replace(train, features=step_features(model, train.features), feature_names=None)
    objective = make_objective(columns, SVMRoc(rel=1), LinearModel())
    classifier = SVMAcc(
        loss=method.errors,
        balanced=method.loss == "balanced accuracy",
        max_iter=grid.passes if method.errors == "hinge" else grid.newton,
        random_state=seed,
    )
    return [replace(classifier, C=c).minimize(objective, start) for c in grid_c]


# the trials


class TopicSplit(NamedTuple):
    """Positions of the queries of one split, in ascending order: disjoint; together all queries."""

    train: Int64Array
    valid: Int64Array
    test: Int64Array


def balanced_trials(
    n_queries: int, n_train: int, n_valid: int, n_trials: int, *, seed: int
) -> list[TopicSplit]:
    r"""Split queries repeatedly so that each is equally often in training, validation and test.

    The queries are placed around a circle at random. The first ``n_train`` of them are for training, the next
    ``n_valid`` for validation, the others for testing; then the circle turns by
    g = gcd(n_queries, n_train, n_valid). After n_queries / g trials every query has been in every position,
    and a new random circle is drawn: 10 trials for 50 queries, 10 and 5. TopicSplit t does not depend on
    ``n_trials``. Raises `InputError` if there are too few queries.

    Examples
    --------
    >>> [trial.train.tolist() for trial in balanced_trials(6, 2, 2, 3, seed=0)]
    [[2, 3], [4, 5], [0, 1]]
    """
    if n_train + n_valid >= n_queries:
        raise InputError(
            f"{n_queries} queries cannot be split into {n_train} to train, {n_valid} to validate and "
            f"at least one to test: {n_train + n_valid + 1} or more are needed. Give smaller parts."
        )
    step = math.gcd(n_queries, n_train, n_valid)
    turns = n_queries // step
    trials = []
    for t in range(n_trials):
        circle = np.random.default_rng([seed, t // turns]).permutation(n_queries)
        turned = np.roll(circle, -(t % turns) * step).astype(np.int64)
        trials.append(TopicSplit(*map(np.sort, np.split(turned, [n_train, n_train + n_valid]))))
    return trials


@dataclass(frozen=True)
class Yue2007(Experiment):
    """Trials on every data set; the seed is for the splits and the classification."""

    # The number of splits of the topics. With a multiple of 10 all 50 topics are used equally often.
    trials: int = 50
    # The numbers of topics to train and to validate on, of 50; data sets with another number of topics have
    # the same shares. The other topics test.
    n_train: int = 10
    n_valid: int = 5
    # The constraints of this number of trials, from the first, are counted.
    counted: int = 5
    grid: Grid = field(default_factory=Grid)
    # Whether to run on the collections with documents.
    has_texts: bool = True

    def trials_of(self, n_topics: int) -> list[TopicSplit]:
        """Return the splits of a number of topics."""
        n_train, n_valid = (n * n_topics // 50 for n in (self.n_train, self.n_valid))
        return balanced_trials(n_topics, n_train, n_valid, self.trials, seed=self.seed)

    def read(self, data: Path) -> dict[str, RunsOfTopics]:
        """Read the runs and judgments of TREC-7, and make those of the collections with documents."""
        return {"TREC-7": read_runs(data), **(text_runs(data) if self.has_texts else {})}

    def run(self, data: Mapping[str, RunsOfTopics], work: Workspace) -> TrialResults:
        """Run every trial on every data set."""
        data_sets = {name: (runs, rows) for runs in data.values() for name, rows in runs.data_sets.items()}
        trials = {name: self.trials_of(len(runs.topics)) for name, (runs, _) in data_sets.items()}
        counted = range(min(self.counted, self.trials))
        cells = [
            Cell((name, t, "constraints"), _count, (scores.take(trials[name][t].train), self.grid))
            for t in counted
            for name, (_, scores) in data_sets.items()
        ]
        cells += [
            Cell((name, t), _run_trial, (scores, trials[name][t], self))
            for t in range(self.trials)
            for name, (_, scores) in data_sets.items()
        ]
        done = work.cells("trials of a data set", cells)
        results = {
            name: _result(
                name,
                runs,
                self.grid,
                features_of("score", scores.take(trials[name][0].train), self.grid.bins)[1].n_params,
                [done[name, t] for t in range(self.trials)],
            )
            for name, (runs, scores) in data_sets.items()
        }
        constraints = (
            _constraints(name, [done[name, t, "constraints"] for t in counted]) for name in data_sets
        )
        return TrialResults(self, results, tuple(constraints))


QUICK = Yue2007(
    trials=2,
    counted=1,
    grid=Grid(
        hinge_c=(1e-2, 1e-1, 1.0),
        accuracy_c=(1e-3, 1e-2),
        balanced_c=(1e-7, 1e-6),
        published_c=(1e-2,),
        epsilon=1e-2,
        passes=10,
    ),
    has_texts=False,
)


def _run_trial(runs: RunScores, trial: TopicSplit, settings: Yue2007) -> dict[str, Any]:
    """Return, as JSON, the positions of the test topics, and the results of every method.

    Of a method these are the chosen ``c``; ``valid``, MAP for every C; ``test``, AP of the test topics at the
    chosen C; ``test_by_c``, their MAP for every C; ``converged``, for every C; ``seconds`` of the processor.
    """
    train, valid, test = map(runs.take, trial)
    results: dict[str, Any] = {}
    for form in dict.fromkeys(method.form for method in METHODS):
        queries, model = features_of(form, train, settings.grid.bins)
        valid_rows, test_rows = (topics.queries(form).features for topics in (valid, test))
        for method in (method for method in METHODS if method.form == form):
            begun = time.process_time()
            steps = train_path(method, queries, model, settings.grid, seed=settings.seed)
            scores = [model.forward(step.params, valid_rows)[0] for step in steps]
            means = [float(ap_of_topics(valid, ranking).mean()) for ranking in scores]
            tests = [ap_of_topics(test, model.forward(step.params, test_rows)[0]) for step in steps]
            # The smallest C wins a tie, because C ascends.
            best = int(np.argmax(means))
            results[method.name] = {
                "c": settings.grid.c_of(method)[best],
                "valid": means,
                "test": tests[best].tolist(),
                "test_by_c": [float(values.mean()) for values in tests],
                "converged": [step.status == "converged" for step in steps],
                "seconds": round(time.process_time() - begun, 2),
            }
    return {"test": trial.test.tolist(), "methods": {method.name: results[method.name] for method in METHODS}}


@dataclass(frozen=True, eq=False)
class SystemResult:
    """One method or run on one data set."""

    # The name of the method, or "Best run", "2nd best" or "3rd best".
    name: str
    # The mean average precision of each topic over the trials that test it, float64 (n_topics,).
    values: Float64Array
    # The test of SVMmap against this system, topic by topic; None for SVMmap itself.
    against: Significance | None
    # The name of the run, "" for a method.
    run: str = ""

    @property
    def mean(self) -> float:
        """MAP."""
        return float(self.values.mean())


@dataclass(frozen=True, eq=False)
class DataSetResult:
    """All methods and the best runs on one data set."""

    # One of "basic", "plain + basic", "all" and "all without the best".
    name: str
    # The number of runs that features were made of, and of thresholds in the first trial.
    n_runs: int
    n_features: int
    # The numbers of documents and relevant documents of all topics, in the union of the runs.
    n_documents: int
    n_relevant: int
    # The topics that a trial tested. In balanced trials these are all topics.
    topics: tuple[str, ...]
    # All methods, SVMmap first, and the three best runs.
    methods: tuple[SystemResult, ...]
    base: tuple[SystemResult, ...]
    # By method: how often validation chose which C, and MAP of the test topics at each C, over all trials,
    # whatever was chosen.
    chosen: dict[str, dict[float, int]]
    by_c: dict[str, dict[float, float]]
    # By method: the processor time of all trials, and the number of trainings that ended before their
    # criterion was met.
    seconds: dict[str, float]
    not_converged: dict[str, int]


def _result(
    name: str, runs: RunsOfTopics, grid: Grid, n_features: int, trials: Sequence[Any]
) -> DataSetResult:
    """Return the results on a data set, from the trials on it.

    The value of a topic is the mean of its average precision over the trials that test it, and MAP the
    mean over topics. In balanced trials that is the mean over all trials of their MAP, too.
    """
    scores = runs.data_sets[name]
    every = np.concatenate([trial["test"] for trial in trials])
    tested, at = np.unique(every, return_inverse=True)
    by_method = {method.name: [trial["methods"][method.name] for trial in trials] for method in METHODS}
    grids = {method.name: grid.c_of(method) for method in METHODS}
    values = {
        method: np.bincount(at, weights=np.concatenate([trial["test"] for trial in results]))
        / np.bincount(at)
        for method, results in by_method.items()
    }
    reference, single = values[SVM_MAP], runs.single[name].items()
    return DataSetResult(
        name=name,
        n_runs=len(scores.tags),
        n_features=n_features,
        n_documents=len(scores.labels),
        n_relevant=int((scores.labels >= 1).sum()),
        topics=tuple(runs.topics[topic] for topic in tested),
        methods=tuple(
            SystemResult(method, trial, None if method == SVM_MAP else signed_rank(reference, trial))
            for method, trial in values.items()
        ),
        base=tuple(
            SystemResult(place, trial[tested], signed_rank(reference, trial[tested]), run)
            for place, (run, trial) in zip(("Best run", "2nd best", "3rd best"), single, strict=False)
        ),
        chosen={m: {c: sum(t["c"] == c for t in by_method[m]) for c in grids[m]} for m in by_method},
        by_c={
            m: dict(
                zip(grids[m], np.mean([t["test_by_c"] for t in by_method[m]], axis=0).tolist(), strict=True)
            )
            for m in by_method
        },
        seconds={m: float(sum(t["seconds"] for t in by_method[m])) for m in by_method},
        not_converged={m: sum(t["converged"].count(False) for t in by_method[m]) for m in by_method},
    )


# Algorithm 1 as published: how many constraints it adds, next to the bound of Theorem 1

# The maximum number of passes of Algorithm 1 over the topics. The full run needs fewer.
_PASSES = 200


class Count(NamedTuple):
    """Training runs with one C."""

    c: float
    # The bound of Theorem 1, the smallest of the trials.
    bound: float
    # The largest number of constraints of a trial.
    largest: int
    # The number of constraints that Algorithm 1 added, as a mean over trials.
    added: float


@dataclass(frozen=True, eq=False)
class Constraints:
    """Counts on one data set, for every C."""

    name: str
    # The largest radius of the trials.
    radius: float
    counts: tuple[Count, ...]
    n_trainings: int
    n_converged: int

    @property
    def is_bounded(self) -> bool:
        """Whether all training runs respect the bound of Theorem 1 on the number of constraints."""
        return all(count.largest <= count.bound for count in self.counts)


@dataclass(frozen=True, eq=False)
class TrialResults(Results[Yue2007, DataSetResult]):
    """All results, by data set."""

    # One value for each data set.
    constraints: tuple[Constraints, ...]


def _count(train: RunScores, grid: Grid) -> dict[str, Any]:
    """Train SVMmap for every C with a slack for each topic, as Algorithm 1 does; JSON."""
    queries, model = features_of(METHODS[0].form, train, grid.bins)
    objective, start = make_objective(queries, SVMMap(rel=1), model), np.zeros(model.n_params)
    rows = []
    for c in grid.hinge_c:
        trainer = CuttingPlane(epsilon=grid.epsilon, slack="each", C=c, max_iter=_PASSES)
        result = trainer.minimize(objective, start)
        rows.append({"c": c, "added": result.counts["added"], "converged": result.status == "converged"})
    worst = AP(rel=1)(-queries.labels, queries.labels, queries.qptr)
    return {
        "n": queries.n_queries,
        "epsilon": grid.epsilon,
        "radius": ranking_radius(step_features(model, queries.features), queries.labels, queries.qptr),
        "loss": 1.0 - float(worst.min()),
        "rows": rows,
    }


def _constraints(name: str, trials: Sequence[Any]) -> Constraints:
    """Return the counts on a data set, from `_count` of its trials."""
    counts = []
    for rows in zip(*(trial["rows"] for trial in trials), strict=True):
        c = float(rows[0]["c"])
        bound = min(
            constraints_bound(trial["n"], c, trial["epsilon"], trial["radius"], trial["loss"])
            for trial in trials
        )
        added = [int(row["added"]) for row in rows]
        counts.append(Count(c, bound, max(added), float(np.mean(added))))
    converged = [row["converged"] for trial in trials for row in trial["rows"]]
    radius = max((trial["radius"] for trial in trials), default=0.0)
    return Constraints(name, radius, tuple(counts), len(converged), sum(converged))
