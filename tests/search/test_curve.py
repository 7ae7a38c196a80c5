"""What a search keeps of the way of each training, and of the scores of what it chose."""

import numpy as np

import directrix as dx
from directrix.data.split import fold_numbers
from directrix.data.synthetic import make_cubic
from directrix.search.clock import LearningCurve, mean_curve
from directrix.search.folds import search_folds, validation_queries
from tests.search import search

Q = make_cubic(40, 8, 4, label_noise=0.1, seed=3)


def curve(*rows):
    return LearningCurve(*np.array(rows, dtype=np.float64).reshape(-1, 5).T)


def test_steps_that_were_seen_are_joined_with_their_seconds():
    trace = [{"iteration": i, "loss": -float(i), "score": 0.1 * (i != 1)} for i in range(4)]
    joined = LearningCurve.of(trace, {0: 0.5, 1: 0.75, 2: 1.5})
    np.testing.assert_array_equal(joined.steps, [0, 1, 2])
    np.testing.assert_array_equal(joined.seconds, [0.5, 0.75, 1.5])
    np.testing.assert_array_equal(joined.loss, [0, -1, -2])
    np.testing.assert_array_equal(joined.valid, [0.1, 0.0, 0.1])
    np.testing.assert_array_equal(joined.best, [0.1, 0.1, 0.1])
    assert np.isnan(LearningCurve.of([{"iteration": 0, "loss": 1.0}], {0: 0.1}).valid).all()
    assert len(LearningCurve.of([], {}).steps) == 0


def test_under_restarts_a_step_is_a_run():
    trace = [{"iteration": i, "loss": 10.0 * run + i, "restart": run} for run in (1, 2) for i in range(3)]
    joined = LearningCurve.of(trace, {1: 0.5, 2: 1.0})
    np.testing.assert_array_equal(joined.steps, [1, 2])
    np.testing.assert_array_equal(joined.loss, [12.0, 22.0])


def test_the_mean_over_folds_keeps_the_last_step_of_those_that_ended():
    one = curve((0, 1.0, 4.0, 0.4, 0.4), (1, 2.0, 2.0, 0.2, 0.4))
    two = curve((0, 3.0, 8.0, 0.6, 0.6))
    mean = mean_curve([one, two])
    np.testing.assert_array_equal(mean.steps, [0, 1])
    np.testing.assert_array_equal(mean.seconds, [4.0, 5.0])
    np.testing.assert_array_equal(mean.loss, [6.0, 5.0])
    np.testing.assert_allclose(mean.valid, [0.5, 0.4], rtol=1e-15, atol=0)
    np.testing.assert_allclose(mean.best, [0.5, 0.5], rtol=1e-15, atol=0)
    assert mean_curve([one]) is one
    assert len(mean_curve([one, curve()]).steps) == 0


def test_a_candidate_has_the_curve_of_its_training():
    train, valid = Q.take(range(30)), Q.take(range(30, 40))
    result = search(train, valid, method="ListNet", settings={"l2": 1e-4, "max_iter": 6})
    for candidate in result.candidates:
        steps = candidate.curve.steps
        np.testing.assert_array_equal(steps, np.arange(len(steps)))
        assert len(steps) > 2
        np.testing.assert_allclose(candidate.curve.valid.max(), candidate.valid, rtol=1e-12, atol=0)
        assert 0.0 < candidate.curve.seconds[0] < candidate.curve.seconds[-1] < candidate.seconds
    losses = [row["loss"] for row in result.ranker.result_.trace]
    np.testing.assert_array_equal(result.chosen.curve.loss, losses)
    assert "seconds" not in str(result.ranker.model_)


def test_the_scores_of_the_choice_are_those_of_the_validation_queries():
    train, valid = Q.take(range(30)), Q.take(range(30, 40))
    result = search(train, valid, method="ApproxNDCG", settings={"max_iter": 5})
    scores = result.ranker.predict_queries(valid)
    np.testing.assert_allclose(result.scores / result.scores[0], scores / scores[0], rtol=1e-12, atol=0)


def test_without_a_validation_set_they_are_of_models_of_the_other_folds():
    result = search(Q, method="Regression", seed=3, folds=4)
    folds, _ = search_folds(Q, None, (None, None), result.folds, result.seed)
    queries = validation_queries(folds)
    number = fold_numbers(Q.n_queries, 4, seed=3)
    order = np.concatenate([np.flatnonzero(number == fold) for fold in range(4)])
    assert queries.query_ids == tuple(Q.query_ids[i] for i in order)
    np.testing.assert_array_equal(queries.labels, Q.take(order).labels)
    values = dx.measure("nDCG@10")(result.scores, queries.labels, queries.qptr)
    np.testing.assert_allclose(values, result.chosen.values, rtol=1e-12, atol=0)
