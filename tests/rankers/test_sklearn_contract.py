"""The estimator contract: scikit-learn's own checks, and `qid` through its tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, RandomizedSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import _num_samples
from tests.messages import rejects

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.registry import RANKERS, classes

NOT_REPETITION = (
    "sample_weight scales what a document earns; a list that holds a document twice is another list, "
    "because the copies push each other down, so weights cannot be repetitions"
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
    "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITION,
}
RANKER_CLASSES = classes(RANKERS)


class OneQuery:
    """Calls without qid mean one query.

    scikit-learn's checks call ``fit(X, y)`` and ``score(X, y)`` and cannot pass ``qid``, which a ranker
    refuses: most users who leave it out forgot it. With a subclass that says what is meant every check runs;
    a list of expected failures would leave out nearly all of them.
    """

    def fit(self, X, y, qid=None, **given):
        return super().fit(X, y, qid=np.zeros(_num_samples(X)) if qid is None else qid, **given)

    def score(self, X, y, qid=None, **given):
        return super().score(X, y, qid=np.zeros(_num_samples(X)) if qid is None else qid, **given)


CHECKED = {
    name: type(name, (OneQuery, cls), {"__module__": __name__}) for name, cls in RANKER_CLASSES.items()
}
globals().update(CHECKED)  # pickle finds a class by its name in its module
SETTINGS = {
    "LinearRanker": [
        {"max_iter": 20},
        {"surrogate": "ApproxAP(alpha=5.0)", "trainer": "sgd", "max_iter": 5, "start": "zero"},
    ],
    "StumpRanker": [{"max_iter": 10}, {"trainer": "frank", "thresholds": 4, "max_iter": 5}],
    "AutoRanker": [{"measure": "nDCG@5", "method": "Regression", "folds": 2}],
    "MLPRanker": [
        {"hidden": (4,), "max_iter": 10, "trainer": "lbfgs"},
        {"hidden": (3, 3), "activation": "tanh", "max_iter": 20},
    ],
    "BoostedRanker": [{"n_trees": 5, "min_data_in_leaf": 2}],
    "EnsembleRanker": [
        {"members": [dx.LinearRanker(max_iter=5), dx.StumpRanker(max_iter=5)], "weights": [3, 1]}
    ],
}
"""Quick settings of every ranker, for the checks."""


@parametrize_with_checks(
    [CHECKED[name](**settings) for name in RANKERS for settings in SETTINGS[name]],
    expected_failed_checks=lambda ranker: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_checks(estimator, check):
    if isinstance(estimator, dx.BoostedRanker):
        pytest.importorskip("lightgbm")
    check(estimator)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_without_queries_are_refused_and_the_message_says_how_to_mean_one_query(name, data):
    if name == "BoostedRanker":
        pytest.importorskip("lightgbm")
    X, y, qid = data
    ranker = RANKER_CLASSES[name](**SETTINGS[name][0])
    with rejects(dx.InputError):
        ranker.fit(X, y)
    with rejects(dx.InputError):
        ranker.fit(X, y, qid=qid, eval_set=(X, y))
    one = ranker.fit(X, y, qid=np.zeros(len(y)))
    with rejects(dx.InputError):
        one.score(X, y)
    assert one.score(X, y, qid=np.zeros(len(y))) == one.score(X, y, group=[len(y)])
    assert one.predict(X).shape == (len(y),)


@pytest.fixture(scope="module")
def data():
    q, _ = make_linear(12, 15, 4, seed=3)
    return q.features, q.labels, np.repeat([f"q{i}" for i in range(12)], 15)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requested(**settings):
    return dx.LinearRanker(max_iter=20, **settings).set_fit_request(qid=True).set_score_request(qid=True)


@pytest.mark.usefixtures("routing")
def test_cross_validate_hands_qid_to_fit_and_score(data):
    X, y, qid = data
    ranker = requested()
    found = cross_validate(
        ranker, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3), return_estimator=True
    )
    splits = GroupKFold(3).split(X, y, qid)
    expected = []
    for train, test in splits:
        fitted = clone(ranker).fit(X[train], y[train], qid=qid[train])
        expected.append(dx.evaluate("nDCG", fitted.predict(X[test]), y[test], qid=qid[test])["nDCG"])
    np.testing.assert_allclose(found["test_score"], expected, rtol=1e-12, atol=0)


@pytest.mark.usefixtures("routing")
def test_grid_search_over_surrogates_as_objects_and_text(data):
    X, y, qid = data
    grid = {"surrogate": [dx.ApproxNDCG(alpha=1.0), "ApproxNDCG(alpha=50)", "ApproxAP"], "l2": [0.0, 10.0]}
    search = GridSearchCV(requested(), grid, cv=GroupKFold(2), error_score="raise")
    search.fit(X, y, qid=qid, groups=qid)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_params_["l2"] == 0.0
    assert search.score(X, y, qid=qid) > 0.95


@pytest.mark.usefixtures("routing")
def test_pipeline_passes_qid_to_the_ranker(data):
    X, y, qid = data
    scaler = StandardScaler()
    pipe = make_pipeline(scaler, requested())
    pipe.fit(X, y, qid=qid)
    Z = StandardScaler().fit_transform(X)
    alone = dx.LinearRanker(max_iter=20).fit(Z, y, qid=qid)
    np.testing.assert_allclose(pipe.predict(X), alone.predict(Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pipe.score(X, y, qid=qid), alone.score(Z, y, qid=qid), rtol=1e-12, atol=0)


@pytest.fixture(params=RANKERS)
def small(request):
    """A quick ranker of every class."""
    if request.param == "BoostedRanker":
        pytest.importorskip("lightgbm")
    quick = dict(SETTINGS[request.param][0])
    if request.param == "MLPRanker":
        quick |= {"hidden": [3], "random_state": 0}
    is_auto = request.param == "AutoRanker"
    return lambda **more: RANKER_CLASSES[request.param](**quick, **({} if is_auto else more))


@pytest.mark.usefixtures("routing")
def test_searches_and_pipelines_take_every_ranker(data, small):
    X, y, qid = data
    ranker = small().set_fit_request(qid=True).set_score_request(qid=True)
    pipe = make_pipeline(StandardScaler(), ranker).fit(X, y, qid=qid)
    Z = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pipe.predict(X), small().fit(Z, y, qid=qid).predict(Z), rtol=1e-9, atol=1e-9)
    name = next(name for name in ("surrogate", "weights", "measure") if name in ranker.get_params())
    values = {"surrogate": [None, "ApproxAP(alpha=5.0)"], "weights": [[1, 2], None], "measure": ["AP", "RR"]}
    grid = {name: values[name]}
    search = GridSearchCV(ranker, grid, cv=GroupKFold(2), error_score="raise").fit(X, y, qid=qid, groups=qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.score(X, y, qid=qid) > 0.5


def test_every_ranker_survives_pickling_and_later_settings(data, small):
    X, y, qid = data
    ranker = small().fit(X, y, qid=qid)
    expected = ranker.predict(X)
    assert pickle.loads(pickle.dumps(ranker)).predict(X).tobytes() == expected.tobytes()
    others = {"scale": "query-minmax", "surrogate": "ApproxAP", "thresholds": 2, "hidden": (9,), "n_trees": 1}
    others = {k: v for k, v in others.items() if k in ranker.get_params()}
    assert ranker.set_params(**others).predict(X).tobytes() == expected.tobytes()


def test_every_ranker_takes_sparse_features(data, small):
    X, y, qid = data
    X = np.where(X > 0.5, X, 0.0)
    sparse = small().fit(sp.csr_array(X), y, qid=qid)
    dense = small().fit(X, y, qid=qid)
    np.testing.assert_allclose(sparse.predict(sp.csc_array(X)), dense.predict(X), rtol=1e-5, atol=1e-7)


def test_names_of_features_are_those_of_the_last_fit(data, small):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    ranker = small().fit(frame, y, qid=qid)
    assert ranker.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(ranker.predict(frame[list("badc")]), ranker.predict(frame))
    with pytest.raises(ValueError, match=r"got no 'a' but 'A'; did you mean 'A' by 'a'[?] Give the columns"):
        ranker.predict(frame.rename(columns={"a": "A"}))
    q = dx.Queries.from_arrays(X, y, qid=qid)
    assert not hasattr(ranker.fit_queries(q), "feature_names_in_")


def test_a_validation_set_reaches_every_ranker(data, small):
    X, y, qid = data
    ranker = small().fit(X[:120], y[:120], qid=qid[:120], eval_set=[(X[120:], y[120:])], eval_qid=qid[120:])
    if isinstance(ranker, dx.AutoRanker):
        assert ranker.search_.selection == "4 validation queries"
    else:
        for one in getattr(ranker, "members_", [ranker]):
            assert {"score", "loss"} <= set(one.result_.trace[0])
    with pytest.raises(ValueError, match="3 features"):
        small().fit(X, y, qid=qid, eval_set=(X[:, :3], y), eval_qid=qid)


def test_clone_and_repr_keep_the_surrogate(data):
    ranker = dx.LinearRanker(dx.ApproxNDCG(alpha=50.0), l2=0.1)
    assert clone(ranker).get_params() == ranker.get_params()
    assert "ApproxNDCG(alpha=50.0" in repr(ranker)


APPROX = {"alpha", "k", "beta", "sigmoid", "below"}


@pytest.mark.parametrize("given", [None, "ApproxNDCG(alpha=5)", dx.ApproxNDCG(alpha=5.0)], ids=repr)
def test_parameters_reach_into_the_surrogate(given):
    ranker = dx.LinearRanker(given)
    alpha = 10.0 if given is None else 5.0
    found = {name: value for name, value in ranker.get_params().items() if name.startswith("surrogate__")}
    assert set(found) == {f"surrogate__{name}" for name in APPROX}
    assert found["surrogate__alpha"] == alpha
    assert ranker.set_params(surrogate__alpha=3.0, l2=0.5) is ranker
    assert ranker.surrogate == dx.ApproxNDCG(alpha=3.0)
    assert ranker.l2 == 0.5
    assert clone(ranker).surrogate == ranker.surrogate
    if isinstance(given, dx.ApproxNDCG):
        assert given == dx.ApproxNDCG(alpha=5.0)


@pytest.mark.parametrize("name", RANKERS)
def test_setting_what_get_params_returned_changes_nothing(name):
    ranker = RANKER_CLASSES[name](**SETTINGS[name][0])
    before = ranker.get_params(deep=False)
    ranker.set_params(**ranker.get_params(deep=True))
    assert {key: (type(value), repr(value)) for key, value in ranker.get_params(deep=False).items()} == {
        key: (type(value), repr(value)) for key, value in before.items()
    }


def test_parameters_reach_into_the_trainer_and_the_trainer_in_it():
    inner = dx.CG(max_iter=7)
    annealed = dx.Anneal(inner, start=4.0)
    ranker = dx.LinearRanker("SmoothNDCG", trainer=annealed)
    assert ranker.get_params()["trainer__trainer__max_iter"] == 7
    assert ranker.get_params()["trainer__start"] == 4.0
    ranker.set_params(trainer__trainer__max_iter=3, trainer__start=2.0, surrogate__sigma=0.5)
    assert ranker.trainer == dx.Anneal(dx.CG(max_iter=3), start=2.0)
    assert ranker.surrogate == dx.SmoothNDCG(sigma=0.5)
    assert (annealed, inner) == (dx.Anneal(dx.CG(max_iter=7), start=4.0), dx.CG(max_iter=7))
    ranker.set_params(trainer__trainer=dx.LBFGS(), trainer__trainer__max_iter=5)
    assert ranker.trainer == dx.Anneal(dx.LBFGS(max_iter=5), start=2.0)


def test_a_trainer_by_name_has_the_parameters_of_the_trainer_that_fit_makes_of_it():
    ranker = dx.LinearRanker(trainer="sgd", max_iter=9, random_state=np.random.RandomState(3))
    state = ranker.random_state.get_state()[1].copy()
    assert ranker.get_params()["trainer__epochs"] == 9
    ranker.set_params(trainer__batch=2)
    assert (ranker.trainer.epochs, ranker.trainer.batch) == (9, 2)
    np.testing.assert_array_equal(ranker.random_state.get_state()[1], state)
    assert ranker.trainer.random_state is None  # fit gives it the ranker's


SEEDS = [
    (name, settings)
    for name in RANKERS
    for settings in SETTINGS[name]
    if hasattr(RANKER_CLASSES[name], "random_state")
]


@pytest.mark.parametrize(("name", "settings"), SEEDS)
def test_the_same_call_gives_the_same_bits_and_no_seed_is_seed_0(name, settings, data):
    if name == "BoostedRanker":
        pytest.importorskip("lightgbm")
    X, y, qid = data
    made = [RANKER_CLASSES[name](**settings, **seed) for seed in ({}, {}, {"random_state": 0})]
    assert len({ranker.fit(X, y, qid=qid).predict(X).tobytes() for ranker in made}) == 1


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({}, {"surrogate__alfa": 1.0}, "surrogate__alfa: ApproxNDCG.* it has alpha, k, beta, sigmoid"),
        ({}, {"surrogate__alpha": -1.0}, "alpha"),
        ({"surrogate": "ApproxNDGC"}, {"surrogate__alpha": 1.0}, "ApproxNDCG"),
        ({"trainer": "adarank"}, {"trainer__round": 3}, "trainer__round: AdaRank.* it has measure, rounds"),
        ({"trainer": dx.Anneal(dx.CG())}, {"trainer__trainer__no": 3}, "trainer__trainer__no: CG"),
    ],
)
def test_parameters_that_do_not_exist_are_refused(settings, change, message):
    ranker = dx.LinearRanker(**settings)
    with pytest.raises(dx.InputError, match=message):
        ranker.set_params(**change)


def test_parameters_of_what_fit_refuses_can_be_listed():
    for bad in ({"surrogate": "magic"}, {"trainer": "magic"}, {"max_iter": -np.inf}, {"surrogate": 3}):
        assert dx.LinearRanker(**bad).get_params()["l2"] == 0.0


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("ranker", "grid"),
    [
        (dx.LinearRanker(max_iter=5), {"surrogate__alpha": [1.0, 50.0], "trainer__max_iter": [2, 20]}),
        (
            dx.MLPRanker("ApproxNDCG(alpha=5)", hidden=(3,), trainer="lbfgs", patience=None, random_state=0),
            {"surrogate__k": [None, 3], "trainer__max_iter": [1, 4], "l2": [1e-3]},
        ),
        (
            dx.LinearRanker("SmoothNDCG", trainer=dx.Anneal(dx.CG(max_iter=2), start=2.0, stop=1.0)),
            {"surrogate__k": [None, 3], "trainer__trainer__max_iter": [1, 4]},
        ),
        (dx.StumpRanker(max_iter=3, thresholds=4), {"trainer__rounds": [1, 5]}),
    ],
    ids=["names", "text", "wrapped", "boosting"],
)
def test_searches_reach_into_surrogates_and_trainers(data, ranker, grid):
    X, y, qid = data
    ranker.set_fit_request(qid=True).set_score_request(qid=True)
    before = repr(ranker)
    given = {"cv": GroupKFold(2), "error_score": "raise"}
    every = GridSearchCV(ranker, grid, **given).fit(X, y, qid=qid, groups=qid)
    some = RandomizedSearchCV(ranker, grid, n_iter=2, random_state=0, **given).fit(X, y, qid=qid, groups=qid)
    assert repr(ranker) == before
    assert len(every.cv_results_["params"]) == np.prod([len(values) for values in grid.values()])
    scores = dict(
        zip(map(str, every.cv_results_["params"]), every.cv_results_["mean_test_score"], strict=True)
    )
    for params, score in zip(some.cv_results_["params"], some.cv_results_["mean_test_score"], strict=True):
        matching = next(p for p in every.cv_results_["params"] if p == params)
        assert scores[str(matching)] == score
    assert len(set(scores.values())) > 1
    best = every.best_estimator_
    for name, value in every.best_params_.items():
        assert best.get_params()[name] == value
        assert repr(value) in repr(best.get_params(deep=False))
    direct = clone(ranker).set_params(**every.best_params_).fit(X, y, qid=qid)
    assert direct.predict(X).tobytes() == best.predict(X).tobytes()


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="scikit-learn before 1.8 does not hand metadata to the score of a pipeline in a search",
)
@pytest.mark.usefixtures("routing")
def test_a_search_over_a_pipeline_reaches_into_the_surrogate_of_its_ranker(data):
    X, y, qid = data
    pipe = make_pipeline(StandardScaler(), requested())
    grid = {"linearranker__surrogate__alpha": [1.0, 20.0]}
    search = GridSearchCV(pipe, grid, cv=GroupKFold(2), error_score="raise").fit(X, y, qid=qid, groups=qid)
    alpha = search.best_params_["linearranker__surrogate__alpha"]
    assert search.best_estimator_[-1].surrogate_ == dx.ApproxNDCG(alpha=alpha)


def test_the_trainer_of_a_surrogate_without_a_measure_has_parameters_too():
    class Mine:
        def value_and_grad(self, scores, labels, qptr):
            return np.zeros(len(qptr) - 1), np.zeros(len(scores))

    assert dx.LinearRanker(Mine()).set_params(trainer__max_iter=3).trainer == dx.LBFGS(max_iter=3)


@pytest.mark.usefixtures("routing")
def test_a_random_search_draws_parameters_of_the_surrogate(data):
    X, y, qid = data
    space = {"surrogate__alpha": loguniform(1.0, 100.0), "trainer__memory": [3, 5]}
    search = RandomizedSearchCV(requested(), space, n_iter=3, cv=GroupKFold(2), random_state=1)
    search.fit(X, y, qid=qid, groups=qid)
    best = search.best_estimator_
    assert best.surrogate_ == dx.ApproxNDCG(alpha=search.best_params_["surrogate__alpha"])
    assert best.trainer == dx.LBFGS(max_iter=20, memory=search.best_params_["trainer__memory"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l2": -1.0}, "l2 must be"),
        ({"trainer": "magic"}, "trainer must be"),
        ({"surrogate": 3}, "surrogate must be"),
        ({"scale": "magic"}, "scale must be"),
        ({"start": "one"}, "start must be"),
        ({"max_iter": -1}, "max_iter must be"),
        ({"patience": 0}, "patience must be"),
        ({"surrogate": "ApproxNDGC"}, "ApproxNDCG"),
    ],
)
def test_parameters_are_checked_when_fitting(data, settings, message):
    X, y, qid = data
    with pytest.raises(ValueError, match=message):
        dx.LinearRanker(**settings).fit(X, y, qid=qid)
