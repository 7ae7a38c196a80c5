"""Data as they are: useless columns, any unit, real labels, short and long lists, queries without order."""

import numpy as np
import pandas as pd
import pytest
from tests.commands import succeed

import directrix as dx
from directrix.data import write_parquet

N, DOCS = 60, 12


def data(seed, n_queries=N, docs=DOCS):
    """Features, labels and queries of a law that trees learn well and lines in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * docs, 5))
    worth = X[:, 0] + 0.7 * X[:, 1] * (X[:, 2] > 0.0) + 0.3 * rng.normal(size=len(X))
    return X, np.digitize(worth, [0.3, 1.0, 1.8]).astype(float), np.repeat(np.arange(n_queries), docs)


X, Y, QID = data(0)
TEST, TEST_Y, TEST_QID = data(1)
RANKERS = {
    "trees": lambda: dx.BoostedRanker(n_trees=40, num_leaves=8, min_data_in_leaf=5),
    "linear": dx.LinearRanker,
    "network": lambda: dx.MLPRanker(hidden=(8,), dropout=0.0, max_iter=40),
    "auto": lambda: dx.AutoRanker(method="Regression,YetiRank", settings={"n_trees": 10}, folds=2),
}


def value(ranker, X, y, qid):
    """Mean nDCG@5 of test queries after a training on these rows."""
    scores = ranker.fit(X, y, qid=qid).predict(TEST)
    return dx.evaluate("nDCG@5", scores, TEST_Y, qid=TEST_QID)["nDCG@5"]


USELESS = {
    "constant": lambda X: np.full(len(X), 3e7),
    "duplicate": lambda X: X[:, 0],
    "never there": lambda X: np.full(len(X), np.nan),
    "the smallest floats": lambda X: np.where(X[:, 4] > 0.0, 5e-324, 0.0),
}


@pytest.mark.parametrize("column", USELESS)
def test_trees_are_the_same_with_a_useless_column(column):
    add = USELESS[column]
    expected = RANKERS["trees"]().fit(X, Y, qid=QID).predict(TEST)
    found = RANKERS["trees"]().fit(np.column_stack([X, add(X)]), Y, qid=QID, missing="nan")
    np.testing.assert_array_equal(found.predict(np.column_stack([TEST, add(TEST)])), expected)


def test_trees_do_not_depend_on_units():
    units = 2.0 ** np.array([30, -30, 0, 10, -10])
    expected = RANKERS["trees"]().fit(X, Y, qid=QID).predict(TEST)
    np.testing.assert_array_equal(
        RANKERS["trees"]().fit(X * units, Y, qid=QID).predict(TEST * units), expected
    )


@pytest.mark.parametrize("name", RANKERS)
def test_labels_are_real_numbers(name):
    value_of_thirds = value(RANKERS[name](), X, Y / 3.0, QID)
    assert value_of_thirds > 0.8
    assert abs(value_of_thirds - value(RANKERS[name](), X, np.round(Y / 3.0), QID)) > 1e-6, "they are rounded"


@pytest.mark.parametrize("name", RANKERS)
def test_queries_without_order_teach_nothing_and_do_no_harm(name):
    single, _, _ = data(2, n_queries=50, docs=1)
    flat, _, flat_qid = data(3, n_queries=N)
    rows = np.concatenate([X, single, flat])
    labels = np.concatenate([Y, np.full(50, 3.0), np.zeros(len(flat))])
    qid = np.concatenate([QID, 1000 + np.arange(50), 2000 + flat_qid])
    assert value(RANKERS[name](), rows, labels, qid) > value(RANKERS[name](), X, Y, QID) - 0.05


@pytest.mark.parametrize("name", ["trees", "linear", "auto"])
def test_a_list_of_10_000_next_to_short_ones(name):
    long, labels, _ = data(4, n_queries=1, docs=10_000)
    qid = np.append(QID, np.full(10_000, 5000))
    ranker = RANKERS[name]()
    assert value(ranker, np.concatenate([X, long]), np.append(Y, labels), qid) > 0.85


@pytest.mark.parametrize("name", RANKERS)
def test_one_query(name):
    assert np.isfinite(value(RANKERS[name](), X[:200], Y[:200], np.zeros(200)))


@pytest.mark.parametrize("kind", ["txt", "csv", "parquet"])
def test_files_of_odd_data_give_the_model_of_arrays(kind, tmp_path):
    single, labels, _ = data(5, n_queries=30, docs=1)
    rows = np.concatenate([X[:240], single])
    rows = np.column_stack([rows, np.full(len(rows), 3e9), rows[:, 0] * 1e-3]).astype(np.float32)
    qid = np.concatenate([QID[:240], 1000 + np.arange(30)])
    y = np.append(np.where(QID[:240] % 3 == 0, 0.0, Y[:240] / 4.0), labels)
    q = dx.Queries.from_arrays(rows, y, qid=qid)
    path = tmp_path / f"odd.{kind}"
    if kind == "txt":
        dx.write_letor(q, path)
    elif kind == "parquet":
        write_parquet(q, path)
    else:
        pd.DataFrame(rows).assign(qid=qid, label=y).to_csv(path, index=False)
    settings = {"n_trees": 5, "num_leaves": 7, "l2": 20.0}
    command = ["train", path, "--method", "YetiRank", "--folds", "2", "-o", tmp_path / "model.json"]
    succeed(*command, *(part for k, v in settings.items() for part in ("--set", f"{k}={v}")))
    found = dx.load(tmp_path / "model.json")
    expected = dx.AutoRanker(method="YetiRank", by_query=True, folds=2, settings=settings).search(q).ranker
    np.testing.assert_array_equal(found.predict_queries(q), expected.predict_queries(q))
    assert len(np.unique(found.predict_queries(q))) > 5


WIDE = np.random.default_rng(0).random((120, 4))
LABELS = ((WIDE[:, 0] > 0.5) ^ (WIDE[:, 1] > 0.5)).astype(int)
TENS = [10] * 12
UNABLE = {
    "no relevant document": (np.zeros(40), [10] * 4, "nDCG@10"),
    "one label": (np.full(40, 2), [10] * 4, "nDCG@10"),
    "one document": (LABELS[:40], [1] * 40, "nDCG@10"),
    "all within the cut-off": (LABELS[:40], [10] * 4, "R@10"),
    "no label high enough": (LABELS[:40], [10] * 4, "AP(rel=3)"),
}
QUICK = {
    "BoostedRanker": {"n_trees": 5},
    "MLPRanker": {"max_iter": 5, "random_state": 0},
    "LinearRanker": {"max_iter": 5},
    "StumpRanker": {"max_iter": 5},
}


@pytest.mark.parametrize("unable", UNABLE)
@pytest.mark.parametrize("name", QUICK)
def test_validation_that_cannot_choose_is_left_out_with_a_warning(name, unable):
    labels, sizes, measure = UNABLE[unable]
    made = getattr(dx, name)(**QUICK[name])
    judged = {"eval_set": (WIDE[:40], labels), "eval_group": sizes, "measure": measure}
    with pytest.warns(UserWarning, match=r"cannot choose a step: .* the last step is kept. Give eval_set"):
        made.fit(WIDE, LABELS, group=TENS, **judged)
    assert "best" not in made.result_.counts
    without = getattr(dx, name)(**QUICK[name]).fit(WIDE, LABELS, group=TENS, measure=measure)
    np.testing.assert_array_equal(made.predict(WIDE), without.predict(WIDE))


def test_members_of_an_ensemble_and_shards_say_so_too(tmp_path):
    q = dx.Queries.from_arrays(WIDE, LABELS, group=TENS)
    flat = dx.Queries.from_arrays(WIDE[:40], np.zeros(40), group=[10] * 4)
    with pytest.warns(UserWarning, match="cannot choose a step"):
        dx.EnsembleRanker([dx.LinearRanker(max_iter=2)]).fit_queries(q, flat)
    folders = [dx.write_shards(one, tmp_path / name, n_shards=2) for name, one in (("a", q), ("b", flat))]
    with pytest.warns(UserWarning, match="cannot choose a step"):
        dx.LinearRanker(max_iter=2).fit_shards(*folders)


ALIKE = {
    "lambdarank": (
        lambda: dx.BoostedRanker("lambdarank", n_trees=3),
        WIDE[:10],
        "a smaller min_data_in_leaf",
    ),
    "leafwise": (
        lambda: dx.BoostedRanker(oblivious=False, n_trees=3),
        WIDE[:10],
        "a smaller min_data_in_leaf",
    ),
    "monotone": (
        lambda: dx.BoostedRanker(monotone={0: 1}, n_trees=3),
        WIDE[:10],
        "a smaller min_data_in_leaf",
    ),
    "constant, trees": (lambda: dx.BoostedRanker(n_trees=3), np.ones((10, 4)), "no split"),
    "constant, linear": (lambda: dx.LinearRanker(max_iter=3), np.ones((10, 4)), "differ within queries"),
    "constant, network": (lambda: dx.MLPRanker(max_iter=3), np.ones((10, 4)), "differ within queries"),
    "constant, stumps": (lambda: dx.StumpRanker(max_iter=3), np.ones((10, 4)), "differ within queries"),
    "of queries": (
        lambda: dx.LinearRanker(max_iter=3),
        np.repeat(WIDE[:5], 2, axis=0),
        "differ within queries",
    ),
}


@pytest.mark.parametrize("alike", ALIKE)
def test_a_ranker_that_ranks_nothing_says_so(alike):
    make, X, advice = ALIKE[alike]
    with pytest.warns(UserWarning, match=f"ranks nothing .*{advice}"):
        ranker = make().fit(X, [0, 1] * 5, group=[2] * 5)
    scores = ranker.predict(X).reshape(5, 2)
    np.testing.assert_array_equal(scores[:, 0], scores[:, 1])


@pytest.mark.parametrize("cell", [0.5, np.nan, np.inf])
@pytest.mark.parametrize("missing", [None, "nan", "zero"])
def test_plain_arrays_are_read_as_arrays_that_scikit_learn_checks(cell, missing):
    q, _ = dx.data.make_linear(20, 10, 3, seed=0)
    ranker, X = dx.BoostedRanker(n_trees=3).fit_queries(q), np.array(q.features[:7], dtype=np.float64)
    X[2, 1] = cell

    def outcome(rows):
        try:
            return ranker.predict(rows, missing=missing).tolist()
        except dx.InputError as error:
            return str(error)

    assert outcome(X) == outcome(np.asfortranarray(X))
    assert isinstance(outcome(X), str) == (np.isinf(cell) or (np.isnan(cell) and missing is None))
