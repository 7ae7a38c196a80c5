"""Trees on shards: the bits of the same documents in memory, for any division of the work."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import directrix as dx
from directrix.data.shards import task
from directrix.data.shards.context import using_driver
from directrix.data.shards.task import ThisProcess
from tests.messages import rejects
from tests.search import search

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def q():
    """Queries in the order of the shards, with missing values, few values, and a feature of a heavy tail."""
    sizes = RNG.integers(1, 30, 120)
    X = RNG.standard_normal((sizes.sum(), 6)).astype(np.float32)
    X[:, 0] = np.round(X[:, 0])
    X[:, 1] = np.exp(3 * X[:, 1])
    y = np.digitize(X[:, 2] * (X[:, 3] > 0) + 0.5 * RNG.standard_normal(len(X)), [0.0, 1.0])
    X[RNG.random(len(X)) < 0.2, 4] = np.nan
    return dx.Queries.from_arrays(X, y, group=sizes, missing="nan")


@pytest.fixture(scope="module")
def folder(q, tmp_path_factory):
    cut = [q.take(range(40)), q.take([]), q.take(range(40, 41)), q.take(range(41, 90))]
    return dx.write_shards(cut, tmp_path_factory.mktemp("data") / "shards")


@pytest.fixture(scope="module")
def train(q):
    return q.take(range(90))


@pytest.fixture(scope="module")
def valid(q, tmp_path_factory):
    return dx.write_shards(q.take(range(90, 120)), tmp_path_factory.mktemp("data") / "valid", 2)


SETTINGS = [
    {},
    {"subsample": 0.6, "feature_fraction": 0.5, "n_bags": 2, "random_state": 3},
    {"num_leaves": 2, "max_bin": 9},
    {"num_leaves": 300, "l2": 0.0},
    {"surrogate": "SmoothNDCG", "anneal": 16.0},
    {"scale": "raw+query-percentile"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_trees_are_those_of_the_documents_in_memory(q, train, folder, valid, settings):
    judged = q.take(range(90, 120))
    here = dx.BoostedRanker(n_trees=12, **settings).fit_queries(train, judged, measure="nDCG@5")
    for theirs in (judged, valid):
        there = dx.BoostedRanker(n_trees=12, **settings).fit_shards(folder, theirs, measure="nDCG@5")
        assert there.trees_ == here.trees_
        scores = [[row["score"] for row in ranker.result_.trace] for ranker in (here, there)]
        # The validation shards have the queries in another order, so the mean may differ in its last bit.
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-12)
        assert there.result_.value == pytest.approx(here.result_.value, rel=1e-12)
        assert there.predict_queries(judged).tobytes() == here.predict_queries(judged).tobytes()


@pytest.mark.parametrize("room", [0, 1 << 30])
def test_features_may_stay_on_disk(train, folder, room):
    here = dx.BoostedRanker(n_trees=8).fit_queries(train)
    task._OPEN_SHARDS.clear()
    with using_driver(ThisProcess(room)):
        there = dx.BoostedRanker(n_trees=8).fit_shards(folder)
    assert there.trees_ == here.trees_


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_trees(train, folder, n_workers):
    settings = {"n_trees": 6, "subsample": 0.8}
    here = dx.BoostedRanker(**settings).fit_queries(train)
    with dx.cluster("local", n_workers):
        assert dx.BoostedRanker(**settings).fit_shards(folder).trees_ == here.trees_


class Forgetful(ThisProcess):
    """A process that loses all its shards before every n-th request, as a new worker has none."""

    def __init__(self, every):
        super().__init__()
        self.every, self.requests = every, 0

    def answers(self, asked):
        self.requests += 1
        if self.requests % self.every == 0:
            task._OPEN_SHARDS.clear()
        return super().answers(asked)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_a_worker_that_lost_its_shards_makes_them_again(train, folder, every):
    settings = {"n_trees": 4, "subsample": 0.7, "n_bags": 2}
    here = dx.BoostedRanker(**settings).fit_queries(train)
    driver = Forgetful(every)
    with using_driver(driver):
        assert dx.BoostedRanker(**settings).fit_shards(folder).trees_ == here.trees_
    assert driver.requests > 4 * 2 * 7


class Stopping(ThisProcess):
    """A process that ends at a request."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def answers(self, asked):
        self.after -= 1
        if self.after < 0:
            raise KeyboardInterrupt
        return super().answers(asked)


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("after", [1, 5, 60])
def test_an_interrupted_training_resumes_with_the_same_trees(train, folder, tmp_path, after, is_new):
    here = dx.BoostedRanker(n_trees=10).fit_queries(train)
    file = tmp_path / "answers"
    with pytest.raises(KeyboardInterrupt), using_driver(Stopping(after)):
        dx.BoostedRanker(n_trees=10).fit_shards(folder, checkpoint=file)
    if is_new:
        task._OPEN_SHARDS.clear()
    again = Forgetful(1 << 30)
    with using_driver(again):
        assert dx.BoostedRanker(n_trees=10).fit_shards(folder, checkpoint=file).trees_ == here.trees_
    # The trees of the file need no request.
    assert again.requests <= 75 - after + 8
    assert not file.exists()


def test_another_training_on_the_same_shards_begins_again(train, folder):
    for rate in (0.05, 0.2, 0.05):
        here = dx.BoostedRanker(n_trees=6, learning_rate=rate).fit_queries(train)
        there = dx.BoostedRanker(n_trees=6, learning_rate=rate).fit_shards(folder)
        assert there.trees_ == here.trees_


def test_a_training_resumes_after_another_one(train, folder, tmp_path):
    """The shards then hold the documents with the trees of the other training."""
    file = tmp_path / "answers"
    here = dx.BoostedRanker(n_trees=9).fit_queries(train)
    with pytest.raises(KeyboardInterrupt), using_driver(Stopping(45)):
        dx.BoostedRanker(n_trees=9).fit_shards(folder, checkpoint=file)
    dx.BoostedRanker(n_trees=3, learning_rate=0.5).fit_shards(folder)
    assert dx.BoostedRanker(n_trees=9).fit_shards(folder, checkpoint=file).trees_ == here.trees_


def test_training_continues_from_a_model(train, folder):
    first = dx.BoostedRanker(n_trees=5).fit_queries(train)
    here = dx.BoostedRanker(n_trees=5, init_model=first).fit_queries(train)
    there = dx.BoostedRanker(n_trees=5, init_model=first).fit_shards(folder)
    assert there.trees_ == here.trees_
    assert there.trees_.n_trees == 10


@pytest.mark.parametrize(
    "settings",
    [{"surrogate": "lambdarank"}, {"oblivious": False}, {"monotone": {2: 1}}, {"max_bin": 255}],
    ids=str,
)
def test_trees_of_lightgbm_need_all_documents_in_one_place(folder, settings):
    with rejects(dx.InputError):
        dx.BoostedRanker(n_trees=1, **settings).fit_shards(folder)


def test_a_search_on_shards_tries_trees_of_its_own_alone(q, folder):
    options = {"method": "YetiRank,LambdaMART", "valid": q.take(range(90, 120)), "settings": {"n_trees": 3}}
    found = search(dx.data.open_shards(folder), **options)
    assert {trial.candidate.name for trial in found.trials} == {"YetiRank"}
    assert found.ranker.trees_.n_trees == found.trials[0].steps


def test_a_fit_does_not_take_up_the_root_of_another(train, folder):
    """A tree without a split leaves its root behind, with other documents and features."""
    clean = [dx.BoostedRanker(n_trees=3, **more).fit_queries(train).trees_ for more in ({}, ROOTS[0])]
    for first in ROOTS:
        dx.BoostedRanker(n_trees=1, **first).fit_shards(folder)
        assert dx.BoostedRanker(n_trees=3).fit_shards(folder).trees_ == clean[0]
        assert dx.BoostedRanker(n_trees=3, **ROOTS[0]).fit_shards(folder).trees_ == clean[1]


ROOTS = [
    {"feature_fraction": 0.5, "random_state": 1},
    {"subsample": 0.002, "l2": 1e9},
    {"subsample": 0.5, "random_state": 2},
]


def test_two_threads_may_train_on_the_same_shards(train, folder):
    rates = (0.05, 0.3)
    clean = [dx.BoostedRanker(n_trees=8, learning_rate=rate).fit_queries(train).trees_ for rate in rates]

    def fit(rate):
        return dx.BoostedRanker(n_trees=8, learning_rate=rate).fit_shards(folder).trees_

    for _ in range(5):
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(fit, rates)) == clean


def test_the_bins_of_validation_shards_depend_on_the_training(q, tmp_path):
    """Thresholds are equal although one training set has missing values of a feature, and the other none."""
    holes = q.features.copy()
    holes[::3, 0] = np.nan
    labels = np.digitize(q.features[:, 0], [0.5, 1.5])
    with_holes, without = (
        dx.Queries.from_arrays(X, labels, group=np.diff(q.qptr), missing="nan")
        for X in (holes, np.column_stack([np.nan_to_num(holes[:, 0]), holes[:, 1:]]))
    )
    judged = with_holes.take(range(90, 120))
    valid = dx.write_shards(judged, tmp_path / "valid", 2)
    for number, data in enumerate((with_holes, without, with_holes)):
        shards = dx.write_shards(data.take(range(90)), tmp_path / str(number), 2)
        traces = [dx.BoostedRanker(n_trees=5).fit_shards(shards, v).result_.trace for v in (judged, valid)]
        np.testing.assert_allclose(*([row["score"] for row in trace] for trace in traces), rtol=1e-12)


@pytest.mark.parametrize(
    "other", [{"learning_rate": 0.3}, {"l2": 1.0}, {"subsample": 0.5}, {"num_leaves": 8}]
)
def test_a_file_of_other_settings_gives_no_trees(train, folder, tmp_path, other):
    file = tmp_path / "answers"
    with pytest.raises(KeyboardInterrupt), using_driver(Stopping(40)):
        dx.BoostedRanker(n_trees=9).fit_shards(folder, checkpoint=file)
    here = dx.BoostedRanker(n_trees=9, **other).fit_queries(train)
    assert dx.BoostedRanker(n_trees=9, **other).fit_shards(folder, checkpoint=file).trees_ == here.trees_


@pytest.mark.filterwarnings("ignore:.*has no slope")
def test_a_start_without_slope_is_one_of_all_shards(tmp_path):
    """The second shard has no document that the surrogate counts as relevant, and so no slope of its own."""
    rng = np.random.default_rng(1)
    X, labels = rng.standard_normal((200, 3)), rng.integers(0, 3, 200).astype(float)
    labels[100:] = np.minimum(labels[100:], 1.0)
    q = dx.Queries.from_arrays(X, labels, group=[10] * 20)
    folder = dx.write_shards([q.take(range(10)), q.take(range(10, 20))], tmp_path / "shards")
    for surrogate in ("ApproxAP(rel=2)", "ApproxRR(rel=2)", "SmoothNDCG"):
        here = dx.BoostedRanker(surrogate, n_trees=4).fit_queries(q, measure="nDCG")
        there = dx.BoostedRanker(surrogate, n_trees=4).fit_shards(folder, measure="nDCG")
        assert there.trees_ == here.trees_
        assert there.result_.value == pytest.approx(here.result_.value, rel=1e-12)
