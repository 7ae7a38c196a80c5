"""The table of formats: what it names exists, and every file is taken for what it is."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.data.examples import assert_same, random_queries
from tests.messages import rejects

import directrix as dx
from directrix.data import formats
from directrix.data.file import DataFile
from directrix.data.formats import ARROW, FORMATS, LETOR, QRELS, named

WRITTEN = [(f, suffix) for f in FORMATS if f.reader and f.is_written for suffix in f.suffixes]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_function_of_the_table_exists(form):
    references = [form.reader, form.lines, form.opener, form.blocks, form.writer]
    assert all(callable(formats.load_reader(reference)) for reference in references if reference)
    assert not (form.lines and form.writer)


@pytest.mark.parametrize(("form", "suffix"), WRITTEN)
def test_what_is_written_is_recognized_and_reads_back_the_same(form, suffix, tmp_path):
    q, path = random_queries(seed=3), tmp_path / f"data{suffix}"
    with form.writing(path) as add:
        add(q)
    assert named(path) is form
    assert DataFile(path).format is form
    assert_same(DataFile(path).queries(), q)


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
    assert DataFile(tmp_path / "a.txt").format is ARROW
    assert_same(DataFile(tmp_path / "a.txt").queries(), q)


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


CONTENTS = {
    "2790 Q0 Report,_1992 1 17.5 t\n2790 Q0 Other 2 3.5 t\n": "run",
    "2790 Q0 Other 1 3.5 bm25,k1=0.9\n": "run",
    "1 Q0 a 1 0,5 t\n": "run",  # the reader says that this is no number
    "1 Q0 a,b 1 inf t\n": "run",
    "1 Q0 a,b 1 2 t x\n": "run",
    "1 0 a,b nan\n": "qrels",
    "1 Q0 a 1 high,up t\n2 Q0 b 1 2 t\n2 Q0 c 2 1 t\n": "run",
    "2790 0 Report,_1992 1\n2790 0 Other 0\n": "qrels",
    "q 0 #tag 1\n": "qrels",
    "#1 0 d 1\n#1 0 e 1\n": "qrels",
    "# of a colleague\nq 0 d 1\n": "qrels",
    "# of a, colleague\nq 0 d 1\n": "qrels",
    "query-id corpus-id score\nq d 1\n": "qrels",
    "q 0 b 1 see note\nq 0 c 0\n": "qrels",
    "1\t0\td\t1\n": "qrels",
    "q1 12:34 1\n": "qrels",
    "query-id\tcorpus-id\tscore\nq\td\t1\n": "tsv",
    "qid,docno,score\r\n1,a,2\r\n": "csv",
    "qid,label,f\n": "csv",
    "qid,label,f\n1,0\n": "csv",  # the reader says which row is damaged
    "my query,doc id,label 1\na,b,2\n": "csv",
    'qid,"a, b"\n1,2\n': "csv",
    "\n\nqid,label\n1,2\n": "csv",
    '\n{"qid": 1}\n': "jsonl",
    '{"format": "directrix/1"}\n': "json",
    "1 qid:1 1:2,5\n": "letor",
    "1 1:0.5 2:3 # 7 8 9\n0 1:1\n": "letor",
    "# a, b\n\n1 qid:1 1:2\n": "letor",
    "0.5\n\n-1\n": "scores",
    "q;0;d;1\n": "",
    "": "",
}


@pytest.mark.parametrize("text", CONTENTS)
@pytest.mark.parametrize("pack", [bytes, b"\xef\xbb\xbf".__add__, gzip.compress])
def test_the_first_block_decides_what_a_file_holds(text, pack, tmp_path):
    (tmp_path / "a").write_bytes(pack(text.encode()))
    assert DataFile(tmp_path / "a").content == CONTENTS[text]


def test_tables_with_empty_lines_before_their_names_are_read(tmp_path):
    (tmp_path / "a.csv").write_text("\n\nqid,docno,score\n1,a,2\n")
    (tmp_path / "a.jsonl").write_text('\n{"qid": 1, "docno": "a", "score": 2}\n')
    for name in ("a.csv", "a.jsonl"):
        assert dx.read_trec_run(tmp_path / name).doc_ids.tolist() == ["a"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", b"qid,docno,score\nq,caf\xe9,2\n"),
        ("a.jsonl", b'{"qid": "caf\xe9", "docno": 1, "score": 2}\n'),
    ],
)
def test_text_that_is_not_utf8_gets_its_command(name, text, tmp_path):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(dx.InputError, match="iconv -f latin1"):
        dx.read_trec_run(tmp_path / name)
