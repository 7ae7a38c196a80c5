"""Artificial documents with queries and judgments: a test collection of made-up words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directrix.parameters import whole
from directrix.types import Array, Float64Array

_COMMON = ("the", "of", "and", "in", "a", "to", "is", "for", "with", "by")
_ENDINGS = ("", "", "", "s", "ed", "ing")
_OF_TOPIC = 12  # words of a topic
_DOCS_PER_TOPIC = 12
_WORDS = 8000


class ArtificialTexts(NamedTuple):
    """A collection of `make_texts`."""

    documents: dict[str, dict[str, str]]
    """For each identifier a title and a text."""
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    """For each query the label of its relevant documents, 1 to 4; all others are not relevant."""


def make_texts(
    n_docs: int = 1400, n_queries: int = 225, *, words_per_doc: int = 160, seed: int = 0
) -> ArtificialTexts:
    """Make documents about topics, queries about the same topics, and judgments.

    A document is about a main topic, with 2 to 12 % of its words, and in passing about another, with up to
    10 %; its title is about the main one. A topic is a set of words, some of which come in pairs. Other
    words are frequent ones without a meaning, and words of the language, of which few are frequent. Words of
    topics have endings, so stemming helps. A document about the topic of a query has the label 1 to 4, higher
    with the share; one that is about it in passing has the label 1 if the share exceeds 9 %.

    Parameters
    ----------
    n_docs, n_queries : int >= 1
        By default as many as the Cranfield collection has.
    words_per_doc : int >= 1
        Mean number of words of a text; titles have 8.
    seed : int >= 0

    Returns
    -------
    ArtificialTexts
        ``documents``, ``queries``, ``qrels``: dicts by identifier.

    Raises
    ------
    InputError
        If an argument is out of range.

    Notes
    -----
    About 12 documents are about each topic. 0.1 ms per document.

    Examples
    --------
    >>> from directrix import data
    >>> texts = data.make_texts(n_docs=100, n_queries=5, seed=0)
    >>> len(texts.documents), sorted(texts.queries), sorted(texts.documents["d1"])
    (100, ['q1', 'q2', 'q3', 'q4', 'q5'], ['text', 'title'])
    """
    n_docs, n_queries, words_per_doc = (
        whole(value, name, "make_texts")
        for value, name in ((n_docs, "n_docs"), (n_queries, "n_queries"), (words_per_doc, "words_per_doc"))
    )
    rng = np.random.default_rng(whole(seed, "seed", "make_texts", least=0))
    vocabulary = _made_up(rng, _WORDS)
    topics = [rng.choice(_WORDS, _OF_TOPIC, replace=False) for _ in range(max(2, n_docs // _DOCS_PER_TOPIC))]
    rare = 1.0 / np.arange(10.0, _WORDS + 10.0)
    rare /= rare.sum()
    main = rng.integers(len(topics), size=n_docs)
    other = (main + rng.integers(1, len(topics), size=n_docs)) % len(topics)
    share = rng.uniform(0.02, 0.12, size=n_docs)
    in_passing = rng.uniform(0.0, 0.1, size=n_docs)
    documents = {}
    for d in range(n_docs):
        length = max(1, int(rng.poisson(words_per_doc)))
        parts = share[d], in_passing[d]
        text = _sentence(rng, length, [topics[main[d]], topics[other[d]]], parts, vocabulary, rare)
        title = _sentence(rng, 8, [topics[main[d]]], (0.3,), vocabulary, rare)
        documents[f"d{d + 1}"] = {"title": title, "text": text}
    queries, qrels = {}, {}
    for q in range(n_queries):
        topic = int(rng.integers(len(topics)))
        queries[f"q{q + 1}"] = _sentence(rng, 9, [topics[topic]], (0.4,), vocabulary, rare)
        grades = np.where(main == topic, 1 + np.floor((share - 0.02) / 0.1 * 3.999), 0.0)
        grades = np.maximum(grades, (other == topic) & (in_passing > 0.09))
        qrels[f"q{q + 1}"] = {f"d{d + 1}": int(grades[d]) for d in np.flatnonzero(grades)}
    return ArtificialTexts(documents, queries, qrels)


def _made_up(rng: np.random.Generator, n: int) -> list[str]:
    """Return different words of two to four syllables."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = dict[str, None]()
    while len(words) < n:
        words["".join(rng.choice(syllables, size=rng.integers(2, 5)))] = None
    return list(words)


def _sentence(
    rng: np.random.Generator,
    length: int,
    topics: list[Array],
    shares: tuple[float, ...],
    vocabulary: list[str],
    rare: Float64Array,
) -> str:
    """Return words: shares of them of topics, 40 % common ones, the rest of the language."""
    kinds = rng.choice(len(topics) + 2, size=length, p=[*shares, 0.4, 0.6 - sum(shares)])
    background = rng.choice(len(rare), size=length, p=rare)
    places, endings = rng.integers(_OF_TOPIC, size=length), rng.integers(len(_ENDINGS), size=length)
    words: list[str] = []
    for i, kind in enumerate(kinds.tolist()):
        if kind < len(topics):
            word = topics[kind][places[i]]
            words.append(vocabulary[word] + _ENDINGS[endings[i]])
            if places[i] % 4 == 0:  # the first word of a pair
                words.append(vocabulary[topics[kind][places[i] + 1]])
        else:
            words.append(
                _COMMON[places[i] % len(_COMMON)] if kind == len(topics) else vocabulary[background[i]]
            )
    return " ".join(words)
