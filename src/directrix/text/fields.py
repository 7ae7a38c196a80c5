"""A field of all documents as numbers of its words or terms, and the statistics that formulas need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from directrix.types import Array, Float64Array, Int64Array


class Tokens(NamedTuple):
    """Numbers of the words or terms of all documents, one after another."""

    ids: Array
    """int32 (n_tokens,)."""
    offsets: Int64Array
    """(n_docs + 1,): document ``d`` owns ``offsets[d] <= i < offsets[d + 1]``."""

    def as_terms(self, term_of: Array) -> Tokens:
        """Return words as terms, without those whose term is -1."""
        ids = term_of[self.ids]
        is_kept = ids >= 0
        before = np.concatenate([[0], np.cumsum(is_kept)])
        return Tokens(ids[is_kept], before[self.offsets].astype(np.int64))


def one_after_another(fields: Sequence[Tokens]) -> Tokens:
    """Return documents whose text joins several fields, one after another."""
    # A field's words are shifted by the words of the document's fields before it, and of all documents
    # before.
    lengths = np.stack([np.diff(field.offsets) for field in fields], axis=1)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.empty(int(starts[-1]), dtype=np.int32)
    for f, field in enumerate(fields):
        shift = starts[f : -1 : len(fields)] - field.offsets[:-1]
        ids[np.arange(len(field.ids)) + np.repeat(shift, lengths[:, f])] = field.ids
    return Tokens(ids, starts[:: len(fields)].astype(np.int64))


@dataclass(frozen=True, eq=False)
class FieldTerms:
    """A field of all documents as terms of an analyzer."""

    tokens: Tokens
    """Terms of every document, in their order."""
    n_terms: int
    """Number of different terms of the analyzer, in all fields."""

    @property
    def n_docs(self) -> int:
        """Number of documents, N."""
        return len(self.tokens.offsets) - 1

    @property
    def n_tokens(self) -> int:
        """Number of terms of all documents, with repetitions, C."""
        return len(self.tokens.ids)

    @property
    def mean_length(self) -> float:
        """Mean number of terms of a document; 0 if no document has any."""
        return self.n_tokens / max(self.n_docs, 1)

    @cached_property
    def counts(self) -> tuple[Int64Array, Int64Array]:
        """The number of documents with each term, and the number of its occurrences."""
        from directrix.text._kernels.match import count_terms

        df, cf = np.zeros(self.n_terms, np.int64), np.zeros(self.n_terms, np.int64)
        count_terms(*self.tokens, df, cf)
        return df, cf

    @cached_property
    def vector_lengths(self) -> Float64Array:
        """Euclidean length of every document's vector of weights (1 + ln tf) ln(N / df)."""
        from directrix.text._kernels.match import lengths_of_vectors

        lengths = np.zeros(self.n_docs)
        idf = np.log(self.n_docs / np.maximum(self.counts[0], 1))
        lengths_of_vectors(*self.tokens, idf, lengths)
        return lengths

    def match(
        self, terms: Int64Array, follows: Array, docs: Int64Array
    ) -> tuple[Float64Array, Int64Array, Int64Array]:
        """Find the different terms of a query in documents; -1 is a term that no document has.

        ``follows[a, b]``: term b comes after a in the query. Returns how often each term occurs (n_docs,
        n_terms); the smallest distance between two different terms, 0 if fewer than two occur; and the number
        of pairs of neighboring terms that are also neighbors in the query. Cost: O(terms of the documents).
        """
        from directrix.text._kernels.match import match

        # Each term of the collection has its column in the query, or -1.
        places = np.full(self.n_terms, -1, dtype=np.int32)
        places[terms[terms >= 0]] = np.flatnonzero(terms >= 0)
        tf = np.zeros((len(docs), len(terms)))
        near, adjacent = np.zeros(len(docs), np.int64), np.zeros(len(docs), np.int64)
        match(*self.tokens, docs, places, follows, tf, near, adjacent)
        return tf, near, adjacent
