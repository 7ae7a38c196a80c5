import json

import numpy as np
import scipy.sparse as sp
from tests.messages import rejects

import directrix as dx

X = np.array(
    [
        [1.0, 0.0, 1.0, 3.0],
        [2.0, 0.0, 2.0, 3.0],
        [1.0, -0.0, 1.0, 3.0],
        [1.0, 0.0, 1.0, 3.0],
        [4.0, 0.0, 4.0, 3.0],
    ]
)


def test_facts_of_one_file():
    for features in (X, sp.csr_array(X)):
        q = dx.Queries.from_arrays(features, [1, 0, 2, 0, 0], group=[3, 2])
        found = dx.data.audit({"a": q}).files[0]
        assert (found.n_docs, found.n_queries, found.n_features) == (5, 2, 4)
        assert found.docs_per_query == (2, 2.5, 3)
        assert found.labels == {"0": 3, "1": 1, "2": 1}
        assert found.queries_without_relevant == 1
        assert found.queries_with_one_label == 1
        assert found.constant_features == (2, 4)
        assert found.duplicate_features == ((3, 1),)
        assert found.duplicate_rows == 1, "row 3 repeats row 1; row 4 does too, but in another query"
        assert found.missing_values == 0


def test_a_feature_in_the_order_of_the_labels_is_named():
    """The label, what became known with it, and minus it; not a feature with one step in another order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120).astype(float)
    almost = y.copy()
    almost[np.argmax(y)] = -1.0
    features = np.column_stack([rng.random(120), 2.0 * y + rng.random(120), -y, almost])
    names = ["age", "bought", "rank", "almost"]
    q = dx.Queries.from_arrays(features, y, group=[10] * 12, feature_names=names)
    report = dx.data.audit({"a": q})
    assert report.files[0].perfect_features == ("bought", "rank")
    assert "in the order of the labels in every query: bought, rank;" in report.remarks()[0]
    few = q.take([0, 1])
    assert dx.data.audit({"a": few}).files[0].perfect_features == (), "two queries may agree by chance"


def test_data_without_documents_have_facts_too():
    found = dx.data.audit({"a": dx.Queries.from_arrays(np.zeros((0, 3)), [], group=[])}).files[0]
    assert (found.n_docs, found.perfect_features) == (0, ())


def test_documents_that_a_query_has_twice_are_counted():
    q = dx.Queries.from_arrays(X, [1, 0, 2, 0, 0], group=[3, 2], doc_ids=["a", "b", "a", "a", None])
    report = dx.data.audit({"a": q})
    assert report.files[0].repeated_documents == 1
    assert any("1 row with a document that an earlier row" in text for text in report.remarks())


def test_overlap_of_two_files():
    a = dx.Queries.from_arrays(X, [1, 0, 2, 0, 0], qid=[1, 1, 1, 2, 2])
    b = dx.Queries.from_arrays(X[[1, 4]] + [[0, 0, 0, 0], [9, 0, 0, 0]], [1, 0], qid=[2, 3])
    pair = dx.data.audit({"a": a, "b": b}).overlaps[0]
    assert (pair.first, pair.second, pair.queries, pair.query_examples, pair.rows) == ("a", "b", 1, ("2",), 1)


def test_rows_of_columns_in_another_order_are_the_same():
    a = dx.Queries.from_arrays(X, [1, 0, 2, 0, 0], group=[3, 2], feature_names="abcd")
    b = dx.Queries.from_arrays(X[:, ::-1], a.labels, group=[3, 2], feature_names="dcba")
    assert dx.data.audit({"a": a, "b": b}).overlaps[0].rows == 5
    other = dx.Queries.from_arrays(X, a.labels, group=[3, 2], feature_names="abce")
    report = dx.data.audit({"a": a, "other": other})
    assert "the features of other must be those of a, got no 'd' but 'e'." in report.remarks()


def test_remarks_and_json():
    holes = dx.Queries.from_arrays(X, [1, 0, 2, 0, 0], group=[3, 2])
    features = X.copy()
    features[0, 0] = np.nan
    holes = dx.Queries(features, holes.labels, holes.qptr, holes.query_ids, None, None, holes.rows)
    flat = dx.Queries.from_arrays(X[:, :2], np.zeros(5), group=[3, 2])
    report = dx.data.audit({"a": holes, "b": flat})
    text = "\n".join(report.remarks())
    assert "a: 1 values are missing" in text
    assert "a: 1 of 2 queries have no relevant document" in text
    assert "b: in every query all labels are the same" in text
    assert "constant features: 2, 4." in text
    assert "share 2 query identifiers (0, 1)" in text
    assert "the features of b must be those of a, got 2 features instead of 4." in text
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_queries_without_an_irrelevant_document_are_counted():
    """Any ranking of them has AP 1; a query with different labels above 0 is one of them."""
    q = dx.Queries.from_arrays(np.zeros((7, 1)), [1, 2, 1, 0, 0, 0, 1], group=[2, 2, 2, 1])
    assert dx.evaluate("AP", np.zeros(2), [1, 2], group=[2])["AP"] == 1.0
    report = dx.data.audit({"a": q})
    assert report.files[0].queries_all_relevant == 2
    assert "a: 2 of 4 queries have no irrelevant document; AP and other" in "\n".join(report.remarks())


def test_missing_values_hide_no_others():
    """A block of rows with NaN in a column says nothing about the other blocks."""
    n = 8192 + 2
    features = np.full((n, 4), np.nan)
    features[:, 0] = np.arange(n)
    features[0, 0] = np.nan  # varies, in the block of the NaN too
    features[1:, 1] = 7.0  # one value, or missing
    features[:, 2] = 7.0
    rows = np.arange(n)
    q = dx.Queries(features, np.zeros(n), np.array([0, n]), (1,), None, None, rows)
    found = dx.data.audit({"a": q}).files[0]
    assert found.constant_features == (3, 4)
    assert found.missing_values == 1 + 1 + n


def test_ohsumed(data_dir):
    fold = dx.data.letor_folds(data_dir / "letor" / "OHSUMED")[0]
    report = dx.data.audit({path.name: dx.read_letor(path) for path in fold})
    assert sum(file.n_queries for file in report.files) == 106
    assert all(len(file.constant_features) == 9 for file in report.files)
    assert all(pair.queries == 0 for pair in report.overlaps)


def test_files_have_names():
    with rejects(dx.InputError):
        dx.data.audit([dx.Queries.from_arrays(X, [1, 0, 2, 0, 0], group=[5])])
