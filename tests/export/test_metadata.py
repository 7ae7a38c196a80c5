"""What other programs compute with besides scores: counts, gains, names and categories."""

import json
import re
import sqlite3
import sys
from contextlib import closing

import lightgbm
import numpy as np
import pandas as pd
import pytest

import directrix as dx
from directrix.export.formula import formula_of
from directrix.export.sql import quoted, sql_table
from directrix.export.target import target as find_target

from .conftest import data

NAMES = ["bm25", "price", "age", "size", "votes"]


@pytest.fixture(scope="module")
def xgboost():
    return pytest.importorskip("xgboost")


@pytest.fixture(scope="module", params=[True, False], ids=["oblivious", "leaf by leaf"])
def ranker(request):
    return dx.BoostedRanker(n_trees=10, oblivious=request.param).fit_queries(data(missing=True, names=NAMES))


def rows():
    return data(missing=True).features.astype(np.float32).astype(float)


@pytest.fixture
def files(ranker, tmp_path):
    """The files of LightGBM and XGBoost."""
    paths = tmp_path / "m.txt", tmp_path / "m.json"
    for path, to in zip(paths, ("lightgbm", "xgboost"), strict=True):
        dx.export(ranker, path, to=to)
    return paths


def test_xgboost_explains_as_lightgbm(ranker, files, xgboost):
    X = rows()
    booster = xgboost.Booster(model_file=files[1])
    theirs = booster.predict(xgboost.DMatrix(X, feature_names=NAMES), pred_contribs=True)
    ours = lightgbm.Booster(model_file=files[0]).predict(X, pred_contrib=True)
    np.testing.assert_allclose(theirs, ours, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(
        theirs[0, -1], ranker.predict(pd.DataFrame(X, columns=NAMES)).mean(), atol=1e-6
    )


def test_xgboost_has_the_gains_counts_and_means_of_the_training(ranker, files, xgboost):
    booster = xgboost.Booster(model_file=files[1])
    gain = booster.get_score(importance_type="total_gain")
    found = np.array([gain.get(name, 0.0) for name in NAMES])
    np.testing.assert_allclose(found / found.sum(), ranker.feature_importances_, rtol=0.0, atol=1e-6)
    trees = json.loads(files[1].read_text())["learner"]["gradient_booster"]["model"]["trees"]
    for tree in trees:
        count, value = np.array(tree["sum_hessian"]), np.array(tree["base_weights"])
        left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
        inner = left >= 0
        assert count[0] == 800
        np.testing.assert_array_equal(count[inner], count[left[inner]] + count[right[inner]])
        mean = (count * value)[left[inner]] + (count * value)[right[inner]]
        np.testing.assert_allclose(value[inner], mean / count[inner], rtol=0.0, atol=1e-12)
        np.testing.assert_array_equal(value[~inner], np.array(tree["split_conditions"])[~inner])


def test_files_are_strict_json_where_all_numbers_go_to_one_side(tmp_path, xgboost):
    """Splits of missing features from all numbers have no finite limit above; nothing warns of it."""
    q = data(missing=True)
    X = q.features.copy()
    labels = np.isnan(X[:, 1]).astype(float)
    ranker = dx.BoostedRanker(n_trees=5).fit_queries(
        dx.Queries.from_arrays(X, labels, qid=np.repeat(np.arange(40), 20), missing="nan")
    )
    assert (ranker.trees_.threshold > 1e38).any()

    def reject(text):
        raise AssertionError(text)

    for to in ("xgboost", "opensearch:3.8", "opensearch:3.5", "elasticsearch", "elastic", "solr"):
        assert dx.export(ranker, tmp_path / "m", to=to, check=q).n_other_order == 0
        json.loads((tmp_path / "m").read_text(), parse_constant=reject)


def test_lightgbm_has_names_and_means(ranker, files):
    booster = lightgbm.Booster(model_file=files[0])
    frame = pd.DataFrame(rows(), columns=NAMES)
    assert booster.feature_name() == NAMES
    scores = booster.predict(frame, validate_features=True)
    np.testing.assert_allclose(scores, ranker.predict(frame), rtol=0.0, atol=1e-12)
    with pytest.raises(lightgbm.basic.LightGBMError, match="Expected"):
        booster.predict(frame[NAMES[::-1]], validate_features=True)
    table = booster.trees_to_dataframe()
    root = table[(table.tree_index == 0) & (table.node_depth == 1)].iloc[0]
    below = table[(table.tree_index == 0) & table.left_child.isna()]
    np.testing.assert_allclose(
        root["value"], np.average(below.value, weights=below["count"]), rtol=0, atol=1e-12
    )
    assert root["count"] == below["count"].sum() == 800
    assert booster.dump_model()["feature_infos"] == {}  # the ranges of the training data are not known


@pytest.mark.parametrize("name", ["a b", 'a"b', "a:b", "a,b", "[a]", "{a", "a\u2003b", "a\nb"])
def test_names_that_lightgbm_cannot_hold_are_left_out_with_a_note(name, tmp_path):
    q = data(names=[name, *"cdef"])
    ranker = dx.BoostedRanker(n_trees=2).fit_queries(q)
    found = dx.export(ranker, tmp_path / "m", to="lightgbm", check=q)
    assert found.note == f"the features have no names there, since LightGBM rejects {name!r}"
    assert lightgbm.Booster(model_file=tmp_path / "m").feature_name() == [f"Column_{f}" for f in range(5)]


def test_names_that_xgboost_cannot_hold_are_noted(tmp_path):
    ranker = dx.BoostedRanker(n_trees=2).fit_queries(data(names=["a[0]", *"cdef"]))
    found = dx.export(ranker, tmp_path / "m", to="xgboost")
    assert found.note == "the features have no names there, since XGBoost rejects 'a[0]'"


@pytest.mark.parametrize(
    "values",
    [
        list("CAB"),
        [30, 10, 20],
        [0.5, 2.0, 1.0],
        ["30", "10", "20"],
        ["a", 1, "7"],
        [True, False],
        ["nan", "inf", "1e5"],
    ],
    ids=["text", "int", "float", "digits", "mixed", "bool", "odd"],
)
def test_lightgbm_maps_the_categories_of_a_frame(values, tmp_path):
    """Also with fewer, other, or no categories of the training, and in another order."""
    rng = np.random.default_rng(0)
    cells = [values[place] for place in rng.integers(0, len(values), 400)]
    train = pd.DataFrame({"x": rng.random(400), "color": pd.Categorical(cells, categories=values)})
    train["kind"] = pd.Categorical(rng.choice(["u", "v"], 400))
    ranker = dx.BoostedRanker(n_trees=5).fit(train, (train.color == values[0]).astype(int), group=[20] * 20)
    dx.export(ranker, tmp_path / "m", to="lightgbm")
    booster = lightgbm.Booster(model_file=tmp_path / "m")
    kinds = pd.Categorical(["v", "u", "v"], categories=["v", "u"])
    values = np.resize(np.array(values, dtype=object), 3).tolist()
    known = list(dict.fromkeys(values))
    for cells, categories in ((values, known), (values[:1] * 3, known[:1]), (values, known[::-1])):
        today = pd.DataFrame(
            {"x": [0.1, 0.2, 0.3], "color": pd.Categorical(cells, categories=categories), "kind": kinds}
        )
        np.testing.assert_allclose(booster.predict(today), ranker.predict(today), rtol=0.0, atol=1e-12)
    assert len(set(booster.predict(train))) > 1


def test_lightgbm_rejects_a_frame_with_categories_for_a_model_without(ranker, files):
    frame = pd.DataFrame(rows(), columns=NAMES)
    frame["price"] = pd.Categorical(np.resize(["a", "b"], len(frame)))
    with pytest.raises(ValueError, match="categorical_feature do not match"):
        lightgbm.Booster(model_file=files[0]).predict(frame)


def test_shap_explains_both_files_alike(ranker, files, xgboost):
    shap = pytest.importorskip("shap")
    X = rows()
    expected = lightgbm.Booster(model_file=files[0]).predict(X, pred_contrib=True)
    for booster in (lightgbm.Booster(model_file=files[0]), xgboost.Booster(model_file=files[1])):
        explainer = shap.TreeExplainer(booster)
        np.testing.assert_allclose(explainer.shap_values(X), expected[:, :-1], rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(explainer.expected_value, expected[0, -1], rtol=0.0, atol=1e-6)


def forest(text):
    """The sum of a profile, and whether all its conditions are of Vespa's trees, with nothing else added."""
    body = text.partition("expression {\n")[2].partition("\n        }")[0]
    conditions = re.findall(r"if \((!?\(?[^,]*?),", body)
    of_trees = all(re.fullmatch(r"!\(\S+ >= \S+\)|[^!]\S* < \S+", one) for one in conditions)
    terms = re.sub(r"^\(|\)$", "", body).split(" + ")
    return of_trees and all(term.lstrip("(").startswith("if (") for term in terms)


@pytest.mark.parametrize("missing", [True, False])
def test_vespa_recognizes_the_trees(missing):
    q = data(missing=missing)
    ranker = dx.BoostedRanker(n_trees=60, num_leaves=3).fit_queries(q)
    formula = formula_of(ranker)
    assert forest(find_target("vespa").content(formula).decode())


def test_trees_of_one_leaf_are_added_to_another_tree(tmp_path):
    """A number would end the sum of trees that Vespa recognizes."""
    q = data()
    ranker = dx.BoostedRanker(n_trees=3).fit_queries(q)
    trees = formula_of(ranker).model
    one = type(trees)(
        5,
        n_leaves=np.array([1, 1]),
        **{
            name: getattr(trees, name)[:0]
            for name in ("feature", "threshold", "decision", "left", "right", "gain")
        },
        leaf=np.array([0.25, -1.5]),
        count=np.ones(2, np.uint32),
    )
    formula = formula_of(ranker)
    for model in (one.followed_by(trees).followed_by(one), one):
        mixed = formula._replace(parts=(formula.parts[0]._replace(model=model),))
        content = find_target("vespa").content(mixed)
        assert forest(content.decode()) == (model is not one)
        scores = find_target("vespa").read(content, mixed, q.features)
        np.testing.assert_allclose(scores, model.predict(q.features), rtol=0.0, atol=1e-12)


def test_limits_are_float32_as_vespa_rounds_them_in_some_forests(tmp_path):
    q = data()
    ranker = dx.BoostedRanker(n_trees=20).fit_queries(q)
    target, formula = find_target("vespa"), formula_of(ranker)
    limits = np.array(re.findall(r"(?:<|>=) (-?[\d.e+-]+)", target.content(formula).decode()), float)
    assert (limits == limits.astype(np.float32)).all()
    thresholds = np.unique(ranker.trees_.threshold)
    for limit in np.unique(limits).astype(np.float32):  # no float32 is between a limit and its threshold
        below = thresholds[thresholds < limit].max()
        assert np.nextafter(limit, np.float32(-np.inf)) <= below
    found = dx.export(ranker, tmp_path / "m", to="vespa", check=q)
    assert (found.n_other_order, found.difference < 1e-12) == (0, True)


@pytest.mark.parametrize("name", ["true", "false", "if", "in", "directrix1_x0", "a b"])
def test_words_of_vespas_expressions_are_no_names(name, tmp_path):
    ranker = dx.LinearRanker(max_iter=2).fit_queries(data(names=[name, *"bcde"]))
    with pytest.raises(dx.InputError, match=f"'{name}' is not a rank feature of Vespa"):
        dx.export(ranker, tmp_path / "m", to="vespa")


@pytest.mark.parametrize("model", ["trees, missing", "linear, quantiles", "network, quantiles", "stumps"])
def test_columns_of_text_are_numbers_in_sqlite(model, fitted):
    """As its command .import makes them."""
    ranker, q = fitted(model)
    formula = formula_of(ranker)
    names, cells = sql_table(formula, q.features)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE features ({', '.join(f'{quoted(name)} TEXT' for name in names)})")
        texts = [[None if x is None else repr(x) for x in row] for row in cells]
        database.executemany(f"INSERT INTO features VALUES ({', '.join('?' * len(names))})", texts)
        rows = database.execute(find_target("sql").content(formula).decode()).fetchall()
    scores = np.array([row[-1] for row in rows])
    np.testing.assert_allclose(scores, ranker.predict_queries(q), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    "to", ["solr", "elasticsearch", "opensearch", "ranklib", "vespa", "sql", "python", "onnx"]
)
def test_weights_that_are_all_zero_score_zero(to, tmp_path):
    if find_target(to).reader is None:
        pytest.skip("nothing is installed that reads it")
    X = np.ones((60, 3))  # features that an index does not fill
    with pytest.warns(UserWarning, match="ranks nothing"):
        ranker = dx.LinearRanker(max_iter=5, scale="standard").fit(X, np.arange(60) % 2, group=[10] * 6)
    assert not ranker.coef_.any()
    assert dx.export(ranker, tmp_path / "m", to=to).difference == 0.0


def test_a_model_without_trees_is_a_leaf_of_zero(tmp_path):
    X, y = np.random.default_rng(0).random((15, 2)), np.arange(15) % 3  # too few documents for a split
    with pytest.warns(UserWarning, match="ranks nothing"):
        ranker = dx.BoostedRanker("lambdarank", n_trees=10).fit(X, y, group=[5] * 3)
    assert ranker.trees_.n_trees == 0

    def text(to):
        found = dx.export(ranker, tmp_path / "m", to=to)
        assert "stumps" not in found.note
        return (tmp_path / "m").read_text()

    for to in ("elasticsearch", "opensearch"):
        assert json.loads(json.loads(text(to))["model"]["model"]["definition"]) == [
            {"leaf": 0.0, "nodeid": 0}
        ]
    (model,) = json.loads(text("elastic"))["definition"]["trained_model"]["ensemble"]["trained_models"]
    assert model["tree"]["tree_structure"] == [{"node_index": 0, "number_samples": 1, "leaf_value": 0.0}]
    assert [one["root"] for one in json.loads(text("solr"))["params"]["trees"]] == [{"value": "0.0"}]
    booster = lightgbm.Booster(model_str=text("lightgbm"))
    assert (booster.num_trees(), booster.predict(X).any()) == (1, False)


def test_elasticsearch_gets_no_counts_of_stumps_which_have_none(fitted, tmp_path):
    ranker, _ = fitted("stumps")
    dx.export(ranker, tmp_path / "m", to="elastic")
    assert "number_samples" not in (tmp_path / "m").read_text()
    assert "stumps keep no counts" in dx.export(ranker, tmp_path / "m", to="xgboost").note


@pytest.mark.parametrize("reader", ["elasticsearch", "elastic"])
def test_readers_reject_a_file_without_trees_as_the_engines_do(reader, fitted):
    target, formula = find_target(reader), formula_of(fitted("trees")[0])
    content = json.loads(target.content(formula))
    if reader == "elastic":
        content["definition"]["trained_model"]["ensemble"]["trained_models"] = []
    else:
        content["model"]["model"]["definition"] = "[]"
    with pytest.raises(dx.InputError, match="without trees"):
        target.read(json.dumps(content).encode(), formula, np.zeros((1, 5)))


def test_a_definition_that_is_too_long_for_the_plugin_is_rejected(fitted, monkeypatch):
    monkeypatch.setattr(sys.modules["directrix.export.plugin"], "_LONGEST", 1000)
    with pytest.raises(dx.InputError, match="takes definitions of 1,000 characters, and this model has"):
        find_target("opensearch").content(formula_of(fitted("trees")[0]))
