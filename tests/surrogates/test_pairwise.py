"""RankNet and RankSVM against loops over the pairs, and RankSVM's optimum against another solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

import directrix as dx
from tests.reference import pairwise as reference
from tests.reference.approx import slope


@st.composite
def queries(draw, largest=20):
    """Scores and labels of one query: ties, wide scores, few levels and as many as documents."""
    n = draw(st.integers(1, largest))
    spread = draw(st.sampled_from([1e-3, 1.0, 6.0, 300.0, 1e5]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.standard_normal(n) * spread
    if draw(st.booleans()):
        scores = np.round(scores / spread) * spread
    levels = draw(st.integers(1, 6))
    labels = rng.random(n) if levels == 6 else rng.integers(0, levels, size=n).astype(np.float64)
    return scores, labels


PAIRS = [(dx.RankNet(), reference.ranknet), (dx.RankSVM(), reference.ranksvm)]


@pytest.mark.parametrize(("surrogate", "naive"), PAIRS, ids=["RankNet", "RankSVM"])
@settings(deadline=None, max_examples=150)
@given(query=queries())
def test_values_are_those_of_the_loops(surrogate, naive, query):
    scores, labels = query
    value, _ = surrogate.value_and_grad(scores, labels, np.array([0, len(scores)]))
    np.testing.assert_allclose(value[0], naive(scores, labels), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("span", [100.0, 159.9, 160.1, 400.0])
def test_wide_and_narrow_scores_agree(span):
    """Above 160 pairs are taken one by one; both ways give what the loop gives."""
    rng = np.random.default_rng(3)
    scores, labels = rng.random(40), rng.integers(0, 4, 40).astype(float)
    scores = (scores - scores.min()) / np.ptp(scores) * span
    value, grad = dx.RankNet().value_and_grad(scores, labels, np.array([0, 40]))
    np.testing.assert_allclose(value[0], reference.ranknet(scores, labels), rtol=1e-13)
    expected = slope(lambda s: reference.ranknet(s, labels), scores, h=1e-4)
    np.testing.assert_allclose(grad, expected, rtol=1e-6, atol=1e-9)


def test_hinges_of_large_scores_do_not_cancel():
    """Sums of squares of scores of 1e6 would leave nothing of a hinge of 1/4."""
    scores, labels = np.array([1e6, 1e6 + 0.75, 3.0, -1e6, -1e6 - 0.5]), np.array([1.0, 2.0, 1.0, 1.0, 0.0])
    value, grad = dx.RankSVM().value_and_grad(scores, labels, np.array([0, 5]))
    # active: 1e6 + 0.75 over 1e6 by 0.75, and -1e6 over -1e6 - 0.5 by 0.5; 9 - 1 of 10 - 3 pairs count
    pairs = 10 - 3
    np.testing.assert_allclose(value[0], -(0.25**2 + 0.5**2) / pairs, rtol=1e-12)
    np.testing.assert_allclose(grad, np.array([-0.5, 0.5, 0.0, 1.0, -1.0]) / pairs, rtol=1e-12)


@pytest.mark.parametrize("surrogate", [dx.RankNet(), dx.RankSVM()], ids=repr)
def test_queries_without_pairs_count_zero(surrogate):
    labels, qptr = np.array([1.0, 1.0, 0.0, 3.0, 3.0]), np.array([0, 2, 2, 3, 5])
    value, grad = surrogate.value_and_grad(np.arange(5.0), labels, qptr)
    assert not value.any()
    assert not grad.any()


def test_pairs_are_counted_by_query():
    level, _, share = dx.RankNet().prepare(
        np.array([2.0, 0.5, 2.0, 7.0, 7.0, 1.0, 0.0]), np.array([0, 3, 3, 7])
    )
    assert level.tolist() == [1, 0, 1, 2, 2, 1, 0]
    np.testing.assert_allclose(share, [1 / 2, 0, 1 / 5], rtol=1e-15)


def test_hinges_bound_tau_and_the_measure_is_tau():
    assert dx.RankSVM().properties - dx.RankNet().properties == {"bound"}
    assert dx.RankNet().measure == dx.RankSVM().measure == dx.KendallTau()
    tied = dx.RankSVM().value_and_grad(np.zeros(2), np.array([0.0, 1.0]), np.array([0, 2]))[0]
    assert tied[0] == -1.0


def problem(seed, n_queries=4, n_docs=12, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_queries * n_docs, n_features))
    y = np.round(np.clip(X @ rng.standard_normal(n_features) + rng.standard_normal(len(X)), -2, 2)) + 2
    return X, y, np.repeat(np.arange(n_queries), n_docs)


def test_lbfgs_reaches_the_optimum_of_rank_svm():
    """LinearSVC on explicit differences: 1/2 |w|^2 + sum_p C_p max(0, 1 - w d_p)^2, C_p = 1/(2 l2 Q P_q)."""
    X, y, qid = problem(0)
    l2, differences, weights = 0.03, [], []
    for q in range(4):
        rows = np.flatnonzero(qid == q)
        pairs = [X[i] - X[j] for i in rows for j in rows if y[i] > y[j]]
        differences += pairs
        weights += [1 / (2 * l2 * 4 * len(pairs))] * len(pairs)
    d, c = np.array(differences), np.array(weights)
    sign = np.where(np.arange(len(d)) % 2 == 0, 1.0, -1.0)  # LinearSVC wants two classes
    svm = LinearSVC(loss="squared_hinge", fit_intercept=False, dual=False, C=1.0, tol=1e-12, max_iter=100_000)
    svm.fit(d * sign[:, None], sign, sample_weight=c)
    trainer = dx.LBFGS(max_iter=500, tol=1e-12, ftol=0.0)
    ranker = dx.LinearRanker(dx.RankSVM(), trainer=trainer, l2=l2).fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.coef_, svm.coef_[0], rtol=1e-6, atol=1e-8)
    w = ranker.coef_
    losses = np.maximum(0, 1 - d @ w) ** 2
    np.testing.assert_allclose(ranker.result_.value, 2 * l2 * (c @ losses) + l2 * (w @ w), rtol=1e-12)


def test_pairs_as_query_weights_are_the_published_objective():
    """1/2 |w|^2 + C sum over all pairs of all queries, at l2 = 1/(2 C sum P)."""
    rng = np.random.default_rng(0)
    qid, c = np.repeat([0, 1, 2], [5, 12, 20]), 0.1
    X, y = rng.standard_normal((37, 4)), rng.integers(0, 3, 37).astype(float)
    pairs = [(i, j) for i in range(37) for j in range(37) if qid[i] == qid[j] and y[i] > y[j]]
    weight = np.bincount([qid[i] for i, _ in pairs]).astype(float)
    l2 = 1 / (2 * c * len(pairs))
    q = dx.Queries.from_arrays(X, y, qid=qid)
    objective = dx.linear_objective(q, dx.RankSVM(), l2=l2, query_weight=weight)
    w = rng.standard_normal(4)
    published = 0.5 * w @ w + c * sum(max(0, 1 - (X[i] - X[j]) @ w) ** 2 for i, j in pairs)
    np.testing.assert_allclose(objective.value_and_grad(w)[0], 2 * l2 * published, rtol=1e-12)
