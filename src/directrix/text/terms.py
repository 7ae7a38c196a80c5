"""Terms of one field under one analyzer: the documents as term numbers, and statistics of all of them."""

from __future__ import annotations

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


class Matches(NamedTuple):
    """The terms of a query in some documents."""

    tf: Float64Array
    """(n_docs, n_terms): how often each term occurs."""
    near: Int64Array
    """(n_docs,): smallest distance between two different terms; 0 if fewer than two occur."""
    adjacent: Int64Array
    """(n_docs,): pairs of neighboring terms that are neighbors in the query too."""


def one_after_another(fields: list[Tokens]) -> Tokens:
    """Return documents whose text is that of several fields, one after another."""
    lengths = np.stack([np.diff(field.offsets) for field in fields], axis=1)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.empty(int(starts[-1]), dtype=np.int32)
    for f, field in enumerate(fields):
        shift = starts[f : -1 : len(fields)] - field.offsets[:-1]
        ids[np.arange(len(field.ids)) + np.repeat(shift, lengths[:, f])] = field.ids
    return Tokens(ids, starts[:: len(fields)].astype(np.int64))


def as_terms(words: Tokens, term_of: Array) -> Tokens:
    """Return words as terms, without those whose term is -1."""
    ids = term_of[words.ids]
    is_kept = ids >= 0
    if is_kept.all():
        return Tokens(ids, words.offsets)
    before = np.concatenate([[0], np.cumsum(is_kept)])
    return Tokens(ids[is_kept], before[words.offsets].astype(np.int64))


@dataclass(frozen=True, eq=False)
class FieldTerms:
    """A field of all documents as terms, with the statistics that formulas need.

    Parameters
    ----------
    tokens : Tokens
        Terms of every document, in their order.
    n_terms : int
        Number of different terms of the analyzer, in all fields.
    """

    tokens: Tokens
    n_terms: int

    @property
    def n_docs(self) -> int:
        """Number of documents, N."""
        return len(self.tokens.offsets) - 1

    @property
    def n_tokens(self) -> int:
        """Number of terms of all documents, with repetitions."""
        return len(self.tokens.ids)

    @cached_property
    def lengths(self) -> Int64Array:
        """Number of terms of every document, with repetitions."""
        return np.diff(self.tokens.offsets)

    @property
    def mean_length(self) -> float:
        """Mean number of terms of a document; 0 if no document has any."""
        return self.n_tokens / max(self.n_docs, 1)

    @cached_property
    def counts(self) -> tuple[Int64Array, Int64Array]:
        """For every term the number of documents that have it, and of its occurrences."""
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

    @cached_property
    def _places(self) -> Array:
        return np.full(self.n_terms, -1, dtype=np.int32)

    def match(self, terms: Int64Array, follows: Array, docs: Int64Array) -> Matches:
        """Find the different terms of a query in documents; ``follows[a, b]``: b comes after a in the query.

        Takes as long as the documents have terms. Not for several threads at once.
        """
        from directrix.text._kernels.match import match

        is_known = terms >= 0
        self._places[terms[is_known]] = np.flatnonzero(is_known)
        tf = np.zeros((len(docs), len(terms)))
        near, adjacent = np.zeros(len(docs), np.int64), np.zeros(len(docs), np.int64)
        match(*self.tokens, docs, self._places, follows, tf, near, adjacent)
        self._places[terms[is_known]] = -1
        return Matches(tf, near, adjacent)
