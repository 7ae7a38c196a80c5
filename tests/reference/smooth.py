"""SmoothRank as the paper writes it: plain loops, one query, no thought of speed."""

import math

from tests.reference import Reference


def shares(s, sigma):
    """Shares h[i][j] of document i in rank j (Eq. 7)."""
    n = len(s)
    at_rank = sorted(range(n), key=lambda i: -s[i])
    h = [[math.exp(-((s[i] - s[d]) ** 2) / sigma) for d in at_rank] for i in range(n)]
    totals = [sum(h[i][j] for i in range(n)) for j in range(n)]
    return [[h[i][j] / totals[j] for j in range(n)] for i in range(n)]


def ndcg(s, labels, sigma, k=None):
    n = len(s)
    top = n if k is None else min(k, n)
    gain = [2.0**label - 1 for label in labels]
    ideal = sum(g / math.log2(1 + p) for p, g in enumerate(sorted(gain, reverse=True)[:top], start=1))
    if ideal == 0:
        return 0.0
    h = shares(s, sigma)
    dcg = sum(gain[i] * h[i][j] / math.log2(2 + j) for j in range(top) for i in range(n))
    return dcg / ideal


def ap(s, labels, sigma, variant, rel=1):
    n = len(s)
    relevant = [i for i in range(n) if labels[i] >= rel]
    if not relevant:
        return 0.0
    h = shares(s, sigma)
    rho = [sum(h[i][j] for i in relevant) for j in range(n)]
    total = 0.0
    for j in range(n):
        found = sum(rho[: j + 1]) if variant == "product" else 1 + sum(rho[:j])
        total += rho[j] * found / (j + 1)
    return total / len(relevant)


def _settings(*others):
    """Little smoothing, the default, and much."""
    return [{"sigma": sigma, **fields} for fields in others for sigma in (0.01, 1.0, 50.0)]


REFERENCES = {
    "SmoothNDCG": Reference(ndcg, _settings({}, {"k": 1}, {"k": 5})),
    "SmoothAP": Reference(ap, _settings({}, {"variant": "direct"}, {"rel": 2})),
}
