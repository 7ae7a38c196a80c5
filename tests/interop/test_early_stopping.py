"""The callback that stops LightGBM, which its Dask learner needs, against LightGBM's own early stopping."""

import pickle

import lightgbm
import numpy as np
import pytest

import directrix as dx
from directrix import InputError
from directrix.interop.lightgbm import early_stopping, metric, objective

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
    for _ in range(2):  # the second training begins anew
        ours = trained(callback=stopping)
    theirs = trained(own=lightgbm.early_stopping(rounds, verbose=False))
    assert ours.best_iteration == theirs.best_iteration < 200 - rounds
    assert len(stopping.values) == ours.best_iteration + rounds
    np.testing.assert_allclose(ours.best_score["valid"]["AP"], theirs.best_score["valid_0"]["AP"], rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(VALID.features), theirs.predict(VALID.features))
    assert vars(pickle.loads(pickle.dumps(stopping))).keys() == vars(early_stopping(VALID)).keys()


def test_a_budget_that_is_used_up_keeps_the_best_trees():
    stopping = early_stopping(VALID, "AP", stopping_rounds=100)
    trees = trained(40, stopping)
    assert len(stopping.values) == 40
    assert trees.best_iteration == 1 + np.argmax(stopping.values)


def test_trees_that_there_were_before_count():
    """A training that goes on from other trees is judged with them."""
    before, stopping = trained(5), early_stopping(VALID, "AP", stopping_rounds=100)
    train = lightgbm.Dataset(TRAIN.features, TRAIN.labels, group=np.diff(TRAIN.qptr), free_raw_data=False)
    trees = lightgbm.train(SETTINGS, train, 4, init_model=before, callbacks=[stopping])
    scores = trees.predict(VALID.features, num_iteration=6)
    values = dx.evaluate("AP", scores, VALID.labels, qptr=VALID.qptr)
    np.testing.assert_allclose(stopping.values[0], values["AP"], rtol=1e-12)
    assert trees.best_iteration == 6 + np.argmax(stopping.values)


def test_refused(tmp_path):
    with pytest.raises(InputError, match="boosting='dart' changes the trees"):
        trained(callback=early_stopping(VALID), boosting="dart")
    with pytest.raises(InputError, match="stopping_rounds=0"):
        early_stopping(VALID, stopping_rounds=0)
    with pytest.raises(InputError, match="k must be"):
        early_stopping(VALID, "nDCG@0")
    with pytest.raises(InputError, match="none"):
        early_stopping(tmp_path / "none")
