"""From text to terms: words in lower case, without stop words, stemmed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError, MissingExtra, short_text
from directrix.types import Array

STOP_WORDS = (
    *(
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "if",
        "in",
        "into",
        "is",
        "it",
        "no",
        "not",
    ),
    *(
        "of",
        "on",
        "or",
        "such",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
    ),
    *("will", "with"),
)
"""The 33 English stop words of Lucene."""

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text: runs of letters, digits and underscores, in lower case."""
    return _WORD.findall(text.lower())


class Vocabulary(NamedTuple):
    """The words of an index as terms of an analyzer."""

    term_of: Array
    """int32: for every word the number of its term, -1 for one that is left out."""
    numbers: dict[str, int]
    """The number of every term."""


@dataclass(frozen=True)
class Analyzer:
    """What happens to words before they are counted.

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
