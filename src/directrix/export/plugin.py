"""The learning-to-rank plugin of Elasticsearch and OpenSearch: linear models, and trees as XGBoost dumps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.export.formula import Formula, Linear
from directrix.export.target import ExportTarget
from directrix.export.trees import TreeSplit, float32_above, nested, sum_in_float32, tree_scores
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array


def _write(formula: Formula) -> bytes:
    """Return the body of ``POST _ltr/_featureset/NAME/_createmodel``."""
    model = formula.model
    if isinstance(model, Linear):
        kind = "model/linear"
        definition: Any = {formula.name(f): model.weights[f].item() for f in formula.used}
    else:
        kind = "model/xgboost+json"

        def split(one: TreeSplit, left: Any, right: Any) -> Any:
            return {
                "split": formula.name(one.feature),
                "split_condition": float32_above(one.threshold),
                "zero_left": one.zero_left,
                "children": [left, right],
            }

        definition = [_numbered(root) for root in nested(model, lambda v: {"leaf": v}, split)]
    body = {"model": {"name": "directrix", "model": {"type": kind, "definition": json.dumps(definition)}}}
    return json.dumps(body).encode()


def _numbered(root: dict[str, Any]) -> dict[str, Any]:
    """Give the nodes of a tree the numbers by which splits name their children; the keys that are needed."""
    count, waiting = 0, [(root, 0)]
    root["nodeid"] = 0
    for node, depth in waiting:  # which grows
        if "leaf" in node:
            continue
        for child in node["children"]:
            count += 1
            child["nodeid"] = count
            waiting.append((child, depth + 1))
        yes, no = (child["nodeid"] for child in node["children"])
        # newer versions of the plugin take 0 for missing: it must go where 0 goes
        node |= {"depth": depth, "yes": yes, "no": no, "missing": yes if node.pop("zero_left") else no}
    return root


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores as the plugin computes them, in float32, with zeros taken for missing as its new versions do."""
    model = json.loads(content)["model"]["model"]
    names, rows = formula.all_names, np.nan_to_num(X.astype(np.float32), nan=0.0)
    definition = json.loads(model["definition"])
    if model["type"] == "model/linear":
        places = [names.index(name) for name in definition]
        return sum_in_float32(rows[:, places] * np.array([*definition.values()], np.float32))

    def step(node: Any, own: Array) -> Any:
        if "leaf" in node:
            return node["leaf"]
        left, right = node["children"]
        if (left["nodeid"], right["nodeid"]) != (node["yes"], node["no"]):
            raise InputError(f"the plugin rejects node {node['nodeid']}: yes and no are not its children.")
        values = rows[own, names.index(node["split"])]
        below = np.float32(node["split_condition"]) > values
        return np.where(values == 0.0, node["missing"] == node["yes"], below), left, right

    return tree_scores(((1.0, root) for root in definition), len(X), step, np.float32)


TARGET = ExportTarget(
    "the learning-to-rank plugin's JSON",
    _write,
    _read,
    "a reader of the plugin's JSON",
    models=(Linear, Trees),
    is_single=True,
    takes_missing=False,
    keeps_constant=False,
)
