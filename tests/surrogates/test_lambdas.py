"""Lambdas against a swap of every pair, and the paper's equations."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

import directrix as dx
from tests.reference import lambdas as reference
from tests.surrogates import one, queries

MEASURES = [
    "nDCG", "nDCG@1", "nDCG@4", "nDCG(gain='linear')@3", "nDCG(discount='letor3')", "AP", "AP(rel=2)@3",
    "AP(denominator='capped')@2", "RR", "RR@2", "RR(rel=2)", "P@1", "P@5", "P(denominator='retrieved')@20",
    "ERR(l_max=3)", "ERR@3", "ERR(l_max=60)", "DCG@3", "R@3", "Success@2", "RBP(p=0.6)", "RBP@3",
]  # fmt: skip


def seen(measure, labels):
    """What the measure sees of the labels, and one over what it divides by."""
    if isinstance(measure, dx.DCG):
        return labels, 1.0
    if isinstance(measure, dx.NDCG):
        gain = 2.0**labels - 1 if measure.gain == "exp" else labels
        discount = [1.0, 1.0] + [1 / math.log2(p) for p in range(3, len(labels) + 3)]
        if measure.discount == "log2":
            discount = [1 / math.log2(1 + p) for p in range(1, len(labels) + 1)]
        top = len(labels) if measure.k is None else measure.k
        ideal = sum(g * d for g, d in zip(sorted(gain, reverse=True)[:top], discount[:top], strict=False))
        return labels, 1 / ideal if ideal > 0 else 0.0
    if isinstance(measure, dx.ERR):
        return labels, 1.0
    relevant = (labels >= measure.rel) * 1.0
    if isinstance(measure, dx.RR | dx.RBP):
        return relevant, 1.0
    if isinstance(measure, dx.AP | dx.Recall):
        n_relevant = relevant.sum()
        below = min(n_relevant, measure.k) if "capped" in repr(measure) else n_relevant
    else:
        below = min(len(labels), measure.k) if measure.denominator == "retrieved" else measure.k
    return relevant, 1 / below if below else 0.0


@pytest.mark.parametrize("construction", reference.CONSTRUCTIONS)
@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=25)
@given(query=queries(9))
def test_lambdas_are_those_of_swapping_every_pair(name, construction, query):
    scores, labels = query
    surrogate = dx.Lambda(name, construction, margin=0.3)
    level, unit = seen(surrogate.measure, labels)
    naive = reference.CONSTRUCTIONS[construction]
    expected = naive(surrogate.measure, scores, labels, level=level, unit=unit, margin=0.3)
    value, grad = one(surrogate, scores, labels)
    np.testing.assert_allclose(grad, expected, rtol=1e-10, atol=1e-14)
    assert value == reference.value(surrogate.measure, scores, labels)


@pytest.mark.parametrize("construction", reference.CONSTRUCTIONS)
@pytest.mark.parametrize("name", ["nDCG", "nDCG@2", "AP(rel=2)", "RR", "P@3", "ERR(l_max=3)"])
@settings(deadline=None, max_examples=25)
@given(query=queries(9))
def test_misranked_pairs_are_those_in_the_wrong_order(name, construction, query):
    scores, labels = query
    surrogate = dx.Lambda(name, construction, margin=0.3, pairs="misranked")
    level, unit = seen(surrogate.measure, labels)
    options = {"level": level, "unit": unit, "margin": 0.3, "misranked": True}
    expected = reference.CONSTRUCTIONS[construction](surrogate.measure, scores, labels, **options)
    np.testing.assert_allclose(one(surrogate, scores, labels)[1], expected, rtol=1e-10, atol=1e-14)
    if construction == "ranknet-weight-pairs":
        count = reference.effective(surrogate.measure, scores, labels, level, misranked=True)
        assert surrogate.effective_pairs(scores, labels, np.array([0, len(scores)])).tolist() == [count]


@settings(deadline=None, max_examples=200)
@given(query=queries(largest=14))
def test_misranked_pairs_of_rr_are_equation_11_as_printed(query):
    scores, labels = query
    surrogate = dx.Lambda("RR", pairs="misranked")
    expected, count = reference.equation_11(scores, labels)
    np.testing.assert_allclose(one(surrogate, scores, labels)[1], expected, rtol=1e-10, atol=1e-14)
    assert surrogate.effective_pairs(scores, labels, np.array([0, len(scores)])).tolist() == [count]


def test_misranked_pairs_of_long_queries():
    """Blocks of rows, of which scores more than 40 apart share no exponential."""
    rng = np.random.default_rng(0)
    scores = (rng.standard_normal(150) * 60).astype("float32")
    labels = rng.choice([0.0, 1.0, 2.0], size=150)
    expected = reference.weight_pairs(dx.NDCG(), scores.tolist(), labels, level=labels, misranked=True)
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-11)):
        found = one(dx.Lambda("nDCG", pairs="misranked"), scores.astype(dtype), labels)[1]
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("pairs", ["missed", "missed-level"])
@pytest.mark.parametrize("k", [1, 2, 4, 20])
@settings(deadline=None, max_examples=60)
@given(query=queries(largest=14))
def test_missed_documents_meet_all_others(pairs, k, query):
    scores, labels = query
    surrogate, whole_level = dx.Lambda(dx.NDCG(k=k), pairs=pairs), pairs == "missed-level"
    expected = reference.extended(scores, labels, k, whole_level=whole_level)
    value, grad = one(surrogate, scores, labels)
    np.testing.assert_allclose(grad, expected, rtol=1e-10, atol=1e-14)
    assert value == reference.value(surrogate.measure, scores, labels)
    count = len(reference.extended_pairs(scores, labels, k, whole_level=whole_level))
    assert surrogate.effective_pairs(scores, labels, np.array([0, len(scores)])).tolist() == [count]


def test_missed_documents_end_an_incoherence():
    """Below the cut-off the label 3 meets two documents, the label 2 above it all of them."""
    scores, labels = np.linspace(1.0, 0.0, 30), np.array([0.0, 2.0, 3.0] + [0.0] * 27)
    cut = one(dx.Lambda("nDCG@2"), scores, labels)[1]
    ended = one(dx.Lambda("nDCG@2", pairs="missed"), scores, labels)[1]
    assert cut[1] > cut[2]
    assert ended[2] > ended[1]


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None, max_examples=40)
@given(query=queries(9))
def test_the_change_of_every_pair_is_the_swapped_measure(name, query):
    """O(1) sums over the ranking against measuring again, pair by pair."""
    from directrix.surrogates._kernels.lambdas import exchange

    scores, labels = query
    surrogate, n, qptr = dx.Lambda(name), len(scores), np.array([0, len(scores)])
    prepared, order = surrogate.prepare(labels, qptr), reference.ranking(scores)
    x, (upper, lower, factor) = prepared.worth[order], np.empty((3, n))
    kind, _, depth, *_ = surrogate.arguments()[0]
    top = exchange(kind, x, prepared.discount, depth, upper, lower, factor)
    for a in range(n):
        for b in range(a + 1, n):
            found = abs(x[a] - x[b]) * (upper[a] - factor[a] * lower[b]) if a < top else 0.0
            swapped = reference.change(surrogate.measure, scores, labels, order[a], order[b])
            np.testing.assert_allclose(found, swapped, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("name", [name for name in MEASURES if name != "ERR(l_max=60)"])  # changes of 1e-18
@settings(deadline=None, max_examples=25)
@given(query=queries(9))
def test_effective_pairs_are_those_whose_swap_changes_the_measure(name, query):
    scores, labels = query
    surrogate = dx.Lambda(name)
    level, _ = seen(surrogate.measure, labels)
    pairs = surrogate.effective_pairs(scores, labels, np.array([0, len(scores)]))
    assert pairs.dtype == np.int64
    assert pairs.tolist() == [reference.effective(surrogate.measure, scores, labels, level)]


@pytest.mark.parametrize(
    ("construction", "expected"),
    [
        ("spring-smooth", 8),  # 10 pairs, of which 2 have equal labels
        ("local-gradient", 2),  # ranks 1-2, 2-3; past the cut-off of 2 nothing changes
        ("local-cost", 2),
        ("discrete-bounded", 3),  # ranks 4 1 3 2 5 are ideal: 4 goes to 1, 1 to 2, 2 to 4
    ],
)
def test_effective_pairs_of_the_other_constructions(construction, expected):
    scores, labels = np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0, 2.0, 0.0])
    pairs = dx.Lambda("nDCG@2", construction).effective_pairs(scores, labels, np.array([0, 5]))
    slopes = one(dx.Lambda("nDCG@2", construction), scores, labels)[1]
    assert (pairs[0], bool(np.abs(slopes).sum() > 0)) == (expected, True)


def test_a_document_whose_ideal_rank_holds_an_equal_one_is_no_pair():
    scores, labels = np.array([3.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0])  # the ideal is 2 3 1
    pairs = dx.Lambda("nDCG", "discrete-bounded").effective_pairs(scores, labels, np.array([0, 3]))
    assert pairs.tolist() == [2]


def test_two_documents_at_each_others_ideal_ranks_are_one_pair_with_twice_the_lambda():
    scores, labels = np.array([2.0, 1.0]), np.array([0.0, 1.0])
    surrogate = dx.Lambda("RR", "discrete-bounded")
    assert surrogate.effective_pairs(scores, labels, np.array([0, 2])).tolist() == [1]
    assert one(surrogate, scores, labels)[1].tolist() == [-2 * (1 - 1 / 2), 2 * (1 - 1 / 2)]


def test_rr_counts_the_first_relevant_document_moving_down():
    """Relevance 0 1 0 1, m = 2 and m' = 4; the paper's Eq. (11) has the first two pairs only."""
    scores, labels = np.array([4.0, 3.0, 2.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    up = 1 - 1 / 2  # ranks 1 and 2, or 1 and 4, trade places
    down = 1 / 2 - 1 / 3  # ranks 2 and 3
    f12, f14 = up / (1 + math.exp(3 - 4)), up / (1 + math.exp(1 - 4))
    f23 = down / (1 + math.exp(3 - 2))
    value, grad = one(dx.Lambda("RR"), scores, labels)
    np.testing.assert_allclose(grad, [-f12 - f14, f12 + f23, -f23, f14], rtol=1e-12)
    assert value == 1 / 2


def test_rr_falls_to_the_next_relevant_document_if_that_comes_first():
    scores, labels = np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, 0.0])
    _, grad = one(dx.Lambda("RR"), scores, labels)
    slope = (1 - 1 / 2) / (1 + math.exp(3 - 1))  # the first goes to rank 3, the second becomes the first
    np.testing.assert_allclose(grad, [slope, 0.0, -slope], rtol=1e-12)


def test_ap_is_equation_9_of_the_paper():
    """Relevance 1 0 1 0 1: r_j = 2 and r_i = 5, with n = 1 and m = 3 relevant documents down to there."""
    scores, labels = np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    change = (1 / 3) * ((1 + 1) / 2 - 3 / 5 + 1 / 3)
    assert change == pytest.approx(reference.change(dx.AP(), scores, labels, 1, 4), rel=1e-14)
    others = sum(
        reference.change(dx.AP(), scores, labels, i, 4) / (1 + math.exp(scores[4] - scores[i])) for i in (3,)
    )
    slope = change / (1 + math.exp(1 - 4))
    np.testing.assert_allclose(one(dx.Lambda("AP"), scores, labels)[1][4], slope + others, rtol=1e-12)


@pytest.mark.parametrize("l_max", [4, 60, 1000])
def test_err_bears_documents_that_stop_everybody(l_max):
    scores, labels = np.array([4.0, 3.0, 2.0, 1.0]), np.array([l_max, 0.0, l_max, l_max - 1.0])
    measure = dx.ERR(l_max=l_max)
    expected = reference.weight_pairs(measure, scores, labels, level=labels)
    for dtype in (np.float64, np.float32):
        _, grad = one(dx.Lambda(measure), scores.astype(dtype), labels)
        tolerance = 1e-12 if dtype == np.float64 else 1e-6
        np.testing.assert_allclose(grad, expected, rtol=0, atol=tolerance)


def all_pairs(x, discount, scores):
    """Weighted pairs of a discounted measure, with n x n matrices."""
    rank = np.argsort(np.argsort(-scores, kind="stable"))
    worth = np.abs(x[:, None] - x[None, :]) * np.abs(discount[rank][:, None] - discount[rank][None, :])
    with np.errstate(over="ignore"):
        slope = worth / (1 + np.exp(scores[:, None] - scores[None, :])) * (x[:, None] > x[None, :])
    return slope.sum(axis=1) - slope.sum(axis=0)


@pytest.mark.parametrize("k", [None, 10])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 131, 600])  # beyond 384 documents are sorted otherwise
def test_blocks_of_rows_give_what_all_pairs_give(n, spread, dtype, k):
    rng = np.random.default_rng(n)
    scores = (rng.standard_normal(n) * spread).astype(dtype)
    labels = rng.choice([0.0, 1.0, 2.0, 4.0], size=n)
    discount = 1 / np.log2(np.arange(2, n + 2))
    discount[n if k is None else k :] = 0
    gain = 2.0**labels - 1
    ideal = np.sort(gain)[::-1] @ discount
    x = gain / ideal if ideal > 0 else gain
    expected = all_pairs(x, discount, scores.astype(np.float64))
    _, grad = one(dx.Lambda(dx.NDCG(k=k)), scores, labels)
    assert grad.dtype == dtype
    tolerance = (1e-5 if dtype == "float32" else 1e-13) * np.abs(expected).max(initial=1e-3)
    np.testing.assert_allclose(grad, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("construction", reference.CONSTRUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_queries_have_the_bits_alone_that_they_have_in_a_batch(construction, dtype):
    rng = np.random.default_rng(0)
    qptr = np.concatenate([[0], np.cumsum([130, 700, 17, 400, 1, 255])])
    scores, labels = rng.standard_normal(qptr[-1]).astype(dtype), rng.integers(0, 3, size=qptr[-1]) * 1.0
    value, grad = dx.Lambda("ERR", construction).value_and_grad(scores, labels, qptr)
    for q, (lo, hi) in enumerate(pairwise(qptr)):
        alone, slopes = one(dx.Lambda("ERR", construction), scores[lo:hi], labels[lo:hi])
        assert alone == value[q]
        assert np.array_equal(slopes, grad[lo:hi])


def test_springs_reach_across_blocks_too():
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal(150) * 60, rng.choice([0.0, 1.0], size=150)
    expected = reference.spring_smooth(dx.RR(), scores, labels, level=labels, unit=1.0)
    np.testing.assert_allclose(one(dx.Lambda("RR", "spring-smooth"), scores, labels)[1], expected, rtol=1e-11)


def test_tied_documents_are_taken_in_input_order():
    labels = np.array([0.0, 2.0, 1.0, 0.0])
    tied = np.zeros(4)
    for name in ("nDCG@2", "AP", "RR", "ERR"):
        surrogate = dx.Lambda(name)
        value, grad = one(surrogate, tied, labels)
        # Scores almost tied in that order have the same ranks, and almost the same logistic.
        _, near = one(surrogate, np.array([3.0, 2.0, 1.0, 0.0]) * 1e-12, labels)
        np.testing.assert_allclose(grad, near, rtol=1e-9)
        np.testing.assert_allclose(value, surrogate.measure(tied, labels, np.array([0, 4])), rtol=1e-15)


@pytest.mark.parametrize("ties", ["expected", "order"])
@settings(deadline=None, max_examples=40)
@given(query=queries(9))
def test_the_value_follows_the_tie_rule_of_the_measure(ties, query):
    scores, labels = np.round(query[0]), query[1]
    for measure in (
        dx.NDCG(k=3, ties=ties),
        dx.AP(ties=ties),
        dx.RR(ties=ties, empty="one"),
        dx.ERR(ties=ties),
    ):
        value, _ = one(dx.Lambda(measure), scores, labels)
        np.testing.assert_array_equal(value, measure(scores, labels, np.array([0, len(scores)])))


def test_a_long_query_needs_no_square_of_memory():
    n = 60_000
    rng = np.random.default_rng(0)
    labels = (rng.random(n) < 0.01) * 1.0
    value, grad = one(dx.Lambda("nDCG@10"), rng.standard_normal(n).astype(np.float32), labels)
    # Rounding of a float32 sum of 60,000 terms.
    assert abs(float(grad.sum(dtype=np.float64))) < 1e-4 * float(np.abs(grad).sum(dtype=np.float64))
    assert 0 <= value <= 1


def test_measures_are_texts_or_measures_and_print_as_text():
    surrogate = dx.Lambda(dx.AP(rel=2), "local-gradient", margin=np.float32(0.5))
    assert repr(surrogate) == "Lambda('AP(rel=2)', construction='local-gradient', margin=0.5)"
    assert dx.surrogate("Lambda('map(rel=2)', 'local-gradient', .5)") == surrogate
    assert surrogate.measure == dx.AP(rel=2)
    assert dx.surrogate("Lambda") == dx.Lambda("nDCG")
    literal = dx.Lambda("RR", pairs="misranked")
    expected = "Lambda('RR', construction='ranknet-weight-pairs', margin=1.0, pairs='misranked')"
    assert repr(literal) == expected
    assert dx.surrogate(expected) == literal


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.Lambda("nDCG", pairs="missed"), r"missed pairs need nDCG or DCG"),
        (lambda: dx.Lambda("AP@3", pairs="missed"), r"missed pairs need nDCG or DCG"),
        (
            lambda: dx.Lambda("DCG@3", "local-cost", pairs="missed"),
            r"and the construction 'ranknet-weight-pairs', e\.g\.",
        ),
        (lambda: dx.Lambda("ROCArea"), r"Lambda\('ROCArea'\).*it supports nDCG.*Lambda\('nDCG@10'\)"),
        (lambda: dx.Lambda("KendallTau"), r"does not know how a swap"),
        (lambda: dx.Lambda("nope"), r"there is no measure 'nope'"),
        (lambda: dx.Lambda("P"), r"give a cut-off, e\.g\. Lambda\('P@5'\)"),
        (lambda: dx.Lambda(dx.AP(ties="trec")), r"ties='trec'.*ties='expected' or 'order'"),
        (lambda: dx.Lambda(dx.NDCG(ties="worst")), r"ties='worst'"),
        (lambda: dx.Lambda(dx.NDCG(empty="skip")), r"empty='skip'.*take empty='zero'"),
        (lambda: dx.Lambda("AP").prepare(np.ones(2), np.array([0, 2]), np.ones(2)), r"no document weights"),
        (lambda: dx.Lambda("ERR").prepare(np.array([5.0]), np.array([0, 1])), r"highest label is 5.*l_max"),
        (lambda: dx.Lambda("AP").effective_pairs([np.nan], [1.0], [0, 1]), r"scores.*finite"),
        (lambda: dx.surrogate("Lambda(measures='AP')"), "has no field 'measures'"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


@pytest.mark.parametrize("name", ["nDCG@5", "AP", "RR"])
def test_misranked_pairs_alone_shorten_the_weights_of_a_linear_model(name):
    """w . (x_i - x_j) < 0 for each of them, so the gradient has no part along w."""
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((300, 6)), rng.standard_normal(6)
    labels, qptr = rng.integers(0, 3, size=300).astype(float), np.arange(0, 301, 20)
    along = {
        pairs: w @ X.T @ dx.Lambda(name, pairs=pairs).value_and_grad(X @ w, labels, qptr)[1]
        for pairs in ("misranked", "all")
    }
    assert along["misranked"] < -0.1
    assert along["all"] > along["misranked"] + 0.1
