"""The order of one list: that of ``predict``, without scikit-learn after `directrix.load`."""

import copy
import json
import pickle
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

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


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A function from a ranker to its file."""
    folder = tmp_path_factory.mktemp("models")

    def path_of(ranker):
        path = folder / f"{len(list(folder.iterdir()))}.json"
        ranker.save(path)
        return path

    return path_of


def expected(ranker, X):
    """Positions by the scores of ``predict``, and these scores."""
    scores = ranker.predict(X, group=[len(X)])
    return np.argsort(-scores, kind="stable"), scores


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", MODELS)
def test_the_order_is_that_of_predict(saved, kind, scale):
    ranker = MODELS[kind](scale=scale).fit_queries(Q)
    loaded = dx.load(saved(ranker))
    assert loaded.rank(LIST[:0]).size == ranker.rank(LIST[:0]).size == 0  # a search may find nothing
    for X in (LIST, LIST.astype(np.float32), np.asfortranarray(LIST), LIST[::2], LIST.tolist()):
        order, scores = expected(ranker, np.asarray(X))
        for found in (loaded.rank(X), ranker.rank(X)):
            # an order may differ only where scores are equal but for rounding of float32
            np.testing.assert_allclose(scores[found], scores[order], rtol=2e-5, atol=2e-5)
            assert sorted(found) == list(range(len(scores)))
        if X is LIST:
            np.testing.assert_array_equal(found, order)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", MODELS)
def test_missing_values_are_taken_or_refused_as_by_predict(saved, kind, scale):
    ranker = MODELS[kind](scale=scale).fit_queries(Q)
    loaded = dx.load(saved(ranker))
    try:
        order, _ = expected(ranker, GAPS)
    except InputError:
        with pytest.raises(InputError, match="missing values"):
            loaded.rank(GAPS)
        return
    np.testing.assert_array_equal(loaded.rank(GAPS), order)


@pytest.mark.parametrize("kind", MODELS)
def test_an_infinite_value_is_refused(saved, kind):
    loaded = dx.load(saved(MODELS[kind](scale="standard").fit_queries(Q)))
    for bad in (np.inf, -np.inf):
        X = LIST.copy()
        X[7, 2] = bad
        with pytest.raises(InputError, match=r"-?inf at row 7, column 2"):
            loaded.rank(X)


def test_ensembles_and_searches_rank(saved):
    members = [MODELS[kind](scale=scale) for kind, scale in (("linear", "standard"), ("trees", None))]
    ensemble = dx.EnsembleRanker(members, weights=[1, 2]).fit_queries(Q)
    auto = dx.AutoRanker("nDCG@5", method="Regression", random_state=0).fit_queries(Q)
    for ranker, given in ((ensemble, dx.load(saved(ensemble))), (auto, auto)):
        order, _ = expected(ranker, LIST)
        np.testing.assert_array_equal(given.rank(LIST), order)


def test_equal_scores_keep_their_order():
    ranker = MODELS["trees"]().fit_queries(Q)
    assert ranker.rank(np.zeros((50, 5))).tolist() == list(range(50))


def test_a_frame_is_ranked_by_its_names():
    X = pd.DataFrame(Q.features, columns=list("abcde"))
    ranker = MODELS["linear"]().fit(X, Q.labels, group=np.diff(Q.qptr))
    frame = pd.DataFrame(LIST, columns=list("abcde"))
    np.testing.assert_array_equal(ranker.rank(frame), ranker.rank(LIST))
    with pytest.raises(ValueError, match="feature names"):
        ranker.rank(frame[list("bacde")])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_categories_need_a_frame(saved):
    frame = pd.DataFrame({"shop": pd.Categorical(list("abc") * 40), "price": np.arange(120) % 7})
    y = (frame["shop"] == "b").to_numpy() * 1.0
    ranker = dx.BoostedRanker(n_trees=5, num_leaves=3, min_data_in_leaf=2)
    ranker.fit(frame, y, qid=np.arange(120) // 6)
    np.testing.assert_array_equal(dx.load(saved(ranker)).rank(frame[:9]), expected(ranker, frame[:9])[0])
    with pytest.raises(InputError, match="'shop' of the data holds numbers"):
        dx.load(saved(ranker)).rank([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (LIST[:, :4], r"shape \(40, 4\); the model was trained on 5 features"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], r"shape \(5,\)"),
        ([["a"] * 5], "not an array of numbers"),
        ([[1.0] * 5, [2.0]], "not an array"),
        (LIST.astype(complex), "dtype complex"),
        ("some text", "features: not an array of numbers"),
        (None, "^features: "),
        ([{"a": 1.0}, {"a": 2.0}], "features: not an array of numbers"),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), "not an array of numbers"),
        (object(), "features: not an array of numbers"),
        (pd.DataFrame([[1.0, 2.0, 3.0, 4.0, "high"]]), "the column 4 holds no numbers .*'high'"),
        (pd.DataFrame([[1.0, 2.0, 3.0, 4.0, pd.Timestamp(0)]]), "the column 4 holds no numbers"),
    ],
)
def test_what_is_no_list_is_refused(saved, features, message):
    ranker = MODELS["linear"]().fit_queries(Q)
    for given in (ranker, dx.load(saved(ranker))):
        with pytest.raises(InputError, match=message):
            given.rank(features)


def test_scores_beyond_all_floats_are_refused(saved):
    loaded = dx.load(saved(MODELS["linear"]().fit_queries(Q)))
    with pytest.raises(InputError, match="not finite"):
        loaded.rank(np.full((2, 5), 1e308) * [[1.0], [-1.0]])


def test_a_new_training_is_ranked_by():
    ranker = MODELS["linear"]().fit_queries(Q)
    before = ranker.rank(LIST)
    ranker.fit_queries(dx.Queries.from_arrays(-Q.features, Q.labels, group=np.diff(Q.qptr)))
    assert (ranker.rank(LIST) != before).any()
    np.testing.assert_array_equal(ranker.rank(LIST), expected(ranker, LIST)[0])


@pytest.mark.parametrize(
    ("kind", "absent"), [("linear", "numba"), ("network", "numba"), ("stumps", "numba"), ("trees", "sklearn")]
)
def test_a_server_imports_numpy_alone(saved, kind, absent):
    path = saved(MODELS[kind](scale="standard").fit_queries(Q))
    code = (
        "import sys, directrix as dx; r = dx.load(sys.argv[1]); "
        "loaded = {'numba', 'scipy', 'sklearn'} & sys.modules.keys(); "
        "print(sorted(loaded), r.rank([[1.0] * 5, [2.0] * 5]).size, sys.argv[2] in sys.modules)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code, path, absent], check=True, capture_output=True, text=True
    ).stdout
    assert printed == "[] 2 False\n"


def test_a_loaded_ranker_is_of_its_class_when_it_is_looked_at(saved):
    ranker = MODELS["linear"](scale="standard").fit_queries(Q)
    path = saved(ranker)
    assert isinstance(dx.load(path), dx.LinearRanker)
    assert repr(dx.load(path)).startswith("LinearRanker(")
    assert type(pickle.loads(pickle.dumps(dx.load(path)))) is dx.LinearRanker
    assert type(copy.deepcopy(dx.load(path))) is type(clone(dx.load(path))) is dx.LinearRanker
    loaded = dx.load(path)
    loaded.max_iter = 3
    assert type(loaded) is dx.LinearRanker
    assert loaded.max_iter == 3
    np.testing.assert_array_equal(loaded.rank(LIST), ranker.rank(LIST))
    assert dx.load(path).to_json() == ranker.to_json()
    with pytest.raises(AttributeError, match="no_such"):
        _ = dx.load(path).no_such


def test_threads_may_rank_while_one_asks_for_more(saved):
    ranker = MODELS["linear"](scale="standard").fit_queries(Q)
    order, path = ranker.rank(LIST), saved(ranker)
    for _ in range(20):
        loaded, problems = dx.load(path), []

        def use(loaded, problems, number):
            try:
                if number % 4 == 3:
                    loaded.get_params()
                assert (loaded.rank(LIST) == order).all()
            except (AttributeError, KeyError, AssertionError, InputError) as error:
                problems.append(error)

        threads = [threading.Thread(target=use, args=(loaded, problems, n)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not problems


def test_the_record_of_the_training_is_checked_when_it_is_asked_for(saved):
    path = saved(MODELS["linear"]().fit_queries(Q))
    file = json.loads(path.read_text())
    file["training"]["measure"] = "nDCG@none"
    path.write_text(json.dumps(file))
    loaded = dx.load(path)
    assert len(loaded.rank(LIST)) == len(LIST)
    for use in (
        lambda: loaded.measure_,
        lambda: loaded.predict(LIST),
        lambda: loaded.coef_,
    ):
        with pytest.raises(InputError, match='"measure" of "training"'):
            use()
