"""Tests of interleaved sessions and A/B tests: hand values, levels, coverage, power, users as clusters."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from directrix.clicks.interleaving import interleave
from directrix.clicks.log import Log
from directrix.clicks.online import ab_test, interleaving_test
from directrix.errors import InputError
from tests.messages import rejects


def of_wins(wins, ties, losses):
    """Credits of sessions that A wins, ties and loses."""
    return {
        "A": np.repeat([1.0, 0.0, 0.0], [wins, ties, losses]),
        "B": np.repeat([0, 0, 1], [wins, ties, losses]),
    }


def by_measure(result):
    return {contrast.measure: contrast for contrast in result.contrasts}


def test_delta_counts_ties_as_half_a_win():
    sessions = by_measure(interleaving_test(of_wins(30, 50, 20)))["wins"]
    assert sessions.difference == pytest.approx((30 + 50 / 2) / 100 - 1 / 2, rel=1e-12)
    assert sessions.values == (pytest.approx(0.55), pytest.approx(0.45))


@pytest.mark.parametrize("interval", ["delta", "bootstrap"])
def test_without_users_the_error_is_that_of_independent_sessions(interval):
    sessions = by_measure(interleaving_test(of_wins(260, 500, 240), interval=interval))["wins"]
    outcome = np.repeat([0.5, 0.0, -0.5], [260, 500, 240])
    expected = stats.ttest_1samp(outcome, 0.0)
    assert sessions.error == pytest.approx(outcome.std(ddof=1) / np.sqrt(1000), rel=1e-12)
    assert sessions.p == pytest.approx(expected.pvalue, rel=1e-9 if interval == "delta" else 0.1)
    np.testing.assert_allclose(
        sessions.interval, expected.confidence_interval(), rtol=0, atol=1e-9 if interval == "delta" else 0.002
    )


def test_users_count_once_however_often_their_sessions_are_repeated():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, 200))
    once = interleaving_test({"A": a, "B": b}, interval="delta")
    users = np.tile(np.arange(200), 9)
    often = interleaving_test({"A": np.tile(a, 9), "B": np.tile(b, 9)}, users=users, interval="delta")
    for one, nine in zip(once.contrasts, often.contrasts, strict=True):
        assert nine.error == pytest.approx(one.error, rel=1e-12)
        assert nine.p == pytest.approx(one.p, rel=1e-9)
        assert (nine.n_sessions, nine.n_users) == (1800, 200)


def test_the_sign_test_counts_users_who_won_more_sessions_for_one_ranker():
    users = np.repeat(["u", "v", "w", "x", "y", "z"], 3)
    a = np.array([1, 1, 0] * 4 + [0, 1, 0] + [0, 0, 0])  # five users prefer A, none B, one is undecided
    users_contrast = by_measure(interleaving_test({"A": a, "B": 0 * a}, users=users))["wins by user"]
    assert users_contrast.p == pytest.approx(2 / 2**5, rel=1e-12)
    assert users_contrast.difference == pytest.approx((5 + 1 / 2) / 6 - 1 / 2, rel=1e-12)


def simulated(rng, preference, n_users=150, spread=0.0):
    """Interleaved sessions of users, who click on the lists of [1, 2, 3] and [3, 2, 1]; A wins more often."""
    n = rng.integers(1, 8, n_users)
    users = np.repeat(np.arange(n_users), n)
    p = np.clip(0.5 + preference + spread * rng.standard_normal(n_users), 0.0, 1.0)[users]
    is_clicked = rng.random(len(users)) < 0.7
    is_a = rng.random(len(users)) < p
    return {"A": is_clicked & is_a, "B": is_clicked & ~is_a}, users


@pytest.mark.parametrize(
    ("interval", "n_trials"), [("delta", 400), pytest.param("bootstrap", 200, marks=pytest.mark.slow)]
)
def test_rankers_that_users_like_equally_differ_at_the_level(interval, n_trials):
    """A/A tests in which every user has a taste; counted as independent, sessions would differ too often."""
    rng = np.random.default_rng(1)
    p, naive, covered = [], [], []
    for _ in range(n_trials):
        credits, users = simulated(rng, 0.0, spread=0.3)
        sessions = interleaving_test(credits, users, interval=interval).contrasts[0]
        p.append(sessions.p)
        naive.append(interleaving_test(credits, interval="delta").contrasts[0].p)
        covered.append(sessions.interval[0] <= 0.0 <= sessions.interval[1])
    limit = 3.0 * np.sqrt(0.05 * 0.95 / n_trials)
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < limit
    assert abs(np.mean(covered) - 0.95) < limit
    assert np.mean(np.array(naive) < 0.05) > 0.05 + limit


def test_interleaving_two_equal_rankers_finds_no_difference():
    """Real lists of team draft, with clicks that depend on position and document alone."""
    rng = np.random.default_rng(2)
    p = []
    for trial in range(30):
        credits = {"A": [], "B": []}
        for session in range(100):
            shown = interleave([1, 2, 3, 4], [2, 1, 4, 3], seed=100 * trial + session)
            for name, credit in shown.credit(rng.random(4) < [0.5, 0.3, 0.2, 0.1]).items():
                credits[name].append(credit)
        p.append(interleaving_test(credits, interval="delta").contrasts[0].p)
    assert (np.array(p) < 0.05).sum() <= stats.binom.ppf(0.999, 30, 0.05)


def test_the_number_of_sessions_is_that_of_the_normal_approximation():
    sessions = interleaving_test(of_wins(500, 0, 500)).contrasts[0]
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert sessions.sessions_needed(0.05) == pytest.approx(z**2 * 0.25 / 0.05**2, rel=0.002)  # 785
    assert sessions.sessions_needed(-0.05) == sessions.sessions_needed(0.05)
    assert sessions.detectable() == pytest.approx(z * 0.5 / np.sqrt(1000), rel=0.001)
    assert sessions.sessions_needed(sessions.detectable()) == pytest.approx(1000, abs=1)


def test_the_number_of_sessions_gives_the_power():
    rng = np.random.default_rng(3)
    n = interleaving_test(of_wins(500, 0, 500)).contrasts[0].sessions_needed(0.1)
    found = 0
    for _ in range(400):
        wins = rng.random(n) < 0.6
        found += interleaving_test({"A": wins, "B": ~wins}, interval="delta").contrasts[0].p < 0.05
    assert found / 400 == pytest.approx(0.8, abs=3 * np.sqrt(0.8 * 0.2 / 400))


def test_every_pair_of_multileaved_rankers_is_compared():
    result = interleaving_test({"A": [1, 0, 1], "B": [0, 0, 1], "C": [0, 2, 0]})
    pairs = [(contrast.first, contrast.second) for contrast in result.contrasts[::3]]
    assert pairs == [("A", "B"), ("A", "C"), ("B", "C")]


def test_optimized_lists_balance_the_credit_of_random_clicks_not_the_wins():
    rng = np.random.default_rng(4)
    credits = {"A": [], "B": []}
    for seed in range(200):
        shown = interleave([1, 2], [2, 3], "optimized", k=2, seed=seed)
        for name, credit in shown.credit(np.arange(2) == rng.integers(2)).items():
            credits[name].append(credit)
    result = by_measure(interleaving_test(credits))
    assert result["wins"].p < 0.001
    assert result["credit"].p > 0.05


def test_seeds_repeat_the_bootstrap():
    credits, users = simulated(np.random.default_rng(5), 0.1)
    results = [interleaving_test(credits, users, seed=seed).contrasts[0] for seed in (0, 0, 1)]
    assert results[0] == results[1]
    assert results[0].interval != results[2].interval


@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("interval", ["delta", "bootstrap"])
def test_sessions_that_agree_tell_no_error(n, interval):
    equal = interleaving_test(of_wins(0, n, 0), interval=interval).contrasts[0]
    np.testing.assert_equal((equal.difference, equal.error, equal.p), (0.0, np.nan, 1.0))
    for won in interleaving_test(of_wins(n, 0, 0), interval=interval).contrasts:
        np.testing.assert_equal((won.error, won.interval, won.detectable()), (np.nan, (np.nan,) * 2, np.nan))
        assert won.p == pytest.approx(2 / 2**n, rel=1e-12)
    ab = ab_test(log_of([[1]] * n + [[0]] * n, ["A"] * n + ["B"] * n), ["CTR@1"], interval=interval)
    assert ab.contrasts[0].p == pytest.approx(2 / math.comb(2 * n, n), rel=1e-9)
    np.testing.assert_equal(ab.contrasts[0].interval, (np.nan,) * 2)


@pytest.mark.parametrize("interval", ["delta", "bootstrap"])
def test_few_users_that_differ_among_equal_ones_show_nothing(interval):
    """Five of a hundred sessions are won, none lost; five of fifty users of A click, none of B."""
    won = interleaving_test(of_wins(5, 95, 0), interval=interval).contrasts[0]
    assert won.p >= 2 / 2**5
    assert won.interval[0] <= 0.0 < won.interval[1] < 0.1
    log = log_of([[1]] * 5 + [[0]] * 95, ["A"] * 50 + ["B"] * 50)
    clicked = ab_test(log, ["CTR@1"], interval=interval).contrasts[0]
    assert clicked.p == pytest.approx(2 * math.comb(95, 45) / math.comb(100, 50), rel=1e-6)  # all five in A
    assert clicked.interval[0] <= 0.0 < clicked.interval[1] < 0.3


@pytest.mark.parametrize(("n", "is_known"), [(2, False), (5, False), (6, True)])
def test_the_bootstrap_of_fewer_than_six_users_has_no_interval(n, is_known):
    credits = {"A": np.arange(1.0, n + 1.0), "B": np.zeros(n)}
    credit = by_measure(interleaving_test(credits))["credit"]
    assert np.isfinite(credit.interval).all() == is_known
    assert credit.p >= 2 / 2**n


def test_wrong_powers_and_no_error_are_rejected():
    won = interleaving_test(of_wins(10, 0, 0)).contrasts[0]
    with rejects(InputError):
        won.sessions_needed(0.1)
    with rejects(InputError):
        won.detectable(1.5)


def log_of(clicks, rankers, users=None):
    """A log with one row of clicks per session."""
    clicks = np.asarray(clicks, dtype=int)
    n, k = clicks.shape
    frame = {
        "session": np.repeat(np.arange(n), k),
        "query": ["q"] * (n * k),
        "doc": np.tile([f"d{i}" for i in range(k)], n),
        "position": np.tile(np.arange(1, k + 1), n),
        "clicked": clicks.ravel(),
        "ranker": np.repeat(rankers, k),
    }
    return Log.from_frame(frame if users is None else frame | {"user": np.repeat(users, k)})


CLICKS = [[0, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]]


def test_the_measures_of_an_ab_test_are_those_of_hand():
    log = log_of(CLICKS, ["A"] * 3 + ["B"] * 3)
    names = ["CTR@1", "CTR@3", "first click RR", "first click rank", "abandonment"]
    values = {contrast.measure: contrast.values for contrast in ab_test(log, names).contrasts}
    expected = {
        "CTR@1": (1 / 3, 1 / 3),
        "CTR@3": (3 / 9, 3 / 9),
        "first click RR": ((0 + 1 / 2 + 1) / 3, (1 / 3 + 1 + 0) / 3),
        "first click rank": ((2 + 1) / 2, (3 + 1) / 2),
        "abandonment": (1 / 3, 1 / 3),
    }
    assert values == {name: pytest.approx(of, rel=1e-12) for name, of in expected.items()}


def test_the_delta_method_meets_the_variance_of_independent_sessions():
    rng = np.random.default_rng(6)
    clicks = rng.random((2000, 5)) < 0.2
    rankers = np.where(np.arange(2000) % 3 == 0, "A", "B")
    contrast = ab_test(log_of(clicks, rankers), "abandonment").contrasts[0]
    is_left = (~clicks.any(axis=1)).astype(float)  # some versions of SciPy give NaN for booleans
    a, b = is_left[rankers == "A"], is_left[rankers == "B"]
    assert contrast.difference == pytest.approx(a.mean() - b.mean(), rel=1e-12)
    assert contrast.error == pytest.approx(np.sqrt(a.var() / len(a) + b.var() / len(b)), rel=1e-3)
    assert contrast.p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=0.02)


@pytest.mark.parametrize("is_within", [False, True], ids=["users of one ranker", "users of both"])
def test_an_ab_test_of_equal_rankers_differs_at_the_level(is_within):
    """Users differ in how often they click; by session the test would reject too often, or too rarely."""
    rng = np.random.default_rng(7)
    p, n_trials = [], 300
    for _ in range(n_trials):
        users = np.repeat(np.arange(120), rng.integers(1, 10, 120))
        ranker = rng.integers(0, 2, len(users)) if is_within else users % 2
        clicks = rng.random((len(users), 3)) < rng.beta(1, 3, 120)[users, None]
        p.append(ab_test(log_of(clicks, np.array(["A", "B"])[ranker], users), "CTR@3").contrasts[0].p)
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / n_trials)


def test_the_ranker_with_fewer_users_limits_the_degrees_of_freedom():
    rng = np.random.default_rng(9)
    for n_users, quantile in ((3, stats.t.ppf(0.975, 2)), (1, np.nan)):
        rankers = np.array(["A"] * 100 + ["B"] * n_users)
        contrast = ab_test(log_of(rng.random((100 + n_users, 4)) < 0.4, rankers), "CTR@4").contrasts[0]
        assert np.isnan(contrast.error) == (n_users == 1)
        half = (contrast.interval[1] - contrast.interval[0]) / 2
        np.testing.assert_allclose(half / contrast.error, quantile, rtol=1e-9)


def test_bootstrap_and_delta_method_agree_on_an_ab_test():
    rng = np.random.default_rng(8)
    users = np.repeat(np.arange(400), 3)
    clicks = rng.random((1200, 4)) < rng.beta(1, 3, 400)[users, None]
    log = log_of(clicks, np.array(["A", "B"])[users % 2], users)
    for one, other in zip(ab_test(log).contrasts, ab_test(log, interval="bootstrap").contrasts, strict=True):
        assert other.difference == one.difference
        np.testing.assert_allclose(other.interval, one.interval, rtol=0, atol=0.1 * one.error)


def test_a_measure_without_sessions_has_no_value():
    log = log_of([[0, 0], [0, 0], [1, 0], [0, 1]], ["A", "A", "B", "B"])
    contrast = ab_test(log, ["first click rank"]).contrasts[0]
    assert np.isnan([contrast.values[0], contrast.difference, contrast.error, contrast.p]).all()
    assert json.loads(json.dumps(ab_test(log).to_dict()))["contrasts"][2]["p"] is None
    assert "nan" in str(ab_test(log))


def test_results_show_themselves():
    text = str(interleaving_test(of_wins(30, 50, 20), interval="delta"))
    assert "100 sessions of 100 users" in text
    assert "A - B  wins          0.5500  0.4500      0.0500" in text
    document = interleaving_test(of_wins(30, 50, 20)).to_dict()
    assert document["interval"] == "bootstrap"
    assert document["contrasts"][0]["n_sessions"] == 100


def test_input_that_cannot_be_tested_is_rejected():
    for credits in ({"A": [1, 0]}, [1, 2], {"A": [1, 0], "B": [1]}, {"A": [1, np.nan], "B": [1, 0]}):
        with rejects(InputError):
            interleaving_test(credits)
    good = of_wins(1, 1, 1)
    for wrong in (
        {"users": [1]},
        {"users": ["u", "u", "u"]},
        {"users": [1, None, "u"]},
        {"interval": "t"},
        {"alpha": 2},
        {"seed": -1},
    ):
        with rejects(InputError):
            interleaving_test(good, **wrong)
    log = log_of(CLICKS, ["A"] * 3 + ["B"] * 3)
    with rejects(InputError):
        ab_test(log, ["nDCG@10"])
    with rejects(InputError):
        ab_test(log, ["CTR@0"])
    with rejects(InputError):
        ab_test(log_of(CLICKS, ["A"] * 6))


@pytest.mark.parametrize("kind", [int, np.datetime64, str])
def test_rankers_of_different_times_are_a_warning(kind):
    frame = {"session": range(8), "query": ["q"] * 8, "doc": ["a"] * 8, "position": [1] * 8}
    frame |= {"clicked": [0, 1, 0, 0, 1, 0, 1, 1], "ranker": list("AAAABBBB")}
    days = {int: range(1, 9), np.datetime64: np.arange("2026-03-01", "2026-03-09", dtype="datetime64[D]")}
    times = [*days.get(kind, [f"2026-03-0{day}" for day in range(1, 9)])]
    with pytest.warns(UserWarning, match="A and B were never served at the same time"):
        ab_test(Log.from_frame(frame | {"time": times}))
    ab_test(Log.from_frame(frame | {"time": times[::2] + times[1::2]}))
    ab_test(Log.from_frame(frame | {"time": [None] * 4 + times[4:]}))
