"""Polish: rising directions are followed until a test with fresh directions finds none."""

import sys

import numpy as np
import pytest

import directrix as dx
from directrix.experiments.optimality import certify, polish
from directrix.experiments.optimality.certificate import RandomDirections, n_directions
from tests.experiments.test_optimality import by_loops, linear


def checked_polish(ranker, q, measure, **options):
    found = polish(ranker, q, measure, **options)
    after = found.certificate
    assert found.start < after.value
    assert after.is_local_optimum
    assert after.n_rising == 0
    assert after.confidence >= 0.99
    value = dx.evaluate([measure], found.ranker.predict_queries(q), q.labels, qptr=q.qptr)[measure]
    assert value == after.value
    name = "coef_" if isinstance(ranker, dx.LinearRanker) else "params_"
    unit = np.linalg.norm(found.params) if options.get("relative") else 1.0
    expected = by_loops(
        found.ranker, name, q, measure, after.directions.block(0, 5), unit * np.array(after.steps)
    )
    assert (after.curves[:5] == expected).all()
    return found


@pytest.mark.parametrize(("measure", "relative"), [("nDCG@3", False), ("AP", True)])
def test_polished_linear_ranker_has_the_certificate_and_its_norm(noisy, measure, relative, tmp_path):
    ranker = linear(noisy, scale="standard")
    ranker.model_ = ranker.model_.recorded(selection={"value": 1.0})
    before = ranker.coef_.copy()
    found = checked_polish(ranker, noisy, measure, eps=0.03, relative=relative)
    assert (ranker.coef_ == before).all()
    np.testing.assert_allclose(np.linalg.norm(found.params), np.linalg.norm(before), rtol=1e-12)
    again = polish(ranker, noisy, measure, eps=0.03, relative=relative)
    assert (again.params == found.params).all()
    found.ranker.save(tmp_path / "polished.json")
    loaded = dx.load(tmp_path / "polished.json")
    assert (loaded.predict_queries(noisy) == found.ranker.predict_queries(noisy)).all()
    assert loaded.measure_ == dx.measure(measure)
    assert loaded.training_["moved"]["certificate"]["n_rising"] == 0
    assert "selection" not in loaded.training_  # a figure of other weights


def test_polished_network(noisy):
    ranker = dx.MLPRanker("ListNet", hidden=(3,), max_iter=3, random_state=0).fit_queries(noisy)
    checked_polish(ranker, noisy, "AP", eps=0.03, relative=True)


def test_polish_of_a_measure_without_line_search(noisy):
    assert checked_polish(linear(noisy), noisy, "KendallTau", eps=0.05).moves > 0


def test_a_test_after_a_failed_one_draws_new_and_more_directions(noisy, monkeypatch):
    """Where climbing looks in two directions only, the first tests fail."""
    monkeypatch.setattr("directrix.experiments.optimality.polishing._LOOKED_AT", 2)
    found = polish(linear(noisy), noisy, "nDCG@3", seed=1)
    assert found.tests > 1
    assert found.certificate.directions.seed == (1, 1, found.tests)
    count = n_directions(0.01, 0.01 / (found.tests * (found.tests + 1)))
    assert found.certificate.n_directions == count
    left = 0.99 ** np.array([n_directions(0.01, 0.01 / (a * (a + 1))) for a in range(1, found.tests + 1)])
    np.testing.assert_allclose(found.certificate.confidence, 1 - left.sum(), rtol=1e-12)


def test_a_polished_share_is_a_share_of_the_chance_of_all_tests(noisy, monkeypatch):
    """Test a of several may be wrong with chance delta / (a (a + 1)); so may its limit of the share."""
    monkeypatch.setattr("directrix.experiments.optimality.polishing._LOOKED_AT", 2)
    found = polish(linear(noisy), noisy, "nDCG@3", eps=0.05, seed=1)
    assert found.tests > 1
    chance = 0.01 / (found.tests * (found.tests + 1))
    after = found.certificate
    np.testing.assert_allclose(after.share_below, 1 - chance ** (1 / after.n_directions), rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_polish_may_pass_through_weights_of_no_length():
    """Where all documents tie, the order of the rows is the best there is."""
    q = dx.Queries.from_arrays([[1.0], [2.0], [0.0]], [2, 0, 1], group=[3])
    measure = "nDCG(ties='order')"
    assert certify([0.5], q, measure, steps=[0.5]).n_rising > 0
    found = polish([0.5], q, measure, steps=[0.5])
    assert found.certificate.n_rising == 0
    assert found.certificate.value > found.start


def test_polish_that_runs_out_of_moves_says_so(noisy):
    found = polish(linear(noisy), noisy, "nDCG@3", eps=0.05, max_moves=0)
    assert (found.moves, found.certificate.is_local_optimum) == (0, False)
    assert found.certificate.value == found.start
    assert "not a local optimum" in found.ranker.result_.message


def test_climbing_and_tests_draw_from_streams_of_their_own(noisy, monkeypatch):
    drawn = {"up": set(), "_until_certified": set()}

    def recorded(count, n_params, seed):
        drawn[sys._getframe(1).f_code.co_name].update((*seed, i) for i in range(count))
        return RandomDirections(count, n_params, seed)

    monkeypatch.setattr("directrix.experiments.optimality.polishing.RandomDirections", recorded)
    polish(linear(noisy), noisy, "nDCG@3")
    assert min(map(len, drawn.values())) > 100
    assert not drawn["up"] & drawn["_until_certified"]
