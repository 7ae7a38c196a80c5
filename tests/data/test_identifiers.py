"""Identifiers and categories: one table in every format and frame library has the same ones."""

import csv
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.commands import succeed

import directrix as dx
from directrix.clicks import Log
from directrix.data.identifiers import Numbering

NAMES = [
    *("007", "7", "7.0", "1e5", "true", "True", "null", "None", "NA", "nan", "inf", "-0", "0x10", "1_000"),
    *("2020-01-05", "2020-01-05T00:00:00Z", "2020-01-05T02:00:00+02:00", "10:30", "9007199254740993"),
    *("12345678901234567890", "a,b", "a;b", 'q"uote', "a b", " lead", "\u00e9", "#x", "{a", "'"),
]
ROWS = [{"qid": name, "docno": name, "label": 1.0, "score": 0.5} for name in NAMES]


def _texts(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)


def _json(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _arrow(change):
    def write(path, rows):
        table = pa.Table.from_pylist(rows)
        for name in {"qid", "docno", "query", "doc", "session"}.intersection(table.column_names):
            place = table.column_names.index(name)
            table = table.set_column(place, name, change(table[name].combine_chunks()))
        if path.suffix == ".parquet":
            pyarrow.parquet.write_table(table, path, row_group_size=7)
        else:
            pyarrow.feather.write_feather(table, path, compression="uncompressed", chunksize=7)

    return write


FILES = {
    "a.csv": _texts,
    "a.tsv": _texts,
    "a.jsonl": _json,
    "a.parquet": _arrow(lambda column: column),
    "a.arrow": _arrow(lambda column: column),
    "codes.parquet": _arrow(lambda column: column.dictionary_encode()),
    "codes.arrow": _arrow(lambda column: column.dictionary_encode()),
    "bytes.parquet": _arrow(lambda column: column.cast(pa.binary())),
    "large.arrow": _arrow(lambda column: column.cast(pa.large_string())),
}
FRAMES = {
    "dict": lambda rows: {key: [row[key] for row in rows] for key in rows[0]},
    "pandas": pd.DataFrame,
    "pandas category": lambda rows: pd.DataFrame(rows).astype({"qid": "category", "docno": "category"}),
    "pandas string": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "polars": pl.DataFrame,
    "polars category": lambda rows: pl.DataFrame(rows).with_columns(pl.col("qid").cast(pl.Categorical)),
    "polars lazy": lambda rows: pl.DataFrame(rows).lazy(),
    "pyarrow": pa.Table.from_pylist,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "names", [NAMES, NAMES[14:17], NAMES[:2], NAMES[4:6]], ids=["all", "times", "7", "true"]
)
def test_every_file_has_the_same_names(name, names, tmp_path):
    FILES[name](tmp_path / name, [row for row in ROWS if row["qid"] in names])
    run, qrels = dx.read_trec_run(tmp_path / name), dx.read_trec_qrels(tmp_path / name)
    q = dx.data.read_parquet(tmp_path / name)
    for ids in (run.query_ids, run.doc_ids, qrels.query_ids, q.query_ids, q.doc_ids):
        assert list(map(str, ids)) == names


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_has_the_same_names(name):
    frame = FRAMES[name](ROWS)
    run, q = dx.data.Run.from_frame(frame), dx.Queries.from_frame(frame)
    for ids in (run.query_ids, run.doc_ids, q.query_ids, q.doc_ids):
        assert list(ids) == NAMES


@pytest.mark.filterwarnings("ignore:.*differ from an earlier one only in case")
@pytest.mark.parametrize("name", FILES)
def test_every_log_has_the_same_names(name, tmp_path):
    names = [text for text in NAMES if text not in ("True", "None")]
    rows = [{"session": i, "query": i, "doc": i, "position": 1, "clicked": 1} for i in names]
    FILES[name](tmp_path / name, rows)
    log = Log.read(tmp_path / name)
    assert list(log.pairs.query_ids) == list(log.pairs.doc_ids) == names


DAYS = [f"2020-01-{i * 7 % 12 + 1:02}" for i in range(360)]
BY_DAY = [{"qid": i // 12, "label": i * 7 % 12 // 4, "day": day, "x": 0.1} for i, day in enumerate(DAYS)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Trees that split by the categories of JSON lines."""
    folder = tmp_path_factory.mktemp("days")
    _json(folder / "train.jsonl", BY_DAY)
    chosen = ("--method", "YetiRank", "--categorical-columns", "day")
    succeed("train", folder / "train.jsonl", *chosen, "-o", folder / "model.json")
    return folder / "model.json"


@pytest.mark.parametrize("form", ["a.csv", "a.jsonl", "a.parquet", "codes.parquet"])
def test_trees_know_the_categories_of_every_format(form, model, tmp_path):
    FILES[form](tmp_path / form, BY_DAY)
    result = succeed("evaluate", tmp_path / form, model, "-m", "nDCG@5", "-f", "json")
    assert "categories that the model has not seen" not in result.stderr
    assert json.loads(result.stdout)["rows"][0]["measures"]["nDCG@5"] > 0.95


@pytest.mark.parametrize("kind", [pa.int64(), pa.int16(), pa.uint64(), pa.float64(), pa.decimal128(25, 0)])
def test_typed_integers_stay_integers(kind, tmp_path):
    table = pa.table({"qid": pa.array([7, 8]).cast(kind), "docno": pa.array([1, 2]).cast(kind)})
    table = table.append_column("label", [[1, 0]]).append_column("x", [[0.5, 1.5]])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    q = dx.data.read_parquet(tmp_path / "a.parquet")
    assert q.query_ids == (7, 8)
    assert q.doc_ids.tolist() == [1, 2]
    frame = dx.Queries.from_frame(table.to_pandas())
    assert frame.query_ids == (7, 8)
    assert dx.data.Run.from_scores(frame, [2.0, 1.0]).doc_ids.tolist() == ["1", "2"]
    numbers = Numbering("query")
    assert numbers.add(table["qid"], "row {}".format).tolist() == [0, 1]
    assert numbers.add(["7", 8, 7.0, Decimal(8)], "row {}".format).tolist() == [0, 1, 0, 1]


def test_floats_of_arrays_are_joined_as_integers(tmp_path):
    q = dx.Queries.from_arrays([[0.1], [0.2]], [1, 0], qid=np.array([7.0, 7.0]), doc_ids=[1.0, 2.0])
    labeled = dx.data.join_trec(dx.data.Run.from_scores(q, [2.0, 1.0]), {"7": {"1": 1, "2": 0}})
    assert dx.evaluate("AP", run=labeled) == {"AP": 1.0}


def test_times_of_frames_are_named_alike():
    days = np.array(["2020-01-05", "2020-01-06"], dtype="datetime64[ns]")
    numbers = Numbering("query")
    for column in (days, pa.chunked_array([pa.array(days)]), pd.Series(days).to_list()):
        assert numbers.add(column, "row {}".format).tolist() == [0, 1]
    assert numbers.names == ("2020-01-05 00:00:00", "2020-01-06 00:00:00")


def test_integers_that_json_rounds_and_mixed_types_are_rejected(tmp_path):
    _json(tmp_path / "a.jsonl", [{"qid": 2**64 + i, "docno": "d", "score": 1.0} for i in range(2)])
    with pytest.raises(dx.InputError, match="'qid' holds 18446744073709551616, which is rounded"):
        dx.read_trec_run(tmp_path / "a.jsonl")
    _json(tmp_path / "a.jsonl", [{"qid": i, "docno": "d", "score": 1.0} for i in (7, "007")])
    with pytest.raises(dx.InputError, match="A column has one type"):
        dx.read_trec_run(tmp_path / "a.jsonl")


def test_lists_are_no_identifiers():
    with pytest.raises(dx.InputError, match="neither text nor a number"):
        Numbering("query").add(pa.chunked_array([[[1], [2]]]), "row {}".format)
