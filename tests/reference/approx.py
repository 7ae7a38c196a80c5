"""ApproxRank as the paper writes it: plain loops, one query, no thought of speed."""

import math

import numpy as np
from scipy.interpolate import PchipInterpolator

from tests.reference import Reference

SIGMOIDS = {
    "logistic": lambda z: 1 / (1 + math.exp(-z)) if z > -700 else 0.0,
    "tanh": lambda z: (1 + math.tanh(z)) / 2,
    "arctan": lambda z: 0.5 + math.atan(z) / math.pi,
    "erf": lambda z: (1 + math.erf(z)) / 2,
}


def soft_ranks(s, alpha, sigmoid):
    sig = SIGMOIDS[sigmoid]
    n = len(s)
    return [1 + sum(sig(alpha * (s[j] - s[i])) for j in range(n) if j != i) for i in range(n)]


def ndcg(s, labels, alpha, beta, sigmoid, k=None, below=0.0):
    sig = SIGMOIDS[sigmoid]
    gain = [2.0**label - 1 for label in labels]
    top = len(s) if k is None else k
    ideal = sum(g / math.log2(1 + p) for p, g in enumerate(sorted(gain, reverse=True)[:top], start=1))
    if ideal == 0:
        return 0.0
    total, share = 0.0, below ** (alpha / 10) ** 2
    for g, rank in zip(gain, soft_ranks(s, alpha, sigmoid), strict=True):
        cut = 1.0 if k is None else share + (1 - share) * sig(beta * (k + 0.5 - rank))
        total += g / math.log2(1 + rank) * cut
    return total / ideal


def precision(s, labels, alpha, beta, sigmoid, k, rel=1, below=0.0):
    sig = SIGMOIDS[sigmoid]
    ranks, share = soft_ranks(s, alpha, sigmoid), below ** (alpha / 10) ** 2
    return (
        sum(
            (1 - share) * sig(beta * (k + 0.5 - p)) + share / math.log2(1 + p)
            for p, y in zip(ranks, labels, strict=True)
            if y >= rel
        )
        / k
    )


def ap(s, labels, alpha, beta, sigmoid, rel=1):
    sig = SIGMOIDS[sigmoid]
    rank = soft_ranks(s, alpha, sigmoid)
    relevant = [i for i, y in enumerate(labels) if y >= rel]
    total = 0.0
    for j in relevant:
        total += 1 / rank[j]
        total += sum(sig(beta * (rank[j] - rank[i])) / rank[j] for i in relevant if i != j)
    return total / len(relevant) if relevant else 0.0


def cascade(s, stop, alpha, beta, sigmoid):
    sig = SIGMOIDS[sigmoid]
    rank = soft_ranks(s, alpha, sigmoid)
    n = len(s)
    return sum(
        stop[i]
        / rank[i]
        * math.prod(1 - stop[j] * sig(beta * (rank[i] - rank[j])) for j in range(n) if j != i)
        for i in range(n)
    )


def rr(s, labels, alpha, beta, sigmoid, rel=1):
    return cascade(s, [float(y >= rel) for y in labels], alpha, beta, sigmoid)


def err(s, labels, alpha, beta, sigmoid, l_max=4):
    return cascade(s, [(2.0**y - 1) / 2.0**l_max for y in labels], alpha, beta, sigmoid)


def kendall(s, labels, alpha, sigmoid):
    sig = SIGMOIDS[sigmoid]
    n = len(s)
    pairs = [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]
    if not pairs:
        return 0.0
    total = sum(2 * sig(alpha * (s[i] - s[j])) - 1 for i, j in pairs)
    return total / math.sqrt(len(pairs) * n * (n - 1) / 2)


def slope(value, s, h=1e-6):
    """Central differences of ``value(s)``."""
    grad = np.empty(len(s))
    for i in range(len(s)):
        up, down = s.copy(), s.copy()
        up[i] += h
        down[i] -= h
        grad[i] = (value(up) - value(down)) / (2 * h)
    return grad


def _settings(**fields):
    """Both ends of the steepness, and every sigmoid."""
    smoothing = [
        (1.0, "logistic"),
        (40.0, "logistic"),
        *((2.0, name) for name in SIGMOIDS if name != "logistic"),
    ]
    return [{"alpha": alpha, "sigmoid": sigmoid, **fields} for alpha, sigmoid in smoothing]


def measure_sum(s, labels, measure, alpha, sigmoid, below):
    """RBP, DCG or nDCG, with the discount between ranks by the curve that the class names."""
    n, k = len(s), measure.k
    if measure.symbol == "RBP":
        worth = [float(y >= measure.rel) for y in labels]
    else:
        worth = [2.0**y - 1 for y in labels]

    def discount(rank):
        if measure.symbol == "RBP":
            return (1 - measure.p) * measure.p ** (rank - 1)
        return 1 / math.log2(max(rank, 2) if measure.discount == "letor3" else 1 + rank)

    values = [discount(r) if k is None or r <= k else 0.0 for r in range(1, n + 3)]
    curve = PchipInterpolator(range(1, n + 3), values)
    norm, share = 1.0, 0.0 if k is None else below ** (alpha / 10) ** 2
    if measure.symbol == "nDCG":
        norm = sum(w * d for w, d in zip(sorted(worth, reverse=True), values, strict=False))
    total = sum(
        w * ((1 - share) * float(curve(rank)) + share * discount(1) / math.log2(1 + rank))
        for w, rank in zip(worth, soft_ranks(s, alpha, sigmoid), strict=True)
    )
    return total / norm if norm > 0 else 0.0


REFERENCES = {
    "ApproxNDCG": Reference(ndcg, [{}, *_settings(), *_settings(k=3), {"k": 3, "below": 0.9}]),
    "ApproxAP": Reference(ap, [{}, *_settings(beta=5.0), *_settings(rel=2)]),
    "ApproxPrecision": Reference(precision, [{}, *_settings(k=4), {"below": 0.9}]),
    "ApproxRR": Reference(rr, [{}, *_settings()]),
    "ApproxERR": Reference(err, [{}, *_settings(l_max=3)]),
    "ApproxKendall": Reference(kendall, [{}, *_settings()]),
    "ApproxMeasure": Reference(
        measure_sum,
        [
            *({}, {"measure": "DCG@2", "below": 0.9}),
            *({"measure": name, "alpha": 3.0} for name in ("RBP", "DCG@1", "nDCG(discount='letor3')@3")),
        ],
    ),
}
