"""Analysis of text: words, stems, stop words, and their numbers in the fields of a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError, MissingExtra, short_text
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


_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters, digits and underscores, in lower case."""
    return _WORD.findall(text.lower())


STOP_WORDS = tuple(
    words_of(
        "a an and are as at be but by for if in into is it no not of on or such that the their then there "
        "these they this to was will with"
    )
)
"""The 33 English stop words of Lucene."""


class Vocabulary(NamedTuple):
    """The words of an index as terms of an analyzer."""

    term_of: Array
    """int32: for every word the number of its term, -1 for one that is left out."""
    numbers: dict[str, int]
    """The number of every term."""


@dataclass(frozen=True)
class Analyzer:
    """Words as they are counted: stemmed or not, with or without stop words.

    Parameters
    ----------
    stemmer : str
        "none", or an algorithm of Snowball: "english", "porter", "german" and others.
    stops : bool
        Whether stop words are left out. They leave no gap: their neighbors become neighbors.
    """

    stemmer: str
    stops: bool

    @classmethod
    def named(cls, name: str) -> Analyzer:
        """Return the analyzer of a name: a stemmer, with ``+stop`` if stop words are left out.

        Raises `InputError` for an unknown stemmer, and `MissingExtra` if there is none at all.
        """
        stemmer, plus, stop = str(name).partition("+")
        if stemmer != "none" and stemmer not in _algorithms():
            raise InputError(
                f"analyzer {short_text(name)}: there is no stemmer {stemmer!r}; choose none or one of "
                f"{', '.join(_algorithms())}, followed by +stop to leave out stop words."
            )
        if plus and stop != "stop":
            raise InputError(
                f"analyzer {short_text(name)}: after + only stop is known. Type e.g. {stemmer}+stop."
            )
        return cls(stemmer, bool(plus))

    def __str__(self) -> str:
        return self.stemmer + "+stop" * self.stops

    def terms(self, words: Sequence[str], stop_words: frozenset[str]) -> list[str | None]:
        """Return the term of every word; None for a stop word that is left out."""
        terms = list(words) if self.stemmer == "none" else _library().Stemmer(self.stemmer).stemWords(words)
        if not self.stops:
            return list(terms)
        return [None if word in stop_words else term for word, term in zip(words, terms, strict=True)]

    def vocabulary(self, words: Sequence[str], stop_words: frozenset[str]) -> Vocabulary:
        """Number the terms of an index in the order of its words."""
        numbers: dict[str, int] = {}
        terms = self.terms(words, stop_words)
        term_of = [-1 if term is None else numbers.setdefault(term, len(numbers)) for term in terms]
        return Vocabulary(np.array(term_of, dtype=np.int32), numbers)


def _library() -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise MissingExtra("text", "to reduce words to their stems") from error
    return Stemmer


def _algorithms() -> list[str]:
    return list(_library().algorithms())
