"""``directrix text index``, ``candidates``, ``features`` and ``rerank``: from documents to a better list."""

import json

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx
from directrix.text import Index

WORDS = [f"w{i}" for i in range(40)]
GIVEN = ("docs.index", "queries.tsv", "--run")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Documents, of which those are relevant whose title has a word of the query; index and candidates."""
    folder = tmp_path_factory.mktemp("texts")
    rng = np.random.default_rng(0)
    titles = [rng.choice(WORDS, 3).tolist() for _ in range(200)]
    with (folder / "docs.jsonl").open("w") as file:
        for d, title in enumerate(titles):
            text = " ".join(rng.choice(WORDS, 30))
            file.write(json.dumps({"_id": f"d{d}", "title": " ".join(title), "text": text, "n": d}) + "\n")
    with (folder / "queries.tsv").open("w") as queries, (folder / "qrels").open("w") as qrels:
        for q in range(30):
            words = rng.choice(WORDS, 2, replace=False).tolist()
            queries.write(f"{q}\t{' '.join(words)}\n")
            for d, title in enumerate(titles):
                if q < 29 and set(title) & set(words):
                    qrels.write(f"{q} 0 d{d} {len(set(title) & set(words))}\n")
    succeed("text", "index", folder / "docs.jsonl", "-o", folder / "docs.index")
    succeed(
        "text",
        "candidates",
        folder / "docs.index",
        folder / "queries.tsv",
        "-k",
        50,
        "-o",
        folder / "bm25.run",
    )
    return folder


def features(here, output, *arguments, status=0):
    given = (here / "docs.index", here / "queries.tsv", "--run", here / "bm25.run", "-o", output)
    result = run("text", "features", *given, *arguments)
    assert result.exit_code == status, result.stderr
    return result


def test_a_model_on_features_of_text_is_better_than_the_candidates(here, tmp_path):
    result = features(here, tmp_path / "f.parquet", "--qrels", here / "qrels")
    assert "note: 29 of 30 queries of bm25 are judged, and 0 judged queries are not in bm25" in result.stderr
    relevant = (here / "qrels").read_text().count("\n")
    retrieved = int((dx.data.read_parquet(tmp_path / "f.parquet").labels > 0).sum())
    assert retrieved < relevant
    assert f"relevant: {relevant} documents, {retrieved} of them retrieved; measures of this" in result.stderr
    assert f"saved: {tmp_path / 'f.parquet'} (1,450 rows, 29 queries, 84 features: " in result.stderr
    model = tmp_path / "m.json"
    succeed("train", tmp_path / "f.parquet", "--method", "Regression", "-m", "nDCG@10", "-o", model)
    succeed(
        *("text", "rerank", model, here / "docs.index", here / "queries.tsv", "--run", here / "bm25.run"),
        *("-o", tmp_path / "new.run"),
    )
    lines = (here / "bm25.run").read_text().splitlines(keepends=True)
    (tmp_path / "some.run").write_text("".join(line for line in lines if line.split()[0] != "3"))
    result = succeed(
        *("text", "rerank", model, here / "docs.index", here / "queries.tsv", "--run", tmp_path / "some.run"),
        *("-o", tmp_path / "part.run"),
    )
    assert f"note: 1 of 30 queries of {here / 'queries.tsv'} have no candidates in" in result.stderr
    values = {}
    for path in (here / "bm25.run", tmp_path / "new.run"):
        joined = dx.data.join_trec(path, here / "qrels")
        values[path.stem] = dx.evaluate(["nDCG@10"], run=joined)["nDCG@10"]
    assert values["new"] > values["bm25"] + 0.1


def test_features_written_in_parts_are_those_of_the_library(here, tmp_path, monkeypatch):
    monkeypatch.setattr("directrix.cli.text.features._AT_ONCE", 7)
    features(here, tmp_path / "f.parquet")
    q = dx.data.read_parquet(tmp_path / "f.parquet")
    wanted = Index.load(here / "docs.index").features(here / "queries.tsv", here / "bm25.run")
    assert q.feature_names == wanted.feature_names
    np.testing.assert_array_equal(q.features, wanted.features)


def test_letor_text_has_the_same_features_without_names(here, tmp_path):
    result = features(here, tmp_path / "f.txt", "--qrels", here / "qrels")
    q = dx.read_letor(tmp_path / "f.txt")
    saved = features(here, tmp_path / "f.parquet", "--qrels", here / "qrels").stderr
    names = dx.data.read_parquet(tmp_path / "f.parquet").feature_names
    assert f"stores no feature names; .parquet does. They are: {', '.join(names)}\n" in result.stderr
    assert (
        f"{len(names)} features: '{names[0]}', '{names[1]}', '{names[2]}' and {len(names) - 3} more)" in saved
    )
    np.testing.assert_array_equal(q.features, dx.data.read_parquet(tmp_path / "f.parquet").features)
    succeed("train", tmp_path / "f.txt", "--method", "Regression", "-o", tmp_path / "m.json")
    assert "was trained on features without names" in refused(
        "text",
        "rerank",
        tmp_path / "m.json",
        here / "docs.index",
        here / "queries.tsv",
        "--run",
        here / "bm25.run",
    )


@pytest.mark.filterwarnings("default")
def test_columns_of_a_table_are_features(here, tmp_path):
    table = tmp_path / "dense.csv"
    table.write_text("qid,docno,dense,rank,year,name\n0,d1,0.5,1,1958,a\n0,d2,,2,1960,b\n")
    result = features(here, tmp_path / "f.parquet", "--with", table, "--with", here / "bm25.run")
    assert f"note: {table}: no features are made of columns that are not numbers: name\n" in result.stderr
    assert "note: 1 of 30 queries of the run 'bm25' are in the run 'dense'" in result.stderr
    names = dx.data.read_parquet(tmp_path / "f.parquet", missing="nan").feature_names
    assert names[-3:] == ("run.dense", "run.year", "run.bm25")
    table.write_text("qid,docno,name\n0,d1,a\n")
    result = features(here, tmp_path / "g.parquet", "--with", table, status=1)
    assert "has no column of numbers other than identifiers and ranks" in result.stderr
    assert not (tmp_path / "g.parquet").exists()


def test_candidates_go_to_standard_output_or_json_lines(here, tmp_path):
    result = run("text", "candidates", here / "docs.index", here / "queries.tsv", "-k", 2, "--tag", "first")
    assert result.stdout.splitlines()[0].split()[::5] == ["0", "first"]
    path = tmp_path / "run.jsonl"
    run("text", "candidates", here / "docs.index", here / "queries.tsv", "-k", 2, "-o", path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["rank"] for row in rows[:3]] == [1, 2, 1]
    assert dx.read_trec_run(path).doc_ids[:2].tolist() == [row["docno"] for row in rows[:2]]
    (tmp_path / "q.tsv").write_text("1\tw1\n2\tunknown\n")
    result = run("text", "candidates", here / "docs.index", tmp_path / "q.tsv")
    assert "note: 1 of 2 queries have no document: 2" in result.stderr


def test_fields_analyzers_and_stop_words_of_an_index_can_be_chosen(here, tmp_path):
    (tmp_path / "stops").write_text("w0\nW1\n")
    succeed(
        *("text", "index", here / "docs.jsonl", "-o", tmp_path / "i", "--fields", "title"),
        *("--analyzer", "none,porter+stop", "--stop-words", tmp_path / "stops"),
    )
    index = Index.load(tmp_path / "i")
    assert list(index.fields) == ["title"]
    assert index.analyzers == ("none", "porter+stop")
    assert index.stop_words == ("w0", "w1")


@pytest.mark.parametrize(
    ("analyzer", "options", "is_said"),
    [("german+stop", (), True), ("german+stop", ("--stop-words", "stops"), False), ("german", (), False)],
)
def test_stop_words_of_another_language_are_asked_for(here, tmp_path, analyzer, options, is_said):
    (tmp_path / "stops").write_text("der\n")
    given = [tmp_path / word if word == "stops" else word for word in options]
    result = run("text", "index", here / "docs.jsonl", "-o", tmp_path / "i", "--analyzer", analyzer, *given)
    assert ("leaves out English stop words" in result.stderr) == is_said


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("text", "candidates", "docs.jsonl", "queries.tsv"), 1, "is not an index"),
        (("text", "candidates", "docs.index", "queries.tsv", "--field", "x"), 1, "there is no field 'x'"),
        (("text", "candidates", "docs.index", "queries.tsv", "--tag", "a b"), 2, "a tag is one word"),
        (("text", "candidates", "docs.index", "queries.tsv", "--query-field", "x"), 1, "--query-field NAME"),
        (("text", "candidates", "docs.index", "docs.jsonl", "--id-column", "x"), 1, "--id-column NAME"),
        (("text", "index", "docs.jsonl", "-o", "docs.jsonl"), 1, "is the same file as the input"),
        (("text", "index", "qrels"), 1, "has no form in which documents"),
        (("text", "features", *GIVEN, "bm25.run", "-o", "a.csv"), 2, "not written"),
        (("text", "features", *GIVEN, "qrels", "-o", "a.txt"), 1, "columns"),
    ],
)
def test_what_cannot_be_used_is_refused(here, tmp_path, monkeypatch, arguments, status, message):
    monkeypatch.chdir(tmp_path)
    given = [here / word if (here / word).exists() else word for word in arguments]
    assert message in refused(*given, status=status)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("price", ["inf", "-1e39"])
@pytest.mark.filterwarnings("default")
def test_an_infinite_cell_is_not_written(here, tmp_path, price):
    doc = dx.read_trec_run(here / "bm25.run").doc_ids[0]
    (tmp_path / "shop.csv").write_text(f"qid,docno,price\n0,{doc},{price}\n")
    stderr = features(here, tmp_path / "f.parquet", "--with", tmp_path / "shop.csv", status=1).stderr
    assert f"inf at query 0, document '{doc}', 'run.price'; finite numbers are needed" in stderr
    assert not (tmp_path / "f.parquet").exists()


def _with(here, tmp_path, table):
    path = tmp_path / "shop.csv"
    path.write_text(table)
    stderr = features(here, tmp_path / "f.parquet", "--with", path).stderr
    q = dx.data.read_parquet(tmp_path / "f.parquet", missing="nan")
    assert q.feature_names[-1].startswith("run.")
    keys = zip(map(str, np.repeat(q.query_ids, np.diff(q.qptr))), q.doc_ids, strict=True)
    return dict(zip(keys, q.features[:, -1].tolist(), strict=True)), stderr


@pytest.mark.filterwarnings("default")
def test_an_empty_cell_is_a_missing_value(here, tmp_path):
    candidates = dx.read_trec_run(here / "bm25.run")
    docs = candidates.doc_ids[:3].tolist()
    rows = "".join(f"0,{doc},{price}\n" for doc, price in zip(docs, ("10", "", "12"), strict=True))
    for name, absent in (("price", np.nan), ("score", 10.0)):  # a document without a score was not retrieved
        values, stderr = _with(here, tmp_path, f"qid,docno,{name}\n{rows}")
        found = [values["0", doc] for doc in (*docs, candidates.doc_ids[3])]
        np.testing.assert_array_equal(found, [10.0, np.nan, 12.0, absent])
        assert f"values are missing, which `directrix train --missing` decides on: run.{name} (" in stderr
    refused("train", tmp_path / "f.parquet", "--method", "Regression", "-o", tmp_path / "m.json")


def test_scores_of_a_run_that_are_missing_stay_missing(here):
    index, candidates = Index.load(here / "docs.index"), dx.read_trec_run(here / "bm25.run")
    other = dx.data.Run("other", ("0",), [0, 2], candidates.doc_ids[:2], [5.0, np.nan])
    with pytest.warns(UserWarning, match="1 of 30 queries"):
        q = index.features(here / "queries.tsv", candidates, runs=[other], names=["run.other"], missing="nan")
    found = q.features[q.qptr[0] : q.qptr[2], 0]
    np.testing.assert_array_equal(found, [5.0, np.nan, *[5.0] * (q.qptr[1] - 2), *[0.0] * np.diff(q.qptr)[1]])


@pytest.mark.parametrize("option", ["--with", "--run", "--qrels"])
def test_messages_name_no_option_that_the_command_lacks(here, tmp_path, option):
    (tmp_path / "products.csv").write_text("product_id,price\nd1,10\n")
    given = ["--run", here / "bm25.run"] if option != "--run" else []
    command = (
        "text",
        "features",
        here / "docs.index",
        here / "queries.tsv",
        *given,
        "-o",
        tmp_path / "f.parquet",
    )
    text = refused(*command, option, tmp_path / "products.csv")
    assert f"{tmp_path}/products.csv: there is no column qid" in text
    assert text.endswith("the columns are product_id, price. Name it so in the file, or add it.")
