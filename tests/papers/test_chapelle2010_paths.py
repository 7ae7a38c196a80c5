"""Paths of smoothing: what is kept of a training, and the round that validation chooses."""

import numpy as np
import pytest

from directrix.experiments.cells import run_cells
from directrix.experiments.splits import k_fold_splits
from directrix.measures.names import measure
from directrix.objectives.objective import linear_objective
from directrix.papers.chapelle2010 import Chapelle2010, PathResult, SmoothingPath, path_result
from directrix.rankers.linear import LinearRanker
from directrix.surrogates.smooth import SmoothNDCG
from directrix.trainers.full_gradients import CG
from directrix.trainers.regression import regression_start
from directrix.trainers.wrappers import Anneal
from tests.experiments.letor_folder import letor_queries

PATH = SmoothingPath(4.0, 0.25, 1e-2, 4)


@pytest.fixture(scope="module")
def splits():
    return k_fold_splits(letor_queries(), 3)


@pytest.fixture(scope="module")
def found(splits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    done = run_cells([PATH.cell("tiny", split) for split in splits], folder / "cells.jsonl")
    return path_result(PATH, list(done.values()))


def test_a_path_is_the_annealing_of_the_ranker(splits, found):
    assert found.sigmas.tolist() == [4.0, 2.0, 1.0, 0.5, 0.25]
    trainer = Anneal(CG(max_iter=4), start=4.0, stop=0.25)
    for number, split in enumerate(splits):
        ranker = LinearRanker(SmoothNDCG(0.25, 50), trainer=trainer, l2=1e-2, center="start")
        ranker.fit_queries(split.train)
        for what, q in (("train", split.train), ("valid", split.valid), ("test", split.test)):
            values = measure("nDCG@50")(ranker.predict_queries(q), q.labels, q.qptr)
            kept = (
                found.test[-1][found.fold_of == number]
                if what == "test"
                else getattr(found, what)[number, -1]
            )
            np.testing.assert_allclose(kept, values if what == "test" else values.mean(), rtol=1e-6, atol=0)
        w0 = regression_start(split.train)
        goal = linear_objective(split.train, SmoothNDCG(0.25, 50), 1e-2, w0=w0)
        at_start, at_end = (-goal.value_and_grad(w)[0] for w in (w0, ranker.coef_))
        np.testing.assert_allclose(found.surrogate[number, [0, -1]], [at_start, at_end], rtol=1e-6, atol=0)
        assert found.further[number] >= at_end - 1e-6
    assert sum(found.statuses.values()) == 3 * 5


def test_validation_chooses_a_round_for_every_fold(found):
    nothing = np.zeros((2, 3))
    made = PathResult(
        sigmas=np.array([2.0, 1.0]),
        surrogate=nothing,
        train=nothing,
        valid=np.array([[0.1, 0.9, 0.2], [0.5, 0.2, 0.1]]),
        test=np.arange(15.0).reshape(3, 5),
        fold_of=np.array([0, 0, 0, 1, 1]),
        further=np.zeros(2),
        statuses={},
    )
    assert made.chosen.tolist() == [1, 0]
    assert made.on_test(made.chosen).tolist() == [5.0, 6.0, 7.0, 3.0, 4.0]
    unknown = PathResult(**{**vars(made), "valid": np.full((2, 3), np.nan)})
    assert unknown.chosen.tolist() == [2, 2]  # the last one


def test_paths_that_are_compared_differ_in_one_thing_alone():
    settings = Chapelle2010()
    paths, whole = settings.paths, settings.whole_path
    assert whole == SmoothingPath(64.0, 1 / 64, 1e-3, 50)
    assert len(set(paths)) == len(paths)
    assert whole in paths
    assert [path.l2 for path in paths[:-1]] == list(settings.path_l2)
    assert paths[-1] == SmoothingPath(1 / 64, 1 / 64, 1e-3, 50 * 13)
