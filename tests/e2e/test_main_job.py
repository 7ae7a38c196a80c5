"""The main job on real data: train for a measure, predict, evaluate, through the command line."""

import json

import pytest

import directrix as dx
from tests.commands import succeed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("collection", "measure", "convention", "at_least"),
    [("OHSUMED", "nDCG@10", "letor3", 0.35), ("MQ2008", "AP", "letor4", 0.44)],
)
def test_train_predict_evaluate(data_dir, tmp_path, collection, measure, convention, at_least):
    fold = data_dir / "letor" / collection / "Fold1"
    model, scores = tmp_path / "model.json", tmp_path / "scores.txt"
    trained = succeed(
        "train", fold / "train.txt", "--valid", fold / "vali.txt", "--measure", measure, "-o", model
    )
    assert "chosen: " in trained.stderr
    assert "why: " in trained.stderr
    succeed("predict", model, fold / "test.txt", "-o", scores)
    options = ("-m", measure, "--convention", convention, "-f", "json")
    found = json.loads(succeed("evaluate", fold / "test.txt", scores, model, *options).stdout)
    by_scores, by_model = (row["measures"][measure] for row in found["rows"])
    assert by_scores == by_model
    assert by_scores > at_least
    q = dx.read_letor(fold / "test.txt")
    exact = dx.evaluate(
        measure, dx.load(model).predict_queries(q), q.labels, qptr=q.qptr, convention=convention
    )
    assert by_model == exact[measure]


def test_training_beats_its_own_start(data_dir):
    fold = data_dir / "letor" / "OHSUMED" / "Fold1"
    q = dx.read_letor(fold / "train.txt")
    regression, trained = (
        dx.method(name).ranker().fit_queries(q, measure="nDCG@10").predict_queries(q)
        for name in ("Regression", "ApproxNDCG")
    )
    start, end = (
        dx.evaluate("nDCG@10", scores, q.labels, qptr=q.qptr)["nDCG@10"] for scores in (regression, trained)
    )
    assert end > start + 0.02
