"""Textbook loops over one ranked list, written from the definitions; every expected value comes from here.

``ranked`` are the labels of the retrieved documents, best first; ``labels`` those of all documents.
"""

from itertools import permutations, product
from math import comb, log2, nan, prod

import numpy as np


def gain_of(label, kind):
    return 2.0**label - 1.0 if kind == "exp" else label


def discount_of(p, kind):
    if kind == "letor3":
        return 1.0 if p <= 2 else 1.0 / log2(p)
    return 1.0 / log2(1 + p)


def dcg(ranked, k, gain="exp", discount="log2"):
    return sum(gain_of(y, gain) * discount_of(p, discount) for p, y in enumerate(ranked[:k], start=1))


def ndcg(ranked, labels, k=None, gain="exp", discount="log2"):
    ideal = dcg(sorted(labels, reverse=True), k, gain, discount)
    return dcg(ranked, k, gain, discount) / ideal if ideal > 0 else 0.0


def n_rel(labels, rel):
    return sum(y >= rel for y in labels)


def ap(ranked, labels, k=None, rel=1, *, capped=False):
    if n_rel(labels, rel) == 0:
        return 0.0
    top = ranked[:k]
    hits = [n_rel(top[:p], rel) / p for p in range(1, len(top) + 1) if top[p - 1] >= rel]
    bottom = n_rel(labels, rel) if not (capped and k) else min(n_rel(labels, rel), k)
    return sum(hits) / bottom


def rr(ranked, labels, k=None, rel=1):
    return next((1.0 / p for p, y in enumerate(ranked[:k], start=1) if y >= rel), 0.0)


def success(ranked, labels, k=None, rel=1):
    return float(any(y >= rel for y in ranked[:k]))


def precision(ranked, labels, k, rel=1):
    return n_rel(ranked[:k], rel) / k


def relative_precision(ranked, labels, k, rel=1):
    return n_rel(ranked[:k], rel) / min(k, n_rel(labels, rel)) if n_rel(labels, rel) else 0.0


def recall(ranked, labels, k=None, rel=1):
    return n_rel(ranked[:k], rel) / n_rel(labels, rel) if n_rel(labels, rel) else 0.0


def rprec(ranked, labels, rel=1, times=1):
    k = int(times * n_rel(labels, rel) + 0.9)
    return n_rel(ranked[:k], rel) / k if k else 0.0


def err(ranked, labels, k=None, l_max=4):
    stops = [(2.0**y - 1.0) / 2.0**l_max for y in ranked[:k]]
    return sum(s / (p + 1) * prod(1 - t for t in stops[:p]) for p, s in enumerate(stops))


def rbp(ranked, labels, k=None, p=0.8, rel=1):
    return (1 - p) * sum(p**i for i, y in enumerate(ranked[:k]) if y >= rel)


def roc_area(scores, labels, rel=1):
    pairs = [(s, t) for s, y in zip(scores, labels, strict=True) if y >= rel
             for t, z in zip(scores, labels, strict=True) if z < rel]  # fmt: skip
    return sum((s > t) + 0.5 * (s == t) for s, t in pairs) / len(pairs) if pairs else nan


def kendall_tau_b(scores, labels):
    n = len(scores)
    sign = [
        np.sign(scores[i] - scores[j]) * np.sign(labels[i] - labels[j]) for i in range(n) for j in range(i)
    ]
    apart_s = comb(n, 2) - sum(scores[i] == scores[j] for i in range(n) for j in range(i))
    apart_l = comb(n, 2) - sum(labels[i] == labels[j] for i in range(n) for j in range(i))
    return float(sum(sign)) / (apart_s * apart_l) ** 0.5 if apart_s * apart_l else nan


def orders(scores, labels):
    """All rankings that agree with the scores, each as the labels of the retrieved documents."""
    groups = [[y for s, y in zip(scores, labels, strict=True) if s == level]
              for level in sorted(set(scores) - {-np.inf}, reverse=True)]  # fmt: skip
    for choice in product(*(permutations(group) for group in groups)):
        yield [y for group in choice for y in group]


def expected(one_list, scores, labels, **options):
    """Mean of a measure over all orders of the tied groups, by listing them."""
    values = [one_list(ranked, list(labels), **options) for ranked in orders(scores, labels)]
    return sum(values) / len(values)


def interpolated_precision(ranked, labels, recall, rel=1):
    needed = int(recall * n_rel(labels, rel) + 0.5)
    tops = [ranked[:p] for p in range(1, len(ranked) + 1)]
    return max((n_rel(top, rel) / len(top) for top in tops if n_rel(top, rel) >= needed), default=0.0)


REFERENCES = {
    "NDCG": [
        ({}, ndcg, {}),
        ({"k": 3}, ndcg, {"k": 3}),
        ({"k": 4, "gain": "linear"}, ndcg, {"k": 4, "gain": "linear"}),
        ({"k": 4, "discount": "letor3"}, ndcg, {"k": 4, "discount": "letor3"}),
    ],
    "DCG": [({"k": 3}, lambda ranked, labels, k: dcg(ranked, k), {"k": 3})],
    "AP": [
        ({}, ap, {}),
        ({"k": 3, "rel": 2}, ap, {"k": 3, "rel": 2}),
        ({"k": 2, "denominator": "capped"}, ap, {"k": 2, "capped": True}),
    ],
    "RR": [({}, rr, {}), ({"k": 2, "rel": 2}, rr, {"k": 2, "rel": 2})],
    "Success": [({"k": 2}, success, {"k": 2})],
    "Precision": [
        ({"k": 3}, precision, {"k": 3}),
        ({"k": 9}, precision, {"k": 9}),
        ({"k": 3, "relative": True}, relative_precision, {"k": 3}),
    ],
    "Recall": [({"k": 3}, recall, {"k": 3})],
    "RPrecision": [({"rel": 2}, rprec, {"rel": 2}), ({"times": 1.5}, rprec, {"times": 1.5})],
    "ERR": [({}, err, {}), ({"k": 3, "l_max": 5}, err, {"k": 3, "l_max": 5})],
    "RBP": [({"p": 0.5}, rbp, {"p": 0.5}), ({"k": 3}, rbp, {"k": 3})],
    "IPrec": [],
    "ROCArea": [],
    "KendallTau": [],
    **{name: [] for name in ("Bpref", "InfAP", "JudgedRate", "GMAP", "SetF", "SetAP", "AlphaNDCG", "ERRIA")},
    **{name: [] for name in ("NumRet", "NumRel", "NumQ")},
}
"""For every measure of the registry: fields, the loop that defines it, and the options of the loop.

Those without are no functions of the labels of one ranked list, or no means over the orders of ties; they
have tests of their own in tests/measures/: test_expected.py, test_judged.py and test_subtopics.py.
"""
