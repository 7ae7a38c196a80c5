"""YetiRank against plain loops, and in boosting."""

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest

import directrix as dx
from directrix.objectives.scores import ScoreObjective
from tests.reference import references
from tests.reference.yeti import lambdas, noisy_scores

CASES = [dx.YetiRank(**setting) for setting in references()["YetiRank"].settings]


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_lambdas_and_curvatures_are_those_of_the_naive_loops(surrogate):
    rng = np.random.default_rng(3)
    qptr = np.array([0, 1, 6, 18, 30])
    scores, labels = 2 * rng.standard_normal(30), rng.integers(0, 4, 30).astype(float)
    prepared = surrogate.prepare(labels, qptr)
    _, grad, curvature = surrogate.value_grad_curvature(scores, prepared, qptr)
    given = {field.name: getattr(surrogate, field.name) for field in fields(surrogate)}
    for lo, hi in pairwise(qptr):
        pull, bend = lambdas(scores[lo:hi].tolist(), labels[lo:hi].tolist(), **given)
        np.testing.assert_allclose(grad[lo:hi], pull, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(curvature[lo:hi], bend, rtol=1e-9, atol=1e-14)


def test_a_pair_weighs_as_much_as_the_product_of_its_documents():
    scores, labels, qptr = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 2])
    surrogate = dx.YetiRank()
    weighted = surrogate.prepare(labels, qptr, np.array([2.0, 3.0]))
    grads = [
        surrogate.value_grad_curvature(scores, prepared, qptr)[1]
        for prepared in (surrogate.prepare(labels, qptr), weighted)
    ]
    np.testing.assert_allclose(grads[1], 6.0 * grads[0], rtol=1e-12)


def test_the_noise_is_logistic_and_differs_between_queries_permutations_and_draws():
    labels = [float(i % 3) for i in range(400)]
    settings = {"permutations": 20, "noise": 2.0}
    first, second = (
        np.array(list(noisy_scores([0.0] * 400, labels, draw=draw, **settings))) for draw in (0, 1)
    )
    assert first.std() == pytest.approx(2.0 * np.pi / np.sqrt(3.0), rel=0.02)
    assert abs(first.mean()) < 0.1
    assert np.quantile(first, 0.9) == pytest.approx(2.0 * np.log(9.0), rel=0.03)
    for one, other in ((first[0], first[1]), (first[0], second[0]), (first[:, :-1], first[:, 1:])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.2
    other_labels = np.array(list(noisy_scores([0.0] * 400, labels[::-1], draw=0, **settings)))
    assert abs(np.corrcoef(first[0], other_labels[0])[0, 1]) < 0.2


def test_every_tree_sees_other_noise(monkeypatch):
    q, drawn, redraw = dx.data.make_cubic(30, 20, 6, seed=1), [], dx.YetiRank.redraw

    def recorded(surrogate, *numbers):
        drawn.append(numbers)
        return redraw(surrogate, *numbers)

    monkeypatch.setattr(dx.YetiRank, "redraw", recorded)
    dx.BoostedRanker(n_trees=3, random_state=7).fit_queries(q)
    assert len(drawn) >= 3
    assert len(set(drawn)) == len(drawn)
    objective = ScoreObjective(q, dx.YetiRank(noise=3.0))
    grads = [objective.value_grad_curvature(np.zeros(q.n_docs), *draw)[1] for draw in (drawn[0], drawn[1])]
    assert not np.array_equal(grads[0], grads[1])


def test_permuting_documents_permutes_the_noise_with_them():
    rng = np.random.default_rng(5)
    scores, labels, order = rng.standard_normal(20), rng.integers(0, 4, 20).astype(float), rng.permutation(20)
    surrogate, qptr = dx.YetiRank(), np.array([0, 20])
    _, grad = surrogate.value_and_grad(scores, labels, qptr)
    _, mixed = surrogate.value_and_grad(scores[order], labels[order], qptr)
    np.testing.assert_allclose(mixed, grad[order], rtol=1e-12, atol=1e-15)


def test_a_pair_that_is_wrong_for_sure_has_a_bounded_step():
    scores, labels, qptr = np.array([0.0, 60.0]), np.array([1.0, 0.0]), np.array([0, 2])
    surrogate = dx.YetiRank()
    _, grad, curvature = surrogate.value_grad_curvature(scores, surrogate.prepare(labels, qptr), qptr)
    assert np.abs(grad / curvature).max() == pytest.approx(20.0)
