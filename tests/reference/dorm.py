"""DORM as the paper writes it: the maximum over all rankings, or a linear assignment; one query."""

import math
from itertools import permutations

import numpy as np
from scipy.optimize import linear_sum_assignment

from tests.reference import Reference


def ideal(labels, k=None):
    """Z_k, the best DCG@k."""
    best = sorted((2.0**label - 1 for label in labels), reverse=True)[:k]
    return sum(gain / math.log2(2 + p) for p, gain in enumerate(best))


def ndcg(ranking, labels, k=None):
    """nDCG@k of documents in this order."""
    gains = [2.0 ** labels[i] - 1 for i in ranking[:k]]
    return sum(gain / math.log2(2 + p) for p, gain in enumerate(gains)) / ideal(labels, k)


def feature(ranking, s):
    """F(s, y) of documents in this order."""
    return sum(s[i] / math.log2(2 + p) for p, i in enumerate(ranking))


def perfect(s, labels, ties):
    """F(s, y*): documents by label, equal labels by score, or the mean over their orders."""
    if ties == "score":
        return feature(sorted(range(len(s)), key=lambda i: (-labels[i], -s[i])), s)
    total, place = 0.0, 0
    for label in sorted(set(labels), reverse=True):
        group = [i for i in range(len(s)) if labels[i] == label]
        mean = sum(1 / math.log2(2 + place + p) for p in range(len(group))) / len(group)
        total, place = total + mean * sum(s[i] for i in group), place + len(group)
    return total


def by_rankings(s, labels, k=None, ties="score"):
    """Value, by trying all rankings."""
    if ideal(labels, k) == 0:
        return 0.0
    worst = max(1 - ndcg(y, labels, k) + feature(y, s) for y in permutations(range(len(s))))
    return 1 - (worst - perfect(s, labels, ties))


def by_assignment(s, labels, k=None, ties="score"):
    """Value, by the n x n assignment of documents to ranks (Le, Smola 2007)."""
    if ideal(labels, k) == 0:
        return 0.0
    c = 1 / np.log2(np.arange(2, len(s) + 2))
    counted = c * (np.arange(len(s)) < (len(s) if k is None else k))
    gains = 2.0 ** np.asarray(labels) - 1
    worth = np.outer(s, c) - np.outer(gains, counted) / ideal(labels, k)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return 1 - (1 + worth[rows, columns].sum() - perfect(s, labels, ties))


REFERENCES = {
    "Dorm": Reference(
        by_assignment, [{"k": k, "ties": ties} for k in (None, 1, 3, 10) for ties in ("score", "mean")]
    )
}
