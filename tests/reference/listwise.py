"""ListNet, ListMLE, RankCosine and regression as the papers write them: plain loops, one query."""

import itertools
import math

import numpy as np

from tests.reference import Reference
from tests.reference.noise import uniforms


def targets(labels, target):
    return [2.0**y - 1 if target == "gains" else y for y in labels]


def listnet(s, labels, target="labels", temperature=1.0):
    """Cao et al. (2007): top-one probabilities with phi = exp, and their cross-entropy."""
    y = targets(labels, target)
    p_labels = [math.exp(a / temperature) / sum(math.exp(b / temperature) for b in y) for a in y]
    p_scores = [math.exp(a) / sum(math.exp(b) for b in s) for a in s]
    return sum(p * math.log(q) for p, q in zip(p_labels, p_scores, strict=True))


def listnet_of_shares(s, labels):
    """The same with shares of the gains: phi of the labels is 2^l - 1; all documents alike without any."""
    y = targets(labels, "gains")
    p_labels = [a / sum(y) if sum(y) else 1 / len(y) for a in y]
    p_scores = [math.exp(a) / sum(math.exp(b) for b in s) for a in s]
    return sum(p * math.log(q) for p, q in zip(p_labels, p_scores, strict=True) if p)


def xe_ndcg(s, labels, draw=0):
    """Bruch (2021): the cross entropy of softmax and 2^l - gamma, gamma uniform for every document."""
    powers = [2.0**y for y in labels]
    y = [a - gamma for a, gamma in zip(powers, uniforms(powers, draw), strict=True)]
    p_scores = [math.exp(a) / sum(math.exp(b) for b in s) for a in s]
    return sum(a / sum(y) * math.log(q) for a, q in zip(y, p_scores, strict=True))


def plackett_luce(s, order):
    """Xia et al. (2008): log likelihood of one order of the documents, best first."""
    return sum(math.log(math.exp(s[i]) / sum(math.exp(s[j]) for j in order[p:])) for p, i in enumerate(order))


def chance_to_be_first(s, i, others):
    """Probability under Plackett-Luce that i comes before all the others, by adding up all orders."""
    documents = range(len(s))
    return sum(
        math.exp(plackett_luce(s, order))
        for order in itertools.permutations(documents)
        if all(order.index(i) < order.index(j) for j in others)
    )


def chance_of_a_place(labels, i, k):
    """Chance of document i to be among the first k, when equal labels are ordered at random."""
    better = sum(y > labels[i] for y in labels)
    alike = sum(y == labels[i] for y in labels)
    return 1.0 if k is None else min(max((k - better) / alike, 0.0), 1.0)


def listmle(s, labels, k=None):
    n, total = len(s), 0.0
    for i in range(n):
        lower = [j for j in range(n) if labels[j] < labels[i]]
        first = math.exp(s[i]) / (math.exp(s[i]) + sum(math.exp(s[j]) for j in lower))
        total += chance_of_a_place(labels, i, k) * math.log(first)
    return total


def rank_cosine(s, labels, target="gains", *, centered=False):
    """Qin et al. (2008)."""
    s, y = list(s), targets(labels, target)
    if centered:
        s, y = [a - sum(s) / len(s) for a in s], [a - sum(y) / len(y) for a in y]
    norms = math.sqrt(sum(a * a for a in s)) * math.sqrt(sum(a * a for a in y))
    if max(abs(a) for a in y) < 1e-12:
        return 0.0
    return -(1 - sum(a * b for a, b in zip(s, y, strict=True)) / norms) / 2 if norms > 1e-12 else -1 / 2


def regression(s, labels, weight=None, *, intercept=True, target="gains"):
    n, relevant = len(s), sum(y > 0 for y in labels)
    u = []
    for i, y in enumerate(labels):
        class_size = relevant if y > 0 else n - relevant
        share = (1 / 2 if 0 < relevant < n else 1.0) / class_size if target == "gains" else 1 / n
        u.append(share * (1.0 if weight is None else weight[i]))
    error = [a - (2.0**y - 1 if target == "gains" else y) for a, y in zip(s, labels, strict=True)]
    b = float(np.average(error, weights=u)) if intercept else 0.0
    return -sum(w * (e - b) ** 2 for w, e in zip(u, error, strict=True))


REFERENCES = {
    "ListNet": Reference(listnet, [{}, {"target": "gains", "temperature": 0.5}]),
    "XENDCG": Reference(xe_ndcg, [{}, {"draw": 5}]),
    "ListMLE": Reference(listmle, [{}, {"k": 3}]),
    "RankCosine": Reference(rank_cosine, [{}, {"target": "labels", "centered": True}]),
    "Regression": Reference(regression, [{}, {"intercept": False}, {"target": "labels"}]),
}
