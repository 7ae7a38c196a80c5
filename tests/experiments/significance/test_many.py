"""Many systems: corrections against statsmodels, Tukey by hand and by statsmodels, letters."""

import itertools

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.anova import AnovaRM
from statsmodels.stats.multitest import multipletests

from directrix.errors import InputError
from directrix.experiments.significance import adjust, compare, letters, paired_t, randomized_tukey, tukey

CLOSE = {"rtol": 1e-10, "atol": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "theirs"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("benjamini-hochberg", "fdr_bh")]
)
def test_corrections_are_those_of_statsmodels(ours, theirs):
    for seed, m in itertools.product(range(5), (1, 2, 11)):
        p = np.random.default_rng(seed).random(m) ** 3
        p[m // 2] = p[0]  # ties
        np.testing.assert_allclose(adjust(p, ours), multipletests(p, method=theirs)[1], **CLOSE)


def table(n_systems, n_queries=25, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.random((n_queries, 1))
        + 0.05 * np.arange(n_systems)
        + 0.1 * rng.normal(size=(n_queries, n_systems))
    )


def test_tukeys_error_is_that_of_the_analysis_of_variance():
    import pandas as pd

    y = table(4)
    long = pd.DataFrame(
        [(q, s, y[q, s]) for q in range(25) for s in range(4)], columns=["query", "system", "value"]
    )
    anova = AnovaRM(long, "value", "query", within=["system"]).fit().anova_table
    # F = mean square of systems / mean square of the residual
    systems = 25 * y.mean(axis=0).var(ddof=1)
    error = np.sqrt(systems / anova["F Value"].iloc[0] / 25)
    gaps = np.abs(y.mean(axis=0)[:, None] - y.mean(axis=0))
    found = tukey(y, alpha=0.1)
    q = scipy.stats.studentized_range
    np.testing.assert_allclose(found.p[0, 1:], q.sf(gaps[0, 1:] / error, 4, 3 * 24), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.least, q.ppf(0.9, 4, 3 * 24) * error, rtol=1e-6, atol=0)
    np.testing.assert_array_equal(found.p, found.p.T)
    np.testing.assert_array_equal(np.diag(found.p), 1.0)


def test_tukey_of_two_systems_is_the_paired_t_test():
    y = table(2, seed=4)
    np.testing.assert_allclose(tukey(y).p[0, 1], paired_t(*y.T).p, rtol=1e-6, atol=0)


def test_what_all_systems_gain_from_a_query_does_not_matter():
    y = table(3)
    shifted = y + 100.0 * np.arange(25)[:, None]
    np.testing.assert_allclose(tukey(shifted).p, tukey(y).p, rtol=1e-6, atol=1e-9)


def test_randomized_tukey_is_the_enumeration_of_all_shuffles():
    y = np.array([[0.1, 0.5, 0.9], [0.2, 0.3, 0.7], [0.6, 0.4, 0.8]])
    orders = list(itertools.permutations(range(3)))
    ranges = [
        np.ptp([np.mean([y[q, o[s]] for q, o in enumerate(chosen)]) for s in range(3)])
        for chosen in itertools.product(orders, repeat=3)
    ]
    found = randomized_tukey(y, n_resamples=40_000, seed=2)
    means = y.mean(axis=0)
    for i, j in itertools.combinations(range(3), 2):
        expected = np.mean(np.array(ranges) >= abs(means[i] - means[j]) - 1e-12)
        np.testing.assert_allclose(found.p[i, j], expected, atol=0.012, rtol=0)  # 5 standard errors
    np.testing.assert_allclose(found.least, np.quantile(ranges, 0.95), atol=0.01, rtol=0)


def test_randomized_tukey_is_near_tukey_and_again_the_same():
    y = table(3, n_queries=60, seed=1) - 0.04 * np.arange(3)
    again = randomized_tukey(y, n_resamples=4000)
    np.testing.assert_array_equal(randomized_tukey(y, n_resamples=4000).p, again.p)
    np.testing.assert_allclose(again.p, tukey(y).p, atol=0.06, rtol=0)


def test_a_random_p_of_many_systems_is_never_zero():
    y = np.arange(40.0)[:, None] + np.array([0.0, 0.1, 500.0])
    assert randomized_tukey(y, n_resamples=99).p[0, 2] == 1 / 100


def test_systems_without_scatter_differ_by_the_number_of_queries():
    y = np.arange(6.0)[:, None] + np.array([0.0, 0.3, 0.3])
    p = 3 * 2 / 2**6  # that of six equal signs, for each of three pairs
    np.testing.assert_allclose(tukey(y).p, [[1, p, p], [p, 1, 1], [p, 1, 1]], rtol=1e-12)
    assert tukey(y).least == np.inf
    assert tukey(y[:2]).p[0, 1] == 1.0
    same = y[:, [1, 2]]
    assert tukey(same).least == randomized_tukey(same, n_resamples=99).least == np.inf


@pytest.mark.parametrize(
    "gaps", [[0.1, 0.2], [0.1, 0.2, 0.3, 0.2, 0.1], [0.5, 0.4] + [0.0] * 38, [0.1] * 40], ids=len
)
def test_few_or_equal_differences_have_no_interval_by_shuffles(gaps):
    y = np.add.outer(np.arange(len(gaps)) / 64, [0.0, 0.0])
    y[:, 0] += gaps
    assert randomized_tukey(y).least == np.inf
    more = np.append(gaps, np.linspace(-0.3, 0.3, 30))
    assert randomized_tukey(np.column_stack([more, 0.0 * more])).least < 0.3


@pytest.mark.parametrize(("n_differ", "is_shown"), [(5, False), (6, True)])
def test_few_queries_that_differ_show_nothing(n_differ, is_shown):
    """As in the paired t-test, also next to a system that varies little."""
    y = np.repeat(np.random.default_rng(0).random((100, 1)), 2, axis=1)
    y[:n_differ, 0] += 0.5
    p = paired_t(y[:, 0], y[:, 1]).p
    np.testing.assert_allclose(tukey(y).p[0, 1], p, rtol=1e-4)
    (pair,) = compare({"a": y[:, 0], "b": y[:, 1]}, test="tukey").pairs
    assert pair.differs == (pair.interval[0] > 0.0) == is_shown
    assert tukey(np.column_stack([y, y[:, 1]])).p[0, 2] >= 2 / 2**n_differ


def test_queries_that_a_system_lacks_do_not_count():
    y = table(3)
    with_gaps = np.insert(y, 4, [0.1, np.nan, 0.2], axis=0)
    for test in (tukey, lambda v: randomized_tukey(v, n_resamples=500)):
        found, expected = test(with_gaps), test(y)
        np.testing.assert_array_equal(found.p, expected.p)
        assert found.n == 25


EXAMPLES = [
    (2, [], ["a", "a"]),
    (2, [(0, 1)], ["a", "b"]),
    (3, [], ["a", "a", "a"]),
    (3, [(0, 2)], ["a", "ab", "b"]),
    (3, [(0, 1), (0, 2), (1, 2)], ["a", "b", "c"]),
    (4, [(0, 2), (0, 3), (1, 3)], ["a", "ab", "bc", "c"]),
    # the middle one differs from both ends, which do not differ: no order of means explains it
    (3, [(0, 1), (1, 2)], ["a", "b", "a"]),
    # a ring of five: every system differs from the two across
    (5, [(0, 2), (1, 3), (2, 4), (3, 0), (4, 1)], ["ab", "ac", "cd", "de", "be"]),
]


@pytest.mark.parametrize(("n", "pairs", "expected"), EXAMPLES)
def test_letters_of_small_examples(n, pairs, expected):
    differ = np.zeros((n, n), dtype=bool)
    for i, j in pairs:
        differ[i, j] = differ[j, i] = True
    assert letters(-np.arange(n), differ) == tuple(expected)
    # in another order of the systems the same
    order = np.random.default_rng(0).permutation(n)
    assert letters(-order, differ[np.ix_(order, order)]) == tuple(expected[i] for i in order)


@pytest.mark.parametrize("seed", range(20))
def test_two_systems_share_a_letter_just_when_they_do_not_differ(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    differ = np.triu(rng.random((n, n)) < rng.random(), 1)
    differ |= differ.T
    marks = letters(rng.random(n), differ)
    for i, j in itertools.combinations(range(n), 2):
        assert (not set(marks[i]) & set(marks[j])) == differ[i, j]
    assert all(marks)
    for letter in set("".join(marks)):  # each says something that no other does
        pairs = itertools.combinations_with_replacement([i for i in range(n) if letter in marks[i]], 2)
        assert any(set(marks[i]) & set(marks[j]) == {letter} for i, j in pairs)
    holders = [{i for i in range(n) if letter in marks[i]} for letter in set("".join(marks))]
    for group in holders:  # nobody can be added, so no letter is part of another
        assert not any(all(not differ[k, i] for i in group) for k in set(range(n)) - group)


def test_the_alphabet_does_not_end():
    differ = ~np.eye(54, dtype=bool)
    assert letters(-np.arange(54), differ)[24:28] == ("y", "z", "A", "B")
    assert letters(-np.arange(54), differ)[51:] == ("Z", "(53)", "(54)")


WRONG = [
    (lambda: adjust([0.1, 1.1]), "p_values must be between 0 and 1"),
    (lambda: adjust([np.nan]), "p_values must be between 0 and 1"),
    (
        lambda: adjust([0.1], "sidak"),
        "correction='sidak': the corrections are holm, bonferroni, benjamini-hochberg",
    ),
    (lambda: tukey([[1.0], [2.0]]), r"values has shape \(2, 1\); finite values"),
    (lambda: tukey([1.0, 2.0]), r"values has shape \(2,\); finite values"),
    (lambda: randomized_tukey([[1.0, np.inf]] * 3), "finite values"),
    (
        lambda: tukey([[1.0, np.nan], [1.0, 2.0]]),
        "queries with a value for all 2 systems: 1 of 2; two or more",
    ),
    (lambda: tukey([[1.0, 2.0]] * 3, alpha=5), "alpha=5: alpha must be a number > 0 and < 1"),
    (lambda: randomized_tukey([[1.0, 2.0]] * 3, n_resamples=0), "n_resamples=0"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_what_cannot_be_done_is_rejected(call, message):
    with pytest.raises(InputError, match=message):
        call()
