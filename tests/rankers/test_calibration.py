"""Probabilities of relevance: their fit, order and file; exports have them in `tests/export`."""

import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from tests.data.interactions.test_build import make_events
from tests.messages import rejects

import directrix as dx
from directrix.errors import InputError
from directrix.rankers.calibration import SHARE, Calibration
from directrix.rankers.model_file import model_from_json, model_to_json

Q, _ = dx.data.make_linear(n_queries=60, docs_per_query=20, n_features=5, seed=3)
TRAIN, HELD, TEST = Q.take(range(20)), Q.take(range(20, 40)), Q.take(range(40, 60))
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=400).round(2)  # with ties
LABELS = RNG.integers(0, 3, 400) * (RNG.random(400) < 1 / (1 + np.exp(-2 * SCORES - 1)))


@pytest.fixture(scope="module")
def ranker():
    return dx.LinearRanker(scale="standard", max_iter=20).fit_queries(TRAIN)


def pooled(scores, relevant):
    """Isotonic regression by the textbook: pool adjacent violators. Value of each distinct score."""
    blocks = []
    for score in np.unique(scores):
        here = relevant[scores == score]
        blocks.append([here.sum(), len(here), 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            blocks[-2:] = [[a + b for a, b in zip(*blocks[-2:], strict=True)]]
    return np.repeat([total / n for total, n, _ in blocks], [size for *_, size in blocks])


def test_calibrating_on_the_training_data_warns(ranker):
    with pytest.warns(
        UserWarning, match=r"on the training data of the model.*ranker\.calibrate\(queries\)"
    ) as caught:
        dx.LinearRanker(max_iter=5).fit_queries(TRAIN).calibrate(TRAIN)
    assert caught[0].filename == __file__
    ranker.calibrate(HELD)  # pytest makes errors of warnings


def test_isotonic_is_pool_adjacent_violators():
    relevant = LABELS >= 2
    found = Calibration.fit(SCORES, LABELS, "isotonic", rel=2)(np.unique(SCORES))
    np.testing.assert_allclose(found, pooled(SCORES, relevant), rtol=0, atol=SHARE)
    exact = IsotonicRegression(out_of_bounds="clip").fit(SCORES, relevant)
    far = np.array([-9.0, -0.123456, 0.5, 9.0])
    ours = Calibration.fit(SCORES, LABELS, "isotonic", rel=2)(far)
    np.testing.assert_allclose(ours, exact.predict(far), rtol=0, atol=SHARE)


def test_platt_is_a_logistic_regression_on_smoothed_targets():
    relevant = LABELS >= 1
    n, m = relevant.sum(), (~relevant).sum()
    share = np.where(relevant, (n + 1) / (n + 2), 1 / (m + 2))  # of a relevant copy of each document
    twice = np.tile(SCORES, 2)[:, None]
    weights = np.concatenate([share, 1 - share])
    exact = LogisticRegression(C=np.inf, tol=1e-10).fit(twice, np.repeat([1, 0], len(SCORES)), weights)
    fitted = Calibration.fit(SCORES, LABELS, "platt")
    a, b = fitted.slope, fitted.intercept
    np.testing.assert_allclose([a, b], [*exact.coef_[0], *exact.intercept_], rtol=1e-4)
    np.testing.assert_allclose(fitted(0.3), 1 / (1 + np.exp(-0.3 * a - b)), rtol=1e-12)


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_a_weight_counts_as_often_as_it_says(kind):
    times = np.random.default_rng(1).integers(1, 4, len(SCORES))
    weighted = Calibration.fit(SCORES, LABELS, kind, weights=times.astype(float))
    copied = Calibration.fit(np.repeat(SCORES, times), np.repeat(LABELS, times), kind)
    np.testing.assert_allclose(weighted(SCORES), copied(SCORES), rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.* hold only later steps", "ignore:.* had no event before the decision")
@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_probabilities_of_drawn_negatives_are_those_of_all_candidates(kind):
    events = make_events(n=3000, n_users=40, n_items=60)
    drawn, full = (dx.data.from_interactions(events, negatives=n) for n in (10, None))
    ranker = dx.LinearRanker(scale="standard", max_iter=20).fit_queries(full)
    calibrated = ranker.calibrate(drawn, kind).calibration_
    p = calibrated(ranker.predict_queries(full))
    rate = (full.labels >= 1).mean()
    assert abs(p.mean() / rate - 1.0) < 0.05
    assert (drawn.labels >= 1).mean() > 2.0 * rate
    curve = dx.experiments.calibration_curve(calibrated(ranker.predict_queries(drawn)), drawn)
    assert abs(curve.total.relevant / rate - 1.0) < 0.05
    assert curve.total.error < 0.02


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_order_and_scores_stay_as_they_are(ranker, kind):
    before = ranker.predict_queries(TEST)
    ranker.calibrate(HELD, kind)
    scores, probabilities = ranker.predict_queries(TEST), ranker.predict_probability(TEST.features)
    assert (scores == before).all()
    assert (np.argsort(scores, kind="stable") == np.argsort(probabilities, kind="stable")).all()
    assert len(np.unique(probabilities)) == len(np.unique(scores))
    assert 0 <= probabilities.min() < probabilities.max() <= 1
    for measure in ("nDCG@5", "AP"):
        assert dx.evaluate(measure, scores, TEST.labels, qid=np.repeat(range(20), 20)) == dx.evaluate(
            measure, probabilities, TEST.labels, qid=np.repeat(range(20), 20)
        )


def test_documents_on_a_plateau_do_not_tie():
    fitted = Calibration(1.0, 0.0, 1.0, (0.0, 1.0, 2.0, 500.0), (0.0, 0.5, 0.5, 1.0))
    plateaus = np.array([-900.0, -40.0, -39.9, 0.0, 1.0, 1.001, 2.0, 500.0, 501.0, 900.0])
    assert (np.diff(fitted(plateaus)) > 0).all()


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
@pytest.mark.parametrize("ensemble", [False, True], ids=["single", "ensemble"])
def test_a_file_keeps_the_calibration(ranker, tmp_path, kind, ensemble):
    if ensemble:
        ranker = dx.EnsembleRanker([dx.LinearRanker(max_iter=5), dx.StumpRanker(max_iter=5)]).fit_queries(
            TRAIN
        )
    expected = ranker.calibrate(HELD, kind, rel=2).predict_probability(TEST.features)
    ranker.save(tmp_path / "model.json")
    loaded, scorer = dx.load(tmp_path / "model.json"), dx.load_scorer(tmp_path / "model.json")
    assert loaded.calibration_.rel == 2
    np.testing.assert_array_equal(loaded.predict_probability(TEST.features), expected)
    np.testing.assert_allclose(scorer.probability(TEST.features), expected, rtol=1e-6, atol=1e-9)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_fit_forgets_the_calibration(ranker):
    again = dx.LinearRanker(max_iter=5).fit_queries(TRAIN).calibrate(HELD)
    again.fit_queries(TRAIN)
    with rejects(InputError):
        again.predict_probability(TEST.features)


def test_auto_ranker_calibrates_what_it_chose(tmp_path):
    auto = dx.AutoRanker("nDCG@5", method="Regression", folds=1).fit_queries(TRAIN)
    probabilities = auto.calibrate(HELD, "platt").predict_probability(TEST.features)
    auto.save(tmp_path / "model.json")
    np.testing.assert_array_equal(
        dx.load(tmp_path / "model.json").predict_probability(TEST.features), probabilities
    )


def test_data_that_do_not_allow_a_calibration_are_rejected(ranker):
    with rejects(InputError):
        Calibration.fit(SCORES, np.ones(400))
    with rejects(InputError):
        Calibration.fit(SCORES, LABELS, rel=7)
    with rejects(InputError):
        Calibration.fit(-SCORES, LABELS)
    with rejects(InputError):
        Calibration.fit(SCORES, LABELS, "beta")
    with rejects(InputError):
        ranker.calibrate("held.parquet")


def test_wrong_entries_of_a_file_are_rejected(ranker, tmp_path):
    good = model_to_json(ranker.calibrate(HELD).model_)
    wrong = ({"slope": -1.0}, {"values": []}, {"knots": good["calibration"]["knots"][::-1]}, {"slope": "1"})
    for change in (*wrong, {"values": [2.0 for _ in good["calibration"]["values"]]}):
        with rejects(InputError):
            model_from_json(json.loads(json.dumps(good | {"calibration": good["calibration"] | change})))
