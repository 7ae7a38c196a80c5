"""Commands that take a model read missing values as its training did, and say where --missing differs."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from tests.commands import run, succeed

import directrix as dx

N, PER_QUERY = 200, 10
METHODS = {
    "linear": ("--method", "ApproxNDCG", "--set", "max_iter=5", "--scale", "standard"),
    "plain": ("--method", "ApproxNDCG", "--set", "max_iter=5"),
    "network": ("--method", "MLP", "--set", "max_iter=5", "--scale", "quantile"),
    "trees": ("--method", "YetiRank", "--set", "n_trees=5"),
}


def lines(X, y):
    cells = [" ".join(f"{f}:{x:.4f}" for f, x in enumerate(row, start=1)) for row in X]
    return "".join(
        f"{label} qid:{i // PER_QUERY} {row}\n" for i, (label, row) in enumerate(zip(y, cells, strict=True))
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Data with gaps, and the same with zeros in them."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 2.0
    gaps = rng.random(X.shape) < 0.3
    y = (np.where(gaps, 0.0, X)[:, 0] > 2.2).astype(int)
    for name, fill in (("gaps", np.nan), ("zeros", 0.0)):
        (folder / f"{name}.txt").write_text(lines(np.where(gaps, fill, X), y))
    (folder / "whole.txt").write_text(lines(X, y))
    return folder


def trained(files, tmp_path, data, method, *more):
    model = tmp_path / f"{data}-{method}{''.join(more)}.json"
    succeed("train", files / f"{data}.txt", *METHODS[method], "--folds", 1, *more, "-o", model)
    return model


@pytest.mark.parametrize("method", METHODS)
def test_zero_stays_zero(files, tmp_path, method):
    model = trained(files, tmp_path, "gaps", method, "--missing", "zero")
    expected = run("predict", model, files / "zeros.txt").stdout
    for more in ((), ("--missing", "zero"), ("--missing", "nan")):
        found = run("predict", model, files / "gaps.txt", *more)
        assert (found.exit_code, found.stdout) == (0, expected)
        told = "trained with --missing zero; this is --missing zero, not nan"
        assert (told in found.stderr) == ("nan" in more)
    strict = run("predict", model, files / "gaps.txt", "--missing", "error")
    assert (strict.exit_code, "is missing" in strict.stderr) == (1, True)
    succeed("export", model, tmp_path / "m.sql", "--to", "sql", "--check", files / "gaps.txt")
    q = dx.read_letor(files / "gaps.txt", missing="nan")
    rows = [[None if np.isnan(x) else float(x) for x in row] for row in q.features]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE features (feature_1, feature_2, feature_3)")
        database.executemany("INSERT INTO features VALUES (?, ?, ?)", rows)
        scores = [row[-1] for row in database.execute((tmp_path / "m.sql").read_text())]
    np.testing.assert_allclose(scores, list(map(float, expected.split())), rtol=1e-6, atol=1e-6)
    assert "counts as 0, as in its training" in " ".join(run("describe", model).stdout.split())


def test_every_command_with_a_model_reads_as_it_was_trained(files, tmp_path):
    zero = trained(files, tmp_path, "gaps", "linear", "--missing", "zero")
    mean = trained(files, tmp_path, "gaps", "linear", "--missing", "nan")
    gaps, zeros = files / "gaps.txt", files / "zeros.txt"
    form = ("-m", "nDCG@3", "-f", "json")
    measured = ("-m", "nDCG@3", "-f", "tsv")
    rows = [run("evaluate", *given, *measured) for given in ((gaps, zero, mean), (zeros, zero), (gaps, mean))]
    both, one, other = (found.stdout.splitlines()[1:] for found in rows)
    assert [*one, *other] == both
    succeed("compare", gaps, zero, mean, *form)
    for command in (("explain",), ("lab", "certify", "--eps", 0.3, "--delta", 0.3)):
        by_gaps, by_zeros = (run(command[0], zero, data, *command[1:], *form) for data in (gaps, zeros))
        assert by_gaps.exit_code == 0, by_gaps.stderr
        assert by_gaps.stdout.replace(str(gaps), str(zeros)) == by_zeros.stdout
    told = run("predict", mean, gaps, "--missing", "zero")
    assert told.stdout == run("predict", mean, gaps).stdout
    assert "this is --missing nan, not zero" in told.stderr


def test_a_training_on_complete_data_leaves_the_choice(files, tmp_path):
    model = trained(files, tmp_path, "whole", "linear")
    assert run("predict", model, files / "gaps.txt").exit_code == 1
    found = run("predict", model, files / "gaps.txt", "--missing", "zero")
    assert found.stdout == run("predict", model, files / "zeros.txt").stdout
    assert "trained with --missing error; this is --missing zero\n" in found.stderr
    assert "Its training data had no missing values" in " ".join(run("describe", model).stdout.split())


@pytest.mark.parametrize("ending", ["txt", "parquet"])
def test_rankings_without_a_model_need_no_rule(files, tmp_path, ending):
    data, scores = tmp_path / f"gaps.{ending}", tmp_path / "scores"
    succeed("convert", files / "gaps.txt", data, "--missing", "nan")
    scores.write_text("".join(f"{i % 7}\n" for i in range(N)))
    found, whole = (succeed("evaluate", of, scores, "-f", "tsv").stdout for of in (data, files / "whole.txt"))
    assert found == whole
    assert run("evaluate", data, scores, "--missing", "error").exit_code == 1
