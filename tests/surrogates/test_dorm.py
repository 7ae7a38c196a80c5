"""DORM against all rankings, against SciPy's assignment, and the shape that its two rules for ties have."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import directrix as dx
from directrix.surrogates._kernels import dorm_top
from tests.reference import dorm
from tests.surrogates import one

RULES = ["score", "mean"]
RISING = dx.define_measure("Rising", discount=lambda ranks: ranks)


@st.composite
def queries(draw, largest=6):
    """Scores, labels of one query and a cut-off: ties, close and far scores, any number of levels."""
    n = draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.standard_normal(n) * draw(st.sampled_from([0.01, 0.1, 0.5, 3.0]))
    if draw(st.booleans()):
        scores = np.round(4 * scores) / 4
    levels = draw(st.sampled_from([1, 2, 3, 4, 5, 0]))
    labels = rng.integers(0, levels, n) * 1.0 if levels else np.round(3 * rng.random(n), 2)
    return scores, labels, draw(st.none() | st.integers(1, n + 2))


def filled(surrogate, prepared, scores):
    """Value and gradient of one query, with given preparation."""
    out = np.zeros(1), np.zeros(len(scores))
    surrogate.fill(scores, prepared, np.array([0, len(scores)]), (0, 1), out)
    return out[0][0], out[1]


def held(surrogate, scores, labels):
    """What one query prepares when it is held at these scores."""
    qptr = np.array([0, len(scores)])
    return surrogate.convexify(scores, surrogate.prepare(labels, qptr), qptr)


@pytest.mark.parametrize("ties", RULES)
@settings(max_examples=50)
@given(query=queries())
def test_values_are_the_maximum_over_all_rankings(ties, query):
    *data, k = query
    expected = dorm.by_rankings(*data, k, ties)
    np.testing.assert_allclose(one(dx.Dorm(k, ties), *data)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ties", RULES)
@given(query=queries(largest=60))
def test_values_are_those_of_scipys_assignment(ties, query):
    *data, k = query
    expected = dorm.by_assignment(*data, k, ties)
    np.testing.assert_allclose(one(dx.Dorm(k, ties), *data)[0], expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("way", ["levels", "documents"])
@given(query=queries(largest=25))
def test_both_ways_to_fill_the_top_are_exact(way, query):
    """Each on queries that the choice between them would give to the other."""
    scores, labels, k = query
    n = len(scores)
    k = 1 + (k or n) % n
    if k == n:
        return
    order = np.lexsort((-scores, -labels))
    t, starts = scores[order], np.append(np.flatnonzero(np.diff(labels[order], prepend=-1)), n)
    u = t - np.exp2(labels[order]) / 10
    c = 1 / np.log2(np.arange(2, n + 2))
    by_score, by_u = np.argsort(-t, kind="stable"), np.argsort(-u, kind="stable")
    chosen = np.zeros(n, dtype=bool)
    if way == "levels":
        assert dorm_top._by_levels(t, u, starts, by_score, by_u, c, k, chosen)
    else:
        dorm_top._by_documents(t, u, by_score, by_u, c, k, chosen)
    assert chosen.sum() == k
    got = c[:k] @ np.sort(u[chosen])[::-1] + c[k:] @ np.sort(t[~chosen])[::-1]
    worth = np.where(np.arange(n) < k, np.outer(u, c), np.outer(t, c))
    rows, columns = dorm.linear_sum_assignment(worth, maximize=True)
    np.testing.assert_allclose(got, worth[rows, columns].sum(), rtol=1e-12, atol=1e-11)


def test_a_cut_off_has_the_ways_it_says():
    """Few labels go over levels, as many labels as documents over documents."""
    rng = np.random.default_rng(0)
    used = []
    for n, levels, k in [(300, 3, 10), (300, 300, 10), (300, 5, 200)]:
        used.append(dorm_top.levels_are_cheaper(n, levels, k))
        labels = np.repeat(np.arange(levels)[::-1], n // levels) / levels
        data = rng.standard_normal(n) / 4, labels
        expected = dorm.by_assignment(*data, k)
        np.testing.assert_allclose(one(dx.Dorm(k), *data)[0], expected, rtol=1e-12, atol=1e-11)
    assert used == [True, False, True]
    assert dorm_top.levels_are_cheaper(10_000, 100, 10)
    assert not dorm_top.levels_are_cheaper(9_999, 100, 10)


@given(
    at_start=arrays(float, 3, elements=st.integers(-9, 3)),
    at_end=arrays(float, 3, elements=st.integers(-9, 0)),
    swaps=arrays(float, (2, 3, 3), elements=st.integers(-2, 0)),
)
def test_a_path_is_the_best_of_all_paths(at_start, at_end, swaps):
    """Bellman and Ford against all sequences of levels; no cycle gains, some cost nothing."""
    np.einsum("wii->wi", swaps)[:] = -np.inf
    taken = np.full(3, 2)
    gain = dorm_top._add_rank_by_levels((at_start, at_end, swaps[0], swaps[1]), 1e-12, taken)
    reached = {}
    for length in (1, 3, 5):
        for path in product(range(3), repeat=length):
            steps = zip(path[::2], path[1::2], path[2::2], strict=False)
            inner = sum(swaps[0][a, b] + swaps[1][b, c] for a, b, c in steps)
            after = tuple(2 + path[::2].count(m) - path[1::2].count(m) for m in range(3))
            found = reached.setdefault(at_start[path[0]] + at_end[path[-1]] + inner, {})
            found.setdefault(length, set()).add(after)
    assert gain == max(reached)
    assert tuple(taken) in reached[gain][min(reached[gain])]


@pytest.mark.parametrize("k", [None, 2, 5])
def test_seven_documents_with_ties_by_all_rankings(k):
    scores, labels = (
        np.array([0.25, 0.0, 0.25, 0.5, 0.0, 0.0, 0.5]),
        np.array([0.0, 1.0, 1.0, 0.0, 2.0, 0.0, 0.0]),
    )
    for ties in RULES:
        expected = dorm.by_rankings(scores, labels, k, ties)
        np.testing.assert_allclose(one(dx.Dorm(k, ties), scores, labels)[0], expected, rtol=1e-13)


def test_ties_by_score_are_not_concave_unless_held():
    """Two relevant documents trade places below an irrelevant one: halfway the value is lower.

    At the ends the better of them gains c(1) - c(2) in the perfect order, and in the worst c(2) - c(3).
    """
    labels = np.array([1.0, 1.0, 0.0])
    a, b = np.array([1.0, 0.0, 3.0]), np.array([0.0, 1.0, 3.0])
    surrogate = dx.Dorm()
    ends = one(surrogate, a, labels)[0], one(surrogate, b, labels)[0]
    c = 1 / np.log2([2, 3, 4])
    np.testing.assert_allclose(np.ptp(ends), 0.0, rtol=0, atol=1e-15)
    lower = ends[0] - one(surrogate, (a + b) / 2, labels)[0]
    np.testing.assert_allclose(lower, (c[0] - 2 * c[1] + c[2]) / 2, rtol=1e-12)
    prepared = held(surrogate, a, labels)
    assert (
        filled(surrogate, prepared, (a + b) / 2)[0]
        > (ends[0] + filled(surrogate, prepared, b)[0]) / 2 - 1e-15
    )


@pytest.mark.parametrize("ties", RULES)
@pytest.mark.parametrize("bounds", ["P@1", "P@3", "RBP(p=0.5)", *dorm.DEFINED])
@settings(max_examples=50)
@given(query=queries())
def test_other_measures_are_bounded_by_the_maximum_over_all_rankings(bounds, ties, query):
    scores, labels, _ = query
    surrogate = dx.Dorm(ties=ties, bounds=dorm.DEFINED[bounds]() if bounds in dorm.DEFINED else bounds)
    value, _ = one(surrogate, scores, labels)
    expected = dorm.by_rankings(scores, labels, None, ties, surrogate.bounds)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    worst = replace(surrogate.measure, ties="worst")(scores, labels, np.array([0, len(scores)]))[0]
    assert value <= worst + 1e-12


def test_winner_takes_all_asks_for_any_relevant_document_by_a_margin():
    """1 - max(0, 1 - (the best relevant score - the best irrelevant one)), by hand."""
    labels, scores = np.array([0.0, 2.0, 1.0, 0.0]), np.array([0.5, -3.0, 0.75, 0.0])
    value, grad = one(dx.Dorm(bounds="P@1"), scores, labels)
    assert value == 1 - (1 - (0.75 - 0.5))
    assert grad.tolist() == [-1.0, 0.0, 1.0, 0.0]


def test_the_sum_of_reciprocal_ranks_is_rr_for_one_relevant_document():
    rng = np.random.default_rng(0)
    scores, labels, qptr = rng.standard_normal(60), np.zeros(60), np.arange(0, 61, 6)
    labels[qptr[:-1] + rng.integers(0, 6, 10)] = 1.0
    measure = dorm.DEFINED["ReciprocalRanks"]()
    np.testing.assert_allclose(measure(scores, labels, qptr), dx.RR()(scores, labels, qptr), rtol=1e-15)


def test_a_ranker_learns_the_top_document():
    """Only the first feature says which document is first, and both say what is relevant."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2))
    y = (X[:, 0] == np.repeat(X[:, 0].reshape(40, 10).max(axis=1), 10)) * 1.0
    q = dx.Queries.from_arrays(X, y, group=[10] * 40)
    ranker = dx.LinearRanker(dx.Dorm(bounds="P@1"), trainer="cutting-plane", l2=1e-3).fit_queries(q)
    assert ranker.measure_ == dx.measure("P@1")
    assert ranker.score(X, y, group=[10] * 40) == 1.0
    assert ranker.coef_[0] > 10 * abs(ranker.coef_[1])


@pytest.mark.parametrize("ties", RULES)
@given(query=queries(largest=12))
def test_it_bounds_the_worst_order_of_ties(ties, query):
    scores, labels, k = query
    worst = dx.NDCG(k=k, ties="worst")(scores, labels, np.array([0, len(scores)]))[0]
    assert one(dx.Dorm(k, ties), scores, labels)[0] <= worst + 1e-12


@given(query=queries(largest=30))
def test_ties_by_score_are_the_tighter_bound(query):
    *data, k = query
    assert one(dx.Dorm(k), *data)[0] >= one(dx.Dorm(k, "mean"), *data)[0] - 1e-12


def test_a_query_without_a_gain_has_the_value_of_the_measure_and_no_gradient():
    for surrogate in (dx.Dorm(), dx.Dorm(2, "mean")):
        value, grad = one(surrogate, np.array([0.3, 0.1, 0.2]), np.zeros(3))
        assert value == 0.0 == surrogate.measure([0.3, 0.1, 0.2], [0.0, 0.0, 0.0], [0, 3])[0]
        assert not grad.any()


def test_known_values_by_hand():
    """Two documents: the wrong order costs c(1) - c(2) = d, so the margin asks for scores apart by d/d."""
    d = 1 - 1 / np.log2(3)
    for apart, expected in [(0.0, 1 - d), (0.25, 1 - 0.75 * d), (1.0, 1.0), (2.0, 1.0), (-1.0, 1 - 2 * d)]:
        value, grad = one(dx.Dorm(), np.array([apart, 0.0]), np.array([1.0, 0.0]))
        np.testing.assert_allclose(value, expected, rtol=1e-14)
        if apart < 1.0:
            np.testing.assert_allclose(grad, [d, -d], rtol=1e-14)


def test_a_cut_off_counts_ranks_below_it_in_the_feature():
    """Only nDCG is cut off: order below the cut-off is still asked for, without a margin."""
    labels, scores = np.array([2.0, 1.0, 0.0]), np.array([9.0, 0.0, 0.5])
    value, grad = one(dx.Dorm(1), scores, labels)
    d = 1 / np.log2(3) - 1 / np.log2(4)
    np.testing.assert_allclose(value, 1 - 0.5 * d, rtol=1e-13)
    np.testing.assert_allclose(grad, [0.0, d, -d], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("k", [None, 1, 5, 40])
@pytest.mark.parametrize("far", [1e10, 1e18, 1e30])
def test_a_score_far_from_all_others_does_not_drown_them(k, far):
    """The best document far above, the worst far below: as with any distance that settles where they are."""
    rng = np.random.default_rng(3)
    for n in (8, 150):  # over documents, over levels
        labels = np.append(rng.integers(1, 4, n), [4, 0]) * 1.0
        near = np.append(0.2 * rng.standard_normal(n), [1e3, -1e3])
        scores = np.append(near[:-2], [far, -far])
        (value, grad), (expected, slope) = one(dx.Dorm(k), scores, labels), one(dx.Dorm(k), near, labels)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(grad, slope, rtol=0, atol=1e-14)


@pytest.mark.parametrize("ties", RULES)
@pytest.mark.parametrize("k", [None, 1, 5])
@pytest.mark.parametrize("offset", [1e9, -1e15, 1e30])
def test_what_is_added_to_all_scores_does_not_matter(ties, k, offset):
    rng = np.random.default_rng(4)
    for n in (8, 150):
        labels = rng.integers(0, 4, n) * 1.0
        moved = np.round(4 * rng.standard_normal(n)) / 4 + offset  # at 1e30 all are tied
        scores = moved - offset
        (value, grad), (expected, slope) = (
            one(dx.Dorm(k, ties), moved, labels),
            one(dx.Dorm(k, ties), scores, labels),
        )
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13)
        assert np.array_equal(grad, slope)


@pytest.mark.parametrize("k", [None, 3])
def test_huge_scores_with_many_levels_are_finite(k):
    rng = np.random.default_rng(0)
    for spread in (1e30, 1e-30):
        value, grad = one(dx.Dorm(k), rng.standard_normal(200) * spread, rng.random(200))
        assert np.isfinite(value)
        assert np.isfinite(grad).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dx.Dorm(k=3, bounds="P@1"), r"k is the cut-off of nDCG.*bounds='P@5'"),
        (lambda: dx.Dorm(bounds="AP"), r"Dorm\(bounds='AP'\).*not a sum over documents.*SVMMap"),
        (lambda: dx.Dorm(bounds="P"), r"without a cut-off.*bounds='P@5'"),
        (lambda: one(dx.Dorm(bounds=RISING()), np.zeros(2), np.ones(2)), "the discount rises"),
        (lambda: dx.Dorm().prepare(np.ones(2), np.array([0, 2]), np.ones(2)), "takes no document weights"),
        (lambda: one(dx.Dorm(), np.zeros(2), np.array([0.0, 2000.0])), "too large"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(dx.InputError, match=message):
        make()
