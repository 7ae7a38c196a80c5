"""Columns of categories: trees split by sets of them, and find them again by their names."""

import json
import pickle
import re
import warnings

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score
from tests.messages import rejects

import directrix as dx
from directrix.data.columns import ColumnNames
from directrix.data.file import DataFile
from directrix.experiments import permutation_importance

N = 1200
QID = np.repeat(np.arange(N // 20), 20)
SHOPS = np.array(list("abcdefghijklmnopqrst"))


@pytest.fixture(scope="module")
def data():
    """A frame whose shops are good or bad in no order, and labels."""
    rng = np.random.default_rng(0)
    shop, price = rng.choice(SHOPS, N), rng.random(N)
    worth = np.isin(shop, list("adfiknqt")) + 0.5 * price
    y = (worth + rng.normal(0.0, 0.2, N) > 0.9).astype(int) + (worth > 1.3)
    return pd.DataFrame({"shop": pd.Categorical(shop), "price": price}), y


@pytest.fixture(scope="module")
def ranker(data):
    return trees().fit(*data, qid=QID)


def trees(**more):
    return dx.BoostedRanker(**{"n_trees": 15, "num_leaves": 4, **more})


def codes(frame):
    return frame.assign(shop=frame["shop"].cat.codes.astype(float))


def test_sets_of_categories_rank_better_than_their_codes(data, ranker):
    frame, y = data
    by_code = trees().fit(codes(frame), y, qid=QID)
    assert ranker.score(frame, y, qid=QID) > by_code.score(codes(frame), y, qid=QID) + 0.1
    assert ranker.trees_.categories
    assert ranker.categories_ == (tuple(SHOPS), None)


def test_scores_are_those_of_lightgbm(data, ranker):
    frame, _ = data
    theirs = lightgbm.Booster(model_str=ranker.trees_.to_lightgbm())
    np.testing.assert_array_equal(ranker.predict(frame), theirs.predict(codes(frame).to_numpy()))


def test_categories_are_found_by_name(data, ranker, tmp_path):
    frame, _ = data
    expected = ranker.predict(frame)
    shop, price = frame["shop"], frame["price"]
    ranker.save(tmp_path / "model.json")
    loaded, copied = dx.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(ranker))
    for one in (ranker, loaded, copied):
        for others in (
            frame.assign(shop=pd.Categorical(shop, categories=SHOPS[::-1])),
            {"price": price, "shop": shop},
            pl.DataFrame({"shop": pl.Series(list(shop), dtype=pl.Categorical), "price": price}),
            pl.DataFrame({"shop": pl.Series(list(shop), dtype=pl.Enum(SHOPS)), "price": price}),
            pa.table({"shop": pa.array(list(shop)).dictionary_encode(), "price": price}),
        ):
            np.testing.assert_array_equal(one.predict(others), expected)
    few = shop != "a"
    left = frame[few].assign(shop=shop[few].cat.remove_unused_categories())
    np.testing.assert_array_equal(ranker.predict(left), expected[few])
    assert loaded.categories_ == ranker.categories_


NUMBERS = {  # of 0, 1 and 10
    "whole": lambda c: pd.Categorical(c),
    "small": lambda c: pd.Categorical(c.astype(np.int8)),
    "real": lambda c: pd.Categorical(c.astype(float)),
    "objects": lambda c: pd.Categorical([True if x == 1 else np.float32(x) for x in c]),
    "polars": lambda c: pl.Series(c.astype(str), dtype=pl.Categorical),
    "text": lambda c: pd.Categorical(c.astype(str)),
    "text of real numbers": lambda c: pd.Categorical(c.astype(float).astype(str)),
}


@pytest.mark.parametrize("trained", NUMBERS)
def test_equal_numbers_are_one_category(trained, tmp_path):
    c = np.resize([0, 1, 10, 1], 200)
    y, qid, x = (c == 1).astype(int), np.arange(200) // 10, np.zeros(200)
    as_csv = pd.DataFrame({"c": [None, *c], "x": 0.0, "label": 0, "qid": 1})  # pandas writes 1.0
    as_csv.to_csv(tmp_path / "c.csv", index=False)
    as_csv.to_parquet(tmp_path / "c.parquet")
    ranker = trees(min_data_in_leaf=2).fit({"c": NUMBERS[trained](c), "x": x}, y, qid=qid)
    expected = ranker.predict({"c": NUMBERS[trained](c), "x": x})
    assert len(np.unique(expected)) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in NUMBERS.values():
            np.testing.assert_array_equal(ranker.predict({"c": make(c), "x": x}), expected)
        for name in ("c.csv", "c.parquet"):
            q = DataFile(tmp_path / name, ColumnNames(categorical=("c",))).queries("nan")
            np.testing.assert_array_equal(ranker.predict_queries(q)[1:], expected)


def test_numbers_that_are_not_equal_and_text_stay_apart():
    q = dx.Queries.from_frame(
        {"qid": [1] * 6, "label": [0] * 6, "c": ["1", "1.0", "01", 0.5, np.inf, "True"]}, categorical="c"
    )
    assert q.categories == (("0.5", "01", "1", "1.0", "True", "inf"),)


def test_an_unknown_category_is_a_missing_one(data, ranker):
    frame, y = data
    is_a = (frame["shop"] == "a").to_numpy()
    unknown = frame.assign(shop=pd.Categorical(np.where(is_a, "new", frame["shop"])))
    missing = frame.assign(shop=frame["shop"].where(~is_a))
    said = (
        rf"{is_a.sum()} of 1,200 values of 'shop' are categories that the model has not seen \(e.g. 'new'\)"
    )
    with pytest.warns(UserWarning, match=said):
        scores = ranker.predict(unknown)
    with pytest.warns(UserWarning, match="the validation data: " + said):
        trees().fit(frame, y, qid=QID, eval_set=(unknown, y), eval_qid=QID)
    np.testing.assert_array_equal(scores, ranker.predict(missing, missing="nan"))
    assert (scores != ranker.predict(frame)).any()


def test_columns_of_text_hold_the_categories_of_the_training_data(data, ranker):
    frame, y = data
    expected = ranker.predict(frame)
    for given in (frame.astype({"shop": str}), {"shop": list(frame["shop"]), "price": frame["price"]}):
        np.testing.assert_array_equal(ranker.predict(given), expected)
    train, valid = QID < 40, QID >= 40
    by_type = {}
    for kind, text in (("category", frame), ("text", frame.astype({"shop": str}))):
        judged = {"eval_set": (text[valid], y[valid]), "eval_qid": QID[valid]}
        by_type[kind] = trees().fit(frame[train], y[train], qid=QID[train], **judged).predict(frame)
    np.testing.assert_array_equal(by_type["text"], by_type["category"])
    again = trees().fit(frame, y, qid=QID)
    numbers = codes(frame)
    again.fit(
        numbers[train], y[train], qid=QID[train], eval_set=(numbers[valid], y[valid]), eval_qid=QID[valid]
    )
    assert again.categories_ is None, "those of the last fit are forgotten"


def test_arrays_hold_whole_numbers(data, ranker):
    frame, y = data
    X = codes(frame)
    expected = ranker.predict(frame)
    for given, column in ((X, "shop"), (X, 0), (X.to_numpy(), 0)):
        own = trees(categorical_features=[column]).fit(given, y, qid=QID)
        np.testing.assert_array_equal(own.predict(given), expected)
    assert clone(own).categorical_features == [0]
    for wrong in (1.5, -1.0, 2.0**40):
        with pytest.raises(dx.InputError, match=f"column 0 holds {re.escape(f'{wrong:g}')}; .*whole numbers"):
            own.predict([[wrong, 0.5]])


def test_queries_keep_categories(data, ranker):
    frame, y = data
    q = dx.Queries.from_frame(frame.assign(label=y, qid=QID))
    np.testing.assert_array_equal(ranker.predict_queries(q), ranker.predict(frame))
    assert q.take([3, 1]).categories == q.categories
    kept = (frame["shop"] != "b").to_numpy()
    part = dx.Queries.from_frame(frame.assign(label=y, qid=QID)[kept])
    by_text = frame.assign(label=y, qid=QID, shop=frame["shop"].astype(str))
    assert dx.Queries.from_frame(by_text, categorical="shop").categories == q.categories
    np.testing.assert_array_equal(ranker.predict_queries(part), ranker.predict(frame)[kept])
    importance = permutation_importance(ranker, q, "nDCG@5", n_repeats=1)
    assert importance.mean[0] > 0.1
    stopped = trees().fit_queries(q, part)
    assert stopped.evals_result_["valid_0"]


def test_trees_go_on_with_the_same_categories(data, ranker):
    frame, y = data
    more = trees(n_trees=11, init_model=trees(n_trees=4).fit(frame, y, qid=QID)).fit(frame, y, qid=QID)
    np.testing.assert_array_equal(more.predict(frame), ranker.predict(frame))
    few = (frame["shop"] != "a").to_numpy()
    left = frame[few].assign(shop=frame["shop"][few].cat.remove_unused_categories())
    with rejects(dx.InputError):
        trees(init_model=ranker).fit(left, y[few], qid=QID[few])


def test_a_search_leaves_out_what_takes_no_categories(data):
    frame, y = data
    auto = dx.AutoRanker(method="ListNet,YetiRank", folds=2).fit(frame, y, qid=QID)
    assert auto.search_.chosen.name == "YetiRank"
    left_out = "ListNet: not trained, because they compare numbers, and some features are categories"
    assert auto.search_.notes[0] == left_out


def test_scikit_learn_hands_frames_on(data):
    frame, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = trees().set_fit_request(qid=True).set_score_request(qid=True)
        params = {"qid": QID, "groups": QID}
        assert cross_val_score(ranker, frame, y, cv=GroupKFold(3), params=params).min() > 0.8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f, y: dx.LinearRanker().fit(f, y, qid=QID), "'shop' holds categories.*LinearRanker compares"),
        (lambda f, y: trees(scale="log").fit(f, y, qid=QID), "'shop' holds categories"),
        (lambda f, y: trees(scale="log", categorical_features=[0]).fit(codes(f), y, qid=QID), "scale='log'"),
        (
            lambda f, y: trees(categorical_features=["shp"]).fit(codes(f), y, qid=QID),
            "'shp'.*names shop, price",
        ),
        (
            lambda f, y: trees(categorical_features=[2]).fit(codes(f), y, qid=QID),
            "2 features, numbered from 0",
        ),
        (lambda f, y: trees(categorical_features=[1]).fit(codes(f), y, qid=QID), "column 1 holds 0.*whole"),
        (
            lambda f, y: trees(lightgbm_params={"monotone_constraints": [1, 0]}).fit(f, y, qid=QID),
            "no order; give 0 for the columns 0",
        ),
        (
            lambda f, y: trees(lightgbm_params={"monotone_constraints": "-1,0"}).fit(f, y, qid=QID),
            "no order; give 0 for the columns 0",
        ),
        (
            lambda f, y: trees(lightgbm_params={"monotone_constraints": "x,0"}).fit(f, y, qid=QID),
            "no order; give 0 for the columns 0",
        ),
        (
            lambda f, y: trees(lightgbm_params={"monotone_constraints": 1}).fit(codes(f), y, qid=QID),
            "monotone_constraints",
        ),
        (
            lambda f, y: trees(lightgbm_params={"categorical_feature": [0]}).fit(f, y, qid=QID),
            r"type BoostedRanker\(categorical_features=...\)",
        ),
        (lambda f, y: trees().fit(f, y, qid=QID).predict(codes(f)), "'shop' of the data holds numbers"),
        (lambda f, y: trees().fit(codes(f), y, qid=QID).predict(f), "'shop' of the data holds categories"),
        (
            lambda f, y: trees().fit(f, y, qid=QID, eval_set=(codes(f), y), eval_qid=QID),
            "'shop' of the validation data holds numbers",
        ),
    ],
)
def test_what_is_no_category_is_refused_by_name(data, make, message):
    with pytest.raises(dx.InputError, match=message):
        make(*data)


@pytest.mark.parametrize(
    "bad", [{}, [["a", "b"]], ["a", None], [["a", "a"], None], [[1, 2], None], [[["a"]], None]]
)
def test_damaged_categories_of_a_file(ranker, tmp_path, bad):
    path = tmp_path / "model.json"
    ranker.save(path)
    content = json.loads(path.read_text())
    content["features"]["categories"] = bad
    path.write_text(json.dumps(content))
    with rejects(dx.InputError):
        dx.load(path)


@pytest.mark.parametrize("constraints", [np.array([0, 1]), [0, 1], (0, 1), "0,1", " 0, 1"])
def test_constraints_of_other_columns_have_any_form(data, constraints):
    frame, y = data
    ranker = trees(lightgbm_params={"monotone_constraints": constraints}).fit(frame, y, qid=QID)
    prices = pd.DataFrame({"shop": frame["shop"][:1].repeat(9), "price": np.linspace(0.0, 1.0, 9)})
    assert (np.diff(ranker.predict(prices)) >= 0.0).all()
    assert trees(lightgbm_params={"monotone_constraints": constraints}).fit(codes(frame), y, qid=QID)


def test_a_column_without_any_value_is_missing():
    rng = np.random.default_rng(0)
    brand = rng.choice(["a", "b", "c"], 200)
    y = (brand == "b") + rng.integers(0, 2, 200)
    frame = pd.DataFrame({"x": rng.random(200), "brand": pd.Categorical(brand)})
    ranker = dx.BoostedRanker(n_trees=5).fit(frame, y, group=[10] * 20)
    codes = pd.DataFrame({"x": frame.x, "brand": pd.Categorical([None] * 200, categories=["a", "b", "c"])})
    expected = ranker.predict(codes, missing="nan")
    for empty in ([None] * 200, [float("nan")] * 200, [""] * 200):
        for form in (pd.DataFrame, dict):
            found = ranker.predict(form({"x": frame.x.to_numpy(), "brand": empty}), missing="nan")
            np.testing.assert_array_equal(found, expected)


def test_empty_text_is_a_missing_category_in_every_form(tmp_path):
    frame = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "brand": ["a", None, "b", None]})
    frame.to_parquet(tmp_path / "d.parquet")
    frame.to_csv(tmp_path / "d.csv", index=False)
    filled = frame.fillna("")
    filled.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    columns = ColumnNames(categorical=("brand",))
    read = [DataFile(tmp_path / f"d.{kind}", columns).queries("nan") for kind in ("parquet", "csv", "jsonl")]
    for q in (*read, dx.Queries.from_frame(filled, missing="nan", categorical="brand")):
        np.testing.assert_array_equal(q.features[:, 0], [0, np.nan, 1, np.nan])
        assert q.categories == (("a", "b"),)
    for kind in ("parquet", "csv", "jsonl"):
        with pytest.raises(dx.InputError, match="missing"):
            DataFile(tmp_path / f"d.{kind}", columns).queries()
