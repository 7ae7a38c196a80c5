"""Constraints of rankers: bounds of weights, monotone features, and what refuses them."""

import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from tests.messages import rejects
from tests.search import search

import directrix as dx
from directrix.data.scale import SCALES, fit_scale
from directrix.models.mlp import MLPModel

Q = dx.data.make_cubic(n_queries=30, docs_per_query=12, n_features=5, seed=3)
QID = np.repeat(np.arange(30), 12)
VALID = dx.data.make_cubic(n_queries=10, docs_per_query=12, n_features=5, seed=4)
NAMES = ["a", "b", "c", "d", "e"]
FRAME = pd.DataFrame(Q.features, columns=NAMES)
NAMED = dx.Queries.from_arrays(Q.features, Q.labels, qid=QID, feature_names=NAMES)
FREE = dx.LinearRanker("ListNet", l2=1e-3).fit_queries(Q).coef_


def linear(q=Q, surrogate="ListNet", **settings):
    return dx.LinearRanker(surrogate, **{"l2": 1e-3, **settings}).fit_queries(q)


def falls(ranker, feature, sign, n_features=5):
    """The most that a score falls where the feature rises by steps of all sizes, near and far from zero."""
    rng = np.random.default_rng(feature)
    worst = 0.0
    for width in (0.1, 1.0, 10.0, 1e3):
        rows = width * rng.standard_normal((500, n_features))
        raised = rows.copy()
        raised[:, feature] += width * rng.exponential(size=500) ** 3
        worst = min(worst, (sign * (scores(ranker, raised) - scores(ranker, rows))).min())
    return worst


def scores(ranker, rows):
    return ranker.predict_queries(dx.Queries.from_arrays(rows, np.zeros(len(rows)), group=[len(rows)]))


def test_the_free_weights_have_both_signs():
    assert (FREE > 0.05).any()
    assert (FREE < -0.05).any()


def test_nonnegative_weights_are_the_best_of_their_kind():
    ranker = linear(bounds="nonnegative")
    assert (ranker.coef_ >= 0.0).all()
    assert (ranker.coef_ == 0.0).any()
    rng = np.random.default_rng(0)

    def loss(w):
        return -ranker.surrogate_.value_and_grad(Q.features @ w, Q.labels, Q.qptr)[0].mean() + 1e-3 * w @ w

    others = np.maximum(ranker.coef_ + 0.1 * rng.standard_normal((300, 5)), 0.0)  # the loss is convex
    assert ranker.result_.value <= min(map(loss, others))
    np.testing.assert_allclose(ranker.result_.value, loss(ranker.coef_), rtol=1e-6)


@pytest.mark.parametrize("trainer", ["lbfgs", "sgd", "adam", "coordinate-ascent"])
def test_bounds_by_name_and_by_column_are_the_same(trainer):
    settings = {"trainer": trainer, "max_iter": 5, "l2": 0.0, "random_state": 0}
    settings["surrogate"] = None if trainer == "coordinate-ascent" else "ListNet"
    by_name = linear(NAMED, bounds={"a": (1 / 3, 1 / 3), "c": (None, 0.0), "e": (-0.5, None)}, **settings)
    by_column = linear(Q, bounds={0: (1 / 3, 1 / 3), np.int64(2): [None, 0], 4: (-0.5, np.inf)}, **settings)
    frame = dx.LinearRanker(**by_name.get_params(deep=False)).fit(FRAME, Q.labels, qid=QID)
    for ranker in (by_name, by_column, frame):
        assert ranker.coef_.tobytes() == by_name.coef_.tobytes()
    coef = by_name.coef_
    assert coef[0].tobytes() == np.float64(1 / 3).tobytes()
    assert coef[2] <= 0.0
    assert coef[4] >= -0.5


def test_directions_are_signs_and_meet_bounds():
    ranker = linear(monotone={0: 1, 1: -1}, bounds={1: (-0.2, 5.0), 2: (None, 0)})
    assert ranker.coef_[0] >= 0.0
    assert -0.2 <= ranker.coef_[1] <= 0.0
    assert ranker.coef_[2] <= 0.0
    assert falls(ranker, 0, 1) >= 0.0
    assert falls(ranker, 1, -1) >= 0.0


def test_every_column_of_a_feature_has_its_bound():
    ranker = linear(NAMED, scale="standard+query-percentile", bounds={"a": (0.1, 0.2)}, monotone={"b": -1})
    assert ((ranker.coef_[[0, 5]] >= 0.1) & (ranker.coef_[[0, 5]] <= 0.2)).all()
    assert (ranker.coef_[[1, 6]] <= 0.0).all()


@pytest.mark.parametrize("kind", SCALES)
def test_every_scale_is_increasing(kind):
    """So a sign on scaled features is one on features as they came; within a query for scales by query."""
    rng = np.random.default_rng(0)
    X = np.round(20.0 * rng.standard_normal((60, 3)) ** 3, 1)
    qptr = np.array([0, 30, 60])
    scaled = fit_scale(kind, X).apply(X, qptr)
    for column in range(3):
        for rows in (slice(0, 30), slice(30, 60)):
            order = np.argsort(X[rows, column])
            assert (np.diff(scaled[rows, column][order]) >= 0.0).all()
        for row in range(0, 60, 7):
            raised = X.copy()
            raised[row, column] += 5.0
            assert fit_scale(kind, X).apply(raised, qptr)[row, column] >= scaled[row, column]


@pytest.mark.parametrize(
    "start", ["zero", "regression", -np.ones(5), dx.LinearRanker("RankNet"), linear(surrogate="RankNet")]
)
@pytest.mark.parametrize("center", ["zero", "start"])
def test_a_start_beyond_the_limits_is_moved_to_them(start, center):
    kept = linear(start=start, center=center, bounds="nonnegative", max_iter=0)
    assert (kept.coef_ >= 0.0).all()
    trained = linear(start=start, center=center, bounds="nonnegative", max_iter=20)
    assert (trained.coef_ >= 0.0).all()
    if center == "zero":
        np.testing.assert_allclose(trained.coef_, linear(bounds="nonnegative").coef_, rtol=0, atol=1e-3)


def test_it_works_with_the_rest_of_the_ranker():
    ranker = dx.LinearRanker(
        "SmoothNDCG",
        trainer=dx.Anneal(dx.LBFGS(), start=1.0, stop=0.5),
        bounds="nonnegative",
        warm_start=True,
    )
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(QID))
    ranker.fit(
        Q.features, Q.labels, qid=QID, sample_weight=None, eval_set=(VALID.features, VALID.labels),
        eval_group=np.diff(VALID.qptr),
    )  # fmt: skip
    assert (ranker.coef_ >= 0.0).all()
    ranker.set_params(bounds={0: (0.0, 0.1), 1: (0.5, 0.5)})
    ranker.fit(Q.features, Q.labels, qid=QID)
    assert 0.0 <= ranker.coef_[0] <= 0.1
    assert ranker.coef_[1] == 0.5
    weighted = dx.LinearRanker(
        "ApproxNDCG", trainer=dx.Restarts(dx.LBFGS(max_iter=5), n=3), bounds="nonnegative"
    )
    weighted.fit(Q.features, Q.labels, qid=QID, sample_weight=weights)
    assert (weighted.coef_ >= 0.0).all()


def test_scikit_learn_clones_and_searches_it():
    ranker = dx.LinearRanker("ListNet", bounds={"a": (0, None)}, monotone={"b": -1}, max_iter=5)
    assert clone(ranker).get_params() == ranker.get_params()
    grid = {"bounds": [None, "nonnegative", {"a": (None, -0.1)}], "l2": [1e-3]}
    with sklearn.config_context(enable_metadata_routing=True):
        ranker.set_fit_request(qid=True)
        search = GridSearchCV(ranker, grid, cv=GroupKFold(2), scoring=dx.experiments.make_scorer("nDCG@5"))
        search.fit(FRAME, Q.labels, qid=QID, groups=QID)
    assert search.best_estimator_.bounds == search.best_params_["bounds"]
    assert len(set(search.cv_results_["mean_test_score"])) == 3


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"bounds": {"z": (0, 1)}}, "bounds has 'z'; the data have 5 .* numbered from 0, with the names a"),
        ({"monotone": {5: 1}}, "monotone has 5; the data have 5 features"),
        ({"monotone": {True: 1}}, "monotone has True"),
        ({"bounds": {"a": (1, 0)}}, r"bounds has \(1, 0\) for 'a'; two numbers are needed"),
        ({"bounds": {"a": (np.nan, 1)}}, "two numbers are needed"),
        ({"bounds": {"a": (np.inf, None)}}, "two numbers are needed"),
        ({"bounds": {"a": 0}}, "two numbers are needed"),
        ({"bounds": {"a": (0, 1, 2)}}, "two numbers are needed"),
        ({"bounds": {"a": ("x", 1)}}, "two numbers are needed"),
        ({"bounds": {"a": (0, 1), 0: (0, 1)}}, "bounds names one feature twice, as 'a' and 0"),
        ({"monotone": {"a": 2}}, "monotone has 2 for 'a'; a direction is 1"),
        ({"monotone": {"a": "up"}}, "a direction is 1"),
        ({"monotone": {"b": 1}, "bounds": {"b": (-2, -1)}}, "contradict each other: .* feature 'b' "),
    ],
)  # fmt: skip
def test_what_is_no_constraint_is_refused(settings, text):
    with pytest.raises(dx.InputError, match=text):
        linear(NAMED, **settings)


@pytest.mark.parametrize(
    "name", sorted(dx.LinearRanker.trainers - {"lbfgs", "sgd", "adam", "coordinate-ascent"})
)
def test_trainers_without_limits_are_refused_and_others_named(name):
    with pytest.raises(
        dx.InputError, match=rf"'{name}' does not .* 'adam', 'coordinate-ascent', 'lbfgs', 'sgd'"
    ):
        linear(surrogate="RankSVM", trainer=name, bounds="nonnegative")
    with rejects(dx.InputError):
        linear(trainer=dx.Restarts(dx.CG()), monotone={0: 1})


def test_local_optima_of_constrained_rankers_are_not_tested():
    ranker = linear(bounds="nonnegative")
    for test in (dx.certify, dx.experiments.polish):
        with rejects(dx.InputError):
            test(ranker, Q)


@pytest.mark.parametrize(
    "ranker",
    [
        dx.LinearRanker(
            "ListNet", bounds={"a": (1 / 3, None), "e": (-np.inf, np.float32(0.5))}, monotone={"b": -1}
        ),
        dx.LinearRanker("ListNet", bounds="nonnegative"),
        dx.LinearRanker("ListNet", bounds={np.int64(1): (0, 0)}),
        dx.MLPRanker(hidden=(3,), monotone={"a": 1, 4: -1}, max_iter=2),
        dx.BoostedRanker(n_trees=3, monotone={"a": 1, 4: -1}),
    ],
    ids=repr,
)
def test_constraints_are_saved_and_loaded(ranker, tmp_path):
    ranker.fit_queries(NAMED)
    ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert loaded.predict_queries(NAMED).tobytes() == ranker.predict_queries(NAMED).tobytes()
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    loaded.set_params(random_state=ranker.random_state)
    if not isinstance(ranker, dx.MLPRanker):  # those have drawn their start
        assert (
            loaded.fit_queries(NAMED).predict_queries(NAMED).tobytes()
            == ranker.predict_queries(NAMED).tobytes()
        )
    else:
        assert loaded.monotone == {"a": 1, 4: -1}


@pytest.mark.parametrize("stored", [[1], [["a"]], [["a", [1, 0, 2]]], [[[], 1]], [[True, 1]], [[None, 1]]])
def test_constraints_of_a_damaged_file_are_refused(stored, tmp_path):
    linear(NAMED, bounds={"a": (0, None)}).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content["training"]["parameters"]["bounds"] = stored
    (tmp_path / "m.json").write_text(json.dumps(content))
    with rejects(dx.InputError):
        dx.load(tmp_path / "m.json").fit_queries(NAMED)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize(("hidden", "residual"), [((), False), ((6,), False), ((6, 6), True), ((6, 4), True)])
@pytest.mark.parametrize("trainer", ["adam", "sgd", "lbfgs"])
def test_networks_are_monotone_everywhere(activation, hidden, residual, trainer):
    ranker = dx.MLPRanker(
        hidden=hidden, activation=activation, residual=residual, trainer=trainer, monotone={0: 1, 3: -1},
        max_iter=6, random_state=0,
    ).fit_queries(Q, VALID)  # fmt: skip
    rounding = 1e-12 * np.abs(ranker.params_).sum() * (activation == "tanh")
    assert falls(ranker, 0, 1) >= -rounding
    assert falls(ranker, 3, -1) >= -rounding
    assert np.ptp(ranker.predict_queries(Q)) > 0.0
    free = dx.MLPRanker(
        hidden=hidden, activation=activation, residual=residual, trainer=trainer, max_iter=6, random_state=0
    )
    free.fit_queries(Q, VALID)
    assert min(falls(free, f, s) for f in (0, 3) for s in (1, -1)) < -1e-3


def test_a_monotone_network_is_as_free_as_its_sign_allows():
    """Features without a direction rise and fall; the first weights are those of a free one, turned."""
    settings = {"hidden": (8, 8), "random_state": 0}
    ranker = dx.MLPRanker(monotone={0: 1}, max_iter=20, **settings).fit_queries(Q)
    assert min(falls(ranker, 1, 1), falls(ranker, 2, 1)) < -1e-2
    assert min(falls(ranker, 1, -1), falls(ranker, 2, -1)) < -1e-2
    start = dx.MLPRanker(monotone={0: 1}, max_iter=0, **settings).fit_queries(Q).params_
    model = MLPModel((8, 8), "relu", residual=True)
    free = model.start(5, np.random.default_rng(0))
    for layer in model.layers(free, 5)[1:]:
        layer.weights[:8] /= np.sqrt(8)  # so that units which all add up leave scores as large as before
    np.testing.assert_allclose(np.abs(start), np.abs(free), rtol=1e-15)
    assert (start < 0.0).any()
    layers = model.layers(start, 5)
    assert (layers[0].weights[0] >= 0.0).all()
    assert (layers[1].weights >= 0.0).all()
    assert (layers[2].weights[:9] >= 0.0).all()  # 8 units, and the linear term of the first feature
    assert (layers[2].weights[9:] < 0.0).any()


@pytest.mark.parametrize("surrogate", ["YetiRank", "ApproxNDCG", "lambdarank"])
@pytest.mark.parametrize("scale", [None, "raw+query-percentile"])
def test_trees_are_monotone_everywhere(surrogate, scale):
    settings = {"n_trees": 30, "min_data_in_leaf": 5, "scale": scale}
    ranker = dx.BoostedRanker(surrogate, monotone={"a": 1, 3: -1}, **settings).fit_queries(NAMED)
    if scale is None:
        assert falls(ranker, 0, 1) >= 0.0
        assert falls(ranker, 3, -1) >= 0.0
        free = dx.BoostedRanker(surrogate, **settings).fit_queries(NAMED)
        assert min(falls(free, f, s) for f in (0, 3) for s in (1, -1)) < -1e-3
    else:
        rows = np.random.default_rng(0).standard_normal((40, 10)) * 3
        for column, sign in ((0, 1), (5, 1), (3, -1), (8, -1)):
            raised = rows.copy()
            raised[:, column] += 2.0
            assert (sign * (ranker.trees_.predict(raised) - ranker.trees_.predict(rows)) >= 0.0).all()
    assert ranker.feature_importances_[0] > 0.0


def test_trees_have_one_place_for_directions():
    with rejects(dx.InputError):
        dx.BoostedRanker(monotone={0: 1}, lightgbm_params={"monotone_constraints": [1] * 5}).fit_queries(Q)
    ours = dx.BoostedRanker(n_trees=5, monotone={0: 1, 1: -1}).fit_queries(Q)
    theirs = dx.BoostedRanker(
        n_trees=5, lightgbm_params={"monotone_constraints": [1, -1, 0, 0, 0]}
    ).fit_queries(Q)
    assert ours.predict(Q.features).tobytes() == theirs.predict(Q.features).tobytes()


def test_categories_have_no_direction():
    X = np.column_stack([Q.features[:, 0], QID % 3])
    with rejects(dx.InputError):
        dx.BoostedRanker(n_trees=2, monotone={1: 1}, categorical_features=[1]).fit(X, Q.labels, qid=QID)


def test_trees_that_continue_others_need_their_directions():
    first = dx.BoostedRanker(n_trees=3, monotone={0: 1}).fit_queries(NAMED)
    with rejects(dx.InputError):
        dx.BoostedRanker(n_trees=3, monotone={0: 1, 1: 1}, init_model=first).fit_queries(NAMED)
    more = dx.BoostedRanker(n_trees=3, monotone={"a": 1}, init_model=first).fit_queries(NAMED)
    assert more.trees_.n_trees == 6
    assert falls(more, 0, 1) >= 0.0


def test_a_search_tries_only_methods_that_keep_to_constraints():
    settings = {"bounds": {"a": (0, None), "b": (None, 0)}, "max_iter": 5}
    found = search(NAMED, method="ApproxNDCG,SmoothNDCG,AdaRank-NDCG,BoostedNDCG", settings=settings, folds=2)
    assert {candidate.name for candidate in found.trials} == {"ApproxNDCG"}
    assert any("SmoothNDCG, AdaRank-NDCG, BoostedNDCG: not trained, because they" in n for n in found.notes)
    assert found.ranker.coef_[0] >= 0.0 >= found.ranker.coef_[1]
    assert "bounds" not in found.name
    with rejects(dx.InputError):
        search(NAMED, method="SmoothNDCG", settings={"monotone": {"a": 1}})
    every = search(NAMED, settings={"monotone": {"a": 1, "b": -1}}, folds=1, single=True)
    assert {"LambdaRank", "MLP", "Network", "YetiRank"} <= {candidate.name for candidate in every.trials}


def test_ohsumed_with_weights_of_one_sign(data_dir):
    """Of 45 weights 37 have the right sign without the constraint; it costs little."""
    q = dx.read_letor(data_dir / "letor" / "OHSUMED" / "Fold1" / "train.txt")
    ranker = dx.LinearRanker("ApproxNDCG", l2=1e-3, bounds="nonnegative").fit_queries(q)
    free = dx.LinearRanker("ApproxNDCG", l2=1e-3).fit_queries(q)
    assert (free.coef_ < 0.0).sum() == 8
    assert (ranker.coef_ >= 0.0).all()
    assert free.result_.value < ranker.result_.value < free.result_.value + 0.005
    trees = dx.BoostedRanker(n_trees=30, monotone={10: 1, 4: 1}).fit_queries(q)
    assert min(falls(trees, 10, 1, 45), falls(trees, 4, 1, 45)) >= 0.0
