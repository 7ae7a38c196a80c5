"""LambdaRank as the paper writes it: every pair, every change by swapping and measuring again.

``measure`` takes scores, labels, qptr. Tied documents are ranked in input order. One query, plain loops.
"""

import math
from collections import Counter
from itertools import pairwise

import numpy as np

from tests.reference import Reference


def ranking(scores):
    """Documents, best first."""
    return sorted(range(len(scores)), key=lambda i: -scores[i])


def value(measure, scores, labels):
    """The measure of one query."""
    return float(np.nan_to_num(measure(np.array(scores), np.array(labels), np.array([0, len(scores)]))[0]))


def change(measure, scores, labels, i, j):
    """|Delta M(i, j)|: i and j trade ranks, and the measure is taken again."""
    now = [0.0] * len(scores)
    for rank, k in enumerate(ranking(scores)):
        now[k] = -float(rank)
    swapped = list(now)
    swapped[i], swapped[j] = now[j], now[i]
    return abs(value(measure, swapped, labels) - value(measure, now, labels))


def pairs(labels, scores, misranked):
    """Pairs (i, j) of which i has the higher label, and with ``misranked`` the lower rank."""
    n, order = len(labels), ranking(scores)
    wrong = [(i, j) for i in range(n) for j in range(n) if order.index(i) > order.index(j)]
    found = [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]
    return [pair for pair in found if pair in wrong] if misranked else found


def logistic(scores, i, j):
    """1 / (1 + exp(s_i - s_j)): the derivative of RankNet's cost."""
    z = scores[i] - scores[j]
    return 1 / (1 + math.exp(z)) if z < 700 else 0.0


def weight_pairs(measure, scores, labels, *, level, misranked=False, **_):
    lambdas = np.zeros(len(scores))
    for i, j in pairs(level, scores, misranked):
        slope = change(measure, scores, labels, i, j) * logistic(scores, i, j)
        lambdas[i] += slope
        lambdas[j] -= slope
    return lambdas


def spring_smooth(measure, scores, labels, *, level, unit, misranked=False, **_):
    lambdas = np.zeros(len(scores))
    for i, j in pairs(level, scores, misranked):
        slope = max(change(measure, scores, labels, i, j), unit) * logistic(scores, i, j)
        lambdas[i] += slope
        lambdas[j] -= slope
    return lambdas


def neighbors(scores, level, misranked):
    """Pairs (i, j) of different levels next to each other in the ranking, the higher level first."""
    order = ranking(scores)
    for i, j in pairwise(order):
        if level[i] != level[j] and not (misranked and level[i] > level[j]):
            yield (i, j) if level[i] > level[j] else (j, i)


def local_gradient(measure, scores, labels, *, level, margin, misranked=False, **_):
    lambdas = np.zeros(len(scores))
    for i, j in neighbors(scores, level, misranked):
        slope = change(measure, scores, labels, i, j) / (abs(scores[i] - scores[j]) + margin)
        lambdas[i] += slope
        lambdas[j] -= slope
    return lambdas


def local_cost(measure, scores, labels, *, level, misranked=False, **_):
    lambdas = np.zeros(len(scores))
    for i, j in neighbors(scores, level, misranked):
        slope = change(measure, scores, labels, i, j) * logistic(scores, i, j)
        lambdas[i] += slope
        lambdas[j] -= slope
    return lambdas


def discrete_bounded(measure, scores, labels, *, level, unit, misranked=False, **_):
    lambdas = np.zeros(len(scores))
    order = ranking(scores)
    for i, there in zip(sorted(order, key=lambda i: -level[i]), order, strict=True):  # i belongs there
        is_right = (order.index(i) < order.index(there)) == (level[i] > level[there])
        if level[i] != level[there] and not (misranked and is_right):
            slope = min(change(measure, scores, labels, i, there), unit)
            slope = slope if level[i] > level[there] else -slope
            lambdas[i] += slope
            lambdas[there] -= slope
    return lambdas


CONSTRUCTIONS = {
    "ranknet-weight-pairs": weight_pairs,
    "spring-smooth": spring_smooth,
    "local-gradient": local_gradient,
    "local-cost": local_cost,
    "discrete-bounded": discrete_bounded,
}


def equation_11(scores, labels):
    """Forces for RR with Eq. (10) and (11) as printed, and the number of pairs whose change is not 0."""
    order = ranking(scores)
    rank = {i: order.index(i) + 1 for i in order}
    lambdas, count, relevant = np.zeros(len(scores)), 0, [i for i in order if labels[i] > 0]
    r = min((rank[i] for i in relevant), default=0)
    for i in relevant:
        for j in order:
            if labels[j] == 0 and rank[j] < r <= rank[i]:
                slope = (1 / rank[j] - 1 / r) * logistic(scores, i, j)
                lambdas[i] += slope
                lambdas[j] -= slope
                count += 1
    return lambdas, count


def effective(measure, scores, labels, level, *, misranked=False):
    """Number of pairs with a lambda, for the construction of weighted pairs."""
    return sum(change(measure, scores, labels, i, j) > 1e-12 for i, j in pairs(level, scores, misranked))


def missed(labels, scores, k, *, whole_level):
    """Documents below rank k that an ideal ranking has above it, counted label by label."""
    order, found = ranking(scores), []
    lacking = Counter(sorted(labels, reverse=True)[:k]) - Counter(labels[i] for i in order[:k])
    for i in order[k:]:
        if lacking[labels[i]] > 0:
            found.append(i)
            lacking[labels[i]] -= not whole_level
    return found


def extended_pairs(scores, labels, k, *, whole_level):
    """Lambda-eX: pairs (i, j), l_i > l_j, with a document of the first k ranks or a missed one."""
    chosen = {*ranking(scores)[:k], *missed(labels, scores, k, whole_level=whole_level)}
    return [(i, j) for i, j in pairs(labels, scores, misranked=False) if i in chosen or j in chosen]


def extended(scores, labels, k, *, whole_level):
    """Forces of Lambda-eX for nDCG@k: discounts go on below k, and only the ideal is cut there."""
    rank, gain = {i: p for p, i in enumerate(ranking(scores), 1)}, [2.0**label - 1 for label in labels]
    ideal = sum(g / math.log2(p + 1) for p, g in enumerate(sorted(gain, reverse=True)[:k], 1))
    lambdas = np.zeros(len(scores))
    for i, j in extended_pairs(scores, labels, k, whole_level=whole_level):
        change = (gain[i] - gain[j]) * abs(1 / math.log2(rank[i] + 1) - 1 / math.log2(rank[j] + 1)) / ideal
        lambdas[i] += change * logistic(scores, i, j)
        lambdas[j] -= change * logistic(scores, i, j)
    return lambdas


REFERENCES = {
    "Lambda": Reference(  # its value is that of the measure; its lambdas are compared in tests/surrogates
        lambda s, labels, measure, **_: value(measure, s, labels),
        [
            {"measure": name, "construction": construction}
            for name in ("nDCG", "nDCG@3", "AP(rel=2)", "RR", "P@4", "ERR(l_max=3)@5")
            for construction in CONSTRUCTIONS
        ],
    )
}
