"""Shards on the command line: write, train, evaluate, certify, resume."""

import json

import numpy as np
import pytest
from tests.commands import run

import directrix as dx
from directrix.data.shards import checkpoint


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    q = dx.data.make_cubic(n_queries=80, docs_per_query=10, n_features=5, seed=0)
    for name, queries in {"train": range(50), "valid": range(50, 65), "test": range(65, 80)}.items():
        dx.write_letor(q.take(queries), folder / f"{name}.txt")
    dx.write_shards(folder / "train.txt", folder / "shards", 3)
    dx.LinearRanker("ListNet", max_iter=2).fit_queries(q).save(folder / "model.json")
    return folder


TRAIN = [
    "train",
    "shards",
    "--valid",
    "valid.txt",
    "--method",
    "ApproxNDCG",
    "--set",
    "alpha=10",
    "--set",
    "l2=0.001",
]


@pytest.mark.slow
def test_shard_train_evaluate_certify(files, monkeypatch):
    monkeypatch.chdir(files)
    done = run("cluster", "shard", "train.txt", "written", "--shards", "3")
    assert "3 shards of 160 to 170 documents; 500 documents, 50 queries, 5 features" in done.stderr
    run("cluster", "shard", "valid.txt", "valid", "--shards", "2")
    run("cluster", "shard", "test.txt", "test", "--shards", "2")
    run(*TRAIN, "--cluster", "local:2", "-o", "model.json")
    sharded = ["train", "written", "--valid", "valid", *TRAIN[4:]]
    run(*sharded, "--cluster", "local:1", "-o", "other.json")
    models = [dx.load(name) for name in ("model.json", "other.json")]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert models[0].training_["selection"]["queries"] == 15
    rows = [
        json.loads(run("evaluate", *data, "model.json", "-m", "nDCG@5", "--format", "json").stdout)
        for data in (["test.txt"], ["test", "--cluster", "local:2"])
    ]
    values = [row["rows"][0]["measures"]["nDCG@5"] for row in rows]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    compared = run("compare", "test", "model.json", "other.json", "--cluster", "local:2", "-m", "nDCG@5")
    assert "model" in compared.stdout
    certified = run(
        "lab", "certify", "model.json", "test", "--eps", ".3", "--delta", ".3", "--cluster", "local:2"
    )
    assert "directions" in certified.stdout
    assert not list(files.glob("*.answers"))


def test_auto_tries_what_can_be_trained_on_shards(files, monkeypatch):
    monkeypatch.chdir(files)
    run("cluster", "shard", "train.txt", "auto", "--shards", "2")
    settings = ["--method", "Regression,ListNet,LambdaMART,LambdaRank", "-o", "auto.json"]
    done = run("train", "auto", "--valid", "valid.txt", "--cluster", "local:1", *settings)
    assert "LambdaMART, LambdaRank: not trained, because they do not suit data in shards" in done.stderr
    assert "ListNet" in done.stdout


def test_where_every_method_refuses_the_data_the_first_says_why(files, monkeypatch):
    monkeypatch.chdir(files)
    lines = [f"1 qid:{q} 1:{i} 5:1" for q in range(4) for i in range(3)]
    (files / "same.txt").write_text("\n".join([*lines, ""]))
    run("cluster", "shard", "same.txt", "same", "--shards", "2")
    settings = ["--method", "RankNet,ListNet", "-o", "same.json"]
    done = run("train", "same", "--valid", "valid.txt", "--cluster", "local:1", *settings)
    assert done.exit_code == 1
    assert "error: no query of the training data has documents of different labels" in done.stderr


def test_resume_takes_the_answers_of_before(files, monkeypatch):
    monkeypatch.chdir(files)
    run("cluster", "shard", "train.txt", "again", "--shards", "3")
    command = ["train", "again", *TRAIN[2:], "--cluster", "local:1"]
    run(*command, "-o", "whole.json")

    class Stopped(Exception):
        pass

    def stop(step):
        if step.iteration == 2:
            raise Stopped

    ranker, valid = dx.LinearRanker("ApproxNDCG(alpha=10)", l2=1e-3), dx.read_letor("valid.txt")
    with pytest.raises(Stopped), checkpoint.keep_answers("half.json.answers"):
        ranker.fit_shards("again", valid, measure="nDCG@10", callback=stop)
    content = (files / "half.json.answers").read_bytes()
    (files / "fresh.json.answers").write_bytes(content)
    added, add = [], checkpoint._KeepingDriver._add

    def counted(driver, key, answer):
        added[-1] += 1
        add(driver, key, answer)

    monkeypatch.setattr(checkpoint._KeepingDriver, "_add", counted)
    for options in (("-o", "fresh.json"), ("--resume", "-o", "half.json")):
        added.append(0)
        run(*command, *options)
    assert 0 < added[1] <= added[0] - 2  # without --resume the answers of before are not used
    assert np.array_equal(dx.load("half.json").coef_, dx.load("whole.json").coef_)
    assert not (files / "half.json.answers").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["train", "train.txt", "--valid", "valid.txt", "--cluster", "local:1", "--force"],
            "directrix cluster shard train.txt SHARDS",
        ),
        (["train", "shards", "--cluster", "local:1", "--force"], "add --valid"),
        (
            [*TRAIN, "--cluster", "local:1", "--folds", "3", "--force"],
            "--folds is not supported on shards",
        ),
        ([*TRAIN, "--cluster", "here"], "local:N, for N processes"),
        (["train", "train.txt", "--resume", "--force"], "add --cluster"),
        (["cluster", "shard", "train.txt", "shards"], "exists already"),
        (["evaluate", "test.txt", "model.json", "--cluster", "local:1"], "not a folder of shards"),
        (
            [
                "train",
                "shards",
                "--valid",
                "valid.txt",
                "--method",
                "LambdaMART",
                "--cluster",
                "local:1",
                "--force",
            ],
            "on shards",
        ),
    ],
)
def test_refused(files, monkeypatch, arguments, said):
    monkeypatch.chdir(files)
    done = run(*arguments)
    assert done.exit_code == 1
    assert said in done.stderr


def test_the_input_is_not_the_output(files, monkeypatch):
    monkeypatch.chdir(files)
    before = (files / "train.txt").read_bytes()
    done = run("cluster", "shard", "train.txt", "./train.txt")
    assert (done.exit_code, (files / "train.txt").read_bytes()) == (2, before)
    assert "train.txt is the input; name another folder" in done.stderr
