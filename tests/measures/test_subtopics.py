"""Measures of subtopics: ndeval's values, textbook loops, and qrels by subtopic as files."""

import itertools
from math import log2

import numpy as np
import pytest

import directrix as dx
from directrix.measures.diversity import ERRIA, AlphaNDCG
from tests.messages import rejects

NDEVAL = [
    # alpha, then pyndeval 0.0.8's ERR-IA@5, ERR-IA@20, alpha-nDCG@5, alpha-nDCG@20 of RUN and QRELS
    (0.5, [0.24205748865355525, 0.3309754455824771, 0.32798750364484974, 0.5247367420487374]),
    (0.9, [0.27419132015738584, 0.33680654360460294, 0.3702715569323041, 0.5048383168429468]),
]
QRELS = {"a": "1 3", "b": "1", "c": "", "d": "2", "e": "1 2", "f": "3", "g": "", "h": "1 2 3"}
RUN = "cbaxgdhf"


@pytest.fixture
def files(tmp_path):
    """A run, and judgments by subtopic; subtopic 4 has no relevant document, x is not judged."""
    lines = [
        f"7 {s} {doc} {int(str(s) in of.split()) * 2}" for doc, of in QRELS.items() for s in (1, 2, 3, 4)
    ]
    (tmp_path / "qrels").write_text("\n".join(lines))
    (tmp_path / "run").write_text("\n".join(f"7 Q0 {doc} 0 {-i} tag" for i, doc in enumerate(RUN)))
    return tmp_path / "run", tmp_path / "qrels"


@pytest.mark.parametrize(("alpha", "values"), NDEVAL)
def test_as_ndeval(files, alpha, values):
    names = [f"{symbol}(alpha={alpha})@{k}" for symbol in ("ERR_IA", "alpha_nDCG") for k in (5, 20)]
    got = dx.evaluate(names, run=files[0], qrels=files[1])
    np.testing.assert_allclose(list(got.values()), values, rtol=1e-12)


def test_as_ndeval_on_random_lists(tmp_path):
    pyndeval = pytest.importorskip("pyndeval")
    rng = np.random.default_rng(1)
    names = [f"{symbol}@{k}" for symbol in ("ERR-IA", "alpha-nDCG") for k in (5, 10, 20)]
    for _ in range(30):
        n_docs, n_subtopics, alpha = (
            rng.integers(3, 40),
            rng.integers(2, 6),
            float(rng.choice([0.25, 0.5, 0.9])),
        )
        judged = rng.integers(0, 3, (n_docs, n_subtopics))
        qrels = [("1", str(s), f"d{d:02}", int(judged[d, s])) for d, s in np.ndindex(judged.shape)]
        run = [("1", f"d{d:02}", float(-i)) for i, d in enumerate(rng.permutation(50)[: rng.integers(5, 45)])]
        theirs = pyndeval.ndeval(qrels, run, names, alpha=alpha)["1"]
        docs = [doc for _, doc, _ in run] + [f"d{d:02}" for d in range(n_docs)]
        docs = list(dict.fromkeys(docs))
        labels = np.array(
            [judged[int(doc[1:])] if int(doc[1:]) < n_docs else [np.nan] * n_subtopics for doc in docs]
        )
        scores = {doc: score for _, doc, score in run}
        ours = [
            f"{name.replace('-', '_').split('@')[0]}(alpha={alpha})@{name.split('@')[1]}" for name in names
        ]
        got = dx.evaluate(
            ours, [scores.get(doc, -np.inf) for doc in docs], labels, doc_ids=docs, group=[len(labels)]
        )
        np.testing.assert_allclose([*got.values()], [theirs[name] for name in names], rtol=1e-12)


def test_one_subtopic_of_one_document_by_hand():
    labels = np.array([[0, 0], [1, 0], [0, 1]])
    got = dx.evaluate(["alpha_nDCG", "ERR_IA@2", "ERR_IA"], [3, 2, 1], labels, group=[len(labels)])
    wanted = (1 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3))
    np.testing.assert_allclose(got["alpha_nDCG"], wanted, rtol=1e-14)
    np.testing.assert_allclose(got["ERR_IA@2"], 0.5 / (2 * (1 + 1 / 4)), rtol=1e-14)
    np.testing.assert_allclose(got["ERR_IA"], (1 / 2 + 1 / 3) / (2 * 2 * np.log(2)), rtol=1e-14)


def test_other_measures_take_the_highest_judgment(files):
    assert dx.evaluate("NumRel", run=files[0], qrels=files[1]) == {"NumRel": 6.0}
    assert dx.evaluate("AP", [2, 1], np.array([[0, 0], [0, 2]]), group=[2]) == {"AP": 0.5}
    qrels = dx.read_trec_qrels(files[1])
    assert qrels.of_query(0)["h"] == 2.0
    assert qrels.subtopics.shape == (8, 4)


def test_tied_documents_are_ordered_by_their_ids():
    labels = np.array([[1, 0], [0, 0]])
    got = dx.evaluate("alpha_nDCG@1", [1, 1], labels, doc_ids=["a", "b"], group=[len(labels)])
    assert got == {"alpha_nDCG@1": 0.0}
    with pytest.raises(dx.InputError, match="have the same score"):
        dx.evaluate("alpha_nDCG@1", [1, 1], labels, group=[len(labels)])


def test_judgments_without_subtopics_are_refused():
    with rejects(dx.InputError):
        dx.evaluate("alpha_nDCG@20", run={"1": {"a": 1.0}}, qrels={"1": {"a": 1}})


def test_a_document_twice_in_a_subtopic_is_refused(tmp_path):
    (tmp_path / "qrels").write_text("7 1 a 1\n7 2 a 0\n7 1 a 0\n")
    with rejects(dx.InputError):
        dx.read_trec_qrels(tmp_path / "qrels")


def test_a_constant_second_column_is_no_subtopic(tmp_path):
    (tmp_path / "qrels").write_text("7 0 a 1\n8 1 a -1\n")
    qrels = dx.read_trec_qrels(tmp_path / "qrels")
    assert qrels.subtopics is None
    assert qrels.labels.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("m", [AlphaNDCG(ties="order"), AlphaNDCG(k=2, ties="order"), ERRIA(ties="order")])
def test_queries_alone_have_the_same_bits_and_lie_between_zero_and_one(m):
    rng = np.random.default_rng(5)
    qptr = np.append(0, np.cumsum(rng.integers(0, 9, 40)))
    scores, labels = rng.integers(0, 4, qptr[-1]) * 1.0, rng.integers(0, 2, (qptr[-1], 3)) * 1.0
    scores[rng.random(len(scores)) < 0.2] = -np.inf
    together = m(scores, labels, qptr)
    alone = [m(scores[a:b], labels[a:b], [0, b - a])[0] for a, b in itertools.pairwise(qptr)]
    np.testing.assert_array_equal(together, alone)
    assert (together >= 0.0).all()
    assert (together <= 1.0 + 1e-12).all()
