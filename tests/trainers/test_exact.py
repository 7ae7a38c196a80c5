"""Coordinate ascent and AdaRank work on the measure itself."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.measures.line_search import line_search
from tests.messages import rejects
from tests.reference.boosting import adarank


@pytest.fixture(scope="module")
def cubic():
    return dx.data.make_cubic(n_queries=30, docs_per_query=12, n_features=5, seed=3)


@pytest.fixture
def objective(cubic):
    return dx.linear_objective(cubic, "ApproxNDCG")


def sparse(q):
    qid = np.repeat(np.arange(q.n_queries), np.diff(q.qptr))
    return dx.Queries.from_arrays(sp.csr_array(q.features), q.labels, qid=qid)


@pytest.mark.parametrize("measure", ["nDCG@5", "AP(rel=2)", "RR(rel=3)", "P(rel=2)@3", "ERR@5"])
def test_coordinate_ascent_climbs_to_where_no_weight_alone_helps(cubic, objective, measure):
    result = dx.CoordinateAscent(measure, max_iter=50, tol=0.0).minimize(objective, np.ones(5))
    losses = [row["loss"] for row in result.trace]
    assert result.status == "converged"
    assert all(b <= a for a, b in pairwise(losses))
    assert losses[-1] < losses[0]
    exact = dx.measure(measure)
    scores = objective.scores(result.params)
    assert result.value == losses[-1]
    np.testing.assert_allclose(-result.value, exact(scores, cubic.labels, cubic.qptr).mean(), rtol=1e-12)
    for f in range(5):
        best = line_search(measure, scores, cubic.features[:, f], cubic.labels, cubic.qptr)
        assert best.value <= -result.value + 1e-6  # rounding of float32 features
    np.testing.assert_allclose(np.abs(result.params).sum(), 1.0, rtol=1e-12)


def test_coordinate_ascent_beats_a_list_of_step_sizes(cubic, objective):
    exact = dx.measure("nDCG@5")
    value = lambda w: exact(objective.scores(w), cubic.labels, cubic.qptr).mean()  # noqa: E731
    sampled, steps = np.ones(5) / 5, np.concatenate([s * 0.001 * 2.0 ** np.arange(14) for s in (1, -1)])
    for _ in range(5):
        for f in range(5):
            tried = [sampled + step * np.eye(5)[f] for step in [0.0, *steps]]
            sampled = max(tried, key=value)
    result = dx.CoordinateAscent("nDCG@5").minimize(objective, np.zeros(5))
    assert -result.value >= value(sampled) - 0.002


def test_coordinate_ascent_repeats_itself_and_depends_on_the_seed(cubic, objective):
    run = lambda o, seed: dx.CoordinateAscent("AP", 3, random_state=seed).minimize(o, np.ones(5)).params  # noqa: E731
    assert np.array_equal(run(objective, 1), run(objective, 1))
    assert not np.array_equal(run(objective, 1), run(objective, 2))
    other = run(dx.linear_objective(sparse(cubic), "ApproxNDCG"), 1)
    np.testing.assert_allclose(other, run(objective, 1), rtol=1e-3)


def test_coordinate_ascent_weighs_queries(cubic):
    """With all weight on one query, that query becomes as good as it can."""
    measure, plain = dx.NDCG(k=3), dx.linear_objective(cubic, "ApproxNDCG")
    alike = dx.CoordinateAscent(measure).minimize(plain, np.ones(5))
    before = measure(plain.scores(alike.params), cubic.labels, cubic.qptr)
    worst = int(np.argmin(before))
    objective = dx.linear_objective(cubic, "ApproxNDCG", query_weight=np.arange(30) == worst)
    result = dx.CoordinateAscent(measure).minimize(objective, np.ones(5))
    after = measure(objective.scores(result.params), cubic.labels, cubic.qptr)
    np.testing.assert_allclose(-result.value, after[worst], rtol=1e-12)
    assert after[worst] > before[worst]


def test_coordinate_ascent_keeps_its_budget(objective):
    short = dx.CoordinateAscent(max_iter=1, tol=0.0).minimize(objective, np.ones(5))
    assert (short.status, short.counts) == ("max_iter", {"iterations": 1, "searches": 5})
    assert "max_iter=1" in short.message


@pytest.mark.parametrize(
    "trainer", [dx.CoordinateAscent(max_iter=3), dx.trainers.AdaRank("nDCG", rounds=9)], ids=repr
)
def test_validation_chooses_the_step_and_the_start_is_left_alone(cubic, objective, trainer):
    start = np.zeros(5)
    judge = lambda w: dx.NDCG()(cubic.features @ w, cubic.labels, cubic.qptr).mean()  # noqa: E731
    result = dx.trainers.BestSoFar(trainer, judge).minimize(objective, start)
    assert not start.any()
    assert judge(result.params) == max(row["score"] for row in result.trace)


def test_constant_features_are_left_out():
    q = dx.Queries.from_arrays([[1.0, 0.0], [1.0, 2.0], [1.0, 1.0]], [0.0, 2.0, 1.0], group=[3])
    objective = dx.linear_objective(q, "ApproxNDCG")
    climbed = dx.CoordinateAscent("nDCG").minimize(objective, np.zeros(2))
    assert (climbed.value, climbed.counts["searches"]) == (-1.0, climbed.counts["iterations"])
    boosted = dx.trainers.AdaRank("nDCG", rounds=4).minimize(objective, np.zeros(2))
    assert boosted.params[0] == 0.0 < boosted.params[1] < np.inf
    flat = dx.Queries.from_arrays([[1.0], [1.0]], [0.0, 2.0], group=[2])
    for trainer in (dx.CoordinateAscent("nDCG"), dx.trainers.AdaRank("nDCG")):
        assert trainer.minimize(dx.linear_objective(flat, "ApproxNDCG"), np.zeros(1)).status == "converged"


@pytest.mark.parametrize("measure", ["nDCG", "AP(rel=2)", "nDCG@3"])
def test_adarank_is_the_papers_loop(cubic, objective, measure):
    """Float64 features, or sums of the same features would tie in one and not in the other."""
    q = dx.Queries.from_arrays(
        cubic.features.astype(float), cubic.labels, qid=np.repeat(np.arange(30), np.diff(cubic.qptr))
    )
    objective = dx.linear_objective(q, "ApproxNDCG")
    for rounds in (1, 2, 6):
        result = dx.trainers.AdaRank(measure, rounds=rounds, repeats=None).minimize(objective, np.zeros(5))
        expected = adarank(dx.measure(measure), q.features, q.labels, q.qptr, rounds)
        np.testing.assert_allclose(result.params, expected, rtol=1e-9)


def test_adarank_lowers_its_loss_and_counts_rounds(cubic, objective):
    result = dx.trainers.AdaRank("nDCG", rounds=10).minimize(objective, np.zeros(5))
    assert (result.status, result.counts, len(result.trace)) == ("max_iter", {"iterations": 10}, 11)
    scores = objective.scores(result.params)
    np.testing.assert_allclose(result.value, np.exp(-dx.NDCG()(scores, cubic.labels, cubic.qptr)).mean())
    assert result.value < result.trace[0]["loss"]
    assert (result.params > 0.0).all()  # with repeats=1 every feature was chosen twice
    one = dx.trainers.AdaRank("nDCG", rounds=10, repeats=None).minimize(objective, np.zeros(5))
    assert np.count_nonzero(one.params) < 5


def test_adarank_may_turn_features_around(cubic):
    qid = np.repeat(np.arange(30), np.diff(cubic.qptr))
    turned = dx.Queries.from_arrays(-cubic.features, cubic.labels, qid=qid)
    plain, both = (
        dx.trainers.AdaRank("nDCG", rounds=5, signs=True).minimize(
            dx.linear_objective(q, "ApproxNDCG"), np.zeros(5)
        )
        for q in (cubic, turned)
    )
    np.testing.assert_allclose(plain.params, -both.params, rtol=1e-9)
    assert (plain.params < 0.0).any()


def test_adarank_weighs_queries_and_passes_over_undefined_ones():
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 3)
    q = dx.Queries.from_arrays(X, [1, 0, 0, 1, 0, 0], qid=[0, 0, 1, 1, 2, 2])
    for weight, best in (([3.0, 1.0, 9.0], 0), ([1.0, 3.0, 9.0], 1)):
        objective = dx.linear_objective(q, "ApproxNDCG", query_weight=weight)
        result = dx.trainers.AdaRank("AP(empty='skip')", rounds=1).minimize(objective, np.zeros(2))
        assert np.argmax(result.params) == best
        # E is 1 on one query and 1/2 on the other
        mean = 3 / 4 * 1 + 1 / 4 * 1 / 2
        np.testing.assert_allclose(result.params[best], 0.5 * np.log((1 + mean) / (1 - mean)), rtol=1e-12)


def test_adarank_takes_a_perfect_feature_with_a_finite_weight():
    q = dx.Queries.from_arrays([[0.0], [1.0]], [0.0, 1.0], group=[2])
    result = dx.trainers.AdaRank("AP", rounds=20).minimize(dx.linear_objective(q, "ApproxNDCG"), np.zeros(1))
    assert 0.0 < result.params[0] < np.inf
    np.testing.assert_allclose(result.value, np.exp(-1.0), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dx.CoordinateAscent("nDCG@", 3), "nDCG@"),
        (lambda: dx.trainers.AdaRank("DCG@5"), r"AdaRank\(measure='DCG@5'\).*'nDCG@10'"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_a_measure_that_no_query_has_is_refused():
    q = dx.Queries.from_arrays([[1.0], [2.0]], [0.0, 0.0], group=[2])
    for trainer in (dx.trainers.AdaRank("AP(empty='skip')"), dx.CoordinateAscent("AP(empty='skip')")):
        with rejects(dx.InputError):
            trainer.minimize(dx.linear_objective(q, "ApproxNDCG"), np.zeros(1))


def test_the_line_search_on_real_data_beats_sampled_steps(data_dir):
    q = dx.read_letor(data_dir / "letor" / "OHSUMED" / "Fold1" / "train.txt")
    scores = (q.features @ dx.trainers.regression_start(q).astype(np.float32)).astype(float)
    for name, feature in (("nDCG@10", 10), ("AP", 4), ("ERR@10", 36)):
        u, exact = q.features[:, feature].astype(float), dx.measure(name)
        best = line_search(name, scores, u, q.labels, q.qptr)
        for t in np.tan(np.linspace(-1.5, 1.5, 60)):
            assert best.value >= exact(scores + t * u, q.labels, q.qptr).mean() - 1e-12
        np.testing.assert_allclose(
            best.value, exact(scores + best.t * u, q.labels, q.qptr).mean(), rtol=1e-12
        )


@pytest.mark.parametrize("scale", [1e-40, 1e38])
def test_scores_beyond_the_models_precision_are_no_step(cubic, scale):
    """One feature of denormal or huge float32: weights that would balance it overflow."""
    X = cubic.features * np.array([1, scale, 1, 1, 1])
    qid = np.repeat(np.arange(30), np.diff(cubic.qptr))
    q = dx.Queries.from_arrays(X.astype(np.float32), cubic.labels, qid=qid)
    objective = dx.linear_objective(q, "ApproxNDCG")
    with np.errstate(over="ignore", invalid="ignore"):
        for start in (np.ones(5), np.full(5, 1e30)):
            result = dx.CoordinateAscent("nDCG").minimize(objective, start)
            assert np.isfinite(result.params).all()
            finite = np.isfinite(objective.scores(start)).all()
            assert (result.status == "not_finite") == (not finite)
            assert not finite or np.isfinite(objective.scores(result.params)).all()
        boosted = dx.trainers.AdaRank("nDCG", rounds=60).minimize(objective, np.zeros(5))
    assert boosted.status == ("not_finite" if scale > 1 else "max_iter")
    assert np.isfinite(objective.scores(boosted.params)).all()
    assert boosted.value == boosted.trace[-1]["loss"]


def test_a_step_that_the_models_precision_undoes_is_not_taken():
    """At t = 5.5 all is right in float64; in float32 1e8 + 5.5 is 1e8 + 8, a tie in the query that counts."""
    X = np.array([[1e8 + 8, 0.0], [1e8, 1.0], [0.0, 1.0], [3.0, 0.0]], dtype=np.float32)
    q = dx.Queries.from_arrays(X, [1, 0, 1, 0], qid=[0, 0, 1, 1])
    found = line_search("AP", X[:, 0], X[:, 1], q.labels, q.qptr)
    assert (found.t, found.value, found.interval) == (5.5, 1.0, (3.0, 8.0))
    objective = dx.linear_objective(q, "ApproxNDCG", query_weight=[10.0, 1.0])
    result = dx.CoordinateAscent("AP").minimize(objective, np.array([1.0, 0.0]))
    losses = [row["loss"] for row in result.trace]
    assert result.params.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(losses, -(10.0 + 0.5) / 11.0, rtol=1e-12)
