"""``directrix export``: the file, what is said of it, and refusals."""

import numpy as np
import pytest
from tests.commands import refused, run

import directrix as dx
from directrix.registry import TARGETS


@pytest.mark.parametrize("to", ["sql", "python", "solr", "vespa"])
def test_a_model_is_exported_and_verified_on_data(files, tmp_path, to):
    path = tmp_path / "out"
    result = run("export", files.model, path, "--to", to, "--check", files.test)
    assert (result.exit_code, result.stdout) == (0, "")
    saved, verified, *rest = result.stderr.splitlines()
    assert saved == f"saved: {path} ({path.stat().st_size:,} bytes)"
    assert verified.startswith("verified with ")
    assert verified.endswith(", same order in all queries")
    assert not rest or rest[0].startswith("note: ")


def test_without_data_drawn_rows_are_compared(files, tmp_path):
    result = run("export", files.model, tmp_path / "m.sql", "--to", "sql")
    assert ": 2,000 rows, largest difference" in result.stderr
    assert "order" not in result.stderr


@pytest.mark.parametrize("to", ["xgboost", "lightgbm", "elastic"])
def test_a_format_that_cannot_carry_the_model_names_one_that_can(files, tmp_path, to):
    assert "takes trees of plain features, and this model is a linear model; choose onnx" in refused(
        "export", files.model, tmp_path / "out", "--to", to
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_wrong_usage_that_lists_all(files, tmp_path):
    assert all(
        name in refused("export", files.model, tmp_path / "out", "--to", "pmml", status=2) for name in TARGETS
    )


def test_data_with_other_features_are_refused(files, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("1 qid:1 1:1 9:1\n0 qid:1 1:2 9:3\n")
    assert "--by-position" in refused(
        "export", files.model, tmp_path / "out", "--to", "sql", "--check", other
    )
    assert run("export", files.model, files.model, "--to", "sql").exit_code == 1  # the model stays


def table(folder, *, missing=True):
    """A CSV file of features with names, some of which are missing, and a feature of categories."""
    rng = np.random.default_rng(0)
    lines = ["qid,label,bm25,price,color"]
    for row in range(400):
        bm25, price = rng.normal(size=2).round(3)
        cell = "" if missing and rng.random() < 0.2 else price
        lines.append(f"{row // 20},{int(bm25 + (cell == '') > 0.5)},{bm25},{cell},{'rgb'[row % 3]}")
    path = folder / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("engine", "missing"),
    [
        ("solr:9.5", "zero"),
        ("opensearch:3.5", "zero"),
        ("elastic", "nan"),
        ("sql", "nan"),
        ("ranklib", "zero"),
    ],
)
def test_what_was_trained_for_an_engine_can_be_exported_to_it(engine, missing, tmp_path):
    """Missing features are read as the engine reads them."""
    path, model = table(tmp_path), tmp_path / "m.json"
    settings = ("--exclude-columns", "color", "--folds", 1, "--set", "n_trees=3", "--set", "max_iter=3")
    trained = run("train", path, "--engine", engine, *settings, "-o", model)
    assert trained.exit_code == 0
    note = "note: missing features are read as 0, as in "
    assert (note in trained.stderr) == (missing == "zero")
    assert dx.load(model).model_.missing == missing
    done = run("export", model, tmp_path / "out", "--engine", engine, "--check", path)
    assert done.exit_code == 0
    assert "same order in all queries" in done.stderr


def test_a_given_rule_for_missing_features_is_kept(tmp_path):
    path = table(tmp_path)
    settings = ("--exclude-columns", "color", "--folds", 1, "--set", "n_trees=3", "--set", "max_iter=3")
    arguments = (*settings, "--missing", "nan", "-o", tmp_path / "m.json")
    done = run("train", path, "--engine", "solr:9.5", *arguments)
    assert "ApproxNDCG" in done.stderr  # is not tried: it would read 0 there
    assert dx.load(tmp_path / "m.json").model_.missing == "nan"
    assert "--missing zero" in refused(
        "train", path, "--engine", "solr:8", "--model", "trees", *arguments[:-2]
    )


def test_what_an_engine_cannot_run_is_refused_before_training(tmp_path):
    path, model = table(tmp_path, missing=False), tmp_path / "m.json"
    arguments = ("train", path, "--categorical-columns", "color", "-o", model)
    assert "Solr has no categories" in refused(*arguments, "--engine", "solr")
    assert "type one of onnx," in refused(*arguments, "--engine", "pmml", status=2)
    excluded = ("train", path, "--exclude-columns", "color", "-o", model)
    assert "takes trees" in refused(*excluded, "--engine", "elastic", "--method", "ApproxNDCG")
    assert not model.exists()


def test_complete_data_on_disk_may_be_read_as_the_engine_reads_them(tmp_path):
    path, model = tmp_path / "t.parquet", tmp_path / "m.json"
    plain = table(tmp_path, missing=False)
    assert run("convert", plain, path, "--exclude-columns", "color").exit_code == 0
    arguments = (
        "--engine",
        "solr",
        "--method",
        "ApproxNDCG",
        "--set",
        "max_iter=2",
        "--folds",
        1,
        "--stream",
    )
    done = run("train", path, *arguments, "-o", model)
    assert done.exit_code == 0
    assert dx.load(model).model_.missing == "zero"


def test_queries_of_elasticsearch_are_read_from_a_file(tmp_path):
    path, model, queries = table(tmp_path), tmp_path / "m.json", tmp_path / "queries.json"
    settings = ("--exclude-columns", "color", "--folds", 1, "--set", "n_trees=3", "--method", "YetiRank")
    assert run("train", path, "--engine", "elastic", *settings, "-o", model).exit_code == 0
    queries.write_text('{"bm25": {"match": {"title": "{{query}}"}}, "price": {"match_all": {}}}')
    done = run("export", model, tmp_path / "out", "--to", "elastic", "--queries", queries)
    assert (done.exit_code, "note" in done.stderr) == (0, False)
    assert b'{"match": {"title": "{{query}}"}}' in (tmp_path / "out").read_bytes()
    for text, words in (
        ("{", "is not JSON"),
        ('{"titel": {}}', "queries has titel"),
        ("[]", "must be a query"),
    ):
        queries.write_text(text)
        assert words in refused("export", model, tmp_path / "x", "--to", "elastic", "--queries", queries)
