"""Artificial texts: what their description says of them."""

import pytest

import directrix as dx
from directrix.data import make_texts


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
