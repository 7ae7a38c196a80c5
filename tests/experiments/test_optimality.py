"""Local optimality: what the test says, against loops over directions and steps."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom

import directrix as dx
from directrix.experiments.optimality import certify, polish
from directrix.experiments.optimality.certificate import RandomDirections
from tests.reference.lines import crossings

MEASURES = ("nDCG@3", "nDCG", "AP", "RR")
STEPS = (0.1, 0.5, 1.0)


@pytest.fixture(scope="module")
def separable():
    """Data that the first feature ranks right, with room around it."""
    X = np.zeros((40, 3))
    X[:, 0] = np.tile([0.0, 1.0, 2.0, 3.0], 10)
    X[:, 1:] = 0.01 * np.random.default_rng(0).standard_normal((40, 2))
    return dx.Queries.from_arrays(X, np.tile([0.0, 0.0, 1.0, 2.0], 10), qid=np.repeat(np.arange(10), 4))


def linear(q, **options):
    return dx.LinearRanker("ListNet", max_iter=3, **options).fit_queries(q)


def moved(ranker, params):
    """The ranker's own class with other weights, and nothing of `certify`."""
    other = ranker.__class__.__new__(ranker.__class__)
    other.__dict__.update(ranker.__dict__)
    other.model_ = replace(other.model_, params=params)
    return other


def by_loops(ranker, q, measure, directions, lengths):
    """Changes of the measure: one prediction and one evaluation a step."""

    def value(params):
        scores = moved(ranker, params).predict_queries(q)
        return dx.evaluate([measure], scores, q.labels, qptr=q.qptr)[measure]

    params = ranker.model_.params
    return [[value(params + h * r) - value(params) for h in lengths] for r in directions]


def test_directions_are_uniform_on_the_sphere_and_depend_on_seed_and_number_alone():
    r = RandomDirections(4000, 3, (7,))
    drawn = r.block(0, 4000)
    np.testing.assert_allclose((drawn**2).sum(axis=1), 1.0, rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(drawn.mean(axis=0), 0.0, rtol=0.0, atol=4 / np.sqrt(3 * 4000))
    np.testing.assert_allclose(drawn.T @ drawn / 4000, np.eye(3) / 3, rtol=0.0, atol=0.03)
    assert (r.block(11, 13) == drawn[11:13]).all()
    assert (RandomDirections(1, 3, (8,)).block(0, 1) != drawn[:1]).all()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_linear_ranker_equals_loops(noisy, measure, scale):
    ranker = linear(noisy, scale=scale)
    found = certify(ranker, noisy, measure, eps=0.1, delta=0.1, steps=STEPS)
    assert found.n_directions == 22
    directions = found.directions.block(0, 22)
    expected = np.array(by_loops(ranker, noisy, measure, directions, STEPS))
    assert (found.curves == expected).all()
    assert found.n_rising == (expected.max(axis=1) > 1e-12).sum() > 0
    assert found.largest_rise == expected.max()


@pytest.mark.parametrize("measure", ["nDCG@3", "AP"])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_network_equals_loops(noisy, measure, scale):
    ranker = dx.MLPRanker("ListNet", hidden=(3,), max_iter=3, scale=scale, random_state=0).fit_queries(noisy)
    found = certify(ranker, noisy, measure, eps=0.1, delta=0.1, steps=STEPS)
    directions = found.directions.block(0, 22)
    assert directions.shape == (22, 4 * 3 + 3 + 3 + 4)  # with the linear term
    assert (found.curves == by_loops(ranker, noisy, measure, directions, STEPS)).all()


def test_relative_steps_are_in_units_of_the_norm(noisy):
    ranker = linear(noisy)
    norm = np.linalg.norm(ranker.coef_)
    found = certify(ranker, noisy, "AP", eps=0.1, delta=0.1, steps=STEPS, relative=True)
    absolute = certify(ranker, noisy, "AP", eps=0.1, delta=0.1, steps=np.array(STEPS) * norm)
    assert found.unit == norm
    assert (found.curves == absolute.curves).all()
    lines = certify(ranker, noisy, "AP", eps=0.5, delta=0.5, steps=STEPS, relative=True, exact=True).exact
    assert lines[0].reach == max(STEPS) * norm


def test_one_weight_at_a_time_goes_up_and_down(noisy):
    ranker = linear(noisy)
    found = certify(ranker, noisy, "AP", steps=STEPS, one_weight=True)
    axes = [sign * np.eye(4)[j] for j in range(4) for sign in (1, -1)]
    assert (found.curves == by_loops(ranker, noisy, "AP", axes, STEPS)).all()
    assert found.confidence == float(found.n_rising == 0)


def test_optimum_of_separable_data_is_certified_and_a_point_next_to_it_is_not(separable):
    best = certify([1.0, 0.0, 0.0], separable, "nDCG")
    assert (best.value, best.n_rising, best.is_local_optimum) == (1.0, 0, True)
    assert best.n_level > 0
    assert best.confidence == pytest.approx(1 - 0.99**459, rel=1e-12)
    beside = certify([0.01, 1.0, 0.0], separable, "nDCG")
    assert beside.n_rising > 100
    assert not beside.is_local_optimum
    assert beside.confidence < 1e-6


def test_same_bits_for_any_number_of_threads_and_any_block(noisy, monkeypatch):
    ranker = linear(noisy)
    curves = []
    for threads, scores, params in (
        (1, 1 << 22, 1 << 20),
        (2, 1 << 22, 1 << 20),
        (2, 360, 12),
        (2, 1200, 60),
    ):
        monkeypatch.setattr("directrix.experiments.optimality.monte_carlo._SCORES_AT_ONCE", scores)
        monkeypatch.setattr("directrix.experiments.optimality.monte_carlo._FLOATS_AT_ONCE", params)
        before = dx.set_threads(threads)
        try:
            curves.append(certify(ranker, noisy, "AP", eps=0.1, delta=0.1, steps=STEPS).curves)
        finally:
            dx.set_threads(before)
    assert all((curve == curves[0]).all() for curve in curves[1:])


def best_of_many_points(q, measure, w, r, reach):
    """The measure between all crossings of a line within a reach, point by point."""
    s, u = q.features.astype(float) @ w, q.features.astype(float) @ r
    cuts = crossings(s, u, q.qptr)
    inside = np.concatenate([[-reach], cuts[np.abs(cuts) < reach], [reach]])
    middles = 0.5 * (inside[1:] + inside[:-1])
    return max(dx.evaluate([measure], s + t * u, q.labels, qptr=q.qptr)[measure] for t in middles)


@pytest.mark.parametrize("measure", ["nDCG@3", "RR"])
def test_exact_rises_are_the_best_of_all_points_of_the_lines(noisy, measure):
    q = dx.Queries.from_arrays(
        noisy.features.astype(float), noisy.labels, group=np.diff(noisy.qptr)
    )  # whose scores do not round
    w = np.array([1.0, 0.2, 0.0, -0.3])
    found = certify(w, q, measure, eps=0.3, delta=0.3, steps=[0.2, 0.4], exact=True)
    near, anywhere = found.exact
    lines = found.directions.block(0, found.n_directions)
    rises = [best_of_many_points(q, measure, w, r, 0.4) - found.value for r in lines]
    np.testing.assert_allclose(near.largest_rise, max(rises), rtol=0, atol=1e-12)
    assert (near.n_rising, near.reach) == ((np.array(rises) > 1e-12).sum(), 0.4)
    assert found.n_rising <= near.n_rising <= anywhere.n_rising
    assert anywhere.largest_rise >= near.largest_rise
    there = w + near.t * lines[near.direction]
    np.testing.assert_allclose(certify(there, q, measure, eps=0.9).value, found.value + near.largest_rise)


@pytest.mark.parametrize(("eps", "delta"), [(0.001, 0.999**48), (0.5, 0.25)])
def test_as_many_directions_as_are_needed_are_enough(separable, eps, delta):
    assert certify([1.0, 0.0, 0.0], separable, "nDCG", eps=eps, delta=delta).is_local_optimum


def test_measure_of_the_ranker_is_the_default(noisy):
    assert certify(linear(noisy), noisy, eps=0.5, delta=0.5).measure == "nDCG"
    auto = dx.AutoRanker("AP", method="ListNet", folds=1).fit(
        noisy.features, noisy.labels, group=np.diff(noisy.qptr)
    )
    assert certify(auto, noisy, eps=0.5, delta=0.5).measure == "AP"


def test_objectives_lend_model_queries_and_weights(noisy):
    weight = np.arange(12.0)
    objective = dx.linear_objective(noisy, "ApproxNDCG", query_weight=weight)
    w = np.array([1.0, 0.2, 0.0, -0.3])
    found = certify(w, objective, "AP", eps=0.5, delta=0.5)
    values = dx.measure("AP")(noisy.features @ w.astype(np.float32), noisy.labels, noisy.qptr)
    np.testing.assert_allclose(found.value, np.average(values, weights=weight), rtol=1e-6)


def test_sparse_features(noisy):
    sparse = dx.Queries.from_arrays(
        sp.csr_array(np.where(noisy.features > 0, noisy.features, 0)),
        noisy.labels,
        group=np.diff(noisy.qptr),
    )
    ranker = linear(sparse)
    found = certify(ranker, sparse, "AP", eps=0.5, delta=0.1, steps=STEPS)
    directions = found.directions.block(0, found.n_directions)
    assert (found.curves == by_loops(ranker, sparse, "AP", directions, STEPS)).all()


def test_exact_lines_of_single_weights_are_those_of_their_features(noisy):
    w = np.array([1.0, 0.2, 0.0, -0.3])
    found = certify(w, noisy, "AP", steps=[1.0], one_weight=True, exact=True)
    scores = noisy.features @ w.astype(np.float32)
    rises = [
        dx.experiments.line_search("AP", scores, x, noisy.labels, noisy.qptr).value - found.value
        for x in noisy.features.T
    ]
    _, anywhere = found.exact
    assert anywhere.n_rising == (np.array(rises) > 1e-12).sum() > 0
    assert anywhere.direction == 2 * int(np.argmax(rises))
    np.testing.assert_allclose(anywhere.largest_rise, max(rises), rtol=0, atol=1e-12)
    assert found.directions.name(anywhere.direction) == f"weight {np.argmax(rises)} up"


def test_progress_counts_directions(noisy):
    seen = []
    certify(linear(noisy), noisy, "AP", eps=0.05, delta=0.05, progress=lambda *args: seen.append(args))
    assert seen == [(32, 59, "directions"), (59, 59, "directions")]


def test_text_and_dict_say_what_was_found(noisy):
    found = certify(linear(noisy), noisy, "AP", eps=0.1, delta=0.1, steps=STEPS)
    row, step = found.largest_at
    assert found.curves[row, STEPS.index(step)] == found.largest_rise
    assert found.text().splitlines()[0].endswith(f"{found.n_rising} of 22 directions rise")
    assert f"direction {row} of seed 0, step {step:g}" in found.text()
    assert found.to_dict(curves=True)["curves"] == found.curves.tolist()
    assert json.loads(json.dumps(found.to_dict()))["max_change"] == found.curves.max(axis=0).tolist()


def test_a_measure_that_no_step_changes_is_named(separable):
    """Queries without an irrelevant document: any weights are an optimum of AP."""
    q = dx.Queries.from_arrays(separable.features, np.ones(40), group=[4] * 10)
    ranker = linear(separable)
    assert "; but no step changes the measure at all" in certify(ranker, q, "AP", eps=0.1, delta=0.1).text()
    changed = certify(ranker, separable, "nDCG", eps=0.1, delta=0.1, steps=[0.01, 100.0])
    assert "no step changes" not in changed.text()


def test_share_of_rising_directions_has_an_upper_limit(separable, noisy):
    """With none of K rising the limit is 1 - delta^(1/K)."""
    best = certify([1.0, 0.0, 0.0], separable, "nDCG")
    np.testing.assert_allclose(best.share_below, 1 - 0.01 ** (1 / 459), rtol=1e-12)
    polished = polish([1.0, 0.0, 0.0], separable, "nDCG", eps=0.1, delta=0.1).certificate
    np.testing.assert_allclose(polished.share_below, 1 - 0.05 ** (1 / polished.n_directions), rtol=1e-12)
    some = certify(linear(noisy), noisy, "AP", delta=0.05, eps=0.05)
    chance = binom.cdf(some.n_rising, some.n_directions, some.share_below)
    np.testing.assert_allclose(chance, 0.05, rtol=1e-9)
    np.testing.assert_allclose(
        some.confidence, 1 - binom.cdf(some.n_rising, some.n_directions, 0.05), atol=1e-12, rtol=0
    )
