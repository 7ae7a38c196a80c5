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
    found = RANKERS["trees"]().fit(np.column_stack([X, add(X)]), Y, qid=QID)
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
