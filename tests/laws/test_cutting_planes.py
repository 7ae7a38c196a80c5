"""Theorem 1 of Yue et al. (2007) against brute force, and against what Algorithm 1 adds."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from tests.reference.structural import before

Q = dx.data.make_cubic(n_queries=6, docs_per_query=8, n_features=3, seed=0)


def psi(X, labels, ranking, rel=1):
    """The combined feature map of Section 3, as printed."""
    relevant = [i for i, label in enumerate(labels) if label >= rel]
    others = [j for j, label in enumerate(labels) if label < rel]
    y = before(ranking)
    total = sum(y[i][j] * (X[i] - X[j]) for i in relevant for j in others)
    return total / (len(relevant) * len(others))


def largest_distance(X, labels, rel=1):
    """max_y |Psi(y_i) - Psi(y)| over all rankings."""
    perfect = sorted(range(len(labels)), key=lambda i: labels[i] < rel)
    rankings = permutations(range(len(labels)))
    return max(np.linalg.norm(psi(X, labels, perfect, rel) - psi(X, labels, y, rel)) for y in rankings)


@pytest.mark.parametrize("rel", [1, 2])
def test_no_ranking_is_farther_than_the_radius(rel):
    rng = np.random.default_rng(rel)
    for n_features in (1, 2, 5):
        X, labels = rng.standard_normal((5, n_features)), np.array([0.0, 2.0, 1.0, 0.0, 2.0])
        farthest = largest_distance(X, labels, rel)
        radius = dx.laws.ranking_radius(X, labels, np.array([0, 5]), rel)
        assert farthest <= radius * (1 + 1e-12)
        sparse = dx.laws.ranking_radius(sp.csr_array(X), labels, np.array([0, 5]), rel)
        np.testing.assert_allclose(sparse, radius, rtol=1e-14, atol=0)


def test_of_one_feature_that_separates_the_documents_the_radius_is_attained():
    X, labels = np.array([[3.0], [1.0], [0.5], [0.0]]), np.array([1.0, 0.0, 1.0, 0.0])
    # wrong pairs up: (3 - 1) + (3 - 0) + (0.5 - 0), down: (1 - 0.5); times 2 over 4 pairs
    np.testing.assert_allclose(
        dx.laws.ranking_radius(X, labels, np.array([0, 4])), 2 * 5.5 / 4, rtol=1e-14, atol=0
    )
    separated, qptr = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 4])
    np.testing.assert_allclose(
        dx.laws.ranking_radius(X, separated, qptr), largest_distance(X, separated), rtol=1e-13, atol=0
    )


def test_the_radius_is_that_of_the_worst_query_and_0_without_pairs():
    X, labels = np.array([[1.0], [0.0], [9.0], [0.0], [5.0], [1.0]]), np.array([1.0, 0, 1, 0, 1, 1])
    assert dx.laws.ranking_radius(X, labels, np.array([0, 2, 4, 6])) == 2 * 9.0
    assert dx.laws.ranking_radius(X, labels * 0, np.array([0, 2, 4, 6])) == 0.0


def test_the_bound_is_the_larger_of_the_two_of_theorem_1():
    few = dx.laws.constraints_bound(10, C=1e-9, epsilon=0.01, radius=2.0, loss=0.5)
    many = dx.laws.constraints_bound(10, C=3.0, epsilon=0.01, radius=2.0, loss=0.5)
    np.testing.assert_allclose(few, 2 * 10 * 0.5 / 0.01, rtol=1e-14, atol=0)
    np.testing.assert_allclose(many, 8 * 3.0 * 0.5 * 2.0**2 / 0.01**2, rtol=1e-14, atol=0)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_algorithm_1_adds_no_more(C):
    pytest.importorskip("piqp")
    epsilon = 0.01
    trainer = dx.CuttingPlane(epsilon=epsilon, slack="each", C=C)
    result = trainer.minimize(dx.linear_objective(Q, "SVMMap"), np.zeros(Q.n_features))
    radius = dx.laws.ranking_radius(Q.features, Q.labels, Q.qptr)
    bound = dx.laws.constraints_bound(Q.n_queries, C=C, epsilon=epsilon, radius=radius)
    assert result.status == "converged"
    assert 0 < result.counts["added"] <= bound


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_queries": 0}, r"constraints_bound\(n_queries=0\)"),
        ({"C": 0.0}, r"C=0\.0"),
        ({"epsilon": 0.0}, r"epsilon=0\.0"),
        ({"radius": -1.0}, r"radius=-1\.0"),
        ({"loss": 1.5}, r"loss=1\.5"),
    ],
)
def test_numbers_out_of_range_are_refused(wrong, message):
    with pytest.raises(dx.InputError, match=message):
        dx.laws.constraints_bound(
            **{"n_queries": 1, "C": 1.0, "epsilon": 0.1, "radius": 1.0, "loss": 1.0} | wrong
        )
