"""Tables that are joined to the candidates, doors of all kinds, splits, and what is rejected."""

import datetime as dt
import warnings
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.data.interactions.test_build import COUNTED, DAY, documents, make_events
from tests.messages import rejects

import directrix as dx
from directrix.data import memory

pytestmark = [pytest.mark.filterwarnings(f"ignore:.* {text}") for text in COUNTED]

EVENTS = {
    "user": ["ann", "bob", "ann", "bob", "ann"],
    "item": ["tea", "jam", "jam", "tea", "tea"],
    "time": [1.0, 2.0, 10.0, 11.0, 20.0],
    "event": ["view", "click", "click", "purchase", "cart"],
    "session": [1, 2, 3, 4, 5],
}


def make(*, by="session", history=False, **options):
    return dx.data.from_interactions(EVENTS, by=by, history=history, **options)


def of_list(q, query):
    return {item: features.tolist() for item, (_, features, _) in documents(q)[query].items()}


def test_tables_are_joined_by_user_item_and_both():
    q = make(
        user_features={"user_id": ["bob", "ann"], "age": [50, 30]},
        item_features={"price": [2.5, 4.0, 9.0], "item": ["jam", "tea", "new"]},
        pair_features={
            "user": ["ann", "ann", "bob"],
            "item": ["tea", "jam", "tea"],
            "affinity": [0.5, 0.25, 1.0],
        },
        missing="nan",
    )
    assert q.feature_names == ("age", "price", "affinity")
    assert of_list(q, 3) == {"tea": [30, 4.0, 0.5], "jam": [30, 2.5, 0.25]}
    assert of_list(q, 4)["tea"] == [50, 4.0, 1.0]
    assert np.isnan(of_list(q, 4)["jam"][2])
    zero = make(pair_features={"user": ["ann"], "item": ["tea"], "affinity": [0.5]}, missing="zero")
    assert of_list(zero, 4) == {"tea": [0.0], "jam": [0.0]}


def test_a_table_with_times_is_joined_as_of_the_decision():
    prices = {"item": ["tea"] * 3 + ["jam"] * 2, "time": [0, 10, 15, 0, 11], "price": [1, 2, 3, 4, 5]}
    shuffled = {key: [column[i] for i in (2, 4, 0, 3, 1)] for key, column in prices.items()}
    q = make(item_features=shuffled)
    assert of_list(q, 3) == {"tea": [1], "jam": [4]}  # decided at 10, when the row of 10 is not yet known
    assert of_list(q, 4) == {"tea": [2], "jam": [4]}
    assert of_list(q, 5) == {"tea": [3], "jam": [5]}
    later = {"item": ["tea", "tea", "jam"], "time": [12, 15, 0], "price": [2, 3, 4]}
    q = make(item_features=later, missing="nan")
    assert np.isnan(of_list(q, 4)["tea"][0])  # no row is known yet
    assert of_list(q, 5)["tea"] == [3]


def test_a_planted_leak_is_rejected():
    clicks = {"item": ["tea", "jam"], "clicks": [3, 1]}
    assert make(item_features=clicks).n_features == 1  # without times, nothing can be said
    with rejects(dx.InputError):
        make(item_features={**clicks, "time": [0.0, 20.0]})
    with rejects(dx.InputError):  # at the decision itself
        make(user_features={"user": ["ann", "bob"], "clicks": [3, 1], "time": [10.0, 0.0]})
    with rejects(dx.InputError):
        make(pair_features={"user": ["ann"], "item": ["tea"], "clicks": [3], "time": [30.0]}, missing="nan")
    assert make(item_features={**clicks, "time": [0.0, 0.5]}).n_features == 1


def test_shown_items_later_than_the_decision_are_rejected():
    shown = {"session": [3, 3, 4], "item": ["tea", "jam", "tea"], "time": [9.0, 9.0, 11.0]}
    q = make(candidates=shown, history=True)
    assert {query: [*of] for query, of in documents(q).items()} == {3: ["tea", "jam"], 4: ["tea"]}
    assert q.times.tolist() == [9.0, 11.0]
    assert q.labels.tolist() == [0.0, 1.0, 3.0]
    with rejects(dx.InputError):
        make(candidates={**shown, "time": [9.0, 9.5, 11.0]})


def test_lists_of_several_decisions_per_user_are_not_mixed():
    shown = {"user": ["ann"] * 4, "item": ["tea", "jam", "tea", "new"], "session": [8, 8, 9, 9]}
    with rejects(dx.InputError):
        make(by="user", candidates=shown, decision=10.0)
    with rejects(dx.InputError):
        make(by="user", candidates=shown | {"session": [8] * 4, "time": [9.0] * 4}, decision=10.0)
    q = make(by="session", candidates=shown | {"time": [9.0, 9.0, 11.0, 11.0]}, history=True)
    assert {query: [*of] for query, of in documents(q).items()} == {8: ["tea", "jam"], 9: ["tea", "new"]}


def test_an_item_is_no_candidate_before_it_exists():
    catalog = {"item": ["tea", "jam", "new"], "time": [0.0, 1.5, 10.0]}
    q = make(candidates=catalog, history=True)
    assert {query: {*of} for query, of in documents(q).items()} == {
        1: {"tea"},
        2: {"tea", "jam"},
        3: {"tea", "jam"},
        4: {"tea", "jam", "new"},
        5: {"tea", "jam", "new"},
    }


@pytest.mark.parametrize("m", [1, 2, 7])
def test_negatives_of_given_candidates(m):
    shown = {"user": ["ann"] * 4 + ["bob"] * 4, "item": ["tea", "jam", "a", "b"] * 2}
    q = make(by="user", candidates=shown, negatives=m, history=True)
    for of in documents(q).values():
        assert of["tea"][::2] in ((2.0, 1.0), (3.0, 1.0))  # the event of the list stays
        others = [probability for label, _, probability in of.values() if label == 0]
        assert others == [min(1.0, m / 3)] * min(m, 3)


def test_a_list_without_events_is_made_for_serving():
    now = {"user": ["bob", "bob", "eve"], "item": ["tea", "jam", "tea"]}
    q = make(by="user", candidates=now, decision=100.0, history=True)
    assert q.query_ids == ("bob", "eve")
    assert not q.labels.any()
    row = dict(zip(q.feature_names, documents(q)["bob"]["tea"][1], strict=True))
    np.testing.assert_allclose(row["user_item_purchase"], np.log(2), rtol=1e-6)
    np.testing.assert_allclose(row["user_item_recency"], 1 / (1 + 89 / DAY), rtol=1e-6)
    assert not documents(q)["eve"]["tea"][1][4:].any()


@pytest.mark.parametrize(
    "door", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, "csv", "jsonl", "parquet"]
)
def test_all_doors_give_the_same(door, tmp_path):
    events = make_events(n=200)
    stamps = np.array(events["time"], dtype="datetime64[ms]")
    events |= {"time": stamps, "user": [f"00{user[1:]}" for user in events["user"]]}
    item = {"item": [f"i{i}" for i in range(15)], "brand": ["x", "y", "z"] * 5}
    tables = [pd.DataFrame(events), pd.DataFrame(item)]
    if callable(door):
        given = [door({key: table[key].to_numpy() for key in table}) for table in tables]
    else:
        given = [str(tmp_path / f"{name}.{door}") for name in ("events", "items")]
        for table, path in zip(tables, given, strict=True):
            write = {"csv": table.to_csv, "parquet": table.to_parquet}.get(door)
            if write is not None:
                write(path, index=False)
            else:
                table.to_json(path, orient="records", lines=True, date_format="iso")
    expected = dx.data.from_interactions(events, item_features=item, categorical="brand", negatives=4)
    q = dx.data.from_interactions(given[0], item_features=given[1], categorical="brand", negatives=4)
    assert q.query_ids == expected.query_ids
    assert q.doc_ids.tolist() == expected.doc_ids.tolist()
    assert q.digest == expected.digest
    np.testing.assert_array_equal(q.times, expected.times)
    assert q.categories == (None,) * 9 + (("x", "y", "z"),)
    assert set(q.users) <= {f"00{i}" for i in range(12)}


def test_categorical_types_are_kept_and_trained_on():
    brand = pd.Categorical(["b", "a"], categories=["b", "a", "c"])
    q = make(item_features=pd.DataFrame({"item": ["tea", "jam"], "brand": brand}))
    assert q.categories == (("a", "b"),)
    assert of_list(q, 3) == {"tea": [1.0], "jam": [0.0]}


def test_events_without_kinds_or_users():
    events = {key: EVENTS[key] for key in ("item", "time", "session")}
    q = dx.data.from_interactions(events, by="session")
    assert (q.feature_names, {*q.labels}) == (
        ("item_events", "user_item_events", "user_item_recency"),
        {0.0, 1.0},
    )
    assert q.users.tolist() == list(q.query_ids)


def test_grades_of_any_kind():
    events = {**EVENTS, "event": [1, 5, 4, 3, 2]}
    q = dx.data.from_interactions(events, by="session", grades={stars: stars for stars in range(1, 6)})
    assert [max(items.values())[0] for items in documents(q).values()] == [0.0, 4.0, 3.0, 2.0]


def test_splits():
    q = dx.data.from_interactions(make_events(n=300), by="day", negatives=5)
    at = 2.5 * DAY
    train, test = q.split(at)
    assert train.ends.max() < at <= test.times.min()
    between = (q.times < at) & (q.ends >= at)
    assert train.n_queries + test.n_queries + between.sum() == q.n_queries
    assert between.any()
    assert len(train.sampling) == train.n_docs
    for name in ("times", "ends", "users"):
        assert len(getattr(train, name)) == train.n_queries
    train, test = q.leave_last_out()
    assert len({*test.users}) == test.n_queries
    for user in {*q.users}:
        times = train.times[train.users == user], test.times[test.users == user]
        assert times[0].size
        assert (times[0] <= times[1].max(initial=5 * DAY)).all()
    previous = 0
    parts = list(q.rolling(3))
    for train, test in parts:
        assert train.ends.max() < test.times.min()
        assert train.n_queries > previous
        previous = train.n_queries
    tested = [query for _, test in parts for query in test.query_ids]
    assert len(tested) == len({*tested}) >= 0.7 * q.n_queries


def test_interactions_are_named_as_such():
    assert repr(dx.data.from_interactions(EVENTS, by="session")).startswith("Interactions(4 queries, ")


def test_a_date_splits_dates():
    days = np.arange("2026-01-01", "2026-01-06", dtype="datetime64[D]")
    q = dx.data.from_interactions({**EVENTS, "time": days}, by="session")
    _, test = q.split("2026-01-04")
    assert test.query_ids == (4, 5)
    assert test.users.tolist() == ["bob", "ann"]


@pytest.mark.parametrize(
    "change",
    [
        {"by": "week"},
        {"sampling": "even"},
        {"negatives": 0},
        {"sampling": "popularity"},
        {"grades": {"view": 0}},
        {"grades": ["view"]},
        {"grades": {**{kind: 1 for kind in EVENTS["event"]}, "view": -1}},
        {"user": "usr"},
        {"decision": 3.0},
        {"by": "user", "decision": 50.0},
        {"by": "user", "decision": "tomorrow"},
        {"events": {**EVENTS, "time": [1.0, 2.0, np.nan, 3.0, 4.0]}},
        {"events": {**EVENTS, "time": ["2026-01-01", "soon", None, "x", "y"]}},
        {"events": {**EVENTS, "session": [1, 2, 2, 4, 5]}},
        {"events": {**EVENTS, "user": ["ann", None, "bob", "ann", "bob"]}},
        {"events": {key: [] for key in EVENTS}},
        {"events": 7},
        {"candidates": {"session": [9], "item": ["tea"]}},
        {"candidates": {"session": [3], "item": ["tea"]}, "sampling": "popularity", "negatives": 1},
        {"item_features": {"item": ["tea", "tea"], "price": [1, 2]}},
        {"item_features": {"item": ["tea", "tea"], "price": [1, 2], "time": [0, 0]}},
        {"item_features": {"item": [], "price": []}},
        {"item_features": {"item": ["tea", "jam"]}},
        {"item_features": {"item": ["tea", "jam"], "brand": ["x", "y"]}},
        {"item_features": {"item": ["tea"], "price": [1]}},
        {"pair_features": {"user": ["ann"], "item": ["tea"], "price": [1]}},
        {"user_features": {"user": ["ann", "bob"], "age": [30, 50]}, "categorical": ["aeg"]},
        {"categorical": "age"},
        {"history": False},
    ],
)
def test_what_cannot_be_used_is_rejected(change):
    options = {"events": EVENTS, "by": "session", **change}
    with rejects(dx.InputError):
        dx.data.from_interactions(options.pop("events"), **options)


def test_splits_that_leave_nothing_are_rejected():
    q = dx.data.from_interactions(EVENTS, by="session")
    for split in (lambda: q.split(0), lambda: q.split(99), lambda: q.rolling(9), q.take([0]).leave_last_out):
        with rejects(dx.InputError):
            split()


SHOP = {
    "user": [1, 1, 1, 1, 2, 2, 2, 1, 2],
    "item": [7, 8, 7, 7, 7, 8, 8, 8, 8],
    "time": [0.0, 1.0, 2.0, 1.5 * DAY, 1.2 * DAY, 1.3 * DAY, 2.9 * DAY, 3.1 * DAY, 3.2 * DAY],
    "event": ["view", "view", "click", "purchase", "view", "click", "purchase", "view", "cart"],
    "session": [1, 1, 1, 2, 3, 3, 4, 5, 6],
}


@pytest.mark.parametrize(
    ("by", "n", "n_lists", "n_steps", "n_relevant"),
    [("day", 3, 6, 3, 5), ("session", 3, 6, 3, 5), ("user", 1, 2, 1, 1)],
)
def test_lists_of_late_events_are_counted(by, n, n_lists, n_steps, n_relevant):
    with pytest.warns(
        UserWarning, match=f"^{n} of {n_lists} lists hold only later steps.* {n_steps} of {n_relevant} items"
    ):
        dx.data.from_interactions(SHOP, by=by)


@pytest.mark.parametrize("by", ["day", "session"])
def test_late_events_of_given_lists_are_counted(by):
    shown = {
        "user": [1, 1, 2, 2],
        "session": [1, 1, 3, 3],
        "item": [7, 8, 7, 8],
        "time": [0.0, 0.0, 1.2 * DAY, 1.2 * DAY],
    }
    with pytest.warns(UserWarning, match="^3 of 5 events with a label above 0 follow a list of their user"):
        q = dx.data.from_interactions(SHOP, by=by, candidates=shown)
    assert q.labels.tolist() == [1.0, 0.0, 0.0, 1.0]
    alone = {key: [column[row] for row in (0, 1, 2, 4, 5)] for key, column in SHOP.items()}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".* follow a list")
        dx.data.from_interactions(alone, by=by, candidates=shown)


def test_events_of_one_grade_are_not_late():
    stars = {**SHOP, "event": [3, 4, 5, 1, 2, 3, 1, 5, 4]}  # repeated ratings, higher ones first
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".* hold only later steps")
        dx.data.from_interactions({key: SHOP[key] for key in ("user", "item", "time")})
        dx.data.from_interactions(
            {**stars, "event": [5, 4, 3, 1, 5, 3, 1, 3, 1]}, grades={n: n for n in range(1, 6)}
        )
        dx.data.from_interactions(
            SHOP, by="user", decision=1.1 * DAY
        )  # what users will buy, not what they saw


def test_queries_that_a_split_leaves_out_are_counted():
    sold = {"user": [1, 1, 1, 2, 2, 3, 3], "item": [7, 7, 8, 7, 8, 7, 8], "time": [1, 1, 9, 2, 3, 8, 8]}
    sold |= {"event": ["view", "click", "purchase", "view", "click", "view", "cart"]}
    q = dx.data.from_interactions(sold, by="session", session="user", candidates={"item": [7, 8]})
    with pytest.warns(UserWarning, match=r"^1 of 2 queries before 5 .* with 2 of 3 items with a") as caught:
        train, test = q.split(5)
    assert caught[0].filename == __file__
    assert (train.query_ids, test.query_ids) == ((2,), (3,))
    q = dx.data.from_interactions(make_events(n=300), by="day", negatives=5)
    with pytest.warns(UserWarning, match="have a label from after it and are in neither part") as caught:
        parts = list(q.rolling(3))
    assert {one.filename for one in caught} == {__file__}
    for one, (train, test) in zip(caught, parts, strict=True):
        before = int((q.times < test.times.min()).sum())
        assert str(one.message).startswith(f"{before - train.n_queries} of {before} queries")


def test_first_events_of_new_items_are_counted():
    events = {"user": [1, 1, 1], "item": ["old", "new", "old"], "time": [1, 2, 2], "session": [1, 2, 2]}
    events |= {"event": ["view", "click", "click"]}
    with pytest.warns(UserWarning, match="^1 of 2 items with a label above 0 had no event before the"):
        q = dx.data.from_interactions(events, by="session")
    assert q.doc_ids.tolist() == ["old"]
    catalog = {"item": ["old", "new"], "time": [0.0, 3.0]}
    with pytest.warns(UserWarning, match="^1 of 2 items with a label above 0 are not in the catalog before"):
        dx.data.from_interactions(events, by="session", candidates=catalog)
    catalog["time"] = [0.0, 1.5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = dx.data.from_interactions(events, by="session", candidates=catalog)
    assert sorted(q.doc_ids[q.labels > 0]) == ["new", "old"]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array])
def test_integers_stay_integers(kind, tmp_path):
    events = {key: kind(column) for key, column in SHOP.items()}
    if kind is not list and kind is not np.array:
        events = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame, pa.array: pa.table}[kind](events)
    q = dx.data.from_interactions(events, by="session", candidates={"item": ["7", 8, 9]})
    for name, values in (("doc_ids", q.doc_ids), ("query_ids", q.query_ids), ("users", q.users)):
        assert {type(value) for value in values} == {int}, name
    assert {*q.doc_ids} == {7, 8, 9}
    path = tmp_path / "q.parquet"
    dx.data.write_parquet(q, path)
    written = dx.data.read_parquet(path)
    assert (written.query_ids, written.doc_ids.tolist()) == (q.query_ids, q.doc_ids.tolist())
    texts = dx.data.from_interactions({**SHOP, "item": [*map(str, SHOP["item"])]}, by="session")
    assert {*texts.doc_ids} == {"7", "8"}
    dx.data.from_interactions({**SHOP, "item": [7, 8, 7, 7, "x", 8, 8, 8, 8]}).doc_ids.tolist().index("7")


def test_large_integers_stay_different():
    items = [2**64 - 1, 2**64 - 2, 3]
    q = dx.data.from_interactions(
        {"user": [1, 1, 1], "item": items, "time": [1, 1, 2]}, by="user", candidates={"item": items}
    )
    assert {*q.doc_ids} == {*items}


def test_relevant_items_that_are_no_candidates_are_counted():
    events = {
        "user": list("aabb"),
        "item": list("xyxy"),
        "time": [1, 2, 3, 4],
        "event": ["view", "click"] * 2,
    }
    shown = {"user": list("ab"), "item": list("xx"), "time": [2, 4]}
    with pytest.warns(UserWarning, match=r"^2 of 2 items with a label above 0 are not among"):
        dx.data.from_interactions(events, by="user", candidates=shown)
    complete = {"user": list("aabb"), "item": list("xyxy"), "time": [2, 2, 4, 4]}
    dx.data.from_interactions(events, by="user", candidates=complete)  # a warning would be an error


def test_a_missing_feature_is_named():
    prices = {"item": ["tea", "jam"], "price": [1.0, np.nan]}
    with rejects(dx.InputError):
        dx.data.from_interactions(EVENTS, by="session", item_features=prices)


def test_an_empty_identifier_is_missing():  # as in a CSV file
    with rejects(dx.InputError):
        dx.data.from_interactions({**EVENTS, "user": ["ann", "", "ann", "", "ann"]})


def test_milliseconds_are_rejected():
    events = {"user": list("aabb"), "item": list("xyxy"), "time": [1.76e12, 1.77e12, 1.78e12, 1.79e12]}
    with pytest.raises(dx.InputError, match=r"is in the year 5\d,\d+.*Divide milliseconds by 1000"):
        dx.data.from_interactions(events)
    dx.data.from_interactions({**events, "time": [t / 1000 for t in events["time"]]}, by="user")


@pytest.mark.parametrize(
    "times",
    [
        [-4e12, 2.0],
        [-1e308, 2.0],
        [1.0, 10**30],
        [1.0, -np.inf],
        [1.0, 1 + 2j],
        [True, False],
        [np.timedelta64(1, "s"), np.timedelta64(2, "s")],
        [1.0, "2026-01-01"],
        [[1.0, 2.0], [3.0, 4.0]],
        np.array(["2026", "20000"], dtype="datetime64[Y]"),
        [1.0],
        3.0,
        "2026-01-01",
    ],
)
def test_times_that_are_none_are_rejected(times):
    with rejects(dx.InputError):
        dx.data.from_interactions({"user": ["a", "a"], "item": ["x", "x"], "time": times})


def test_numbers_of_any_type_are_seconds():
    for time in (
        [Decimal(1), Decimal("2.5")],
        np.array([1, 2.5], dtype=object),
        [np.float32(1), 2.5],
        [1, 2.5],
    ):
        events = {"user": ["a", "a"], "item": ["x", "x"], "time": time}
        assert dx.data.from_interactions(events, by="user").times.tolist() == [2.5]


ODD = [
    *(
        [True, False],
        [Decimal(1), Decimal(2)],
        [[1, 2], [1, 2]],
        [[1], [1, 2]],
        [{"a": 1}] * 2,
        [None, None],
        [1, None],
    ),
    *(
        [b"a", b"b"],
        [10**30, 1],
        [-1, 2**64 - 1],
        [np.nan, 1.0],
        [np.inf, -np.inf],
        [1e308, -1e308],
        ["", "a"],
    ),
    *(
        ["\ud800", "b"],
        [(1, 2)] * 2,
        [1 + 2j] * 2,
        [dt.date(2026, 1, 1)] * 2,
        [dt.time(1)] * 2,
        [dt.timedelta(1)] * 2,
    ),
]


def categories(columns):
    return pd.DataFrame(columns).astype(dict.fromkeys(columns, "category"))


@pytest.mark.parametrize("door", [dict, pd.DataFrame, categories, pl.DataFrame, pa.table])
@pytest.mark.parametrize("odd", ODD)
def test_columns_of_any_type_are_read_or_rejected(odd, door):
    events = {"user": ["a", "a"], "item": ["x", "x"], "time": [1.0, 2.0], "event": ["view", "click"]}
    log = {"session": [1, 1], "query": ["q", "q"], "doc": ["a", "b"], "position": [1, 2], "clicked": [1, 0]}
    log |= {"user": [1, 1], "time": [1, 2], "propensity": [0.5, 0.5]}
    for columns, read in ((events, dx.data.from_interactions), (log, dx.clicks.Log.from_frame)):
        for name in columns:
            try:
                frame = door(columns | {name: odd})
            except Exception:  # noqa: BLE001 - the frame has no such column
                continue
            with suppress(dx.InputError), warnings.catch_warnings(action="ignore"):
                read(frame)


def test_days_far_apart_take_no_memory_between_them():
    events = {"user": ["a"] * 3, "item": ["x"] * 3, "time": ["0001-01-02", "2026-01-01", "9999-12-31"]}
    assert dx.data.from_interactions(events).query_ids == ("a/2026-01-01", "a/9999-12-31")


def test_columns_of_different_lengths_are_rejected():
    for change in ({"item": ["x"]}, {"user": "ab"}, {"item": [["x"], ["y"]]}, {"item": np.zeros((2, 2))}):
        with rejects(dx.InputError):
            dx.data.from_interactions({"user": ["a", "a"], "item": ["x", "x"], "time": [1, 2]} | change)


def test_of_an_unknown_user_nothing_is_counted():
    shown = {"session": [8], "item": ["tea"], "time": [30.0]}
    q = make(candidates=shown, history=True, missing="nan")
    known = np.isfinite(q.features[0])
    assert known.tolist() == [not name.startswith("user_item") for name in q.feature_names]
    with rejects(dx.InputError):
        make(candidates=shown, history=True)
    events = {key: EVENTS[key] for key in ("item", "time", "event", "session")}
    q = dx.data.from_interactions(events, by="session", candidates=shown)  # a session is its own user
    assert q.users.tolist() == [8]
    assert not q.features[0, 4:].any()


def test_there_is_no_order_to_restore():
    q = dx.data.from_interactions(
        {"user": list("abab"), "item": list("xyyx"), "time": [1, 2, 8, 9]}, by="user"
    )
    with pytest.raises(dx.InputError, match="Join by user and item"):
        q.restore(q.labels)


@pytest.mark.parametrize("sampling", ["uniform", "popularity"])
def test_more_negatives_than_fit_into_memory_are_rejected(sampling, monkeypatch):
    events = make_events(n=400)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    monkeypatch.setattr(memory, "_NOT_ASKED", 1000)
    with pytest.raises(dx.InputError, match=r"GB of memory.* Type e\.g\. negatives=20\."):
        dx.data.from_interactions(events, negatives=10**6, sampling=sampling)
