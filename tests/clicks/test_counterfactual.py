"""Counterfactual evaluation: intervals, doubts, comparisons, and what is refused."""

import json
import tracemalloc
import warnings

import numpy as np
import pytest

import directrix as dx
from directrix.clicks.sessions import Pairs, Sessions
from directrix.errors import InputError
from tests.messages import rejects

THETA = np.array([1.0, 0.6, 0.4, 0.3])
LISTS = np.array([[0, 1, 2, 3], [3, 0, 4, 1], [2, 4, 1, 0]])  # of the logging policy
TARGET = np.array([3.0, 2.0, 1.0, 0.0, -1.0])  # scores: the first list
MEAN = np.array([0.5, 0.3, 0.6, 0.2, 0.4])  # of the relevance of the documents
N = 80
FEATURES = dx.Queries.from_arrays(
    np.tile(np.eye(5), (N, 1)),
    np.zeros(5 * N),
    group=[5] * N,
    doc_ids=[f"d{i}" for i in range(5)] * N,
)
PAIRS = Pairs.of_queries(FEATURES)
EVERY = (
    *("ips", "clipped", "self-normalized", "policy-aware", "affine", "doubly-robust"),
    *("whole-list", "independent", "reward-interaction", "pseudo-inverse"),
)


def simulated(seed, n_queries=N):
    """A log of queries drawn from a population, whose relevance varies, and of numbers of sessions."""
    rng = np.random.default_rng(seed)
    relevance = rng.beta(3 * MEAN, 3 * (1 - MEAN), (N, 5))
    sizes = rng.poisson(25, N) + 1
    sizes[n_queries:] = 0
    query = np.repeat(np.arange(N), sizes)
    docs = LISTS[rng.integers(0, len(LISTS), len(query))]
    clicks = rng.random(docs.shape) < THETA * relevance[query[:, None], docs]
    return dx.clicks.Log(
        PAIRS,
        Sessions(
            np.arange(0, 4 * len(query) + 1, 4),
            query.astype(np.int32),
            (5 * query[:, None] + docs).ravel().astype(np.int32),
            np.tile(np.arange(1, 5), len(query)).astype(np.int16),
            clicks.ravel(),
        ),
    )


def evaluated(log, rankers=TARGET, measure="CTR@3", estimators=EVERY, **options):
    rankers = rankers if isinstance(rankers, dict) else {"new": rankers}
    rankers = {k: np.tile(v, N) if np.shape(v) == (5,) else v for k, v in rankers.items()}
    given = {"features": FEATURES, "propensities": [THETA, np.zeros(4)], "model": np.tile(MEAN, N)} | options
    with warnings.catch_warnings(action="ignore"):
        return dx.clicks.evaluate(log, rankers, measure, estimators=estimators, clip=0.3, **given)


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_they_say():
    truth = MEAN[:3] @ THETA[:3] / 3
    covered = dict.fromkeys(("naive", *EVERY), 0)
    for seed in range(500):
        for one in evaluated(simulated(seed)).estimates:
            covered[one.estimator] += one.interval[0] <= truth <= one.interval[1]
    shares = {name: count / 500 for name, count in covered.items()}
    assert shares.pop("naive") < 0.8
    assert all(0.93 <= share <= 0.97 for share in shares.values()), shares


@pytest.mark.parametrize("estimator", EVERY)
def test_the_interval_is_that_of_a_ratio_by_queries(estimator):
    """Against the spread of samples of queries."""
    log, rng = simulated(1), np.random.default_rng(0)
    result = evaluated(log, estimators=[estimator])
    one, sums = result.estimate("new", estimator), result.sums["new", estimator]
    chosen = rng.integers(0, N, (4000, N))
    values = sums.earned[chosen].sum(axis=1) / sums.counted[chosen].sum(axis=1)
    width = one.interval[1] - one.interval[0]
    assert width == pytest.approx(2 * 1.99 * values.std(), rel=0.06)
    assert one.value == pytest.approx(np.mean(one.interval))


def test_a_comparison_is_paired_by_query():
    log = simulated(2)
    rankers = {"old": TARGET, "new": TARGET[[1, 0, 2, 3, 4]], "same": TARGET}
    result = evaluated(log, rankers, estimators=["ips", "policy-aware"])
    pair = result.compare("new", "old", "policy-aware")
    a, b = (result.estimate(name, "policy-aware") for name in ("new", "old"))
    assert pair.value == pytest.approx(a.value - b.value)
    apart = np.hypot(*(np.diff(one.interval)[0] for one in (a, b)))
    assert np.diff(pair.interval)[0] < 0.5 * apart
    assert result.compare("same", "old", "ips").p == 1.0
    assert np.isnan(result.compare("same", "old", "ips").interval).all()
    assert "Differences of CTR@3" in str(result)
    assert json.loads(json.dumps(result.to_dict()))["estimates"][0]["estimator"] == "naive"
    with rejects(InputError):
        result.compare("new", "other")


def test_intervals_contain_the_error_of_estimated_propensities():
    log = simulated(2)
    estimate = dx.clicks.propensities(log, n_resamples=100)
    rankers = {"old": TARGET, "new": TARGET[[1, 0, 2, 3, 4]]}
    estimators = ["ips", "doubly-robust"]
    known = evaluated(log, rankers, "DCG@3", estimators, propensities=estimate.theta)
    result = evaluated(log, rankers, "DCG@3", estimators, propensities=estimate)
    at_ends = [
        evaluated(log, rankers, "DCG@3", estimators, propensities=estimate.interval[:, end]) for end in (0, 1)
    ]
    for name in estimators:
        low, high = (one.estimate("new", name).value for one in at_ends)
        error, with_error = (np.diff(of.estimate("new", name).interval)[0] / 2 for of in (known, result))
        shift = (low - high) / 2 / 1.96 * (error / result_error(known, "new", name))
        assert with_error == pytest.approx(np.hypot(error, shift))
        assert with_error > 1.2 * error
    assert result.estimate("new", "naive") == known.estimate("new", "naive")
    first, second = (np.diff(of.compare("new", "old").interval)[0] for of in (known, result))
    assert first < second < 1.2 * first  # the errors of propensities hardly change a difference


def result_error(result, ranker, name):
    influence = result.sums[ranker, name].influence()
    return np.sqrt(influence @ influence * N / (N - 1))


def test_a_difference_says_if_documents_that_were_never_shown_decide_its_sign():
    """A ranker of good documents, half of which the log never shows, and one of poor ones that it shows."""
    runs = {
        "good": {str(q): {"d2": 2.0, "x": 1.0} for q in FEATURES.query_ids},
        "poor": {str(q): {"d1": 2.0, "d0": 1.0} for q in FEATURES.query_ids},
    }
    match = "decide the sign of the difference: poor minus good by ips."
    with pytest.warns(UserWarning, match="unreliable"), pytest.warns(UserWarning, match=match):
        result = dx.clicks.evaluate(simulated(3), runs, "P@2", propensities=THETA)
    pair = result.compare("poor", "good")
    assert pair.value > 0.0
    assert pair.p < 0.05
    assert pair.doubts[0] == "documents that were never shown decide the sign of the difference"
    assert "poor minus good by ips: documents that were never shown decide" in str(result)
    assert "decide the sign" not in "".join(result.compare("good", "good").doubts)


def test_documents_that_the_log_never_shows_are_counted_and_doubted():
    run = {str(q): {"d0": 3.0, "x": 2.0, "d1": 1.0} for q in FEATURES.query_ids}
    result = evaluated(simulated(3), {"new": run}, "DCG@2", ["ips", "self-normalized"])
    one, other = (result.estimate("new", name) for name in ("ips", "self-normalized"))
    assert one.unshown == 0.5
    assert "50% of what it would show was never shown" in one.doubts
    assert other.value == pytest.approx(one.value * (1 + 1 / np.log2(3)))
    unseen = {str(q): {"x": 2.0, "y": 1.0} for q in FEATURES.query_ids}
    with rejects(InputError):
        evaluated(simulated(3), {"new": unseen}, "DCG@2", ["ips"])
    with rejects(InputError):  # no session has this list
        evaluated(simulated(3), -TARGET, "CTR@3", ["whole-list"])


def test_what_a_model_alone_predicts_is_doubted_too():
    """Half of the new list was never shown, so the doubly robust value there is that of the model."""
    q = dx.Queries.from_arrays(
        np.tile(np.eye(6)[:, :5], (N, 1)),
        np.zeros(6 * N),
        qid=np.repeat(list(map(str, FEATURES.query_ids)), 6),
        doc_ids=[*(f"d{i}" for i in range(5)), "x"] * N,
    )
    given = {"features": q, "propensities": [THETA, np.zeros(4)], "model": np.tile([*MEAN, 0.9], N)}
    estimators = ["ips", "doubly-robust"]
    rankers = {"new": np.tile([1.0, 0, 0, 0, 0, 2.0], N), "old": np.tile([2.0, 1.0, 0, 0, 0, -1.0], N)}
    with (
        pytest.warns(UserWarning, match="decide the sign .* Interleave the rankers"),
        pytest.warns(UserWarning, match="new by doubly-robust: 50% .* is predicted by a model"),
    ):
        result = dx.clicks.evaluate(simulated(3), rankers, "P@2", estimators=estimators, **given)
    assert result.estimate("old", "doubly-robust").doubts == ()


@pytest.mark.parametrize("n_differ", [0, 4, 5, 6])
def test_few_queries_that_differ_show_nothing(n_differ):
    """Rankers that differ in some queries, always to the advantage of one: p is that of equal signs."""
    log, reversed_order = simulated(2), TARGET[::-1]
    everywhere = evaluated(log, {"old": TARGET, "new": reversed_order}, estimators=["doubly-robust"])
    earned = [everywhere.sums[name, "doubly-robust"].earned for name in ("old", "new")]
    gains = np.sort(earned[0] - earned[1])
    alike = np.flatnonzero((earned[0] - earned[1]) >= gains[-9])[:n_differ]
    changed = np.tile(TARGET, (N, 1))
    changed[alike] = reversed_order
    rankers = {"old": np.tile(TARGET, N), "new": changed.ravel()}
    pair = evaluated(log, rankers, estimators=["doubly-robust"]).compare("old", "new", "doubly-robust")
    assert pair.p >= min(1.0, 2 / 2**n_differ)
    if n_differ:
        assert (pair.interval[0] > 0.0) == (pair.p < 0.05)
    assert (pair.p < 0.05) == (n_differ == 6)


def test_queries_with_the_same_value_tell_no_variance():
    clicks = {
        "session": [1, 2],
        "query": ["q", "r"],
        "doc": ["a", "b"],
        "position": [1, 1],
        "clicked": [1, 1],
    }
    rankers = {"new": {"q": {"a": 1.0}, "r": {"b": 1.0}}}
    with pytest.warns(UserWarning, match="only 2 queries"):
        result = dx.clicks.evaluate(dx.clicks.Log.from_frame(clicks), rankers, "CTR@1", propensities=[1.0])
    one = result.estimate("new", "ips")
    assert "all queries have the same value" in one.doubts
    assert np.isnan(one.interval).all()


def test_the_effective_sample_is_that_of_the_factors_of_clicks():
    log = simulated(4)
    one = evaluated(log, measure="DCG@4", estimators=["ips"]).estimate("new", "ips")
    rows = log.sessions
    n_q = np.bincount(rows.query)[rows.query[rows.session]]
    n_d = np.bincount(rows.pair)[rows.pair]
    rank = rows.pair % 5
    factor = np.where(rank < 4, 1 / np.log2(2 + rank), 0.0) * n_q / n_d / THETA[rows.position - 1]
    assert one.effective == pytest.approx(factor.sum() ** 2 / (factor**2).sum())


def test_few_queries_and_small_samples_warn():
    log = simulated(5, n_queries=4)
    with pytest.warns(UserWarning, match="new by naive: only 4 queries"):
        result = dx.clicks.evaluate(log, {"new": np.tile(TARGET, N)}, features=FEATURES, propensities=THETA)
    assert result.estimate("new", "ips").doubts[0] == "only 4 queries"


def test_ties_share_their_ranks():
    log = simulated(6)
    tied = evaluated(log, np.zeros(5), "DCG@4", ["ips"]).estimate("new", "ips").value
    orders = [np.roll(np.arange(5.0), shift) for shift in range(5)]
    each = [evaluated(log, one, "DCG@4", ["ips"]).estimate("new", "ips").value for one in orders]
    assert tied == pytest.approx(np.mean(each))


def test_input_of_no_use_is_refused():
    log = simulated(7)
    counts = dx.clicks.Log(PAIRS, log.aggregate())
    for options in (
        {"measure": "CTR@5"},
        {"measure": "DCG@2"},
        {"of": counts},
        {"estimators": ["ips", "nope"]},
        {"rankers": {}},
        {"rankers": {"new": np.zeros(3)}},
        {"rankers": {"new": {"other": {"d0": 1.0}}}},
        {"alpha": 1.0},
        {"measure": "nDCG@3", "estimators": ["ips"]},
    ):
        of = options.pop("of", log)
        with rejects(InputError):
            evaluated(of, **options)


@pytest.mark.parametrize("measure", ["nDCG(gain=linear)@2", "RR", "ROCArea", "AP"])
def test_biased_measures_count_documents_that_the_log_never_shows(measure):
    """As `evaluate` does with the gains as judgments: they stand at their ranks."""
    log = dx.clicks.Log.from_frame(
        {"query": ["q"] * 3, "doc": list("abc"), "position": [1, 2, 3], "clicked": [1, 0, 0]}
    )
    runs = {"new": {"q": {"x": 4.0, "a": 3.0, "y": 2.0, "b": 1.0}}, "old": {"q": {"a": 2.0, "b": 1.0}}}
    with warnings.catch_warnings(action="ignore"):
        result = dx.clicks.evaluate(log, runs, measure, biased=True, estimators=["naive"])
    for name, run in runs.items():
        expected = dx.evaluate(measure, run=run, qrels={"q": {"a": 1, "b": 0, "c": 0}})[measure]
        np.testing.assert_allclose(result.estimate(name, "naive").value, expected, rtol=1e-12, atol=0)


def test_counts_of_many_queries_and_one_deep_position_take_little_memory():
    n = 3000
    frame = {
        "query": [f"q{i}" for i in range(n)],
        "doc": ["d"] * n,
        "position": [1] * n,
        "clicked": [1, 0, 0] * (n // 3),
    }
    deep = {"query": ["q0"], "doc": ["e"], "position": [2**15 - 1], "clicked": [1]}
    log = dx.clicks.Log.from_frame({key: frame[key] + deep[key] for key in frame})
    rankers = {"one": {query: {"d": 1.0} for query in frame["query"]}}
    tracemalloc.start()
    with warnings.catch_warnings(action="ignore"):
        result = dx.clicks.evaluate(log, rankers, "DCG@1", estimators=["naive"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8
    assert result.n_sessions == n
