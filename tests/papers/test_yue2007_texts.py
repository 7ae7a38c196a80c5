"""Collections with documents: what is read, and the runs that are made of them."""

from pathlib import Path

import numpy as np
import pytest

from directrix.data import make_texts
from directrix.papers.yue2007 import Grid, Yue2007
from directrix.papers.yue2007_data import FUNCTIONS, INDEXES, read_texts, text_runs
from directrix.papers.yue2007_page import PAPER
from tests.experiments.artificial import write_collection
from tests.papers.workspaces import quick_workspace


def write_cacm(folder: Path, n_docs: int = 120, n_queries: int = 20) -> None:
    """Write artificial texts in the form of CACM."""
    texts = make_texts(n_docs, n_queries, words_per_doc=30)
    path = folder / "text" / "cacm"
    path.mkdir(parents=True)
    docs = [f".I {d[1:]}\n.T\n{t['title']}\n.W\n{t['text']}\n" for d, t in texts.documents.items()]
    (path / "cacm.all").write_text("".join(docs))
    (path / "query.text").write_text("".join(f".I {q[1:]}\n.W\n{t}\n" for q, t in texts.queries.items()))
    pairs = [f"{int(q[1:]):02d} {d[1:]}  0 0\n" for q, of in texts.qrels.items() for d in of]
    (path / "qrels.text").write_text("".join(pairs))


def test_collections_that_are_absent_are_left_out(tmp_path):
    assert read_texts(tmp_path) == {}
    write_cacm(tmp_path)
    assert list(read_texts(tmp_path)) == ["CACM"]


def test_every_function_on_every_index_is_a_run(tmp_path):
    write_cacm(tmp_path)
    runs = text_runs(tmp_path)["CACM"]
    assert set(runs.data_sets["CACM"].tags) == {f"{f}.{index}" for f in FUNCTIONS for index in INDEXES}
    means = [values.mean() for values in runs.single["CACM"].values()]
    assert means == sorted(means, reverse=True)
    assert means[0] > 0.3


def test_the_report_has_tables_of_both_kinds_of_data(tmp_path):
    folder = write_collection(tmp_path / "data")
    write_cacm(folder)
    grid = Grid((1e-2,), (1e-3,), (1e-4,), (1e-3,), epsilon=1e-1, bins=5)
    report = PAPER.reproduce(
        quick_workspace("yue2007", folder, tmp_path / "out"), Yue2007(trials=1, counted=1, grid=grid)
    )
    text = " ".join(claim.text for claim in report.claims)
    assert "CACM: SVMmap is better than the best run" in text
    assert any("`text/cranfield`, `text/vaswani`" in reason for _, reason in report.missing)


def test_the_real_collections_have_the_numbers_of_their_readmes(data_dir):
    found = read_texts(data_dir)
    if len(found) < 3:
        pytest.skip(f"no text/ in {data_dir}")
    sizes = {
        name: (len(t.queries), len(t.qrels.query_ids), int((t.qrels.labels > 0).sum()))
        for name, t in found.items()
    }
    assert sizes == {"Cranfield": (225, 225, 1612), "CACM": (64, 52, 796), "NPL": (93, 93, 2083)}
    assert np.unique(found["Cranfield"].qrels.labels).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
