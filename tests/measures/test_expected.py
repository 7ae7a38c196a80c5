"""Expectations under ties are exact: equal to the mean over all orders of the tied groups, listed."""

import numpy as np
import pytest

import directrix as dx
from directrix import registry
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
    measure = dx.IPrec(recall=recall, ties="order")
    for scores, labels in PROBLEMS:
        order = np.argsort(-scores, kind="stable")
        ranked = [labels[i] for i in order if scores[i] > -np.inf]
        wanted = naive.interpolated_precision(ranked, labels, recall) if (labels >= 1).any() else 0.0
        np.testing.assert_allclose(measure(scores, labels, [0, len(scores)]), [wanted], rtol=1e-15, atol=0)
