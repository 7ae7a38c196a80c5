"""A model is one function of its features: dense, sparse, in a file and in shards they give the same."""

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.data import open_parquet, open_shards, write_parquet
from directrix.data.scale import SCALES
from directrix.trainers import regression, regression_start

rng = np.random.default_rng(7)
QID = np.repeat(np.arange(12), 8)
X = np.where(rng.random((96, 6)) < 0.4, rng.normal(2, 1, (96, 6)), 0.0).astype(np.float32)
X[:, 0] = 20 + rng.normal(size=96)  # no zeros, and a mean that is large
Y = np.clip(np.round(X[:, 1] - X[:, 2] + (X[:, 0] > 20)), 0, 3).astype(np.float64)
EXACT = X.astype(np.float64)
OF_LINEAR = (
    "adam",
    "adarank",
    "coordinate-ascent",
    "lbfgs",
    "sgd",
    "svm-acc",
)
MODELS = {
    **{f"linear-{name}": (dx.LinearRanker, {"trainer": name, "max_iter": 3}) for name in OF_LINEAR},
    "network": (dx.MLPRanker, {"hidden": (5, 4), "max_iter": 2}),
    "network-lbfgs": (dx.MLPRanker, {"hidden": (4,), "trainer": "lbfgs", "max_iter": 3}),
    "network-sgd": (dx.MLPRanker, {"surrogate": "Lambda", "hidden": (4,), "trainer": "sgd", "max_iter": 2}),
    "stumps": (dx.StumpRanker, {"max_iter": 4}),
    "stumps-frank": (dx.StumpRanker, {"trainer": "frank", "max_iter": 4}),
    "stumps-rankboost": (dx.StumpRanker, {"trainer": "rankboost", "max_iter": 4}),
    "stumps-svm-acc": (dx.StumpRanker, {"trainer": "svm-acc", "max_iter": 4}),
    "trees": (dx.BoostedRanker, {"n_trees": 4, "num_leaves": 4, "min_data_in_leaf": 5}),
}
KINDS = [None, *SCALES, "raw+standard+query-percentile"]


def same(got, want, rounding=1e-9):
    np.testing.assert_allclose(got, want, rtol=0, atol=rounding * np.abs(want).max())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forms")
    q = dx.Queries.from_arrays(EXACT, Y, qid=QID)
    write_parquet(q, folder / "file.parquet")
    dx.write_shards([q.take(range(5)), q.take(range(5, 12))], folder / "shards")
    return folder


def made(name, scale):
    kind, settings = MODELS[name]
    ranker = kind(**settings, scale=scale)
    return ranker.set_params(random_state=0) if "random_state" in ranker.get_params() else ranker


@pytest.mark.parametrize("scale", KINDS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::directrix.errors.NotConverged")
def test_every_form_of_the_features_gives_the_same_scores(name, scale, folder):
    ranker = made(name, scale)
    want = ranker.fit(EXACT, Y, qid=QID).predict(EXACT, qid=QID)
    for given in (np.asfortranarray(EXACT), sp.csr_array(EXACT), sp.csc_matrix(EXACT)):
        same(ranker.predict(given, qid=QID), want)
    turn = rng.permutation(96)
    same(ranker.predict(sp.csr_array(EXACT[turn]), qid=QID[turn]), want[turn])
    same(ranker.predict_queries(open_parquet(folder / "file.parquet")), want)
    same(open_shards(folder / "shards").scores(ranker), want)
    single = ranker.predict(X, qid=QID)
    same(ranker.predict(sp.csr_array(X), qid=QID), single, 1e-6)
    # values that are equal but for rounding may lie on both sides of a threshold only in float64
    if not (name.startswith(("stumps", "trees")) and scale and "query" in scale):
        same(single, want, 1e-5)
    again = made(name, scale).fit(sp.csr_array(EXACT), Y, qid=QID)
    # the solver of its inner problems stops at a tolerance, so that another order of summation ends elsewhere
    same(again.predict(EXACT, qid=QID), want, 1e-6 if name == "linear-svm-acc" else 1e-9)


def test_lines_get_the_same_scores_whatever_else_is_in_their_file(tmp_path):
    ranker = made("network", "standard").fit(X, Y, qid=QID)
    lines = "".join(f"0 qid:1 {i + 1}:2 6:0.1\n" for i in range(5))
    scores = []
    for name, filler in (("dense", "0 qid:2 1:1 2:1 3:1 4:1 5:1 6:1\n"), ("sparse", "0 qid:2\n")):
        (tmp_path / name).write_text(lines + 200 * filler)
        q = dx.read_letor(tmp_path / name, n_features=6)
        assert sp.issparse(q.features) == (name == "sparse")
        scores.append(ranker.predict_queries(q)[:5])
    same(*scores, 1e-6)


def test_the_regression_start_of_sparse_features_is_that_of_dense_ones(monkeypatch):
    columns = EXACT * 10.0 ** np.arange(-3, 3)
    columns[:, 0] += 1e6  # a mean far above the deviation
    want = regression_start(dx.Queries.from_arrays(columns, Y, qid=QID))
    for widest, rounding in ((4096, 1e-11), (0, 1e-6)):  # exact, and iterative for many features
        monkeypatch.setattr(regression, "_WIDEST", widest)
        got = regression_start(dx.Queries.from_arrays(sp.csr_array(columns), Y, qid=QID))
        same(got * columns.std(axis=0), want * columns.std(axis=0), rounding)


@pytest.mark.parametrize("scale", KINDS)
@pytest.mark.parametrize("name", ["linear-lbfgs", "network-lbfgs"])
def test_every_form_of_the_features_trains_the_same_model(name, scale, folder):
    want = made(name, scale).fit(EXACT, Y, qid=QID).predict(EXACT, qid=QID)
    trained = [made(name, scale).fit_shards(folder / "shards")]
    if "file" in trained[0].holds:
        trained.append(made(name, scale).fit_queries(open_parquet(folder / "file.parquet")))
    for ranker in trained:
        same(ranker.predict(EXACT, qid=QID), want, 1e-7)
    turn = rng.permutation(96)
    ranker = made(name, scale).fit(sp.csr_array(EXACT[turn]), Y[turn], qid=QID[turn])
    same(ranker.predict(EXACT, qid=QID), want, 1e-7)
    if ranker.model_type == "linear":  # random first weights of a network belong to columns
        ranker.fit(sp.csr_array(EXACT[:, ::-1]), Y, qid=QID)
        same(ranker.predict(sp.csr_array(EXACT[:, ::-1]), qid=QID), want, 1e-7)
