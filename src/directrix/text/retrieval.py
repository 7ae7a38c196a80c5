"""The best documents of queries by BM25, found by the library bm25s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.data.grouping import object_array
from directrix.data.trec.runs import Run
from directrix.errors import InputError, MissingExtra
from directrix.parameters import whole
from directrix.text.build import Progress
from directrix.text.terms import FieldTerms
from directrix.types import Array


def best_documents(
    terms: FieldTerms,
    queries: Mapping[str, Sequence[int]],
    doc_ids: Array,
    k: int,
    k1: float,
    b: float,
    progress: Progress | None,
) -> Run:
    """Return the ``k`` documents of the highest scores for every query; see `Index.candidates`.

    A query whose terms no document has is not in the run. Time and memory are those of an inverted index of
    the field, and per query O(n_docs).
    """
    k = whole(k, "k")
    if not (0.0 <= k1 < np.inf and 0.0 <= b <= 1.0):
        raise InputError(f"k1={k1!r}, b={b!r}; k1 >= 0 and 0 <= b <= 1 are needed, e.g. k1=1.2, b=0.75.")
    score = scorer(terms, float(k1), float(b))
    names, rows, scores = list[str](), list[Array](), list[Array]()
    for done, (name, numbers) in enumerate(queries.items()):
        if progress is not None:
            progress(done, len(queries), name)
        if not numbers:
            continue
        of = score(numbers)
        chosen = np.flatnonzero(of > 0.0)
        best = chosen[np.argsort(-of[chosen], kind="stable")[:k]]
        if len(best):
            names.append(name)
            rows.append(best)
            scores.append(of[best].astype(np.float64))
    if not names:
        raise InputError(
            f"no document has a word of any of the {len(queries)} queries; candidates need one in common. "
            "Check that queries and documents belong together."
        )
    qptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Run(
        "bm25", tuple(names), qptr, object_array(doc_ids[np.concatenate(rows)]), np.concatenate(scores)
    )


def scorer(terms: FieldTerms, k1: float, b: float) -> Any:
    """Return a function from the terms of a query to the scores of all documents."""
    try:
        import bm25s
    except ImportError as error:
        raise MissingExtra("text", "to find candidates") from error
    ids, offsets = terms.tokens
    if not len(ids):
        raise InputError("the field has no term in any document; choose another field or analyzer.")
    lists = ids.tolist()
    retriever = bm25s.BM25(method="lucene", k1=k1, b=b)
    tokens = bm25s.tokenization.Tokenized(
        ids=[lists[first:last] for first, last in pairwise(offsets.tolist())],
        vocab={str(term): term for term in range(terms.n_terms)},
    )
    retriever.index(tokens, show_progress=False)
    return retriever.get_scores_from_ids
