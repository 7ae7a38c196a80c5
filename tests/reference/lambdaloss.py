"""LambdaLoss as its papers write it: every pair, ranks by counting. Plain loops, one query."""

import math

from tests.reference import Reference
from tests.reference.lambdas import pairs


def discount(rank):
    return 1 / math.log2(1 + rank)


def ideal(labels, k):
    best = sorted((2.0**y - 1 for y in labels), reverse=True)[:k]
    return sum(gain * discount(rank) for rank, gain in enumerate(best, 1))


def weight(labels, ranks, i, j, *, k, version, mu):
    """|G_i - G_j| times the share of a pair."""
    low, apart = max(ranks[i], ranks[j]), max(abs(ranks[i] - ranks[j]), 1)
    delta = discount(apart) - discount(apart + 1)
    if k is not None and low > k:
        delta /= 1 - discount(low)
    if version == "NDCG-Loss2++":
        d = [0.0 if k is not None and ranks[m] > k else discount(ranks[m]) for m in (i, j)]
        delta = abs(d[0] - d[1]) + mu * delta
    return abs(2.0 ** labels[i] - 2.0 ** labels[j]) / ideal(labels, k) * delta


def ranks_of(scores):
    """1 + the number of documents with higher scores."""
    return [1 + sum(b > a for b in scores) for a in scores]


def loss(scores, labels, *, ranks=None, **settings):
    """Minus the sum over pairs, with the weights of these ranks; by default those of the scores."""
    ranks = ranks_of(scores) if ranks is None else ranks
    return -sum(
        weight(labels, ranks, i, j, **settings) * math.log2(1 + math.exp(-(scores[i] - scores[j])))
        for i, j in pairs(labels, scores, misranked=False)
    )


REFERENCES = {
    "LambdaLoss": Reference(
        loss, [{}, {"k": 3, "mu": 2.0}, {"version": "NDCG-Loss2"}, {"version": "NDCG-Loss2", "k": 2}]
    )
}
