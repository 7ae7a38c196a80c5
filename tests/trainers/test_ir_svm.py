"""IR-SVM: costs as loops over swaps compute them, its loss, and the minimum that another solver finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.svm import LinearSVC

import directrix as dx
from directrix.laws import check_surrogate
from directrix.surrogates.losses import GradedHinge
from directrix.trainers.ir_svm import pair_costs
from tests.reference import ir_svm as reference
from tests.surrogates import queries

GRADES = (0.0, 1.0, 2.0, 3.0)
COSTS = ((0.0, 0.0, 0.0, 0.0), (0.25, 0.0, 0.0, 0.0), (0.7, 0.5, 0.0, 0.0), (1.0, 0.0, 0.3, 0.0))
TAU = {(GRADES[a], GRADES[b]): COSTS[a][b] for a in range(4) for b in range(a)}


def problem(seed=0, sizes=(6, 1, 9, 4, 12), levels=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((sum(sizes), 4))
    y = np.round(np.clip(X @ rng.standard_normal(4) + rng.standard_normal(len(X)), 0, levels - 1))
    return dx.Queries.from_arrays(X, y, group=list(sizes))


def by_query(q):
    return [q.labels[lo:hi].tolist() for lo, hi in zip(q.qptr[:-1], q.qptr[1:], strict=True)]


@pytest.mark.parametrize("k", [None, 1, 3, 40])
@pytest.mark.parametrize("seed", range(4))
def test_costs_are_means_over_all_swaps(seed, k):
    q = problem(seed)
    expected = reference.costs(by_query(q), k)
    hinge = pair_costs(dx.NDCG(k=k), q, np.ones(q.n_queries))
    largest = max(expected.values())
    for a, high in enumerate(hinge.grades):
        for b, low in enumerate(hinge.grades):
            tau = expected.get((high, low), 0.0) / largest
            np.testing.assert_allclose(hinge.costs[a][b], tau, rtol=1e-12, atol=1e-14)


def test_weights_of_queries_count_in_the_costs():
    q = problem(1)
    twice = dx.Queries.from_arrays(
        np.vstack([q.features, q.features[:6]]), np.append(q.labels, q.labels[:6]), group=[6, 1, 9, 4, 12, 6]
    )
    weighted = pair_costs(dx.NDCG(), q, np.array([2.0, 1.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(weighted.costs, pair_costs(dx.NDCG(), twice, np.ones(6)).costs, rtol=1e-13)


@settings(deadline=None, max_examples=150)
@given(query=queries(20, spreads=(1e-3, 1.0, 300.0)))
def test_the_loss_is_that_of_the_loop(query):
    scores, labels = query
    value, _ = GradedHinge(GRADES, COSTS).value_and_grad(scores, labels, np.array([0, len(scores)]))
    np.testing.assert_allclose(value[0], reference.hinge(scores, labels, TAU), rtol=1e-13, atol=1e-14)


def test_the_loss_keeps_the_laws():
    """Convex: the gradient is a tangent everywhere; shifts, permutations, ties, scores of 1e30."""
    check_surrogate(GradedHinge(GRADES, COSTS))


def test_its_minimum_is_that_of_a_machine_on_explicit_pairs():
    """LinearSVC with the hinge on differences: 1/2 |w|^2 + sum_p c_p max(0, 1 - w d_p)."""
    q, C = problem(2), 3.0
    tau = reference.costs(by_query(q))
    largest, differences, weights = max(tau.values()), [], []
    for lo, hi in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        rows = range(lo, hi)
        pairs = [(i, j) for i in rows for j in rows if q.labels[i] > q.labels[j]]
        differences += [q.features[i].astype(float) - q.features[j] for i, j in pairs]
        costs = [tau[q.labels[i], q.labels[j]] / largest for i, j in pairs]
        weights += [C * cost / (q.n_queries * len(pairs)) for cost in costs]
    d, c = np.array(differences), np.array(weights)
    sign = np.where(np.arange(len(d)) % 2 == 0, 1.0, -1.0)  # LinearSVC wants two classes
    machine = LinearSVC(loss="hinge", fit_intercept=False, C=1.0, tol=1e-10, max_iter=10**6)
    w = machine.fit(d * sign[:, None], sign, sample_weight=c).coef_[0]

    def total(w):
        return 0.5 * w @ w + c @ np.maximum(0, 1 - d @ w)

    trainer = dx.trainers.IRSVM(C=C, epsilon=1e-7)
    result = trainer.minimize(dx.linear_objective(q, "ApproxNDCG"), np.zeros(4))
    assert result.status == "converged"
    np.testing.assert_allclose(C * result.value, total(result.params), rtol=1e-6)
    np.testing.assert_allclose(total(result.params), total(w), rtol=1e-5)
    assert result.dual <= result.value
    assert result.own_loss


def test_two_grades_make_a_rank_svm_of_any_measure():
    q = problem(3, levels=2)
    one, ten = (
        dx.trainers.IRSVM(costs=costs).minimize(dx.linear_objective(q, "RankNet"), np.zeros(4))
        for costs in ("nDCG@1", "nDCG@10")
    )
    assert one.params.tobytes() == ten.params.tobytes()


def test_labels_that_are_all_equal_leave_weights_of_zero():
    q = dx.Queries.from_arrays(np.eye(4), np.ones(4), group=[4])
    result = dx.trainers.IRSVM().minimize(dx.linear_objective(q, "RankNet"), np.zeros(4))
    assert (result.status, result.value) == ("converged", 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.trainers.IRSVM(costs="AP"), r"IRSVM\(costs='AP'\).*a sum over documents.*'nDCG@10'"),
        (
            lambda: dx.trainers.IRSVM().minimize(
                dx.linear_objective(problem(), "ApproxNDCG", doc_weight=np.arange(32.0)), np.zeros(4)
            ),
            "IRSVM.*takes no document weights.*query_weight",
        ),
    ],
)
def test_what_it_does_not_take_is_refused(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()
