"""SoftRank as the paper writes it: the rank-binomial recursion, one query, plain loops."""

import math

import numpy as np

from tests.reference import Reference


def beats(s, i, j, sigma):
    """P(S_i > S_j) for scores of standard deviation sigma."""
    return 0.5 * math.erfc(-(s[i] - s[j]) / (2 * sigma))


def rank_distribution(s, j, sigma):
    """p_j(r), r = 0 ... n - 1: add the other documents one by one."""
    p = np.zeros(len(s))
    p[0] = 1.0
    for i in range(len(s)):
        if i == j:
            continue
        above = beats(s, i, j, sigma)
        for r in range(len(s) - 1, -1, -1):
            p[r] = p[r] * (1 - above) + (p[r - 1] * above if r > 0 else 0.0)
    return p


def ndcg(s, labels, sigma, k=None, below=0.0):
    gain = [2.0**label - 1 for label in labels]
    top = len(s) if k is None else min(k, len(s))
    ideal = sum(g / math.log2(2 + r) for r, g in enumerate(sorted(gain, reverse=True)[:top]))
    if ideal == 0:
        return 0.0
    total, share = 0.0, below ** (1 / sigma**2)
    for j, g in enumerate(gain):
        if g > 0:
            p = rank_distribution(s, j, sigma)
            total += g * sum(p[r] / math.log2(2 + r) * (1 if r < top else share) for r in range(len(s)))
    return total / ideal


REFERENCES = {
    "SoftNDCG": Reference(
        ndcg, [{}, {"sigma": 0.1}, {"sigma": 0.5, "k": 3}, {"sigma": 0.5, "k": 3, "below": 0.9}]
    )
}
