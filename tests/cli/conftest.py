"""Small files, a trained model, and a way to run commands."""

from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import directrix as dx
from directrix.cli.main import app
from directrix.data.synthetic import make_linear


@pytest.fixture(scope="session")
def run():
    """Run a command; the result has exit_code, stdout and stderr."""

    def invoke(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception  # a traceback that the user would see
        return result

    return invoke


@pytest.fixture(scope="session")
def succeed(run):
    """Run a command that must succeed."""

    def invoke(*arguments):
        result = run(*arguments)
        assert result.exit_code == 0, result.stderr
        return result

    return invoke


@pytest.fixture(scope="session")
def refused(run):
    """Run a command that must fail and print nothing; return its message on one line, without frames."""

    def invoke(*arguments, status=1):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (status, "")
        return " ".join(result.stderr.replace("│", " ").split())

    return invoke


@pytest.fixture(scope="session")
def files(tmp_path_factory, run):
    """Training, validation and test files, a model trained on them, and its scores."""
    folder = tmp_path_factory.mktemp("files")
    q, _ = make_linear(30, 10, 4, seed=5)
    q = dx.Queries.from_arrays(
        q.features.astype(np.float32),
        q.labels,
        qid=np.repeat(np.arange(30), 10),
        doc_ids=[f"d{i}" for i in range(300)],
    )
    paths = SimpleNamespace(
        folder=folder, **{name: folder / f"{name}.txt" for name in ("train", "valid", "test")}
    )
    for name, span in (("train", (0, 15)), ("valid", (15, 22)), ("test", (22, 30))):
        dx.write_letor(q.take(range(*span)), folder / f"{name}.txt")
    paths.model, paths.scores = folder / "model.json", folder / "scores.txt"
    arguments = (
        "--method",
        "ApproxNDCG",
        "--valid",
        paths.valid,
        "-m",
        "nDCG@5",
        "--set",
        "l2=1e-3",
        "-o",
        paths.model,
    )
    assert run("train", paths.train, *arguments).exit_code == 0
    assert run("predict", paths.model, paths.test, "-o", paths.scores).exit_code == 0
    return paths
