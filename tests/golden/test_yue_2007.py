"""Yue, Finley, Radlinski & Joachims (2007), Tables 1, 2 and 4: AP and ROC area disagree."""

import numpy as np
import pytest

import directrix as dx


def listing(relevant, n):
    """Labels of documents 1..n in the order of the ranking."""
    return [float(i in relevant) for i in range(1, n + 1)]


@pytest.mark.parametrize(
    ("labels", "ap", "area"),
    [
        # Table 1: documents 1, 6, 7 of 8 are relevant; printed 0.59 and 0.47
        (listing({1, 6, 7}, 8), (1 / 1 + 2 / 6 + 3 / 7) / 3, (5 + 1 + 1) / 15),
        # the same ranking reversed; printed 0.51 and 0.53
        (listing({2, 3, 8}, 8), (1 / 2 + 2 / 3 + 3 / 8) / 3, (4 + 4 + 0) / 15),
    ],
)
def test_tables_1_and_2(labels, ap, area):
    scores = np.arange(8, 0, -1.0)
    np.testing.assert_allclose(dx.AP()(scores, labels, [0, 8]), [ap], rtol=1e-15, atol=0)
    np.testing.assert_allclose(dx.ROCArea()(scores, labels, [0, 8]), [area], rtol=1e-15, atol=0)


def test_tables_1_and_2_as_printed():
    scores = np.arange(8, 0, -1.0)
    labels = np.array(listing({1, 6, 7}, 8))
    both = [dx.evaluate(["AP", "ROCArea"], s, labels, group=[len(labels)]) for s in (scores, -scores)]
    printed = [{name: round(value, 2) for name, value in found.items()} for found in both]
    assert printed == [{"AP": 0.59, "ROCArea": 0.47}, {"AP": 0.51, "ROCArea": 0.53}]


def test_erratum_of_table_4():
    """Printed 0.70 and 0.64 for 1, 6, 7, 8, 9 of 11: those divide by 4, but there are five relevant."""
    scores = np.arange(11, 0, -1.0)
    labels = listing({1, 6, 7, 8, 9}, 11)
    forward = dx.AP()(scores, labels, [0, 11])[0]
    backward = dx.AP()(-scores, labels, [0, 11])[0]
    np.testing.assert_allclose(forward, (1 / 1 + 2 / 6 + 3 / 7 + 4 / 8 + 5 / 9) / 5, rtol=1e-15, atol=0)
    np.testing.assert_allclose(backward, (1 / 3 + 2 / 4 + 3 / 5 + 4 / 6 + 5 / 11) / 5, rtol=1e-15, atol=0)
    np.testing.assert_allclose([forward * 5 / 4, backward * 5 / 4], [0.70, 0.64], rtol=0, atol=0.005)
