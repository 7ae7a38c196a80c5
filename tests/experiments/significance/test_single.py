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


def by_enumeration(gaps):
    """Two-tailed p of the sum of ranks over all signs, each as likely."""
    ranks = np.abs(gaps).argsort().argsort() + 1
    signs = np.array(np.meshgrid(*[[0, 1]] * len(gaps))).reshape(len(gaps), -1).T
    sums, seen = signs @ ranks, ranks[gaps > 0].sum()
    return min(1.0, 2 * min((sums <= seen).mean(), (sums >= seen).mean()))


@pytest.mark.parametrize("seed", range(5))
def test_few_ranks_have_the_exact_distribution(seed):
    gaps = np.random.default_rng(seed).normal(0.4, 1.0, 9)
    np.testing.assert_allclose(signed_rank(gaps, np.zeros(9)).p, by_enumeration(gaps), rtol=1e-12, atol=0)


def test_equal_sizes_share_ranks():
    # |gaps| 1 1 2 3: ranks 1.5 1.5 3 4; W = 1.5 of 10; mean 5, variance 4*5*9/24 - (2^3 - 2)/48
    z = (1.5 - 5.0) / np.sqrt(4 * 5 * 9 / 24 - 6 / 48)
    found = signed_rank([1, -1, 2, 3, 0], [0] * 5)
    np.testing.assert_allclose(found.p, 2 * scipy.stats.norm.cdf(z), rtol=1e-12, atol=0)
    assert (found.wins, found.ties, found.losses) == (3, 1, 1)


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
        bootstrap_interval([1.0, 2.0, 4.0], [0.0, 0.0, 0.0], n_resamples=1)


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


def test_equal_differences_have_no_scatter():
    a, b = [2.0, 3.0, 4.0], [1.0, 2.0, 3.0]
    assert paired_t(a, b).p == 0.0
    assert effect_size(a, b) == np.inf
    assert effect_size(b, a) == -np.inf
    assert effect_size(a, a) == 0.0
    assert bootstrap_interval(a, b) == (1.0, 1.0)
    assert detectable(a, b) == 0.0


def test_rounding_is_no_scatter():
    a, b = np.array([0.2, 0.3, 0.4]), np.array([0.1, 0.2, 0.3])
    assert (a - b).std() > 0.0
    assert paired_t(a, b).p == 0.0
    assert effect_size(a, b) == np.inf
    assert detectable(a, b) == 0.0
    np.testing.assert_allclose(t_interval(a, b), (0.1, 0.1), **CLOSE)


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
