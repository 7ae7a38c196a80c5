"""What is said when nothing can be learned, and mistakes that used to end in a traceback or in silence."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx

FEW = ("--method", "ApproxNDCG", "--set", "alpha=3", "--set", "l2=0.01", "--set", "max_iter=5")


@pytest.fixture
def data(tmp_path):
    def write(text, name="d.txt"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_a_measure_that_is_undefined_on_all_validation_queries_is_said(files, data, tmp_path):
    path = data("0 qid:1 1:1 4:0\n0 qid:1 1:2\n")
    result = succeed("train", files.train, "--valid", path, "-m", "ROCArea", *FEW, "-o", tmp_path / "m.json")
    assert "note: ROCArea is undefined on all validation queries" in result.stderr


def test_a_measure_with_another_gain_only_chooses(files, tmp_path):
    result = run("train", files.train, "-m", "nDCG(gain=linear)@5", *FEW, "-o", tmp_path / "m.json")
    assert "note: training maximizes the gain 2^label - 1" in result.stderr
    result = run("train", files.train, "-m", "nDCG@5", *FEW, "-o", tmp_path / "m.json")
    assert "note:" not in result.stderr


def test_regression_optimizes_no_surrogate_and_has_no_gap(files, tmp_path):
    out = tmp_path / "m.json"
    result = run("train", files.train, "--method", "Regression", "-o", out, "-f", "json")
    assert json.loads(result.stdout)["gap"] is None
    assert "mean |" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "Regression", "--set", "max_iter=50"), "no setting 'max_iter'"),
        (("--method", "Regression", "--set", "l2=1"), "no setting 'l2'"),
        (("--method", "ApproxNDCG", "--set", "patience=1"), "patience"),
        (("--set", "warm_start=true"), "warm_start"),
        (("--seed", "5000000000"), "4294967295"),
    ],
)
def test_settings_without_effect_are_wrong_usage(files, tmp_path, arguments, message):
    assert message in refused("train", files.train, "-o", tmp_path / "m.json", *arguments, status=2)


def test_ties_broken_by_document_can_be_trained_for(files, tmp_path):
    arguments = ("-m", "nDCG(ties=trec)@5", "-o", tmp_path / "m.json")
    succeed("train", files.train, *FEW, *arguments)


def test_ties_broken_by_document_need_identifiers_before_training(data, tmp_path, monkeypatch):
    def unexpected(*_, **__):
        raise RuntimeError("training began")

    monkeypatch.setattr(dx.LinearRanker, "fit_queries", unexpected)
    path = data("1 qid:1 1:1\n0 qid:1 1:2\n")
    assert "docid" in refused("train", path, *FEW, "-m", "nDCG(ties=trec)@5", "-o", tmp_path / "m.json")


def test_wider_validation_data_name_both_files(files, data, tmp_path):
    wide = data("1 qid:1 1:0 5:1\n0 qid:1 1:1\n")
    message = refused("train", files.train, "--valid", wide, *FEW, "-o", tmp_path / "m.json")
    assert f"features of {wide} must be those of" in message
    assert "got 5 features instead of 4" in message
    assert str(files.train) in message
    assert "n_features" not in message


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_data_wider_than_the_model_name_the_model(files, data, command):
    wide = data("1 qid:1 1:0 5:1\n0 qid:1 1:1\n")
    arguments = (files.model, wide) if command == "predict" else (wide, files.model)
    message = refused(command, *arguments)
    assert f"features of {wide} must be those of" in message
    assert "got 5 features instead of 4" in message
    assert str(files.model) in message
    assert "n_features" not in message


def test_models_of_different_widths_are_each_told_what_fits(files, data, tmp_path):
    narrow = tmp_path / "narrow.json"
    dx.LinearRanker(max_iter=0).fit([[1.0], [2.0]], [0, 1], qid=[0, 0]).save(narrow)
    message = refused("evaluate", files.test, files.model, narrow)
    assert f"{narrow}, got 4 features instead of 1" in message


@pytest.mark.parametrize("value", ["nan", "NULL"])
def test_missing_values_can_be_taken_as_zero(files, data, tmp_path, value):
    path = data(f"1 qid:1 1:{value} 2:1 3:1 4:1\n0 qid:1 1:2 2:0 3:0 4:0\n")
    zero = data("1 qid:1 1:0 2:1 3:1 4:1\n0 qid:1 1:2 2:0 3:0 4:0\n", "zero.txt")
    message = refused("predict", files.model, path)
    assert "--missing zero" in message
    assert "missing='" not in message
    found = succeed("predict", files.model, path, "--missing", "zero")
    assert found.stdout == run("predict", files.model, zero).stdout
    (tmp_path / "s.txt").write_text(found.stdout)
    succeed("evaluate", path, tmp_path / "s.txt", "--missing", "zero")
    succeed("convert", path, tmp_path / "c.txt", "--missing", "zero")
    np.testing.assert_array_equal(dx.read_letor(tmp_path / "c.txt").features, dx.read_letor(zero).features)
    succeed("train", path, "--missing", "zero", *FEW, "-o", tmp_path / "m.json")


@pytest.mark.parametrize("scale", ["log", "quantile", "standard", "minmax"])
def test_missing_values_are_filled_by_a_scale(files, tmp_path, scale):
    path = tmp_path / "gaps.txt"
    lines = Path(files.train).read_text().splitlines()
    lines[3] = re.sub(r" 2:\S+", " 2:nan", lines[3])
    path.write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.json"
    message = refused("train", path, "--missing", "nan", *FEW, "-o", model)
    assert "row 3 of the training data: feature 2 is missing (NaN)" in message
    assert "--scale log" in message
    assert "--method YetiRank" in message
    succeed("train", path, "--missing", "nan", "--scale", scale, *FEW, "-o", model)
    assert dx.load(model).training_["data"]["missing"] == 1
    succeed("predict", model, path, "--missing", "nan")
    succeed("evaluate", path, model, "--missing", "nan")


def test_a_measure_given_twice_is_one_column(files):
    result = succeed("evaluate", files.test, files.scores, "-m", "AP", "-m", "AP", "-f", "tsv")
    assert result.stdout.splitlines()[0] == "name\tAP"


def test_a_ranking_given_twice_is_two_rows(files):
    result = run("evaluate", files.test, files.scores, files.scores, "-f", "json")
    assert [row["name"] for row in json.loads(result.stdout)["rows"]] == [str(files.scores)] * 2


def test_a_convention_is_called_by_its_own_name(files):
    result = run("evaluate", files.test, files.scores, "--convention", "Trec-Eval", "-f", "json")
    assert json.loads(result.stdout)["convention"] == "trec_eval"


@pytest.mark.parametrize(
    "text",
    [
        "# made by hand\n1 qid:1 1:1\n0 qid:1 1:2\n",
        "\n# a comment of six words here\n1 qid:1 1:1\n0 qid:1 1:2\n",
        "1 # one two\n0 # three four\n",
        "1 qid:1 # x 5\n0 qid:1 # y 6\n",
    ],
)
def test_labeled_data_are_not_taken_for_judgments(data, tmp_path, text):
    path, scores = data(text), tmp_path / "s.txt"
    scores.write_text("2\n1\n")
    data("2\n", "d.txt.query")
    result = succeed("evaluate", path, scores, "-m", "AP", "-f", "json")
    assert json.loads(result.stdout)["rows"][0]["measures"] == {"AP": 1.0}


@pytest.mark.parametrize("document", ["http://a.b/c", "doc#3", "12:34"])
def test_judgments_may_have_odd_identifiers(data, document):
    qrels = data(f"\n1 0 {document} 1\n1 0 other 0\n")
    ranking = data(f"1 Q0 {document} 1 2.0 t\n1 Q0 other 2 1.0 t\n", "run.txt")
    result = succeed("evaluate", qrels, ranking, "-m", "AP", "-f", "json")
    assert json.loads(result.stdout)["rows"][0]["measures"] == {"AP": 1.0}


def test_methods_are_listed_without_scikit_learn():
    from test_cli_rest import modules_after

    code = "from directrix.cli.main import app\napp(['methods'], standalone_mode=False)"
    assert not modules_after(code) & {"sklearn"}


@pytest.mark.parametrize(
    "arguments",
    [("--scale", "minmax", "--set", "scale=standard"), ("--seed", "1", "--set", "random_state=2")],
)
def test_what_two_options_say_differently_is_wrong_usage(files, tmp_path, arguments):
    assert arguments[0] in refused(
        "train", files.train, *FEW, *arguments, "-o", tmp_path / "m.json", status=2
    )


def test_tied_documents_without_identifier_count_as_in_a_run(data, tmp_path):
    path = data("0 qid:1 1:1\n1 qid:1 1:1 # docid = a\n0 qid:1 1:1\n")
    model, ranking, qrels = (tmp_path / name for name in ("m.json", "run.txt", "d.qrels"))
    dx.LinearRanker(max_iter=0).fit([[1.0], [2.0]], [0, 1], qid=[0, 0]).save(model)
    run("predict", model, path, "--run", "t", "-o", ranking)
    run("convert", path, qrels)
    asked = ("-m", "RR", "--convention", "trec_eval", "-f", "json")
    of_runs, of_model = run("evaluate", qrels, ranking, *asked), run("evaluate", path, model, *asked)
    values = [json.loads(r.stdout)["rows"][0]["measures"]["RR"] for r in (of_runs, of_model)]
    np.testing.assert_allclose(values, 1 / 3, rtol=1e-15, atol=0)  # row2, row0, a: the later name first


@pytest.mark.filterwarnings("default")
def test_a_warning_of_the_library_is_said_in_the_words_of_the_command_line(data, tmp_path):
    path = data("1 qid:1 1:1\n0 qid:1 1:2\n")
    data("1\n2\n", "d.txt.position")
    with pytest.warns(UserWarning, match="`fit` takes weights as sample_weight"):
        dx.read_letor(path)
    result = succeed("convert", path, tmp_path / "d.svm")
    assert "note: " in result.stderr
    assert "`directrix train` reads weights" in result.stderr
