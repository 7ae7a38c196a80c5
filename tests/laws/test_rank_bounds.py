"""Bounds of smoothed ranks, document by document, against plain loops."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import directrix as dx
from directrix.errors import InputError
from directrix.laws import ndcg_bound, noisy_rank_bounds, rank_bounds, soft_ranks
from tests.reference.soft import beats, ndcg, rank_distribution

SCORES = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=9).map(np.array)


def gap(scores, i):
    """Delta of Theorem 3: the distance of the nearest other score."""
    return min((abs(s - scores[i]) for j, s in enumerate(scores) if j != i), default=math.inf)


def true_ranks(scores):
    return np.array([1 + sum(t > s for t in scores) for s in scores])


@settings(deadline=None)
@given(scores=SCORES, alpha=st.floats(0.1, 100.0))
def test_theorem_3_bounds_every_document_by_its_own_gap(scores, alpha):
    assume(len(np.unique(scores)) == len(scores))
    bounds = rank_bounds(scores, alpha)
    expected = [
        (len(scores) - 1) / (math.exp(min(gap(scores, i) * alpha, 700)) + 1) for i in range(len(scores))
    ]
    np.testing.assert_allclose(bounds, expected, rtol=1e-9, atol=1e-300)
    assert (np.abs(soft_ranks(scores, alpha=alpha) - true_ranks(scores)) <= bounds + 1e-12).all()


def test_of_two_documents_the_error_equals_the_bound_and_of_three_it_is_below():
    """The paper prints < for any number of documents."""
    for n, is_equal in ((2, True), (3, False)):
        scores = 0.3 * np.arange(n)
        error = np.abs(soft_ranks(scores, alpha=5.0) - true_ranks(scores))
        np.testing.assert_equal(np.isclose(error, rank_bounds(scores, 5.0), rtol=1e-12, atol=0.0), is_equal)


def test_queries_do_not_touch_each_other():
    scores, qptr = np.array([0.1, 0.9, 0.4, 0.11, 0.5, 0.3]), np.array([0, 3, 3, 5, 6])
    expected = np.concatenate([rank_bounds(scores[a:b], 4.0) for a, b in pairwise(qptr)])
    np.testing.assert_array_equal(rank_bounds(scores, 4.0, qptr), expected)
    assert expected[-1] == 0.0
    assert len(rank_bounds(np.zeros(0), 1.0)) == 0


def test_documents_that_tie_have_half_of_the_others_as_bound_and_the_others_do_not():
    scores = np.array([1.0, 3.0, 1.0, 9.0])
    np.testing.assert_allclose(
        rank_bounds(scores, 2.0), [3 / 2, 3 / (math.exp(4) + 1), 3 / 2, 3 / (math.exp(12) + 1)]
    )
    np.testing.assert_allclose(noisy_rank_bounds(scores, 0.5)[[0, 2]], [3 / 2, 3 / 2])
    assert noisy_rank_bounds(scores, 0.5)[1] < 0.02


@settings(deadline=None)
@given(scores=SCORES, sigma=st.floats(0.01, 3.0))
def test_ranks_of_noisy_scores_are_off_by_no_more_than_their_bound(scores, sigma):
    """The mean of |R - rank| by the recursion of SoftRank, for every document."""
    assume(len(np.unique(scores)) == len(scores))
    n, ranks, bounds = len(scores), true_ranks(scores), noisy_rank_bounds(scores, sigma)
    for j in range(n):
        error = rank_distribution(scores, j, sigma) @ np.abs(1 + np.arange(n) - ranks[j])
        flips = sum(0.5 * math.erfc(abs(scores[i] - scores[j]) / (2 * sigma)) for i in range(n) if i != j)
        assert error <= flips + 1e-12
        assert flips <= bounds[j] + 1e-12


@settings(deadline=None)
@given(scores=SCORES, sigma=st.floats(0.01, 3.0), seed=st.integers(0, 2**32 - 1))
def test_softndcg_is_no_further_from_ndcg_than_its_ranks_allow(scores, sigma, seed):
    """Lemma 2 of He and Liu (2010), with the bound of the ranks by flips."""
    assume(len(np.unique(scores)) == len(scores))
    labels = np.random.default_rng(seed).integers(0, 3, len(scores)).astype(float)
    exact = dx.NDCG()(scores, labels, np.array([0, len(scores)]))[0]
    limit = ndcg_bound(noisy_rank_bounds(scores, sigma).max())
    assert abs(ndcg(scores, labels, sigma) - exact) <= limit + 1e-12


@settings(deadline=None)
@given(scores=SCORES, sigma=st.floats(0.01, 3.0))
def test_a_rank_of_small_variance_is_the_nearest_to_its_mean(scores, sigma):
    """Lemma 6 of He and Liu (2010), our constant: P(R is the integer next to its mean) >= 1 - 4 var."""
    for j in range(len(scores)):
        p, ranks = rank_distribution(scores, j, sigma), np.arange(len(scores))
        mean = p @ ranks
        variance = p @ (ranks - mean) ** 2
        above = [beats(scores, i, j, sigma) for i in range(len(scores)) if i != j]
        np.testing.assert_allclose(variance, sum(q * (1 - q) for q in above), rtol=1e-6, atol=1e-12)
        assert p[round(mean)] >= 1 - 4 * variance - 1e-9


def test_the_example_after_theorem_2():
    """N = 200 documents, delta = .1: the paper bounds the coefficient by 1000 and by .02."""
    scores = 0.1 * np.arange(200)
    for sigma, published in ((0.02, 1000.0), (0.01, 0.02)):
        limit = 2 * ndcg_bound(noisy_rank_bounds(scores, sigma).max())
        np.testing.assert_allclose(limit, 199 * math.erfc(0.1 / (2 * sigma)) / (2 * math.log(2)), rtol=1e-6)
        assert limit < published


@pytest.mark.parametrize(("bounds", "name"), [(rank_bounds, "alpha"), (noisy_rank_bounds, "sigma")])
def test_smoothing_must_be_positive(bounds, name):
    with pytest.raises(InputError, match=f"{name} must be a number > 0"):
        bounds(np.arange(3.0), 0.0)
