import itertools
import math

import numpy as np
import pytest

import directrix as dx
from directrix.data import make_texts
from directrix.data.synthetic import _monomials, _polynomial


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_monomials_are_all_of_them_once(d):
    rng = np.random.default_rng(0)
    everything = [m for m in itertools.combinations_with_replacement(range(d + 1), 3) if m != (d, d, d)]
    assert [tuple(m) for m in _monomials(d, 10**9, rng).tolist()] == everything
    assert len(everything) == (d + 1) * (d + 2) * (d + 3) // 6 - 1
    some = [tuple(m) for m in _monomials(d, len(everything) - 1, rng).tolist()]
    assert len(set(some)) == len(everything) - 1
    assert set(some) < set(everything)


def test_polynomial_is_the_sum_of_its_terms():
    x = np.array([[0.5, -2.0]])
    terms = np.array([[0, 0, 1], [1, 2, 2], [0, 1, 2]])  # x0^2 x1, x1, x0 x1; index 2 is the factor 1
    value = _polynomial(x, terms, np.array([3.0, 0.25, -1.0]))
    assert value.tolist() == [3.0 * 0.5**2 * -2.0 + 0.25 * -2.0 - 0.5 * -2.0]


def test_cubic_data_is_what_was_asked_for():
    q = dx.data.make_cubic(40, 25, 6, shares=(0.5, 0.3, 0.2), seed=3)
    assert (q.n_queries, q.n_docs, q.n_features) == (40, 1000, 6)
    assert q.features.dtype == np.float32
    assert np.abs(q.features).max() <= 1.0
    assert np.bincount(q.labels.astype(int)).tolist() == [500, 300, 200]
    again = dx.data.make_cubic(40, 25, 6, shares=(0.5, 0.3, 0.2), seed=3)
    assert np.array_equal(q.features, again.features)
    assert np.array_equal(q.labels, again.labels)
    assert not np.array_equal(q.labels, dx.data.make_cubic(40, 25, 6, shares=(0.5, 0.3, 0.2), seed=4).labels)


def test_threads_do_not_change_cubic_data():
    labels = []
    for threads in (1, 2):
        dx.set_threads(threads)
        try:
            labels.append(dx.data.make_cubic(200, 50, 4, seed=1).labels)
        finally:
            dx.set_threads(None)
    assert np.array_equal(*labels)


def test_noise_and_hidden_features():
    clean = dx.data.make_cubic(100, 20, 8, seed=0)
    noisy = dx.data.make_cubic(100, 20, 8, label_noise=0.3, seed=0)
    changed = np.mean(clean.labels != noisy.labels)
    chance = 0.3 * (1 - (0.52**2 + 0.32**2 + 0.13**2 + 0.02**2 + 0.01**2))
    assert abs(changed - chance) < 4 * math.sqrt(chance * (1 - chance) / 2000)
    hidden = dx.data.make_cubic(100, 20, 8, n_hidden=3, seed=0)
    assert hidden.n_features == 5
    assert np.array_equal(hidden.features, clean.features[:, :5])
    assert np.array_equal(hidden.labels, clean.labels)


def test_linear_data_has_a_perfect_ranker():
    q, w = dx.data.make_linear(n_queries=7, docs_per_query=9, n_features=4, n_labels=3, seed=2)
    np.testing.assert_allclose(np.linalg.norm(w), 1.0, rtol=1e-15, atol=0)
    scores = q.features @ w
    for a, b in itertools.pairwise(q.qptr):
        assert np.all(np.diff(q.labels[a:b][np.argsort(-scores[a:b])]) <= 0)
        assert np.bincount(q.labels[a:b].astype(int)).tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_queries": 0},
        {"shares": ("a", "b")},
        {"n_hidden": -1},
        {"shares": (1.0,)},
        {"n_hidden": 50},
        {"label_noise": 1.5},
        {"n_monomials": 0},
    ],
)
def test_parameters_out_of_range(arguments):
    with pytest.raises(dx.InputError, match=next(iter(arguments))):
        dx.data.make_cubic(**arguments)


def test_a_seed_gives_the_same_texts_and_another_one_others():
    assert make_texts(50, 3, seed=1) == make_texts(50, 3, seed=1)
    assert make_texts(50, 3, seed=1).documents != make_texts(50, 3, seed=2).documents


def test_judgments_name_documents_and_queries_with_labels_from_1_to_4():
    texts = make_texts(300, 40)
    assert list(texts.qrels) == list(texts.queries)
    labels = {label for of in texts.qrels.values() for label in of.values()}
    assert labels == {1, 2, 3, 4}
    assert {doc for of in texts.qrels.values() for doc in of} <= texts.documents.keys()


def test_a_document_with_a_higher_label_has_more_words_of_its_topic():
    texts = make_texts(400, 60, seed=3)
    shares = {label: [] for label in range(1, 5)}
    for query, of in texts.qrels.items():
        words = [word for word in texts.queries[query].split() if len(word) > 3]
        for doc, label in of.items():
            text = texts.documents[doc]["text"].split()
            shares[label].append(sum(any(w.startswith(word[:5]) for word in words) for w in text) / len(text))
    means = [sum(of) / len(of) for of in shares.values()]
    assert means == sorted(means)


@pytest.mark.parametrize("wrong", [{"n_docs": 0}, {"n_queries": -1}, {"words_per_doc": 0.5}, {"seed": -1}])
def test_sizes_out_of_range_are_refused(wrong):
    with pytest.raises((dx.InputError, TypeError, ValueError), match=next(iter(wrong))):
        make_texts(**wrong)
