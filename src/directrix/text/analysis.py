"""Analysis of text: from words to terms, by stemmers and stop words."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from directrix.errors import InputError, MissingExtra, short_text

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


def check_analyzer(name: str) -> None:
    """Raise `InputError` unless a name is "none" or a Snowball stemmer, with or without ``+stop``.

    Raises `MissingExtra` if no stemmer is installed.
    """
    stemmer, plus, stop = name.partition("+")
    if stemmer != "none" and stemmer not in (known := _library().algorithms()):
        raise InputError(
            f"analyzer {short_text(name)}: there is no stemmer {stemmer!r}; choose none or one of "
            f"{', '.join(known)}, followed by +stop to leave out stop words."
        )
    if plus and stop != "stop":
        raise InputError(
            f"analyzer {short_text(name)}: after + only stop is known. Type e.g. {stemmer}+stop."
        )


def analyzed(words: Sequence[str], analyzer: str, stop_words: Collection[str]) -> list[str | None]:
    """Return the term of every word; None for a stop word that the analyzer leaves out."""
    stemmer, leaves_out, _ = analyzer.partition("+")
    terms = words if stemmer == "none" else _library().Stemmer(stemmer).stemWords(words)
    pairs = zip(words, terms, strict=True)
    return [None if leaves_out and word in stop_words else term for word, term in pairs]


def _library() -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise MissingExtra("text", "to reduce words to their stems") from error
    return Stemmer
