"""Small files, and a trained model."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.commands import succeed

import directrix as dx
from directrix.data.synthetic import make_linear


@pytest.fixture(scope="session")
def files(tmp_path_factory):
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
    arguments = ("--method", "ApproxNDCG", "--valid", paths.valid, "-m", "nDCG@5", "--set", "l2=1e-3")
    succeed("train", paths.train, *arguments, "-o", paths.model)
    succeed("predict", paths.model, paths.test, "-o", paths.scores)
    return paths
