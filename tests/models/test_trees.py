"""Own trees: LightGBM's scores bit by bit, and nothing that is not a tree."""

import json
import multiprocessing
import pickle
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.models.trees import Trees, threads_for
from directrix.models.trees import lightgbm as load_lightgbm
from tests.messages import rejects

lightgbm = pytest.importorskip("lightgbm")
RNG = np.random.default_rng(0)
Q = make_cubic(12, 15, 3, seed=0)
TREES = dx.BoostedRanker(n_trees=3, num_leaves=4, min_data_in_leaf=5).fit_queries(Q).trees_
X = RNG.standard_normal((1500, 6))
Y = X[:, 0] * X[:, 1] + X[:, 2]


def with_holes(features, value=np.nan, share=0.2):
    return np.where(RNG.random(features.shape) < share, value, features)


def categories():
    features = X.copy()
    features[:, 3], features[:, 4] = RNG.integers(0, 70, len(X)), RNG.integers(0, 5, len(X))
    return features


def odd_categories(features):
    odd = features.copy()
    for at, value in enumerate([np.nan, -1.0, 1e9, 2.7, 1e300, -0.5, 69.9, 2.0**31]):
        odd[at * 100 : (at + 1) * 100, 3:5] = value
    return odd


HOLES, ZEROS, CLASSES = with_holes(X), with_holes(X, 0.0), categories()
BY_CLASS = Y + 3.0 * np.sin(CLASSES[:, 3]) + (CLASSES[:, 4] == 2.0)
GROWN = {
    "numbers": (X, Y, {}, X),
    "float32": (X.astype(np.float32), Y, {}, X.astype(np.float32)),
    "NaN in training": (HOLES, Y, {}, HOLES),
    "NaN in use only": (X, Y, {}, HOLES),
    "zeros are missing": (ZEROS, Y, {"zero_as_missing": True}, with_holes(ZEROS, 1e-36)),
    "nothing is missing": (ZEROS, Y, {"use_missing": False}, HOLES),
    "categories": (CLASSES, BY_CLASS, {"min_data_per_group": 5}, CLASSES),
    "categories that are none": (CLASSES, BY_CLASS, {"min_data_per_group": 5}, odd_categories(CLASSES)),
    "one leaf": (X, np.zeros(len(X)), {}, X),
}


def grown(case):
    features, target, more, used = GROWN[case]
    settings = {"verbosity": -1, "num_leaves": 15, "num_threads": 1, "objective": "l2", **more}
    names = [3, 4] if "categories" in case else []
    data = lightgbm.Dataset(features, target, categorical_feature=names, params=settings)
    booster = lightgbm.train(settings, data, 20)
    return booster, Trees.grown(booster, 20, 6), used


@pytest.mark.parametrize("case", GROWN)
def test_scores_are_those_of_lightgbm_bit_by_bit(case):
    booster, trees, used = grown(case)
    wanted = booster.predict(used, raw_score=True, num_threads=1)
    assert (len(np.unique(wanted)) > 100) == (case != "one leaf")
    assert trees.predict(used).tobytes() == wanted.tobytes()
    assert trees.predict(sp.csr_array(used)).tobytes() == wanted.tobytes()
    again = lightgbm.Booster(model_str=trees.to_lightgbm())
    assert again.predict(used, raw_score=True).tobytes() == wanted.tobytes()
    assert Trees.of_text(trees.to_lightgbm(), 6) == trees
    saved = Trees.of_json(json.loads(json.dumps(trees.to_json(), allow_nan=False)), 6)
    assert saved == trees
    np.testing.assert_allclose(trees.gains(), booster.feature_importance("gain"), rtol=1e-5)


def test_trees_after_others_add_up():
    (_, first, _), (booster, second, used) = grown("numbers"), grown("categories")
    both = first.followed_by(second).followed_by(second)
    assert both.n_trees == first.n_trees + 2 * second.n_trees
    once = booster.predict(used, raw_score=True)
    np.testing.assert_allclose(both.predict(used), first.predict(used) + 2 * once, rtol=0, atol=1e-12)
    assert first.followed_by(Trees.none(6)) == first == Trees.none(6).followed_by(first)


def test_no_rows_and_no_trees():
    assert TREES.predict(np.zeros((0, 3))).shape == (0,)
    assert not Trees.none(3).predict(np.ones((2, 3))).any()
    assert Trees.of_json(Trees.none(3).to_json(), 3) == Trees.none(3) != Trees.none(4)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_do_not_change_a_bit(n_threads):
    _, trees, used = grown("numbers")
    rows = np.tile(used, (4, 1))
    before = dx.set_threads(n_threads)
    try:
        assert trees.predict(rows).tobytes() == np.tile(trees.predict(used), 4).tobytes()
    finally:
        dx.set_threads(before)


def test_trees_can_be_pickled_after_use():
    TREES.predict(Q.features)
    assert pickle.loads(pickle.dumps(TREES)) == TREES


def changed(name, entry, position=0):
    """Change one number of one array."""

    def damage(model):
        model[name][position] = entry

    return damage


def shorter(name):
    return lambda model: model[name].pop()


DAMAGE = {
    "tree 0 has no leaf": changed("n_leaves", 0),
    "feature has 9 entries for 10": changed("n_leaves", 5),
    "leaf has 11 entries for 12": shorter("leaf"),
    "gain has 8 entries for 9": shorter("gain"),
    "a feature that is not among the 3": changed("feature", 3),
    "feature that is not": changed("feature", -1),
    r"feature\[\d+\] is 0.5": changed("feature", 0.5),
    r"feature\[\d+\] is None": changed("feature", None),
    r"feature\[\d+\] is 4294967296": changed("feature", 1 << 32),
    r"threshold\[\d+\] is nan": changed("threshold", float("nan")),
    r"leaf\[\d+\] is '1'": changed("leaf", "1"),
    r"leaf\[\d+\] is 1000000": changed("leaf", 10**400),
    r"n_leaves\[\d+\] is 9223372036854775808": changed("n_leaves", 1 << 63),
    "decision has a number that is none": changed("decision", 16),
    "has a number that is none": changed("decision", 12),
    r"decision\[\d+\] is -1": changed("decision", -1),
    "a set of categories that does not exist": changed("decision", 1),
    "a branch leads back": changed("left", 0),
    "meets another": lambda model: changed("left", model["right"][2], 2)(model),
    "or leads nowhere": changed("right", -5),
    "leads nowhere": changed("right", 3),
    r"categories\[0\]\[0\] is 0.5": lambda model: model["categories"].append([0.5]),
    "ascending order": lambda model: model["categories"].append([3, 3]),
}


@pytest.mark.parametrize("found", DAMAGE)
def test_damage_is_found(found):
    model = TREES.to_json()
    DAMAGE[found](model)
    with pytest.raises(dx.InputError, match=f"trees are damaged: .*{found}.*Save the model again"):
        Trees.of_json(model, 3)


def test_sizes_that_wrap_around_are_found():
    model = TREES.to_json() | {"n_leaves": [1 << 62, 1 << 62, 1 << 62, (1 << 62) + 12]}
    with rejects(dx.InputError):
        Trees.of_json(model, 3)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_what_passes_the_check_can_be_used(data):
    """Also where an array is exchanged for another of its length."""
    model = TREES.to_json()
    for _ in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from([key for key in model if key not in ("n_features", "categories")]))
        at = data.draw(st.integers(0, len(model[name]) - 1))
        model[name][at] = data.draw(
            st.integers(-6, 9) | st.floats() | st.sampled_from([None, "1", 1 << 70, []])
        )
    try:
        trees = Trees.of_json(model, 3)
    except dx.InputError:
        return
    scores = trees.predict(Q.features)
    again = lightgbm.Booster(model_str=trees.to_lightgbm()).predict(Q.features, raw_score=True)
    assert scores.tobytes() == again.tobytes()


@settings(deadline=None, max_examples=150)
@given(
    at=st.integers(0, len(TREES.to_lightgbm()) - 1),
    put=st.sampled_from(["", "9", "-", " ", "\n", "e", "_", "\xa0"]),
)
def test_text_that_is_damaged_is_refused_or_are_trees(at, put):
    text = TREES.to_lightgbm()
    try:
        trees = Trees.of_text(text[:at] + put + text[at + 1 :], 3)
    except dx.InputError:
        return
    assert np.isfinite(trees.predict(Q.features)).all()


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("num_leaves=4", "num_leaves=0_4"),
        ("num_leaves=4", "num_leaves=4.5"),
        ("num_leaves=4", "num_leaves=2147483656"),
        ("is_linear=0", "is_linear=1"),
        ("num_cat=0", "num_cat=1"),
        ("left_child=", "left_child=0_1 "),
        ("leaf_value=", "leaf_value=\xa0"),
        ("threshold=", "threshold=nan "),
        ("decision_type=", "decision_type=300 "),
        ("split_feature=", "split="),
    ],
)
def test_text_that_others_read_otherwise_is_refused(line, instead):
    text = TREES.to_lightgbm()
    assert line in text
    with rejects(dx.InputError):
        Trees.of_text(text.replace(line, instead, 1), 3)


def test_leaves_that_the_text_does_not_have():
    """Before anything is made for as many as it claims."""
    text = re.sub(r"num_leaves=\d+", "num_leaves=2000000000", TREES.to_lightgbm(), count=1)
    with rejects(dx.InputError):
        Trees.of_text(text, 3)


def _score(queue):
    queue.put(TREES.predict(Q.features).tobytes())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_scores_after_a_fork():
    """LightGBM hangs in a child of a process in which it used threads."""
    before = dx.set_threads(2)
    try:
        rows = np.tile(Q.features, (200, 1))
        wanted = TREES.predict(rows)[: Q.n_docs].tobytes()
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_score, args=(queue,))
        child.start()
        assert queue.get(timeout=60) == wanted
        child.join(60)
    finally:
        dx.set_threads(before)


def test_without_lightgbm_trees_score_and_the_message_of_a_training_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(dx.MissingExtra, match="pip install lightgbm"):
        dx.BoostedRanker(oblivious=False).fit_queries(Q)
    assert dx.BoostedRanker(n_trees=1).fit_queries(Q).trees_.n_trees == 1
    with pytest.raises(dx.InputError, match="anneal=4 lowers"):
        dx.BoostedRanker(anneal=4.0).fit_queries(Q)
    assert Trees.of_json(TREES.to_json(), 3).predict(Q.features).any()


def test_lightgbm_gets_a_thread_for_every_million_values_of_those_there_are():
    """Its threads wait by spinning: on small data more of them take longer."""
    before = dx.set_threads(3)
    try:
        rows = [np.broadcast_to(0.0, (n, 1 << 10)) for n in (10, 1023, 1024, 2048, 1 << 20)]
        assert [threads_for(X) for X in rows] == [1, 1, 2, 3, 3]
        assert threads_for(sp.csr_array((1 << 11, 1 << 10))) == 3
        dx.set_threads(1)
        assert threads_for(rows[-1]) == 1
    finally:
        dx.set_threads(before)


def test_without_openmp_the_message_says_what_to_install(monkeypatch):
    class NoLibrary:
        @staticmethod
        def find_spec(name, *_):
            if name == "lightgbm":
                raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    monkeypatch.setattr(sys, "meta_path", [NoLibrary, *sys.meta_path])
    with pytest.raises(dx.InputError, match=r"cannot be loaded: libgomp.* apt-get install libgomp1"):
        load_lightgbm()
