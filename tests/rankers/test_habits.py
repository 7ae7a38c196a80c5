"""Names of LightGBM, XGBoost, CatBoost and scikit-learn are answered with those of directrix."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import directrix as dx

X = np.random.default_rng(0).random((40, 3))
Y, SIZES = (X[:, 0] > 0.5).astype(int), [10] * 4
FITTED = dx.BoostedRanker(n_trees=3).fit(X, Y, group=SIZES)
CONSTRUCTOR = {
    "n_estimators": "n_trees",
    "iterations": "n_trees",
    "eta": "learning_rate",
    "reg_lambda": "l2",
    "max_depth": "num_leaves",
    "min_child_samples": "min_data_in_leaf",
    "cat_features": "categorical_features",
    "objective": "surrogate",
    "early_stopping_rounds": "patience",
    "random_seed": "random_state",
    "num_leafs": "num_leaves",
    "n_jobs": r"directrix.set_threads\(n\)",
    "eval_metric": r"fit\(..., measure='nDCG@10'\)",
    "verbose": r"fit\(..., verbose=20\)",
}
FIT = {
    "eval_at": r"fit\(..., measure='nDCG@10'\)",
    "callbacks": "callback",
    "group_id": "qid",
    "weight": "sample_weight",
    "sample_weights": "sample_weight",
    "early_stopping_round": "early_stopping_rounds",
    "verbose_eval": "verbose",
    "feature_name": r"fit\(frame, ...\), whose columns have names",
    "categorical_feature": r"BoostedRanker\(categorical_features=\[0\]\)",
    "eval_metric": r"fit\(..., measure='nDCG@10'\)",
}
ATTRIBUTES = {
    "best_iteration_": r"ranker.result_.counts\['best'\]",
    "best_score_": "evals_result_",
    "booster_": "trees_.to_lightgbm",
    "feature_name_": "ranker.feature_names_in_",
}


@pytest.mark.parametrize("name", CONSTRUCTOR)
def test_an_argument_of_the_constructor(name):
    said = rf"^BoostedRanker\(\) has no argument '{name}'; did you mean {CONSTRUCTOR[name]}\?$"
    with pytest.raises(TypeError, match=said):
        dx.BoostedRanker(**{name: 3})


@pytest.mark.parametrize("name", FIT)
def test_an_argument_of_fit(name):
    said = rf"fit\(\) has no argument '{name}'; did you mean {FIT[name]}\?$"
    with pytest.raises(TypeError, match=said):
        dx.BoostedRanker(n_trees=2).fit(X, Y, group=SIZES, **{name: 3})


def test_arguments_of_other_methods():
    q = dx.Queries.from_arrays(X, Y, group=SIZES)
    with pytest.raises(TypeError, match=r"predict\(\) .* did you mean directrix.explain"):
        FITTED.predict(X, pred_contrib=True)
    with pytest.raises(TypeError, match=r"fit_queries\(\) .* did you mean callback\?"):
        dx.LinearRanker().fit_queries(q, callbacks=[])
    with pytest.raises(TypeError, match=r"AutoRanker\(\) has no argument 'zzz'; it has measure, method"):
        dx.AutoRanker(zzz=3)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute(name):
    assert not hasattr(FITTED, name)
    with pytest.raises(AttributeError, match=f"has no '{name}'; did you mean .*{ATTRIBUTES[name]}"):
        getattr(FITTED, name)


def test_what_scikit_learn_and_python_do_with_rankers_stays():
    for again in (
        clone(FITTED).fit(X, Y, group=SIZES),
        copy.deepcopy(FITTED),
        pickle.loads(pickle.dumps(FITTED)),
    ):
        np.testing.assert_array_equal(again.predict(X), FITTED.predict(X))
    assert [*inspect.signature(dx.BoostedRanker).parameters][:2] == ["surrogate", "n_trees"]
    assert "eval_set" in inspect.signature(dx.BoostedRanker.fit).parameters
    with pytest.raises(AttributeError, match=r"^'BoostedRanker' object has no attribute 'coef_'$"):
        _ = FITTED.coef_


@pytest.mark.parametrize("make", [dx.BoostedRanker, dx.LinearRanker, dx.MLPRanker])
def test_a_function_is_no_surrogate(make):
    with pytest.raises(
        dx.InputError, match="is a function; a surrogate is an object, whose method value_and_grad"
    ):
        make(lambda labels, scores: (scores - labels, 1.0)).fit(X, Y, group=SIZES)
