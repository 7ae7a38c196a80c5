"""``directrix train``: what it chooses, prints and writes; wrong usage is exit status 2."""

import html
import json

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx


def test_it_prints_the_candidates_and_says_what_it_chose(files, tmp_path):
    way = ("--method", "ApproxNDCG", "-m", "nDCG@5")
    result = succeed("train", files.train, "--valid", files.valid, *way, "-o", tmp_path / "m.json")
    lines = result.stdout.splitlines()
    assert lines[0].split()[:4] == ["candidate", "nDCG@5", "valid", "error"]
    assert len(lines) == 1 + 3 * 2 + 1  # alpha x l2, and a single feature
    assert sum("chosen" in line for line in lines) == 1
    assert "by nDCG@5 on 7 validation queries" in result.stderr
    assert "mean |ApproxNDCG(" in result.stderr
    assert f"saved: {tmp_path / 'm.json'}" in result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.json"]


def test_it_says_how_near_the_minimum_a_proof_puts_it(files, tmp_path):
    out = tmp_path / "m.json"
    result = run(
        "train", files.train, "--method", "SVMMap", "--set", "C=10", "-m", "AP", "-o", out, "-f", "json"
    )
    line = f"proven: the training loss is at most {dx.load(out).result_.gap:.2g} above its minimum"
    assert line in result.stderr
    assert 0.0 < dx.load(out).result_.gap <= 1e-3
    assert json.loads(result.stdout)["above_minimum"] == dx.load(out).result_.gap


def test_json_holds_every_candidate_and_the_gap(files, tmp_path):
    out = tmp_path / "m.json"
    result = run(
        *("train", files.train, "--valid", files.valid, "--method", "ApproxAP", "-m", "AP"),
        *("--set", "alpha=5", "-o", out, "-f", "json"),
    )
    found = json.loads(result.stdout)
    keys = ["measure", "selection", "why", "chosen", "members", "gap", "above_minimum", "candidates"]
    keys += ["single_feature"]
    assert list(found) == keys
    assert found["members"] == []
    assert found["above_minimum"] is None
    assert {c["method"] for c in found["candidates"]} == {"ApproxAP"}
    assert {c["settings"]["alpha"] for c in found["candidates"]} == {5}
    assert all(c["error"] > 0.0 and c["outcome"] == "" for c in found["candidates"])
    best = max(c["valid"] for c in found["candidates"])
    assert found["candidates"][found["chosen"]]["valid"] == best
    ranker = dx.load(out)
    valid = dx.read_letor(files.valid)
    exact = dx.evaluate("AP", ranker.predict_queries(valid), valid.labels, qptr=valid.qptr)["AP"]
    np.testing.assert_allclose(best, exact, rtol=1e-12, atol=0)
    train = dx.read_letor(files.train)
    scores = ranker.predict_queries(train)
    value, _ = ranker.surrogate_.value_and_grad(scores, train.labels, train.qptr)
    gap = np.abs(value - ranker.surrogate_.measure(scores, train.labels, train.qptr)).mean()
    np.testing.assert_allclose(found["gap"], gap, rtol=1e-12, atol=0)


def test_it_prints_the_members_of_an_ensemble_and_single_keeps_one(tmp_path, monkeypatch):
    from directrix.search import rules

    monkeypatch.setattr(rules, "CLEARLY", 1e9)  # every lag counts as chance
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3200, 6))
    total = X[:, :3].sum(axis=1) + np.where(X[:, 3] * X[:, 4] > 0.0, 2.5, 0.0) + 2.0 * (X[:, 5] > 1.0)
    labels = np.digitize(total + rng.normal(size=3200), [1.0, 2.5, 4.0])
    q = dx.Queries.from_arrays(X, labels, group=[20] * 160)
    for name, part in (("train", range(80)), ("valid", range(80, 160))):
        dx.write_letor(q.take(part), tmp_path / name)
    quick = ("max_iter=20", "epochs=3", "cg_iter=1", "n_trees=40", "sigma_first=1", "sigma_last=0.5")
    arguments = [word for text in quick for word in ("--set", text)]
    arguments += ["--model", "linear", "--valid", tmp_path / "valid"]
    arguments += ["-o", tmp_path / "m.json"]
    page = tmp_path / "report.html"
    result = succeed("train", tmp_path / "train", *arguments, "--report", page)
    members = [line for line in result.stdout.splitlines() if line.endswith(" member")]
    assert f"chosen: an ensemble of {len(members)} candidates by nDCG@10 on 80 valid" in result.stderr
    assert "why: nDCG@10 0." in result.stderr
    assert "only one setting was tried" in result.stderr
    assert isinstance(dx.load(tmp_path / "m.json"), dx.EnsembleRanker)
    with_steps = {line.split("  ")[0] for line in members} - {"Regression"}
    assert all(f"Learning curve of {name}" in page.read_text() for name in with_steps)
    assert '"methods":["ensemble","Regression"]' in page.read_text()
    as_json = json.loads(run("train", tmp_path / "train", *arguments, "-f", "json").stdout)
    assert len(as_json["members"]) == len(members)
    single = run("train", tmp_path / "train", *arguments, "--single")
    assert sum(line.endswith(" chosen") for line in single.stdout.splitlines()) == 1
    assert not isinstance(dx.load(tmp_path / "m.json"), dx.EnsembleRanker)


def test_the_same_command_writes_the_same_file(files, tmp_path):
    for name in ("a.json", "b.json"):
        run(
            *("train", files.train, "--method", "ApproxAP", "--set", "l2=0.01", "-o", tmp_path / name),
            *("--seed", 3),
        )
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_settings_reach_the_model_file(files, tmp_path):
    out = tmp_path / "m.json"
    sets = ("--set", "alpha=7", "--set", "sigmoid=tanh", "--set", "start=zero", "--set", "max_iter=3")
    run(
        *("train", files.train, "--method", "ApproxNDCG", "--scale", "query-minmax", "--seed", 4),
        *sets,
        *("-o", out),
    )
    content = json.loads(out.read_text())
    assert content["scale"] == {"kind": "query-minmax"}
    assert content["training"]["seed"] == 4
    assert dx.surrogate(content["training"]["surrogate"]) == dx.ApproxNDCG(alpha=7, sigmoid="tanh")
    assert content["training"]["parameters"]["start"] == "zero"
    assert content["training"]["result"]["counts"]["iterations"] <= 3


@pytest.mark.parametrize("name", ["P@3", "RR", "ERR@5", "tau", "RBP(p=0.5)", "ROCArea"])
def test_auto_has_an_answer_for_every_measure(files, tmp_path, name):
    sets = ("--set", "alpha=3", "--set", "l2=0.01", "--set", "max_iter=5")
    succeed("train", files.train, "-m", name, *sets, "-o", tmp_path / "m.json")
    assert dx.load(tmp_path / "m.json").measure_ == dx.measure(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "nGCD@10"), "nGCD"),
        (("-m", "nDCG@0"), "k"),
        (("--method", "ApproxNDGC"), "did you mean 'ApproxNDCG'"),
        (("--set", "alfa=3"), "'alpha'?"),
        (("--set", "alpha"), "KEY=VALUE is needed"),
        (("--set", "alpha=3", "--set", "alpha=4"), "is given twice"),
        (("--set", "alpha=-3"), "alpha"),
        (("--set", "alpha=high"), "alpha"),
        (("--set", "l2=-1"), "l2"),
        (("--set", "max_iter=2.5"), "max_iter"),
        (("--set", "trainer=rankboost"), "trainer"),
        (("--scale", "magic"), "scale"),
        (("--seed", "-1"), "seed"),
        (("--format", "xml"), "xml"),
        (("--unknown",), "unknown"),
    ],
)
def test_wrong_usage_is_exit_status_2(files, tmp_path, arguments, message):
    assert message in refused("train", files.train, "-o", tmp_path / "m.json", *arguments, status=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("2000 qid:1 1:1\n0 qid:1 1:2\n", "highest label of the training data is 2000"),
        ("2 qid:1\n0 qid:1\n", "0 features"),
        ("0 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n", "documents of different labels (all are 0)"),
        ("1 qid:1 1:1\n0 qid:2 1:0\n", "no query of the training data has documents of different labels"),
        ("1 qid:1 1:1\n", "documents of different labels (one sample)"),
        ("9 qid:1 1:1\n0 qid:1 1:2\n", "l_max"),
    ],
)
def test_data_that_cannot_be_trained_on_are_exit_status_1(tmp_path, content, message):
    (tmp_path / "d.txt").write_text(content)
    result = run("train", tmp_path / "d.txt", "-m", "ERR", "-o", tmp_path / "m.json")
    assert result.exit_code == 1
    assert result.stderr.lstrip().startswith("error: ")
    assert message in result.stderr
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        "1 qid:1 1:0\n0 qid:1 1:0\n",
        "3 qid:1 1:1e30\n0 qid:1 1:-1e30\n",
    ],
    ids=["constant", "huge"],
)
@pytest.mark.filterwarnings("ignore:.*has no slope where all scores are equal")  # true where all are constant
@pytest.mark.filterwarnings("ignore:the chosen ranker gives all documents of a query the same score")
def test_features_with_nothing_to_learn_still_give_a_model(tmp_path, content):
    (tmp_path / "d.txt").write_text(content)
    succeed("train", tmp_path / "d.txt", "--set", "alpha=3", "-o", tmp_path / "m.json")
    assert np.isfinite(dx.load(tmp_path / "m.json").coef_).all()


def test_where_the_model_cannot_go_is_said_before_training(files, tmp_path, monkeypatch):
    def unexpected(*_, **__):
        raise RuntimeError("the search began")

    monkeypatch.setattr("directrix.search.search.search", unexpected)
    assert "absent" in refused("train", files.train, "-o", tmp_path / "absent" / "m.json")


def test_a_report_names_the_files_and_the_command(files, tmp_path):
    page, model = tmp_path / "report.html", tmp_path / "m.json"
    page.write_text("an older page")
    arguments = ["train", files.train, "--valid", files.valid, "--method", "ApproxNDCG", "-o", model]
    plain = run(*arguments)
    written = model.read_bytes()
    result = succeed("--threads", "1", *arguments, "--report", page)
    assert result.stdout.splitlines()[0] == plain.stdout.splitlines()[0]
    assert model.read_bytes() == written
    assert result.stderr.endswith(f"open: {page}\n")
    text = html.unescape(page.read_text())
    assert f"$ directrix --threads 1 train {files.train} --valid {files.valid} --method ApproxNDCG" in text
    for part in ("ApproxNDCG alpha=30", "Importance of features", "Against Regression", str(files.valid)):
        assert part in text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "is a folder; give the name of a file in it, e.g. "),
        ("m.json", "--report and -o are both "),
        ("none/r.html", "does not exist; type `mkdir -p "),
    ],
)
def test_where_the_report_cannot_go_is_said_before_training(files, tmp_path, monkeypatch, name, message):
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr("directrix.search.search.search", None)
    assert message in refused("train", files.train, "-o", tmp_path / "m.json", "--report", tmp_path / name)


def test_without_matplotlib_a_report_is_refused_before_training(files, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("directrix.search.search.search", None)
    assert 'pip install "directrix[plot]"' in refused(
        "train", files.train, "-o", tmp_path / "m.json", "--report", tmp_path / "r.html"
    )
