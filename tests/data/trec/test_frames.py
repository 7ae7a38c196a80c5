"""Runs and judgments from frames and dicts."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data.trec.join import join_trec
from directrix.data.trec.runs import Qrels, Run

RUN = {"2": {"b": 0.5, "a": 2.0}, "1": {"c": 1.0}}
QRELS = {"1": {"c": 1, "d": 2}, "2": {"a": 0}}
ROWS = [("2", "b", 0.5), ("1", "c", 1.0), ("2", "a", 2.0)]  # the queries in turns


def same(found, expected):
    assert found.query_ids == expected.query_ids
    assert found.doc_ids.tolist() == expected.doc_ids.tolist()
    values = ("scores" if isinstance(found, Run) else "labels",)
    for name in ("qptr", *values):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize(
    "names",
    [
        ("qid", "docno", "score"),  # PyTerrier
        ("query_id", "doc_id", "score"),  # ir_datasets, ir_measures
        ("q_id", "doc_id", "score"),  # ranx
        ("query", "docid", "sim"),
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict, "arrow"])
def test_the_columns_of_other_tools_are_recognized(names, frame):
    columns = {name: list(cells) for name, cells in zip(names, zip(*ROWS, strict=True), strict=True)}
    if frame == "arrow":
        frame = pytest.importorskip("pyarrow").table
    same(Run.from_frame(frame(columns), "mine"), Run.from_frame(RUN))
    assert Run.from_frame(frame(columns), "mine").tag == "mine"


def test_judgments_have_labels():
    expected = Qrels.from_frame(QRELS)
    assert (expected.query_ids, expected.labels.tolist()) == (("1", "2"), [1.0, 2.0, 0.0])
    for name in ("label", "relevance", "rel", "score"):
        frame = pd.DataFrame({"query_id": [1, 1, 2], "doc_id": ["c", "d", "a"], name: [1, 2, 0]})
        same(Qrels.from_frame(frame), expected)


def test_columns_of_any_name_are_named():
    frame = pd.DataFrame({"t": [1.0, 1.0], "url": ["x", "y"], "w": [3, 4], "score": [0, 0], "qid": [7, 8]})
    run = Run.from_frame(frame, qid="t", doc_id="url", score="w")
    assert (run.query_ids, run.scores.tolist()) == (("1",), [3.0, 4.0])  # 1.0 is the topic 1
    assert Qrels.from_frame(frame, qid="t", doc_id="url", label="w").labels.tolist() == [3.0, 4.0]


def test_columns_without_names_are_numbers():
    run = Run.from_frame(pd.DataFrame(ROWS), qid=0, doc_id=1, score=2)
    same(run, Run.from_frame(RUN))


def test_frames_of_numpy_scalars_and_lazy_frames():
    frame = {"qid": list(np.array(["1", "1"])), "docno": list(np.array([3, 4])), "score": [1.0, 2.0]}
    assert Run.from_frame(frame).doc_ids.tolist() == ["3", "4"]
    same(Run.from_frame(pl.DataFrame(FRAME).lazy()), Run.from_frame(FRAME))


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])
def test_tables_by_position_are_told_how_to_be_given(table):
    run, qrels = table(FRAME), table({"query_id": ["1"], "doc_id": ["a"], "relevance": [1]})
    with pytest.raises(dx.InputError, match=r"scores is a table or dict with qid, docno, score.*run=run"):
        dx.evaluate("AP", run, qrels)
    with pytest.raises(dx.InputError, match=r"scores is a table or dict with 2, 1; "):
        dx.evaluate("AP", RUN, QRELS)
    with rejects(dx.InputError):
        dx.evaluate(run, qrels, "AP")


def test_evaluate_joins_what_it_is_given(tmp_path):
    run, qrels = Run.from_frame(RUN), Qrels.from_frame(QRELS)
    joined = join_trec(run, qrels)
    expected = dx.evaluate("AP", joined.scores, joined.labels, qptr=joined.qptr)
    dx.data.write_trec_run(run, tmp_path / "a.run")
    for given in (run, RUN, tmp_path / "a.run", str(tmp_path / "a.run")):
        found = dx.evaluate("AP", run=given, qrels=QRELS)
        assert found == expected == {"AP": (0.0 + 1 / 2) / 2}


@pytest.mark.parametrize("queries", ["both", "judged", ["1", "2"]])
def test_a_system_that_found_nothing_judged_has_the_value_0(queries):
    run, qrels = {"1": {"x": 1.0}, "2": {"y": 1.0}}, {"1": {"a": 1}, "2": {"b": 1}}
    said = nullcontext()
    if isinstance(queries, str):
        said = pytest.warns(UserWarning, match=r"0 of 2 documents .* of one collection \(x, y against a, b\)")
    with said:
        joined = join_trec(run, qrels, queries=queries)
    assert dx.evaluate(["AP", "nDCG", "RR"], run=joined) == {"AP": 0.0, "nDCG": 0.0, "RR": 0.0}


def test_identifiers_that_never_meet_are_said():
    judged = pd.DataFrame({"query_id": [1, 1], "doc_id": [7, 8], "relevance": [1, 0]})
    message = r"zeros, .* 2, such as 007 and 7. None would count as relevant"
    with pytest.raises(dx.InputError, match=message):
        dx.evaluate("AP", run={"1": {"007": 2.0, "008": 1.0}}, qrels=judged)
    assert dx.evaluate("AP", run={"1": {"007": 2.0, "8": 1.0}}, qrels=judged) == {"AP": 0.0}  # one is judged


FRAME = {"qid": ["1", "1"], "docno": ["a", "b"], "score": [1.0, 2.0]}
WRONG = [
    (FRAME | {"score": [1.0, np.nan]}, "run, row 1: the score is missing.* was not retrieved"),
    (FRAME | {"score": ["x", "y"]}, "(?s)run, row 0: the score is 'x'.*Type directrix.data.Run.from_frame"),
    (FRAME | {"docno": ["a", "a"]}, "run, row 1: query 1 has the document 'a' already"),
    (FRAME | {"qid": ["1", None]}, "run, row 1: the query is missing"),
    (pd.DataFrame(FRAME).convert_dtypes().replace("b", pd.NA), "run, row 1: the document is missing"),
    (
        pd.DataFrame([["1", "a", 1.0, 2.0]], columns=["qid", "docno", "score", "score"]),
        "run: 2 columns have the name 'score'",
    ),
    (
        {"qid": ["1"], "docno": ["a"], "rank": [1]},
        r"no column score or sim; the columns are qid, docno, rank. Type directrix.data.Run",
    ),
    ([1, 2], "run has the type list; a frame with columns of queries, documents and scores is needed"),
]


@pytest.mark.parametrize(("frame", "message"), WRONG)
def test_frames_that_are_no_runs_are_refused(frame, message):
    with pytest.raises(dx.InputError, match=message):
        Run.from_frame(frame)


def test_a_named_column_must_be_there():
    with rejects(dx.InputError):
        Qrels.from_frame(pd.DataFrame(FRAME), qid="topic")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"run": RUN}, "run and qrels must be given together"),
        ({"run": RUN, "qrels": QRELS, "scores": [1.0]}, "without scores, labels, qid"),
        ({"scores": [1.0]}, "labels are missing"),
        ({}, "scores are missing"),
    ],
)
def test_evaluate_needs_arrays_or_a_run(arguments, message):
    with pytest.raises(dx.InputError, match=message):
        dx.evaluate("AP", **arguments)


def test_judged_queries_that_a_run_lacks_are_counted():
    qrels = QRELS | {"3": {"e": 1}, "4": {"e": 1}}
    with pytest.warns(
        UserWarning, match="^2 of 2 queries of the run .*, and 2 judged queries are not"
    ) as caught:
        mean = dx.evaluate("AP", run=RUN, qrels=qrels)["AP"]
    assert caught[0].filename == __file__
    assert mean == dx.evaluate("AP", run=RUN, qrels=QRELS)["AP"]
    joined = dx.data.join_trec(RUN, qrels, queries="judged")  # the user's choice: no warning
    assert dx.evaluate("AP", run=joined)["AP"] == mean / 2
    assert dx.evaluate("AP", run=RUN | {"5": {"e": 1.0}}, qrels=QRELS)["AP"] == mean


@pytest.mark.parametrize("short", ["qid", "docno", "label"])
def test_columns_of_a_dict_have_one_length(short):
    columns = {"qid": [1, 2], "docno": ["a", "b"], "label": [1, 0]}
    columns[short] = columns[short][:1]
    with rejects(dx.InputError):
        dx.data.Qrels.from_frame(columns)


@pytest.mark.parametrize(("kind", "value"), [(Run, "score"), (Qrels, "label")])
def test_a_dict_of_lists_is_told_its_form(kind, value):
    form = rf"must be {{query: {{document: {value}}}}} or hold columns .*, got \['a', 'b'\] for 'q'"
    with pytest.raises(dx.InputError, match=form):
        kind.from_frame({"q": ["a", "b"]})
    with pytest.raises(dx.InputError, match="there is no column qid"):
        kind.from_frame({"topics": ["q"], "docno": ["a"], value: [1]})


def test_all_problems_of_a_table_come_in_one_message_with_their_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('qid,docno,label\nq,d,1\nq,"e\nf",1\n\nq,d,0\n,x,1\nq,,1\nq,z,high\n')
    with pytest.raises(dx.InputError) as error:
        dx.read_trec_qrels(path)
    text = str(error.value).replace(f"{tmp_path}/", "")
    assert "a.csv: 4 rows cannot be used" in text
    assert "a.csv:6: query q has the document 'd' already, at a.csv:2" in text
    assert "a.csv:7: the query is missing" in text
    assert "a.csv:8: the document is missing" in text
    assert "a.csv:9: the label is 'high'; a finite number is needed" in text


def test_semicolons_between_columns_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("qid;docno;label\n1;a,b;1\n")
    with pytest.raises(dx.InputError, match="columns are separated by ';'"):
        dx.read_trec_qrels(tmp_path / "a.csv")
