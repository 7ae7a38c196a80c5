"""Every formula against one that is written word by word, with dicts and without arrays."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from directrix.text import Index
from directrix.text.formulas import FORMULAS

DOCUMENTS = {
    "a": "wings in a slipstream wings and the wing of a propeller in the slipstream",
    "b": "heat conduction in composite slabs",
    "c": "the the the",
    "d": "",
    "e": "slipstream",
    "f": "heated wings in a hot slipstream with conduction",
    "g": "a wing wing wing slipstream of heat and a slab of composite heat heat",
}
QUERIES = {
    "q1": "wing in a slipstream",
    "q2": "heat heat conduction unknownword",
    "q3": "the",
    "q4": "nothing here occurs",
    "q5": "slipstream wing slipstream",
    "q6": "",
}


def naive(formula, query, doc, docs):
    """Return the value of a formula for lists of words."""
    n, df = len(docs), Counter(word for words in docs for word in set(words))
    cf = Counter(word for words in docs for word in words)
    total, mean = sum(map(len, docs)), sum(map(len, docs)) / len(docs)
    tf, in_query, length = Counter(doc), Counter(query), len(doc)
    both = [t for t in in_query if tf[t]]
    known = [t for t in in_query if cf[t]]

    def idf(t):
        return math.log(1 + (n - df[t] + 0.5) / (df[t] + 0.5))

    def bm25(k1, b):
        norm = k1 * (1 - b + b * length / mean)
        return sum(in_query[t] * idf(t) * tf[t] / (tf[t] + norm) for t in both)

    def weight(count, t):
        return (1 + math.log(count)) * math.log(n / df[t])

    def cosine():
        dot = sum(weight(in_query[t], t) * weight(tf[t], t) for t in both)
        of_query = math.sqrt(sum(weight(in_query[t], t) ** 2 for t in known))
        of_doc = math.sqrt(sum(weight(tf[t], t) ** 2 for t in tf))
        return dot / (of_query * of_doc) if of_query and of_doc else 0.0

    def dph():
        value = 0.0
        for t in both:
            r = tf[t] / length
            if r < 1:
                gain = tf[t] * math.log2(tf[t] * mean / length * n / cf[t])
                gain += 0.5 * math.log2(2 * math.pi * tf[t] * (1 - r))
                value += in_query[t] * (1 - r) ** 2 / (tf[t] + 1) * gain
        return value

    def nearest():
        places = [(p, word) for p, word in enumerate(doc) if word in in_query]
        return min((abs(p - s) for p, a in places for s, b in places if a != b), default=length)

    bigrams = set(pairwise(query))
    return {
        "tf-idf": lambda: sum(in_query[t] * weight(tf[t], t) for t in both),
        "bm25": lambda: bm25(1.2, 0.75),
        "bm25-0.9-0.4": lambda: bm25(0.9, 0.4),
        "lm-dirichlet": lambda: sum(
            in_query[t] * math.log((tf[t] + 2000 * cf[t] / total) / (length + 2000)) for t in known
        ),
        "lm-jelinek-mercer": lambda: sum(
            in_query[t] * math.log(0.9 * tf[t] / max(length, 1) + 0.1 * cf[t] / total) for t in known
        ),
        "cosine": cosine,
        "dph": dph,
        "coverage": lambda: len(both) / max(len(in_query), 1),
        "idf-coverage": lambda: sum(map(idf, both)) / (sum(map(idf, in_query)) or 1.0),
        "proximity": lambda: math.log(0.3 + math.exp(-nearest())),
        "bigrams": lambda: math.log1p(sum(pair in bigrams for pair in pairwise(doc))),
        "length": lambda: float(length),
        "idf-sum": lambda: sum(map(idf, in_query)),
        "idf-max": lambda: max(map(idf, in_query), default=0.0),
    }[formula]()


def collection(name):
    """Documents and queries."""
    if name == "by hand":
        return DOCUMENTS, QUERIES
    rng, vocabulary = np.random.default_rng(0), [f"w{i}" for i in range(12)]
    texts = [" ".join(rng.choice(vocabulary, size=rng.integers(0, 30))) for _ in range(20)]
    queries = {f"q{i}": " ".join(rng.choice(vocabulary, size=rng.integers(1, 6))) for i in range(5)}
    return {f"d{d}": text for d, text in enumerate(texts)}, queries


@pytest.mark.parametrize("analyzer", ["none", "none+stop"])
@pytest.mark.parametrize("name", ["by hand", "random"])
def test_every_formula_equals_the_naive_one(name, analyzer):
    """For all pairs of queries and documents; all values are finite."""
    documents, queries = collection(name)
    index = Index.build(documents, analyzers=[analyzer])
    q = index.features(queries, {query: dict.fromkeys(documents, 1.0) for query in queries})
    docs = [index.query_terms(text, analyzer) for text in documents.values()]
    asked = [index.query_terms(text, analyzer) for text in queries.values()]
    assert q.feature_names == tuple(f"{formula}.text.{analyzer}" for formula in FORMULAS)
    for formula, column in zip(FORMULAS, q.features.T, strict=True):
        wanted = [naive(formula, query, doc, docs) for query in asked for doc in docs]
        assert np.isfinite(column).all()
        assert column == pytest.approx(wanted, rel=1e-6, abs=1e-6), formula
