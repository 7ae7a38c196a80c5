"""Rankers trained by cutting planes: by name, by object, and as a model file."""

import json

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx

Q = dx.data.make_cubic(n_queries=14, docs_per_query=12, n_features=4, seed=3, label_noise=0.3)
TRAIN, VALID = Q.take(range(10)), Q.take(range(10, 14))


@pytest.mark.parametrize(
    "ranker",
    [
        dx.LinearRanker("SVMMap(rel=3)", trainer="cutting-plane", l2=0.01),
        dx.LinearRanker("SVMMap(rel=3)", trainer=dx.CuttingPlane(slack="each"), l2=0.01, start="zero"),
        dx.LinearRanker("SVMMap(rel=3)", trainer=dx.CuttingPlane(C=50.0)),
        dx.StumpRanker("SVMMap(rel=3)", trainer="cutting-plane", thresholds=5, l2=0.01),
    ],
    ids=["name", "each", "C", "stumps"],
)
def test_it_trains_and_is_kept_with_its_bound(ranker, tmp_path):
    ranker.fit_queries(TRAIN)
    result = ranker.result_
    assert result.status == "converged"
    assert 0.0 <= result.gap <= 1e-3
    ranker.save(tmp_path / "model.json")
    stored = json.loads((tmp_path / "model.json").read_text())["training"]
    assert (stored["result"]["value"], stored["result"]["dual"]) == (result.value, result.dual)
    loaded = dx.load(tmp_path / "model.json")
    assert (loaded.result_.gap, loaded.trainer) == (result.gap, ranker.trainer)
    assert np.array_equal(loaded.predict_queries(VALID), ranker.predict_queries(VALID))


def test_where_training_starts_does_not_matter():
    """The loss has one minimum; a regression only changes where the first plane is taken."""
    at = [
        dx.LinearRanker("SVMRoc(rel=3)", trainer="cutting-plane", l2=0.01, start=start).fit_queries(TRAIN)
        for start in ("zero", "regression")
    ]
    assert max(ranker.result_.dual for ranker in at) <= min(ranker.result_.value for ranker in at)


def test_validation_chooses_a_step_and_the_bound_stays():
    ranker = dx.LinearRanker("SVMMap(rel=3)", trainer="cutting-plane", l2=1e-4)
    ranker.fit_queries(TRAIN, VALID)
    alone = dx.LinearRanker("SVMMap(rel=3)", trainer="cutting-plane", l2=1e-4).fit_queries(TRAIN)
    assert ranker.result_.dual == alone.result_.dual <= alone.result_.value <= ranker.result_.value


def test_without_a_penalty_it_says_what_to_type():
    with rejects(dx.InputError):
        dx.LinearRanker("SVMMap(rel=3)", trainer="cutting-plane").fit_queries(TRAIN)
    with rejects(dx.InputError):
        dx.LinearRanker(trainer="cutting-plane", l2=0.1).fit_queries(TRAIN)


def test_a_damaged_bound_is_refused(tmp_path):
    path = tmp_path / "model.json"
    dx.LinearRanker("SVMMap(rel=3)", trainer="cutting-plane", l2=0.1).fit_queries(TRAIN).save(path)
    content = json.loads(path.read_text())
    content["training"]["result"]["dual"] = "low"
    path.write_text(json.dumps(content))
    with rejects(dx.InputError):
        dx.load(path)


@pytest.mark.parametrize(
    "name",
    [
        *("SVMMap", "SVMRoc", "SVMMrr", "SVMNdcg", "Dorm", "PermuRank"),
        "SVMacc",
        "SVMacc2",
        "SVMacc3",
        "SVMacc4",
    ],
)
def test_a_method_trains_as_it_comes(name):
    ranker = dx.method(name).ranker(measure=dx.measure("AP(rel=3)")).fit_queries(TRAIN)
    assert ranker.result_.status == "converged"
    knows = ranker.trainer if "acc" in name else ranker.surrogate_
    assert getattr(knows, "rel", 3) == 3  # the measure says what is relevant


def test_a_strength_that_numpy_made_is_read_back(tmp_path):
    ranker = dx.LinearRanker("SVMMap(rel=3)", trainer=dx.CuttingPlane(C=np.logspace(0, 1, 2)[1]))
    ranker.fit_queries(TRAIN).save(tmp_path / "model.json")
    assert dx.load(tmp_path / "model.json").trainer == dx.CuttingPlane(C=10.0)
