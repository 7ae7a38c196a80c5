"""ListNet, ListMLE, RankCosine and Regression against the papers' own loops and SciPy."""

import math

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import directrix as dx
from tests.reference import listwise
from tests.surrogates import one, queries

PAIRS = {
    "ListNet": (dx.ListNet(), listwise.listnet),
    "ListNet of gains": (
        dx.ListNet("gains", temperature=2.0),
        lambda s, y: listwise.listnet(s, y, "gains", 2.0),
    ),
    "ListNet of shares": (dx.ListNet("shares"), listwise.listnet_of_shares),
    "ListMLE": (dx.ListMLE(), listwise.listmle),
    "ListMLE@1": (dx.ListMLE(k=1), lambda s, y: listwise.listmle(s, y, 1)),
    "ListMLE@4": (dx.ListMLE(k=4), lambda s, y: listwise.listmle(s, y, 4)),
    "RankCosine": (dx.RankCosine(), listwise.rank_cosine),
    "RankCosine of labels": (
        dx.RankCosine("labels", centered=True),
        lambda s, y: listwise.rank_cosine(s, y, "labels", centered=True),
    ),
    "Regression": (dx.Regression(), listwise.regression),
    "Regression without intercept": (
        dx.Regression(intercept=False),
        lambda s, y: listwise.regression(s, y, intercept=False),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@settings(deadline=None, max_examples=100)
@given(query=queries(levels=5, spreads=(0.05, 1.0, 30.0)))  # the loops take exponentials of scores
def test_values_are_those_of_the_papers_loops(name, query):
    surrogate, naive = PAIRS[name]
    np.testing.assert_allclose(one(surrogate, *query)[0], naive(*query), rtol=1e-12, atol=1e-13)


@settings(deadline=None, max_examples=100)
@given(query=queries(levels=5, largest=40))
def test_listnet_is_scipys_log_softmax(query):
    scores, labels = query
    value, grad = one(dx.ListNet(), scores, labels)
    target = scipy.special.softmax(labels)
    np.testing.assert_allclose(value, target @ scipy.special.log_softmax(scores), rtol=1e-12)
    np.testing.assert_allclose(grad, target - scipy.special.softmax(scores), rtol=1e-9, atol=1e-15)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9))
def test_listmle_without_equal_labels_is_the_likelihood_of_the_order(seed, n):
    rng = np.random.default_rng(seed)
    scores, labels = rng.standard_normal(n), rng.permutation(n).astype(np.float64)
    expected = listwise.plackett_luce(scores, list(np.argsort(-labels)))
    np.testing.assert_allclose(one(dx.ListMLE(), scores, labels)[0], expected, rtol=1e-12, atol=1e-14)


def test_factors_of_listmle_are_probabilities_of_plackett_luce_with_equal_labels_too():
    scores, labels = np.array([0.3, -1.0, 0.7, 0.2, -0.4]), np.array([2.0, 0.0, 1.0, 1.0, 0.0])
    chances = [
        listwise.chance_to_be_first(scores, i, [j for j in range(5) if labels[j] < labels[i]])
        for i in range(5)
    ]
    np.testing.assert_allclose(one(dx.ListMLE(), scores, labels)[0], np.log(chances).sum(), rtol=1e-12)


def test_places_of_equal_labels_at_the_cut_are_shared():
    """Two documents of label 1 share the second of two places: each counts half."""
    scores, labels = np.array([0.5, 0.1, -0.2, 0.0]), np.array([2.0, 1.0, 1.0, 0.0])
    factor = lambda i, lower: scores[i] - np.log(np.exp(scores[[i, *lower]]).sum())  # noqa: E731
    expected = factor(0, [1, 2, 3]) + 1 / 2 * factor(1, [3]) + 1 / 2 * factor(2, [3])
    np.testing.assert_allclose(one(dx.ListMLE(k=2), scores, labels)[0], expected, rtol=1e-13)


def test_a_query_of_equal_labels_teaches_listmle_nothing():
    value, grad = one(dx.ListMLE(), np.array([3.0, 1.0, 2.0]), np.ones(3))
    assert value == 0.0
    assert not grad.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_scores_have_the_exact_values(dtype):
    """At 1e30 a sum of two equal documents and one below is still 2 exponentials, not 1."""
    huge = dtype(1e30)
    scores, labels = np.array([huge, huge, -huge], dtype=dtype), np.array([1.0, 0.0, 0.0])
    value, grad = one(dx.ListMLE(), scores, labels)
    assert value == pytest.approx(-math.log(2), rel=1e-12)
    np.testing.assert_allclose(grad, [1 / 2, -1 / 2, 0], rtol=1e-6, atol=1e-12)
    value, grad = one(dx.ListNet(), scores, labels)
    p = scipy.special.softmax(labels)
    assert value == pytest.approx(-2 * float(huge) * p[2], rel=1e-6)
    np.testing.assert_allclose(grad, p - np.array([1 / 2, 1 / 2, 0]), rtol=1e-6)
    value, grad = one(dx.RankCosine(), scores, labels)
    assert value == pytest.approx(-(1 - 1 / math.sqrt(3)) / 2, rel=1e-6)
    value, grad = one(dx.Regression(), scores, labels)
    assert value == pytest.approx(-(float(huge) ** 2) * 3 / 4, rel=1e-6)  # best b is 1/2 huge
    assert np.isfinite(grad).all()


@settings(deadline=None, max_examples=60)
@given(query=queries(levels=5, largest=30, spreads=(0.05, 1.0, 30.0)), k=st.sampled_from([None, 2]))
def test_listmle_is_the_same_where_scores_are_wide(query, k):
    """A document far above all others, of the highest label, takes the way for a wide range of scores."""
    scores, labels = query
    value, grad = one(dx.ListMLE(k=k), scores, labels)
    wide, slope = one(
        dx.ListMLE(k=None if k is None else k + 1),
        np.append(scores, 1e4),
        np.append(labels, labels.max() + 1),
    )
    np.testing.assert_allclose(wide, value, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(slope, np.append(grad, 0.0), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("gap", [50.0, 800.0, 1e5])
def test_low_scores_are_compared_although_they_underflow_next_to_the_best(gap):
    """The two documents at the bottom differ by 1; exp of both is 0 next to that of the first."""
    scores, labels = np.array([0.0, -gap, -gap - 1.0]), np.array([2.0, 0.0, 1.0])
    value, grad = one(dx.ListMLE(), scores, labels)
    np.testing.assert_allclose(value, -math.log1p(math.e), rtol=1e-12)
    np.testing.assert_allclose(grad[1:], [-1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-1))], rtol=1e-12)


def test_listnet_of_a_small_temperature_looks_at_the_best_label_alone():
    scores, labels = np.array([0.5, -0.5, 1.0, 0.0]), np.array([2.0, 2.0, 1.0, 0.0])
    value, _ = one(dx.ListNet(temperature=1e-3), scores, labels)
    assert value == pytest.approx(scipy.special.log_softmax(scores)[:2].mean(), rel=1e-12)


def test_rank_cosine_leaves_zero_in_the_direction_of_the_gains():
    labels = np.array([0.0, 1.0, 2.0])
    for surrogate, y in [
        (dx.RankCosine(), np.array([0.0, 1.0, 3.0])),
        (dx.RankCosine(centered=True), np.array([0.0, 1.0, 3.0]) - 4 / 3),
    ]:
        value, grad = one(surrogate, np.zeros(3), labels)
        assert value == -1 / 2
        np.testing.assert_allclose(grad, y / np.linalg.norm(y) / 2, rtol=1e-14)
        np.testing.assert_allclose(one(surrogate, grad, labels)[0], 0.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("surrogate", [dx.RankCosine(), dx.RankCosine(centered=True)], ids=repr)
@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-40), ("float32", 1e-37), ("float64", 1e-310)])
def test_rank_cosine_takes_denormal_scores_for_zeros(surrogate, dtype, tiny):
    """Its slope is of the order of one over the scores, which would be no float."""
    labels = np.array([0.0, 1.0, 2.0])
    found = one(surrogate, np.array([tiny, 0.0, tiny / 2], dtype=dtype), labels)
    zeros = one(surrogate, np.zeros(3, dtype=dtype), labels)
    assert found[0] == zeros[0] == -1 / 2
    np.testing.assert_array_equal(found[1], zeros[1])


@pytest.mark.parametrize("score", [0.1, 49.0, 103.0, 1e-9, -3e7])
def test_rank_cosine_does_not_mistake_rounding_for_a_ranking(score):
    """The mean of equal scores may differ from them in the last bit."""
    for n in range(3, 40):
        labels = np.resize([0.0, 1.0, 2.0], n)
        value, grad = one(dx.RankCosine(centered=True), np.full(n, score), labels)
        assert value == -1 / 2
        assert np.abs(grad).max() < 1


def test_rank_cosine_takes_gains_whose_squares_are_no_floats():
    value, _ = one(dx.RankCosine(), np.array([0.0, 1.0, 1.0]), np.array([0.0, 600.0, 1.0]))
    assert value == pytest.approx(-(1 - 1 / math.sqrt(2)) / 2, rel=1e-12)


@pytest.mark.parametrize("surrogate", [dx.RankCosine(), dx.RankCosine(centered=True)], ids=repr)
@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1.0, 1e200])
def test_rank_cosine_is_the_same_for_all_multiples(surrogate, factor):
    scores, labels = np.array([0.3, -1.0, 0.7]), np.array([0.0, 1.0, 2.0])
    value, grad = one(surrogate, scores, labels)
    multiple, slope = one(surrogate, factor * scores, labels)
    assert multiple == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(factor * slope, grad, rtol=1e-10)
    assert abs(grad @ scores) < 1e-15  # the slope along the scores


def test_a_shift_moves_plain_cosine_and_plain_regression():
    """Their properties do not promise what does not hold."""
    scores, labels = np.array([0.3, -1.0, 0.7]), np.array([0.0, 1.0, 2.0])
    for surrogate in (dx.RankCosine(), dx.Regression(intercept=False)):
        assert "shift_invariant" not in surrogate.properties
        assert abs(one(surrogate, scores + 1, labels)[0] - one(surrogate, scores, labels)[0]) > 0.01


def test_classes_weigh_the_same_in_regression():
    """One relevant document off by 1 costs as much as all three irrelevant ones off by 1."""
    labels = np.array([1.0, 0.0, 0.0, 0.0])
    plain = dx.Regression(intercept=False)
    assert one(plain, np.array([2.0, 0.0, 0.0, 0.0]), labels)[0] == -1 / 2
    assert one(plain, np.array([1.0, 1.0, 1.0, 1.0]), labels)[0] == pytest.approx(-1 / 2, rel=1e-15)
    assert one(plain, np.array([1.0, 0.0, 0.0]), np.zeros(3))[0] == pytest.approx(-1 / 3, rel=1e-15)


@pytest.mark.parametrize("intercept", [True, False])
def test_document_weights_are_factors_in_regression(intercept):
    rng = np.random.default_rng(2)
    scores, labels, weight = rng.standard_normal(6), np.array([0.0, 1, 2, 0, 0, 1]), rng.random(6)
    q = dx.Queries.from_arrays(scores[:, None], labels, group=[len(labels)])
    objective = dx.linear_objective(q, dx.Regression(intercept=intercept), doc_weight=weight)
    expected = -listwise.regression(scores, labels, weight, intercept=intercept)
    np.testing.assert_allclose(objective.value_and_grad(np.ones(1))[0], expected, rtol=1e-12)


def test_documents_of_weight_0_are_not_there():
    qptr = np.array([0, 3])
    surrogate = dx.Regression()
    value, grad = np.zeros(1), np.zeros(3)
    surrogate.fill(
        np.arange(3.0), surrogate.prepare(np.ones(3), qptr, np.zeros(3)), qptr, (0, 1), (value, grad)
    )
    assert value[0] == 0.0
    assert not grad.any()


def test_linear_regression_is_solved_by_its_normal_equations():
    """One query: the surrogate's optimum is weighted least squares with an intercept."""
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((60, 4)), rng.choice([0.0, 1.0, 2.0], size=60)
    q = dx.Queries.from_arrays(X, labels, group=[len(labels)])
    found = dx.LBFGS(tol=1e-10, ftol=0).minimize(dx.linear_objective(q, dx.Regression()), np.zeros(4)).params
    np.testing.assert_allclose(found, dx.trainers.regression_start(q, ridge=1e-12), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.ListNet("gain"), r"ListNet\(target='gain'\).*'gains'.*'labels'.*'shares'"),
        (lambda: dx.RankCosine("ranks"), r"RankCosine\(target='ranks'\)"),
        (lambda: one(dx.Regression(), np.ones(1), np.array([300.0])), r"highest label is 300.*256"),
        (lambda: one(dx.ListNet(), np.ones(1), np.array([1100.0])), r"highest label is 1100"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_they_name_ndcg_as_what_to_report():
    for surrogate, _ in PAIRS.values():
        assert surrogate.measure == dx.NDCG()
        assert "tends_to_measure" not in surrogate.properties
