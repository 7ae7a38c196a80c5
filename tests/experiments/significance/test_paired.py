"""Wins, losses and the signed-rank test on examples that can be counted by hand."""

import numpy as np
import pytest

from directrix import InputError
from directrix.experiments.significance import Paired, paired


def by_enumeration(gaps):
    """Two-tailed p of the sum of ranks over all signs, each as likely."""
    gaps = np.array([gap for gap in gaps if gap])
    ranks = np.abs(gaps).argsort().argsort() + 1
    signs = np.array(np.meshgrid(*[[0, 1]] * len(gaps))).reshape(len(gaps), -1).T
    sums, seen = signs @ ranks, ranks[gaps > 0].sum()
    return min(1.0, 2 * min((sums <= seen).mean(), (sums >= seen).mean()))


def test_wins_losses_and_ties_are_counted_apart():
    found = paired([0.5, 0.4, 0.2, 0.3], [0.1, 0.2, 0.3, 0.3])
    # differences .4, .2, -.1: ranks 3 + 2 against 1; 2 of 8 sign patterns reach 5, in either tail
    assert found == (2, 1, 1, 2 * 2 / 8)


@pytest.mark.parametrize("seed", range(5))
def test_few_different_gaps_give_the_exact_distribution(seed):
    gaps = np.random.default_rng(seed).normal(0.4, 1.0, 9)
    np.testing.assert_allclose(paired(gaps, np.zeros(9)).p, by_enumeration(gaps), rtol=1e-12, atol=0)


def test_equal_gaps_share_ranks_and_zeros_are_left_out():
    # |gaps| 1 1 2 3: ranks 1.5 1.5 3 4; W = 1.5 of 10; mean 5, variance 4*5*9/24 - (2^3 - 2)/48
    z = (1.5 - 5.0) / np.sqrt(4 * 5 * 9 / 24 - 6 / 48)
    from scipy.special import ndtr

    np.testing.assert_allclose(paired([1, -1, 2, 3, 0], [0] * 5).p, 2 * ndtr(z), rtol=1e-12, atol=0)


def test_two_stars_are_for_p_below_a_twentieth():
    assert [Paired(1, 0, 0, p).is_clear for p in (0.0499, 0.05, 1.0)] == [True, False, False]


def test_all_level_is_no_difference():
    assert paired([0.1, 0.2], [0.1, 0.2]) == (0, 0, 2, 1.0)


def test_rounding_is_no_difference():
    assert paired([0.1 + 0.2], [0.3])[:3] == (0, 0, 1)


def test_the_order_of_the_two_turns_wins_into_losses():
    a, b = np.random.default_rng(0).random((2, 60))
    there, back = paired(a, b), paired(b, a)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    np.testing.assert_allclose(there.p, back.p, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("a", "b"), [([1.0], [1.0, 2.0]), ([np.nan], [1.0])])
def test_what_cannot_be_paired_is_refused(a, b):
    with pytest.raises(InputError, match="compared pair by pair; finite values"):
        paired(a, b)
