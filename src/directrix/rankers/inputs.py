"""Weights and validation sets as users pass them, brought into one form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from directrix.data.queries import Queries
from directrix.data.stored import StoredFeatures
from directrix.data.weights import weights_of
from directrix.errors import InputError
from directrix.types import Float64Array

Weights = tuple[Float64Array | None, Float64Array | None]
"""Of documents, and of queries."""


def per_document(values: Any, q: Queries, name: str) -> Float64Array | None:
    """Weights of rows in the order of the input, brought into the order of ``q``."""
    if values is None:
        return None
    advice = "For one weight per query pass query_weight= instead."
    return weights_of(values, q.n_docs, name, "row", advice)[q.rows]


def per_query(values: Any, q: Queries, name: str) -> Float64Array | None:
    """Weights of queries, from a mapping by query id or an array in order of first appearance."""
    if values is None:
        return None
    if isinstance(values, dict):
        missing = [query for query in q.query_ids if query not in values]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise InputError(
                f"{name} has no entry for query {missing[0]!r}{more}; "
                "it needs a weight for every query id, or pass an array."
            )
        values = [values[query] for query in q.query_ids]
    advice = "For one weight per row pass sample_weight= instead."
    return weights_of(values, q.n_queries, name, "query in order of first appearance", advice)


def row_weights(q: Queries, by_document: Any, by_query: Any) -> Float64Array | None:
    """Weight of every document with mean 1, from both kinds of weights; None if there are none."""
    if by_document is None and by_query is None:
        return None
    weights = np.ones(q.n_docs) if by_document is None else np.array(by_document, dtype=np.float64)
    if by_query is not None:
        weights *= np.repeat(np.asarray(by_query, dtype=np.float64), np.diff(q.qptr))
    mean = weights.mean()
    return None if mean == 0.0 else weights / mean


def one_set(eval_set: Any, eval_qid: Any, eval_group: Any) -> tuple[Any, Any, Any, Any] | None:
    """Return the validation set as (X, y, qid, group), out of the lists of one entry that LightGBM takes.

    Raises `InputError` if it holds several sets, or is not a pair.
    """
    if eval_set is None:
        if eval_qid is not None or eval_group is not None:
            raise InputError("eval_qid or eval_group is given without eval_set; pass eval_set=(X, y) too.")
        return None
    if isinstance(eval_set, list) and all(isinstance(entry, tuple | list) for entry in eval_set):
        if len(eval_set) != 1:
            raise InputError(
                f"eval_set holds {len(eval_set)} sets; one is used to choose the iteration: "
                "pass eval_set=[(X, y)]."
            )
        eval_set = eval_set[0]
    if not isinstance(eval_set, tuple | list) or len(eval_set) != 2:
        raise InputError(
            f"eval_set is a {type(eval_set).__name__}; it needs features and labels: eval_set=(X, y)."
        )
    return eval_set[0], eval_set[1], _unwrapped(eval_qid), _unwrapped(eval_group)


def _unwrapped(values: Any) -> Any:
    wrapped = isinstance(values, tuple | list) and len(values) == 1 and np.ndim(values[0]) == 1
    return values[0] if wrapped else values


_DIGESTS: WeakKeyDictionary[Queries, str] = WeakKeyDictionary()


def digest(q: Queries) -> str:
    """SHA-256 of features, labels and boundaries: the same data give the same text.

    Kept per `Queries` object, whose arrays never change: a search computes it once.
    """
    if q not in _DIGESTS:
        features = q.features
        parts: Iterable[Any] = (
            (features.data, features.indices, features.indptr) if sp.issparse(features) else (features,)
        )
        state = hashlib.sha256()
        for part in (*parts, q.labels, q.qptr):
            state.update(str((part.dtype.str, part.shape)).encode())
            stored = isinstance(part, StoredFeatures)
            for rows in (rows for _, rows in part.blocks(q.qptr)) if stored else (part,):
                state.update(np.ascontiguousarray(rows).data)
        _DIGESTS[q] = f"sha256:{state.hexdigest()}"
    return _DIGESTS[q]
