"""Commands on Parquet and Arrow files, and features that stay in them."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.commands import refused, run, succeed

import directrix as dx
from directrix.data import memory


@pytest.fixture(scope="module")
def tables(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name in ("train", "valid", "test"):
        result = succeed("convert", getattr(files, name), folder / f"{name}.arrow")
    assert "80 rows, 8 queries, 4 features" in result.stderr
    return folder


def test_convert_there_and_back_gives_the_same_bytes(files, tables, tmp_path):
    for suffix in (".parquet", ".feather"):
        succeed("convert", tables / "test.arrow", tmp_path / f"test{suffix}")
        succeed("convert", tmp_path / f"test{suffix}", tmp_path / "test.txt")
        assert (tmp_path / "test.txt").read_bytes() == files.test.read_bytes()
    succeed("convert", tables / "test.arrow", tmp_path / "test.qrels")
    assert len((tmp_path / "test.qrels").read_text().splitlines()) == 80
    assert run("convert", files.test, tmp_path / "test.parquet.gz").exit_code == 2


@pytest.mark.parametrize("stream", ["--stream", "--no-stream", None])
def test_train_predict_evaluate(files, tables, tmp_path, stream):
    model, options = tmp_path / "model.json", () if stream is None else (stream,)
    arguments = ("--method", "ApproxNDCG", "-m", "nDCG@5", "--set", "l2=1e-3", "-o", model, *options)
    result = succeed("train", tables / "train.arrow", "--valid", tables / "valid.arrow", *arguments)
    assert ("features stay in" in result.stderr) == (stream == "--stream")
    data = [json.loads(path.read_text())["training"]["data"] for path in (model, files.model)]
    assert data[0] == data[1]
    assert run("predict", files.model, tables / "test.arrow").stdout == files.scores.read_text()
    for command in ("evaluate", "lab certify"):
        a, b = (run(*command.split(), *pair) for pair in _pairs(command, files, tables))
        assert (a.exit_code, a.stdout) == (0, b.stdout.replace(str(files.test), str(tables / "test.arrow")))


def _pairs(command, files, tables):
    data = tables / "test.arrow", files.test
    return [(d, files.model) if command == "evaluate" else (files.model, d) for d in data]


def test_scores_keep_the_order_of_the_rows(files, tmp_path):
    """Rows of a query need not stand together in a table; a file of scores has its order."""
    q = dx.read_letor(files.test)
    qid = [query for query in q.query_ids for _ in range(10)]
    columns = {"qid": qid, "label": q.labels} | {f"f{j}": q.features[:, j] for j in range(4)}
    pq.write_table(pa.table(columns).sort_by("f0"), tmp_path / "mixed.parquet")
    run("predict", files.model, tmp_path / "mixed.parquet", "-o", tmp_path / "scores.txt")
    by_model, by_file = (
        run("evaluate", tmp_path / "mixed.parquet", by, "--name", "s", "-f", "json").stdout
        for by in (files.model, tmp_path / "scores.txt")
    )
    assert by_model.replace(str(files.model), "") == by_file.replace(str(tmp_path / "scores.txt"), "")


def test_streaming_is_chosen_by_the_memory_that_is_there(files, tables, tmp_path, monkeypatch):
    q = dx.read_letor(files.train)
    features = q.features.copy()
    features[0, 0] = np.nan
    dx.data.write_parquet(replace(q, features=features, missing="nan"), tmp_path / "gaps.parquet")
    monkeypatch.setattr(memory, "available_memory", lambda: 5_000)
    arguments = ("--method", "Regression", "-o", tmp_path / "model.json")
    result = run("train", tables / "train.arrow", *arguments)
    assert (result.exit_code, "features stay in" in result.stderr) == (0, True)
    succeed("train", tables / "train.arrow", "--missing", "nan", *arguments)
    succeed("train", tables / "train.arrow", "--missing", "zero", *arguments)  # none is missing
    assert "--no-stream" in refused("train", tmp_path / "gaps.parquet", "--missing", "zero", *arguments)


def test_rows_in_any_order_are_read_unless_they_are_to_stay_in_the_file(files, tmp_path):
    q, path = dx.read_letor(files.train), tmp_path / "mixed.parquet"
    qid = [query for query, n in zip(q.query_ids, np.diff(q.qptr), strict=True) for _ in range(n)]
    pq.write_table(pa.table({"qid": qid, "label": q.labels, "f": q.features[:, 0]}).sort_by("f"), path)
    arguments = ("train", path, "--method", "Regression", "-o", tmp_path / "model.json")
    succeed(*arguments)
    result = run(*arguments, "--stream")
    assert (result.exit_code, "starts again" in result.stderr) == (1, True)


@pytest.mark.parametrize("name", ["test.arrow", "all.parquet"])
def test_convert_does_not_write_into_the_folder_that_it_reads(tables, name):
    before = sorted((path.name, path.stat().st_mtime_ns) for path in tables.iterdir())
    result = run("convert", tables, tables / name)
    assert (result.exit_code, "is in the folder" in result.stderr) == (1, True)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in tables.iterdir()) == before


def test_text_does_not_stay_in_its_file(files, tmp_path):
    assert "is text, which must be read into memory" in refused(
        "train", files.train, "--stream", "-o", tmp_path / "model.json"
    )


def test_available_memory_is_the_least_of_all_limits():
    import resource

    assert 1e8 < memory.available_memory() < 1e14
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (50_000_000_000, before[1]))
    try:
        assert memory.available_memory() <= 50_000_000_000
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_doctor_reads_tables(tables):
    result = succeed("doctor", tables / "train.arrow", tables / "test.arrow")
    assert "rows" in result.stdout


_CONVERT = """
import resource, sys
from pathlib import Path
from directrix.data.file import convert_file
convert_file(Path(sys.argv[1]), Path(sys.argv[2]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
convert_file(Path(sys.argv[3]), Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_convert_takes_no_more_memory_for_more_rows(files, tmp_path):
    """The features of the larger file alone are 24 MB more."""
    line = " ".join(f"{j}:{j / 7:.3g}" for j in range(1, 101)) + "\n"
    for name, n in (("small", 20_000), ("large", 80_000)):
        with (tmp_path / name).open("w") as file:
            for row in range(n):
                file.write(f"{row % 3} qid:{row // 100} {line}")
    arguments = [str(tmp_path / name) for name in ("small", "out.arrow", "large")]
    done = subprocess.run(
        [sys.executable, "-c", _CONVERT, *arguments], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) * 1024 < 10e6


def test_columns_that_stay_in_a_file_are_not_moved(files, tmp_path):
    q = dx.read_letor(files.train)
    names = ("a", "b", "c", "d")
    for part, order in (("train", names), ("valid", names[::-1])):
        dx.data.write_parquet(replace(q, feature_names=order), tmp_path / f"{part}.parquet")
    assert "columns of features that stay in a file cannot be moved" in refused(
        *("train", tmp_path / "train.parquet", "--valid", tmp_path / "valid.parquet"),
        *("--stream", "--method", "ApproxNDCG", "-o", tmp_path / "model.json"),
    )
