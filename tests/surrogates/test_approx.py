"""ApproxRank against the paper's own loops, its table and its theorems."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import directrix as dx
from tests.messages import rejects
from tests.reference import approx as reference
from tests.surrogates import queries

TABLE_1 = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])


ALPHAS, BETAS = st.sampled_from([0.2, 1.0, 7.0, 60.0]), st.sampled_from([0.5, 3.0, 25.0])
SIGMOIDS = st.sampled_from(list(reference.SIGMOIDS))

PAIRS = {
    "NDCG": (
        lambda a, b, s: dx.ApproxNDCG(alpha=a, sigmoid=s),
        lambda x, y, a, b, s: reference.ndcg(x, y, a, b, s),
    ),
    "NDCG@3": (
        lambda a, b, s: dx.ApproxNDCG(alpha=a, beta=b, k=3, sigmoid=s),
        lambda x, y, a, b, s: reference.ndcg(x, y, a, b, s, k=3),
    ),
    "P@2": (
        lambda a, b, s: dx.ApproxPrecision(k=2, alpha=a, beta=b, sigmoid=s),
        lambda x, y, a, b, s: reference.precision(x, y, a, b, s, k=2),
    ),
    "AP": (
        lambda a, b, s: dx.ApproxAP(alpha=a, beta=b, sigmoid=s),
        lambda x, y, a, b, s: reference.ap(x, y, a, b, s),
    ),
    "AP(rel=2)": (
        lambda a, b, s: dx.ApproxAP(alpha=a, beta=b, rel=2, sigmoid=s),
        lambda x, y, a, b, s: reference.ap(x, y, a, b, s, rel=2),
    ),
    "RR": (
        lambda a, b, s: dx.ApproxRR(alpha=a, beta=b, sigmoid=s),
        lambda x, y, a, b, s: reference.rr(x, y, a, b, s),
    ),
    "ERR": (
        lambda a, b, s: dx.ApproxERR(alpha=a, beta=b, sigmoid=s),
        lambda x, y, a, b, s: reference.err(x, y, a, b, s),
    ),
    "tau": (
        lambda a, b, s: dx.ApproxKendall(alpha=a, sigmoid=s),
        lambda x, y, a, b, s: reference.kendall(x, y, a, s),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
@settings(deadline=None, max_examples=60)
@given(query=queries(), alpha=ALPHAS, beta=BETAS, sigmoid=SIGMOIDS)
def test_values_are_those_of_the_papers_loops(name, query, alpha, beta, sigmoid):
    scores, labels = query
    make, naive = PAIRS[name]
    value, _ = make(alpha, beta, sigmoid).value_and_grad(scores, labels, np.array([0, len(scores)]))
    np.testing.assert_allclose(value[0], naive(scores, labels, alpha, beta, sigmoid), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spread", [0.01, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("n", [200, 300, 1200])  # factored whole, counted, sorted
def test_bands_and_blocks_give_what_all_pairs_give(n, spread, dtype):
    rng = np.random.default_rng(n)
    scores = (rng.standard_normal(n) * spread).astype(dtype)
    labels = rng.choice([0.0, 1.0, 2.0], size=n, p=[0.8, 0.15, 0.05])
    gain, qptr = np.exp2(labels) - 1, np.array([0, n])
    z = 5.0 * (scores[None, :].astype(np.float64) - scores[:, None])
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-z))
    ranks = 0.5 + p.sum(axis=1)
    ideal = np.sort(gain)[::-1] @ (1 / np.log2(np.arange(2, n + 2)))
    c = -gain * math.log(2) / (np.log(1 + ranks) ** 2 * (1 + ranks)) / ideal
    d = p * (1 - p)
    grad = 5.0 * (c @ d - c * d.sum(axis=1))
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    value, got = dx.ApproxNDCG(alpha=5.0).value_and_grad(scores, labels, qptr)
    np.testing.assert_allclose(value[0], (gain / np.log2(1 + ranks)).sum() / ideal, rtol=tolerance)
    # Beyond the band slopes are below exp(-17) or exp(-37), in units of alpha: they are dropped.
    dropped = 5.0 * math.exp(-17 if dtype == "float32" else -37)
    np.testing.assert_allclose(got, grad, rtol=0, atol=10 * tolerance * np.abs(grad).max() + dropped)
    np.testing.assert_allclose(dx.laws.soft_ranks(scores, alpha=5.0), ranks, rtol=10 * tolerance)


def test_table_1_of_the_paper_to_five_decimals():
    ranks = dx.laws.soft_ranks(TABLE_1, alpha=100)
    np.testing.assert_allclose(ranks, [2.00118, 4.00000, 1.00000, 5.00000, 2.99882], rtol=0, atol=5e-6)
    eps = np.abs(ranks - [2, 4, 1, 5, 3]).max()
    assert round(eps, 5) == 0.00118
    assert round(dx.laws.rank_bounds(TABLE_1, 100).max(), 5) == 0.00471
    assert dx.laws.ap_bound(eps, n_relevant=1, beta=100) < 0.0024
    assert round(dx.laws.ndcg_bound(eps), 5) == 0.00085


@settings(deadline=None, max_examples=200)
@given(query=queries(largest=20, ties=False), alpha=ALPHAS, beta=BETAS)
def test_theorems_5_and_6_bound_the_measures(query, alpha, beta):
    scores, labels = query
    assume(len(np.unique(scores)) == len(scores))
    qptr = np.array([0, len(scores)])
    eps = np.abs(dx.laws.soft_ranks(scores, alpha=alpha) - 1 - np.argsort(np.argsort(-scores))).max()
    value, _ = dx.ApproxNDCG(alpha=alpha).value_and_grad(scores, labels, qptr)
    assert abs(value[0] - dx.NDCG()(scores, labels, qptr)[0]) <= dx.laws.ndcg_bound(eps) + 1e-12
    n_relevant = int((labels >= 1).sum())
    if eps < 0.5 and n_relevant > 0:  # what Theorem 5 asks for; to discard the rest would be most of the work
        value, _ = dx.ApproxAP(alpha=alpha, beta=beta).value_and_grad(scores, labels, qptr)
        error = abs(value[0] - dx.AP()(scores, labels, qptr)[0])
        assert error <= dx.laws.ap_bound(eps, n_relevant, beta) + 1e-12


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("spread", "sigmoid"), [(1.0, "logistic"), (300.0, "logistic"), (30.0, "erf")])
def test_long_queries_are_sorted_and_cut_into_blocks_alike(name, spread, sigmoid):
    """450 documents: beyond the length up to which documents are ranked by counting."""
    rng = np.random.default_rng(7)
    scores, labels = rng.standard_normal(450) * spread, rng.choice([0.0, 1.0, 2.0], 450, p=[0.9, 0.07, 0.03])
    make, naive = PAIRS[name]
    value, grad = make(2.0, 3.0, sigmoid).value_and_grad(scores, labels, np.array([0, 450]))
    np.testing.assert_allclose(value[0], naive(scores, labels, 2.0, 3.0, sigmoid), rtol=1e-11)
    direction, h = rng.standard_normal(450), 1e-6
    up, down = (
        make(2.0, 3.0, sigmoid).value_and_grad(scores + t * direction, labels, np.array([0, 450]))[0][0]
        for t in (h, -h)
    )
    np.testing.assert_allclose(grad @ direction, (up - down) / (2 * h), rtol=1e-5, atol=1e-9)


def test_scores_near_the_largest_float_are_ranked():
    scores, qptr = np.array([1.7e308, -1.7e308, 1.6e308, 0.0]), np.array([0, 4])
    np.testing.assert_allclose(dx.laws.soft_ranks(scores), [1.0, 4.0, 2.0, 3.0], rtol=1e-12)
    value, grad = dx.ApproxRR().value_and_grad(scores, np.array([0.0, 1.0, 1.0, 0.0]), qptr)
    np.testing.assert_allclose(value, 1 / 2, rtol=1e-8)  # the other relevant one is e^-20 above
    assert np.isfinite(grad).all()


def test_what_the_band_drops_does_not_add_up():
    """100,000 documents just beyond reach of one: e^-17 each, .004 together."""
    scores = np.concatenate([[17.05], np.zeros(99_999)]).astype(np.float32)
    exact = 1 + 99_999 / (1 + math.exp(17.05))
    # Of the partial sums in float32 one begins with the document's own 1/2, to which up to 127 terms of
    # 3.9e-8 are added; each sum is rounded by up to 3e-8.
    np.testing.assert_allclose(dx.laws.soft_ranks(scores, alpha=1.0)[0], exact, rtol=0, atol=5e-6)


def test_theorem_5_is_refused_where_it_says_nothing():
    with rejects(dx.InputError):
        dx.laws.ap_bound(0.5, 3, 10.0)


def test_one_document_has_no_rank_error():
    assert dx.laws.rank_bounds(np.array([3.0]), 10.0).tolist() == [0.0]


@pytest.mark.parametrize(
    ("scores", "labels", "alpha", "beta", "expected"),
    [
        # rax, rank_i = 1 + sum sigmoid((s_j - s_i)/T)
        ([0.0, 1.0, 3.0, 2.0], [0.0, 0.0, 1.0, 2.0], 1.0, None, 0.71789),
        ([0.0, 3.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0], 10.0, None, 0.6934263706207275),
        # the paper's ApproxAP by its formula
        ([0.0, 3.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0], 1.0, 1.0, 0.6029177946891665),
    ],
)
def test_values_that_other_tools_print(scores, labels, alpha, beta, expected):
    surrogate = dx.ApproxNDCG(alpha=alpha) if beta is None else dx.ApproxAP(alpha=alpha, beta=beta)
    value, _ = surrogate.value_and_grad(np.array(scores), np.array(labels), np.array([0, 4]))
    np.testing.assert_allclose(value[0], expected, rtol=0, atol=5e-6 if beta is None else 1e-12)


def test_gradient_that_rax_prints():
    s, y = np.array([-1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    value, grad = dx.ApproxNDCG(alpha=1.0).value_and_grad(s, y, np.array([0, 3]))
    np.testing.assert_allclose(value[0], 1 / math.log2(1 + 2), rtol=1e-6)
    np.testing.assert_allclose(grad, [-0.03763788, -0.03763788, 0.07527576], rtol=0, atol=1e-8)


def test_document_weights_are_gains():
    """A weight of 7/1 on label 1 makes it worth label 3."""
    labels = np.array([0, 1, 0, 1, 0, 0, 3, 0, 1.0])
    qptr = np.array([0, 9])
    surrogate = dx.ApproxNDCG(alpha=2.0)
    weighted = surrogate.prepare(labels, qptr, np.where(np.arange(9) == 3, 7.0, 1.0))
    plain = surrogate.prepare(np.where(np.arange(9) == 3, 3.0, labels), qptr)
    np.testing.assert_allclose(weighted, plain, rtol=1e-15)


def test_a_document_weight_of_almost_nothing_is_almost_a_weight_of_nothing():
    scores, labels, qptr = np.array([3.0, 2.0, 1.0]), np.ones(3), np.array([0, 3])
    q = dx.Queries.from_arrays(scores[:, None], labels, group=[len(labels)])
    for surrogate in (dx.ApproxAP(), dx.ApproxNDCG()):
        none, little = (
            dx.linear_objective(q, surrogate, doc_weight=[w, 1, 1]).value_and_grad(np.ones(1))[0]
            for w in (0.0, 1e-12)
        )
        np.testing.assert_allclose(none, little, rtol=1e-9)
    assert surrogate.value_and_grad(scores, labels, qptr)[0][0] > 0.99


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.ApproxERR(l_max=2000), r"l_max=2000"),
        (
            lambda: dx.ApproxERR(l_max=2).prepare(np.array([3.0]), np.array([0, 1])),
            r"highest label is 3.*l_max",
        ),
        (lambda: dx.surrogate("AproxNDCG"), r"no surrogate .AproxNDCG.; did you mean ApproxNDCG"),
        (lambda: dx.surrogate("ApproxNDCG(gamma=1)"), r"has no field .gamma.; its fields are alpha"),
        (lambda: dx.surrogate("ApproxNDCG(alpha="), r"cannot be read"),
        (lambda: dx.surrogate("ApproxNDCG() # k=5"), r"a comment or parentheses surround it"),
        (lambda: dx.surrogate("__import__('os').getcwd()"), r"no surrogate"),
        (lambda: dx.surrogate("ApproxNDCG(alpha=open('x'))"), r"cannot be read"),
        (lambda: dx.surrogate("-" * 100_000 + "1"), r"it has 100001 characters, of which at most 2000 are"),
        (lambda: dx.surrogate("ApproxNDCG({[]: 1})"), r"unhashable type"),
        (lambda: dx.laws.soft_ranks(np.ones(2), sigmoid="step"), r"sigmoid='step'"),
        (lambda: dx.laws.soft_ranks(np.ones(2), alpha=-1.0), r"soft_ranks\(alpha=-1\.0\)"),
        (lambda: dx.ApproxNDCG().at(0.0), r"ApproxNDCG.at\(smoothing=0\.0\)"),
        (lambda: dx.ApproxNDCG().prepare(np.array([1100.0]), np.array([0, 1])), r"highest label is 1100"),
        (lambda: dx.ApproxMeasure("AP"), r"ApproxMeasure\('AP'\).*not a sum.*Lambda\('AP'\)"),
        (lambda: dx.ApproxMeasure("Rprec"), r"ApproxMeasure\('Rprec'\).*not a sum"),
        (lambda: dx.ApproxMeasure("KendallTau"), r"not a sum"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_smoothing_keeps_the_ratio_of_beta_to_alpha():
    assert dx.ApproxAP(alpha=20.0, beta=10.0).at(0.01) == dx.ApproxAP(alpha=100.0, beta=50.0)
    assert dx.ApproxNDCG(alpha=20.0).at(1 / 20.0) == dx.ApproxNDCG(alpha=20.0)
    assert dx.ApproxKendall(alpha=2.0).at(0.1) == dx.ApproxKendall(alpha=10.0)


def test_erf_gives_softranks_expected_ranks():
    """With alpha = 1/(2 sigma) the sigmoid is P(S_j > S_i) for scores of variance sigma^2."""
    sigma, s = 0.7, np.array([0.3, -0.2, 0.9])
    phi = lambda z: 0.5 * math.erfc(-z / math.sqrt(2))  # noqa: E731
    expected = [
        1 + sum(phi((s[j] - s[i]) / (sigma * math.sqrt(2))) for j in range(3) if j != i) for i in range(3)
    ]
    np.testing.assert_allclose(
        dx.laws.soft_ranks(s, alpha=1 / (2 * sigma), sigmoid="erf"), expected, rtol=1e-14
    )


@pytest.mark.parametrize("sigmoid", ["arctan", "erf"])
def test_slopes_of_many_ties_keep_their_digits_in_float32(sigmoid):
    scores, qptr = np.zeros(1000), np.array([0, 1000])
    labels = np.random.default_rng(0).integers(0, 3, 1000).astype(np.float64)
    surrogate = dx.ApproxNDCG(alpha=1.0, sigmoid=sigmoid)
    exact = surrogate.value_and_grad(scores, labels, qptr)[1]
    got = surrogate.value_and_grad(scores.astype(np.float32), labels, qptr)[1]
    np.testing.assert_allclose(got, exact, rtol=0, atol=5e-7 * np.abs(exact).max())


LONG_QUERY = """
import numpy as np, directrix as dx
n = 100_000
rng = np.random.default_rng(0)
scores, labels = rng.standard_normal(n).astype(np.float32), (rng.random(n) < 0.01) * 1.0
surrogate = dx.ApproxAP(alpha=100.0)
surrogate.value_and_grad(scores[:1000], labels[:1000], np.array([0, 1000]))
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
open("/proc/self/clear_refs", "w").write("5")  # the peak so far, of compilation, is forgotten
before = peak()
surrogate.value_and_grad(scores, labels, np.array([0, n]))
print((peak() - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_a_long_query_is_linear():
    """100,000 documents: all pairs would take 40 GB; the kernel's work space takes some arrays."""
    run = subprocess.run([sys.executable, "-c", LONG_QUERY], capture_output=True, text=True, check=True)
    assert 0.1 < float(run.stdout) < 100


@pytest.mark.parametrize("alpha", [0.1, 3.0, 12.0, 40.0, 300.0, 1e5, 1e20])
@pytest.mark.parametrize(("n", "relevant"), [(1, 1), (17, 9), (130, 60), (700, 330)])
def test_short_and_long_groups_agree_with_all_pairs(n: int, relevant: int, alpha: float) -> None:
    """Around the sizes of registers, groups and sums; from one set of exponentials to single documents."""
    rng = np.random.default_rng(n)
    scores, labels = rng.standard_normal(n).astype(np.float32), np.zeros(n)
    labels[rng.permutation(n)[:relevant]] = rng.integers(1, 5, relevant)
    scores[: n // 3] = scores[n // 3 : 2 * (n // 3)]  # ties
    value, grad = dx.ApproxNDCG(alpha=alpha).value_and_grad(scores, labels, np.array([0, n]))
    s, gain = scores.astype(float), 2.0**labels - 1.0
    p = 1.0 / (1.0 + np.exp(np.clip(alpha * (s[:, None] - s[None, :]), -700.0, 700.0)))
    rank = 0.5 + p.sum(axis=1)
    ideal = np.sort(gain)[::-1] @ (1.0 / np.log2(np.arange(2, n + 2)))
    c = -gain / ideal * np.log(2.0) / (np.log(1.0 + rank) ** 2 * (1.0 + rank))
    d = alpha * p * (1.0 - p)
    np.testing.assert_allclose(value, gain @ (1.0 / np.log2(1.0 + rank)) / ideal, rtol=2e-6)
    # float32 holds a slope to about 1e-7 of the largest that a pair can have
    np.testing.assert_allclose(
        grad, c @ d - c * d.sum(axis=1), rtol=1e-5, atol=4e-7 * alpha * np.abs(c).max() * np.sqrt(n)
    )
