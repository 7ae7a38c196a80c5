"""RankNet and RankSVM as their papers write them: loops over the pairs of one query."""

import math

from tests.reference import Reference


def mean_over_pairs(s, labels, loss):
    """Minus the mean of the loss of s_i - s_j over the pairs with l_i > l_j."""
    n = len(s)
    margins = [s[i] - s[j] for i in range(n) for j in range(n) if labels[i] > labels[j]]
    return -sum(map(loss, margins)) / len(margins) if margins else 0.0


def ranknet(s, labels):
    return mean_over_pairs(s, labels, lambda m: math.log1p(math.exp(-m)) if m > -700 else -m)


def ranksvm(s, labels):
    return mean_over_pairs(s, labels, lambda m: max(0.0, 1 - m) ** 2)


REFERENCES = {"RankNet": Reference(ranknet, [{}]), "RankSVM": Reference(ranksvm, [{}])}
