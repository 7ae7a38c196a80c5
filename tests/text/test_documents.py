"""Documents and queries in every form that is read."""

import gzip
import json
from typing import NamedTuple

import pandas as pd
import polars as pl
import pytest

import directrix as dx
from directrix.text.analysis import words_of
from directrix.text.documents import iter_documents, query_texts
from tests.messages import rejects

TREC = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<!-- a comment with words -->
<HEADLINE><P>Wings &amp; heat</P></HEADLINE>
<TEXT>
<P>In a slipstream.</P>
<F P=102>Second</F>
</TEXT>
</DOC>
<doc><docno>2</docno>
bare text </doc>
"""
TOPICS = """<top>

<num> Number: 351
<title> Falkland petroleum exploration

<desc> Description:
What information is available?

<narr> Narrative:
Any document.

</top>
"""
SMART = """.I 1
.T
wings
in a slipstream
.A
brenckman,m.
.X
1 2 3
.W
wings .
.W
more
.I 2
.T

.W
heat
"""


class Doc(NamedTuple):
    doc_id: str
    title: str
    body: str
    year: int


def read(given, **options):
    return {name: dict(fields) for _, name, fields in iter_documents(given, **options)}


def test_tags_of_trec_become_fields_and_tags_within_them_are_left_out(tmp_path):
    path = tmp_path / "docs.gz"
    path.write_bytes(gzip.compress(TREC.encode()))
    assert read(path) == {
        "FT911-1": {"headline": "Wings & heat", "text": "In a slipstream. Second"},
        "2": {"text": "bare text"},
    }


@pytest.mark.parametrize(
    ("name", "content", "field", "wanted"),
    [
        ("topics", TOPICS, None, {"351": "Falkland petroleum exploration"}),
        ("topics", TOPICS, "description", {"351": "What information is available?"}),
        ("topics", "<top>\n<num>1</num><title>\nLIQUIDS\n</title>\n</top>\n", None, {"1": "LIQUIDS"}),
        # without names of columns
        ("q.tsv", "12\twhat is heat\n007\tWings\n", None, {"12": "what is heat", "007": "Wings"}),
    ],
)
def test_texts_of_queries(tmp_path, name, content, field, wanted):
    (tmp_path / name).write_text(content)
    assert query_texts(tmp_path / name, field) == wanted


def test_lines_of_one_letter_are_fields_of_smart(tmp_path):
    (tmp_path / "cran.all").write_text(SMART)
    assert read(tmp_path / "cran.all") == {
        "1": {"title": "wings in a slipstream", "authors": "brenckman,m.", "text": "wings . more"},
        "2": {"title": "", "text": "heat"},
    }


def test_links_out_of_a_folder_are_left_out(tmp_path):
    """In a folder of a stranger they would bring files of the user into an index that is shared."""
    (tmp_path / "secret").write_text("password")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("wing")
    for name, target in {"b": "a.txt", "c": "../secret", "d": tmp_path / "secret"}.items():
        (folder / name).symlink_to(target)
    with pytest.warns(UserWarning, match="docs: 2 symbolic links lead out of the folder and are left out"):
        assert read(folder) == {"a.txt": {"text": "wing"}, "b": {"text": "wing"}}


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "parquet"])
def test_tables_keep_identifiers_as_text_and_ignore_what_is_no_text(tmp_path, ending):
    path = tmp_path / f"docs.{ending}"
    frame = pd.DataFrame({"_id": ["x7", "x8"], "title": ["Wings", None], "text": ["a", "b"], "year": [1, 2]})
    tags = {"tags": "wing heat"} if ending in ("jsonl", "parquet") else {}
    if tags:
        frame = frame.assign(tags=[["wing", "heat"], []], counts=[[1, 2], [3]])
    if ending == "jsonl":
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="\t" if ending == "tsv" else ",", index=False)
    found = read(path)
    assert found["x7"] == {"title": "Wings", "text": "a", **tags}
    assert found["x8"]["text"] == "b"


def test_hits_of_elasticsearch_hold_their_fields_in_source(tmp_path):
    path = tmp_path / "dump.jsonl"
    hits = [{"_index": "i", "_id": name, "_score": 1.0, "_source": {"title": "Wings"}} for name in ("7", "8")]
    path.write_text("".join(json.dumps(hit) + "\n" for hit in hits))
    assert read(path) == {"7": {"title": "Wings"}, "8": {"title": "Wings"}}


def test_lines_of_bulk_requests_name_the_document_of_the_next_line(tmp_path):
    path = tmp_path / "bulk.ndjson"
    path.write_text(
        '{"index": {"_index": "i", "_id": "7"}}\n{"id": "other", "title": "Wings"}\n'
        '{"create": {}}\n{"id": "8", "title": "Lift"}\n{"index": "a word", "id": "9"}\n'
    )
    read = [(d.name, d.fields.get("title")) for d in iter_documents(path)]
    assert read == [("7", "Wings"), ("8", "Lift"), ("9", None)]


def test_a_folder_of_texts_is_named_by_its_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("wings in a slipstream")
    (tmp_path / "z.trec").write_text(TREC)
    (tmp_path / ".hidden").write_text("no")
    assert list(read(tmp_path)) == ["a/b.txt", "FT911-1", "2"]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict])
def test_frames_are_read(library):
    assert read(library({"docno": [7, 8], "text": ["a", "b"]})) == {"7": {"text": "a"}, "8": {"text": "b"}}
    assert query_texts(library({"qid": [1], "query": ["wings"]})) == {"1": "wings"}


def test_named_tuples_are_read():
    assert read([Doc("d1", "Wings", "text", 1958)]) == {"d1": {"title": "Wings", "body": "text"}}
    assert read([Doc("d1", "Wings", "text", 1958)], id_column="title") == {
        "Wings": {"doc_id": "d1", "body": "text"}
    }


@pytest.mark.parametrize(
    "given",
    [
        [{"qid": 1, "words": "x"}],
        [{"qid": 1, "text": "x"}, {"qid": 1, "text": "y"}],
        {"qid": [1, None], "query": ["a", "b"]},
        [],
    ],
)
def test_queries_that_cannot_be_used_are_rejected(given):
    with rejects(dx.InputError):
        query_texts(given)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.txt", b"just words\n"),
        ("docs", b"<DOC>\n<DOCNO>1</DOCNO>\ntext\n"),  # it is cut off
        ("d.csv", b"id,title,text\n1,good,caf\xe9\n"),
        ("d.jsonl", b'{"id": "1", "text": "caf\xe9"}\n'),
        ("empty", None),
        ("absent.jsonl", None),
    ],
)
def test_files_that_cannot_be_used_are_rejected(tmp_path, name, content):
    (tmp_path / "empty").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with rejects(dx.InputError):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("docs/a.txt", b"caf\xe9 noir"),
        ("docs.trec", b"<DOC><DOCNO>a</DOCNO>caf\xe9 noir</DOC>"),
        ("docs.smart", b".I a\n.W\ncaf\xe9 noir\n"),
        ("docs.tsv", b"a\tcaf\xe9 noir\n"),
    ],
)
def test_text_that_is_not_utf_8_is_said_to_be_cut(tmp_path, name, content):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with pytest.warns(UserWarning, match=r"bytes that are not UTF-8, .* words of this document may be cut"):
        (document,) = iter_documents(path if name.endswith(("trec", "smart", "tsv")) else path.parent)
    assert words_of(document.fields["text"]) == ["caf", "noir"]
    many = {"a": "caf\ufffd", "b": "good", "c": "\ufffd"}
    with pytest.warns(UserWarning, match=r"docno a and 1 more: .* words of these documents"):
        assert len(list(iter_documents(many))) == 3
