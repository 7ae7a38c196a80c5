"""Exports score the same, in every format that can carry the model; planted errors are found."""

import itertools
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
import scipy.sparse

import directrix as dx
from directrix.errors import InputError
from directrix.export import portable
from directrix.export.formula import (
    Formula,
    Input,
    Linear,
    Network,
    Summand,
    folded,
    formula_of,
    inputs_of,
)
from directrix.export.target import target as find_target
from directrix.export.trees import splits_of
from directrix.export.verification import _changes_order, _compare, verify
from directrix.models.trees import Trees
from directrix.registry import TARGETS
from tests.messages import rejects

from .conftest import MODELS, data, with_categories

TREES = {"stumps", "trees", "trees, quantiles", "trees, missing", "trees, categories", "ensemble of trees"}
PLAIN_LINES = {"linear", "linear, named", "linear, constant feature", "network, no layer"}
ANY = {*MODELS} - {"trees, categories"}
WITH_MISSING = {"trees, missing", "trees, quantiles", "linear, missing"}
NO_PLUGIN = {"linear, missing", "trees, categories"}
TAKEN = {
    "onnx": {*MODELS},
    "xgboost": TREES - {"trees, categories"},
    "lightgbm": TREES,
    "ranklib": (PLAIN_LINES | TREES) - WITH_MISSING - {"trees, categories"},
    "solr": (PLAIN_LINES | TREES | {"network", "network, tanh"}) - NO_PLUGIN,
    "elasticsearch": (PLAIN_LINES | TREES) - NO_PLUGIN,
    "elastic": TREES - {"trees, categories"},
    "vespa": ANY,
    "sql": {*MODELS},
    "python": {*MODELS},
}
TAKEN["opensearch"] = TAKEN["elasticsearch"]
SINGLE = {name for name in TARGETS if find_target(name).is_single}


def installed(name):
    if find_target(name).reader is None:
        pytest.skip(f"nothing is installed that reads {name}")


@pytest.mark.parametrize(("model", "name"), [*itertools.product(MODELS, TARGETS)])
def test_an_export_scores_the_same_or_names_a_format_that_can(model, name, fitted, tmp_path):
    installed(name)
    ranker, q = fitted(model)
    path = tmp_path / "model"
    if model not in TAKEN[name]:
        with pytest.raises(InputError, match=rf"choose (--to )?({'|'.join(TARGETS)})\b"):
            dx.export(ranker, path, to=name, check=q)
        assert not path.exists()
        return
    found = dx.export(ranker, path, to=name, check=q)
    scores = ranker.predict_queries(q)
    spread = np.ptp(scores) if found.n_rounded else 0.0  # a rounded feature may take another branch
    assert found.difference <= (2e-5 if name in SINGLE else 1e-9) * np.abs(scores).max() + spread
    assert (found.n_rows, found.n_queries, found.n_other_order) == (2000 + q.n_docs, 40, 0)
    assert found.n_rounded <= 5
    assert path.stat().st_size > 100


def test_a_model_that_scales_by_query_is_rejected(tmp_path):
    ranker = dx.LinearRanker(scale="query-minmax", max_iter=3).fit_queries(data())
    with rejects(InputError):
        dx.export(ranker, tmp_path / "m", to="onnx")


def with_model(formula, model):
    """The formula of one part with another model of the same inputs."""
    (part,) = formula.parts
    return formula._replace(parts=(Summand(model, part.inputs),))


def below(trees):
    """What ``<`` in place of ``<=`` does: thresholds are one float lower."""
    return replace(trees, threshold=np.nextafter(trees.threshold, -np.inf))


def swapped(trees):
    return replace(trees, left=trees.right, right=trees.left)


def shifted(trees):
    leaf = trees.leaf.copy()
    leaf[0] += 0.01
    return replace(trees, leaf=leaf)


def other_missing(trees):
    return replace(trees, decision=trees.decision ^ 2)


def one_feature_more(trees):
    return replace(trees, feature=(trees.feature + 1) % trees.n_features)


@pytest.mark.parametrize("error", [below, swapped, shifted, other_missing, one_feature_more])
@pytest.mark.parametrize("name", sorted(name for name in TAKEN if "trees" in TAKEN[name]))
def test_planted_errors_of_trees_are_found(error, name, fitted):
    installed(name)
    target, model = find_target(name), "trees, missing" if error is other_missing else "trees"
    if model not in TAKEN[name]:
        return  # it has no missing values
    ranker, _ = fitted(model)
    formula = formula_of(ranker)
    planted = with_model(formula, error(formula.model))
    if error is below and target.rounds_features(formula):
        single = np.nextafter(formula.model.threshold.astype(np.float32), np.float32(-np.inf))
        planted = with_model(formula, replace(formula.model, threshold=single.astype(np.float64)))
    verify(target.content(formula), target, formula, ranker)
    with pytest.raises(InputError, match=r"rows have other scores; the first is row \d+ with .* for .*"):
        verify(target.content(planted), target, formula, ranker)


@pytest.mark.parametrize("name", sorted(name for name in TAKEN if "linear, named" in TAKEN[name]))
def test_a_planted_constant_or_weight_is_found(name, fitted):
    installed(name)
    ranker, _ = fitted("linear, named")
    target, formula = find_target(name), formula_of(ranker)
    weights, constant = formula.model
    wrong = [Linear(weights * np.array([1.0, 1.001, 1.0, 1.0, 1.0]), constant)]
    if target.keeps_constant:
        wrong.append(Linear(weights, 0.0))
    for model in wrong:
        with pytest.raises(InputError, match="rows have other scores"):
            verify(target.content(with_model(formula, model)), target, formula, ranker)


@pytest.mark.parametrize(
    ("name", "text", "other"),
    [
        ("sql", b" <= ", b" < "),
        ("vespa", b" >= ", b" > "),
        ("elastic", b'"lte"', b'"lt"'),
        ("python", b"x <= threshold", b"x < threshold"),
        ("xgboost", b'"default_left": [1', b'"default_left": [0'),
        ("ranklib", b"<threshold> -", b"<threshold> "),
        ("solr", b'"weight": "1"', b'"weight": "2"'),
    ],
)
def test_a_changed_file_is_found(name, text, other, fitted):
    """The readers read: they do not know what the writers meant."""
    installed(name)
    target = find_target(name)
    ranker, _ = fitted("trees, missing" if name == "xgboost" else "trees")
    formula = formula_of(ranker)
    content = target.content(formula)
    assert text in content
    with pytest.raises(InputError, match="rows have other scores"):
        verify(content.replace(text, other), target, formula, ranker)


def test_nothing_is_written_where_scores_differ(fitted, tmp_path, monkeypatch):
    ranker, q = fitted("trees")
    target = find_target("sql")
    wrong = replace(target, read=lambda content, formula, X: target.read(content, formula, X) + 1e-3)
    monkeypatch.setattr("directrix.export.verification.target", lambda name: wrong)
    path = tmp_path / "m.sql"
    path.write_text("old")
    with pytest.raises(InputError, match=r"2,000 of 2,000 rows have other scores.*Nothing is written"):
        dx.export(ranker, path, to="sql", check=q)
    assert path.read_text() == "old"


def test_without_a_reader_the_file_is_written_and_called_not_verified(fitted, tmp_path, monkeypatch):
    ranker, _ = fitted("trees")
    without = replace(find_target("xgboost"), reader=None)
    monkeypatch.setattr("directrix.export.verification.target", lambda name: without)
    found = dx.export(ranker, tmp_path / "m.json", to="xgboost")
    assert str(found) == (
        "not verified: nothing is installed that reads it; type pip install 'directrix[export]'"
    )
    assert (
        json.loads((tmp_path / "m.json").read_text())["learner"]["learner_model_param"]["num_feature"] == "5"
    )


def test_an_unknown_target_an_unfitted_ranker_and_wrong_data_are_named(fitted, tmp_path):
    ranker, _ = fitted("trees")
    with rejects(InputError):
        dx.export(ranker, tmp_path / "m", to="pmml")
    with pytest.raises(ValueError, match="not fitted"):
        dx.export(dx.LinearRanker(), tmp_path / "m", to="sql")
    with pytest.raises(InputError, match=r"export got \[1\]"):
        dx.export(ranker, tmp_path / "m", to="sql", check=[1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scale", ["log", "quantile", "standard", "minmax"])
def test_a_scale_moves_into_thresholds_without_moving_any_float(scale):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 1)), rng.lognormal(0, 9, size=(200, 1)), np.zeros((9, 1))])
    fitted_scale = dx.data.fit_scale(scale, X)
    (one,) = inputs_of(fitted_scale, 1)
    limits = np.concatenate([one.of(X[:50, 0]), rng.normal(size=30)])
    n = len(limits)
    trees = Trees(
        1,
        n_leaves=np.full(n, 2),
        feature=np.zeros(n, np.int32),
        threshold=limits,
        decision=np.zeros(n, np.uint8),
        left=np.full(n, -1, np.int32),
        right=np.full(n, -2, np.int32),
        gain=np.zeros(n),
        leaf=np.tile([0.0, 1.0], n),
        count=np.zeros(2 * n, np.uint32),
    )
    moved = folded(Summand(trees, (one,)), 1).model.threshold
    for threshold, limit in zip(moved, limits, strict=True):
        if abs(threshold) < 1e300:
            near = np.array([threshold, np.nextafter(threshold, np.inf)])
            assert (one.of(near) <= limit).tolist() == [True, False]


def test_changes_of_order_as_all_pairs_say():
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(1, 8))
        ours, theirs = rng.integers(0, 4, (2, n)).astype(float)
        pairs = itertools.permutations(range(n), 2)
        expected = any(ours[i] > ours[j] and theirs[i] < theirs[j] for i, j in pairs)
        assert _changes_order(ours, theirs) == expected


def test_a_sentence_says_what_was_compared(fitted, tmp_path):
    ranker, q = fitted("trees")
    text = str(dx.export(ranker, tmp_path / "m", to="python", check=q))
    assert text.startswith("verified with Python 3.")
    assert text.endswith(": 2,800 rows, largest difference 0, same order in all queries")
    assert "order" not in str(dx.export(ranker, tmp_path / "m", to="python"))


def test_what_a_format_lacks_is_noted(fitted, tmp_path):
    ranker, _ = fitted("linear, named")
    found = dx.export(ranker, tmp_path / "m", to="solr")
    constant = formula_of(ranker).parts[0].model.constant
    side = "lower" if constant > 0 else "higher"
    assert found.note.startswith(f"scores there are {side} by {abs(constant):.6g}: no order depends on it; ")
    assert found.note.endswith(
        "a missing feature counts 0 there, and the model takes the mean of the training data for it"
    )
    assert dx.export(ranker, tmp_path / "m", to="sql").note == ""


def test_missing_features_that_a_format_would_read_as_zero_are_rejected(fitted, tmp_path):
    ranker, q = fitted("linear, missing")
    with rejects(InputError):
        dx.export(ranker, tmp_path / "m", to="solr", check=q)


@pytest.mark.parametrize("model", ["trees", "trees, missing", "trees, categories", "stumps"])
def test_lightgbm_gives_contributions(model, fitted, tmp_path):
    ranker, q = fitted(model)
    ranker.save(tmp_path / "m.json")
    found = dx.export(dx.load(tmp_path / "m.json"), tmp_path / "m.txt", to="lightgbm")
    assert "(scores and contributions)" in str(found)
    assert ("stumps keep no counts" in found.note) == (model == "stumps")
    shares = lightgbm.Booster(model_file=tmp_path / "m.txt").predict(q.features, pred_contrib=True)
    scores = ranker.predict_queries(q)
    np.testing.assert_allclose(shares.sum(axis=1), scores, rtol=0.0, atol=1e-9)
    if model != "stumps":  # what is left without any feature is the mean over the training documents
        np.testing.assert_allclose(shares[:, -1], scores.mean(), rtol=0.0, atol=1e-9)


def test_contributions_without_counts_are_found(fitted):
    ranker, _ = fitted("trees")
    target, formula = find_target("lightgbm"), formula_of(ranker)
    content = re.sub(rb"_count=.*", lambda line: re.sub(rb"[0-9]", b"0", line[0]), target.content(formula))
    with pytest.raises(InputError, match=r"contributions \(pred_contrib\) miss the scores"):
        verify(content, target, formula, ranker)


def test_trees_that_take_zeros_for_missing_go_to_lightgbm_alone(tmp_path):
    q = data(missing=True)
    ranker = dx.BoostedRanker(n_trees=5, lightgbm_params={"zero_as_missing": True}).fit_queries(q)
    if any(split.missing_left != split.zero_left for split in splits_of_zero(ranker)):
        with rejects(InputError):
            dx.export(ranker, tmp_path / "m", to="sql")
    assert dx.export(ranker, tmp_path / "m", to="lightgbm", check=q).difference == 0.0


def splits_of_zero(ranker):
    trees = formula_of(ranker).parts[0].model
    return splits_of(
        replace(trees, decision=np.where(trees.decision & 4, trees.decision ^ 12, trees.decision))
    )


def chain(depth, *, to_the_left):
    """A tree of 5 features that goes down on one side, or on both by turns (None)."""
    turns = np.arange(depth) % 2 == 0 if to_the_left is None else np.full(depth, to_the_left)
    leaf = -1 - np.arange(depth)
    deeper = np.append(np.arange(1, depth), -1 - depth)
    return Trees(
        5,
        n_leaves=np.array([depth + 1]),
        feature=(np.arange(depth) % 5).astype(np.int32),
        threshold=np.where(turns, 1.0, -1.0) * np.linspace(1.0, 0.01, depth),
        decision=np.where(np.arange(depth) % 3 == 0, 10, 8).astype(np.uint8),
        left=np.where(turns, deeper, leaf).astype(np.int32),
        right=np.where(turns, leaf, deeper).astype(np.int32),
        gain=np.zeros(depth),
        leaf=np.arange(depth + 1.0),
        count=np.zeros(depth + 1, np.uint32),
    )


@pytest.mark.parametrize("to_the_left", [True, False, None])
@pytest.mark.parametrize("name", sorted(name for name in TAKEN if "trees, missing" in TAKEN[name]))
def test_deep_trees_score_the_same(name, to_the_left, fitted):
    installed(name)
    trees, target = chain(60, to_the_left=to_the_left), find_target(name)
    trees = replace(trees, threshold=trees.threshold.astype(np.float32).astype(float))
    formula = with_model(formula_of(fitted("trees")[0]), trees)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (500, 5)).astype(np.float32).astype(float)
    X[:250] = rng.choice(trees.threshold, (250, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    assert (target.read(target.content(formula), formula, X) == trees.predict(X)).all()


def test_a_tree_too_deep_for_nested_text_is_rejected(fitted):
    ranker, _ = fitted("trees")
    formula = with_model(formula_of(ranker), chain(300, to_the_left=False))
    with rejects(InputError):
        find_target("sql").content(formula)
    assert len(find_target("elastic").content(formula)) > 1000


def test_onnx_takes_categories_by_number_and_names_them(fitted, tmp_path):
    """Also without names, with numbers that no training row had, and without a number."""
    ort, onnx = pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    ranker, q = fitted("trees, categories")
    plain = dx.BoostedRanker(n_trees=20, categorical_features=[1])
    plain.fit_queries(replace(q, categories=None, feature_names=None))
    rows = q.features[:60].astype(np.float32)
    rows[:40, 1] = np.resize([np.nan, 6.0, 77.0, -1.0], 40)
    q_rows = rows.astype(np.float64)
    for one in (ranker, plain):
        dx.export(one, tmp_path / "m.onnx", to="onnx")
        scores = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"features": rows})[0]
        np.testing.assert_allclose(scores, one.trees_.predict(q_rows), rtol=0.0, atol=1e-5)
        known = {entry.key: entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
        expected = {"categories": q.categories, "feature_names": q.feature_names} if one is ranker else {}
        assert known == {key: json.dumps(value) for key, value in expected.items()}


@pytest.mark.parametrize("name", sorted(name for name in TAKEN if "trees, categories" in TAKEN[name]))
def test_categories_of_arrays_are_drawn_as_whole_numbers(name, tmp_path):
    installed(name)
    q = replace(with_categories(), categories=None)
    ranker = dx.BoostedRanker(n_trees=5, categorical_features=[1]).fit_queries(q)
    assert dx.export(ranker, tmp_path / "m", to=name, check=q).n_other_order == 0


@pytest.mark.parametrize("name", sorted(name for name in TAKEN if "trees, categories" in TAKEN[name]))
def test_data_with_other_categories_are_matched_by_name(name, fitted, tmp_path):
    ranker, q = fitted("trees, categories")
    known = q.categories[1]
    others = ("yellow", *known[::-1])
    features = q.features.copy()
    features[:, 1] = len(known) - features[:, 1]
    other = replace(q, features=features, categories=(None, others, None, None, None))
    assert (ranker.predict_queries(other) == ranker.predict_queries(q)).all()
    assert dx.export(ranker, tmp_path / "m", to=name, check=other).n_other_order == 0


def test_data_on_disk_and_sparse_data_are_taken(tmp_path):
    q = data()
    ranker = dx.LinearRanker(max_iter=5).fit_queries(q)
    dx.data.write_parquet(q, tmp_path / "q.parquet")
    stored = dx.data.open_parquet(tmp_path / "q.parquet")
    sparse = replace(q, features=scipy.sparse.csr_array(q.features))
    for check in (stored, sparse):
        assert dx.export(ranker, tmp_path / "m", to="sql", check=check).n_rows == 2800


def test_features_without_weight_are_no_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 3000))  # more columns than a table of SQLite has
    X[:, [7, 2500]] = rng.normal(size=(60, 2))
    q = dx.Queries.from_arrays(X, (X[:, 7] > 0).astype(float), qid=np.arange(60) // 10)
    ranker = dx.BoostedRanker(n_trees=3, min_data_in_leaf=2).fit_queries(q)
    assert dx.export(ranker, tmp_path / "m", to="sql", check=q).n_other_order == 0
    with pytest.warns(UserWarning, match="ranks nothing"):
        constant = dx.BoostedRanker(n_trees=3).fit_queries(replace(q, features=np.zeros((60, 3))))
    for name in TARGETS:
        installed(name)
        assert dx.export(constant, tmp_path / "m", to=name).difference == 0.0


def test_hostile_names_stay_names(tmp_path):
    names = ['a"b', "x'); DROP TABLE features; --", "<b>&", "é ü", "\\n{0}%s"]
    q = data(names=names)
    ranker = dx.BoostedRanker(n_trees=10).fit_queries(q)
    for name in TARGETS:
        if name == "vespa":
            continue
        installed(name)
        assert dx.export(ranker, tmp_path / "m", to=name, check=q).n_other_order == 0
    with rejects(InputError):
        dx.export(ranker, tmp_path / "m", to="vespa")


@pytest.mark.parametrize(("name", "is_kept"), [("größe", True), ("日本", True), ("a\x01", False)])
def test_xgboost_reads_the_names_or_gets_none(name, is_kept, tmp_path):
    installed("xgboost")
    names = [name, *"bcde"]
    dx.export(dx.BoostedRanker(n_trees=2).fit_queries(data(names=names)), tmp_path / "m", to="xgboost")
    learner = json.loads((tmp_path / "m").read_bytes())["learner"]
    assert learner["feature_names"] == (names if is_kept else [])


def test_a_select_of_too_many_columns_is_rejected_before_any_row_is_drawn():
    wide = Summand(Linear(np.ones(2000)), tuple(map(Input, range(2000))))
    deep = Summand(Network(((np.ones((1, 1000)), np.zeros(1000)),), np.ones(1000), None, "relu"), (Input(0),))
    for part, n_columns in ((wide, 2000 + 1), (deep, 1 + 2 * 1000 + 1)):
        with pytest.raises(
            InputError, match=f"this SELECT has {n_columns:,} columns with the score, and SQLite"
        ):
            find_target("sql").content(Formula((part,), len(part.inputs), None, None))


def test_onnx_keeps_names_with_line_ends(tmp_path):
    installed("onnx")
    import onnx

    names = ["a\nb", "é", "c", "d", "e"]
    dx.export(dx.BoostedRanker(n_trees=2).fit_queries(data(names=names)), tmp_path / "m.onnx", to="onnx")
    (kept,) = onnx.load(tmp_path / "m.onnx").metadata_props
    assert (kept.key, json.loads(kept.value)) == ("feature_names", names)


def test_the_file_of_python_reads_lines(fitted, tmp_path):
    ranker, _ = fitted("trees, missing")
    dx.export(ranker, tmp_path / "model.py", to="python")
    lines = "0.1,0.2,,nan,0.5\n"
    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "model.py"], input=lines, capture_output=True, text=True, check=True
    )
    row = np.array([[0.1, 0.2, np.nan, np.nan, 0.5]])
    assert float(done.stdout) == ranker.predict(row)[0]


def test_the_file_of_python_needs_all_features(fitted, tmp_path):
    ranker, _ = fitted("linear")
    dx.export(ranker, tmp_path / "model.py", to="python")
    command = [sys.executable, "-I", tmp_path / "model.py"]
    done = subprocess.run(command, input="0.1,0.2\n", capture_output=True, text=True, check=False)
    assert "2 features are given, 5 are needed" in done.stderr


def test_a_table_without_a_feature_is_an_error_in_sqlite(fitted):
    """SQLite takes a name in quotes for text where there is no such column."""
    ranker, _ = fitted("trees")
    select = find_target("sql").content(formula_of(ranker)).decode()
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE features (feature_1, feature_2, feature_3, feature_4)")
        database.execute("INSERT INTO features VALUES (1, 2, 3, 4)")
        with pytest.raises(sqlite3.OperationalError, match=r"no such column: t\.feature_5"):
            database.execute(select).fetchall()


def test_one_large_row_does_not_loosen_the_others(fitted):
    ranker, _ = fitted("linear")
    target, formula = find_target("sql"), formula_of(ranker)
    planted = Linear(formula.model.weights, formula.model.constant + 1e-4)
    X = np.vstack([np.full((1, 5), 1e12), np.ones((3, 5))])
    check = dx.Queries.from_arrays(X, np.zeros(4), group=[4])
    assert _compare(target.content(formula), target, formula, ranker, check, 0.0)[1:] == (0, 0)
    wrong = target.content(with_model(formula, planted))
    with pytest.raises(InputError, match="3 of 4 rows have other scores; the first is row 1"):
        _compare(wrong, target, formula, ranker, check, 0.0)


@pytest.mark.parametrize(
    ("name", "text", "other", "words"),
    [
        ("elasticsearch", b'\\"yes\\": 1,', b'\\"yes\\": 2,', "the plugin rejects node 0"),
        ("python", b"import sys", b"import numpy", "Python cannot run this file: ModuleNotFoundError"),
        ("ranklib", b"## LambdaMART", b"## RankNet", "RankLib has no '## RankNet'"),
        ("sql", b"SELECT", b"SELEC", "SQLite cannot run this SELECT"),
        ("vespa", b"if (", b"if [", "Vespa's expression lacks"),
        ("vespa", b"if (", b"when (", "names 'when', neither a feature nor a function"),
        ("vespa", b"\n        }", b" 1\n        }", "has more than one: ' 1'"),
    ],
)
def test_a_reader_rejects_what_the_program_would(name, text, other, words, fitted):
    ranker, _ = fitted("trees")
    formula, target = formula_of(ranker), find_target(name)
    content = target.content(formula)
    assert text in content
    with pytest.raises(InputError, match=re.escape(words)):
        target.read(content.replace(text, other), formula, np.zeros((2, 5)))


def test_what_no_format_can_hold(fitted, monkeypatch, tmp_path):
    ranker, _ = fitted("trees")
    formula = formula_of(ranker)
    large = replace(formula.model, leaf=1e300 * formula.model.leaf)
    with rejects(InputError):
        find_target("xgboost").content(with_model(formula, large))
    names = ("a\0b", *"bcde")
    with rejects(InputError):
        find_target("sql").content(formula._replace(names=names))
    for names in (("Score", *"bcde"), ("b", "B", *"cde")):
        with pytest.raises(InputError, match=r"the feature '(Score|B)' and the column '(score|b)' are one"):
            find_target("sql").content(formula._replace(names=names))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        dx.MissingExtra,
        match=r'writing ONNX needs an optional package; type: pip install "directrix\[export\]"',
    ):
        dx.export(ranker, tmp_path / "m", to="onnx")
    ranker, _ = fitted("trees, categories")
    (part,) = formula_of(ranker).parts
    scaled = tuple(Input(f, "log") for f in range(5))
    with rejects(InputError):
        folded(Summand(part.model, scaled), 5)


@pytest.mark.parametrize("collection", ["OHSUMED", "MQ2008"])
def test_orders_of_real_queries_stay(collection, data_dir, tmp_path):
    train, _, test = map(dx.read_letor, dx.data.letor_folds(data_dir / "letor" / collection)[0])
    for ranker in (dx.LinearRanker(scale="standard", max_iter=5), dx.BoostedRanker(n_trees=20)):
        ranker.fit_queries(train)
        for name in TARGETS:
            if isinstance(ranker, dx.BoostedRanker) or "linear" in TAKEN[name]:
                installed(name)
                found = dx.export(ranker, tmp_path / "m", to=name, check=test)
                assert (found.n_other_order, found.n_queries) == (0, test.n_queries)


def test_exported_python_counts_the_features():
    with pytest.raises(ValueError, match="1 features are given, 0 are needed"):
        portable.score([1.0])
