"""Programs that read exported files: frames in another order, other categories, explanations, tables."""

import json
import sqlite3
from contextlib import closing, nullcontext

import numpy as np
import pandas as pd
import pytest

import directrix as dx

from .test_engines import CASES, FORESTS, assert_same, fitted, names_of, ours, rows

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
FILES = sorted(case for case in FORESTS if "500" not in case)
WITH_COUNTS = [case for case in FILES if "stumps" not in case and "ensemble" not in case]
NO_SPLIT = ("trees, none", "trees, constant features")


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    color = pd.Categorical(rng.choice(["red", "green", "blue", "it's"], n))
    columns = {
        "size": rng.normal(size=n),
        "color": color,
        "price": rng.exponential(size=n),
        "age": rng.random(n),
    }
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def by_color():
    """Trees of a frame with categories, some of which are missing."""
    X = frame(400)
    X.loc[::20, "color"] = None
    return dx.BoostedRanker(n_trees=20).fit(
        X, (X.color.isin(["red", "it's"]) + (X["size"] > 0.5)), group=[20] * 20, missing="nan"
    )


@pytest.fixture(scope="module")
def by_numbers():
    """Trees of a frame of numbers."""
    X = frame(400).drop(columns="color")
    return dx.BoostedRanker(n_trees=20).fit(X, (X["size"] > 0.5) + (X.price > 1), group=[20] * 20)


OTHER_CATEGORIES = {
    "fewer": pd.Categorical(["blue", "red", "blue"]),
    "another order": pd.Categorical(["red", "green", "it's"], ["it's", "red", "green", "blue"]),
    "a new one": pd.Categorical(["yellow", "red", "red"], ["yellow", "red"]),
    "missing": pd.Categorical([None, "red", None], ["red"]),
}


@pytest.mark.parametrize("colors", OTHER_CATEGORIES)
def test_lightgbm_maps_the_categories_of_a_frame_by_name(colors, by_color, tmp_path):
    dx.export(by_color, tmp_path / "m.txt", to="lightgbm")
    X = frame(3, seed=1)
    X["color"] = OTHER_CATEGORIES[colors]
    booster = lightgbm.Booster(model_file=tmp_path / "m.txt")
    is_new = colors == "a new one"
    with (
        pytest.warns(UserWarning, match="categories that the model has not seen") if is_new else nullcontext()
    ):
        expected = by_color.predict(X)
    np.testing.assert_array_equal(booster.predict(X, validate_features=True), expected)


def test_lightgbm_rejects_a_frame_in_another_order(by_numbers, tmp_path):
    dx.export(by_numbers, tmp_path / "m.txt", to="lightgbm")
    booster = lightgbm.Booster(model_file=tmp_path / "m.txt")
    X = frame(50, seed=1).drop(columns="color")
    np.testing.assert_array_equal(booster.predict(X, validate_features=True), by_numbers.predict(X))
    with pytest.raises(lightgbm.basic.LightGBMError, match="Expected 'size' at position 0"):
        booster.predict(X[["price", "age", "size"]], validate_features=True)


def test_xgboost_rejects_a_frame_in_another_order(by_numbers, tmp_path):
    dx.export(by_numbers, tmp_path / "m.json", to="xgboost")
    booster = xgboost.Booster(model_file=tmp_path / "m.json")
    X = frame(50, seed=1).drop(columns="color")
    np.testing.assert_allclose(booster.predict(xgboost.DMatrix(X)), by_numbers.predict(X), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="feature_names mismatch"):
        booster.predict(xgboost.DMatrix(X[["price", "age", "size"]]))


@pytest.fixture
def boosters(tmp_path):
    """The boosters of LightGBM and XGBoost with the trees of a case."""

    def of(case):
        for name, to in (("m.txt", "lightgbm"), ("m.json", "xgboost")):
            dx.export(fitted(case)[0], tmp_path / name, to=to)
        return (
            lightgbm.Booster(model_file=tmp_path / "m.txt"),
            xgboost.Booster(model_file=tmp_path / "m.json"),
            (tmp_path / "m.json").read_text(),
        )

    return of


@pytest.mark.parametrize("case", FILES)
def test_boosters_score_as_the_ranker(case, boosters):
    ranker, q = fitted(case)
    by_lightgbm, by_xgboost, _ = boosters(case)
    X = rows(ranker, q)
    if ranker.takes_missing or q.missing == "zero":
        X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    expected = ours(ranker, q, X)
    if q.missing == "zero":
        X = np.nan_to_num(X)
    if case not in NO_SPLIT:
        # LightGBM's Predictor takes values of at most 1e-35, as a float, for 0
        with_zeros = np.where(np.abs(X) <= np.float32(1e-35), 0.0, X)
        assert_same(by_lightgbm.predict(X), ours(ranker, q, with_zeros), "lightgbm", case)
    assert_same(
        by_xgboost.predict(xgboost.DMatrix(np.float32(X), feature_names=by_xgboost.feature_names)),
        expected,
        "xgboost",
        case,
    )


@pytest.mark.parametrize("case", FILES)
def test_xgboosts_file_is_json_for_all(case, boosters):
    def refuse(literal):
        raise AssertionError(f"{literal} is not JSON")

    assert json.loads(boosters(case)[2], parse_constant=refuse)


@pytest.mark.parametrize("case", [case for case in WITH_COUNTS if case not in NO_SPLIT])
def test_xgboost_explains_as_lightgbm(case, boosters):
    """Contributions weigh branches by the documents that took them; gains are those of the training."""
    ranker, q = fitted(case)
    by_lightgbm, by_xgboost, _ = boosters(case)
    X = np.float64(np.float32(np.nan_to_num(q.features) if q.missing == "zero" else q.features))
    data = xgboost.DMatrix(np.float32(X), feature_names=by_xgboost.feature_names)
    shares = by_lightgbm.predict(X, pred_contrib=True)
    np.testing.assert_allclose(by_xgboost.predict(data, pred_contribs=True), shares, rtol=0, atol=1e-4)
    names = by_xgboost.feature_names or [f"f{feature}" for feature in range(q.n_features)]
    gains = by_xgboost.get_score(importance_type="total_gain")
    gains = np.array([gains.get(name, 0.0) for name in names])
    np.testing.assert_allclose(gains / gains.sum(), ranker.feature_importances_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("case", ["trees", "trees, missing", "trees, edges"])
@pytest.mark.parametrize("to", ["lightgbm", "xgboost"])
def test_shap_explains_the_scores(to, case, boosters):
    """Values are by the counts of the file; with a background, shap reads the trees itself."""
    shap = pytest.importorskip("shap")
    ranker, q = fitted(case)
    by_lightgbm, by_xgboost, _ = boosters(case)
    X = np.float64(np.float32(q.features[:40]))
    by_counts = shap.TreeExplainer(by_lightgbm if to == "lightgbm" else by_xgboost)
    scores, shares = ranker.predict_queries(q), by_lightgbm.predict(X, pred_contrib=True)
    np.testing.assert_allclose(by_counts.shap_values(X), shares[:, :-1], rtol=0, atol=1e-4)
    np.testing.assert_allclose(by_counts.expected_value, scores.mean(), rtol=0, atol=1e-4)
    against = shap.TreeExplainer(by_lightgbm if to == "lightgbm" else by_xgboost, data=X[:20])
    np.testing.assert_allclose(against.model.predict(X), scores[:40], rtol=0, atol=1e-4)


@pytest.mark.parametrize("case", FILES)
def test_treelite_scores_as_the_ranker(case, boosters, tmp_path):
    treelite = pytest.importorskip("treelite")
    ranker, q = fitted(case)
    boosters(case)
    X = rows(ranker, q)
    expected = ours(ranker, q, X)
    if case not in NO_SPLIT:
        model = treelite.frontend.load_lightgbm_model(tmp_path / "m.txt")
        assert_same(
            treelite.gtil.predict(model, X, nthread=1, pred_margin=True).ravel(), expected, "treelite", case
        )
    model = treelite.frontend.from_xgboost_json((tmp_path / "m.json").read_bytes())
    found = treelite.gtil.predict(model, np.float32(X), nthread=1, pred_margin=True).ravel()
    assert_same(np.float64(found), expected, "treelite", case)


@pytest.mark.parametrize("case", sorted(case for case in CASES if "500" not in case))
def test_onnx_runtime_takes_columns_by_the_names_of_the_file(case, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    ranker, q = fitted(case)
    dx.export(ranker, tmp_path / "m.onnx", to="onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    X = rows(ranker, q)
    if ranker.takes_missing or q.missing == "zero":
        X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    names = names_of(q)
    table = pd.DataFrame(X, columns=names)[names[::-1]]
    kept = session.get_modelmeta().custom_metadata_map.get("feature_names")
    given = np.float32(table[json.loads(kept) if kept else names])
    assert_same(np.float64(session.run(None, {"features": given})[0]), ours(ranker, q, X), "onnx", case)


def statement(kinds, q, X):
    """Return the declaration and the rows of a table with one more column, and columns in another order."""
    columns = [f'"{name}" {kinds}' for name in names_of(q)]
    categories = q.categories or (None,) * q.n_features
    for feature, names in enumerate(categories):
        if names is not None:
            columns[feature] = f'"{names_of(q)[feature]}" text'

    def cell(value, names):
        if np.isnan(value):
            return None
        if names is None:
            return repr(value) if kinds == "text" else value
        return (*names, "never seen")[int(value)]

    table = [
        [
            number,
            "other",
            *(cell(value, names) for value, names in zip(row[::-1], categories[::-1], strict=True)),
        ]
        for number, row in enumerate(X.tolist())
    ]
    return f"CREATE TABLE features (row_ int, other text, {', '.join(columns[::-1])})", table


def hard(case):
    ranker, q = fitted(case)
    X = rows(ranker, q)[::3]
    if ranker.takes_missing or q.missing == "zero":
        X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    expected = X.copy()
    if q.categories is not None:
        expected[::7, 1], X[::7, 1] = np.nan, len(q.categories[1])
    return ranker, q, X, ours(ranker, q, expected)


DATABASE_CASES = sorted(case for case in CASES if "500" not in case)


@pytest.mark.parametrize("kind", ["real", "text"])
@pytest.mark.parametrize("case", DATABASE_CASES)
def test_sqlite_scores_tables_in_another_order(case, kind, tmp_path):
    """Its import of CSV files makes columns of text."""
    ranker, q, X, expected = hard(case)
    dx.export(ranker, tmp_path / "m.sql", to="sql")
    create, table = statement(kind, q, X)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(create)
        database.executemany(f"INSERT INTO features VALUES ({', '.join('?' * len(table[0]))})", table)
        select = f"SELECT score FROM ({(tmp_path / 'm.sql').read_text()}) ORDER BY row_"
        found = [row[0] for row in database.execute(select)]
    assert_same(np.array(found), expected, "sql", case)


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("case", DATABASE_CASES)
def test_duckdb_scores_tables_in_another_order(case, kind, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    ranker, q, X, expected = hard(case)
    dx.export(ranker, tmp_path / "m.sql", to="sql")
    create, table = statement(kind, q, X)
    with duckdb.connect() as database:
        database.execute(create)
        given = pd.DataFrame(table, columns=[f"c{n}" for n in range(len(table[0]))])
        database.execute("INSERT INTO features SELECT * FROM given")
        select = f"SELECT score FROM ({(tmp_path / 'm.sql').read_text()}) ORDER BY row_"
        found = [row[0] for row in database.execute(select).fetchall()]
    del given
    assert_same(np.array(found, float), expected, "sql", case)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["double precision", "real"])
def test_postgresql_scores_tables_in_another_order(kind, tmp_path):
    from benchmarks.postgres import programs, server

    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with server() as run:
        for case in DATABASE_CASES:
            ranker, q, X, expected = hard(case)
            dx.export(ranker, tmp_path / "m.sql", to="sql")
            create, table = statement(kind, q, X)
            text = pd.DataFrame(table).to_csv(header=False, index=False)
            found = run(
                f"DROP TABLE IF EXISTS features; {create};\n"
                f"COPY features FROM STDIN WITH (FORMAT csv);\n{text}\\.\n"
                f"SELECT score FROM ({(tmp_path / 'm.sql').read_text()}) AS scored ORDER BY row_;"
            )
            scores = [line for line in found.splitlines() if line not in ("DROP TABLE", "CREATE TABLE")]
            assert_same(np.array(scores, float), expected, "sql", case)
