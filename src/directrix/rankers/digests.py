"""Whether two data sets hold the same rows, and a digest of one, as model files have it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.data.stored import StoredFeatures
from directrix.types import is_sparse

_DIGESTS: WeakKeyDictionary[Queries, str] = WeakKeyDictionary()


def digest(q: Queries | ShardedQueries) -> str:
    """SHA-256 of features, labels and boundaries: the same data give the same text; of shards: of files.

    Kept per `Queries` object, whose arrays never change: a search computes it once.
    """
    if isinstance(q, ShardedQueries):
        return q.manifest.digest
    if q not in _DIGESTS:
        features = q.features
        parts: Iterable[Any] = (
            (features.data, features.indices, features.indptr) if is_sparse(features) else (features,)
        )
        state = hashlib.sha256()
        for part in (*parts, q.labels, q.qptr):
            state.update(str((part.dtype.str, part.shape)).encode())
            stored = isinstance(part, StoredFeatures)
            for rows in (rows for _, rows in part.blocks(q.qptr)) if stored else (part,):
                state.update(np.ascontiguousarray(rows).data)
        _DIGESTS[q] = f"sha256:{state.hexdigest()}"
    return _DIGESTS[q]


def same_rows(valid: Queries | ShardedQueries, q: Queries | ShardedQueries) -> bool:
    """Whether two data sets have the same features, labels and queries."""
    return valid is q or (valid.n_docs == q.n_docs and digest(valid) == digest(q))
