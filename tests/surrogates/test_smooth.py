"""SmoothRank against the paper's own loops and its theory."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import directrix as dx
from tests.messages import rejects
from tests.reference import smooth
from tests.surrogates import one, queries

PAIRS = {
    "NDCG": (lambda sigma: dx.SmoothNDCG(sigma), smooth.ndcg),
    "NDCG@3": (lambda sigma: dx.SmoothNDCG(sigma, k=3), lambda s, y, sigma: smooth.ndcg(s, y, sigma, k=3)),
    "AP": (lambda sigma: dx.SmoothAP(sigma), lambda s, y, sigma: smooth.ap(s, y, sigma, "product")),
    "AP direct": (
        lambda sigma: dx.SmoothAP(sigma, variant="direct"),
        lambda s, y, sigma: smooth.ap(s, y, sigma, "direct"),
    ),
    "AP(rel=2)": (
        lambda sigma: dx.SmoothAP(sigma, rel=2),
        lambda s, y, sigma: smooth.ap(s, y, sigma, "product", rel=2),
    ),
}
SIGMAS = st.sampled_from([0.001, 0.1, 1.0, 60.0])


@pytest.mark.parametrize("name", PAIRS)
@settings(deadline=None, max_examples=80)
@given(query=queries(), sigma=SIGMAS)
def test_values_are_those_of_the_papers_loops(name, query, sigma):
    make, naive = PAIRS[name]
    np.testing.assert_allclose(one(make(sigma), *query)[0], naive(*query, sigma), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", PAIRS)
def test_the_gradient_at_ties_is_the_mean_over_their_orders(name):
    """Scores moved apart by next to nothing, in every order, give every order's gradient."""
    make, _ = PAIRS[name]
    scores, labels = np.array([1.0, 0.5, 0.5, 0.5, 0.0]), np.array([0.0, 2.0, 0.0, 1.0, 2.0])
    nudged = []
    for nudge in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        moved = scores.copy()
        moved[1:4] += 1e-9 * np.array(nudge)
        nudged.append(one(make(0.3), moved, labels)[1])
    np.testing.assert_allclose(one(make(0.3), scores, labels)[1], np.mean(nudged, axis=0), rtol=0, atol=1e-7)
    assert np.ptp(nudged, axis=0).max() > 1e-3


@pytest.mark.parametrize("name", PAIRS)
def test_all_scores_tied_have_no_gradient(name):
    _, grad = one(PAIRS[name][0](1.0), np.full(7, 0.25), np.arange(7.0) % 3)
    assert not grad.any()


def all_pairs(scores, gain, sigma):
    """Value and gradient of sum_j D_j gbar_j by n x n matrices, in float64."""
    n = len(scores)
    s = scores.astype(np.float64)
    at_rank = np.argsort(-s, kind="stable")
    d = s[:, None] - s[at_rank][None, :]
    u = np.exp(-(d**2) / sigma)
    h = u / u.sum(axis=0)
    mean = gain @ h
    discount = 1 / np.log2(np.arange(2, n + 2))
    pull = 2 / sigma * discount * h * d * (gain[:, None] - mean)
    grad = -pull.sum(axis=1)
    grad[at_rank] += pull.sum(axis=0)
    ideal = np.sort(gain)[::-1] @ discount
    return mean @ discount / ideal, grad / ideal


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sigma", [1e-6, 1e-3, 0.2, 30.0])
@pytest.mark.parametrize("n", [40, 200, 1200])
def test_bands_give_what_all_pairs_give(n, sigma, dtype):
    rng = np.random.default_rng(n)
    scores = rng.standard_normal(n).astype(dtype)
    scores = scores[np.unique(scores, return_index=True)[1]]
    n = len(scores)
    scores = scores[rng.permutation(n)]
    labels = rng.choice([0.0, 1.0, 2.0], size=n, p=[0.9, 0.06, 0.04])
    expected, slope = all_pairs(scores, np.exp2(labels) - 1, sigma)
    value, grad = one(dx.SmoothNDCG(sigma), scores, labels)
    tolerance = 3e-6 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    np.testing.assert_allclose(grad, slope, rtol=0, atol=10 * tolerance * np.abs(slope).max())


@pytest.mark.parametrize(("dtype", "z"), [("float32", 17.5), ("float64", 37.5)])
def test_the_band_is_wider_for_more_documents(dtype, z):
    """What is dropped is small also when it is many documents: here 200,000 at one distance."""
    n = 200_000
    scores, labels = np.full(n + 1, -math.sqrt(z), dtype=dtype), np.ones(n + 1)
    scores[0], labels[0] = 0.0, 0.0
    value, grad = one(dx.SmoothNDCG(1.0, k=1), scores, labels)
    u = n * math.exp(-z)
    # Only those are relevant: added to a share of 1, each would be less than its rounding.
    np.testing.assert_allclose(value, u / (1 + u), rtol=1e-2)
    np.testing.assert_allclose(grad[0], -2 * math.sqrt(z) * u / (1 + u) ** 2, rtol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_exponentials_are_exact_to_rounding(dtype):
    """Two documents: the share of the other one is the exponential itself."""
    for z in np.concatenate([np.linspace(0.0, 15.0, 400), [1e-12]]):
        scores = np.array([0.0, -math.sqrt(z)], dtype=dtype)
        u = math.exp(-(float(scores[1]) ** 2))
        value, _ = one(dx.SmoothNDCG(1.0, k=1), scores, np.array([0.0, 1.0]))
        # A few roundings, and one of z itself.
        tolerance = (3.0 + z) * np.finfo(dtype).eps
        np.testing.assert_allclose(value, u / (1 + u), rtol=tolerance)


def test_documents_far_below_float32_cost_nothing_and_break_nothing():
    scores = np.array([3e38, -3e38, 0.0, 1e30], dtype=np.float32)
    value, grad = one(dx.SmoothNDCG(1e-30), scores, np.array([1.0, 0.0, 2.0, 0.0]))
    np.testing.assert_allclose(
        value, dx.NDCG()(scores, np.array([1.0, 0, 2, 0]), np.array([0, 4]))[0], rtol=1e-6
    )
    assert not grad.any()


@pytest.mark.parametrize(
    "surrogate", [dx.SmoothNDCG(0.1), dx.SmoothAP(0.1), dx.SmoothAP(0.1, variant="direct")]
)
def test_values_can_exceed_one(surrogate):
    """Ten relevant documents at one score, and one below that is counted half relevant."""
    scores, labels = np.array([0.0] * 10 + [-math.sqrt(0.23)]), np.array([1.0] * 10 + [0.0])
    value, _ = one(surrogate, scores, labels)
    assert 1.01 < value < 1.1
    assert "unit_interval" not in surrogate.properties
    assert "unit_interval" in dx.SmoothNDCG(k=1).properties


@settings(deadline=None, max_examples=200)
@given(query=queries(largest=15), sigma=SIGMAS, k=st.sampled_from([None, 1, 4]))
def test_section_5_1_bounds_the_error(query, sigma, k):
    scores, labels = query
    assume(len(np.unique(scores)) == len(scores))
    exact = np.nan_to_num(dx.NDCG(k=k)(scores, labels, np.array([0, len(scores)])))[0]
    error = abs(one(dx.SmoothNDCG(sigma, k=k), scores, labels)[0] - exact)
    assert error <= dx.laws.smooth_ndcg_bound(scores, labels, sigma, k) + 1e-12


def test_the_error_falls_at_the_papers_rate():
    """log error is linear in 1/sigma, with the squared gap as slope."""
    scores, labels = np.array([0.0, 0.7, 2.5, 5.0]), np.array([2.0, 0.0, 1.0, 0.0])
    exact = dx.NDCG()(scores, labels, np.array([0, 4]))[0]
    inverse = np.array([20.0, 25.0, 30.0])
    errors = [abs(one(dx.SmoothNDCG(1 / x), scores, labels)[0] - exact) for x in inverse]
    np.testing.assert_allclose(np.diff(np.log(errors)) / np.diff(inverse), -(0.7**2), rtol=1e-3)
    bounds = [dx.laws.smooth_ndcg_bound(scores, labels, 1 / x) for x in inverse]
    # The bound counts all documents and lets no errors cancel; here that is a factor of about 60.
    assert all(error < bound < 100 * error for error, bound in zip(errors, bounds, strict=True))


@settings(deadline=None, max_examples=200)
@given(query=queries(largest=15), sigma=SIGMAS, k=st.sampled_from([None, 1, 4]))
def test_section_5_2_bounds_the_gradient(query, sigma, k):
    _, grad = one(dx.SmoothNDCG(sigma, k=k), *query)
    assert np.abs(grad).sum() <= dx.laws.smooth_ndcg_lipschitz(len(grad), sigma)


def test_section_5_2_step_by_step():
    """Each inequality of the proof, in loops: shares times distances, Chebyshev's sums, and their product."""
    rng = np.random.default_rng(0)
    for sigma in (0.05, 1.0, 20.0):
        for m in (2, 5, 9):
            scores, gain = rng.standard_normal(m), 2.0 ** rng.integers(0, 3, m) - 1
            if not gain.any():
                continue
            h, ranked = smooth.shares(scores, sigma), sorted(range(m), key=lambda i: -scores[i])
            far = [h[i][j] * abs(scores[i] - scores[ranked[j]]) for i in range(m) for j in range(m)]
            assert max(far) <= math.sqrt(sigma / (2 * math.e))
            discount = [1 / math.log2(2 + j) for j in range(m)]
            ideal = sum(g * d for g, d in zip(sorted(gain, reverse=True), discount, strict=True))
            assert sum(discount) * sum(gain) / ideal <= m
            means = [sum(gain[i] * h[i][j] for i in range(m)) for j in range(m)]
            spread = sum(discount[j] * abs(gain[i] - means[j]) for i in range(m) for j in range(m)) / ideal
            assert spread <= m * (m + 1)
            _, grad = one(dx.SmoothNDCG(sigma), scores, np.log2(gain + 1))
            assert np.abs(grad).sum() <= 4 / math.sqrt(2 * math.e * sigma) * spread
    bound = dx.laws.smooth_ndcg_lipschitz(7, 0.3)
    np.testing.assert_allclose(bound, 4 * 7 * 8 / math.sqrt(2 * math.e * 0.3), rtol=1e-14, atol=0)


def test_theorem_1_step_by_step():
    """The supremum over weights of the Gaussian process of the proof is a length, whose mean is bounded."""
    rng = np.random.default_rng(1)
    n, m, d, lipschitz, norm, delta = 40, 5, 3, 2.0, 0.7, 0.1
    X = rng.standard_normal((n, m, d))
    X *= 1.3 / np.linalg.norm(X, axis=2).max()
    process = np.linalg.norm(np.einsum("tqj,qjf->tf", rng.standard_normal((4000, n, m)), X), axis=1)
    complexity = 2 * lipschitz * norm / n * process.mean()
    assert complexity <= 2 * lipschitz * norm / n * math.sqrt((X**2).sum())
    bound = dx.laws.generalization_bound(
        n, m, lipschitz=lipschitz, norm=norm, radius=1.3, delta=delta, largest=0.5
    )
    chance = 0.5 * math.sqrt(8 * math.log(2 / delta) / n)
    assert math.sqrt(math.pi / 2) * complexity + chance <= bound
    written = math.sqrt(math.pi / 2) * 2 * lipschitz * norm / n * math.sqrt(n * m * 1.3**2) + chance
    np.testing.assert_allclose(bound, written, rtol=1e-14, atol=0)


def test_theorem_1_holds_for_the_weights_that_fit_a_sample_best():
    """Pure noise: the largest lead of a sample over the expectation, in one dimension, by 200 weights."""
    rng = np.random.default_rng(2)
    n, m, sigma = 30, 3, 400.0
    lipschitz = dx.laws.smooth_ndcg_lipschitz(m, sigma)
    weights = np.linspace(-1.0, 1.0, 201)

    def losses(n_queries):
        X = rng.uniform(-1.0, 1.0, (n_queries, m))
        labels = np.ascontiguousarray(rng.permuted(np.tile([2.0, 1.0, 0.0], (n_queries, 1)), axis=1))
        qptr = np.arange(0, n_queries * m + 1, m)
        of = dx.SmoothNDCG(sigma).value_and_grad
        return [1 - of(w * X.ravel(), labels.ravel(), qptr)[0].mean() for w in weights]

    expected = np.array(losses(20_000))
    leads = [np.max(expected - losses(n)) for _ in range(20)]
    bound = dx.laws.generalization_bound(n, m, lipschitz=lipschitz, norm=1.0, radius=1.0, delta=0.05)
    assert 0.0 < max(leads) <= bound


def test_section_5_4_scores_and_root_of_sigma_scale_together():
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal(30), rng.integers(0, 3, 30) * 1.0
    value, grad = one(dx.SmoothNDCG(0.3), scores, labels)
    for c in (0.25, 7.0):
        other, slope = one(dx.SmoothNDCG(0.3 * c**2), c * scores, labels)
        np.testing.assert_allclose(other, value, rtol=1e-12)
        np.testing.assert_allclose(slope, grad / c, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.SmoothNDCG().at(-1.0), r"SmoothNDCG\.at\(smoothing=-1\.0\)"),
        (lambda: dx.laws.smooth_ndcg_lipschitz(0, 1.0), r"smooth_ndcg_lipschitz\(n_docs=0\)"),
        (lambda: dx.laws.smooth_ndcg_lipschitz(3, -1.0), r"smooth_ndcg_lipschitz\(sigma=-1\.0\)"),
        (
            lambda: dx.laws.generalization_bound(5, 3, lipschitz=1.0, norm=1.0, radius=1.0, delta=1.0),
            r"generalization_bound\(delta=1\.0\)",
        ),
        (lambda: dx.laws.smooth_ndcg_bound([1.0, 2.0], [0, 1], 0.0), r"smooth_ndcg_bound\(sigma=0\.0\).*> 0"),
        (lambda: dx.laws.smooth_ndcg_bound([1.0, 2.0], [0, 1], 1.0, k=0), r"smooth_ndcg_bound\(k=0\)"),
        (lambda: dx.laws.smooth_ndcg_bound([1.0, 2.0], [0, 1, 2], 1.0), r"labels.*3"),
        (lambda: dx.laws.smooth_ndcg_bound([1.0, np.nan], [0, 1], 1.0), r"scores: 1 of 2"),
        (
            lambda: dx.SmoothAP().prepare(np.ones(1), np.array([0, 1]), np.ones(1)),
            r"SmoothAP\(.*takes no document weights.*query_weight",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_smoothing_is_sigma_and_the_other_fields_stay():
    assert dx.SmoothNDCG(k=3).at(0.25) == dx.SmoothNDCG(0.25, k=3)
    assert dx.SmoothAP(rel=2, variant="direct").at(8.0) == dx.SmoothAP(8.0, rel=2, variant="direct")


def test_the_smoothing_must_be_positive():
    with rejects(dx.InputError):
        dx.SmoothNDCG(sigma=0.0)
