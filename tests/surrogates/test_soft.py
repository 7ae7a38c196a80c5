"""SoftNDCG against the paper's recursion, the facts it must keep, and its own erf."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import directrix as dx
from tests.reference import soft as reference
from tests.surrogates import queries

SIGMAS, CUTS = st.sampled_from([0.1, 1.0, 3.0]), st.sampled_from([None, 1, 2, 5, 100])


@settings(deadline=None, max_examples=150)
@given(query=queries(14, spreads=(1e-3, 0.3, 1.0, 5.0, 40.0, 1e4)), sigma=SIGMAS, k=CUTS)
def test_values_are_those_of_the_papers_recursion(query, sigma, k):
    scores, labels = query
    value, _ = dx.SoftNDCG(sigma=sigma, k=k).value_and_grad(scores, labels, np.array([0, len(scores)]))
    np.testing.assert_allclose(value[0], reference.ndcg(scores, labels, sigma, k), rtol=0, atol=2e-14)


def leave_one_out(q, discount):
    """Derivatives of the sum of discount[r] p(r) by each q, from distributions without it."""
    slopes = []
    for i in range(len(q)):
        p = np.zeros(len(q))
        p[0] = 1.0
        for above in np.delete(q, i):
            p = p * (1 - above) + np.concatenate([[0.0], p[:-1]]) * above
        slopes.append(p @ (np.append(discount[1:], 0.0) - discount)[: len(q)])
    return np.array(slopes)


@pytest.mark.parametrize("spread", [0.0, 0.02, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("k", [None, 20, 90])
def test_the_gradient_of_long_queries_is_exact(spread, k):
    """Against the recursion without each document in turn; slopes near are up to 0.1, errors are absolute."""
    rng = np.random.default_rng(5)
    n, sigma = 180, 0.7
    scores = rng.standard_normal(n) * spread
    labels = np.zeros(n)
    labels[[3, 60, 179]] = 1.0, 2.0, 1.0
    value, grad = dx.SoftNDCG(sigma=sigma, k=k).value_and_grad(scores, labels, np.array([0, n]))
    top = n if k is None else k
    discount = (np.arange(n) < top) / np.log2(2 + np.arange(n))
    ideal = 3 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    expected = np.zeros(n)
    for j, gain in ((3, 1.0), (60, 3.0), (179, 1.0)):
        others = np.delete(np.arange(n), j)
        q = np.array([reference.beats(scores, i, j, sigma) for i in others])
        density = np.exp(-(((scores[others] - scores[j]) / (2 * sigma)) ** 2)) / (
            2 * sigma * math.sqrt(math.pi)
        )
        step = gain / ideal * leave_one_out(q, discount) * density
        expected[others] += step
        expected[j] -= step.sum()
    np.testing.assert_allclose(value[0], reference.ndcg(scores, labels, sigma, k), rtol=0, atol=1e-14)
    np.testing.assert_allclose(grad, expected, rtol=0, atol=2e-14)


@pytest.mark.parametrize("n", [1, 2, 33, 400])
def test_float32_is_good_to_its_own_precision(n):
    rng = np.random.default_rng(n)
    scores, labels, qptr = rng.standard_normal(n).astype(np.float32), rng.integers(0, 3, n) * 1.0, [0, n]
    value, grad = dx.SoftNDCG(sigma=0.2).value_and_grad(scores, labels, np.array(qptr))
    exact, slopes = dx.SoftNDCG(sigma=0.2).value_and_grad(scores.astype(float), labels, np.array(qptr))
    assert grad.dtype == np.float32
    np.testing.assert_allclose(value, exact, rtol=1e-7)
    np.testing.assert_allclose(grad, slopes, rtol=1e-6, atol=1e-6 * np.abs(slopes).max())


def test_a_document_alone_in_its_band_has_a_rank():
    """Far from all others each rank is certain: 3/log2(2) + 1/log2(4) over 3/log2(2) + 1/log2(3)."""
    scores, labels = np.array([3e5, 2e5, 1e5]), np.array([2.0, 0.0, 1.0])
    value, grad = dx.SoftNDCG().value_and_grad(scores, labels, np.array([0, 3]))
    np.testing.assert_allclose(value[0], (3 + 1 / 2) / (3 + 1 / math.log2(3)), rtol=1e-15)
    assert not grad.any()


def test_with_a_cut_off_ties_can_exceed_one():
    """Three tied: each is Binomial(2, 1/2) from the top, though two of them share the first two ranks."""
    value, _ = dx.SoftNDCG(k=2, below=0).value_and_grad(np.zeros(3), np.ones(3), np.array([0, 3]))
    np.testing.assert_allclose(
        value[0], 3 * (1 / 4 + 1 / 2 / math.log2(3)) / (1 + 1 / math.log2(3)), rtol=1e-14
    )
    assert value[0] > 1.0
    assert "unit_interval" not in dx.SoftNDCG(k=2).properties


def test_the_error_function_is_that_of_the_library():
    from directrix.surrogates._kernels.soft import error_functions

    x = np.concatenate([np.linspace(-8, 8, 4001), [0.0, 1e-9, -1e-300]])
    n = len(x)
    space = np.empty((4, n + 128))
    e, u = space[1, :n], space[3, :n]
    error_functions(x, 0.0, 1.0, space[0], e, space[2, :n], u)
    np.testing.assert_allclose(u, [math.erf(z) for z in x], rtol=0, atol=3e-15)
    np.testing.assert_allclose(e, np.exp(-x * x), rtol=2e-14)
    assert np.abs(u).max() <= 1.0


def test_expected_ranks_are_exact():
    """1 + sum pi, here from the distribution that the reference gives, whose rows add up to 1."""
    scores = np.random.default_rng(2).standard_normal(9)
    for j in range(9):
        p = reference.rank_distribution(scores, j, 0.8)
        np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-14)
        soft = dx.laws.soft_ranks(scores, alpha=1 / (2 * 0.8), sigmoid="erf")[j]
        np.testing.assert_allclose(p @ np.arange(1, 10), soft, rtol=1e-13)


def test_document_weights_are_factors_on_gains():
    labels, qptr = np.array([1.0, 2.0, 0.0]), np.array([0, 3])
    weighted = dx.SoftNDCG(k=2).prepare(labels, qptr, np.array([3.0, 1.0, 1.0]))
    np.testing.assert_allclose(
        weighted, dx.SoftNDCG(k=2).prepare(np.array([2.0, 2.0, 0.0]), qptr), rtol=1e-15
    )


def test_smoothing_is_sigma():
    assert dx.SoftNDCG(k=3).at(0.25) == dx.SoftNDCG(sigma=0.25, k=3)
    assert dx.SoftNDCG(k=3).measure == dx.NDCG(k=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.SoftNDCG().at(-1.0), r"SoftNDCG.at\(smoothing=-1\.0\)"),
        (lambda: dx.SoftNDCG().prepare(np.array([1100.0]), np.array([0, 1])), r"highest label is 1100"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


LONG_QUERY = """
import numpy as np, directrix as dx
n = 50_000
rng = np.random.default_rng(0)
scores, labels = rng.standard_normal(n), np.where(np.arange(n) % 5000 == 0, 1.0, 0.0)
surrogate = dx.SoftNDCG(sigma=0.1)
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
    """50,000 documents: a table of band x rank would take gigabytes; the work space takes nine arrays."""
    run = subprocess.run([sys.executable, "-c", LONG_QUERY], capture_output=True, text=True, check=True)
    assert 0.1 < float(run.stdout) < 20
