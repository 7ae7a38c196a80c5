"""CSV, TSV and JSON lines."""

import gzip
import json
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")
from tests.messages import rejects

import directrix as dx
from directrix.data.columns import ColumnNames
from directrix.data.file import DataFile, convert_file
from directrix.data.formats import COLUMNS, LETOR
from directrix.errors import InputError

CSV = "topic,docno,bm25,clicks,rel\n351,007,1.5,3,1\n352,b,0.25,,0\n351,c,2,4,0\n"
TSV = CSV.replace(",", "\t")
JSON = """{"topic": 351, "docno": "007", "bm25": 1.5, "clicks": 3, "rel": 1}
{"topic": 352, "docno": "b", "bm25": 0.25, "rel": 0}
{"topic": 351, "docno": "c", "bm25": 2, "clicks": 4, "rel": 0}
"""
TEXTS = {"csv": CSV, "tsv": TSV, "jsonl": JSON, "ndjson": JSON, "txt": CSV, "dat": TSV, "log": JSON}


@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_text_gives_the_same_queries(tmp_path, suffix, packed):
    path = tmp_path / f"data.{suffix}{'.gz' * packed}"
    data = TEXTS[suffix].encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert DataFile(path).format is COLUMNS
    q = DataFile(path).queries("nan")
    assert q.query_ids == (351, 352)  # integers, where all are
    assert q.doc_ids.tolist() == ["007", "c", "b"]  # text, so that zeros stay
    assert q.feature_names == ("bm25", "clicks")
    np.testing.assert_array_equal(q.features, [[1.5, 3.0], [2.0, 4.0], [0.25, np.nan]])
    assert q.labels.tolist() == [1.0, 0.0, 0.0]


def test_queries_with_zeros_in_front_are_text(tmp_path):
    (tmp_path / "a.csv").write_text("qid,label,f\n01,1,2\n1,0,3\n")
    assert DataFile(tmp_path / "a.csv").queries().query_ids == ("01", "1")


def test_columns_are_named_and_chosen(tmp_path):
    (tmp_path / "a.csv").write_text("q,d,y,x1,x2,title\n1,a,0,5,6,some words\n1,b,1,7,8,more\n")
    q = DataFile(tmp_path / "a.csv", ColumnNames("q", "y", "d", ("x2",))).queries()
    assert (q.feature_names, q.features.tolist(), q.doc_ids.tolist()) == (("x2",), [[6.0], [8.0]], ["a", "b"])


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_an_index_that_pandas_wrote_is_no_feature(tmp_path, name):
    """It numbers the rows, so in a file sorted by label it would give the labels away."""
    (tmp_path / "a.csv").write_text(f"{name},qid,label,f\n0,1,1,5\n1,1,0,6\n")
    q = DataFile(tmp_path / "a.csv").queries()
    assert q.feature_names == ("f",)
    assert dx.Queries.from_frame(pd.read_csv(tmp_path / "a.csv")).feature_names == ("f",)
    named = dx.Queries.from_frame(pd.read_csv(tmp_path / "a.csv"), features="Unnamed: 0")
    assert named.features.tolist() == [[0.0], [1.0]]


def test_lists_of_features_in_json(tmp_path):
    lines = ['{"qid": "a", "label": 1, "features": [1, 2.5]}', '{"qid": "a", "label": 0, "features": [3, 4]}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    q = DataFile(tmp_path / "a.jsonl").queries()
    assert (q.features.tolist(), q.feature_names) == ([[1.0, 2.5], [3.0, 4.0]], None)


def test_tables_are_converted(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    convert_file(tmp_path / "a.csv", tmp_path / "a.parquet", "zero")
    q, r = (DataFile(tmp_path / name).queries("zero") for name in ("a.csv", "a.parquet"))
    assert (q.query_ids, q.doc_ids.tolist(), q.feature_names) == (
        r.query_ids,
        r.doc_ids.tolist(),
        r.feature_names,
    )
    np.testing.assert_array_equal(q.features, r.features)


@pytest.mark.parametrize(
    "line",
    [
        "2 qid:1 1:0.5 # docid = a, b",
        "2\tqid:1\t1:0.5",
        "# a,b",
        "1,2,3",
        "bad",
        "",
        '{"format": "directrix/1"}',
    ],
)
def test_other_text_is_letor(tmp_path, line):
    (tmp_path / "a.txt").write_text(line + "\n")
    assert DataFile(tmp_path / "a.txt").format is LETOR


WRONG = [
    (CSV.replace("topic", "t"), "no column qid, .* the columns are t, docno, bm25, clicks, rel"),
    (CSV.replace("0.25", "high"), r"features must be numbers, got 'bm25' \(string, 'high' at .*a.csv:3\)"),
    (CSV.replace("352", ""), "a.csv:3, column 'topic': it is null"),
    (CSV.replace("0\n351", "-1\n351"), "-1.0 at .*a.csv:3, column 'rel'; labels are finite and >= 0"),
    (
        CSV + "353,d\n",
        "cannot be read as a CSV, .* row 5 .the names are row 1.: Expected 5 columns, got 2: 353,d",
    ),
    ('topic,rel,f\n1,0,"2\n"\n\n1,1\n', "row 3 .the names are row 1.: Expected 3 columns, got 2: 1,1"),
    ("topic,rel,f\n", "has no rows"),
    ("1 qid:1 1:0.5\n", "no column qid"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_wrong_is_named(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        DataFile(tmp_path / "a.csv").queries("nan")


def test_letor_text_has_no_names(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:0.5\n")
    with rejects(InputError):
        DataFile(tmp_path / "a.txt", ColumnNames(qid="topic")).queries()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cr"])
def test_byte_order_marks_are_left_out_and_no_text_is_refused(tmp_path, suffix, encoding):
    path, text = tmp_path / f"data.{suffix}", TEXTS[suffix]
    path.write_bytes(text.replace("\n", "\r").encode() if encoding == "cr" else text.encode(encoding))
    if encoding == "utf-8-sig":
        assert DataFile(path).queries("nan").query_ids == (351, 352)
        return
    with pytest.raises(InputError, match=rf"data.{suffix}:1: a (NUL byte.*iconv|carriage return)"):
        DataFile(path).queries("nan")


def test_lines_of_json_are_objects(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"qid": 1, "label": 0, "f": 1}\nnull\n')
    with rejects(InputError):
        DataFile(tmp_path / "a.jsonl").queries()


@pytest.mark.parametrize("first", ["", '{"qid": 1, "label": 1, "x": 1.0}\n'])
@pytest.mark.parametrize(
    "deep", ["[" * 100_000 + "]" * 100_000, '[{"a":' * 50_000 + "1" + "}]" * 50_000, "[" * 100_000]
)
def test_lists_many_levels_deep_are_refused(tmp_path, first, deep):
    """They end the process of pyarrow, whose stack overflows."""
    path = tmp_path / "a.jsonl"
    path.write_text(f'{first}{{"qid": 1, "label": 0, "x": {deep}}}\n')
    with pytest.raises(InputError, match=rf"a\.jsonl:{1 + bool(first)}: .* more than 64 levels deep"):
        DataFile(path).queries()


def test_brackets_in_text_and_side_by_side_are_no_levels(tmp_path):
    path = tmp_path / "a.jsonl"
    docno, lists = json.dumps('\\"[' * 100), json.dumps([[1.0]] * 100)
    path.write_text(f'{{"qid": 1, "docno": {docno}, "label": 1, "x": 2.0, "unused": {lists}}}\n')
    q = DataFile(path, ColumnNames(features=("x",))).queries()
    assert q.doc_ids == ('\\"[' * 100,)


def test_text_without_end_takes_no_time(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "' + '\\"[' * 1_000_000)
    begun = time.monotonic()
    with pytest.raises(InputError):
        DataFile(path).queries()
    assert time.monotonic() - begun < 5
