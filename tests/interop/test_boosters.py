"""Boosters with our gradients and measures: trees of `BoostedRanker`, and gradients served as they are."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import directrix as dx
from directrix.interop import catboost as for_catboost
from directrix.interop import lightgbm as for_lightgbm
from directrix.interop import xgboost as for_xgboost
from directrix.objectives.scores import ScoreObjective, newton_step
from directrix.trainers.boosting import Boosting
from directrix.trainers.leafwise import lightgbm_settings
from tests.messages import rejects

ALL, _ = dx.data.make_linear(55, 20, 5, seed=0)
Q, VALID = ALL.take(np.arange(40)), ALL.take(np.arange(40, 55))
SIZES, SIZES_VALID = [20] * 40, [20] * 15
RANKED = {
    "X": Q.features,
    "y": Q.labels,
    "group": SIZES,
    "eval_set": [(VALID.features, VALID.labels)],
    "eval_group": [SIZES_VALID],
}
"""What the rankers of LightGBM and XGBoost both take."""
WEIGHT = np.repeat(np.arange(1.0, 41.0), 20)
OWN = dx.define_measure("first", gain=lambda labels: labels, discount=lambda rank: 0.5**rank)
SURROGATES = {
    "ApproxNDCG": "ApproxNDCG",
    "Lambda of AP": dx.Lambda("AP"),
    "YetiRank": "YetiRank",
    "a user's measure": dx.ApproxMeasure(OWN),
    "no slope at the start": "SmoothNDCG",
}


def gradient(surrogate, scores, **weights):
    return newton_step(*ScoreObjective(Q, surrogate, **weights).value_grad_curvature(scores, 0, 0)[1:])


class OfLightGBM:
    """Called as both interfaces of LightGBM call."""

    lightgbm = pytest.importorskip("lightgbm")

    @classmethod
    def train(cls, objective, n_trees=8, **more):
        settings = lightgbm_settings(Boosting(n_trees=n_trees), 1, 20.0, 127, lambdarank=False) | more
        data = cls.lightgbm.Dataset(Q.features, Q.labels, group=SIZES, params=settings)
        return cls.lightgbm.train({**settings, "objective": objective}, data, n_trees)


@pytest.mark.parametrize("name", SURROGATES)
def test_lightgbm_grows_the_trees_of_boosted_ranker(name):
    ranker = dx.BoostedRanker(SURROGATES[name], n_trees=8, patience=None, oblivious=False).fit_queries(
        Q, measure="nDCG@5"
    )
    objective = for_lightgbm.objective(SURROGATES[name])
    for _ in range(2):  # the second training begins anew
        found = OfLightGBM.train(objective).predict(VALID.features)
        np.testing.assert_array_equal(found, ranker.predict_queries(VALID))
    assert np.ptp(found) > 0.0


def test_weights_of_rows_are_those_of_boosted_ranker():
    ranker = dx.BoostedRanker("ApproxNDCG", n_trees=8, patience=None, oblivious=False)
    ranker.fit(Q.features, Q.labels, group=SIZES, sample_weight=WEIGHT, measure="nDCG@5")
    settings = lightgbm_settings(Boosting(n_trees=8), 1, 20.0, 127, lambdarank=False)
    data = OfLightGBM.lightgbm.Dataset(
        Q.features, Q.labels, group=SIZES, weight=WEIGHT.astype(np.float32), params=settings
    )
    settings["objective"] = for_lightgbm.objective("ApproxNDCG")
    found = OfLightGBM.lightgbm.train(settings, data, 8).predict(VALID.features)
    np.testing.assert_allclose(found, ranker.predict_queries(VALID), rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_lgbm_ranker_stops_by_the_exact_measure_and_can_be_cloned():
    made = OfLightGBM.lightgbm.LGBMRanker(
        objective=for_lightgbm.objective("ApproxNDCG"), n_estimators=30, verbose=-1, reg_lambda=20.0
    )
    rankers = [made, clone(made), pickle.loads(pickle.dumps(made))]
    for ranker in rankers:
        ranker.fit(
            **RANKED,
            eval_metric=for_lightgbm.metric("nDCG@5"),
            callbacks=[OfLightGBM.lightgbm.early_stopping(5, verbose=False)],
        )
    first, *others = rankers
    curve = first.evals_result_["valid_0"]["nDCG@5"]
    assert first.best_iteration_ == int(np.argmax(curve)) + 1
    scores = first.predict(VALID.features)
    exact = dx.evaluate("nDCG@5", scores, VALID.labels, group=SIZES_VALID)["nDCG@5"]
    assert max(curve) == pytest.approx(exact, abs=1e-12)
    for other in others:
        np.testing.assert_array_equal(other.predict(VALID.features), scores)


def test_xgboost_gets_the_gradient_and_stops_by_the_exact_measure():
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(Q.features, Q.labels, group=SIZES)
    data.set_weight(WEIGHT[::20])
    objective = for_xgboost.objective("ApproxNDCG")
    grad, curvature = objective(np.full(800, 0.5), data)
    wanted = gradient(dx.ApproxNDCG(), np.zeros(800), query_weight=WEIGHT[::20])
    np.testing.assert_allclose(grad, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(curvature, wanted[1], rtol=1e-12)
    valid = xgboost.DMatrix(VALID.features, VALID.labels, group=SIZES_VALID)
    curves = {}
    trees = xgboost.train(
        {"eta": 0.1, "nthread": 1, "disable_default_eval_metric": True},
        data,
        30,
        obj=objective,
        custom_metric=for_xgboost.metric("nDCG@5"),
        maximize=True,
        evals=[(valid, "valid")],
        early_stopping_rounds=5,
        evals_result=curves,
        verbose_eval=False,
    )
    curve = curves["valid"]["nDCG@5"]
    assert trees.best_iteration == int(np.argmax(curve))
    scores = trees.predict(valid, iteration_range=(0, trees.best_iteration + 1))
    exact = dx.evaluate("nDCG@5", scores, VALID.labels, group=SIZES_VALID)["nDCG@5"]
    assert max(curve) == pytest.approx(exact, abs=1e-6)
    assert exact > 0.8


def test_xgboost_reads_the_names_of_all_conventions():
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(Q.features, Q.labels, group=SIZES)
    measure, curves = dx.measure("nDCG@10").under("letor3"), {}
    xgboost.train(
        {"nthread": 1},
        data,
        2,
        obj=for_xgboost.objective("ApproxNDCG"),
        custom_metric=for_xgboost.metric(measure),
        evals=[(data, "train")],
        evals_result=curves,
        verbose_eval=False,
    )
    assert len(curves["train"]) == 2


def test_xgb_ranker_refuses_an_objective():
    """What the documentation says of it; when this fails, objectives of users work there too."""
    xgboost = pytest.importorskip("xgboost")
    with pytest.raises(ValueError, match="custom objective"):
        xgboost.XGBRanker(objective=for_xgboost.objective("ApproxNDCG"))


def test_xgb_ranker_takes_the_metric_query_by_query():
    xgboost = pytest.importorskip("xgboost")
    ranker = xgboost.XGBRanker(n_estimators=5, n_jobs=1, eval_metric=for_xgboost.metric("nDCG@5"))
    ranker.fit(
        **RANKED,
        verbose=False,
    )
    curve = ranker.evals_result()["validation_0"]["nDCG@5"]
    exact = dx.evaluate("nDCG@5", ranker.predict(VALID.features), VALID.labels, group=SIZES_VALID)
    assert curve[-1] == pytest.approx(exact["nDCG@5"], abs=1e-6)


def test_xgb_ranker_weighs_the_queries_of_a_metric_by_their_size():
    """What the documentation says of it; when this fails, its mean is exact for queries of any length."""
    xgboost = pytest.importorskip("xgboost")
    sizes, measure = np.array([5, 15] * 40), dx.measure("nDCG@5")
    ranker = xgboost.XGBRanker(n_estimators=2, n_jobs=1, eval_metric=for_xgboost.metric(measure))
    data = {"group": sizes, "eval_set": [(Q.features, Q.labels)], "eval_group": [sizes]}
    ranker.fit(Q.features, Q.labels, **data, verbose=False)
    values = measure(ranker.predict(Q.features).astype(float), Q.labels, np.append(0, np.cumsum(sizes)))
    printed = ranker.evals_result()["validation_0"]["nDCG@5"][-1]
    assert printed == pytest.approx(np.average(values, weights=sizes), abs=1e-6)
    assert printed != pytest.approx(values.mean(), abs=1e-4)


class TestCatBoost:
    """CatBoost grows one tree at a time on a gradient that is served to it in parts."""

    catboost = pytest.importorskip("catboost")

    def test_the_sum_is_one_model_that_keeps_the_best_trees(self, tmp_path):
        data = {"group": SIZES, "eval_set": (VALID.features, VALID.labels, SIZES_VALID)}
        model = for_catboost.boost(
            "ApproxNDCG",
            Q.features,
            Q.labels,
            **data,
            iterations=20,
            measure="nDCG@5",
            early_stopping_rounds=4,
        )
        values = []
        for n_trees in range(1, model.tree_count_ + 1):
            scores = model.predict(VALID.features, ntree_end=n_trees)
            values.append(dx.evaluate("nDCG@5", scores, VALID.labels, group=SIZES_VALID)["nDCG@5"])
        assert values[-1] == max(values)
        assert model.tree_count_ < 20
        model.save_model(str(tmp_path / "m.cbm"))
        loaded = self.catboost.CatBoost().load_model(str(tmp_path / "m.cbm"))
        np.testing.assert_array_equal(loaded.predict(VALID.features), model.predict(VALID.features))

    def test_leaves_are_newton_steps_of_the_whole_gradient(self):
        """A tree of one split whose leaf is the sum of gradients over that of curvatures."""
        params = {"depth": 1, "learning_rate": 0.5, "l2_leaf_reg": 2.0, "thread_count": 1}
        weight = WEIGHT[::20]
        model = for_catboost.boost(
            "ApproxNDCG", Q.features, Q.labels, group=SIZES, params=params, iterations=1, query_weight=weight
        )
        grad, curvature = gradient(dx.ApproxNDCG(), np.zeros(800), query_weight=weight)
        scores = model.predict(Q.features)
        for leaf in np.unique(scores):
            rows = scores == leaf
            step = -0.5 * grad[rows].sum() / (curvature[rows].sum() + 2.0)
            assert leaf == pytest.approx(step, rel=1e-6)

    @pytest.mark.filterwarnings("ignore:Can't optim")
    def test_the_metric_is_that_of_the_data_with_as_many_rows(self):
        metric = for_catboost.metric("nDCG@5", SIZES, SIZES_VALID)
        model = self.catboost.CatBoost(
            {
                "loss_function": "QueryRMSE",
                "eval_metric": metric,
                "iterations": 5,
                "verbose": False,
                "allow_writing_files": False,
                "thread_count": 1,
            }
        )
        pools = [
            self.catboost.Pool(q.features, q.labels, group_id=np.repeat(np.arange(q.n_queries), 20))
            for q in (Q, VALID)
        ]
        model.fit(pools[0], eval_set=pools[1])
        scores = model.predict(VALID.features)
        exact = dx.evaluate("nDCG@5", scores, VALID.labels, group=SIZES_VALID)["nDCG@5"]
        name = next(iter(model.evals_result_["validation"].keys() - {"QueryRMSE"}))
        assert max(model.evals_result_["validation"][name]) == pytest.approx(exact, abs=1e-9)

    def test_an_objective_of_its_own_is_refused(self):
        pool = self.catboost.Pool(Q.features, Q.labels)
        objective = for_catboost.objective("ApproxNDCG")
        model = self.catboost.CatBoost(
            {
                "loss_function": objective,
                "eval_metric": "RMSE",
                "iterations": 1,
                "verbose": False,
                "allow_writing_files": False,
            }
        )
        with pytest.raises(self.catboost.CatBoostError, match="no list is whole"):
            model.fit(pool)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"params": {"iterations": 5}}, "params has iterations"),
            ({"params": {"leaf_estimation_iterations": 5}}, "params has leaf_estimation_iterations"),
            ({"params": {"early_stopping_rounds": 5}}, "params has early_stopping_rounds"),
            ({"iterations": 0}, "iterations"),
            ({"group": [800, 1]}, "group"),
            ({"group": None}, "no groups"),
        ],
    )
    def test_wrong_arguments_are_named(self, settings, words):
        with pytest.raises(dx.InputError, match=words):
            for_catboost.boost("ApproxNDCG", Q.features, Q.labels, **{"group": SIZES, **settings})

    def test_more_rows_than_it_can_number_are_refused(self, monkeypatch):
        monkeypatch.setattr(for_catboost, "_MOST_ROWS", 799)
        with rejects(dx.InputError):
            for_catboost.boost("ApproxNDCG", Q.features, Q.labels, group=SIZES)

    @pytest.mark.parametrize("name", ["border_count", "max_bin"])
    def test_bins_have_both_names_of_catboost(self, name):
        data = {"group": SIZES, "iterations": 2}
        coarse, fine = (
            for_catboost.boost("ApproxNDCG", Q.features, Q.labels, params=params, **data).predict(Q.features)
            for params in ({name: 2}, {})
        )
        assert not np.array_equal(coarse, fine)

    def test_a_metric_of_other_data_is_refused(self):
        metric = for_catboost.metric("nDCG@5", SIZES, SIZES)
        with rejects(dx.InputError):
            metric.evaluate([np.zeros(800)], Q.labels, None)


def test_what_was_computed_is_not_copied_and_ends_with_the_data():
    objective = for_lightgbm.objective("YetiRank", seed=3)
    first = objective(Q.labels, np.zeros(800), None, np.array(SIZES))
    second = objective(Q.labels, np.arange(800.0), None, np.array(SIZES))
    twin = copy.deepcopy(objective)
    assert not twin._kept
    again = twin(Q.labels, np.zeros(800), None, np.array(SIZES))
    np.testing.assert_array_equal(again[0], first[0])
    np.testing.assert_array_equal(twin(Q.labels, np.arange(800.0), None, np.array(SIZES))[0], second[0])
    other = objective(VALID.labels, np.arange(300.0), None, np.array(SIZES_VALID))
    assert len(other[0]) == 300


@pytest.mark.parametrize("module", [for_lightgbm, for_xgboost, for_catboost])
def test_no_surrogate_and_no_measure_are_refused(module):
    with rejects(dx.InputError):
        module.objective(dx.ApproxNDCG)
    with pytest.raises(dx.InputError):
        module.objective("nonsense")
    with pytest.raises(dx.InputError):
        module.metric("nonsense")


def test_data_sets_in_turns_keep_their_place_in_the_noise():
    """As LightGBM's cv calls: one tree of each fold after another."""
    q = [(Q.labels, np.array(SIZES)), (VALID.labels, np.array(SIZES_VALID))]
    scores = [np.zeros(800), *(np.random.default_rng(0).random((3, 800)))]

    def slopes(objective, labels, sizes, number):
        return objective(labels, scores[number][: len(labels)], None, sizes)[0]

    alone = []
    for labels, sizes in q:
        objective = for_lightgbm.objective("YetiRank")
        alone.append([slopes(objective, labels, sizes, number) for number in range(4)])
    objective = for_lightgbm.objective("YetiRank")
    for number in range(4):
        for (labels, sizes), wanted in zip(q, alone, strict=True):
            np.testing.assert_array_equal(slopes(objective, labels, sizes, number), wanted[number])


def test_data_without_groups_are_refused():
    data = OfLightGBM.lightgbm.Dataset(Q.features, Q.labels).construct()
    with rejects(dx.InputError):
        for_lightgbm.objective("ApproxNDCG")(np.zeros(800), data)
    with rejects(dx.InputError):
        for_lightgbm.metric("nDCG@5")(np.zeros(800), data)


def test_catboost_refuses_validation_that_cannot_choose():
    pytest.importorskip("catboost")
    data = {"group": SIZES, "eval_set": (VALID.features, np.zeros(VALID.n_docs), SIZES_VALID)}
    with rejects(dx.InputError):
        for_catboost.boost("ApproxNDCG", Q.features, Q.labels, iterations=2, **data)
