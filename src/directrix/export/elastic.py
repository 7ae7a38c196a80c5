"""Elastic's own inference: an ensemble of trees in double precision."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.export.formula import Formula
from directrix.export.nodes import TreeSplit, splits_of, without_categories
from directrix.export.target import ExportTarget, only_trees
from directrix.export.walk import leaves
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array


def _write(formula: Formula) -> bytes:
    """Return the body of ``PUT _ml/trained_models/NAME``, for a ``learning_to_rank`` rescorer."""
    trees = only_trees(formula, "Elastic's inference")
    without_categories(trees, "Elastic's inference")
    names, splits = formula.all_names, splits_of(trees)
    models = [
        {
            "tree": {
                "feature_names": names,
                "tree_structure": _nodes(trees, splits, t),
                "target_type": "regression",
            }
        }
        for t in range(trees.n_trees)
    ]
    ensemble = {
        "feature_names": names,
        "trained_models": models,
        "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(models)}},
        "target_type": "regression",
    }
    body = {
        "input": {"field_names": names},
        "inference_config": {"learning_to_rank": {}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    return json.dumps(body).encode()


def _nodes(trees: Trees, splits: list[TreeSplit], number: int) -> list[dict[str, Any]]:
    """Return the splits of a tree in their order, then its leaves."""
    first, last = list(pairwise(trees.split_ptr.tolist()))[number]
    count = last - first

    def place(child: int) -> int:
        return child if child >= 0 else count - 1 - child

    nodes: list[dict[str, Any]] = [
        {
            "node_index": n,
            "split_feature": splits[first + n].feature,
            "threshold": splits[first + n].threshold,
            "decision_type": "lte",
            "default_left": splits[first + n].missing_left,
            "left_child": place(int(trees.left[first + n])),
            "right_child": place(int(trees.right[first + n])),
        }
        for n in range(count)
    ]
    values = trees.leaf[first + number : last + number + 1].tolist()
    return [*nodes, *({"node_index": count + n, "leaf_value": value} for n, value in enumerate(values))]


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores as Elastic's inference computes them."""
    ensemble = json.loads(content)["definition"]["trained_model"]["ensemble"]
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]
    scores = np.zeros(len(X))
    for weight, model in zip(weights, ensemble["trained_models"], strict=True):
        nodes = model["tree"]["tree_structure"]

        def ask(node: Any, own: Array, nodes: list[Any] = nodes) -> Any:
            if "left_child" not in node:
                return None
            values = X[own, node["split_feature"]]
            below = (
                values <= node["threshold"] if node["decision_type"] == "lte" else values < node["threshold"]
            )
            is_left = np.where(np.isnan(values), node["default_left"], below)
            return is_left, nodes[node["left_child"]], nodes[node["right_child"]]

        values = np.zeros(len(X))
        leaves(nodes[0], np.arange(len(X)), ask, values, "leaf_value")
        scores += weight * values
    return scores


TARGET = ExportTarget("Elastic's inference", _write, _read, lambda: "a reader of Elastic's JSON")
