"""Average precision of the best single feature of two LETOR collections, pooled over the five tests."""

import numpy as np
import pytest

import directrix as dx


@pytest.mark.parametrize(
    ("collection", "feature", "n_queries", "ap"), [("OHSUMED", 11, 106, 0.4409), ("MQ2008", 39, 784, 0.4712)]
)
def test_best_single_feature(data_dir, collection, feature, n_queries, ap):
    values = []
    for fold in range(1, 6):
        queries = dx.read_letor(data_dir / "letor" / collection / f"Fold{fold}" / "test.txt")
        values.append(dx.AP().under("letor3")(queries.features[:, feature - 1], queries.labels, queries.qptr))
    pooled = np.concatenate(values)
    assert len(pooled) == n_queries
    np.testing.assert_allclose(pooled.mean(), ap, rtol=0, atol=5.001e-5)


def test_a_constant_scorer_on_a_sorted_file(data_dir):
    """On this file the order of the rows changes average precision by .11."""
    queries = dx.read_letor(data_dir / "letor" / "OHSUMED" / "Fold1" / "train.txt")
    rules = ["order", "expected", "worst"]
    found = dx.evaluate(
        [f"AP(ties={rule})" for rule in rules], np.zeros(queries.n_docs), queries.labels, qptr=queries.qptr
    )
    np.testing.assert_allclose(list(found.values()), [0.4486, 0.3349, 0.1926], rtol=0, atol=5.001e-5)
