"""The callback that stops LightGBM, which its Dask learner needs, against LightGBM's own early stopping."""

import pickle
from dataclasses import replace

import lightgbm
import numpy as np
import pytest

import directrix as dx
from directrix import InputError
from directrix.interop.lightgbm import early_stopping, metric, objective
from tests.messages import rejects

ALL = dx.data.make_cubic(n_queries=60, docs_per_query=12, n_features=5, label_noise=0.3, seed=1)
TRAIN, VALID = ALL.take(range(40)), ALL.take(range(40, 60))
SETTINGS = {"objective": objective("ApproxNDCG"), "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}


def trained(n_trees=200, callback=None, own=None, **more):
    def dataset(q, **settings):
        return lightgbm.Dataset(q.features, q.labels, group=np.diff(q.qptr), **settings)

    train = dataset(TRAIN)
    evaluated = {"valid_sets": [dataset(VALID, reference=train)], "feval": metric("AP")} if own else {}
    callbacks = [one for one in (callback, own) if one is not None]
    return lightgbm.train(
        {**SETTINGS, "metric": "None"} | more, train, n_trees, callbacks=callbacks, **evaluated
    )


@pytest.mark.parametrize("kind", ["queries", "shards"])
@pytest.mark.parametrize("rounds", [3, 12])
def test_it_stops_where_lightgbm_does(kind, rounds, tmp_path):
    valid = VALID if kind == "queries" else dx.write_shards(VALID, tmp_path / "valid", n_shards=3)
    stopping = pickle.loads(pickle.dumps(early_stopping(valid, "AP", stopping_rounds=rounds)))
    for _ in range(2):  # the second training starts again
        ours = trained(callback=stopping)
    theirs = trained(own=lightgbm.early_stopping(rounds, verbose=False))
    assert ours.best_iteration == theirs.best_iteration < 200 - rounds
    assert len(stopping.values) == ours.best_iteration + rounds
    np.testing.assert_allclose(ours.best_score["valid"]["AP"], theirs.best_score["valid_0"]["AP"], rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(VALID.features), theirs.predict(VALID.features))
    assert vars(pickle.loads(pickle.dumps(stopping))).keys() == vars(early_stopping(VALID)).keys()


def test_callbacks_of_lightgbm_see_every_tree():
    evaluated, stopping = {}, early_stopping(VALID, "AP", stopping_rounds=5)
    train = lightgbm.Dataset(TRAIN.features, TRAIN.labels, group=np.diff(TRAIN.qptr))
    lightgbm.train(
        SETTINGS | {"metric": "ndcg"},
        train,
        100,
        valid_sets=[train],
        callbacks=[stopping, lightgbm.record_evaluation(evaluated)],
    )
    assert {len(values) for values in evaluated["training"].values()} == {len(stopping.values)}


def test_a_file_that_has_changed_ends_the_training(tmp_path):
    """A worker that reads other labels would stop at another tree, and the rest would wait for it."""
    folder = dx.write_shards(VALID, tmp_path / "valid", n_shards=2)
    other = replace(VALID, labels=VALID.labels[::-1].copy())
    changed = dx.write_shards(other, tmp_path / "other", n_shards=2)
    name = dx.data.open_shards(folder).manifest.shards[1].file
    (changed / dx.data.open_shards(changed).manifest.shards[1].file).replace(folder / name)
    with pytest.raises(InputError, match="not the file that the manifest describes"):
        trained(callback=early_stopping(folder, "AP"))


def test_features_in_a_file_count_as_those_in_memory(tmp_path):
    dx.data.write_parquet(VALID, tmp_path / "valid.arrow")
    stored = dx.data.open_parquet(tmp_path / "valid.arrow")
    found = [early_stopping(valid, "AP", stopping_rounds=3) for valid in (VALID, stored)]
    for stopping in found:
        trained(callback=stopping)
    assert found[0].values == found[1].values


def test_a_budget_that_is_used_up_keeps_the_best_trees():
    stopping = early_stopping(VALID, "AP", stopping_rounds=100)
    trees = trained(40, stopping)
    assert len(stopping.values) == 40
    assert trees.best_iteration == 1 + np.argmax(stopping.values)


def test_trees_that_there_were_before_count():
    """A training that resumes from other trees is judged with them."""
    before, stopping = trained(5), early_stopping(VALID, "AP", stopping_rounds=100)
    train = lightgbm.Dataset(TRAIN.features, TRAIN.labels, group=np.diff(TRAIN.qptr), free_raw_data=False)
    trees = lightgbm.train(SETTINGS, train, 4, init_model=before, callbacks=[stopping])
    scores = trees.predict(VALID.features, num_iteration=6)
    values = dx.evaluate("AP", scores, VALID.labels, qptr=VALID.qptr)
    np.testing.assert_allclose(stopping.values[0], values["AP"], rtol=1e-12)
    assert trees.best_iteration == 6 + np.argmax(stopping.values)


def test_refused(tmp_path):
    with rejects(InputError):
        trained(callback=early_stopping(VALID), boosting="dart")
    train = lightgbm.Dataset(TRAIN.features, TRAIN.labels, group=np.diff(TRAIN.qptr))
    with rejects(InputError):
        lightgbm.cv(SETTINGS | {"metric": "ndcg"}, train, 3, nfold=2, callbacks=[early_stopping(VALID)])
    with rejects(InputError):
        early_stopping(VALID, stopping_rounds=0)
    with rejects(InputError):
        early_stopping(VALID, "nDCG@0")
    with rejects(InputError):
        early_stopping(tmp_path / "none")


def test_validation_that_cannot_choose_is_refused():
    flat = replace(VALID, labels=np.zeros(VALID.n_docs))
    with rejects(InputError):
        trained(callback=early_stopping(flat, "AP"))
