import re

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx


@pytest.fixture
def queries():
    return dx.data.make_linear(n_queries=10, docs_per_query=3, n_features=2, seed=1)[0]


def test_split_by_query(queries):
    parts = dx.data.split_queries(queries, (0.6, 0.2, 0.2), seed=4)
    assert [part.n_queries for part in parts] == [6, 2, 2]
    assert sorted(qid for part in parts for qid in part.query_ids) == list(range(10))
    assert sum(part.n_docs for part in parts) == 30
    again = dx.data.split_queries(queries, (0.6, 0.2, 0.2), seed=4)
    assert [part.query_ids for part in again] == [part.query_ids for part in parts]
    assert dx.data.split_queries(queries, (0.6, 0.2, 0.2), seed=5)[0].query_ids != parts[0].query_ids
    assert parts[1].features[0].tolist() == queries.features[3 * parts[1].query_ids[0]].tolist()


def test_folds_test_every_query_once(queries):
    tested = []
    for train, test in dx.data.k_folds(queries, 3, seed=2):
        assert set(train.query_ids) | set(test.query_ids) == set(range(10))
        assert not set(train.query_ids) & set(test.query_ids)
        tested += test.query_ids
    assert sorted(tested) == list(range(10))


@pytest.mark.parametrize(
    "fractions", [(), (0.5, 0.4), (1.5, -0.5), (np.nan, 1.0), ("a", "b"), None, ((1,), (2, 3))]
)
def test_shares_that_do_not_add_up(queries, fractions):
    with rejects(dx.InputError):
        dx.data.split_queries(queries, fractions)


def test_too_few_queries(queries):
    with rejects(dx.InputError):
        dx.data.split_queries(queries, (0.99, 0.01))
    with rejects(dx.InputError):
        dx.data.k_folds(queries, 11)  # at once, not when the first fold is asked for


@pytest.mark.parametrize("k", [1, 2.0, "a", None, True])
def test_a_number_of_folds_that_is_none(queries, k):
    with pytest.raises(dx.InputError, match=re.escape(f"k={k!r}: k must be an integer >= 2")):
        dx.data.k_folds(queries, k)


@pytest.mark.parametrize("seed", [-1, "a", 0.5])
def test_a_seed_that_is_none(queries, seed):
    message = re.escape(f"seed={seed!r}; an integer >= 0 is needed. Type e.g. seed=0.")
    for call in (
        lambda: dx.data.split_queries(queries, (0.5, 0.5), seed=seed),
        lambda: dx.data.k_folds(queries, 2, seed=seed),
        lambda: dx.data.make_cubic(2, 3, 4, seed=seed),
        lambda: dx.data.make_linear(2, 3, 4, seed=seed),
    ):
        with pytest.raises(dx.InputError, match=message):
            call()


def test_letor_folder(tmp_path):
    for fold in ("Fold2", "Fold10", "Fold1"):
        (tmp_path / fold).mkdir()
        for name in ("train.txt", "vali.txt.gz", "test.txt"):
            (tmp_path / fold / name).write_text("")
    folds = dx.data.letor_folds(tmp_path)
    assert [fold.train.parent.name for fold in folds] == ["Fold1", "Fold2", "Fold10"]
    assert [path.name for path in folds[0]] == ["train.txt", "vali.txt.gz", "test.txt"]
    (tmp_path / "Fold2" / "test.txt").unlink()
    with rejects(dx.InputError):
        dx.data.letor_folds(tmp_path)
    with rejects(dx.InputError):
        dx.data.letor_folds(tmp_path / "Fold1")
