"""Scores and order of one list: those of ``predict``, without scikit-learn."""

import decimal
import fractions
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from tests.messages import rejects

import directrix as dx
from directrix.errors import InputError

Q, _ = dx.data.make_linear(n_queries=30, docs_per_query=12, n_features=5, seed=3)
LIST = np.random.default_rng(1).normal(size=(40, 5))
GAPS = np.where(np.random.default_rng(2).random(LIST.shape) < 0.2, np.nan, LIST)
SCALES = (
    None,
    "standard",
    "minmax",
    "log",
    "quantile",
    "query-standard",
    "query-percentile",
    "raw+query-minmax",
)
MODELS = {
    "linear": lambda **more: dx.LinearRanker(max_iter=20, **more),
    "network": lambda **more: dx.MLPRanker(hidden=(6, 6), max_iter=5, **more),
    "residual": lambda **more: dx.MLPRanker(
        hidden=(6, 6), activation="tanh", residual=True, max_iter=5, **more
    ),
    "stumps": lambda **more: dx.StumpRanker(trainer="rankboost", max_iter=30, **more),
    "trees": lambda **more: dx.BoostedRanker(n_trees=10, num_leaves=5, min_data_in_leaf=3, **more),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@pytest.fixture
def reload(path):
    """A function from a ranker to the scorer of its file."""

    def scorer(ranker):
        ranker.save(path)
        return dx.load_scorer(path)

    return scorer


def expected(ranker, X):
    """Positions by the scores of ``predict``, and these scores."""
    scores = ranker.predict(X, group=[len(X)])
    return np.argsort(-scores, kind="stable"), scores


def test_a_scorer_has_the_names_of_its_features_in_their_order(reload):
    frame = pd.DataFrame(Q.features, columns=["bm25", "title", "age", "clicks", "price"])
    ranker = MODELS["linear"]().fit(frame, Q.labels, group=np.diff(Q.qptr))
    assert reload(ranker).feature_names == tuple(frame.columns)
    assert reload(MODELS["linear"]().fit_queries(Q)).feature_names is None


@pytest.mark.parametrize(
    "convert", [lambda frame: frame, pl.from_pandas, lambda frame: frame.to_dict("list")]
)
def test_named_columns_have_any_order(reload, convert):
    """They were read by position, which gives other scores without an error."""
    names = ["bm25", "title", "age", "clicks", "price"]
    frame = pd.DataFrame(Q.features, columns=names).astype({"age": float})
    numbers = MODELS["linear"]().fit(frame, Q.labels, group=np.diff(Q.qptr))
    shops = frame.assign(title=pd.Categorical(np.where(frame.title > 0, "x", "y")))
    categories = MODELS["trees"]().fit(shops, Q.labels, group=np.diff(Q.qptr))
    for ranker, given in ((numbers, frame), (categories, shops)):
        scorer, other = reload(ranker), convert(given[names[::-1]])
        np.testing.assert_allclose(scorer.predict(other), ranker.predict(given), rtol=1e-9, atol=1e-9)
        assert scorer.predict(convert(given[:0])).shape == (0,)
        with pytest.raises(InputError, match="got no 'price' but 'cost'"):
            scorer.predict(convert(given.rename(columns={"price": "cost"})))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", MODELS)
def test_the_order_is_that_of_predict(reload, kind, scale):
    ranker = MODELS[kind](scale=scale).fit_queries(Q)
    scorer = reload(ranker)
    assert scorer.rank(LIST[:0]).size == 0  # a search may find nothing
    for X in (LIST, LIST.astype(np.float32), np.asfortranarray(LIST), LIST[::2], LIST.tolist()):
        order, scores = expected(ranker, np.asarray(X))
        found = scorer.rank(X)
        # an order may differ only where scores are equal but for rounding of float32
        np.testing.assert_allclose(scores[found], scores[order], rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(scorer.predict(X), scores, rtol=2e-5, atol=2e-5)
        assert sorted(found) == list(range(len(scores)))
        if X is LIST:
            np.testing.assert_array_equal(found, order)


@pytest.mark.parametrize("rule", ["error", "nan"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", MODELS)
def test_missing_values_are_taken_or_refused_as_by_predict(reload, kind, scale, rule):
    ranker = MODELS[kind](scale=scale)
    with_gaps = Q.features.copy()
    with_gaps[::7] = np.nan
    given = with_gaps if rule == "nan" and ranker.takes_missing else Q.features
    scorer = reload(ranker.fit(given, Q.labels, group=np.diff(Q.qptr), missing=rule))
    try:
        order, _ = expected(ranker, GAPS)
    except InputError:
        with rejects(InputError):
            scorer.rank(GAPS)
        return
    np.testing.assert_array_equal(scorer.rank(GAPS), order)


@pytest.mark.parametrize("kind", MODELS)
def test_an_infinite_value_is_refused(reload, kind):
    scorer = reload(MODELS[kind](scale="standard").fit_queries(Q))
    for bad in (np.inf, -np.inf):
        X = LIST.copy()
        X[7, 2] = bad
        with rejects(InputError):
            scorer.rank(X)


def test_ensembles_and_searches(reload):
    members = [MODELS[kind](scale=scale) for kind, scale in (("linear", "standard"), ("trees", None))]
    ensemble = dx.EnsembleRanker(members, weights=[1, 2]).fit_queries(Q)
    auto = dx.AutoRanker("nDCG@5", method="Regression", random_state=0).fit_queries(Q)
    for ranker in (ensemble, auto):
        order, scores = expected(ranker, LIST)
        scorer = reload(ranker)
        np.testing.assert_array_equal(scorer.rank(LIST), order)
        np.testing.assert_allclose(scorer.predict(LIST), scores, rtol=1e-9, atol=1e-12)


def test_equal_scores_keep_their_order(reload):
    assert reload(MODELS["trees"]().fit_queries(Q)).rank(np.zeros((50, 5))).tolist() == list(range(50))


def shops(kinds="abc", n=120):
    """A frame with a column of categories, and labels that depend on both columns."""
    frame = pd.DataFrame({"price": np.arange(n) % 7, "shop": pd.Categorical(list(kinds) * (n // len(kinds)))})
    return frame, frame["shop"].map(kinds.index).to_numpy(dtype=float) + (frame["price"] > 3)


TREES = dx.BoostedRanker(n_trees=5, num_leaves=4, min_data_in_leaf=2)


@pytest.mark.parametrize("kinds", ["abc", (1, 2, 30), ("01", "1.0", "x")])
def test_categories_are_coded_as_by_predict(reload, kinds):
    frame, y = shops(kinds)
    frame.loc[frame.index % 11 == 0, ["price", "shop"]] = None
    ranker = clone(TREES).fit(frame, y, qid=np.arange(120) // 6, missing="nan")
    scorer = reload(ranker)
    rows = [[0, kinds[2]], [np.nan, kinds[1]], [2, None], [3, ""], [4, kinds[0]], [5, str(kinds[1])]]
    shop = pd.Categorical([kinds[2], kinds[1], None, None, kinds[0], kinds[1]])
    expected = ranker.predict(pd.DataFrame(rows, columns=frame.columns).assign(shop=shop), group=[6])
    assert len({*expected}) > 3
    for given in (rows, np.array(rows, dtype=object)):
        np.testing.assert_array_equal(scorer.predict(given), expected)
    np.testing.assert_array_equal(scorer.rank(rows), np.argsort(-expected, kind="stable"))
    with pytest.warns(UserWarning, match="values of 'shop' are categories that the model has not seen"):
        assert scorer.predict([[2, "new"]]) == expected[2]
    assert scorer.predict(np.empty((0, 2))).tolist() == []
    for bad, message in (
        ([["a", kinds[0]]], "there is text"),
        ([["a"]], r"shape \(1, 1\)"),
        ([[1, "a"], [2]], r"shape \(2,\)"),
    ):
        with pytest.raises(InputError, match=message):
            scorer.rank(bad)


def test_codes_in_place_of_names_are_rejected(reload):
    frame, y = shops()
    coded = dx.Queries.from_frame(frame.assign(qid=np.arange(120) // 6, label=y))
    scorer = reload(clone(TREES).fit_queries(coded))
    with rejects(InputError):
        scorer.predict(coded.features[:6])
    frame, y = shops((1, 2, 30))
    scorer = reload(clone(TREES).fit(frame, y, qid=np.arange(120) // 6))
    with pytest.warns(UserWarning, match="values of 'shop' are categories that the model has not seen"):
        scorer.predict([[2.0, 31]])  # a new shop, where names are numbers


def test_a_missing_category_is_not_the_first_where_missing_numbers_are_0(reload):
    frame, y = shops()

    def queries(frame, **columns):
        frame = frame.assign(**columns).astype({"shop": "category"})
        return dx.Queries.from_frame(frame, missing="zero")

    data = queries(frame, price=frame.price - 3.0, qid=np.arange(120) // 6, label=y)
    ranker = clone(TREES).fit_queries(data)
    rows = [[np.nan, "b"], [0.0, None], [1.0, "a"]]
    wanted = queries(pd.DataFrame(rows, columns=frame.columns), qid=1, label=0)
    np.testing.assert_array_equal(reload(ranker).predict(rows), ranker.predict_queries(wanted))


def test_categories_without_names_need_the_estimator(reload):
    frame, y = shops((0, 1, 2))
    ranker = clone(TREES).set_params(categorical_features=[1])
    with rejects(InputError):
        reload(ranker.fit(frame.to_numpy(dtype=float), y, qid=np.arange(120) // 6))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (LIST[:, :4], r"shape \(40, 4\); the model was trained on 5 features"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], r"shape \(5,\)"),
        ([["a"] * 5], "not an array of numbers"),
        ([[1.0] * 5, [2.0]], "not an array"),
        (LIST.astype(complex), "dtype complex"),
        (None, "^features "),
        ([{"a": 1.0}, {"a": 2.0}], "not an array of numbers"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), "not an array of numbers"),
        (np.full((2, 5), 1e308) * [[1.0], [-1.0]], "not finite"),
    ],
)
def test_what_is_no_list_is_refused(reload, features, message):
    with pytest.raises(InputError, match=message):
        reload(MODELS["linear"]().fit_queries(Q)).rank(features)


@pytest.mark.parametrize(
    ("kind", "absent"), [("linear", "numba"), ("network", "numba"), ("stumps", "numba"), ("trees", "sklearn")]
)
def test_a_server_imports_numpy_alone(path, kind, absent):
    MODELS[kind](scale="standard").fit_queries(Q).save(path)
    code = (
        "import sys, directrix as dx; r = dx.load_scorer(sys.argv[1]); "
        "loaded = {'numba', 'scipy', 'sklearn'} & sys.modules.keys(); "
        "print(sorted(loaded), r.rank([[1.0] * 5, [2.0] * 5]).size, sys.argv[2] in sys.modules)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code, path, absent], check=True, capture_output=True, text=True
    ).stdout
    assert printed == "[] 2 False\n"


CELLS = {
    "a huge integer": 10**400,
    "an integer that Python does not print": 10**5000,
    "a fraction in place of a name": fractions.Fraction(1, 3),
    "a decimal in place of a name": decimal.Decimal("1.5"),
    "a complex number": 1 + 2j,
    "a complex number of NumPy": np.complex64(1 + 2j),
    "an array": np.array([1, 2]),
    "a list": [1, 2],
    "a dict": {"a": 1},
    "a day": np.datetime64("2020"),
    "no day": np.datetime64("NaT"),
    "days": np.timedelta64(3, "D"),
    "a signaling NaN": decimal.Decimal("sNaN"),
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("column", ["price", "shop"])
@pytest.mark.filterwarnings("ignore:the list")
@pytest.mark.filterwarnings("ignore:the data")
def test_a_cell_of_another_kind_is_an_error_at_every_door(reload, cell, column):
    frame, y = shops()
    ranker = clone(TREES).fit(frame, y, qid=np.arange(120) // 6, missing="nan")
    scorer, value = reload(ranker), CELLS[cell]
    row = {"price": 1.0, "shop": "a"} | {column: value}
    cells = np.empty((1, 2), dtype=object)
    cells[0, :] = [row["price"], row["shop"]]
    doors = (scorer.predict, [row]), (scorer.rank, cells), (ranker.predict, [row])
    answers = [answered(*door) for door in doors]
    assert answers[0] == answers[1]
    if column == "price":
        is_real = isinstance(value, fractions.Fraction | decimal.Decimal) and not cell.startswith(
            "a signaling"
        )
        assert answers == [is_real] * 3


def answered(predict, rows):
    """Whether rows are scored; any error but `InputError` is raised."""
    try:
        predict(rows)
    except InputError:
        return False
    return True
