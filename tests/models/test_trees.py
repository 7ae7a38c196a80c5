"""The text of trees is checked before LightGBM, which trusts it, gets to see it."""

import pickle
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.models.trees import Trees, threads_for

pytest.importorskip("lightgbm")
Q = make_cubic(12, 15, 3, seed=0)
TREES = dx.BoostedRanker(n_trees=3, num_leaves=4, min_data_in_leaf=5).fit_queries(Q).trees_


def walk(text, row):
    """Sum over trees of the leaf reached: LightGBM's format read with the naked eye."""
    total = 0.0
    for block in text.split("Tree=")[1:]:
        tree = dict(line.split("=") for line in block.splitlines() if "=" in line)
        node = 0
        while node >= 0:
            feature, threshold = (
                int(tree["split_feature"].split()[node]),
                float(tree["threshold"].split()[node]),
            )
            side = "left_child" if row[feature] <= threshold else "right_child"
            node = int(tree[side].split()[node])
        total += float(tree["leaf_value"].split()[-1 - node])
    return total


def test_a_score_is_the_sum_of_the_leaves():
    wanted = [walk(TREES.text, row) for row in Q.features.astype(float)]
    np.testing.assert_allclose(TREES.predict(Q.features), wanted, rtol=1e-14, atol=0)
    assert len(set(wanted)) > 3
    assert len(TREES.leaf_values) == 3 * 4


def test_sparse_rows_score_alike():
    assert TREES.predict(sp.csr_matrix(Q.features)).tobytes() == TREES.predict(Q.features).tobytes()


def test_no_rows_and_no_trees():
    assert TREES.predict(np.zeros((0, 3))).shape == (0,)
    assert not Trees("", 3).check().predict(np.ones((2, 3))).any()
    assert not len(Trees("", 3).leaf_values)


def test_the_text_that_was_grown_is_in_order():
    again = Trees(TREES.text, 3).check()
    assert again.predict(Q.features).tobytes() == TREES.predict(Q.features).tobytes()


def test_trees_can_be_pickled_after_use():
    TREES.predict(Q.features)
    assert pickle.loads(pickle.dumps(TREES)) == TREES


def resized(text):
    """Correct ``tree_sizes`` after a change, so that the change itself is what is found."""
    head, _, rest = text.partition("\n\n")
    body = rest.split("end of trees")[0]
    sizes = " ".join(str(len(f"Tree={block}")) for block in body.split("Tree=")[1:])
    lines = [f"tree_sizes={sizes}" if line.startswith("tree_sizes") else line for line in head.split("\n")]
    return "\n".join(lines) + "\n\n" + rest


def first(name, entry, position=0):
    """Change one entry of the first line of that name."""

    def damage(text):
        lines = text.split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{name}="))
        entries = lines[at].removeprefix(f"{name}=").split(" ")
        entries[position] = entry
        lines[at] = f"{name}={' '.join(entries)}"
        return "\n".join(lines)

    return damage


DAMAGE = {
    "frame": lambda t: t[:-20],
    "version is 'v9'": first("version", "v9"),
    "num_class is '2'": first("num_class", "2"),
    "for 8 features": first("max_feature_idx", "7"),
    "feature_names": first("feature_names", "x"),
    "feature_infos": first("feature_infos", "[0:inf]"),
    "tree_sizes": first("tree_sizes", "7"),
    "text between the trees": lambda t: t.replace("Tree=1\n", "Tree=one\n"),
    "tree 1 is missing": lambda t: resized(t.replace("Tree=1\n", "Tree=4\n")),
    "repeats": lambda t: resized(t.replace("num_cat=0\n", "num_cat=0\nnum_cat=0\n", 1)),
    "unknown": lambda t: resized(t.replace("is_linear=0\n", "is_linear=0\nleaf_coeff=1\n", 1)),
    "lacks shrinkage": lambda t: resized(t.replace("shrinkage=0.05\n", "", 1)),
    "numerical": first("num_cat", "1"),
    "0 leaves": first("num_leaves", "0"),
    "has 4 entries": first("num_leaves", "5"),
    "not finite": first("leaf_value", "nan"),
    "a feature is not there": first("split_feature", "3"),
    "threshold is NaN": first("threshold", "nan"),
    "decision_type": first("decision_type", "1"),
    "leads back": first("right_child", "0", 1),
    "leads nowhere": first("left_child", "-4", 2),
    "invalid literal": first("left_child", "0x7"),
    "could not convert": first("internal_value", "x"),
}


@pytest.mark.parametrize("found", DAMAGE)
def test_damage_is_found(found):
    damaged = DAMAGE[found](TREES.text)
    if found not in ("frame", "tree_sizes"):
        damaged = resized(damaged)
    assert damaged != TREES.text
    with pytest.raises(dx.InputError, match=found):
        Trees(damaged, 3).check()


@settings(deadline=None, max_examples=150)
@given(
    at=st.integers(0, len(TREES.text) - 1), put=st.sampled_from(["", "9", "-", " ", "\n", "e", "\0", "=1\n"])
)
def test_what_passes_the_check_can_be_used(at, put):
    damaged = Trees(resized(TREES.text[:at] + put + TREES.text[at + 1 :]), 3)
    try:
        damaged.check()
    except dx.InputError:
        return
    assert damaged.predict(Q.features).shape == (Q.n_docs,)


def test_without_lightgbm_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(dx.MissingExtra, match="pip install lightgbm"):
        dx.BoostedRanker().fit_queries(Q)
    with pytest.raises(dx.MissingExtra, match="boosted trees"):
        Trees(TREES.text, 3).predict(Q.features)


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
