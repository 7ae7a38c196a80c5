"""The ranker of stumps: what it learns, its file, and what it refuses."""

import json

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx

TRAINERS = ["rankboost", "frank", "lbfgs", "sgd"]


@pytest.fixture(scope="module")
def data():
    q = dx.data.make_cubic(n_queries=50, docs_per_query=15, n_features=5, seed=3)
    return q, q.take(np.arange(10))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_trainer_learns_what_no_line_can(trainer):
    """The middle of a feature is relevant."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = (np.abs(X[:, 0] - 0.5) < 0.2).astype(float)
    qid = np.repeat(np.arange(15), 20)
    surrogate = None if trainer in ("rankboost", "frank") else "ApproxAP(alpha=3.0)"
    ranker = dx.StumpRanker(surrogate, trainer=trainer, thresholds=16, max_iter=60).fit(
        X, y, qid=qid, measure="AP"
    )
    assert ranker.score(X, y, qid=qid) > 0.95
    assert dx.LinearRanker("ApproxAP").fit(X, y, qid=qid).score(X, y, qid=qid) < 0.8


def test_a_surrogate_is_trained_for_unless_boosting_is_asked_for(data, tmp_path):
    """Boosting has a loss of its own: a surrogate would be ignored without a word."""
    q, _ = data
    plain = dx.StumpRanker("ListNet", max_iter=5).fit_queries(q)
    named = dx.StumpRanker("ListNet", trainer="lbfgs", max_iter=5).fit_queries(q)
    assert np.array_equal(plain.coef_, named.coef_)
    assert not plain.result_.own_loss
    for kind, trainer in [
        (dx.StumpRanker, "rankboost"),
        (dx.LinearRanker, "coordinate-ascent"),
        (dx.LinearRanker, dx.Restarts(dx.trainers.AdaRank(rounds=2), n=2)),
        (dx.LinearRanker, "svm-acc"),
    ]:
        with rejects(dx.InputError):
            kind("ListNet", trainer=trainer, max_iter=5).fit_queries(q)
    default = dx.StumpRanker(dx.ApproxNDCG(), trainer="rankboost", max_iter=5).fit_queries(q)
    assert np.array_equal(default.coef_, dx.StumpRanker(max_iter=5).fit_queries(q).coef_)
    for ranker in (plain, default):
        ranker.save(tmp_path / "m.json")
        again = dx.load(tmp_path / "m.json").fit_queries(q)
        assert np.array_equal(again.predict_queries(q), ranker.predict_queries(q))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_file_reads_back_to_the_same_bits(data, trainer, tmp_path):
    q, _ = data
    ranker = dx.StumpRanker(trainer=trainer, max_iter=7, random_state=3).fit_queries(q)
    ranker.save(tmp_path / "a.json")
    loaded = dx.load(tmp_path / "a.json")
    assert np.array_equal(loaded.predict_queries(q), ranker.predict_queries(q))
    assert isinstance(loaded, dx.StumpRanker)
    loaded.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_the_file_drops_steps_of_zero(data, tmp_path):
    ranker = dx.StumpRanker(max_iter=4).fit_queries(data[0])
    ranker.save(tmp_path / "m.json")
    model = json.loads((tmp_path / "m.json").read_text())["model"]
    assert model["type"] == "stumps"
    kept = [step for stair in model["stairs"] for step in stair["steps"]]
    assert sorted(kept) == sorted(ranker.coef_[ranker.coef_ != 0.0])
    assert 1 <= len(kept) <= 4
    names = [len(stair["thresholds"]) == len(stair["steps"]) for stair in model["stairs"]]
    assert all(names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stairs": None}, "stairs is None, must be a list"),
        ({"stairs": [3]}, r"stairs\[0\] is 3, must be an object"),
        ({"stairs": [{"feature": 1, "steps": []}]}, "thresholds is missing"),
        (
            {"stairs": [{"feature": 9, "thresholds": [0.5], "steps": [1.0]}]},
            "feature 9 .*from 1 to 5",
        ),
        ({"stairs": [{"feature": 1.0, "thresholds": [0.5], "steps": [1.0]}]}, r"feature is 1\.0"),
        ({"stairs": [{"feature": 1, "thresholds": [0.5], "steps": [1.0]}] * 2}, "feature 1 appears twice"),
        (
            {"stairs": [{"feature": 1, "thresholds": [0.5], "steps": []}]},
            "holds 0 numbers",
        ),
        ({"stairs": [{"feature": 1, "thresholds": ["a"], "steps": [1.0]}]}, r"thresholds\[0\] is 'a'"),
        ({"stairs": [{"feature": 2, "thresholds": [2.0, 1.0], "steps": [1.0, 1.0]}]}, "ascending"),
    ],
)
def test_damaged_files_are_refused(data, tmp_path, change, message):
    path = tmp_path / "m.json"
    dx.StumpRanker(max_iter=2).fit_queries(data[0]).save(path)
    content = json.loads(path.read_text())
    content["model"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(dx.InputError, match=message):
        dx.load(path)


def test_a_number_of_features_beyond_any_array_is_refused(data, tmp_path):
    path = tmp_path / "m.json"
    dx.StumpRanker(max_iter=2).fit_queries(data[0]).save(path)
    content = json.loads(path.read_text())
    content["features"]["count"] = 10**30
    path.write_text(json.dumps(content))
    with rejects(dx.InputError):
        dx.load(path)


def test_validation_queries_choose_the_round(data):
    q, valid = data
    ranker = dx.StumpRanker(max_iter=30).fit_queries(q, valid, measure="AP(rel=2)")
    scores = [row["score"] for row in ranker.result_.trace]
    assert len(scores) == 31
    values = dx.AP(rel=2)(ranker.predict_queries(valid), valid.labels, valid.qptr)
    np.testing.assert_allclose(values.mean(), max(scores), rtol=1e-12)
    assert str(ranker.measure_) == "AP(rel=2)"
    patient = dx.StumpRanker(max_iter=300, patience=3).fit_queries(q, valid)
    assert len(patient.result_.trace) < 301


def test_it_goes_on_with_its_thresholds(data):
    q, other = data
    ranker = dx.StumpRanker(max_iter=5, warm_start=True).fit_queries(q)
    thresholds, first = ranker.thresholds_, ranker.coef_.copy()
    ranker.fit_queries(other)
    assert all(np.array_equal(a, b) for a, b in zip(thresholds, ranker.thresholds_, strict=True))
    assert not np.array_equal(first, ranker.coef_)
    ten = dx.StumpRanker(max_iter=10).fit_queries(q)
    again = ranker.set_params(warm_start=False).fit_queries(q).set_params(warm_start=True).fit_queries(q)
    np.testing.assert_allclose(again.result_.value, ten.result_.value, rtol=1e-5)


def test_document_weights_count_for_the_better_document(data):
    q, _ = data
    qid = np.repeat(np.arange(50), 15)
    alike = dx.StumpRanker(max_iter=3).fit(q.features, q.labels, qid=qid, sample_weight=np.full(750, 2.0))
    plain = dx.StumpRanker(max_iter=3).fit(q.features, q.labels, qid=qid)
    np.testing.assert_allclose(alike.coef_, plain.coef_, rtol=1e-9)
    weight = np.where(q.labels >= 3, 50.0, 0.1)
    top = dx.StumpRanker(max_iter=20).fit(q.features, q.labels, qid=qid, sample_weight=weight)
    assert not np.allclose(top.coef_, plain.coef_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trainer": "adarank"}, "trainer must be"),
        ({"thresholds": 0}, "thresholds must be"),
        ({"l2": 0.1}, r"l2=0\.1: RankBoost"),
        ({"max_iter": -1}, "max_iter must be"),
        ({"trainer": dx.CoordinateAscent()}, "CoordinateAscent trains a LinearModel.*given a StumpModel"),
    ],
)
def test_what_it_refuses(data, settings, message):
    with pytest.raises(ValueError, match=message):
        dx.StumpRanker(**settings).fit_queries(data[0])


@pytest.mark.parametrize("name", ["coordinate-ascent", "adarank"])
def test_linear_rankers_train_on_the_measure_that_fit_names(data, name):
    q, valid = data
    ranker = dx.LinearRanker(trainer=name, max_iter=4, random_state=0).fit_queries(
        q, valid, measure="AP(rel=2)"
    )
    assert "measure=AP(k=None, rel=2" in ranker.training_["trainer"]
    own = {
        "coordinate-ascent": dx.CoordinateAscent("AP(rel=2)", max_iter=4),
        "adarank": dx.trainers.AdaRank("AP(rel=2)", 4),
    }
    other = dx.LinearRanker(trainer=own[name]).fit_queries(q, valid, measure="AP(rel=2)")
    assert np.array_equal(ranker.coef_, other.coef_)
