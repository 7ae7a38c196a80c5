"""``AutoRanker(engine=)``: only what the engine can run is tried, so that the result can be exported."""

from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.errors import InputError
from directrix.export.target import target as find_target
from directrix.registry import TARGETS
from tests.messages import rejects


def data(*, missing=False, names=None):
    q, _ = dx.data.make_linear(24, 12, 4, seed=0)
    X = q.features.copy()
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    return dx.Queries.from_arrays(
        X, q.labels, qid=np.repeat(np.arange(24), 12), feature_names=names, missing="nan"
    )


def with_categories():
    q = data(names=["size", "color", "price", "age"])
    X = q.features.copy()
    X[:, 1] = np.random.default_rng(1).integers(0, 3, len(X))
    return replace(q, features=X, categories=(None, ("blue", "green", "red"), None, None))


SHORT = {"max_iter": 3, "n_trees": 3}


def searched(engine, q, **arguments):
    arguments = {"settings": {} if "method" in arguments else SHORT, **arguments}
    return dx.AutoRanker(engine=engine, folds=1, by_query=True, **arguments).search(q)


@pytest.mark.parametrize("engine", [*TARGETS, "opensearch:3.5", "solr:8", "elastic:8.14"])
def test_the_result_of_auto_can_be_exported(engine, tmp_path):
    if find_target(engine).reader is None:
        pytest.skip("nothing is installed that reads it")
    q = data()
    found = searched(engine, q)
    assert dx.export(found.ranker, tmp_path / "m", to=engine, check=q).n_other_order == 0
    assert any("YetiRank-Percentile" in note and "cannot be exported to" in note for note in found.notes)
    kinds = {c.candidate.method.model for c in found.trials}
    takes = find_target(engine).models
    assert ("linear" in kinds) == (not takes or any(kind.__name__ == "Linear" for kind in takes))
    assert (found.members == ()) or not takes


@pytest.mark.parametrize("engine", ["xgboost", "opensearch:3.5", "solr:9.5", "elastic", "vespa", "sql"])
def test_models_of_missing_features_can_be_exported(engine, tmp_path):
    if find_target(engine).reader is None:
        pytest.skip("nothing is installed that reads it")
    q = data(missing=True, names=["bm25(title)", "attribute(age)", "freshness", "x_1"])
    found = searched(engine, q)
    assert dx.export(found.ranker, tmp_path / "m", to=engine, check=q).n_other_order == 0
    if engine in ("opensearch:3.5", "solr:9.5"):  # linear models read 0 there
        assert {c.candidate.method.model for c in found.trials} == {"trees"}


def test_what_no_candidate_can_be_is_an_error_before_the_training(monkeypatch):
    monkeypatch.setattr("directrix.search.search.TrainingRuns", None)  # nothing is trained
    cases = [
        ("solr:8", data(missing=True), {"models": ["trees"]}),
        ("ranklib", data(missing=True), {"method": "ApproxNDCG", "settings": {"scale": "standard"}}),
        ("elastic", data(), {"method": "ApproxNDCG"}),
        ("solr", with_categories(), {}),
        ("vespa", data(names=["a b", "c", "d", "e"]), {}),
        ("sql", data(names=["a", "A", "d", "e"]), {}),
        ("sql", data(), {"method": "YetiRank-Percentile"}),
    ]
    for engine, q, settings in cases:
        with rejects(InputError):
            searched(engine, q, **settings)
    zeros = {"lightgbm_params": {"zero_as_missing": True}}
    with rejects(InputError):
        searched("sql", data(), method="LambdaMART", settings=zeros)
    with rejects(InputError):
        dx.AutoRanker(engine="pmml").check_parameters()


@pytest.mark.parametrize("engine", ["onnx", "lightgbm", "sql", "python"])
def test_categories_are_split_where_the_engine_has_them(engine, tmp_path):
    if find_target(engine).reader is None:
        pytest.skip("nothing is installed that reads it")
    q = with_categories()
    found = searched(engine, q)
    assert dx.export(found.ranker, tmp_path / "m", to=engine, check=q).n_other_order == 0


def test_trees_may_have_more_features_than_a_table_has_columns():
    """They use few of them; a linear model uses all."""
    q = data()
    wide = replace(q, features=np.tile(q.features, (1, 600)))
    found = searched("sql", wide, method="LambdaMART", settings={"n_trees": 1, "num_leaves": 3, "l2": 20.0})
    with rejects(InputError):
        searched("sql", wide, method="ApproxNDCG")
    assert found.chosen.candidate.method.model == "trees"
