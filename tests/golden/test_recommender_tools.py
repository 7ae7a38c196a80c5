"""Values that tools for recommendation print for the same lists, and the measure that each of them is.

RecTools 0.19.0, recommenders 1.2.1, Cornac 2.2.1 and RecBole 1.2.1 (its ``evaluator/metrics.py``), run at
k = 3 on the lists below; Elliot 0.3.1 is in no registry, so its value is its formula by hand. Not imitated:
NCRR of Cornac, MAP of Elliot, and the NDCG of RecTools without ``divide_by_achievable=True``, which divides
by the ideal of k relevant documents even where fewer are relevant.
"""

from math import log2

import numpy as np
import pytest

import directrix as dx

RANKED = {1: [10, 11, 12, 13, 14], 2: [11, 10, 15, 16, 17], 3: [18, 19, 10, 11, 12]}
RELEVANT = {1: [11, 14, 20], 2: [11], 3: [10, 12, 18, 19, 20, 21, 22]}

ALL = "RecTools, recommenders, Cornac, RecBole"
CASES = [
    ("HitRate, HitRatio, Hit", "RecTools, Cornac, RecBole", dx.measure("Success@3"), 1.0),
    ("Recall, recall_at_k", ALL, dx.Recall(k=3), 0.5873015873015873),
    ("Precision, precision_at_k", ALL, dx.Precision(k=3), 0.5555555555555555),
    # of 3, 1 and 7 relevant documents 1, 1 and 3 are found; the definition of Liang et al. (2018)
    ("Recall of Mult-VAE", "the paper", dx.Recall(k=3, denominator="capped"), (1 / 3 + 1 / 1 + 3 / 3) / 3),
    ("MRR", "RecTools, Cornac, RecBole", dx.RR(k=3), 0.8333333333333334),
    ("MAP, map", "RecTools, recommenders", dx.AP(k=3), 0.5317460317460317),
    ("map_at_k, MAP", "recommenders, RecBole", dx.AP(k=3, denominator="capped"), 0.7222222222222223),
    ("NDCG, ndcg_at_k, divide_by_achievable", ALL, dx.NDCG(k=3, gain="linear"), 0.7653606369886218),
]


@pytest.mark.parametrize(("name", "source", "measure", "expected"), CASES)
def test_value_of_a_tool(name, source, measure, expected):
    scores, labels, qid = [], [], []
    for user, ranked in RANKED.items():
        missed = [item for item in RELEVANT[user] if item not in ranked]
        scores += [*range(len(ranked), 0, -1), *[-np.inf] * len(missed)]
        labels += [float(item in RELEVANT[user]) for item in (*ranked, *missed)]
        qid += [user] * (len(ranked) + len(missed))
    value = dx.evaluate(measure, scores, labels, qid=qid).mean
    np.testing.assert_allclose([*value.values()], [expected], rtol=1e-12, err_msg=f"{name} of {source}")


def test_ndcg_of_elliot():
    """Gains 2^(rating - threshold + 1) - 1; users without a relevant item are left out."""
    ratings, threshold = np.array([5.0, 2.0, 4.0, 3.0, 1.0, 2.0]), 3.0
    dcg = 7 / log2(2) + 3 / log2(4)
    ideal = 7 / log2(2) + 3 / log2(3) + 1 / log2(4)
    labels = np.maximum(ratings - threshold + 1.0, 0.0)
    measure = dx.NDCG(k=3, empty="skip")
    value = dx.evaluate(measure, [6, 5, 4, 3, 2, 1], labels, qid=[1, 1, 1, 1, 2, 2]).mean
    np.testing.assert_allclose([*value.values()], [dcg / ideal], rtol=1e-12)
