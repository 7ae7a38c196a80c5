"""Structural surrogates against all rankings, and against the published loops."""

import dataclasses
from functools import lru_cache

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import directrix as dx
from directrix.measures.terms import discounts
from directrix.surrogates._kernels.structural import best_above, most_violated
from directrix.surrogates.structural import SVMMrr
from tests.messages import rejects
from tests.reference import structural as reference
from tests.surrogates import one

EXACT = [
    (dx.SVMMap, "map"),
    (dx.SVMRoc, "roc"),
    (SVMMrr, "rr"),
    (dx.SVMNdcg, "ndcg-worst"),
    (dx.PermuRank, "map"),
]
by_name = pytest.mark.parametrize(("kind", "loss"), EXACT, ids=lambda k: getattr(k, "__name__", k))


def margin(kind, n):
    return 2 / max(n * (n - 1), 1) if kind is dx.PermuRank else None


@lru_cache(maxsize=4096)
def all_planes(labels, loss, rel, c):
    return reference.planes(labels, loss, rel, c)


@st.composite
def queries(draw, largest=6):
    """Scores with many ties, labels 0-2."""
    n = draw(st.integers(1, largest))
    labels = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    spread = draw(st.sampled_from([0.0, 0.05, 0.25, 1.0, 1e3]))
    scores = draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    noise = draw(st.sampled_from([0.0, 0.01]))
    jitter = np.random.default_rng(draw(st.integers(0, 99))).standard_normal(n)
    return spread * (np.array(scores, dtype=float) + noise * jitter), np.array(labels, dtype=float)


@by_name
@settings(deadline=None, max_examples=60)
@given(query=queries(), rel=st.sampled_from([1, 2]))
def test_the_value_is_the_maximum_over_all_rankings(kind, loss, query, rel):
    scores, labels = query
    value, _ = one(kind(rel=rel), scores, labels)
    delta, slopes = all_planes(tuple(labels), loss, rel, margin(kind, len(labels)))
    expected = 1 - (delta + slopes @ scores).max()
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)


@by_name
def test_seven_documents(kind, loss):
    rng = np.random.default_rng(0)
    for n_relevant in (1, 3, 4, 6):
        labels = np.zeros(7)
        labels[rng.permutation(7)[:n_relevant]] = 1.0
        delta, slopes = reference.planes(labels, loss, 1, margin(kind, 7))
        for scores in (np.zeros(7), rng.standard_normal(7), rng.integers(0, 3, 7) / 4, labels - 0.5):
            value, _ = one(kind(), scores, labels)
            np.testing.assert_allclose(value, 1 - (delta + slopes @ scores).max(), rtol=1e-12, atol=1e-13)


@by_name
@settings(deadline=None, max_examples=40)
@given(query=queries(largest=5))
@example(query=(np.zeros(5), np.array([1.0, 0.0, 2.0, 0.0, 1.0])))
def test_the_gradient_mixes_rankings_that_attain_the_maximum(kind, loss, query):
    """Exactly the subgradients of a maximum of planes are their mixtures: a linear program finds one."""
    scores, labels = query
    _, grad = one(kind(), scores, labels)
    delta, slopes = all_planes(tuple(labels), loss, 1, margin(kind, len(labels)))
    hinge = delta + slopes @ scores
    active = np.unique(slopes[hinge >= hinge.max() - 1e-10 * (1 + np.abs(scores).max())], axis=0)
    mixed = np.vstack([active.T, np.ones(len(active))])
    found = linprog(np.zeros(len(active)), A_eq=mixed, b_eq=np.append(-grad, 1.0), bounds=(0, None))
    assert found.status == 0, (active, grad)


@settings(deadline=None, max_examples=30)
@given(query=queries(largest=5), rel=st.sampled_from([1, 2]))
def test_permurank_is_that_of_all_pairs(query, rel):
    """Pairs of two relevant documents, or two irrelevant ones, cancel."""
    value, _ = one(dx.PermuRank(rel=rel), *query)
    np.testing.assert_allclose(value, reference.permurank(*query, rel), rtol=1e-12, atol=1e-12)


@by_name
@settings(deadline=None, max_examples=60)
@given(query=queries(largest=12), rel=st.sampled_from([1, 2]), offset=st.sampled_from([0.0, 1e30]))
def test_it_bounds_the_worst_order_of_ties(kind, loss, query, rel, offset):
    scores, labels = query[0] + offset, query[1]
    surrogate = kind(rel=rel)
    worst = dataclasses.replace(surrogate.measure, ties="worst")(scores, labels, np.array([0, len(scores)]))[
        0
    ]
    assert not one(surrogate, scores, labels)[0] > worst + 1e-12  # an area may be undefined


@settings(deadline=None, max_examples=60)
@given(query=queries(), rel=st.sampled_from([1, 2]))
def test_graded_ndcg_lies_below_the_maximum_over_rankings(query, rel):
    """And meets it where relevant documents tie, as at the start of training, or have one gain."""
    scores, labels = query
    value, _ = one(dx.SVMNdcg(rel=rel), scores, labels)
    delta, slopes = all_planes(tuple(labels), "ndcg", rel, None)
    over_rankings = 1 - (delta + slopes @ scores).max()
    assert value <= over_rankings + 1e-12 * (1 + np.abs(scores).max())
    worthless = labels[labels < rel].max(initial=0.0) == 0.0
    relevant = labels >= rel
    if worthless and min(len(set(scores[relevant])), len(set(labels[relevant]))) <= 1:
        np.testing.assert_allclose(value, over_rankings, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [dx.SVMMap, dx.SVMRoc, SVMMrr, dx.SVMNdcg, dx.PermuRank])
@pytest.mark.parametrize("labels", [[], [0.0], [1.0], [0.0, 0.0], [1.0, 1.0, 1.0]], ids=str)
def test_queries_without_pairs_have_the_value_of_their_measure(kind, labels):
    qptr, surrogate = np.array([0, len(labels)]), kind()
    value, grad = np.full(1, 7.0), np.full(len(labels), 7.0)  # what is there before does not stay
    prepared = surrogate.prepare(np.array(labels), qptr)
    surrogate.fill(np.arange(float(len(labels))), prepared, qptr, (0, 1), (value, grad))
    exact = 1.0 if kind is dx.SVMRoc else float(bool(labels) and labels[0])
    assert value.tolist() == [exact]
    assert not grad.any()


def test_labels_between_can_be_irrelevant_and_still_have_a_gain():
    """The gain of label 1 counts in Z alone; with no label 2 nothing is left of the bound."""
    value, grad = one(dx.SVMNdcg(rel=2), np.zeros(3), np.array([1.0, 0.0, 1.0]))
    assert value == 0.0
    assert not grad.any()


def test_the_toy_example_of_the_paper():
    """Tables 1 and 2 of Yue et al. (2007): the value bounds AP and ROC area of both rankings from below.

    With scores of 0 no pair is worth anything: the value is the lowest that the measure can have.
    """
    labels = np.isin(np.arange(1, 9), [1, 6, 7]) * 1.0
    for scores, ap, roc in ((np.arange(8, 0, -1.0), 0.59, 0.47), (np.arange(1, 9.0), 0.51, 0.53)):
        assert round(dx.evaluate("AP", scores, labels, group=[len(labels)])["AP"], 2) == ap
        assert round(dx.evaluate("ROCArea", scores, labels, group=[len(labels)])["ROCArea"], 2) == roc
        for scale in (0.0, 1e-3, 1.0):
            assert one(dx.SVMMap(), scale * scores, labels)[0] <= ap
            assert one(dx.SVMRoc(), scale * scores, labels)[0] <= roc
    worst = (1 / 6 + 2 / 7 + 3 / 8) / 3
    np.testing.assert_allclose(one(dx.SVMMap(), np.zeros(8), labels)[0], worst, rtol=1e-14)
    np.testing.assert_allclose(one(dx.SVMRoc(), np.zeros(8), labels)[0], 0.0, atol=1e-15)


# ------------------------------------------------------------------ against the published loops


LOOPS = {
    dx.SVMMap: numba.njit(reference.opt_map),
    dx.PermuRank: numba.njit(reference.opt_map),
    SVMMrr: numba.njit(reference.opt_rr),
    dx.SVMNdcg: numba.njit(reference.opt_ndcg),
    dx.SVMRoc: numba.njit(reference.opt_roc),
}


def by_the_loop(kind, scores, labels):
    """Value and gradient, by sorting each class and the loop over R N pairs."""
    relevant = labels >= 1
    good, bad = (np.flatnonzero(which)[np.argsort(-scores[which])] for which in (relevant, ~relevant))
    x, z, n, r = scores[good], scores[bad], len(scores), len(good)
    ascending = np.sort(2 ** labels[good] - 1)
    ideal = (np.sort(2**labels - 1)[::-1] / np.log2(np.arange(2, n + 2))).sum()
    c = margin(kind, n) or 1 / (r * (n - r))
    loss = {
        SVMMrr: lambda ranks: 1 - 1 / ranks[0],
        dx.SVMRoc: lambda ranks: (ranks - np.arange(1, r + 1)).sum() / (r * (n - r)),
        dx.SVMNdcg: lambda ranks: 1 - (ascending / ideal / np.log2(1 + ranks)).sum(),
    }.get(kind, lambda ranks: 1 - (np.arange(1, r + 1) / ranks).mean())
    opt = LOOPS[kind](x, z, c, ascending / ideal)
    hinge, slope_x, slope_z = reference.of_opt(opt, x, z, c, loss)
    grad = np.empty(n)
    grad[good], grad[bad] = -slope_x, -slope_z
    return 1 - hinge, grad


@pytest.mark.parametrize("kind", LOOPS)
@settings(deadline=None, max_examples=40)
@given(
    size=st.integers(2, 2000),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([1e-3, 0.3, 3.0, 1e4]),
    shift=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_values_and_gradients_are_those_of_the_published_loop(kind, size, share, seed, spread, shift):
    rng = np.random.default_rng(seed)
    relevant = rng.permutation(size) < min(max(1, share * size), size - 1)
    labels = np.where(relevant, rng.integers(1, 3, size), 0).astype(float)
    scores = spread * (rng.standard_normal(size) + shift * relevant)
    value, grad = one(kind(), scores, labels)
    expected, slope = by_the_loop(kind, scores, labels)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(grad, slope, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
def test_large_scores_that_are_close_together_do_not_cancel(kind, offset):
    rng = np.random.default_rng(1)
    labels = (rng.random(300) < 0.2).astype(float)
    scores = np.round((rng.standard_normal(300) + labels) * 64) / 64  # as exact at 1e9 as at 0
    np.testing.assert_allclose(
        one(kind(), scores + offset, labels)[0], one(kind(), scores, labels)[0], rtol=1e-13
    )


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("far", [1e18, 1e30])
def test_scores_far_from_all_others_do_not_drown_them(kind, far):
    """One of each kind far above, one of each far below: the others do what they do at any such distance."""
    rng = np.random.default_rng(5)
    labels = np.append(rng.random(60) < 0.3, [1, 1, 0, 0]).astype(float)
    near = np.append(0.2 * rng.standard_normal(60), [1e4, -1e4, 1e4, -1e4])
    scores = np.append(near[:-4], np.sign(near[-4:]) * far)
    assert np.array_equal(one(kind(), scores, labels)[1], one(kind(), near, labels)[1])


def test_float32_scores_are_those_numbers():
    rng = np.random.default_rng(2)
    labels = (rng.random(500) < 0.1).astype(float)
    scores = rng.standard_normal(500).astype(np.float32)
    for kind in LOOPS:
        value, grad = one(kind(), scores, labels)
        exact, slope = one(kind(), scores.astype(float), labels)
        assert value == exact
        assert np.array_equal(grad, slope.astype(np.float32))


def test_ties_share_what_their_order_would_decide():
    """One relevant document below two tied irrelevant ones, one of which it passes in the best ranking."""
    labels = np.array([1.0, 0.0, 0.0])
    value, grad = one(dx.SVMMap(), np.array([0.3, 0.0, 0.0]), labels)
    # c = 1/2; going behind one document costs AP 1/2, behind both 2/3; each pair costs 2c (0.3 - 0.0)
    np.testing.assert_allclose(value, 1 - max(0, 1 / 2 - 0.3, 2 / 3 - 0.6), rtol=1e-14)
    np.testing.assert_allclose(grad, [1.0, -1 / 2, -1 / 2], rtol=1e-14)


def test_of_two_maximizing_rankings_the_one_with_fewer_wrong_pairs_is_taken():
    """Two documents, in order by just what swapping them loses: a corner, where the gradient may be 0."""
    for kind, lost in ((dx.SVMMap, 1 / 2), (SVMMrr, 1 / 2), (dx.PermuRank, 1 / 2), (dx.SVMRoc, 1.0)):
        value, grad = one(kind(), np.array([lost / 2, 0.0]), np.array([1.0, 0.0]))
        assert value == 1.0
        assert not grad.any()


# ------------------------------------------------------------------ Lemma 1 and Theorem 2


@st.composite
def two_lists(draw, largest=40):
    """Sorted scores, gains and discount of the four forms, 2c."""
    n_relevant, n = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x, z = (np.sort(rng.standard_normal(size))[::-1].copy() for size in (n_relevant, n))
    if draw(st.booleans()):
        x, z = np.round(x), np.round(z)
    form = draw(st.sampled_from(["map", "ndcg", "roc", "rr"]))
    ranks = np.arange(n_relevant + n, dtype=float)
    gains, discount = {
        "map": (np.arange(1.0, n_relevant + 1) / n_relevant, 1 / (1 + ranks)),
        "ndcg": (np.sort(rng.integers(1, 8, n_relevant)) / 9.0, discounts(len(ranks)).copy()),
        "rr": ((np.arange(n_relevant) == 0) * 1.0, 1 / (1 + ranks)),
        "roc": (np.full(n_relevant, 1 / (n_relevant * n)), -ranks),
    }[form]
    twice = draw(st.sampled_from([1e-4, 0.1, 1.0, 100.0])) / (n_relevant * n)
    return x, z, gains, discount, twice


@settings(deadline=None, max_examples=200)
@given(lists=two_lists())
def test_lemma_1_what_a_pair_adds_falls_with_the_irrelevant_document(lists):
    x, z, gains, discount, twice = lists
    k, j = np.arange(len(x))[:, None], np.arange(len(z))[None, :]
    added = gains[k] * (discount[k + j] - discount[k + j + 1]) - twice * (x[k] - z[j])
    assert (np.diff(added, axis=1) <= 1e-15 * (1 + np.abs(added).max())).all()


@settings(deadline=None, max_examples=200)
@given(lists=two_lists())
def test_theorem_2_the_best_places_are_in_order(lists):
    """And each is the best of all places for its document, taken by itself."""
    x, z, gains, discount, twice = lists
    above = np.full(len(z), -1)
    most_violated(x, z, gains, discount, twice, above)
    assert (np.diff(above) >= 0).all()
    assert above.min() >= 0
    assert above.max() <= len(x)
    each = [best_above(j, 0, len(x), *lists) for j in range(len(z))]
    for j, (together, by_itself) in enumerate(zip(above, each, strict=True)):
        k = np.arange(len(x))
        added = gains * (discount[k + j] - discount[k + j + 1]) - twice * (x - z[j])
        assert added[together:].sum() >= added[by_itself:].sum() - 1e-13 * (1 + np.abs(added).sum())
        assert added[by_itself:].sum() >= max(added[i:].sum() for i in range(len(x) + 1)) - 1e-13


def test_the_numbers_of_documents_may_be_far_apart_and_powers_of_two():
    rng = np.random.default_rng(3)
    for n, n_relevant in ((100_000, 3), (3, 100_000), (65_535, 100), (65_536, 1), (1, 9)):
        x, z = (np.sort(rng.standard_normal(size))[::-1].copy() for size in (n_relevant, n))
        above = np.full(n, -1)
        ranks = np.arange(n + n_relevant, dtype=float)
        most_violated(x, z, np.full(n_relevant, 1 / (n * n_relevant)), -ranks, 2 / (n * n_relevant), above)
        assert np.array_equal(above, np.searchsorted(-x, -(z + 0.5), side="right"))


# ------------------------------------------------------------------ fields and refusals


def test_measures_count_the_same_documents_as_relevant():
    assert dx.SVMMap(rel=2).measure == dx.PermuRank(rel=2).measure == dx.AP(rel=2)
    assert dx.SVMRoc(rel=2).measure == dx.ROCArea(rel=2)
    assert dx.SVMNdcg(rel=2).measure == dx.NDCG()
    assert SVMMrr(rel=2).measure == dx.RR(rel=2)


def test_labels_too_large_for_a_gain_are_refused():
    with rejects(dx.InputError):
        one(dx.SVMNdcg(), np.zeros(2), np.array([0.0, 2000.0]))
