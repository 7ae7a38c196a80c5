"""One rule matches features by name at every door: shell, frames, `Queries`, scorers and starts."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.commands import refused, succeed

import directrix as dx
from directrix.data.matching import match_features
from directrix.data.queries import take_columns

RNG = np.random.default_rng(0)
NAMES = ["price", "age", "clicks"]
FRAME = pd.DataFrame(RNG.normal(size=(60, 3)), columns=NAMES)
COLOR = RNG.choice(["red", "green"], 60)
LABELS, QID = RNG.integers(0, 3, 60), np.repeat(np.arange(6), 10)

CASES = {
    "same": (FRAME, ""),
    "reordered": (FRAME[NAMES[::-1]], ""),
    "lacking": (FRAME[["price", "clicks"]], "got no 'age'."),
    "surplus": (FRAME.assign(shop=1.0), "got also 'shop'."),
    "renamed": (
        FRAME.rename(columns={"price": "Price"}),
        "got no 'price' but 'Price'; did you mean 'Price' by 'price'?",
    ),
    "others": (FRAME.set_axis(["u", "v", "w"], axis=1), "got no 'price', 'age', 'clicks' but 'u', 'v', 'w'."),
    "duplicated": (FRAME.set_axis(["price", "age", "age"], axis=1), "2 columns have the name 'age'"),
    "no names": (FRAME.set_axis(range(3), axis=1), ""),
    "no names, fewer": (FRAME.iloc[:, :2].set_axis(range(2), axis=1), "2"),
}
"""Columns of data, and the difference from the features of the model; empty where the scores are the same."""


@pytest.fixture(scope="module")
def ranker():
    return dx.LinearRanker(max_iter=5).fit(FRAME, LABELS, qid=QID)


@pytest.fixture(scope="module")
def model(ranker, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    ranker.save(path)
    return path


def queries(frame):
    return dx.Queries.from_arrays(frame, LABELS, qid=QID)


DOORS = {
    "frame": lambda frame, ranker, _: ranker.predict(frame),
    "polars": lambda frame, ranker, _: ranker.predict(pl.from_pandas(frame)),
    "dict": lambda frame, ranker, _: ranker.predict(frame.to_dict("list")),
    "rows": lambda frame, ranker, _: ranker.predict(frame.to_dict("records")),
    "Queries": lambda frame, ranker, _: ranker.predict_queries(queries(frame)),
    "scorer": lambda frame, _, model: dx.load_scorer(model).predict(frame),
    "scorer of rows": lambda frame, _, model: dx.load_scorer(model).predict(frame.to_dict("records")),
    "validation": lambda frame, ranker, _: (
        dx.LinearRanker(max_iter=0, start=ranker)
        .fit(FRAME, LABELS, qid=QID, eval_set=(frame, LABELS), eval_qid=QID)
        .predict(FRAME)
    ),
    "start": lambda frame, ranker, _: (
        dx.LinearRanker(max_iter=0, start=ranker).fit(frame, LABELS, qid=QID).predict(frame)
    ),
}
# A dict of columns or a row cannot name a column twice, polars names all columns, and a dict has names.
IMPOSSIBLE = {
    *((door, "duplicated") for door in ("polars", "dict", "rows", "scorer of rows")),
    *(
        (door, case)
        for door in ("polars", "dict", "rows", "scorer of rows")
        for case in ("no names", "no names, fewer")
    ),
}
# A name that a row lacks is a missing value; the training queries of a start decide the order.
EXCEPTIONS = {
    ("rows", "lacking"): "'age' is missing (NaN)",
    ("scorer of rows", "lacking"): "'age' is missing (NaN)",
    ("start", "reordered"): "in the same order, got 'clicks' for 'price'.",
}


@pytest.mark.filterwarnings(
    "ignore:.*valid feature names", "ignore:the validation queries hold the same rows"
)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("door", DOORS)
def test_all_doors_agree(door, case, ranker, model):
    if (door, case) in IMPOSSIBLE:
        return
    frame, difference = CASES[case]
    difference = EXCEPTIONS.get((door, case), difference)
    if not difference:
        scores = DOORS[door](frame, ranker, model)
        np.testing.assert_allclose(scores, ranker.predict(FRAME), rtol=1e-12, atol=1e-15)
        return
    with pytest.raises(ValueError, match=re.escape(difference)):
        DOORS[door](frame, ranker, model)


@pytest.mark.parametrize("case", CASES)
def test_the_shell_agrees_but_notes_surplus_columns(case, ranker, model, tmp_path):
    frame, difference = CASES[case]
    path = tmp_path / "data.csv"
    if case.startswith("no names"):
        path = tmp_path / "data.txt"
        rows = zip(LABELS, QID, frame.to_numpy().tolist(), strict=True)
        cells = [
            (label, qid, (f"{j}:{value!r}" for j, value in enumerate(row, 1))) for label, qid, row in rows
        ]
        path.write_text("".join(f"{label} qid:{qid} {' '.join(row)}\n" for label, qid, row in cells))
    else:
        frame.assign(qid=QID, label=LABELS).to_csv(path, index=False)
    if difference and case != "surplus":
        assert difference in refused("predict", model, path)
        return
    result = succeed("predict", model, path)
    scores = np.array(result.stdout.split(), float)
    np.testing.assert_allclose(scores, ranker.predict(FRAME), rtol=1e-4)  # LETOR text has float32
    assert ("are left out: 'shop'" in result.stderr) == (case == "surplus")


def test_categories_are_matched_by_name_at_every_door(tmp_path):
    frame = FRAME.assign(color=pd.Categorical(COLOR))
    ranker = dx.BoostedRanker(n_trees=5, min_data_in_leaf=2).fit(frame, LABELS, qid=QID)
    ranker.save(tmp_path / "model.json")
    expected = ranker.predict(frame)
    assert (expected != ranker.predict(frame.assign(color=pd.Categorical(COLOR[::-1])))).any()
    other = frame[["color", *NAMES[::-1]]].assign(color=pd.Categorical(COLOR, ["red", "green", "blue"]))
    scorer = dx.load_scorer(tmp_path / "model.json")
    other.assign(qid=QID, label=LABELS).to_csv(tmp_path / "data.csv", index=False)
    shown = succeed("predict", tmp_path / "model.json", tmp_path / "data.csv").stdout
    for scores in (
        ranker.predict(other),
        ranker.predict(other.to_dict("records")),
        ranker.predict_queries(queries(other)),
        scorer.predict(other),
        scorer.predict(other.to_dict("records")),
        np.array(shown.split(), float),
    ):
        np.testing.assert_array_equal(scores, expected)


def test_columns_that_nobody_wants_may_share_a_name():
    match = match_features(("title", "age", "title"), ("age",))
    assert (match.columns, match.lacking, match.surplus) == ((1,), (), ("title", "title"))


def test_columns_are_taken_with_names_and_categories():
    q = queries(FRAME.assign(color=pd.Categorical(COLOR)))
    assert take_columns(q, range(4)) is q
    other = take_columns(q, [3, 0])
    assert other.feature_names == ("color", "price")
    assert other.categories == (("green", "red"), None)
    assert take_columns(q, [1]).categories is None


def test_a_model_without_names_takes_columns_by_position(ranker):
    plain = dx.LinearRanker(max_iter=5).fit(FRAME.to_numpy(), LABELS, qid=QID)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        np.testing.assert_array_equal(plain.predict(FRAME), ranker.predict(FRAME))
    np.testing.assert_array_equal(plain.predict_queries(queries(FRAME)), ranker.predict(FRAME))
