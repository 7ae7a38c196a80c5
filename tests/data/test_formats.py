"""The table of formats: what it names exists, and every file is taken for what it is."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.data.examples import assert_same, random_queries
from tests.messages import rejects

import directrix as dx
from directrix.data import formats
from directrix.data.formats import ARROW, FORMATS, LETOR, QRELS, format_of, named

WRITTEN = [(f, suffix) for f in FORMATS if f.reader and f.is_written for suffix in f.suffixes]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_function_of_the_table_exists(form):
    references = [form.reader, form.lines, form.opener, form.parts, form.writer]
    assert all(callable(formats._load(reference)) for reference in references if reference)
    assert not (form.lines and form.writer)


@pytest.mark.parametrize(("form", "suffix"), WRITTEN)
def test_what_is_written_is_recognized_and_reads_back_the_same(form, suffix, tmp_path):
    q, path = random_queries(seed=3), tmp_path / f"data{suffix}"
    with form.writing(path) as add:
        add(q)
    assert named(path) is form
    assert format_of(path) is form
    assert_same(form.read(path), q)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.txt.gz", LETOR),
        ("a", LETOR),
        ("a.gz", LETOR),
        ("a.qrels.xz", QRELS),
        ("a.feather", ARROW),
        ("a.parquet.gz", None),
        ("a.csv", None),
    ],
)
def test_names(name, form):
    assert named(Path(name)) is form


def test_content_counts_where_the_name_says_another_format(tmp_path):
    q = random_queries(seed=3)
    dx.data.write_parquet(q, tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(tmp_path / "a.txt")
    assert format_of(tmp_path / "a.txt") is ARROW
    assert_same(formats.read_file(tmp_path / "a.txt"), q)


def test_every_format_is_listed():
    assert [form.name in formats.outputs() for form in FORMATS] == [form.is_written for form in FORMATS]
    assert [form.name in formats.inputs() for form in FORMATS] == [bool(form.reader) for form in FORMATS]


READERS = {
    "LETOR": ("a.txt", "1 qid:1 1:{}\n0 qid:1 1:2\n", dx.read_letor),
    "LETOR label": ("a.txt", "{} qid:1 1:1\n0 qid:1 1:2\n", dx.read_letor),
    "CSV": ("a.csv", "qid,label,f\n1,0,{}\n1,1,2\n", dx.data.read_parquet),
    "TSV label": ("a.tsv", "qid\tlabel\tf\n1\t{}\t1\n1\t0\t2\n", dx.data.read_parquet),
    "JSON lines": ("a.jsonl", '{{"qid": 1, "label": 0, "f": {}}}\n', dx.data.read_parquet),
    "run": ("a", "1 Q0 d 1 {} A\n", dx.read_trec_run),
    "run in CSV": ("a.csv", "qid,docno,score\n1,a,{}\n1,b,2\n", dx.read_trec_run),
    "qrels": ("a", "1 0 d {}\n", dx.read_trec_qrels),
}


@pytest.mark.parametrize(
    "text", ["0x10", "0X1F", "1_000", "0b1", "inf", "nan", "\uff11", "1d5", "1e", "1.2.3", "1e400"]
)
@pytest.mark.parametrize("reader", READERS)
def test_all_readers_refuse_the_same_numbers(tmp_path, reader, text):
    name, content, read = READERS[reader]
    (tmp_path / name).write_text(content.format(text), encoding="utf-8")
    with pytest.raises(dx.InputError):
        read(tmp_path / name)
    (tmp_path / name).write_text(content.format("1e5"))
    read(tmp_path / name)


@pytest.mark.parametrize("text", ["0x10", "1_000", "\uff11"])
def test_frames_of_text_have_the_numbers_of_files(text):
    """Python's ``float`` reads the last two."""
    columns = {"qid": [1, 1], "docno": ["a", "b"], "label": [0, 1]}
    with rejects(dx.InputError):
        dx.Queries.from_frame(pd.DataFrame(columns | {"f": [text, "2"]}))
    with rejects(dx.InputError):
        dx.data.Run.from_frame(columns | {"score": [text, "2"]})
    X = np.array([[text], ["2"]], dtype=object)
    with pytest.raises(dx.InputError, match=f"to float: '{text}'"):
        dx.Queries.from_arrays(X, [0, 1], group=[2])


def test_hexadecimal_identifiers_are_no_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("qid,docno,label,f\n1,0xab,0,3\n1,0xcd,1,2\n")
    q = dx.data.read_parquet(tmp_path / "a.csv")
    assert (list(q.doc_ids), q.features.ravel().tolist()) == (["0xab", "0xcd"], [3.0, 2.0])
