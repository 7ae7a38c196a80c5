"""What in the data makes numbers differ, on data where it is known."""

import itertools

import numpy as np
import pytest

import directrix as dx
from directrix.reconciliation.diagnosis import diagnose, unjudged_range
from directrix.reconciliation.material import material_of_arrays, material_of_run


def test_counts_of_documents_and_queries():
    run = {"1": {"a": 2.0, "b": 2.0, "c": 1.0}, "2": {"a": 1.0}, "3": {"x": 1.0, "y": 0.5}}
    qrels = {"1": {"a": 1, "b": 0, "z": 2}, "3": {"x": 0, "y": 0}, "4": {"a": 1}}
    found = diagnose(dx.measure("nDCG@2"), material_of_run(run, qrels))
    assert found.unjudged_documents == 1  # c of query 1; query 2 has no judgments at all
    assert found.missing_documents == 2  # z, and a of query 4
    assert (found.queries_without_judgments, found.queries_not_ranked) == (1, 1)
    assert found.queries_without_relevant == 1
    assert found.tied_share == 2 / 6
    assert (found.tied_queries, found.tied_pairs, found.file_order) == (1, 1, 1.0)


def test_the_same_document_twice_is_found():
    material = material_of_arrays([3, 2, 1, 1], [1, 0, 1, 0], qid=[7, 7, 7, 8], doc_ids=["a", "b", "a", "a"])
    found = diagnose(dx.measure("nDCG"), material)
    assert (found.duplicates, found.duplicate_examples) == (1, ((7, "a"),))
    assert "a in query 7" in found.remarks[0]


def test_the_order_of_tied_documents_equals_a_count_of_pairs():
    rng = np.random.default_rng(0)
    scores, labels, qid = rng.integers(0, 3, 60), rng.integers(0, 4, 60), np.repeat([0, 1, 2], 20)
    found = diagnose(dx.measure("nDCG"), material_of_arrays(scores, labels, qid=qid))
    pairs = [
        labels[i] > labels[j]
        for i, j in itertools.combinations(range(60), 2)
        if qid[i] == qid[j] and scores[i] == scores[j] and labels[i] != labels[j]
    ]
    assert found.tied_pairs == len(pairs)
    assert found.file_order == pytest.approx(np.mean(pairs))


def test_files_sorted_by_label_are_called_out():
    labels, qid, measure = (
        np.tile(np.repeat([2, 1, 0], 4), 5),
        np.repeat(np.arange(5), 12),
        dx.measure("nDCG@5"),
    )
    found = diagnose(measure, material_of_arrays(np.zeros(60), labels, qid=qid))
    assert found.file_order == 1.0
    assert any("the higher label comes first in the file in 100 %" in text for text in found.remarks)
    assert found.ties_to == 1.0
    assert found.ties_from == dx.NDCG(k=5, ties="worst")(np.zeros(12), labels[:12], [0, 12])[0]
    mixed = labels[np.random.default_rng(0).permutation(60)]
    assert diagnose(measure, material_of_arrays(np.zeros(60), mixed, qid=qid)).remarks == ()


def test_a_share_of_few_pairs_among_many_ties_is_no_remark():
    """200 pairs, 56 % in order, and 10,000 tied documents of equal labels: well within chance."""
    labels = np.array([[1, 0]] * 112 + [[0, 1]] * 88 + [[0, 0]] * 5000)
    material = material_of_arrays(np.zeros(labels.size), labels.ravel(), qid=np.repeat(range(len(labels)), 2))
    found = diagnose(dx.measure("nDCG"), material)
    assert (found.tied_pairs, found.file_order) == (200, pytest.approx(0.56))
    assert found.remarks == ()


@pytest.mark.parametrize("name", ["nDCG@3", "AP", "P@2", "RR", "ERR@3"])
def test_the_range_of_unjudged_documents_equals_all_labelings(name):
    """The worst and the best of all assignments of 0 or the highest label."""
    rng = np.random.default_rng(5)
    measure = dx.measure(name)
    for _ in range(20):
        labels = rng.integers(0, 3, 7).astype(float)
        labels[0] = 2.0
        unknown = np.flatnonzero(rng.random(7) < 0.5)
        labels[unknown] = np.nan
        if not len(unknown) or not np.nanmax(labels, initial=0.0):
            continue
        scores = rng.permutation(7).astype(float)
        found = unjudged_range(measure, material_of_arrays(scores, labels, group=[len(labels)]))
        highest, values = np.nanmax(labels), []
        for bits in itertools.product([0.0, 1.0], repeat=len(unknown)):
            changed = labels.copy()
            changed[unknown] = highest * np.array(bits)
            values.append(measure(scores, changed, [0, 7])[0])
        assert found.not_relevant == values[0]
        assert found.relevant == values[-1]
        np.testing.assert_allclose([found.worst, found.best], [min(values), max(values)], rtol=1e-12)
        kept = ~np.isnan(labels)
        assert found.condensed == measure(scores[kept], labels[kept], [0, kept.sum()])[0]


def test_judged_at_the_cut_off():
    material = material_of_arrays([3, 2, 1], [1, np.nan, 0], group=[3])
    found = unjudged_range(dx.measure("nDCG@2"), material)
    assert (found.k, found.judged_rate) == (2, 0.5)
    assert unjudged_range(dx.measure("Bpref"), material) is None


def test_ties_by_document_id_are_those_of_the_measure():
    material = material_of_arrays([1.0, 1.0, 1.0], [1, 0, np.nan], group=[3], doc_ids=["a", "b", "c"])
    found = unjudged_range(dx.NDCG(k=2, ties="trec"), material)
    order = [0, 0, 1]  # c, b, a
    assert found.not_relevant == dx.NDCG(k=2)([3.0, 2.0, 1.0], order, [0, 3])[0]
    assert found.relevant == dx.NDCG(k=2)([3.0, 2.0, 1.0], [1, 0, 1], [0, 3])[0]
