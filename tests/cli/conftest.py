"""Small files, and a trained model."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from tests.commands import succeed
from tests.reports.hand_made import report

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.papers import PAPERS


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


@pytest.fixture
def asked(monkeypatch):
    """Requests that reached a paper's module, which returns a report made by hand."""
    requests = []

    def reproduce(request):
        requests.append(request)
        request.open({"data": "digest"}, trials=request.trials)
        with request.progress("parts") as progress:
            progress(1, 1, "done")
        return report(command=request.command)

    made_by_hand = SimpleNamespace(experiment=lambda _: None, reproduce=reproduce)
    module = SimpleNamespace(PAPER=made_by_hand, __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "directrix.papers.some2010_page", module)
    monkeypatch.setitem(PAPERS, "some2010", "a paper")
    return requests
