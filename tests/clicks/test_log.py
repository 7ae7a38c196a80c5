"""Logs: sessions and counts from frames and files, and what is wrong with them."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

import directrix as dx
from directrix.clicks import log as log_module
from directrix.clicks import reading
from directrix.clicks.sessions import Pairs
from tests.messages import rejects

Log = dx.clicks.Log


def rows(n_sessions=40, seed=0):
    """Sessions of two to four documents for one of three queries, as a dict of columns."""
    rng, columns = np.random.default_rng(seed), {}
    names = ("session_id", "query", "doc", "position", "click", "user", "ranker", "time", "propensity")
    for s in range(n_sessions):
        query = rng.integers(3)
        for k, doc in enumerate(rng.permutation(5)[: rng.integers(2, 5)], start=1):
            values = (f"s{s}", f"q{query}", f"d{doc}", k, rng.random() < 0.4, s % 7, "AB"[s % 2], s + k, 0.5)
            for name, value in zip(names, values, strict=True):
                columns.setdefault(name, []).append(value)
    return columns


def counts(columns):
    """Impressions and clicks by query, document and position, by a loop."""
    n, c = Counter(), Counter()
    for query, doc, position, click in zip(
        *(columns[x] for x in ("query", "doc", "position", "click")), strict=True
    ):
        n[query, doc, position] += 1
        c[query, doc, position] += click
    return n, c


def counts_of(log):
    """The same of a log."""
    n, c = {}, {}
    for pair, position, impressions, clicks in zip(*log.aggregate(), strict=True):
        key = log.pairs.query_ids[log.pairs.query[pair]], log.pairs.doc_ids[pair], position
        n[key], c[key] = impressions, clicks
    return n, c


@pytest.mark.parametrize("rows_per_chunk", [1, 8, 1 << 20])
def test_counts_are_those_of_a_loop_over_rows(monkeypatch, rows_per_chunk):
    monkeypatch.setattr(log_module, "_ROWS", rows_per_chunk)
    log = Log.from_frame(rows())
    assert counts_of(log) == counts(rows())
    cells = log.aggregate()
    assert (np.lexsort((cells.position, cells.pair)) == np.arange(len(cells.pair))).all()


def test_sessions_do_not_depend_on_the_order_of_rows_or_the_kind_of_frame():
    columns = rows()
    order = np.random.default_rng(1).permutation(len(columns["doc"]))
    log = Log.from_frame(pd.DataFrame(columns))
    other = Log.from_frame(pl.DataFrame(columns)[order.tolist()])
    assert log.n_sessions == other.n_sessions == 40
    for one in (log, other):
        s = one.sessions
        assert (np.diff(s.query) >= 0).all()
        for i in range(40):
            first, last = s.ptr[i], s.ptr[i + 1]
            at = [row for row, name in enumerate(columns["session_id"]) if name == s.ids[i]]
            assert one.pairs.doc_ids[s.pair[first:last]].tolist() == [columns["doc"][row] for row in at]
            assert s.position[first:last].tolist() == [columns["position"][row] for row in at]
            assert s.click[first:last].tolist() == [columns["click"][row] for row in at]
            assert s.propensity[first:last].tolist() == [0.5] * len(at)
            assert one.pairs.query_ids[s.query[i]] == columns["query"][at[0]]
            assert s.rankers[s.ranker[i]] == columns["ranker"][at[0]]
            assert s.time[i] == columns["time"][at[0]]
        assert len(set(s.user)) == 7
    assert (log.sessions.session == np.repeat(np.arange(40), np.diff(log.sessions.ptr))).all()


@pytest.mark.parametrize("aggregate", [False, True])
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_files_are_read_like_frames(tmp_path, ending, aggregate):
    path, frame = tmp_path / f"log.{ending}", pd.DataFrame(rows())
    frame["doc"] = "0" + frame["doc"].str[1:]  # digits that begin with 0 stay text
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    log = Log.read(path, aggregate=aggregate)
    assert counts_of(log) == counts(frame.to_dict("list"))
    assert (log.n_sessions is None) == aggregate


def test_parts_of_a_file_are_added_up(monkeypatch):
    frame = pd.DataFrame(rows(200))
    parts = [frame[i : i + 30] for i in range(0, len(frame), 30)]
    log = Log(*reading._log_of(iter(parts), {}, "parts", "", aggregate=True))
    assert counts_of(log) == counts(rows(200))
    whole = Log(*reading._log_of(iter(parts), {}, "parts", "", aggregate=False))
    for ours, theirs in zip(whole.sessions, Log.from_frame(frame).sessions, strict=True):
        assert np.array_equal(ours, theirs)


def test_rows_with_impressions_are_counts_and_those_without_any_are_left_out():
    columns = {"qid": [1, 1, 1.0, 2], "docno": [7, "7", 7, 8], "rank": [1, 1, 2, 1]}
    log = Log.from_frame(columns | {"impressions": [5, 6, 7, 0], "clicks": [1, 2, 3, 0]})
    assert log.pairs.query_ids == ("1", "2")
    assert counts_of(log) == ({("1", "7", 1): 11, ("1", "7", 2): 7}, {("1", "7", 1): 3, ("1", "7", 2): 3})
    assert log.n_sessions is None
    with rejects(dx.InputError):
        _ = log.sessions


def test_rows_without_sessions_are_one_impression_each():
    columns = {key: values for key, values in rows().items() if key != "session_id"}
    assert counts_of(Log.from_frame(columns)) == counts(rows())


GOOD = {
    "session": [1, 1, 2],
    "query": ["q"] * 3,
    "doc": ["a", "b", "a"],
    "position": [1, 2, 1],
    "click": [0, 1, 0],
}
BAD = {
    "position 0": {"position": [1, 0, 1]},
    "half a position": {"position": [1, 1.5, 1]},
    "position far down": {"position": [1, 40_000, 1]},
    "two clicks": {"click": [0, 2, 0]},
    "clicks as text": {"click": ["no", "yes", "no"]},
    "no click": {"click": [0, None, 0]},
    "more clicks than impressions": {"impressions": [1, 1, 1], "click": [0, 2, 0]},
    "negative impressions": {"impressions": [1, -1, 1]},
    "no impressions": {"impressions": [0, 0, 0], "click": [0, 0, 0]},
    "document twice": {"doc": ["a", "a", "a"]},
    "position twice": {"position": [1, 1, 1]},
    "a row twice": {"doc": ["a", "a", "a"], "position": [1, 1, 1]},
    "two queries": {"query": ["q", "p", "q"]},
    "two users": {"user": [1, 2, 2]},
    "two rankers": {"ranker": ["A", "B", "B"]},
    "propensity 0": {"propensity": [1.0, 0.0, 1.0]},
    "missing document": {"doc": ["a", None, "a"]},
    "missing session": {"session": [1, float("nan"), 2]},
    "empty query": {"query": ["q", "", "q"]},
    "a list as document": {"doc": [["a", "b"], ["b", "c"], ["a", "c"]]},
    "columns of different length": {"click": [0, 1]},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_a_log_of_no_use_gives_one_error(change):
    Log.from_frame(GOOD)
    with rejects(dx.InputError):
        Log.from_frame(GOOD | change)


def robots(n_robots, n_docs=5):
    """A hundred sessions with a click on the first document, of which some have one on every document."""
    session, position = np.divmod(np.arange(100 * n_docs), n_docs)
    clicked = (position == 0) | (session < n_robots)
    frame = {"session": session, "query": ["q"] * len(session), "doc": position, "position": position + 1}
    return frame | {"clicked": clicked.astype(int)}


def test_sessions_with_a_click_on_every_document_are_a_warning(tmp_path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame(robots(2)).to_csv(tmp_path / "log.csv")
    match = r"2 of 100 sessions, such as 0, have a click on every document, of 5 or more, and 9\.3% of all"
    for read, of in ((Log.from_frame, robots(2)), (Log.read, tmp_path / "log.csv")):
        with pytest.warns(UserWarning, match=match) as said:
            read(of)
        assert said[0].filename == __file__
    Log.from_frame(robots(0))
    Log.from_frame(robots(2, n_docs=4))  # users may click on few documents


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.75, 0.95])
def test_users_who_often_click_everything_are_not_robots(rate):
    clicked = np.random.default_rng(0).random(500) < rate
    Log.from_frame(robots(0) | {"clicked": clicked.astype(int)})


def test_a_log_of_clicks_alone_is_a_warning():
    with pytest.warns(UserWarning, match="every document of the log was clicked") as said:
        Log.from_frame(robots(100))
    assert len(said) == 1


@pytest.mark.parametrize("column", ["session", "none"])
def test_variants_of_a_query_in_case_and_blanks_are_a_warning(column):
    columns = GOOD | {"query": ["red  Shoes", "red  Shoes", "red shoes "]}
    with pytest.warns(UserWarning, match="1 of 2 queries differ from .* 'red shoes ' from 'red  Shoes'; "):
        Log.from_frame({key: of for key, of in columns.items() if column != "none" or key != "session"})


def test_a_log_in_which_all_sessions_have_a_click_is_a_warning():
    clicked = np.random.default_rng(0).random((500, 5)) < 0.2
    size = np.arange(500)[clicked.any(axis=1)]
    frame = {"session": np.repeat(size, 5), "query": ["q"] * 5 * len(size), "doc": [*range(5)] * len(size)}
    frame |= {"position": [1, 2, 3, 4, 5] * len(size), "clicked": clicked[size].ravel()}
    with pytest.warns(UserWarning, match=f"all {len(size)} sessions have a click"):
        Log.from_frame(frame)


def test_a_missing_column_and_no_rows_are_errors(tmp_path):
    with rejects(dx.InputError):
        Log.from_frame({key: GOOD[key] for key in ("session", "query", "doc", "position")})
    with rejects(dx.InputError):
        Log.from_frame({key: GOOD[key] for key in ("session", "doc")})
    with rejects(dx.InputError):
        Log.from_frame({";".join(GOOD): ["1;q;a;1;0"]}, session="session")
    with rejects(dx.InputError):
        Log.from_frame(GOOD, doc="docs")
    with rejects(dx.InputError):
        Log.from_frame({key: [] for key in GOOD})
    with rejects(dx.InputError):
        Log.from_frame([1, 2])
    path = tmp_path / "log.csv"
    pd.DataFrame(GOOD).to_csv(path, index=False)
    with rejects(dx.InputError):
        Log.read(path, document="doc")


def test_a_log_shows_itself():
    log = Log.from_frame(rows())
    assert "40 sessions, 3 queries" in str(log)
    assert "40 sessions" in repr(log)
    first = log.to_dict()["positions"][0]
    assert first["impressions"] == 40
    assert first["CTR"] == first["clicks"] / 40
    fixed = Log.from_frame(GOOD)
    assert [row["moved"] for row in fixed.to_dict()["positions"]] == [0.0, 0.0]


def test_pairs_are_those_of_queries_and_are_looked_up():
    X, qid = np.eye(4), ["a", "a", "b", "b"]
    pairs = Pairs.of_queries(dx.Queries.from_arrays(X, [0, 1, 0, 1], qid=qid, doc_ids=["x", "y", "x", "z"]))
    assert len(pairs) == 4
    other = Pairs(("b", "c"), np.array([0, 2, 3]), np.array(["z", "y", "x"], dtype=object))
    assert pairs.places(other).tolist() == [3, -1, -1]
    assert pairs.places(pairs).tolist() == [0, 1, 2, 3]
    unnamed = Pairs.of_queries(dx.Queries.from_arrays(X, [0, 1, 0, 1], qid=["a", "b", "a", "b"]))
    assert unnamed.doc_ids.tolist() == ["0", "2", "1", "3"]


@pytest.mark.parametrize("head", [b"query,doc,position,clicked,\xff", b"query,doc,position,clicked,clicked"])
def test_names_of_columns_that_cannot_be_used_are_rejected(head, tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(head + b"\nq,a,1,1,0\n")
    with rejects(dx.InputError):
        dx.clicks.Log.read(path)
