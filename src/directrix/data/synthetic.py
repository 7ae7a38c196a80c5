"""Artificial data: a random cubic polynomial (Burges et al. 2005), data with a known optimum, texts.

Sizes and a seed go in. Out come data whose best ranking is known, and the same ones for the same seed:

>>> queries, weights = make_linear(n_queries=3, docs_per_query=4, n_features=2)
>>> queries.n_docs, weights.shape
(12, (2,))
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from directrix.data.checks import as_shares, generator
from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.parameters import number, whole
from directrix.threads import run_chunks
from directrix.types import Array, Float64Array, Int64Array

# Shares of the labels 0 to 4, as in the web search data of Microsoft.
_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
# Scores of this number of rows are computed at one time, so that a column of them stays in the cache.
_BLOCK = 4096


def make_cubic(  # noqa: PLR0913 - each one is a property of the data
    n_queries: int = 200,
    docs_per_query: int = 50,
    n_features: int = 50,
    *,
    n_monomials: int = 2000,
    shares: Sequence[float] = _SHARES,
    label_noise: float = 0.0,
    n_hidden: int = 0,
    seed: int = 0,
) -> Queries:
    r"""Make data whose labels follow a random cubic polynomial of the features.

    Features are uniform on [-1, 1]; the score of a document is

    .. math:: s(x) = \sum_{m} a_m \prod_{j \in m} x_j, \qquad a_m \sim U[-1, 1],

    over monomials m of degree 1 to 3 (a constant would change no order). Labels 0, 1, ... are cut from the
    score at the quantiles that give the requested shares.

    Parameters
    ----------
    n_queries, docs_per_query, n_features : int >= 1
        Size. The paper has 50 documents per query and 300 features; Donmez et al. (2009) use
        10,000 / 5,000 / 10,000 queries for training, validation and test.
    n_monomials : int >= 1
        Number of monomials, drawn uniformly from all (d + 1)(d + 2)(d + 3)/6 - 1 of them (4.6 million for
        300 features) and fixed by the seed; all of them if ``n_monomials`` is larger.
    shares : floats > 0 with sum 1
        Shares of the labels 0, 1, ... .
    label_noise : float in [0, 1]
        Share of documents whose label is replaced by a random one, so that no ranker is perfect.
    n_hidden : int, 0 <= n_hidden < n_features
        The last ``n_hidden`` features influence the labels but are not in the result.
    seed : int
        Data sets of one seed and different sizes have different polynomials; for parts of one data set use
        `split_queries`.

    Returns
    -------
    Queries
        float32 features.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Notes
    -----
    O(n_docs (n_features + n_monomials)) time.
    Burges et al. (2005), doi:10.1145/1102351.1102363, section 5; Donmez, Svore & Burges (2009),
    doi:10.1145/1571941.1572021.

    Examples
    --------
    >>> import directrix as dx
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> q.n_docs, q.n_features, int(q.labels.max())
    (200, 4, 4)
    """
    _check_sizes(n_queries=n_queries, docs_per_query=docs_per_query, n_features=n_features)
    _check_sizes(n_monomials=n_monomials)
    chances = as_shares("shares", shares, 2)
    number(label_noise, "label_noise", least=0.0, most=1.0, example=0.1)
    if whole(n_hidden, "n_hidden", least=0) >= n_features:
        raise InputError(f"n_hidden={n_hidden}; 0 to n_features - 1 = {n_features - 1} can be hidden.")
    rng = generator(seed)
    n_docs = n_queries * docs_per_query
    features = rng.random((n_docs, n_features), dtype=np.float32)
    features *= 2.0
    features -= 1.0
    monomials = _monomials(n_features, n_monomials, rng)
    scores = _polynomial(features, monomials, rng.uniform(-1.0, 1.0, len(monomials)))
    cuts = np.quantile(scores, np.cumsum(chances)[:-1])
    labels = np.searchsorted(cuts, scores, side="right").astype(np.float64)
    is_noisy = rng.random(n_docs) < label_noise
    labels[is_noisy] = rng.choice(len(chances), size=int(is_noisy.sum()), p=chances)
    visible = np.ascontiguousarray(features[:, : n_features - n_hidden])
    return Queries.from_arrays(visible, labels, group=np.full(n_queries, docs_per_query))


def make_linear(
    n_queries: int = 50, docs_per_query: int = 20, n_features: int = 10, *, n_labels: int = 3, seed: int = 0
) -> tuple[Queries, Float64Array]:
    """Make data that a linear ranker can order perfectly, with the weights of that ranker.

    Parameters
    ----------
    n_queries, docs_per_query, n_features : int >= 1
        Size.
    n_labels : int >= 2
        Labels are 0 to ``n_labels - 1``, evenly divided along the true order of each query.
    seed : int
        The same seed gives the same data.

    Returns
    -------
    queries : Queries
        float64 features, standard normal.
    weights : float64 (n_features,)
        Weights of unit length. With scores ``features @ weights``, every measure has its best value on every
        query.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Examples
    --------
    >>> import directrix as dx
    >>> q, weights = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> dx.evaluate("nDCG@10", q.features @ weights, q.labels, qptr=q.qptr)
    {'nDCG@10': 1.0}
    """
    _check_sizes(n_queries=n_queries, docs_per_query=docs_per_query, n_features=n_features)
    whole(n_labels, "n_labels", least=2)
    rng = generator(seed)
    weights = rng.standard_normal(n_features)
    weights /= np.linalg.norm(weights)
    features = rng.standard_normal((n_queries * docs_per_query, n_features))
    scores = (features @ weights).reshape(n_queries, docs_per_query)
    # The place of a document is the number of documents of its query with lower scores.
    places = scores.argsort(axis=1).argsort(axis=1)
    labels = (places * n_labels // docs_per_query).astype(np.float64).ravel()
    queries = Queries.from_arrays(features, labels, group=np.full(n_queries, docs_per_query))
    return queries, weights


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        whole(size, name)


def _monomials(d: int, wanted: int, rng: np.random.Generator) -> Int64Array:
    """Sample monomials as three sorted indices from 0..d, where d stands for the factor 1."""
    # The number of multisets of three indices, without the constant.
    total = (d + 1) * (d + 2) * (d + 3) // 6 - 1
    if wanted >= total:
        return np.array(list(itertools.combinations_with_replacement(range(d + 1), 3))[:-1], dtype=np.int64)
    numbers = np.sort(rng.choice(total, size=wanted, replace=False))
    # Multisets are numbered in their order. The first index i is found from the counts of multisets with
    # a smaller first index, and the second one, i + j, likewise within those.
    below = np.cumsum([0] + [(d + 1 - i) * (d + 2 - i) // 2 for i in range(d + 1)])
    i = np.searchsorted(below, numbers, side="right") - 1
    rest = numbers - below[i]
    size = d + 1 - i
    pairs = np.arange(d + 2)[None, :] * size[:, None] - np.arange(d + 2) * (np.arange(d + 2) - 1) // 2
    step = (pairs <= rest[:, None]) & (np.arange(d + 2)[None, :] < size[:, None])
    j = step.sum(axis=1) - 1
    k = j + rest - pairs[np.arange(len(j)), j]
    return np.stack([i, i + j, i + k], axis=1).astype(np.int64)


def _polynomial(features: Array, monomials: Int64Array, coefficients: Float64Array) -> Float64Array:
    scores = np.zeros(len(features))
    terms = list(zip(*monomials.T.tolist(), coefficients.tolist(), strict=True))

    def add(block: int) -> None:
        rows = slice(block * _BLOCK, (block + 1) * _BLOCK)
        values = features[rows].T.astype(np.float64)
        columns = np.vstack([values, np.ones((1, values.shape[1]))])
        out, product = scores[rows], np.empty(values.shape[1])
        for i, j, k, a in terms:
            np.multiply(columns[i], columns[j], out=product)
            product *= columns[k]
            product *= a
            out += product

    run_chunks(add, -(-len(features) // _BLOCK))
    return scores


_COMMON = ("the", "of", "and", "in", "a", "to", "is", "for", "with", "by")
_ENDINGS = ("", "", "", "s", "ed", "ing")
_WORDS_PER_TOPIC = 12
_DOCS_PER_TOPIC = 12
# Different words of the language, topics included.
_WORDS = 8000


class ArtificialTexts(NamedTuple):
    """A collection of `make_texts`."""

    documents: dict[str, dict[str, str]]
    """A title and a text for each identifier."""
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    """Labels of the relevant documents of each query, 1 to 4; all others are not relevant."""


def make_texts(
    n_docs: int = 1400, n_queries: int = 225, *, words_per_doc: int = 160, seed: int = 0
) -> ArtificialTexts:
    """Make documents about topics, queries about the same topics, and judgments.

    Every document has a main topic, with 2 to 12 % of its words, and a side topic, with up to 10 %; its title
    is about the main one. A topic is a set of words, some of which occur in pairs. Other words are frequent
    ones without a meaning, and words of the language, few of which are frequent. Words of topics have
    endings, so stemming helps. A document whose main topic is that of a query has a label from 1 to 4, which
    increases with the share. One with it as the side topic has the label 1 if the share exceeds 9 %.

    Parameters
    ----------
    n_docs, n_queries : int >= 1
        Default: the numbers of the Cranfield collection.
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
    There are about 12 documents per topic. It takes 0.1 ms per document.

    Examples
    --------
    >>> from directrix import data
    >>> texts = data.make_texts(n_docs=100, n_queries=5, seed=0)
    >>> len(texts.documents), sorted(texts.queries), sorted(texts.documents["d1"])
    (100, ['q1', 'q2', 'q3', 'q4', 'q5'], ['text', 'title'])
    """
    _check_sizes(n_docs=n_docs, n_queries=n_queries, words_per_doc=words_per_doc)
    rng = generator(seed)
    # Words have two to four syllables. A dict keeps them different, and in the order of their invention.
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = dict[str, None]()
    while len(words) < _WORDS:
        words["".join(rng.choice(syllables, size=rng.integers(2, 5)))] = None
    vocabulary, n_topics = list(words), max(2, n_docs // _DOCS_PER_TOPIC)
    topics = [rng.choice(_WORDS, _WORDS_PER_TOPIC, replace=False) for _ in range(n_topics)]
    # The frequency of a word falls with its rank, as in Zipf's law; 10 lowers that of the first ones.
    frequency = 1.0 / np.arange(10.0, _WORDS + 10.0)
    frequency /= frequency.sum()
    main = rng.integers(len(topics), size=n_docs)
    other = (main + rng.integers(1, len(topics), size=n_docs)) % len(topics)
    share = rng.uniform(0.02, 0.12, size=n_docs)
    in_passing = rng.uniform(0.0, 0.1, size=n_docs)
    documents = {}
    for d in range(n_docs):
        length = max(1, int(rng.poisson(words_per_doc)))
        shares = share[d], in_passing[d]
        text = _sentence(rng, length, [topics[main[d]], topics[other[d]]], shares, vocabulary, frequency)
        title = _sentence(rng, 8, [topics[main[d]]], (0.3,), vocabulary, frequency)
        documents[f"d{d + 1}"] = {"title": title, "text": text}
    queries, qrels = {}, {}
    for q in range(n_queries):
        topic = int(rng.integers(len(topics)))
        queries[f"q{q + 1}"] = _sentence(rng, 9, [topics[topic]], (0.4,), vocabulary, frequency)
        grades = np.where(main == topic, 1 + np.floor((share - 0.02) / 0.1 * 3.999), 0.0)
        grades = np.maximum(grades, (other == topic) & (in_passing > 0.09))
        qrels[f"q{q + 1}"] = {f"d{d + 1}": int(grades[d]) for d in np.flatnonzero(grades)}
    return ArtificialTexts(documents, queries, qrels)


def _sentence(
    rng: np.random.Generator,
    length: int,
    topics: list[Array],
    shares: tuple[float, ...],
    vocabulary: list[str],
    frequency: Float64Array,
) -> str:
    """Return words: shares of them of topics, 40 % common ones, the rest of the language."""
    kinds = rng.choice(len(topics) + 2, size=length, p=[*shares, 0.4, 0.6 - sum(shares)])
    background = rng.choice(len(frequency), size=length, p=frequency)
    places, endings = rng.integers(_WORDS_PER_TOPIC, size=length), rng.integers(len(_ENDINGS), size=length)
    words: list[str] = []
    for i, kind in enumerate(kinds.tolist()):
        if kind < len(topics):
            word = topics[kind][places[i]]
            words.append(vocabulary[word] + _ENDINGS[endings[i]])
            # Every fourth word of a topic is the first one of a pair.
            if places[i] % 4 == 0:
                words.append(vocabulary[topics[kind][places[i] + 1]])
        else:
            words.append(
                _COMMON[places[i] % len(_COMMON)] if kind == len(topics) else vocabulary[background[i]]
            )
    return " ".join(words)
