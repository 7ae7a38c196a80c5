"""Elastic's own inference: an ensemble of trees in double precision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from directrix.export.formula import Formula
from directrix.export.target import ExportTarget
from directrix.export.trees import Node, nodes_of, tree_scores
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array


def _write(formula: Formula) -> bytes:
    """Return the body of ``PUT _ml/trained_models/NAME``, for a ``learning_to_rank`` rescorer."""
    names, kind = formula.all_names, {"target_type": "regression"}
    models = [
        {"tree": {"feature_names": names, "tree_structure": [*map(_node, range(len(tree)), tree)], **kind}}
        for tree in nodes_of(formula.model)
    ]
    ensemble = {
        "feature_names": names,
        "trained_models": models,
        "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(models)}},
        **kind,
    }
    body = {
        "input": {"field_names": names},
        "inference_config": {"learning_to_rank": {}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    return json.dumps(body).encode()


def _node(place: int, node: Node) -> dict[str, Any]:
    if node.split is None:
        return {"node_index": place, "leaf_value": node.value}
    return {
        "node_index": place,
        "split_feature": node.split.feature,
        "threshold": node.split.threshold,
        "decision_type": "lte",
        "default_left": node.split.missing_left,
        "left_child": node.left,
        "right_child": node.right,
    }


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores as Elastic's inference computes them."""
    ensemble = json.loads(content)["definition"]["trained_model"]["ensemble"]
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]
    roots = [(model["tree"]["tree_structure"], 0) for model in ensemble["trained_models"]]

    def step(at: Any, rows: Array) -> Any:
        nodes, place = at
        node = nodes[place]
        if "left_child" not in node:
            return node["leaf_value"]
        values, threshold = X[rows, node["split_feature"]], node["threshold"]
        below = values <= threshold if node["decision_type"] == "lte" else values < threshold
        is_left = np.where(np.isnan(values), node["default_left"], below)
        return is_left, (nodes, node["left_child"]), (nodes, node["right_child"])

    return tree_scores(zip(weights, roots, strict=True), len(X), step)


TARGET = ExportTarget("Elastic's inference", _write, _read, "a reader of Elastic's JSON", models=(Trees,))
