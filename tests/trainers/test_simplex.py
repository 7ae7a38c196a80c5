"""The search on a simplex finds the best of all weights on its grid."""

from itertools import product

import numpy as np
import pytest

import directrix as dx
from tests.messages import rejects

Q = dx.data.make_cubic(n_queries=12, docs_per_query=15, n_features=4, seed=3)


def trained(q=Q, **settings):
    return dx.trainers.SimplexSearch(**settings).minimize(
        dx.linear_objective(q, "RankNet"), np.zeros(q.n_features)
    )


def naive(q, measure, steps):
    """Value of each vector of multiples of 1/steps that adds up to 1."""
    grid = (np.array(counts) / steps for counts in product(range(steps + 1), repeat=q.n_features))
    values = {}
    for w in grid:
        if w.sum() == 1.0:
            scores = (q.features @ w.astype(q.features.dtype)).astype(float)
            values[tuple(w)] = dx.evaluate(measure, scores, q.labels, qptr=q.qptr)[str(measure)]
    return values


@pytest.mark.parametrize("measure", ["nDCG@10", "AP"])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_it_finds_the_best_of_all_weights(measure, steps):
    values = naive(Q, measure, steps)
    result = trained(measure=measure, steps=steps)
    assert result.counts["evaluations"] == len(values) + 1
    start = -result.trace[0][
        "loss"
    ]  # equal weights are on the grid for 4 steps, and its first candidate else
    np.testing.assert_allclose(-result.value, max(*values.values(), start), rtol=1e-12)
    if -result.value > start:
        np.testing.assert_allclose(values[tuple(result.params)], -result.value, rtol=1e-12)
    losses = [row["loss"] for row in result.trace]
    assert losses == sorted(losses, reverse=True)


def test_weights_of_queries_count():
    weight = np.zeros(12)
    weight[2] = 1.0
    one = dx.trainers.SimplexSearch("AP", 3).minimize(
        dx.linear_objective(Q, "RankNet", query_weight=weight), np.zeros(4)
    )
    alone = trained(Q.take([2]), measure="AP", steps=3)
    assert one.params.tobytes() == alone.params.tobytes()
    assert one.value == pytest.approx(alone.value, rel=1e-15)


def test_features_that_order_nothing_are_left_out():
    X = np.column_stack([np.ones(6), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], np.repeat([4.0, 5.0], 3)])
    q = dx.Queries.from_arrays(X, [0, 1, 2, 0, 1, 2], group=[3, 3])
    result = trained(q, steps=5)
    assert result.counts["evaluations"] == 2  # the start, and the second feature alone
    assert result.value == -1.0
    constant = trained(dx.Queries.from_arrays(np.ones((3, 2)), [0, 1, 2], group=[3]))
    assert (constant.counts["evaluations"], constant.params.tolist()) == (1, [0.5, 0.5])


def test_a_grid_that_is_too_large_is_refused():
    wide = dx.Queries.from_arrays(np.random.default_rng(0).random((4, 700)), [0, 1, 2, 0], group=[4])
    with rejects(dx.InputError):
        trained(wide, steps=2)


def test_a_measure_that_is_defined_nowhere_is_refused():
    q = dx.Queries.from_arrays(np.eye(3), np.zeros(3), group=[3])
    with rejects(dx.InputError):
        trained(q, measure="ROCArea")
