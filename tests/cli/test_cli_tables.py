"""Runs and qrels as tables: the values are those of the same rows as text of TREC, to the last bit."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.commands import refused, run, succeed
from tests.messages import rejects

import directrix as dx

pytest.importorskip("pyarrow")

FORMS = ["csv", "tsv", "csv.gz", "jsonl", "parquet", "feather"]
RUN_NAMES = {"qid": "qid", "doc": "docno", "value": "score"}
QRELS_NAMES = {"qid": "query_id", "doc": "doc_id", "value": "relevance"}


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.fixture(scope="module")
def tables():
    """A run and qrels of five topics, whose identifiers are not integers."""
    rng = np.random.default_rng(0)
    rows = [(f"0{q}", f"00{d}") for q in range(5) for d in rng.permutation(40)[:20]]
    run = pd.DataFrame(rows, columns=["qid", "doc"]).assign(value=rng.normal(size=100))
    judged = [(f"0{q}", f"00{d}") for q in range(5) for d in range(0, 40, 3)]
    labels = rng.integers(0, 3, len(judged)).tolist()
    return run, pd.DataFrame(judged, columns=["qid", "doc"]).assign(value=labels)


@pytest.fixture
def text(tables, tmp_path):
    run, qrels = tables
    lines = [f"{q} Q0 {d} 1 {v!r} text\n" for q, d, v in run.itertuples(index=False)]
    (tmp_path / "text.run").write_text("".join(lines))
    (tmp_path / "text.qrels").write_text(
        "".join(f"{q} 0 {d} {v}\n" for q, d, v in qrels.itertuples(index=False))
    )
    return tmp_path / "text.run", tmp_path / "text.qrels"


def values(qrels, ranking, *options):
    result = succeed("evaluate", qrels, ranking, "-m", "nDCG@10,AP", "--per-query", "-f", "json", *options)
    (row,) = json.loads(result.stdout)["rows"]
    return row


@pytest.mark.parametrize("form", FORMS)
def test_values_are_those_of_text(tables, text, tmp_path, form):
    expected = values(text[1], text[0])
    ranking = write(tables[0].rename(columns=RUN_NAMES), tmp_path / f"bm25.{form}")
    qrels = write(tables[1].rename(columns=QRELS_NAMES), tmp_path / f"qrels.{form}")
    assert values(qrels, ranking) == expected | {"name": "bm25"}
    assert values(text[1], ranking) == expected | {"name": "bm25"}
    assert values(qrels, text[0]) == expected
    assert dx.evaluate("AP", run=ranking, qrels=qrels) == {"AP": expected["measures"]["AP"]}


def test_columns_of_any_name_are_named_for_all_tables(tables, text, tmp_path):
    ranking = write(tables[0].set_axis(["t", "url", "w"], axis=1), tmp_path / "a.csv")
    qrels = write(tables[1].set_axis(["t", "docid", "useful"], axis=1), tmp_path / "q.csv")
    options = "--qid-column", "t", "--doc-id-column", "url", "--label-column", "useful", "--score-column", "w"
    assert values(qrels, ranking, *options) == values(text[1], text[0]) | {"name": "a"}
    message = refused("evaluate", qrels, ranking, *options[:-1], "v")
    assert "a.csv" in message
    assert "there is no column v; the columns are t, url, w. Type --score-column NAME" in message


def test_a_table_with_labels_is_qrels_for_runs_and_data_for_scores(tables, text, tmp_path):
    """Logged features of judged documents have all columns of qrels."""
    data = tables[1].rename(columns=QRELS_NAMES).assign(bm25=1.0, score=2.0)
    path = write(data, tmp_path / "data.csv")
    assert values(path, text[0]) == values(text[1], text[0])
    (tmp_path / "scores.txt").write_text("".join(f"{i}\n" for i in range(len(data))))
    by_row = dx.evaluate("AP", np.arange(len(data)), data.relevance, qid=data.query_id)
    assert values(path, tmp_path / "scores.txt")["measures"]["AP"] == by_row["AP"]


def test_a_run_that_was_merged_with_labels_is_a_run(tables, text, tmp_path):
    merged = tables[0].rename(columns=RUN_NAMES).assign(rank=1, label=0)
    ranking = write(merged, tmp_path / "merged.parquet")
    assert values(text[1], ranking) == values(text[1], text[0]) | {"name": "merged"}


def test_names_of_tables_without_a_line_of_names(text, tmp_path):
    """Judgments of MS MARCO are called qrels.dev.tsv."""
    tsv = tmp_path / "qrels.dev.tsv"
    tsv.write_text(text[1].read_text().replace(" ", "\t"))
    assert values(tsv, text[0]) == values(text[1], text[0])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("run.csv", "qrels.csv", "run.csv is a run; labeled data or qrels come first, then the rankings: "),
        ("qrels.csv", "data.csv", "data.csv is labeled data and not a ranking"),
        ("qrels.csv", "ranks.csv", "there is no column score or sim; the columns are qid, docno, rank. "),
        ("qrels.csv", "qrels.csv", "qrels.csv is qrels and not a ranking"),
        (
            "scored.csv",
            "run.csv",
            "there is no column docno, doc_id, docid, corpus-id, document or doc; the columns are",
        ),
        ("text.qrels", "run.csv", "--feature-columns: runs and qrels have no features; leave it out."),
    ],
)
def test_tables_that_are_something_else(tables, text, tmp_path, first, second, message):
    write(tables[0].rename(columns=RUN_NAMES), tmp_path / "run.csv")
    write(tables[1].rename(columns=QRELS_NAMES), tmp_path / "qrels.csv")
    write(tables[1].rename(columns=QRELS_NAMES).assign(bm25=1), tmp_path / "data.csv")
    write(pd.DataFrame({"qid": [1], "label": [1], "x": [2]}), tmp_path / "scored.csv")
    write(pd.DataFrame({"qid": [1], "docno": [1], "rank": [1]}), tmp_path / "ranks.csv")
    options = ["--feature-columns", "x"] if first == "text.qrels" else []
    assert message in refused("evaluate", tmp_path / first, tmp_path / second, *options)


@pytest.mark.parametrize("options", [("--missing", "zero"), ("--by-position",)])
def test_options_of_features_are_refused_for_runs(text, options):
    message = f"{options[0]}: runs and qrels have no features; leave it out."
    assert message in refused("evaluate", text[1], text[0], *options)


def test_names_of_columns_are_refused_for_text(text):
    assert "columns have no names; leave out --score-column" in refused(
        "evaluate", text[1], text[0], "--score-column", "x"
    )
    with pytest.raises(dx.InputError, match="is TREC text, whose columns have no names; leave out score="):
        dx.read_trec_run(text[0], score="x")


def test_no_name_of_a_feature_is_wrong_usage(text):
    assert "names no column" in refused("evaluate", text[1], text[0], "--feature-columns", ",", status=2)


def test_subtopics_of_tables(tmp_path):
    """Values of alpha-nDCG are those of four columns of text."""
    text = "1 1 a 1\n1 2 a 1\n1 2 b 1\n1 3 c 1\n2 1 a 1\n2 2 d 0\n"
    (tmp_path / "qrels").write_text(text)
    (tmp_path / "run").write_text("1 Q0 a 1 3 t\n1 Q0 c 1 2 t\n1 Q0 b 1 1 t\n2 Q0 d 1 1 t\n2 Q0 a 1 0 t\n")
    rows = [line.split() for line in text.splitlines()]
    expected = dx.evaluate(["AlphaNDCG@5", "ERRIA", "AP"], run=tmp_path / "run", qrels=tmp_path / "qrels")
    for name in ("subtopic", "subtopic_id", "iteration"):
        frame = pd.DataFrame(rows, columns=["qid", name, "docno", "label"]).astype({"label": int})
        path = write(frame, tmp_path / "qrels.csv")
        for qrels in (frame, frame.to_dict("list"), path):
            assert dx.evaluate(["AlphaNDCG@5", "ERRIA", "AP"], run=tmp_path / "run", qrels=qrels) == expected
    named = dx.data.Qrels.from_frame(frame.rename(columns={"iteration": "aspect"}), subtopic="aspect")
    np.testing.assert_array_equal(named.subtopics, dx.read_trec_qrels(tmp_path / "qrels").subtopics)
    with rejects(dx.InputError):
        dx.data.Qrels.from_frame(pd.concat([frame, frame.head(1)]))


def test_without_pyarrow_the_error_says_what_to_install(tables, text, tmp_path, monkeypatch):
    ranking = write(tables[0].rename(columns=RUN_NAMES), tmp_path / "run.csv")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.compute", None)
    result = run("evaluate", text[1], ranking)
    assert result.exit_code == 1
    assert 'pip install "directrix[arrow]"' in " ".join(result.stderr.split())
