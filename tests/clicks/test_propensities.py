"""Position bias: recovered from simulated logs, equal to sums by hand, refused where the log cannot tell."""

import numpy as np
import pytest

import directrix as dx
from directrix.clicks import position_bias
from directrix.clicks.log import Log
from directrix.clicks.simulation import EXAMINATION
from directrix.data import memory
from tests.messages import rejects

TRUE = np.array(EXAMINATION[:4]) / EXAMINATION[0]
POLICIES = {
    "all-pairs": "swap",
    "pivot": "swap",
    "chain": "plackett-luce",
    "random-pair": "swap",
    "random-top": "shuffle",
    "em": "shuffle",
    "regression-em": "shuffle",
    "trust": "shuffle",
}


def make_queries(n_queries=60, n_docs=6):
    """Labels 0 to 4, with features that tell the label."""
    labels = np.random.default_rng(0).integers(5, size=n_queries * n_docs).astype(float)
    X = (labels[:, None] == np.arange(5)).astype(float)
    return dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(n_queries), n_docs))


FEW = pytest.mark.filterwarnings("ignore:the log hardly identifies")


def make_log(queries, policy, n_sessions=12_000, seed=0, **options):
    scores = queries.labels / 2 + np.random.default_rng(1).normal(size=queries.n_docs)
    return dx.clicks.simulate(
        queries, scores, n_sessions=n_sessions, policy=policy, n_positions=4, seed=seed, **options
    )


@pytest.mark.parametrize("method", POLICIES)
def test_propensities_are_recovered(method):
    queries = make_queries()
    log = make_log(queries, POLICIES[method], 60_000)
    estimate = dx.clicks.propensities(log, method, features=queries, n_resamples=60)
    assert estimate.theta[0] == 1.0
    assert estimate.interval[0].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(estimate.theta, TRUE, atol=0.08)
    low, high = estimate.interval.T
    assert ((low <= estimate.theta) & (estimate.theta <= high)).all()
    assert (high - low < 0.25).all()


def test_trust_bias_is_recovered_relative_to_the_first_position():
    queries, other = make_queries(), np.array([0.6, 0.4, 0.2, 0.1])
    log = make_log(queries, "shuffle", 120_000, trust=(0.95, other))
    alpha, beta = np.array(EXAMINATION[:4]) * (0.95 - other), np.array(EXAMINATION[:4]) * other
    estimate = dx.clicks.propensities(log, "trust")
    low, high = estimate.interval.T
    assert ((low <= alpha / alpha[0]) & (alpha / alpha[0] <= high)).all()
    low, high = estimate.beta_interval.T
    expected = beta - alpha / alpha[0] * beta[0]
    assert ((low <= expected) & (expected <= high)).all()
    assert "beta" in str(estimate)


def test_all_pairs_warns_where_clicks_look_like_trust_bias():
    queries = make_queries()
    trusting = make_log(queries, "shuffle", 60_000, trust=(0.95, [0.6, 0.4, 0.2, 0.1]))
    with pytest.warns(UserWarning, match="are not in proportion, by .* with method trust"):
        dx.clicks.propensities(trusting)
    equal = make_log(queries, "shuffle", 60_000, trust=(0.95, 0.3))  # another relevance, the same bias
    np.testing.assert_allclose(dx.clicks.propensities(equal).theta, TRUE, atol=0.08)


def test_all_pairs_warns_of_published_trust_bias_with_two_rankers():
    """Documents move little, so each pair of positions alone tells less; Vardasbi et al. (2020)."""
    q, _ = dx.data.make_linear(n_queries=200, docs_per_query=20, n_features=5, n_labels=5, seed=0)
    rankers = {
        name: q.labels + 2.0 * np.random.default_rng(seed).normal(size=q.n_docs)
        for seed, name in enumerate("AB")
    }
    other = np.array([0.65, 0.26, 0.15, 0.11, 0.08, 0.06, 0.05, 0.04, 0.03, 0.03])
    log = dx.clicks.simulate(q, rankers, n_sessions=20_000, seed=0, trust=(np.full(10, 0.98), other))
    with pytest.warns(UserWarning, match="not in proportion"):
        dx.clicks.propensities(log, n_resamples=20)
    dx.clicks.propensities(dx.clicks.simulate(q, rankers, n_sessions=20_000, seed=0), n_resamples=20)


@FEW
@pytest.mark.parametrize("trust", [None, (0.95, [0.6, 0.4, 0.2, 0.1])])
def test_all_pairs_warns_where_a_short_log_cannot_exclude_trust_bias(trust):
    log = make_log(make_queries(), "swap", 250, trust=trust)
    with pytest.warns(UserWarning, match="too short to exclude that users trust some positions more"):
        dx.clicks.propensities(log, n_resamples=20)


def test_the_test_of_trust_bias_has_its_level():
    """Without trust bias the statistic is in units of its standard error."""
    queries, found = make_queries(), []
    for seed in range(40):
        cells = make_log(queries, "shuffle", 3_000, seed=seed)
        moved = position_bias._Moved.of(cells.aggregate(), cells.pairs, 4)
        links = [(i, j) for i in range(4) for j in range(i + 1, 4)]
        found.append(position_bias._test_of_trust(moved, links, len(cells.pairs.query_ids)))
    above, double = np.array(found).T
    assert abs(above.mean()) < 3.0 / np.sqrt(40)
    assert 0.7 < above.std() < 1.4
    assert (double < -2.0).mean() > 0.9


@pytest.mark.filterwarnings("ignore:the log is too short")
@pytest.mark.parametrize("method", ["all-pairs", "pivot", "chain", "random-pair", "em"])
def test_fewer_than_six_queries_have_no_intervals(method):
    frame = {"query": np.repeat(np.arange(5), 4), "doc": list("aabb") * 5, "position": [1, 2, 2, 1] * 5}
    log = Log.from_frame(frame | {"impressions": [100] * 20, "clicks": [50, 30, 11, 20] * 5})
    with pytest.warns(UserWarning, match="hardly identifies .* of at least 6 queries"):
        estimate = dx.clicks.propensities(log, method, n_resamples=20)
    assert estimate.interval.tolist() == [[1.0, 1.0], [0.0, np.inf]]


def test_progress_counts_samples():
    calls, log = [], make_log(make_queries(), "shuffle", 3_000)
    dx.clicks.propensities(log, "pivot", n_resamples=20, progress=lambda *call: calls.append(call))
    assert calls == [(done, 20, "resampling") for done in range(20)]


@FEW
def test_ratios_are_sums_by_hand():
    # document a at 1 and 2, document b at 2 and 1, document c at 2 and 3 and at 1
    rows = [("a", 1, 4, 2), ("a", 2, 8, 2), ("b", 1, 10, 5), ("b", 2, 2, 1), ("c", 1, 5, 1), ("c", 2, 4, 1)]
    rows += [("c", 3, 10, 1)]
    names = ("doc", "position", "impressions", "clicks")
    log = Log.from_frame(dict(zip(names, zip(*rows, strict=True), strict=True)) | {"query": ["q"] * 7})

    def theta(method):
        return dx.clicks.propensities(log, method, n_resamples=20).theta

    second = (2 / 8 + 1 / 2 + 1 / 4) / (2 / 4 + 5 / 10 + 1 / 5)
    np.testing.assert_allclose(theta("pivot"), [1, second, (1 / 10) / (1 / 5)], rtol=1e-12)
    np.testing.assert_allclose(theta("chain"), [1, second, second * (1 / 10) / (1 / 4)], rtol=1e-12)
    w = [4 * 8 / 12, 10 * 2 / 12, 5 * 4 / 9]
    weighted = np.dot(w, [2 / 8, 1 / 2, 1 / 4]) / np.dot(w, [2 / 4, 5 / 10, 1 / 5])
    swapped = dx.clicks.propensities(log, "random-pair", n_positions=2, n_resamples=20).theta
    np.testing.assert_allclose(swapped, [1, weighted], rtol=1e-12)
    with rejects(dx.InputError):  # c alone was at 1 and 3, so nothing was swapped with it
        theta("random-pair")


@FEW
def test_equal_impressions_make_random_pair_the_ratio_of_clicks():
    rows = [("a", 1, 50, 30), ("a", 2, 50, 11), ("b", 1, 50, 8), ("b", 2, 50, 7)]
    columns = dict(zip(("doc", "position", "impressions", "clicks"), zip(*rows, strict=True), strict=True))
    log = Log.from_frame(columns | {"query": ["q"] * 4})
    estimate = dx.clicks.propensities(log, "random-pair", n_resamples=20)
    np.testing.assert_allclose(estimate.theta[1], (11 + 7) / (30 + 8), rtol=1e-12)


def test_em_is_the_position_based_model():
    log = make_log(make_queries(), "shuffle", 3_000)
    model = dx.clicks.model("PBM", tol=1e-10, max_iter=5000).fit(log)
    theta = dx.clicks.propensities(log, "em", n_resamples=20).theta
    np.testing.assert_allclose(theta, model.examination_, atol=5e-3)


def test_only_the_first_positions_are_compared():
    log = make_log(make_queries(), "shuffle", 3_000)
    estimate = dx.clicks.propensities(log, "random-top", n_positions=2, n_resamples=20)
    assert len(estimate.theta) == 2


def test_em_warns_of_few_impressions_with_which_it_is_too_flat():
    queries = make_queries(n_queries=1_000)
    log = make_log(queries, "shuffle", 3_000)
    with pytest.warns(UserWarning, match="each document of a query has 3 impressions on average; with fewer"):
        theta = dx.clicks.propensities(log, "em", n_resamples=20).theta
    assert theta[2] > 1.2 * TRUE[2]
    assert abs(dx.clicks.propensities(log, n_resamples=20).theta[2] / TRUE[2] - 1.0) < 0.1


@FEW
def test_impressions_of_documents_at_other_positions_do_not_count():
    docs = list(map(str, range(50)))
    frame = {"query": ["q"] * 100, "doc": docs + docs[1::-1] + docs[2:], "position": [*range(1, 51)] * 2}
    frame |= {"impressions": [30] * 100, "clicked": [9] * 100}
    dx.clicks.propensities(Log.from_frame(frame), "em", n_positions=2)


@pytest.mark.filterwarnings("ignore:the log is too short")
def test_wide_intervals_are_a_warning_and_an_error_where_gains_would_divide_by_nothing():
    queries = make_queries()
    log = make_log(queries, "shuffle", 40)
    match = r"hardly identifies the propensity at \d of 4 positions, e.g. \d: from"
    with pytest.warns(UserWarning, match=match):
        dx.clicks.propensities(log)
    with pytest.warns(UserWarning, match=match), rejects(dx.InputError):
        dx.clicks.training_data(log, queries, "ips")
    with pytest.warns(UserWarning, match=match):
        dx.clicks.training_data(make_log(queries, "shuffle", 70), queries, "ips")


def test_a_log_of_clicks_alone_and_one_without_clicks_at_the_top_tell_nothing():
    frame = {"query": ["q"] * 4, "doc": list("abba"), "position": [1, 2, 1, 2]}
    for clicked in ([1, 1, 1, 1], [0, 1, 0, 1]):
        with rejects(dx.InputError):
            dx.clicks.propensities(Log.from_frame(frame | {"clicked": clicked}))


@pytest.mark.filterwarnings("ignore:the log is too short")
def test_a_propensity_that_rises_warns_of_mixed_devices():
    frame = {"query": np.repeat(np.arange(20), 4), "doc": ["a"] * 80, "position": [1, 2, 3, 4] * 20}
    frame |= {"impressions": [200, 200, 100, 100] * 20, "clicks": [100, 30, 25, 20] * 20}
    with pytest.warns(UserWarning, match="rises from position 2 to 3, more than by chance"):
        dx.clicks.propensities(Log.from_frame(frame), n_resamples=20)


def test_samples_of_queries_that_do_not_identify_trust_bias_leave_intervals_open():
    counts = {"query": [1, 1, 2, 2], "doc": list("aabb"), "position": [1, 2, 1, 2]}
    log = Log.from_frame(counts | {"impressions": [99] * 4, "clicks": [80, 40, 20, 10]})
    with pytest.warns(UserWarning, match="hardly identifies the propensity at 1 of 2 positions"):
        estimate = dx.clicks.propensities(log, "trust", n_resamples=40)
    assert estimate.interval[1, 1] == np.inf
    assert not np.isnan(estimate.interval).any()


@pytest.mark.parametrize("method", ["all-pairs", "em", "random-top"])
def test_the_same_seed_gives_the_same_interval(method):
    log = make_log(make_queries(), "shuffle", 3_000)
    one, same, other = (
        dx.clicks.propensities(log, method, n_resamples=20, seed=s).interval for s in (0, 0, 1)
    )
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize("method", [m for m in POLICIES if m != "regression-em"])
def test_a_log_in_which_no_document_moves_is_refused(method):
    log = make_log(make_queries(), "deterministic", 3_000)
    with rejects(dx.InputError):
        dx.clicks.propensities(log, method)


@FEW
def test_what_else_cannot_be_estimated_is_refused():
    queries = make_queries()
    swapped = make_log(queries, "swap", 3_000)
    with rejects(dx.InputError):
        dx.clicks.propensities(swapped, "random-top")
    counts = {"query": [1] * 4, "doc": list("aabb"), "position": [1, 2, 2, 3], "impressions": [9] * 4}
    linked = Log.from_frame(counts | {"clicks": [5, 4, 4, 3]})
    dx.clicks.propensities(linked, "chain", n_resamples=20)
    with rejects(dx.InputError):
        dx.clicks.propensities(linked, "pivot")
    unclicked = Log(swapped.pairs, swapped.sessions._replace(click=swapped.sessions.position < 3))
    for method, options in (("pivotal", {}), ("pivot", {"n_resamples": 2}), ("pivot", {"n_positions": 1})):
        with rejects(dx.InputError):
            dx.clicks.propensities(swapped, method, **options)
    with rejects(dx.InputError):
        dx.clicks.propensities(unclicked)
    for features in (None, queries.take([0])):
        with rejects(dx.InputError):
            dx.clicks.propensities(swapped, "regression-em", features=features)
    same = {"query": [1] * 4, "doc": list("aabb"), "position": [1, 2, 1, 2], "clicks": [5] * 4}
    with rejects(dx.InputError):
        dx.clicks.propensities(Log.from_frame(same | {"impressions": [9] * 4}), "trust")


def test_propensities_show_themselves():
    pytest.importorskip("matplotlib").use("agg")
    estimate = dx.clicks.propensities(make_log(make_queries(), "shuffle", 3_000), n_resamples=20)
    assert "position bias by all-pairs, 60 queries" in str(estimate)
    assert estimate.to_dict()["theta"] == estimate.theta.tolist()
    ax = estimate.plot()
    assert ax.lines[0].get_ydata().tolist() == estimate.theta.tolist()
    assert estimate.plot(ax) is ax


@pytest.mark.parametrize("method", ["em", "regression-em"])
def test_intervals_of_probabilities_at_their_bound_reach_it(method):
    queries = make_queries()
    for seed in range(4):
        log = make_log(queries, "shuffle", 3_000, seed=seed, eta=0.0)
        low, high = dx.clicks.propensities(log, method, features=queries, n_resamples=20).interval.T
        assert ((low <= 1.0) & (high >= 1.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "eta"), [(m, eta) for m in POLICIES for eta in (0.0, 1.0) if eta or not m.endswith("em")]
)
def test_intervals_cover_the_truth(method, eta):
    queries, policy = make_queries(100), POLICIES[method]
    n_logs = {"em": 40, "regression-em": 40, "all-pairs": 100}.get(method, 200)
    covered = []
    for seed in range(n_logs):
        log = make_log(queries, policy, 10_000, seed=seed, eta=eta)
        low, high = dx.clicks.propensities(log, method, features=queries, n_resamples=100).interval.T
        covered.append((low <= TRUE**eta) & (TRUE**eta <= high))
    share = np.mean(covered, axis=0)[1:].mean()
    assert 0.90 <= share <= 0.99, share


@pytest.mark.parametrize("method", ["all-pairs", "trust"])
def test_sums_that_do_not_fit_into_memory_are_rejected(method, monkeypatch):
    """Their number grows with queries times positions, or pairs of positions."""
    q, _ = dx.data.make_linear(3000, 40, 3, seed=0)
    log = dx.clicks.simulate(q, q.labels, n_sessions=60_000, policy="shuffle", n_positions=40, eta=0.0)
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 20)
    monkeypatch.setattr(memory, "_NOT_ASKED", 1 << 20)
    with pytest.raises(
        dx.InputError, match=r"by position would take .* Type propensities.log, n_positions=10"
    ):
        dx.clicks.propensities(log, method)
