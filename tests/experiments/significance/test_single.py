"""Tests of one pair against SciPy, statsmodels and enumeration."""

import itertools

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from directrix.errors import InputError
from directrix.experiments.significance import (
    Significance,
    bootstrap_interval,
    detectable,
    effect_size,
    paired_t,
    randomization,
    sign_test,
    signed_rank,
    t_interval,
)
from tests.messages import rejects

TESTS = [paired_t, signed_rank, sign_test, randomization]
CLOSE = {"rtol": 1e-10, "atol": 0}


@pytest.fixture(params=[0, 1, 2])
def values(request):
    """Two systems on 60 queries; every sixth pair is level."""
    rng = np.random.default_rng(request.param)
    b = rng.random(60)
    gaps = rng.normal(0.03, 0.1, 60)
    gaps[::6] = 0.0
    return b + gaps, b


def test_t_is_scipys(values):
    expected = scipy.stats.ttest_rel(*values)
    np.testing.assert_allclose(paired_t(*values).p, expected.pvalue, **CLOSE)
    low, high = expected.confidence_interval(0.9)
    np.testing.assert_allclose(t_interval(*values, confidence=0.9), (low, high), **CLOSE)


def test_the_signed_rank_test_leaves_level_pairs_out(values):
    gaps = np.subtract(*values)
    gaps = gaps[np.abs(gaps) > 1e-12]
    assert len(gaps) == 50
    expected = scipy.stats.wilcoxon(gaps, method="exact").pvalue
    np.testing.assert_allclose(signed_rank(*values).p, expected, **CLOSE)


def test_sizes_that_are_equal_but_for_rounding_share_a_rank():
    a, b = [0.3, 0.2, 0.1, 0.9], [0.2, 0.1, 0.2, 0.4]  # .3 - .2 is not .2 - .1 in binary
    assert 0.3 - 0.2 != 0.2 - 0.1
    exact = signed_rank([1, 1, -1, 5], [0] * 4).p
    np.testing.assert_allclose(signed_rank(a, b).p, exact, **CLOSE)


def by_enumeration(gaps, value):
    """Share of all signs of the differences, each as likely, with a value that is as far from 0."""
    gaps = gaps[gaps != 0.0]
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(gaps))))
    seen = abs(np.sign(gaps) @ value(gaps))
    return np.mean(np.abs(signs @ value(gaps)) >= seen - 1e-9) if len(gaps) else 1.0


@pytest.mark.parametrize("seed", range(60))
def test_p_of_few_pairs_is_that_of_all_signs(seed):
    """With ties and zeros in many numbers, as reciprocal ranks and precisions have them, and without."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    gaps = rng.normal(0.4, 1.0, n) if seed % 3 == 0 else rng.integers(-2, 4, n) / 2.0
    zeros = np.zeros(n)
    exact = {
        signed_rank: lambda of: scipy.stats.rankdata(np.abs(of)),
        randomization: np.abs,
        sign_test: np.ones_like,
    }
    for test, value in exact.items():
        np.testing.assert_allclose(test(gaps, zeros).p, by_enumeration(gaps, value), rtol=1e-12, atol=0)
    if n > 1 and (gaps == 0.0).any():
        assert paired_t(gaps, zeros).p >= by_enumeration(np.abs(gaps), np.ones_like)


@pytest.mark.parametrize("n", [9, 40])
def test_ranks_are_those_of_scipy(n):
    """SciPy has the exact distribution without ties, and tries all signs of up to 13 pairs."""
    rng = np.random.default_rng(n)
    gaps = rng.normal(0.3, 1.0, n)
    theirs = scipy.stats.wilcoxon(gaps, method="exact").pvalue
    np.testing.assert_allclose(signed_rank(gaps, np.zeros(n)).p, theirs, rtol=1e-12, atol=0)
    tied = np.where(np.arange(9) < 6, 1.0, rng.integers(-3, 3, 9))
    tied = tied[tied != 0.0]
    theirs = scipy.stats.wilcoxon(tied, method=scipy.stats.PermutationMethod()).pvalue
    np.testing.assert_allclose(signed_rank(tied, 0.0 * tied).p, theirs, rtol=1e-12, atol=0)


def test_equal_sizes_share_ranks():
    # |gaps| 1 1 2 3: ranks 1.5 1.5 3 4; a sum of signed ranks of 7 or more in size has 6 of 16 signs
    found = signed_rank([1, -1, 2, 3, 0], [0] * 5)
    np.testing.assert_allclose(found.p, 6 / 16, rtol=1e-12, atol=0)
    assert (found.wins, found.ties, found.losses) == (3, 1, 1)


@pytest.mark.parametrize(
    ("n", "wins"), [(60, 38), (200, 114), (2_000, 1_044), (3_000, 1_554), (40_000, 20_197)]
)
def test_ranks_of_one_size_are_the_sign_test(n, wins):
    """Near p = .05; the last two have the normal approximation."""
    gaps = np.where(np.arange(n) < wins, 1.0, -1.0)
    rtol = 1e-9 if n <= 2_000 else 1e-3
    np.testing.assert_allclose(
        signed_rank(gaps, np.zeros(n)).p, sign_test(gaps, np.zeros(n)).p, rtol=rtol, atol=0
    )


def test_many_ranks_have_the_normal_approximation():
    gaps = np.random.default_rng(0).normal(0.1, 1.0, 400)
    theirs = scipy.stats.wilcoxon(gaps, method="approx", correction=True).pvalue
    np.testing.assert_allclose(signed_rank(gaps, np.zeros(400)).p, theirs, rtol=1e-9, atol=0)


def test_two_stars_are_for_p_below_a_twentieth():
    assert [Significance(p, 0.1, 1, 1, 0, 0).is_clear for p in (0.0499, 0.05)] == [True, False]


def test_the_sign_test_is_the_binomial_one(values):
    gaps = np.subtract(*values)
    wins, losses = (gaps > 1e-12).sum(), (gaps < -1e-12).sum()
    expected = scipy.stats.binomtest(wins, wins + losses).pvalue
    np.testing.assert_allclose(sign_test(*values).p, expected, **CLOSE)
    assert sign_test([1, 0], [0, 1]).p == 1.0


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_pairs_are_randomized_by_enumeration(n):
    gaps = np.round(np.random.default_rng(n).normal(0.3, 1.0, n), 1)  # with equal sums
    sums = [
        sum(s * g for s, g in zip(signs, gaps, strict=True)) for signs in itertools.product([1, -1], repeat=n)
    ]
    expected = np.mean(np.abs(sums) >= abs(gaps.sum()) - 1e-9)
    found = randomization(np.append(gaps, [0.0] * 30), np.zeros(n + 30))  # level pairs do not make it random
    np.testing.assert_allclose(found.p, expected, **CLOSE)
    if n > 1:
        samples = (gaps, np.zeros(n))
        mean = lambda x, y: np.mean(x - y)  # noqa: E731
        scipys = scipy.stats.permutation_test(samples, mean, permutation_type="samples", n_resamples=np.inf)
        np.testing.assert_allclose(found.p, scipys.pvalue, **CLOSE)


def test_many_pairs_are_randomized_at_random_and_again_the_same(values):
    found = randomization(*values, n_resamples=20_000)
    assert found == randomization(*values, n_resamples=20_000)
    assert found != randomization(*values, n_resamples=20_000, seed=1)
    assert abs(found.p - paired_t(*values).p) < 0.02
    assert (found.p * 20_001) == pytest.approx(round(found.p * 20_001), abs=1e-6)


def test_a_random_p_is_never_zero():
    assert randomization(np.arange(1, 40), np.zeros(39), n_resamples=999).p == 1 / 1000


def test_blocks_do_not_show(values, monkeypatch):
    whole = randomization(*values, n_resamples=5000).p
    monkeypatch.setattr("directrix.measures.bootstrap._BLOCK", 60 * 70)
    assert abs(randomization(*values, n_resamples=5000).p - whole) < 0.03


def bca(gaps, n_resamples, seed):
    """Efron (1987), Section 3: means of leaving one out differ from theirs by -(d - mean) / (n - 1)."""
    rng, n, mean = np.random.default_rng(seed), len(gaps), gaps.mean()
    drawn = gaps[rng.integers(0, n, (n_resamples, n))].mean(axis=1)
    bias = scipy.stats.norm.ppf(((drawn < mean).mean() + (drawn <= mean).mean()) / 2)
    acceleration = ((gaps - mean) ** 3).sum() / (6.0 * ((gaps - mean) ** 2).sum() ** 1.5)
    z = bias + scipy.stats.norm.ppf([0.025, 0.975])
    return np.quantile(drawn, scipy.stats.norm.cdf(bias + z / (1.0 - acceleration * z)))


@pytest.mark.parametrize(
    "gaps",
    [
        np.random.default_rng(3).exponential(1.0, 40) - 0.4,  # skewed, so that BCa moves
        np.array([0.2, 0.5, 0.1, 0.9, 1.3, 2.0, 9.0, 0.4, 0.3, 0.2, 0.6]),  # the bias moves the ends by .1
        np.random.default_rng(5).exponential(1.0, 3000),  # in several blocks
    ],
)
def test_bootstrap_intervals_are_those_of_efron(gaps):
    found = bootstrap_interval(gaps, np.zeros(len(gaps)), n_resamples=4000, seed=2)
    np.testing.assert_allclose(found, bca(gaps, 4000, 2), rtol=1e-12, atol=0)


def test_too_few_samples_are_rejected():
    with rejects(InputError):
        bootstrap_interval([1.0, 2.0, 4.0, 1.0, 2.0, 4.0], [0.0] * 6, n_resamples=1)


def test_effect_is_the_t_statistic_by_the_root_of_n(values):
    t = scipy.stats.ttest_rel(*values).statistic
    np.testing.assert_allclose(effect_size(*values), t / np.sqrt(60), **CLOSE)


@pytest.mark.parametrize(
    ("n", "alpha", "power"), [(105, 0.05, 0.8), (12, 0.01, 0.5), (4, 0.05, 0.9), (30, 0.3, 0.4)]
)
def test_what_can_be_seen_is_that_of_statsmodels(n, alpha, power):
    gaps = np.random.default_rng(n).normal(size=n)
    size = TTestPower().solve_power(nobs=n, alpha=alpha, power=power)
    found = detectable(gaps, np.zeros(n), alpha=alpha, power=power)
    np.testing.assert_allclose(found, size * gaps.std(ddof=1), rtol=1e-5, atol=0)


def test_two_pairs_can_show_large_differences_alone():
    # |T| with 1 degree of freedom, by drawing: statsmodels finds too small a difference here
    z = np.random.default_rng(0).normal(size=(2, 200_000))
    least = detectable([0.0, np.sqrt(2.0)], [0.0, 0.0], power=0.9)  # their scatter is 1
    t = (z[0] + least * np.sqrt(2)) / np.abs(z[1])
    seen = np.mean(np.abs(t) > scipy.stats.t.ppf(0.975, 1))
    np.testing.assert_allclose(seen, 0.9, atol=0.003, rtol=0)


@pytest.mark.parametrize("test", TESTS)
def test_undefined_pairs_do_not_count(test):
    a, b = np.random.default_rng(0).random((2, 12))
    more = np.insert(a, [3, 7], np.nan), np.insert(b, [3, 7], [0.5, np.nan])
    assert test(*more) == test(a, b)
    assert test(a, b).n == 12


@pytest.mark.parametrize("test", TESTS)
def test_level_systems_do_not_differ(test):
    for found in (test([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]), test([0.1 + 0.2] * 2, [0.3] * 2)):
        assert (found.p, found.difference, found.ties) == (1.0, 0.0, found.n)


@pytest.mark.parametrize("test", TESTS)
def test_the_order_of_the_two_turns_the_sign_alone(test, values):
    there, back = test(*values), test(*values[::-1])
    np.testing.assert_allclose(there.difference, -back.difference, **CLOSE)
    np.testing.assert_allclose(there.p, back.p, **CLOSE)
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)


UNBOUNDED = (-np.inf, np.inf)


@pytest.mark.parametrize("n", [2, 3, 7, 30])
@pytest.mark.parametrize("gap", [0.1, 0.0])
def test_equal_differences_tell_no_variance(n, gap):
    """Also where rounding makes them differ: .2 - .1 and .3 - .2."""
    b = np.arange(1.0, n + 1.0) / 10.0
    a = b + gap
    np.testing.assert_allclose(paired_t(a, b).p, 2 / 2**n if gap else 1.0, rtol=1e-12, atol=0)
    assert bootstrap_interval(a, b) == t_interval(a, b) == UNBOUNDED
    assert detectable(a, b) == np.inf
    np.testing.assert_equal(effect_size(a, b), np.nan if gap else 0.0)


@pytest.mark.parametrize(("n", "is_known"), [(1, False), (2, False), (5, False), (6, True)])
def test_the_bootstrap_of_fewer_than_six_pairs_has_no_interval(n, is_known):
    """Its ends lie between the extremes of n values, on one side of the median with chance 2 / 2^n."""
    found = bootstrap_interval(np.arange(1.0, n + 1.0), np.zeros(n))
    assert (found != UNBOUNDED) == is_known
    assert bootstrap_interval([1.0, 2.0], [0.0, 0.0], confidence=0.4) != UNBOUNDED


@pytest.mark.parametrize("interval", [t_interval, bootstrap_interval])
@pytest.mark.parametrize(("n_differ", "is_shown"), [(1, False), (5, False), (6, True)])
def test_few_pairs_that_differ_among_equal_ones_show_nothing(interval, n_differ, is_shown):
    """By Student's t, four of a hundred are significant; all signs of four have p = 2 / 2^4."""
    gaps = np.where(np.arange(100) < n_differ, 0.5, 0.0)
    found = paired_t(gaps, np.zeros(100))
    assert (found.p < 0.05) == is_shown
    assert found.p >= sign_test(gaps, np.zeros(100)).p
    low, high = interval(gaps, np.zeros(100))
    assert (low > 0.0) == is_shown
    assert 0.005 * n_differ < high < 0.1


def test_one_pair_has_no_scatter_to_know():
    assert np.isnan(effect_size([1.0], [0.0]))
    assert detectable([1.0], [0.0]) == np.inf
    assert t_interval([1.0], [0.0]) == (-np.inf, np.inf)


A, B = [1.0, 2.0, 3.0], [0.0, 0.0, 1.0]
WRONG = [
    (lambda: paired_t([1.0], [1.0, 2.0]), "1 and 2 values cannot be compared pair by pair; finite values"),
    (lambda: sign_test([np.inf], [1.0]), "finite values of the same queries"),
    (lambda: signed_rank([np.nan], [1.0]), "none of 1 pairs of values has two numbers"),
    (lambda: paired_t([1.0], [0.0]), "the t-test has one pair of values; two or more"),
    (lambda: randomization(A, B, seed=-1), "seed=-1: seed must be an integer >= 0"),
    (lambda: randomization(A, B, n_resamples=0), "n_resamples=0: n_resamples must be an integer >= 1"),
    (lambda: randomization(A, B, n_resamples=1.5), "n_resamples=1.5: n_resamples must be an integer"),
    (lambda: t_interval(A, B, confidence=95), "confidence=95: confidence must be a number > 0 and < 1"),
    (lambda: detectable(A, B, power=1.0), "power=1.0: power must be a number > 0 and < 1"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_what_cannot_be_done_is_rejected(call, message):
    with pytest.raises(InputError, match=message):
        call()
