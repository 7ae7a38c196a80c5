"""The main job on real data: train for a measure, predict, evaluate, through the command line."""

import json

import pytest
from typer.testing import CliRunner

import directrix as dx
from directrix.cli.main import app

pytestmark = pytest.mark.slow


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize(
    ("collection", "measure", "convention", "at_least"),
    [("OHSUMED", "nDCG@10", "letor3", 0.35), ("MQ2008", "AP", "letor4", 0.44)],
)
def test_train_predict_evaluate(data_dir, tmp_path, collection, measure, convention, at_least):
    fold = data_dir / "letor" / collection / "Fold1"
    model, scores = tmp_path / "model.json", tmp_path / "scores.txt"
    trained = run(
        "train", fold / "train.txt", "--valid", fold / "vali.txt", "--measure", measure, "-o", model
    )
    assert "chosen: " in trained.stderr
    assert "why: " in trained.stderr
    run("predict", model, fold / "test.txt", "-o", scores)
    options = ("-m", measure, "--convention", convention, "-f", "json")
    found = json.loads(run("evaluate", fold / "test.txt", scores, model, *options).stdout)
    by_scores, by_model = (row["measures"][measure] for row in found["rows"])
    assert by_scores == by_model
    assert by_scores > at_least
    q = dx.read_letor(fold / "test.txt")
    exact = dx.evaluate(
        measure, dx.load(model).predict(q.features), q.labels, qptr=q.qptr, convention=convention
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
