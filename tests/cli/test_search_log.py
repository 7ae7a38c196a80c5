"""What a search prints: a line per configuration, signs of life, the best single feature, notes."""

import json
import re
import time

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx
from directrix import kernels
from directrix.cli import show
from directrix.data.synthetic import make_linear
from directrix.search.single_feature import best_feature

FEW = ("--method", "RankNet", "-m", "nDCG@5")


def test_a_log_has_a_line_for_each_configuration(files, tmp_path):
    result = succeed("train", files.train, "--valid", files.valid, *FEW, "-o", tmp_path / "m.json")
    lines = [line for line in result.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == 5
    for number, line in enumerate(lines, start=1):
        assert re.fullmatch(rf"\[{number}/5\] RankNet l2=\S+: nDCG@5 0\.\d{{4}}, \d+\.\d s; .+", line), line
    assert lines[0].endswith("; the best so far")


def test_a_long_configuration_gives_signs_of_life(monkeypatch, capsys):
    monkeypatch.setattr(show, "_SILENCE", 0.01)
    with show.progress_log("training") as progress:
        progress(0, 2, "RankNet l2=1, step 7")
        deadline = time.monotonic() + 20.0
        printed = ""
        while "so far" not in printed and time.monotonic() < deadline:
            time.sleep(0.05)
            printed += capsys.readouterr().err
        progress(1, 2, "RankNet l2=1: AP 0.5")
        time.sleep(1.2)  # longer than between two signs
    assert re.search(r"^\[1/2\] RankNet l2=1, step 7 \(\d+ s so far\)$", printed, re.MULTILINE)
    assert capsys.readouterr().err.count("AP 0.5") == 1


def test_a_sign_of_life_says_that_kernels_are_compiled(monkeypatch, capsys):
    monkeypatch.setattr(show, "_SILENCE", 0.01)
    monkeypatch.setattr(kernels._COMPILATION, "_depth", 1)
    with show.progress_log("training") as progress:
        progress(0, 2, "RankNet l2=1")
        deadline, printed = time.monotonic() + 20.0, ""
        while "so far" not in printed and time.monotonic() < deadline:
            time.sleep(0.05)
            printed += capsys.readouterr().err
    assert re.match(r"\[1/2\] RankNet l2=1, compiling kernels \(\d+ s so far\)\n", printed)


def test_steps_alone_print_nothing(capsys):
    with show.progress_log("training") as progress:
        for step in range(100):
            progress(0, 2, f"RankNet, step {step}")
    assert capsys.readouterr().err == ""


def test_fit_prints_scores_and_reasons(capsys):
    q, _ = make_linear(20, 10, 3, seed=0)
    dx.AutoRanker("nDCG@5", method="RankNet", folds=2).fit(
        q.features, q.labels, group=np.diff(q.qptr), verbose=True
    )
    *lines, chosen, why = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert all(re.match(r"\[\d/5\]\tRankNet l2=\S+: nDCG@5 \d\.\d{4}, .* s; \w+", line) for line in lines)
    assert chosen.startswith("chosen: RankNet l2=")
    assert why.startswith("why: nDCG@5 ")


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_best_feature_is_chosen_with_its_direction_on_training_queries(sign):
    q, _ = make_linear(60, 10, 5, seed=1)
    features = np.array(q.features) * np.array([1, 1, sign, 1, 1])
    q = dx.Queries.from_arrays(features, q.labels, group=np.diff(q.qptr), feature_names=list("abcde"))
    train, valid = q.take(range(40)), q.take(range(40, 60))
    result = dx.AutoRanker("nDCG@5", method="Regression").search(train, valid)

    def mean(part, f, way):
        return dx.evaluate("nDCG@5", way * part.features[:, f], part.labels, qptr=part.qptr)["nDCG@5"]

    value, f, way = max((mean(train, f, way), f, way) for f in range(5) for way in (1.0, -1.0))
    assert result.baseline.label == f"single feature {'abcde'[f]}{'' if way > 0 else ', low first'}"
    np.testing.assert_allclose(result.baseline.train, value, rtol=1e-12, atol=0.0)
    np.testing.assert_allclose(result.baseline.valid, mean(valid, f, way), rtol=1e-12, atol=0.0)


def test_missing_values_come_last_in_both_directions():
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 1.0], [2.0, np.nan]])
    q = dx.Queries.from_arrays(X, [1, 0, 3, 2], group=[4], missing="nan")
    single = best_feature(q, dx.measure("nDCG"))
    assert (single.column, single.sign) == (0, 1.0)
    assert np.argmin(single.predict_queries(q)) == 1
    flipped = dx.Queries.from_arrays(-X, [1, 0, 3, 2], group=[4], missing="nan")
    single = best_feature(flipped, dx.measure("nDCG"))
    assert (single.column, single.sign) == (0, -1.0)
    assert np.argmin(single.predict_queries(flipped)) == 1


def test_each_fold_chooses_its_own(monkeypatch):
    q, _ = make_linear(30, 10, 4, seed=3)
    result = dx.AutoRanker("nDCG@5", method="Regression", folds=3).search(q)
    assert len(result.baseline.values) == 30
    assert "nan" not in repr(result.baseline)


def test_the_table_and_the_json_have_the_single_feature(files, tmp_path):
    command = ("train", files.train, "--valid", files.valid, *FEW, "-o", tmp_path / "m.json")
    result = succeed(*command)
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("single feature ")]
    assert line.split()[-1] == "baseline"
    found = json.loads(succeed(*command, "-f", "json").stdout)["single_feature"]
    assert f"{found['valid']:.4f}" in line


def test_a_lead_that_may_be_chance_is_a_note():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    q = dx.Queries.from_arrays(X, np.digitize(X[:, 0] + rng.normal(size=300), [0.0, 1.0]), group=[10] * 30)
    result = dx.AutoRanker("nDCG@5", method="Regression").search(q)
    assert any("not ahead of the single feature 1: difference +0.0000" in note for note in result.notes)


def test_a_time_budget_makes_results_depend_on_the_clock(files, tmp_path):
    command = ("train", files.train, "--valid", files.valid, *FEW, "-o", tmp_path / "m.json")
    assert "depend on the clock" not in succeed(*command).stderr
    assert (
        "note: under a time budget results depend on the clock"
        in succeed(*command, "--time-budget", 100).stderr
    )


def test_a_model_that_exists_is_replaced_on_request_alone(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("train", files.train, "--valid", files.valid, *FEW)
    succeed(*command)
    (tmp_path / "model.json").write_text("mine")
    assert "model.json exists; type -o model.json or --force to replace it" in refused(*command)
    assert (tmp_path / "model.json").read_text() == "mine"
    succeed(*command, "--force")
    (tmp_path / "model.json").write_text("mine")
    succeed(*command, "-o", "model.json")
    assert dx.load("model.json")


@pytest.mark.parametrize(
    ("given", "own"),
    [
        ("lightgbm", "its equivalent here is LambdaMART"),
        ("XGBoost", "its equivalent here is LambdaMART"),
        ("ctr", "its equivalent here is Regression"),
        ("SVM-rank", "its equivalent here is RankSVM"),
        ("ranknett", "did you mean 'RankNet'?"),
    ],
)
def test_names_of_other_tools_lead_to_our_methods(given, own):
    with pytest.raises(dx.InputError, match=re.escape(own)):
        dx.method(given)


def test_every_equivalent_is_a_method():
    from directrix.rankers import methods

    for words, own in methods._ELSEWHERE.items():
        dx.method(own.split()[0])
        assert not any(word in methods._FOLDED for word in words.split())


@pytest.mark.parametrize(
    ("given", "target"), [("lightgb", "lightgbm"), ("Elasticsearch-LTR", "elasticsearch")]
)
def test_targets_of_export_are_suggested(files, tmp_path, given, target):
    text = refused("export", files.model, tmp_path / "x", "--to", given, status=2)
    assert f"Did you mean '{target}'?" in text


def test_a_gain_that_is_not_shown_ends_with_3(files, tmp_path):
    dx.LinearRanker("RankNet", max_iter=1).fit_queries(dx.read_letor(files.train)).save(tmp_path / "b.json")
    command = (
        "compare",
        files.test,
        files.model,
        tmp_path / "b.json",
        "--against",
        "b",
        "--require-gain",
        0.9,
    )
    assert run(*command).exit_code == 3


def test_negative_labels_are_counted_in_a_note(tmp_path):
    (tmp_path / "q.qrels").write_text("1 0 a -1\n1 0 b 2\n1 0 c -2\n")
    (tmp_path / "r.run").write_text("1 Q0 a 1 2.0 x\n1 Q0 b 2 1.0 x\n")
    for command in (
        ("evaluate", tmp_path / "q.qrels", tmp_path / "r.run"),
        ("runs", "features", tmp_path / "r.run", "--qrels", tmp_path / "q.qrels", "-o", tmp_path / "f.txt"),
    ):
        assert "2 of 3 labels of" in (text := succeed(*command).stderr)
        assert "are negative (down to -2); they count as 0" in text


@pytest.mark.parametrize(
    ("name", "content", "sign"),
    [
        ("q.jsonl", '{"qid": 1, "query": "lift"}\n', "by the name qid"),
        ("q.csv", "query_id,text\n1,lift\n", "by the name query_id"),
        ("topics.txt", "<top>\n<num> 1\n<title> lift\n</top>\n", "<top>"),
    ],
)
def test_queries_are_no_documents(tmp_path, name, content, sign):
    (tmp_path / name).write_text(content)
    text = refused("text", "index", tmp_path / name, "-o", tmp_path / "i.index")
    assert f"{name}" in text
    assert f"documents are needed, got queries ({sign})" in text
