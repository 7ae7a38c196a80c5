"""Numbers that other tools print for a ranking in an .npz file, as JSON: [tool, call, measure, number].

    python benchmarks/numbers_of_peers.py RANKING.npz

Runs in any environment; a tool that is not installed there prints no numbers.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

K = 10


def decimals(value: Any) -> str:
    """Six decimals, as most tools print them."""
    return f"{float(value):.6f}"


def of_sklearn(data: Any) -> list[list[str]]:
    from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

    shape = len(data["qptr"]) - 1, -1
    labels, scores, distinct = (data[name].reshape(shape) for name in ("labels", "scores", "distinct"))
    relevant = labels > 0
    both = relevant.any(axis=1) & ~relevant.all(axis=1)
    rows = [
        ["ndcg_score(k=10)", f"nDCG@{K}", ndcg_score(labels, scores, k=K), "scores"],
        ["ndcg_score", "nDCG", ndcg_score(labels, scores), "scores"],
        ["dcg_score(k=10)", f"DCG@{K}", dcg_score(labels, scores, k=K), "scores"],
        ["ndcg_score(2**labels - 1, k=10)", f"nDCG@{K}", ndcg_score(2**labels - 1, scores, k=K), "scores"],
        [
            "mean of roc_auc_score",
            "ROCArea",
            np.mean([roc_auc_score(y, s) for y, s in zip(relevant[both], scores[both], strict=True)]),
            "scores",
        ],
        [
            "mean of average_precision_score",
            "AP",
            np.mean(
                [average_precision_score(y, s) for y, s in zip(relevant[both], distinct[both], strict=True)]
            ),
            "distinct",
        ],
        [
            "mean of average_precision_score, ties",
            "AP",
            np.mean(
                [average_precision_score(y, s) for y, s in zip(relevant[both], scores[both], strict=True)]
            ),
            "scores",
        ],
        [
            "average_precision_score, no queries",
            "AP",
            average_precision_score(relevant.ravel(), distinct.ravel()),
            "distinct",
        ],
    ]
    return [["sklearn", call, measure, decimals(value), scores] for call, measure, value, scores in rows]


def of_lightgbm(data: Any) -> list[list[str]]:
    import lightgbm as lgb

    def evaluate(**params: Any) -> dict[str, float]:
        features = np.random.default_rng(0).random((len(data["labels"]), 2))
        given = {"label": data["labels"], "group": np.diff(data["qptr"]), "init_score": data["scores"]}
        curves: dict[str, Any] = {}
        settings = {"objective": "lambdarank", "verbose": -1, "learning_rate": 1e-200, "num_threads": 1}
        train = lgb.Dataset(features, **given)
        lgb.train(
            settings | params,
            train,
            1,
            valid_sets=[lgb.Dataset(features, **given, reference=train)],
            valid_names=["valid"],
            callbacks=[lgb.record_evaluation(curves)],
        )
        return {name: values[0] for name, values in curves["valid"].items()}

    found = evaluate(metric=["ndcg", "map"], eval_at=[3, K])
    linear = evaluate(metric="ndcg", eval_at=[K], label_gain=[0, 1, 2, 3, 4])
    rows = [
        ["ndcg@3", "nDCG@3", found["ndcg@3"]],
        ["ndcg@10", f"nDCG@{K}", found[f"ndcg@{K}"]],
        ["map@3", "AP@3", found["map@3"]],
        ["map@10", f"AP@{K}", found[f"map@{K}"]],
        ["ndcg@10, label_gain=0,1,2,3,4", f"nDCG@{K}", linear[f"ndcg@{K}"]],
    ]
    return [["lightgbm", call, measure, decimals(value), "scores"] for call, measure, value in rows]


def of_xgboost(data: Any) -> list[list[str]]:
    import xgboost as xgb

    def evaluate(labels: Any, **params: Any) -> dict[str, str]:
        features = np.zeros((len(labels), 1))
        group = np.diff(data["qptr"])
        matrix = xgb.DMatrix(features, label=labels, base_margin=data["scores"])
        matrix.set_group(group)
        booster = xgb.train({"objective": "rank:ndcg", "nthread": 1, **params}, matrix, 0)
        fields = booster.eval(matrix).split("\t")[1:]
        return dict(field.removeprefix("eval-").rsplit(":", 1) for field in fields)

    graded = evaluate(data["labels"], eval_metric=[f"ndcg@{K}", f"ndcg@{K}-", "ndcg"])
    linear = evaluate(data["labels"], eval_metric=[f"ndcg@{K}"], ndcg_exp_gain=False)
    binary = evaluate((data["labels"] > 0).astype(float), eval_metric=[f"map@{K}", f"map@{K}-", "map"])
    rows = [
        ["ndcg@10", f"nDCG@{K}", graded[f"ndcg@{K}"]],
        ["ndcg@10-", f"nDCG@{K}", graded[f"ndcg@{K}-"]],
        ["ndcg", "nDCG", graded["ndcg"]],
        ["map@10", f"AP@{K}", binary[f"map@{K}"]],
        ["map@10-", f"AP@{K}", binary[f"map@{K}-"]],
        ["map", "AP", binary["map"]],
    ]
    if linear != {f"ndcg@{K}": graded[f"ndcg@{K}"]}:  # 3.0 applies the option in training only
        rows.append(["ndcg@10, ndcg_exp_gain=False", f"nDCG@{K}", linear[f"ndcg@{K}"]])
    return [["xgboost", call, measure, decimals(value), "scores"] for call, measure, value in rows]


def of_catboost(data: Any) -> list[list[str]]:
    from catboost.utils import eval_metric

    group = np.repeat(np.arange(len(data["qptr"]) - 1), np.diff(data["qptr"]))
    binary = (data["labels"] > 0).astype(float)
    rows = []
    for call, measure, labels in (
        ("NDCG:top=10", f"nDCG@{K}", data["labels"]),
        ("NDCG:top=10;type=Exp", f"nDCG@{K}", data["labels"]),
        ("NDCG", "nDCG", data["labels"]),
        ("DCG:top=10", f"DCG@{K}", data["labels"]),
        ("MAP:top=10", f"AP@{K}", binary),
        ("MRR:top=10", f"RR@{K}", binary),
        ("PrecisionAt:top=10", f"P@{K}", binary),
    ):
        value = eval_metric(labels, data["scores"], call, group_id=group, thread_count=1)[-1]
        rows.append(["catboost", call, measure, decimals(value), "scores"])
    return rows


def of_ranx(data: Any) -> list[list[str]]:
    from ranx import Qrels, Run, evaluate

    qrels, run = {}, {}
    for q, (first, last) in enumerate(zip(data["qptr"][:-1], data["qptr"][1:], strict=True)):
        ids = data["doc_ids"][first:last].tolist()
        qrels[str(q)] = dict(zip(ids, data["labels"][first:last].astype(int).tolist(), strict=True))
        run[str(q)] = dict(zip(ids, data["scores"][first:last].tolist(), strict=True))
    calls = {
        "ndcg@10": f"nDCG@{K}",
        "ndcg_burges@10": f"nDCG@{K}",
        "ndcg": "nDCG",
        "map": "AP",
        "map@10": f"AP@{K}",
        "mrr": "RR",
        "precision@10": f"P@{K}",
        "recall@10": f"R@{K}",
        "r-precision": "Rprec",
    }
    found = evaluate(Qrels(qrels), Run(run), list(calls), make_comparable=False)
    return [["ranx", call, calls[call], decimals(value), "scores"] for call, value in found.items()]


TOOLS = {
    "sklearn": of_sklearn,
    "lightgbm": of_lightgbm,
    "xgboost": of_xgboost,
    "catboost": of_catboost,
    "ranx": of_ranx,
}


def main() -> int:
    with np.load(sys.argv[1]) as file:
        data = dict(file)
    rows = []
    for name in sys.argv[2:] or TOOLS:
        try:
            rows += TOOLS[name](data)
        except ImportError as error:
            print(f"{name}: not installed here ({error})", file=sys.stderr)
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
