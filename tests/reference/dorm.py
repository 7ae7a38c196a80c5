"""DORM as the paper writes it: the maximum over all rankings, or a linear assignment; one query."""

import math
from itertools import permutations

import numpy as np
from scipy.optimize import linear_sum_assignment

import directrix as dx
from tests.reference import Reference

DEFINED = {
    "ExpectedUtility": dx.define_measure(
        "ExpectedUtility",
        gain=lambda labels: np.maximum(labels - 1, 0),
        discount=lambda ranks: 2 ** (-(ranks - 1) / 4),
        norm="ideal",
    ),
    "ReciprocalRanks": dx.define_measure(
        "ReciprocalRanks", gain=lambda labels: 1.0 * (labels >= 1), discount=lambda ranks: 1 / ranks
    ),
    "LowestFirst": dx.define_measure(
        "LowestFirst", gain=lambda labels: 1 / (1 + labels), discount=lambda ranks: 1 / ranks
    ),
}
"""Expected rank utility (neutral vote 1, half-life 5), RR of one relevant document, and falling gains."""


def ideal(labels, k=None):
    """Z_k, the best DCG@k."""
    best = sorted((2.0**label - 1 for label in labels), reverse=True)[:k]
    return sum(gain / math.log2(2 + p) for p, gain in enumerate(best))


def stated(name, labels, k):
    """Gains, discounts that count, c and the norm of a measure: as its paper states it, by name."""
    n = len(labels)
    if name is None:
        c = [1 / math.log2(2 + p) for p in range(n)]
        return [2.0**y - 1 for y in labels], c[:k] + [0] * (n - len(c[:k])), c, ideal(labels, k)
    relevant = [float(y >= 1) for y in labels]
    if name.startswith("P@"):
        counted = [float(p < int(name[2:])) for p in range(n)]
        return relevant, counted, counted, int(name[2:])
    if name == "RBP(p=0.5)":
        counted = [0.5 * 0.5**p for p in range(n)]
        return relevant, counted, counted, 1
    if name == "ReciprocalRanks":
        counted = [1 / (1 + p) for p in range(n)]
        return relevant, counted, counted, 1
    if name == "LowestFirst":
        counted = [1 / (1 + p) for p in range(n)]
        return [1 / (1 + y) for y in labels], counted, counted, 1
    assert name == "ExpectedUtility"
    counted, gains = [2 ** (-p / 4) for p in range(n)], [max(y - 1, 0) for y in labels]
    best = sum(g * c for g, c in zip(sorted(gains, reverse=True), counted, strict=True))
    return gains, counted, counted, best


def of_perfect(s, gains, c, ties):
    """F(s, y*): documents by gain, equal gains by score, or the mean over their orders."""
    order = sorted(range(len(s)), key=lambda i: (-gains[i], -s[i]))
    if ties == "score":
        return sum(c[p] * s[i] for p, i in enumerate(order))
    rank = {i: p for p, i in enumerate(order)}
    alike = {g: [c[rank[i]] for i in order if gains[i] == g] for g in gains}
    return sum(s[i] * sum(alike[gains[i]]) / len(alike[gains[i]]) for i in order)


def by_rankings(s, labels, k=None, ties="score", bounds=None):
    """Value, by trying all rankings."""
    gains, counted, c, norm = stated(bounds and bounds.name, labels, k)
    if norm == 0 or not any(gains):
        return 0.0

    def violation(ranking):
        measure = sum(gains[i] * d for i, d in zip(ranking, counted, strict=True)) / norm
        return 1 - measure + sum(s[i] * weight for i, weight in zip(ranking, c, strict=True))

    return 1 - (max(map(violation, permutations(range(len(s))))) - of_perfect(s, gains, c, ties))


def by_assignment(s, labels, k=None, ties="score", bounds=None):
    """Value, by the n x n assignment of documents to ranks (Le, Smola 2007)."""
    gains, counted, c, norm = stated(bounds and bounds.name, labels, k)
    if norm == 0 or not any(gains):
        return 0.0
    worth = np.outer(s, c) - np.outer(gains, counted) / norm
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return 1 - (1 + worth[rows, columns].sum() - of_perfect(s, gains, c, ties))


REFERENCES = {
    "Dorm": Reference(
        by_assignment,
        [{"k": k, "ties": ties} for k in (None, 1, 3, 10) for ties in ("score", "mean")]
        + [{"bounds": name} for name in ("P@1", "P@4", "RBP(p=0.5)")],
    )
}
