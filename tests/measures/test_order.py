"""The sort, and the four rules for ties."""

import numpy as np
import pytest

import directrix as dx
from directrix.measures.prepared import rank, trec_order


def ranked_by_numpy(scores, labels, ties):
    second = labels if ties == "worst" else np.arange(len(scores))
    return labels[np.lexsort((second, -scores))]


@pytest.mark.parametrize("ties", ["order", "worst"])
@pytest.mark.parametrize("n", [1, 3, 4, 40, 41, 287, 288, 289, 5000])  # both sides of every switch
@pytest.mark.parametrize("levels", [1, 7, 10**9])
def test_sorts_as_numpy_does(n, levels, ties):
    rng = np.random.default_rng([n, levels])
    scores = rng.integers(-levels, levels, n) * 0.37
    scores[rng.random(n) < 0.05] = -np.inf
    labels = rng.choice([0.0, 0.5, 1.0, 3.0], size=n)
    got = rank(scores, labels, np.array([0, n]), ties)
    np.testing.assert_array_equal(got.labels, ranked_by_numpy(scores, labels, ties))
    np.testing.assert_array_equal(got.retrieved, [np.isfinite(scores).sum()])
    np.testing.assert_array_equal(got.ends, np.arange(1, n + 1))


@pytest.mark.parametrize("n", [250, 600])
def test_groups_are_the_equal_scores(n):
    scores = np.random.default_rng(n).integers(0, 20, n).astype(float)
    ends = rank(scores, np.zeros(n), np.array([0, n]), "expected").ends
    starts, i = [], 0
    while i < n:
        starts.append(i)
        i = ends[i]
    ordered = np.sort(scores)[::-1]
    np.testing.assert_array_equal(starts, np.append([0], np.flatnonzero(np.diff(ordered)) + 1))


@pytest.mark.parametrize("n", [2, 1000])
def test_zero_and_minus_zero_are_tied(n):
    scores = np.where(np.arange(n) % 2, 0.0, -0.0)
    labels = (np.arange(n) % 2).astype(float)
    np.testing.assert_array_equal(rank(scores, labels, np.array([0, n]), "order").labels, labels)


@pytest.mark.parametrize("n", [6, 1000])
def test_extreme_scores_are_sorted(n):
    scores = np.tile([1e308, -1e308, 5e-324, -5e-324, 0.0, -np.inf], n)[:n]
    labels = np.tile([5.0, 1.0, 4.0, 2.0, 3.0, 0.0], n)[:n]
    np.testing.assert_array_equal(rank(scores, labels, np.array([0, n])).labels, np.sort(labels)[::-1])


def test_trec_rule_puts_the_higher_id_first():
    value = dx.RR(ties="trec")([1.0, 1.0, 1.0], [1, 0, 0], [0, 3], doc_ids=["b", "a", "c"])
    np.testing.assert_allclose(value, [1 / 2], rtol=0, atol=0)  # c, then b
    np.testing.assert_array_equal(trec_order(["b", "c", "B", "a"], np.array([0, 2, 4])), [1, 0, 3, 2])


def test_trec_rule_compares_single_precision():
    scores = [1.0 + 1e-9, 1.0]  # the same float32
    m = dx.RR(ties="trec")
    np.testing.assert_allclose(m(scores, [1, 0], [0, 2], doc_ids=["a", "b"]), [1 / 2], rtol=0, atol=0)
    np.testing.assert_allclose(dx.RR()(scores, [1, 0], [0, 2]), [1.0], rtol=0, atol=0)


def test_worst_rule_puts_the_lowest_label_first():
    np.testing.assert_allclose(dx.AP(ties="worst")([1, 1, 1], [1, 0, 0], [0, 3]), [1 / 3], rtol=1e-15, atol=0)


def test_documents_that_were_not_retrieved_count_but_earn_nothing():
    scores, labels = [-np.inf, 5, 2, -np.inf, 1], [1, 0, 1, 0, 0]
    found = dx.evaluate(["AP", "R@5", "P@5", "RR", "Success@5"], scores, labels, group=[len(labels)])
    assert found == {"AP": 1 / 2 / 2, "R@5": 1 / 2, "P@5": 1 / 5, "RR": 1 / 2, "Success@5": 1.0}
    assert dx.evaluate("Success", [-np.inf, 1.0], [1, 0], group=[2]) == {"Success": 0.0}


@pytest.mark.parametrize("ties", ["expected", "order", "worst"])
def test_long_lists_give_the_values_of_short_kernels(ties):
    """A list of 700 has the same nDCG@10, AP and RR as its first 250 if nothing relevant follows."""
    rng = np.random.default_rng(3)
    scores = np.append(rng.integers(10, 60, 250), rng.integers(-60, 0, 450)).astype(float)
    labels = np.append(rng.integers(0, 4, 250), np.zeros(450)).astype(float)
    for m in (dx.NDCG(k=10, ties=ties), dx.AP(ties=ties), dx.RR(ties=ties), dx.RBP(ties=ties)):
        np.testing.assert_allclose(
            m(scores, labels, [0, 700]), m(scores[:250], labels[:250], [0, 250]), rtol=1e-13, atol=0
        )


@pytest.mark.parametrize("gain", ["exp", "linear"])
def test_labels_that_are_no_small_integers(gain):
    """Ideal rankings of halves and of labels above 63 are sorted, not counted."""
    labels = np.array([0.5, 70.0, 2.5, 0.0, 1.0] * 20)
    perfect = dx.NDCG(gain=gain)(labels, labels, [0, 100])
    np.testing.assert_allclose(perfect, [1.0], rtol=1e-14, atol=0)


def test_same_bits_for_one_and_many_threads():
    rng = np.random.default_rng(1)
    qptr = np.append(0, np.cumsum(rng.integers(1, 300, 900)))
    scores, labels = rng.integers(0, 50, qptr[-1]) / 7, rng.integers(0, 5, qptr[-1])
    names = ["nDCG@10", "AP", "RR", "ERR@20", "KendallTau", "ROCArea"]
    try:
        dx.set_threads(1)
        one = dx.evaluate(names, scores, labels, qptr=qptr, per_query=True)
        dx.set_threads(3)
        many = dx.evaluate(names, scores, labels, qptr=qptr, per_query=True)
    finally:
        dx.set_threads(None)
    for name in names:
        np.testing.assert_array_equal(one[name], many[name])


def test_single_precision_never_takes_a_score_for_not_retrieved():
    """Under ties="trec" scores are rounded to single precision, whose range is smaller."""
    scores, labels, ids = [1e39, -1e39, -2e39, -np.inf], [0, 1, 0, 1], ["a", "b", "c", "d"]
    got = dx.AP(ties="trec")(scores, labels, [0, 4], doc_ids=ids)
    # c stands before b: both are beyond single precision, hence tied, and ids descend
    np.testing.assert_allclose(got, [1 / 3 / 2], rtol=1e-15, atol=0)
