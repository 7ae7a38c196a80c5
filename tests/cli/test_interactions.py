"""``directrix events interactions``, and lists of ``predict`` that repeat less."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.commands import refused, succeed
from tests.data.interactions.test_build import COUNTED, make_events

import directrix as dx

pytestmark = [pytest.mark.filterwarnings(f"ignore:.* {text}") for text in COUNTED]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with events, other names of their columns, and features of items."""
    folder = tmp_path_factory.mktemp("tables")
    events = pd.DataFrame(make_events(n=300))
    events["event"] = events.event.replace({"purchase": "order"})
    events.rename(columns={"user": "who", "item": "sku", "time": "at"}).to_csv(folder / "e.csv", index=False)
    items = pd.DataFrame({"sku": sorted(events["item"].unique())})
    items["price"], items["brand"] = np.arange(len(items)) / 7, [f"b{i % 3}" for i in range(len(items))]
    items.to_csv(folder / "items.csv", index=False)
    return folder


GRADES = {"view": 0, "click": 1, "cart": 2, "order": 5}
NAMES = ("--user-column", "who", "--item-column", "sku", "--time-column", "at")
KINDS = [word for kind, grade in GRADES.items() for word in ("--grade", f"{kind}={grade}")]


def test_the_files_are_those_of_the_function(tables, tmp_path):
    train, test = tmp_path / "train.parquet", tmp_path / "test.arrow"
    arguments = (*NAMES, *KINDS, "--negatives", 5, "--item-features", tables / "items.csv")
    ends = ("--split", 2.5 * 86400, "-o", train, "--test-output", test, "--categorical-columns", "brand")
    done = succeed("events", "interactions", tables / "e.csv", *arguments, *ends, "--seed", 3)
    named = {"user": "who", "item": "sku", "time": "at", "grades": GRADES, "categorical": "brand", "seed": 3}
    drawn, full = (
        dx.data.from_interactions(
            tables / "e.csv", negatives=n, item_features=tables / "items.csv", **named
        ).split(2.5 * 86400)
        for n in (5, None)
    )
    assert f"note: {train} has sampled negatives" in done.stderr
    assert full[1].n_docs > drawn[1].n_docs
    for path, part in ((train, drawn[0]), (test, full[1])):
        read = dx.data.read_parquet(path)
        assert f"saved: {path} ({part.n_docs} rows, {part.n_queries} queries" in done.stderr
        np.testing.assert_array_equal(read.features, part.features)
        np.testing.assert_array_equal(read.labels, part.labels)
        assert (read.query_ids, [*read.doc_ids]) == (part.query_ids, [*part.doc_ids])
        assert (read.feature_names, read.categories) == (part.feature_names, part.categories)
    succeed("train", train, "--method", "LambdaMART", "--set", "n_trees=3", "-o", tmp_path / "model.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("--user-column", "usr"), "there is no column usr"),
        (("--user-column", "usr"), "Type --user-column NAME"),
        (("--grade", "order"), "--grade order: KIND=LABEL is needed; type e.g. --grade order=3"),
        (("--grade", "view=1"), "Type --grade 'click'=1, and so on"),
        (("--sampling", "popularity"), "Type e.g. --negatives 20"),
        (("--decision", "3"), "a decision for all queries needs by='user', got by='day'; leave it out"),
        (
            ("--by", "user", "--decision", "01.09.2025"),
            "decision: '01.09.2025' is not a time; a number, a date, or",
        ),
        (("--categorical-columns", "brnd"), "no table has a feature 'brnd'"),
        (("--item-features", "ITEMS"), "Type --categorical-columns brand if they are categories"),
        (("--by", "user", "--candidates", "EMPTY"), "candidates: there is no row"),
        (("--split", "0", "--test-output", "OUT"), "no query is before 0"),
        (("--split", "soon", "--test-output", "OUT"), "--split: 'soon' is not a time"),
    ],
)
def test_messages_name_options(change, words, tables, tmp_path):
    paths = {"ITEMS": tables / "items.csv", "EMPTY": tables / "empty.csv", "OUT": tmp_path / "test.parquet"}
    paths["EMPTY"].write_text("user,item\n")
    arguments = (
        *NAMES,
        *(() if change[0] == "--grade" else KINDS),
        *(paths.get(word, word) for word in change),
    )
    told = refused("events", "interactions", tables / "e.csv", *arguments, "-o", tmp_path / "train.parquet")
    assert words in told
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("default:calibrated on the training data")
def test_calibrate_notes_sampled_negatives(tables, tmp_path):
    drawn, full, model = (tmp_path / name for name in ("drawn.parquet", "full.arrow", "m.json"))
    succeed("events", "interactions", tables / "e.csv", *NAMES, *KINDS, "-o", drawn, "--negatives", 5)
    succeed("events", "interactions", tables / "e.csv", *NAMES, *KINDS, "-o", full)
    succeed("train", full, "--method", "LambdaMART", "--set", "n_trees=3", "-o", model)
    notes = [
        succeed("calibrate", model, data, "--kind", "platt", "-o", tmp_path / f"{data.stem}.json").stderr
        for data in (drawn, full)
    ]
    assert ["has sampled negatives, so the" in note for note in notes] == [True, False]


def test_warnings_are_one_note_each(tables, tmp_path):
    lines = (tables / "e.csv").read_text().splitlines()
    (tmp_path / "e.csv").write_text("\n".join([*lines, *lines[1:4]]) + "\n")
    ends = ("--split", 2.5 * 86400, "-o", tmp_path / "a.parquet", "--test-output", tmp_path / "b.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = succeed("events", "interactions", tmp_path / "e.csv", *NAMES, *KINDS, "--negatives", 5, *ends)
    assert done.stderr.count(f"note: 3 of {len(lines) + 2} events repeat an earlier one") == 1
    for text in ("had no event before the decision", "have a label from after it"):
        assert done.stderr.count(text) == 1


def test_wrong_usage(tables, tmp_path):
    same = ("-o", tmp_path / "t.arrow", "--split", "3", "--test-output", tmp_path / "t.arrow")
    for arguments in (("-o", tmp_path / "t.txt"), same[:4], same):
        refused("events", "interactions", tables / "e.csv", *arguments, status=2)


def test_predict_ranks_documents_of_one_category_apart(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"qid": np.repeat(range(20), 10), "x": rng.random(200)})
    frame["label"], frame["brand"] = (frame.x > rng.random(200)).astype(int), rng.choice([*"abc"], 200)
    frame.to_csv(tmp_path / "d.csv", index=False)
    columns = ("--exclude-columns", "brand")
    trained = tmp_path / "m.json"
    frame[frame.qid < 15].to_csv(tmp_path / "t.csv", index=False)
    succeed("train", tmp_path / "t.csv", *columns, "--method", "Regression", "-o", trained)
    told = refused("predict", trained, tmp_path / "d.csv", *columns, "--diversify-column", "brand")
    assert "directrix calibrate" in told
    calibrated = tmp_path / "c.json"
    succeed("calibrate", trained, tmp_path / "d.csv", *columns, "--kind", "platt", "-o", calibrated)
    arguments = ("--diversify-column", "brand", "--trade-off", 0.4, "-o", tmp_path / "s.txt")
    succeed("predict", calibrated, tmp_path / "d.csv", *arguments)
    p = dx.load(calibrated).predict_probability(frame[["x"]])
    expected = dx.diversity.mmr(p, frame.brand, trade_off=0.4, qid=frame.qid)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "s.txt"), expected)
    order = np.random.default_rng(1).permutation(200)  # rows of a query anywhere
    frame.iloc[order].to_csv(tmp_path / "d.csv", index=False)
    succeed("predict", calibrated, tmp_path / "d.csv", *arguments)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "s.txt"), expected[order])
    for name, data in (("colour", tmp_path / "d.csv"), ("brand", tmp_path / "d.txt")):
        (tmp_path / "d.txt").write_text("1 qid:1 1:0.5\n")
        told = refused("predict", calibrated, data, "--diversify-column", name)
        assert f"there is no column {name}; its columns are" in told
    assert json.loads(calibrated.read_text())["calibration"]


def test_predict_ranks_documents_of_one_category_apart_that_is_a_feature(tables, tmp_path):
    data, held, model, calibrated = (
        tmp_path / name for name in ("d.parquet", "h.parquet", "m.json", "c.json")
    )
    features = ("--item-features", tables / "items.csv", "--categorical-columns", "brand")
    parts = ("--split", 2.5 * 86400, "--test-output", held, "-o", data)
    succeed("events", "interactions", tables / "e.csv", *NAMES, *KINDS, *features, *parts)
    succeed("train", data, "--method", "LambdaMART", "--set", "n_trees=3", "-o", model)
    succeed("calibrate", model, held, "--kind", "platt", "-o", calibrated)
    succeed("predict", calibrated, held, "--diversify-column", "brand", "-o", tmp_path / "s.txt")
    q, ranker = dx.data.read_parquet(held), dx.load(calibrated)
    brands = q.features[:, q.feature_names.index("brand")]
    expected = dx.diversity.mmr(ranker.calibration_(ranker.predict_queries(q)), brands, qptr=q.qptr)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "s.txt"), expected)
