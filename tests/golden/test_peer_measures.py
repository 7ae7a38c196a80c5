# ruff: noqa: E501 - one case a line
"""Values that other projects print or assert, under the convention that says how they compute them.

Each case names its source; inputs and expected values are spelled as the source gives them.
Not imitated, because they are mistakes: allRank's reciprocal rank of 1.0 for a query without
relevant documents in a batch that has some (run at c884756); its value is 0 here.
"""

import numpy as np
import pytest

import directrix as dx

INF = float("inf")
RAX = "google/rax rax/_src/metrics_test.py"
XGB = "dmlc/xgboost tests/cpp/metric/test_rank_metric.h"
XGB_DOC = "dmlc/xgboost doc/parameter.rst; run on 3.2.0"
SKL = "scikit-learn sklearn/metrics/_ranking.py"
PYLTR = "jma127/pyltr pyltr/metrics/tests"
CAT = "catboost.utils.eval_metric 1.2.10, run"
BOTH = "LightGBM 4.7.0 and xgboost 3.2.0, run, identical"


def by_rank(n):
    """Scores of n documents that are listed in the order of their rank."""
    return list(range(n, 0, -1))


S, Y, Y3 = [0.0, 3.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0]
S_NOT, Y_NOT = [-INF, 5, 2, -INF, 1], [1.0, 0, 1, 0, 0]
DOC, DOC_Y = [0.1, 0.2, 0.3, 4.0, 70.0], [10.0, 0.0, 0.0, 1.0, 5.0]
TIED, TIED_Y = [0.1, 0.9, 0.1, 0.9], [0, 0, 1, 1]

# id, source, measure, scores, labels, expected, rtol, atol
CASES = [
    ("rax-mrr-1", RAX, dx.RR(ties="order"), S, Y, 0.5, 1e-05, 0),
    ("rax-ap-1", RAX, dx.AP(ties="order"), S, Y, 0.5833333333333333, 1e-05, 0),
    ("rax-dcg-1", RAX, dx.DCG(ties="order"), S, Y, 1.1309297535714575, 1e-05, 0),
    ("rax-ndcg-1", RAX, dx.NDCG(ties="order"), S, Y, 0.6934264036172708, 1e-05, 0),
    ("rax-precision-3", RAX, dx.Precision(k=3, denominator="retrieved"), S, Y, 0.6666666666666666, 1e-05, 0),
    ("rax-recall-3", RAX, dx.Recall(k=3, ties="order"), S, Y, 1.0, 1e-05, 0),
    ("rax-opa-1", RAX, dx.ROCArea(ties="worst"), S, Y, 0.5, 1e-05, 0),
    ("rax-ndcg@3", RAX, dx.NDCG(k=3, ties="order"), S, Y3, 0.5307212739772434, 1e-05, 0),
    ("rax-ap@3", RAX, dx.AP(k=3, ties="order"), S, Y3, 0.38888888888888884, 1e-05, 0),
    ("rax-dcg@3", RAX, dx.DCG(k=3, ties="order"), S, Y3, 1.1309297535714575, 1e-05, 0),
    ("rax-mrr@1", RAX, dx.RR(k=1, ties="order"), S, Y3, 0.0, 0, 1e-07),
    ("rax-ap-norel", RAX, dx.AP(), S, [0.0] * 4, 0.0, 0, 1e-07),
    ("rax-dcg-norel", RAX, dx.DCG(), S, [0.0] * 4, 0.0, 0, 1e-07),
    ("rax-ndcg-norel", RAX, dx.NDCG(), S, [0.0] * 4, 0.0, 0, 1e-07),
    ("rax-mrr-unranked", RAX, dx.RR(), S_NOT, Y_NOT, 0.5, 1e-05, 0),
    ("rax-dcg-unranked", RAX, dx.DCG(), S_NOT, Y_NOT, 0.6309297535714575, 1e-05, 0),
    ("rax-ndcg-unranked", RAX, dx.NDCG(), S_NOT, Y_NOT, 0.38685280723454163, 1e-05, 0),
    ("xgb-ndcg-exp", XGB, dx.NDCG().under("xgboost"), DOC, DOC_Y, 0.409738, 0, 1e-05),
    ("xgb-ndcg-ties", XGB, dx.NDCG().under("xgboost"), TIED, TIED_Y, 0.6509, 0, 0.001),
    ("xgb-map-ties", XGB, dx.AP().under("xgboost"), TIED, TIED_Y, 0.5, 0, 0.001),
    ("xgb-ndcg-norel", XGB_DOC, dx.NDCG().under("xgboost"), [1.0, 2.0, 3.0], [0, 0, 0], 1.0, 0, 1e-09),
    ("xgb-ndcg--norel", XGB_DOC, dx.NDCG(ties="order"), [1.0, 2.0, 3.0], [0, 0, 0], 0.0, 0, 1e-09),
    ("xgb-map-norel", XGB_DOC, dx.AP().under("xgboost"), [1.0, 2.0, 3.0], [0, 0, 0], 1.0, 0, 1e-09),
    ("xgb-map--norel", XGB_DOC, dx.AP(denominator="capped"), [1.0, 2.0, 3.0], [0, 0, 0], 0.0, 0, 1e-09),
    ("sklearn-ndcg-doc2", SKL, dx.NDCG().under("sklearn"), [0.05, 1.1, 1.0, 0.5, 0.0], DOC_Y, 0.49368, 0, 1e-4),
    ("sklearn-ndcg-all-tied", SKL, dx.NDCG().under("sklearn"), [1] * 5, DOC_Y, 0.6909785334518438, 0, 1e-06),
    ("pyltr-dcg3-1", PYLTR, dx.DCG(k=3), by_rank(3), [2, 5, 1], 23.058822360715183, 1e-09, 0),
    ("pyltr-ndcg3-1", PYLTR, dx.NDCG(k=3), by_rank(3), [2, 5, 1], 0.6905329824556825, 1e-09, 1e-12),
    ("pyltr-ndcg3-3", PYLTR, dx.NDCG(k=3), by_rank(4), [3, 2, 1, 1], 1.0, 1e-09, 1e-12),
    ("pyltr-ap4-1", PYLTR, dx.AP(k=4), by_rank(4), [0, 1, 1, 1], 0.6388888888888888, 1e-09, 0),
    ("pyltr-ap4-3", PYLTR, dx.AP(k=4), by_rank(5), [1, 0, 1, 0, 0], 0.8333333333333334, 1e-09, 0),
    ("pyltr-err3-0", PYLTR, dx.ERR(k=3), by_rank(1), [1], 0.0625, 1e-07, 0),
    ("pyltr-err3-2", PYLTR, dx.ERR(k=3), by_rank(3), [4, 2, 0], 0.943359375, 1e-07, 0),
    ("pyltr-err3-4", PYLTR, dx.ERR(k=3), by_rank(4), [2, 4, 1, 2], 0.5694173177083334, 1e-07, 0),
    ("lightgbm-norel", "LightGBM 4.7.0, run", dx.NDCG(k=3).under("lightgbm"), by_rank(3), [0] * 3, 1.0, 0, 1e-09),
    ("lightgbm-norel", "LightGBM 4.7.0, run", dx.AP(k=3).under("lightgbm"), by_rank(3), [0] * 3, 1.0, 0, 1e-09),
    ("lgb-xgb-map@2", BOTH, dx.AP(k=2).under("lightgbm"), by_rank(4), [1, 0, 1, 1], 0.5, 0, 1e-06),
    ("lgb-xgb-map@2", BOTH, dx.AP(k=2).under("xgboost"), by_rank(4), [1, 0, 1, 1], 0.5, 0, 1e-06),
    ("lgb-xgb-map@4", BOTH, dx.AP(k=4).under("xgboost"), by_rank(4), [1, 0, 1, 1], 0.8055555555555555, 0, 1e-06),
    ("catboost-map@2", CAT, dx.AP(k=2).under("catboost"), by_rank(4), [1, 0, 1, 1], 0.5, 0, 1e-06),
    ("lgb-xgb-tie-rel-first", BOTH, dx.NDCG().under("lightgbm"), [1, 1, 1], [1, 0, 0], 1.0, 0, 1e-09),
    ("trec-p@5-short", "terrierteam/ir_measures, run", dx.Precision(k=5), by_rank(3), [1, 0, 1], 0.4, 0, 1e-06),
    ("ir-ndcg@2", "terrierteam/ir_measures + AmenRa/ranx, run", dx.NDCG(k=2).under("ranx"),
     [3, 2, 1, -INF], [1, 0, 1, 1], 0.6131471927654584, 0, 1e-4),
    ("ranx-tie-order", "AmenRa/ranx 0.3.21, run", dx.NDCG().under("ranx"), [1] * 3, [1, 0, 0], 1.0, 0, 1e-09),
    ("ranx-tie-order", "AmenRa/ranx 0.3.21, run", dx.NDCG().under("ranx"), [1] * 3, [0, 1, 0],
     0.6309297535714575, 0, 1e-09),
    ("ranx-tie-order", "AmenRa/ranx 0.3.21, run", dx.NDCG().under("ranx"), [1] * 3, [0, 0, 1], 0.5, 0, 1e-09),
    ("allrank-mrr-BUG", "allegro/allRank, run at c884756", dx.RR(), [3.0, 2.0, 1.0], [0.0] * 3, 0.0, 0, 1e-09),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2].name}")
def test_value_of_a_peer(case):
    _, source, m, scores, labels, expected, rtol, atol = case
    got = m(scores, labels, [0, len(labels)])
    np.testing.assert_allclose(got, [expected], rtol=rtol, atol=atol, err_msg=source)


@pytest.mark.parametrize(
    ("name", "m", "expected"),
    [
        ("NDCG", dx.NDCG().under("catboost"), [1.0, 0.5, 0.5]),
        ("NDCG:type=Exp", dx.NDCG(ties="worst", empty="one"), [1.0, 0.5, 0.5]),
        ("DCG", dx.DCG().under("catboost"), [0.0, 0.5, 0.5]),
        ("MAP", dx.AP().under("catboost"), [0.0, 0.3333333333333333, 0.3333333333333333]),
        ("MRR", dx.RR().under("catboost"), [0.0, 0.3333333333333333, 0.3333333333333333]),
    ],
)
def test_catboost_edge_cases(name, m, expected):
    scores, labels = [3, 2, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 0, 0, 0, 0, 1]
    np.testing.assert_allclose(
        m(scores, labels, [0, 3, 6, 9]), expected, rtol=0, atol=1e-4, err_msg=f"{CAT} {name}"
    )


def joined(qrels, run):
    """Scores, labels, boundaries and ids of all retrieved and all judged documents of each topic.

    A negative judgment is a document without relevance: label 0.
    """
    rows = [
        (topic, doc, run[topic].get(doc, -INF), max(0, qrels[topic].get(doc, 0)))
        for topic in qrels
        for doc in sorted(run[topic].keys() | qrels[topic].keys())
    ]
    topics, docs, scores, labels = zip(*rows, strict=True)
    sizes = [topics.count(topic) for topic in qrels]
    return np.array(scores), np.array(labels), np.append(0, np.cumsum(sizes)), docs


IRM_RUN = {
    "0": {"D0": 0.8, "D2": 0.7, "D1": 0.3, "D3": 0.4, "D4": 0.1},
    "1": {"D1": 0.8, "D4": 0.7, "D3": 0.3, "D2": 0.4},
}
IRM_QRELS = {
    "0": {"D0": 1, "D1": -1, "D2": 0, "D3": 2, "D4": 0},
    "1": {"D0": 1, "D3": 2, "D4": -1, "D5": 0},
}
GDEVAL_RUN = {"0": IRM_RUN["0"], "1": {"D1": 0.8, "D3": 0.7, "D4": 0.3, "D2": 0.4}}
GDEVAL_QRELS = {"0": {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}, "1": {"D0": 1, "D3": 2, "D5": 2}}
TREC_TIES = ({"1": {"a": 0, "b": 1, "c": 0}}, {"1": {"b": 1.0, "a": 1.0}})


@pytest.mark.parametrize(
    ("m", "tool", "qrels", "run", "expected", "atol"),
    [
        (dx.NDCG(), "trec_eval", IRM_QRELS, IRM_RUN, [0.76018, 0.32739], 1e-4),
        (dx.NDCG(k=3), "trec_eval", IRM_QRELS, IRM_RUN, [0.76018, 0.0], 1e-4),
        (dx.NDCG(k=20), "gdeval", GDEVAL_QRELS, GDEVAL_RUN, [0.6201, 0.35099], 1e-4),
        (dx.ERR(k=20), "gdeval", GDEVAL_QRELS, GDEVAL_RUN, [0.10175, 0.09375], 1e-4),
        (dx.NDCG(), "trec_eval", *TREC_TIES, [1.0], 1e-6),
    ],
    ids=["irm-ndcg", "irm-ndcg@3", "irm-gdeval-ndcg20", "irm-gdeval-err20", "trec-ties-1"],
)
def test_runs_and_qrels(m, tool, qrels, run, expected, atol):
    """terrierteam/ir_measures tests/test_pytrec_eval.py, test_gdeval.py; usnistgov/trec_eval issue 22."""
    scores, labels, qptr, docs = joined(qrels, run)
    got = m.under(tool)(scores, labels, qptr, doc_ids=docs)
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol)


def test_the_capped_denominator_never_stands_under_the_name_of_trec_eval():
    """Known mistake of others: AP@k divided by min(R, k) but called trec_eval's."""
    m = dx.AP(k=2, denominator="capped").under("trec_eval")
    got = m(by_rank(4), [1, 0, 1, 1], [0, 4], doc_ids="abcd")
    np.testing.assert_allclose(got, [1 / 3], rtol=1e-15, atol=0)
