"""IR-SVM by loops over pairs: costs by swapping documents of perfect rankings, and the loss."""

import math
from collections import defaultdict
from itertools import combinations


def ndcg(labels, k=None):
    """nDCG@k of documents with these labels, in this order."""

    def dcg(ranked):
        return sum((2**y - 1) / math.log2(2 + p) for p, y in enumerate(ranked[:k]))

    best = dcg(sorted(labels, reverse=True))
    return dcg(labels) / best if best > 0 else 0.0


def costs(queries, k=None):
    """Mean drop for each pair of grades: of all swaps in a perfect ranking, over the queries with both."""
    means = defaultdict(list)
    for labels in queries:
        ranking, drops = sorted(labels, reverse=True), defaultdict(list)
        for p, q in combinations(range(len(ranking)), 2):
            if ranking[p] != ranking[q]:
                swapped = list(ranking)
                swapped[p], swapped[q] = swapped[q], swapped[p]
                drops[ranking[p], ranking[q]].append(ndcg(ranking, k) - ndcg(swapped, k))
        for pair, values in drops.items():
            means[pair].append(sum(values) / len(values))
    return {pair: sum(values) / len(values) for pair, values in means.items()}


def hinge(s, labels, tau):
    """Minus the mean over pairs of their cost times max(0, 1 - (s_i - s_j))."""
    n = len(s)
    pairs = [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]
    losses = [tau[labels[i], labels[j]] * max(0.0, 1 - (s[i] - s[j])) for i, j in pairs]
    return -sum(losses) / len(pairs) if pairs else 0.0
