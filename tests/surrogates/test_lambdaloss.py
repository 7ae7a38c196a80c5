"""LambdaLoss: its gradient, its cut-off, and what the sum of its weights is."""

import math

import numpy as np
import pytest

import directrix as dx
from directrix.surrogates.lambdas import LambdaLoss
from tests.reference import references
from tests.reference.lambdaloss import discount, loss, ranks_of, weight

CASES = [LambdaLoss(**setting) for setting in references()["LambdaLoss"].settings]
QPTR = np.array([0, 12])
SCORES = np.array([5.1, 4.0, 3.5, 2.0, 2.0, 1.9, 1.0, 0.5, -0.5, -1.0, -3.0, -3.0])
LABELS = np.array([0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 3.0, 0.0, 1.0, 0.0, 0.0, 2.0])


def settings_of(surrogate):
    return {"k": surrogate.k, "version": surrogate.version, "mu": surrogate.mu}


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_the_gradient_is_the_slope_of_the_loss_whose_weights_are_held(surrogate):
    _, grad = surrogate.value_and_grad(SCORES, LABELS, QPTR)
    ranks, h = ranks_of(SCORES.tolist()), 1e-5
    for i in range(len(SCORES)):
        up, down = (
            loss(
                (SCORES + h * step * (np.arange(12) == i)).tolist(),
                LABELS,
                ranks=ranks,
                **settings_of(surrogate),
            )
            for step in (1, -1)
        )
        assert grad[i] == pytest.approx((up - down) / (2 * h), rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_the_value_is_that_of_the_naive_loops_with_ties_and_far_scores(surrogate):
    for scores in (SCORES, 0 * SCORES, 60 * SCORES):
        value, _ = surrogate.value_and_grad(scores, LABELS, QPTR)
        expected = loss(scores.tolist(), LABELS, **settings_of(surrogate))
        np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("surrogate", CASES, ids=repr)
def test_the_curvature_is_the_sum_of_w_p_1_minus_p_over_pairs(surrogate):
    prepared = surrogate.prepare(LABELS, QPTR)
    value, grad, curvature = surrogate.value_grad_curvature(SCORES, prepared, QPTR)
    for one, other in zip((value, grad), surrogate.value_and_grad(SCORES, LABELS, QPTR), strict=True):
        np.testing.assert_array_equal(one, other)
    ranks, expected = ranks_of(SCORES.tolist()), np.zeros(12)
    for i in range(12):
        for j in range(12):
            if LABELS[i] > LABELS[j]:
                p = 1 / (1 + math.exp(SCORES[i] - SCORES[j]))
                w = weight(LABELS, ranks, i, j, **settings_of(surrogate)) / math.log(2)
                expected[[i, j]] += w * p * max(1 - p, 0.05)
    np.testing.assert_allclose(curvature, expected, rtol=1e-12)


@pytest.mark.parametrize("version", ["NDCG-Loss2", "NDCG-Loss2++"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_relevant_document_below_the_cut_off_is_pulled_by_all_above(version, k):
    """Also by a neighbor below the cut-off; masks within the first k would leave it where it is."""
    scores, labels = np.array([9.0, 8.0, 7.0, 1.0, 0.5]), np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    _, grad = LambdaLoss(k=k, version=version).value_and_grad(scores, labels, np.array([0, 5]))
    assert grad[4] > 0.1
    assert (grad[:4] < -1e-3).all()


@pytest.mark.parametrize("k", [None, 1, 3, 20])
def test_the_weights_of_a_document_add_up_to_what_the_ranking_costs_it(k):
    """Wang et al. (2018), Section 5.2; Jagerman et al. (2022): sum of delta over those above = 1 - D@k."""
    labels, ranks = [1.0] + [0.0] * 11, list(range(1, 13))
    for rank in range(2, 13):
        ranks[0], ranks[rank - 1] = rank, 1
        above = [j for j in range(1, 12) if ranks[j] < rank]
        total = sum(weight(labels, ranks, 0, j, k=k, version="NDCG-Loss2", mu=1.0) for j in above)
        worth = discount(rank) if k is None or rank <= k else 0.0
        assert total == pytest.approx(1 - worth, rel=1e-12)
        ranks[0], ranks[rank - 1] = 1, rank


def test_a_small_mu_leaves_the_lambdas_of_lambdarank():
    _, lambdas = dx.Lambda("nDCG@4").value_and_grad(SCORES + 0.01 * np.arange(12), LABELS, QPTR)
    _, grad = LambdaLoss(k=4, mu=1e-12).value_and_grad(SCORES + 0.01 * np.arange(12), LABELS, QPTR)
    np.testing.assert_allclose(grad * math.log(2), lambdas, rtol=1e-6, atol=1e-9)
