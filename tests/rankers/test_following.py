"""Following a training: callbacks, printed steps, learning curves, early stopping by its other name."""

import json

import lightgbm
import numpy as np
import pytest
from sklearn.base import clone
from tests.messages import rejects
from tests.search import search

import directrix as dx
from directrix.data import make_cubic, split_queries
from directrix.trainers.boosting import rejecting_values


def rows(q):
    return q.features, q.labels, np.repeat(np.arange(q.n_queries), np.diff(q.qptr))


@pytest.fixture(scope="module")
def data():
    q = make_cubic(60, 15, 4, seed=0)
    return split_queries(q if isinstance(q, dx.Queries) else q[0], (0.6, 0.4), seed=0)


RANKERS = [
    dx.LinearRanker(max_iter=8),
    dx.LinearRanker("ListNet", trainer="sgd", max_iter=8),
    dx.LinearRanker("SmoothNDCG", trainer=dx.Anneal(dx.CG(max_iter=3))),
    dx.MLPRanker(hidden=(3,), max_iter=8, random_state=0),
    dx.StumpRanker(trainer="rankboost", max_iter=8),
    dx.BoostedRanker(n_trees=8, num_leaves=4),
]


@pytest.mark.parametrize(
    "ranker", RANKERS, ids=lambda r: f"{type(r).__name__}-{getattr(r, 'trainer', '')}"[:30]
)
def test_a_callback_sees_what_the_curves_hold(data, ranker):
    q, v = data
    seen, counted = [], []
    X, y, qid = rows(q)
    Xv, yv, qid_v = rows(v)
    ranker.fit(
        X,
        y,
        qid=qid,
        eval_set=(Xv, yv),
        eval_qid=qid_v,
        measure="AP",
        callback=[lambda step: seen.append((step.iteration, step.loss, step.score)), counted.append],
    )
    curves = ranker.evals_result_
    assert [number for number, *_ in seen] == list(range(len(counted)))
    assert len(counted) > 3
    np.testing.assert_array_equal([loss for _, loss, _ in seen], curves["training"]["loss"])
    np.testing.assert_array_equal([score for *_, score in seen], curves["valid_0"]["AP"])
    assert max(curves["valid_0"]["AP"][1:]) <= ranker.score(Xv, yv, qid=qid_v) + 1e-12


def test_without_validation_queries_there_is_a_loss_only(data):
    steps = []
    ranker = dx.BoostedRanker(n_trees=3).fit_queries(data[0], callback=steps.append)
    assert list(ranker.evals_result_) == ["training"]
    assert np.isnan([step.score for step in steps]).all()
    own = dx.BoostedRanker("lambdarank", n_trees=3).fit_queries(*data)  # tells no loss
    assert list(own.evals_result_) == ["valid_0"]
    with pytest.raises(AttributeError, match="not fitted"):
        _ = dx.LinearRanker().evals_result_


def test_any_callback_ends_the_training_and_all_see_the_step(data):
    steps = []
    ranker = dx.LinearRanker(max_iter=9).fit_queries(
        data[0], callback=[lambda step: step.iteration == 2, steps.append]
    )
    assert len(steps) == 3
    assert ranker.result_.status == "stopped"
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(data[0], callback=5)


@pytest.mark.parametrize(("verbose", "steps"), [(False, []), (True, [0, 1, 2, 3, 4]), (2, [0, 2, 4])])
def test_verbose_prints_steps(data, capsys, verbose, steps):
    ranker = dx.LinearRanker(max_iter=4).fit_queries(*data, measure="nDCG@5", verbose=verbose)
    loss = ranker.evals_result_["training"]["loss"]
    score = ranker.evals_result_["valid_0"]["nDCG@5"]
    wanted = [f"[{i}]\tloss: {loss[i]:.6g}\tvalid nDCG@5: {score[i]:.6g}" for i in steps]
    assert capsys.readouterr().out.splitlines() == wanted


def test_verbose_of_a_search_prints_candidates(data, capsys):
    dx.AutoRanker(method="ListNet", folds=1).fit_queries(data[0], verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/8]\tListNet target=labels temperature=0.3 l2=0.0001: nDCG@10 0.")
    assert [line.partition(":")[0] for line in lines[-2:]] == ["chosen", "why"]
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(data[0], verbose=-1)


@pytest.mark.parametrize("ranker", [RANKERS[1], RANKERS[-1]], ids=["sgd", "trees"])
def test_early_stopping_rounds_is_patience(data, ranker, tmp_path):
    n_steps = "n_trees" if hasattr(ranker, "n_trees") else "max_iter"
    ranker = clone(ranker).set_params(**{n_steps: 200, "random_state": 0})
    a = ranker.fit_queries(*data, early_stopping_rounds=2)
    a.save(tmp_path / "a.json")
    b = ranker.set_params(patience=2).fit_queries(*data)
    b.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    saved = json.loads((tmp_path / "a.json").read_text())["training"]
    assert saved["parameters"]["patience"] == 2
    assert saved["result"]["status"] == "stopped"


def test_early_stopping_rounds_needs_what_stops(data):
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(data[0], early_stopping_rounds=3)
    with rejects(dx.InputError):
        dx.AutoRanker().fit_queries(*data, early_stopping_rounds=3)
    with rejects(dx.InputError):
        dx.LinearRanker().fit_queries(*data, early_stopping_rounds=0)


def test_plot_metric_of_lightgbm_draws_the_curves(data):
    pytest.importorskip("matplotlib")
    ranker = dx.BoostedRanker(n_trees=4).fit_queries(*data, measure="AP")
    axes = lightgbm.plot_metric(ranker.evals_result_, "AP", dataset_names=["valid_0"])
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), ranker.evals_result_["valid_0"]["AP"])


# importances


def test_importances_of_trees_are_shares_of_the_gain(data, tmp_path):
    ranker = dx.BoostedRanker(n_trees=5).fit_queries(data[0])
    total = np.zeros(ranker.n_features_in_)
    for tree in lightgbm.Booster(model_str=ranker.trees_.to_lightgbm()).dump_model()["tree_info"]:
        todo = [tree["tree_structure"]]
        while todo:
            node = todo.pop()
            if "split_gain" in node:
                total[node["split_feature"]] += node["split_gain"]
                todo += [node["left_child"], node["right_child"]]
    np.testing.assert_allclose(ranker.feature_importances_, total / total.sum(), rtol=1e-6)
    ranker.save(tmp_path / "m.json")
    np.testing.assert_array_equal(
        dx.load(tmp_path / "m.json").feature_importances_, ranker.feature_importances_
    )


def test_importances_of_scales_side_by_side_are_by_feature(data):
    ranker = dx.BoostedRanker(n_trees=5, scale="raw+query-percentile").fit_queries(data[0])
    gains = ranker.trees_.gains()
    n = ranker.n_features_in_
    assert len(gains) == 2 * n
    np.testing.assert_allclose(ranker.feature_importances_, (gains[:n] + gains[n:]) / gains.sum())


def test_trees_without_splits_have_no_importance(data):
    with pytest.warns(UserWarning, match="a smaller min_data_in_leaf"):
        ranker = dx.BoostedRanker(n_trees=2, min_data_in_leaf=10**6).fit_queries(data[0])
    np.testing.assert_array_equal(ranker.feature_importances_, np.zeros(ranker.n_features_in_))


def test_other_models_point_to_permutation_importance(data):
    for ranker in (dx.LinearRanker(max_iter=1), dx.EnsembleRanker([dx.LinearRanker(max_iter=1)])):
        ranker.fit_queries(data[0])
        assert not hasattr(ranker, "feature_importances_")
        with pytest.raises(AttributeError, match="permutation_importance"):
            _ = ranker.feature_importances_
    chosen = dx.AutoRanker(method="YetiRank", folds=1, time_budget=1.0, single=True).fit_queries(data[0])
    np.testing.assert_array_equal(chosen.feature_importances_, chosen.ranker_.feature_importances_)


# LightGBM's own parameters, and trees that continue others


def texts(ranker):
    return ranker.trees_.to_lightgbm().partition("\n\n")[2].partition("end of trees")[0]


@pytest.mark.parametrize("surrogate", [None, "ApproxNDCG", "lambdarank"])
def test_trees_go_on_where_others_ended(data, tmp_path, surrogate):
    q, v = data
    settings = {"num_leaves": 5, "random_state": 3}
    first = dx.BoostedRanker(surrogate, n_trees=4, **settings).fit_queries(q)
    first.save(tmp_path / "first.json")
    once = dx.BoostedRanker(surrogate, n_trees=9, **settings).fit_queries(q)
    for start in (first, tmp_path / "first.json", dx.BoostedRanker(surrogate, n_trees=4, **settings)):
        then = dx.BoostedRanker(surrogate, n_trees=5, init_model=start, **settings).fit_queries(q)
        assert texts(then).startswith(texts(first))
        assert then.trees_.n_trees == 9
        if surrogate != "lambdarank":  # whose normalization depends on scores in another precision
            assert texts(then) == texts(once)
        np.testing.assert_allclose(then.predict_queries(v), once.predict_queries(v), rtol=1e-6)
    then.save(tmp_path / "then.json")
    loaded = dx.load(tmp_path / "then.json")
    np.testing.assert_array_equal(loaded.predict_queries(v), then.predict_queries(v))


def test_trees_that_do_not_help_are_not_added(data):
    q, v = data
    first = dx.BoostedRanker(n_trees=60).fit_queries(q, v, measure="nDCG@10")
    worse = dx.BoostedRanker("ListNet", n_trees=3, learning_rate=50.0, init_model=first)
    worse.fit_queries(q, v, measure="nDCG@10")
    assert worse.result_.counts == {"iterations": 3, "best": 0}
    assert texts(worse) == texts(first)


def test_trees_of_other_features_cannot_be_continued(data):
    q, _ = data
    with rejects(dx.InputError):
        dx.BoostedRanker(init_model=dx.LinearRanker().fit_queries(q)).fit_queries(q)
    scaled = dx.BoostedRanker(n_trees=1, scale="query-minmax").fit_queries(q)
    with rejects(dx.InputError):
        dx.BoostedRanker(init_model=scaled).fit_queries(q)
    with rejects(dx.InputError):
        dx.BoostedRanker(init_model="none.json").fit_queries(q)


def test_parameters_of_lightgbm_pass_through(data, tmp_path):
    q, v = data
    ranker = dx.BoostedRanker(n_trees=3, lightgbm_params={"max_depth": 1, "reg_alpha": np.float64(0.1)})
    ranker.fit_queries(q).save(tmp_path / "m.json")
    depths = [
        tree["tree_structure"]
        for tree in lightgbm.Booster(model_str=ranker.trees_.to_lightgbm()).dump_model()["tree_info"]
    ]
    assert all("leaf_value" in tree["left_child"] for tree in depths)
    assert dx.load(tmp_path / "m.json").lightgbm_params == {"max_depth": 1, "reg_alpha": 0.1}
    rising = dx.BoostedRanker(n_trees=20, lightgbm_params={"monotone_constraints": [1] * q.n_features})
    rising.fit_queries(q)
    assert (rising.predict(v.features + 1.0) >= rising.predict(v.features)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"eta": 0.1}, r"'eta': type BoostedRanker\(learning_rate=...\) instead"),
        ({"n_estimators": 9}, r"BoostedRanker\(n_trees=...\)"),
        ({"num_threads": 2}, r"directrix.set_threads\(2\)"),
        ({"boosting": "dart"}, "it is fixed"),
        ({"deterministic": False}, "same bits"),
        ({"lambdarank_position_bias_regularization": 9.0}, "no effect without positions of documents; leave"),
        ({"drop_rate": 0.5}, "it is of boosting='dart'"),
        ({"sigmoid": 2.0}, "only LightGBM's own objective uses"),
        ({"max_dept": 3}, "not a parameter of LightGBM.*Did you mean 'max_depth'"),
        ({"max_depth": "three"}, "LightGBM rejects lightgbm_params=.*should be of type int"),
    ],
)
def test_parameters_that_are_ours_or_unknown_are_refused(data, params, message):
    with pytest.raises(dx.InputError, match=message):
        dx.BoostedRanker(n_trees=1, lightgbm_params=params).fit_queries(data[0])
    dx.BoostedRanker("lambdarank", n_trees=1, lightgbm_params={"sigmoid": 2.0}).fit_queries(data[0])


def test_bins_are_not_shared_by_other_parameters(data):
    """A search bins a data set once; parameters that change bins need their own."""
    settings = {"n_trees": 3, "random_state": 0, "oblivious": False}
    alone = dx.BoostedRanker(lightgbm_params={"min_data_in_bin": 60}, **settings).fit_queries(data[0])
    from directrix.trainers.bins import sharing_bins

    with sharing_bins():
        plain = dx.BoostedRanker(**settings).fit_queries(data[0])
        same = dx.BoostedRanker(lightgbm_params={"min_data_in_bin": 60}, **settings).fit_queries(data[0])
    assert texts(same) == texts(alone) != texts(plain)


# validation queries that are the training queries


def test_validation_queries_that_are_the_training_queries(data):
    q, _ = data
    X, y, qid = rows(q)
    with pytest.warns(UserWarning, match="hold the same rows as the training queries") as seen:
        dx.LinearRanker(max_iter=1).fit(X, y, qid=qid, eval_set=(X.copy(), y), eval_qid=qid)
    assert seen[0].filename == __file__
    with rejects(dx.InputError):
        search(q, q.take(range(q.n_queries)), method="ListNet")
    with pytest.warns(UserWarning, match="same rows"), rejects(dx.InputError):
        dx.AutoRanker(method="ListNet").fit(X, y, qid=qid, eval_set=(X.copy(), y), eval_qid=qid)


def test_lightgbms_lack_of_memory_is_a_memory_error():
    error = lightgbm.basic.LightGBMError("std::bad_alloc")
    with pytest.raises(MemoryError, match="LightGBM could not allocate"), rejecting_values({"max_depth": 1}):
        raise error
