"""Expectations under ties are exact: equal to the mean over all orders of the tied groups, listed."""

import time

import numpy as np
import pytest

import directrix as dx
from directrix import registry
from directrix.measures.precision import IPrec
from directrix.registry import classes
from tests.reference import measures as naive

MEASURES = [
    (kind(**given), function, options)
    for name, kind in classes(registry.MEASURES).items()
    for given, function, options in naive.REFERENCES[name]
]


def problems():
    """Short lists with few distinct scores, so that groups of all sizes appear; some not retrieved."""
    rng = np.random.default_rng(7)
    for n in range(1, 8):
        for levels in (1, 2, 3, n):
            scores = rng.integers(0, levels, n).astype(float)
            if n > 2 and levels == 3:
                scores[rng.integers(n)] = -np.inf
            yield scores, rng.choice(5, size=n, p=[0.45, 0.25, 0.15, 0.1, 0.05]).astype(float)


PROBLEMS = list(problems())
QPTR = np.cumsum([0] + [len(s) for s, _ in PROBLEMS])


@pytest.mark.parametrize(("measure", "one_list", "options"), MEASURES, ids=[m.name for m, *_ in MEASURES])
def test_equals_the_mean_over_all_orders(measure, one_list, options):
    scores = np.concatenate([s for s, _ in PROBLEMS])
    labels = np.concatenate([y for _, y in PROBLEMS])
    wanted = [naive.expected(one_list, s, y, **options) for s, y in PROBLEMS]
    np.testing.assert_allclose(measure(scores, labels, QPTR), wanted, rtol=1e-12, atol=1e-14)


def test_roc_area_and_tau_equal_all_pairs():
    for scores, labels in PROBLEMS:
        qptr = [0, len(scores)]
        np.testing.assert_allclose(
            dx.ROCArea()(scores, labels, qptr)[0], naive.roc_area(scores, labels), rtol=1e-12, atol=0
        )
        finite = np.where(np.isinf(scores), -1.0, scores)
        tau = naive.kendall_tau_b(finite, labels)
        np.testing.assert_allclose(dx.KendallTau()(finite, labels, qptr)[0], tau, rtol=1e-12, atol=1e-15)


def test_a_constant_scorer_gains_nothing_from_the_order_of_the_file():
    labels = [1.0, 1.0, 0.0, 0.0]
    best, shuffled = dx.AP()(np.zeros(4), labels, [0, 4]), dx.AP()(np.zeros(4), labels[::-1], [0, 4])
    np.testing.assert_allclose(best, shuffled, rtol=0, atol=0)
    np.testing.assert_allclose(dx.AP(ties="order")(np.zeros(4), labels, [0, 4]), [1.0], rtol=0, atol=0)


@pytest.mark.parametrize("recall", [0.0, 0.3, 0.5, 1.0])
def test_interpolated_precision_in_input_order(recall):
    measure = IPrec(recall=recall, ties="order")
    for scores, labels in PROBLEMS:
        order = np.argsort(-scores, kind="stable")
        ranked = [labels[i] for i in order if scores[i] > -np.inf]
        wanted = naive.interpolated_precision(ranked, labels, recall) if (labels >= 1).any() else 0.0
        np.testing.assert_allclose(measure(scores, labels, [0, len(scores)]), [wanted], rtol=1e-15, atol=0)


def _err_of_ties(labels, k, l_max):
    """ERR of one tied group by the recursion over all its documents and places, O(m^2)."""
    m = len(labels)
    passed = np.zeros(m + 1)
    passed[0] = 1.0
    for j, label in enumerate(labels):
        x = 1.0 - (2.0**label - 1.0) / 2.0**l_max
        for t in range(j + 1, 0, -1):
            passed[t] = ((j + 1 - t) * passed[t] + t * x * passed[t - 1]) / (j + 1)
    return sum((passed[t - 1] - passed[t]) / t for t in range(1, min(m, k) + 1))


@pytest.mark.parametrize("l_max", [4, 30])
@pytest.mark.parametrize("k", [1, 3, None])
@pytest.mark.parametrize("shares", [(1, 0, 0), (0.9, 0.1, 0), (0.2, 0.5, 0.3), (0, 0, 1)])
@pytest.mark.parametrize("m", [2, 7, 150])
def test_err_of_tied_documents_is_that_of_the_whole_recursion(m, shares, k, l_max):
    labels = np.random.default_rng(m).choice([0.0, 1.0, 4.0], size=m, p=shares)
    value = dx.ERR(k=k, l_max=l_max)(np.zeros(m), labels, [0, m])[0]
    assert value == pytest.approx(_err_of_ties(labels, k or m, l_max), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n_relevant", [1, 300, 50_000, 100_000])
def test_err_of_100_000_tied_documents_takes_seconds(n_relevant):
    labels = np.zeros(100_000)
    labels[:n_relevant] = 1.0
    dx.ERR()([0.0, 0.0], [0.0, 1.0], [0, 2])
    begun = time.process_time()
    assert 0.0 < dx.ERR()(np.zeros(100_000), labels, [0, 100_000])[0] < 1.0
    assert time.process_time() - begun < 5.0
