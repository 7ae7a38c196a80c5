"""Plans of trees: scores have the bits of a walk in Python, document by document and split by split."""

import hashlib
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import directrix as dx
from directrix.data.sparse import ScaledCsr
from directrix.models._kernels.plans import BITS, LEAVES, MOST_WORDS, TABLE, WALK
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN, ZERO
from directrix.models.trees import Trees
from directrix.models.walks import RememberedWalks, row_counts

KINDS = [0, LEFT, NAN, NAN + LEFT, ZERO, ZERO + LEFT]
SETS = ((0,), (1, 3, 70), (), (2, 5, 6, 7, 2**31 - 1), (0, 1, 2, 3, 4))
SPECIAL = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-45,
    -1e-45,
    1e-40,
    1e-35,
    -1e-35,
    1.1e-35,
    0.1,
    1 / 3,
    1e300,
    -1e300,
]
N_FEATURES = 6
NEARLY_ZERO = float(np.float32(1e-35))
ROWS = (1, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 132, 1000)


def leaf_of(trees, t, row):
    """Number of the leaf of a row in tree t, by LightGBM's rules."""
    first, node = trees.split_ptr[t], 0 if trees.n_leaves[t] > 1 else -1
    while node >= 0:
        s = first + node
        goes_left = is_left(float(row[trees.feature[s]]), trees.threshold[s], int(trees.decision[s]), trees)
        node = trees.left[s] if goes_left else trees.right[s]
    return -1 - node


def is_left(value, threshold, decision, trees):
    if decision & CATEGORICAL:
        return -1.0 < value < 2.0**31 and int(value) in trees.categories[int(threshold)]
    if math.isnan(value) and not decision & NAN:
        value = 0.0
    if (decision & NAN and math.isnan(value)) or (decision & ZERO and abs(value) <= NEARLY_ZERO):
        return bool(decision & LEFT)
    return value <= threshold


def naive(trees, X):
    scores = np.zeros(len(X))
    for i, row in enumerate(X):
        for t in range(trees.n_trees):
            scores[i] += trees.leaf[trees.split_ptr[t] + t + leaf_of(trees, t, row)]
    return scores


def assembled(shapes, rng, kinds=(LEFT + NAN,), n_features=N_FEATURES, pool=None):
    """Trees of given children, with random tests; `tests` of a shape numbers those that are equal."""
    pool = rng.standard_normal(40) if pool is None else np.asarray(pool)
    feature, threshold, decision = [], [], []
    for left, _, tests in shapes:
        chosen = rng.choice(kinds, len(left) + 1)[tests]
        by_set = chosen & CATEGORICAL != 0
        feature.append(rng.integers(0, n_features, len(left) + 1)[tests])
        threshold.append(
            np.where(
                by_set,
                rng.integers(0, len(SETS), len(left) + 1)[tests],
                rng.choice(pool, len(left) + 1)[tests],
            )
        )
        decision.append(chosen)
    n_leaves = np.array([len(left) + 1 for left, _, _ in shapes])
    joined = {
        "feature": (feature, np.int32),
        "threshold": (threshold, float),
        "decision": (decision, np.uint8),
    }
    joined |= {
        "left": ([left for left, _, _ in shapes], np.int32),
        "right": ([right for _, right, _ in shapes], np.int32),
    }
    arrays = {name: np.concatenate(parts).astype(kind) for name, (parts, kind) in joined.items()}
    n_splits, total = len(arrays["feature"]), n_leaves.sum()
    return Trees(
        n_features, n_leaves=n_leaves, **arrays, gain=np.zeros(n_splits),
        leaf=rng.standard_normal(total), count=np.zeros(total, np.uint32), categories=SETS,
    )  # fmt: skip


def grown_shape(n_leaves, rng):
    """Children of a tree that grows by splitting random leaves, and a test for each split."""
    left, right, open_ = [], [], []
    for s in range(n_leaves - 1):
        if s:
            side, parent = open_.pop(rng.integers(len(open_)))
            side[parent] = s
        left.append(None)
        right.append(None)
        open_ += [(left, s), (right, s)]
    for number, (side, s) in enumerate(open_):
        side[s] = -1 - number
    return np.array(left), np.array(right), np.arange(n_leaves - 1)


def oblivious_shape(depth, rng, pruned=0.0):
    """Children of a tree with one test for each level, without a share of its splits."""
    left, right, tests, leaves = [], [], [], 0

    def node(level):
        nonlocal leaves
        if level == depth:
            leaves += 1
            return -leaves
        if level and rng.random() < pruned:
            return node(level + 1)
        s = len(left)
        left.append(None)
        right.append(None)
        tests.append(level)
        left[s], right[s] = node(level + 1), node(level + 1)
        return s

    node(0)
    return np.array(left), np.array(right), np.array(tests)


def rows_near(trees, n, rng, kind=np.float64):
    """Rows of thresholds, their neighbors of this type on both sides, and difficult values."""
    numbers = cast(np.unique(trees.threshold), kind)
    far = kind(np.inf)
    with np.errstate(over="ignore", under="ignore"):
        near = [numbers, np.nextafter(numbers, far), np.nextafter(numbers, -far)]
    special = np.array([*SPECIAL, np.nan, np.inf, -np.inf, 2.7, 70.2, -0.5, 2.0**31 - 1, 2.0**31, 4.0])
    drawn = np.concatenate([*near, cast(np.append(rng.standard_normal(100), np.tile(special, 3)), kind)])
    return rng.choice(drawn, (n, trees.n_features))


def cast(rows, kind):
    with np.errstate(over="ignore", under="ignore"):
        return rows.astype(kind)


def words_of(trees):
    plan = trees.planned.plan
    return [
        plan.kind[first:last].tolist() for first, last in zip(plan.word_ptr, plan.word_ptr[1:], strict=False)
    ]


@cache
def mixed(seed=0):
    """Trees of every kind of word and decision, and their rows."""
    rng = np.random.default_rng(seed)
    sizes = (1, 2, 3, 17, 31, 32, 33, 64, 65, 100)
    shapes = [grown_shape(size, rng) for size in sizes] + [oblivious_shape(d, rng, 0.1) for d in range(1, 8)]
    shapes += [grown_shape(LEAVES * MOST_WORDS + 1, rng), grown_shape(1, rng)]
    trees = assembled(shapes, rng, [*KINDS, CATEGORICAL], pool=[*SPECIAL, *rng.standard_normal(30)])
    return trees, rows_near(trees, 1000, rng)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_have_the_bits_of_a_walk_for_every_kind_of_split(kind):
    trees, rows = mixed()
    assert {word for words in words_of(trees) for word in words} == {BITS, TABLE, WALK}
    rows = cast(rows, kind)
    wanted = naive(trees, rows)
    assert len(np.unique(wanted)) > 900
    for n in ROWS:
        assert trees.predict(rows[:n]).tobytes() == wanted[:n].tobytes()
        assert trees.predict(np.asfortranarray(rows[:n])).tobytes() == wanted[:n].tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("decision", [*KINDS, CATEGORICAL])
@pytest.mark.parametrize("n_leaves", [2, 40])
def test_values_next_to_every_threshold(n_leaves, decision, kind):
    rng = np.random.default_rng(decision)
    pool = [
        *SPECIAL,
        3.4e38,
        -3.4e38,
        3.5e38,
        np.finfo(float).max,
        -np.finfo(float).max,
        *rng.standard_normal(20),
    ]
    trees = assembled([grown_shape(n_leaves, rng) for _ in range(40)], rng, [decision], 1, pool)
    rows = np.unique(rows_near(trees, 3000, rng, kind), axis=0)
    assert trees.predict(rows).tobytes() == naive(trees, rows).tobytes()


@pytest.mark.parametrize("depth", range(1, 11))
@pytest.mark.parametrize("pruned", [0.0, 0.2])
def test_oblivious_trees_of_every_depth(depth, pruned):
    rng = np.random.default_rng(depth)
    trees = assembled([oblivious_shape(depth, rng, pruned) for _ in range(5)], rng, KINDS)
    for words, n_leaves in zip(words_of(trees), trees.n_leaves, strict=True):
        assert words == ([BITS] if n_leaves <= LEAVES else [TABLE])
    rows = rows_near(trees, 130, rng)
    wanted = naive(trees, rows)
    for n in (1, 4, 130):
        assert trees.predict(rows[:n]).tobytes() == wanted[:n].tobytes()


@pytest.mark.parametrize("n_leaves", [LEAVES, LEAVES + 1, LEAVES * MOST_WORDS, LEAVES * MOST_WORDS + 1])
def test_leaf_wise_trees_of_many_sizes(n_leaves):
    rng = np.random.default_rng(n_leaves)
    trees = assembled([grown_shape(n_leaves, rng) for _ in range(4)], rng, KINDS)
    n_words = -(-n_leaves // LEAVES)
    assert words_of(trees) == 4 * [[WALK] if n_words > MOST_WORDS else n_words * [BITS]]
    rows = rows_near(trees, 130, rng)
    assert trees.predict(rows).tobytes() == naive(trees, rows).tobytes()


@pytest.mark.parametrize("to_the_left", [True, False])
@pytest.mark.parametrize("n", [40, 600])
def test_a_chain_of_splits(n, to_the_left):
    rng, splits = np.random.default_rng(0), np.arange(n)
    further, leaf = np.append(splits[1:], -1 - n), -1 - splits
    chain = (further, leaf, splits) if to_the_left else (leaf, further, splits)
    trees = assembled([chain], rng, pool=np.linspace(5, 6) if to_the_left else np.linspace(0, 1))
    rows = rng.uniform(0, 6, (200, N_FEATURES))
    assert len(np.unique(trees.predict(rows))) > 5
    assert trees.predict(rows).tobytes() == naive(trees, rows).tobytes()


@pytest.mark.parametrize("count", [1, 255, 256, 257, 70_000])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_feature_of_many_thresholds(count, kind):
    rng = np.random.default_rng(count)
    threshold = rng.permutation(np.linspace(-1, 1, count))
    stump = (np.array([-1]), np.array([-2]), np.array([0]))
    trees = replace(assembled(count * [stump], rng, n_features=1), threshold=threshold)
    rows = rows_near(trees, 40, rng, kind)
    outcome = (rows[:, 0][:, None].astype(float) > threshold).astype(int)
    values = trees.leaf.reshape(count, 2)[np.arange(count), outcome]
    wanted = np.zeros(len(rows))
    for t in range(count):
        wanted += values[:, t]
    assert trees.predict(rows).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sparse_rows_with_and_without_a_background(kind):
    trees, rows = mixed()
    rows = np.where(np.random.default_rng(0).random(rows.shape) < 0.5, 0.0, cast(rows, kind))
    wanted = naive(trees, rows)
    assert trees.predict(sp.csr_array(rows)).tobytes() == wanted.tobytes()
    absent = np.array([0.0, 1.5, -1e-36, 3.0, -2.0, 70.0])
    csr = sp.csr_array(rows)
    filled = np.where(csr.toarray() == 0, absent.astype(kind), rows)
    found = trees.predict(ScaledCsr(csr, absent))
    assert found.tobytes() == naive(trees, filled).tobytes()


def test_rows_of_whole_numbers_are_scored_as_floats():
    trees, _ = mixed()
    rows = np.random.default_rng(0).integers(-3, 8, (50, N_FEATURES))
    assert trees.predict(rows).tobytes() == naive(trees, rows).tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_remembered_leaves_and_counts(kind):
    trees, rows = mixed()
    rows = cast(rows, kind)
    walks = RememberedWalks(trees, rows)
    for column in range(N_FEATURES):
        changed = rows.copy()
        changed[:, column] = rows[::-1, column]
        assert walks.after(changed, np.array([column])).tobytes() == naive(trees, changed).tobytes()
    counts = np.zeros(len(trees.leaf), int)
    for t in range(trees.n_trees):
        leaves = [leaf_of(trees, t, row) for row in rows]
        np.add.at(counts, trees.split_ptr[t] + t + np.array(leaves), 1)
    np.testing.assert_array_equal(row_counts(trees, rows)[1], np.maximum(counts, 1))


def test_threads_do_not_change_a_bit():
    trees, rows = mixed()
    rows = np.tile(rows, (30, 1))
    before = dx.set_threads(1)
    try:
        one = trees.predict(rows)
        dx.set_threads(2)
        assert trees.predict(rows).tobytes() == one.tobytes() == np.tile(one[:1000], 30).tobytes()
    finally:
        dx.set_threads(before)


def digest():
    """A text that changes with any bit of the scores."""
    trees, rows = mixed()
    scores = [trees.predict(cast(rows[:n], kind)) for kind in (np.float32, np.float64) for n in (20, 1000)]
    return hashlib.sha256(np.concatenate(scores)).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("processor", ["haswell", "x86-64-v2"])
def test_another_processor_computes_the_same_bits(processor, tmp_path):
    code = "from tests.models.test_plans import digest; print(digest())"
    used = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **used},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest()
