"""Identifiers that no file of lines could hold are refused where they are read."""

import json

import pytest

import directrix as dx
from directrix.data.trec.runs import Qrels, Run, qrels_lines
from directrix.text.documents import iter_documents, query_texts

FEATURES = {"label": [0], "bm25": [1.0]}
DOORS = {
    "documents": lambda name: [*iter_documents({name: "wing"})],
    "queries": lambda name: query_texts({name: "wing"}),
    "documents of a frame": lambda name: dx.Queries.from_frame(FEATURES | {"qid": [1], "docno": [name]}),
    "queries of a frame": lambda name: dx.Queries.from_frame(FEATURES | {"qid": [name]}),
    "frame of a run": lambda name: Run.from_frame({"qid": ["1"], "docno": [name], "score": [1.0]}),
    "dict of judgments": lambda name: Qrels.from_frame({name: {"d": 1}}),
    "documents of a run": lambda name: Run("bm25", ("1",), [0, 1], [name], [1.0]),
    "queries of a run": lambda name: Run("bm25", (name,), [0, 1], ["d"], [1.0]),
    "tag of a run": lambda name: Run(name, ("1",), [0, 1], ["d"], [1.0]),
}


@pytest.mark.parametrize("name", ["", "a\0b", "a\tb", "a\nb", "a\rb", "a\ud800"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_what_no_file_could_hold(door, name):
    with pytest.raises(dx.InputError, match=r": a (query|document|run) has (the|no) identifier"):
        DOORS[door](name)


@pytest.mark.parametrize("name", ["a b", "\x1b[2J", "\u3000", "\U0001f600"])
@pytest.mark.parametrize("door", DOORS)
def test_anything_else_is_an_identifier(door, name):
    DOORS[door](name)


def test_a_file_of_documents_is_refused_with_the_line(tmp_path):
    lines = [json.dumps({"docno": name, "text": "wing"}) for name in ("a", "\ud800")]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    with pytest.raises(dx.InputError, match=r"d.jsonl:2: a document has the identifier '\\ud800'"):
        dx.text.Index.build(tmp_path / "d.jsonl")


def test_a_query_of_two_words_is_not_written_as_two_columns():
    q = dx.Queries.from_frame(FEATURES | {"qid": ["wing lift"], "docno": ["d"]})
    with pytest.raises(dx.InputError, match="the query 'wing lift' does not fit into a column"):
        next(qrels_lines(q))
