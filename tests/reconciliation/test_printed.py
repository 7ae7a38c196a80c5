"""Numbers as they were printed."""

import numpy as np
import pytest

import directrix as dx
from directrix.reconciliation.printed import printed
from tests.messages import rejects


@pytest.mark.parametrize(
    ("given", "low", "high"),
    [
        ("0.4512", 0.45115, 0.45125),
        ("0.4510", 0.45095, 0.45105),
        (0.451, 0.4505, 0.4515),
        (np.float32(0.4512), 0.45115, 0.45125),
        ("45.12", 0.45115, 0.45125),
        ("45.12 %", 0.45115, 0.45125),
        ("0.45 %", 0.00445, 0.00455),
        ("4.5e-1", 0.445, 0.455),
        ("-0.25", -0.255, -0.245),
        (1, 0.5, 1.5),
    ],
)
def test_decimals_say_how_exact_a_number_is(given, low, high):
    np.testing.assert_allclose(printed(given, dx.AP()).interval(), (low, high), rtol=0, atol=1e-12)


def test_many_digits_are_compared_in_single_precision():
    low, high = printed(0.45123456789012, dx.AP()).interval()
    assert high - low == pytest.approx(2e-7)


def test_the_ends_of_the_interval_belong_to_it():
    number = printed("0.4512", dx.AP())
    values = np.array([0.45114, 0.45115, 0.4512, 0.45125, 0.45126])
    assert number.within(values).tolist() == [False, True, True, True, False]
    assert number.within(np.array([0.4512, 0.45129, 0.45119]), cut=True).tolist() == [True, True, False]


def test_a_measure_without_a_limit_has_no_percent():
    assert printed("23.06", dx.measure("NumRel")).value == 23.06


@pytest.mark.parametrize("bad", ["", "nDCG", "nan", "inf", "1e400000", None, True, "0,45", [0.4]])
def test_what_is_no_number_is_rejected(bad):
    with rejects(dx.InputError):
        printed(bad, dx.AP())


def test_a_number_that_is_too_large_even_in_percent_is_rejected():
    with rejects(dx.InputError):
        printed("145.1", dx.AP())
