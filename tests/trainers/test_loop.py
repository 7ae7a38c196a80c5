"""Steps of wrapped trainers and of trees; what all trainers have in common is in test_conformance.py."""

import numpy as np
import pytest

import directrix as dx
from directrix.objectives.scores import ScoreObjective
from directrix.trainers.boosting import Boosting

Q = dx.data.make_cubic(n_queries=12, docs_per_query=15, n_features=4, seed=3)


def test_a_loss_of_ones_own_is_known_through_wrappers():
    objective, start = dx.linear_objective(Q, "ApproxNDCG"), np.array([1.0, -1.0, 0.5, 0.0])
    inner = dx.Restarts(dx.CoordinateAscent("nDCG", max_iter=1, random_state=1), n=2)
    result = dx.trainers.BestSoFar(inner, lambda params: float(params[0])).minimize(objective, start)
    assert result.own_loss
    exact = dx.NDCG()(objective.scores(result.params), Q.labels, Q.qptr).mean()
    np.testing.assert_allclose(result.value, -exact, rtol=1e-12)


@pytest.mark.parametrize("surrogate", ["ApproxNDCG", None])
def test_trees_tell_of_the_start_and_every_tree_and_stop(surrogate):
    pytest.importorskip("lightgbm")
    objective = None if surrogate is None else ScoreObjective(Q, dx.surrogate(surrogate))
    for last in (0, 2):
        seen = []
        result, trees = Boosting(n_trees=9, min_data_in_leaf=2, oblivious=surrogate is not None).grow(
            Q, objective, callback=lambda step, seen=seen, last=last: seen.append(step) or len(seen) > last
        )
        assert [step.iteration for step in seen] == list(range(last + 1))
        assert (result.status, len(result.trace), trees.n_trees) == (
            "stopped",
            last + 1,
            last,
        )


def test_trees_tell_of_the_start_where_there_is_nothing_to_split():
    pytest.importorskip("lightgbm")
    flat = dx.Queries.from_arrays(np.ones((4, 2)), [0, 1, 2, 0], group=[4])
    objective, seen = ScoreObjective(flat, dx.ApproxNDCG()), []
    result, trees = Boosting().grow(flat, objective, callback=seen.append)
    loss = objective.value_grad_curvature(np.zeros(4))[0]
    assert [(step.iteration, step.loss, step.params.tolist()) for step in seen] == [(0, loss, [0.0] * 4)]
    assert (result.trace, result.value) == ([{"iteration": 0, "loss": loss}], loss)
    assert (result.status, trees.n_trees) == ("converged", 0)
