"""Queries that hold all kinds of floats, and what it means that two are the same."""

import numpy as np

import directrix as dx


def random_queries(seed, n_queries=40, n_features=5, dtype=np.float32, ids=int):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, n_queries)
    n = sizes.sum()
    bits = rng.integers(0, 2**32, (n, n_features), dtype=np.uint32).view(np.float32)
    X = np.where(np.isfinite(bits), bits, np.float32(-0.0)).astype(
        dtype
    )  # all kinds of floats, subnormal too
    qid = np.repeat(rng.permutation(n_queries), sizes).tolist()
    docs = [f"d{i}" if i % 3 else None for i in range(n)]
    return dx.Queries.from_arrays(X, rng.integers(0, 5, n), qid=[ids(q) for q in qid], doc_ids=docs)


def assert_same(q, r):
    assert r.features.dtype == q.features.dtype
    assert r.features.tobytes() == q.features.tobytes()
    assert r.labels.tobytes() == q.labels.tobytes()
    assert r.qptr.tolist() == q.qptr.tolist()
    assert r.query_ids == q.query_ids
    assert r.feature_names == q.feature_names
    assert (r.doc_ids is None) == (q.doc_ids is None)
    assert r.doc_ids is None or r.doc_ids.tolist() == q.doc_ids.tolist()
