"""A tiny LETOR collection: folders Fold1, Fold2, ... with train.txt, vali.txt and test.txt."""

from pathlib import Path

import numpy as np

from directrix.data.letor.write import write_letor
from directrix.data.queries import Queries
from directrix.experiments.splits import k_fold_splits


def letor_queries(n_queries: int = 15, n_features: int = 4, n_docs: int = 8, seed: int = 0) -> Queries:
    """Queries whose labels 0 to 2 follow the first two features, with noise; every query has all labels."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_queries, n_docs, n_features)).round(3).astype(np.float32)
    hidden = (
        features[..., 0] - 0.5 * features[..., 1 % n_features] + rng.normal(0.0, 0.7, (n_queries, n_docs))
    )
    ranks = hidden.argsort(axis=1).argsort(axis=1)
    labels = (ranks >= n_docs // 2).astype(float) + (ranks == n_docs - 1)
    ids = [f"D{q}-{d}" for q in range(n_queries) for d in range(n_docs)]
    qid = np.repeat(np.arange(1, n_queries + 1), n_docs)
    return Queries.from_arrays(features.reshape(-1, n_features), labels.ravel(), qid=qid, doc_ids=ids)


def letor_folder(
    path: Path, n_folds: int = 3, n_queries: int = 15, n_features: int = 4, seed: int = 0
) -> Path:
    """Write the folds, of ``n_queries`` in all; with two, train and validation parts are the same queries."""
    q = letor_queries(n_queries, n_features, seed=seed)
    if n_folds == 2:
        halves = [q.take(np.arange(start, n_queries, 2)) for start in (0, 1)]
        folds = [(halves[i], halves[i], halves[1 - i]) for i in (0, 1)]
    else:
        folds = [(s.train, s.valid, s.test) for s in k_fold_splits(q, n_folds, seed=seed)]
    for number, parts in enumerate(folds, start=1):
        folder = Path(path) / f"Fold{number}"
        folder.mkdir(parents=True)
        for name, part in zip(("train", "vali", "test"), parts, strict=True):
            write_letor(part, folder / f"{name}.txt")
    return Path(path)
