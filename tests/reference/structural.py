"""Structural SVMs by the book: the maximum over all rankings, and the published loops over one query."""

import math
from itertools import permutations

import numpy as np

from tests.reference import Reference, measures


def before(ranking):
    """y of the papers: +1 where i is ranked before j, -1 where behind, 0 for i = j."""
    n = len(ranking)
    place = {document: p for p, document in enumerate(ranking)}
    return np.array([[np.sign(place[j] - place[i]) for j in range(n)] for i in range(n)], dtype=float)


def worst_gains(ranking, labels, rel=1):
    """Labels by rank, where irrelevant ones count nothing and relevant ones stand lowest first."""
    ascending = iter(sorted(y for y in labels if y >= rel))
    return [next(ascending) if labels[i] >= rel else 0.0 for i in ranking]


LOSSES = {
    "map": lambda ranking, labels, rel: 1 - measures.ap([labels[i] for i in ranking], labels, rel=rel),
    "ndcg": lambda ranking, labels, rel: 1 - measures.ndcg([labels[i] for i in ranking], labels),
    "ndcg-worst": lambda ranking, labels, rel: 1 - measures.ndcg(worst_gains(ranking, labels, rel), labels),
    "rr": lambda ranking, labels, rel: 1 - measures.rr([labels[i] for i in ranking], labels, rel=rel),
    "roc": lambda ranking, labels, rel: np.nan_to_num(
        1 - measures.roc_area([-ranking.index(i) for i in range(len(labels))], labels, rel)
    ),
}
"""Delta of a ranking, a list of documents from the best."""


def planes(labels, loss, rel=1, c=None):
    """(Delta(y), d(F(y) - F(y*))/ds) of every ranking y; F over the pairs (relevant, irrelevant)."""
    relevant = np.asarray(labels) >= rel
    pairs = np.outer(relevant, ~relevant).astype(float)
    c = 1 / max(pairs.sum(), 1) if c is None else c
    found = []
    for ranking in permutations(range(len(labels))):
        wrong = c * pairs * (before(ranking) - 1)  # y_ij - y*_ij: -2 or 0
        found.append((LOSSES[loss](ranking, list(labels), rel), wrong.sum(axis=1) - wrong.sum(axis=0)))
    return np.array([delta for delta, _ in found]), np.array([slope for _, slope in found])


def permurank(s, labels, rel=1):
    """1 - max over all rankings, with F over all pairs of documents."""
    s, n = np.asarray(s), len(s)

    def score(ranking):
        return (before(ranking) * (s[:, None] - s[None, :])).sum() / 2 * 2 / max(n * (n - 1), 1)

    perfect = score(sorted(range(n), key=lambda i: (labels[i] < rel, -s[i])))
    return 1 - max(
        LOSSES["map"](ranking, list(labels), rel) + score(ranking) - perfect
        for ranking in permutations(range(n))
    )


# What follows are loops over R N pairs, one for each measure, as Numba compiles them in tests and benchmarks.
# x and z are the scores of relevant and irrelevant documents, descending; c multiplies F. They return opt_j
# in 1..R + 1: the first of the relevant documents that stands below the j-th irrelevant one.


def opt_map(x, z, c, gains):
    """Algorithm 2 of Yue et al. (2007), with the factor that Eq. (5) leaves out of the score."""
    n_relevant = len(x)
    opt = np.full(len(z), n_relevant + 1)
    for j in range(1, len(z) + 1):
        best, total = 0.0, 0.0
        for i in range(n_relevant, 0, -1):
            total += (j / (j + i) - (j - 1) / (j + i - 1)) / n_relevant - 2 * c * (x[i - 1] - z[j - 1])
            if total > best:
                best, opt[j - 1] = total, i
    return opt


def opt_ndcg(x, z, c, gains):
    """The same for nDCG; gains of the relevant places from above, over the ideal DCG."""
    opt = np.full(len(z), len(x) + 1)
    for j in range(1, len(z) + 1):
        best, total = 0.0, 0.0
        for i in range(len(x), 0, -1):
            total += gains[i - 1] * (1 / math.log2(i + j) - 1 / math.log2(i + j + 1))
            total -= 2 * c * (x[i - 1] - z[j - 1])
            if total > best:
                best, opt[j - 1] = total, i
    return opt


def opt_rr(x, z, c, gains):
    """The same for the reciprocal rank, of which only the first relevant document changes the loss."""
    opt = np.full(len(z), len(x) + 1)
    for j in range(1, len(z) + 1):
        best, total = 0.0, 0.0
        for i in range(len(x), 0, -1):
            if i == 1:
                total += 1 / j - 1 / (j + 1)
            total -= 2 * c * (x[i - 1] - z[j - 1])
            if total > best:
                best, opt[j - 1] = total, i
    return opt


def opt_roc(x, z, c, gains):
    """Joachims (2005): pair by pair."""
    opt = np.full(len(z), len(x) + 1)
    for j in range(len(z)):
        for i in range(len(x), 0, -1):
            if 1 - 2 * (x[i - 1] - z[j]) > 0:
                opt[j] = i
    return opt


def of_opt(opt, x, z, c, loss):
    """Hinge and its slopes for x and for z, given where the irrelevant documents stand; loss(ranks of x)."""
    wrong = np.arange(1, len(x) + 1)[:, None] >= opt[None, :]
    ranks = np.arange(1, len(x) + 1) + wrong.sum(axis=1)
    hinge = loss(ranks) - 2 * c * (wrong * (x[:, None] - z[None, :])).sum()
    return hinge, -2 * c * wrong.sum(axis=1), 2 * c * wrong.sum(axis=0)


def _by_rankings(loss):
    """1 - the largest hinge over all rankings, for a loss of `LOSSES`."""

    def value(s, labels, rel):
        delta, slopes = planes(tuple(labels), loss, rel)
        return 1 - (delta + slopes @ s).max()

    return value


REFERENCES = {
    "SVMMap": Reference(_by_rankings("map"), [{}, {"rel": 2}], largest=6),
    "SVMRoc": Reference(_by_rankings("roc"), [{}, {"rel": 2}], largest=6),
    "SVMMrr": Reference(_by_rankings("rr"), [{}, {"rel": 2}], largest=6),
    "SVMNdcg": Reference(_by_rankings("ndcg-worst"), [{}, {"rel": 2}], largest=6),
    "PermuRank": Reference(permurank, [{}, {"rel": 2}], largest=6),
}
