"""XGBoost's JSON: children are neighbors, and values below a threshold go left."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import numpy as np

from directrix.export.formula import Formula
from directrix.export.nodes import TreeSplit, float32_above, in_float32, splits_of, without_categories
from directrix.export.target import ExportTarget, only_trees, version_of
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

_NO_PARENT = 2**31 - 1
_REFUSED = re.compile("[][<\x00-\x1f\ud800-\udfff]")


def _write(formula: Formula) -> bytes:
    """Return the JSON that ``xgboost.Booster(model_file=...)`` reads; also versions before 3."""
    trees = only_trees(formula, "XGBoost")
    without_categories(trees, "XGBoost")
    trees = in_float32(trees)
    written = [_tree(trees, splits_of(trees), t) for t in range(trees.n_trees)]
    names = _names(formula)
    content = {
        "version": [2, 0, 0],
        "learner": {
            "attributes": {},
            "feature_names": names,
            "feature_types": ["float"] * len(names),
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "gbtree_model_param": {"num_trees": str(trees.n_trees), "num_parallel_tree": "1"},
                    "iteration_indptr": list(range(trees.n_trees + 1)),
                    "tree_info": [0] * trees.n_trees,
                    "trees": written,
                },
            },
            "learner_model_param": {
                "base_score": "0E0",
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": str(formula.n_features),
                "num_target": "1",
            },
            "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
        },
    }
    # XGBoost takes an escape such as \u00e9 for six letters
    return json.dumps(content, ensure_ascii=False).encode()


def _names(formula: Formula) -> list[str]:
    """Names of features, or none where XGBoost refuses one."""
    names = formula.names or ()
    return [] if any(map(_REFUSED.search, names)) else list(names)


def _tree(trees: Trees, splits: list[TreeSplit], number: int) -> dict[str, Any]:
    """Return a tree, level by level, so that the right child comes after the left."""
    first, last = list(pairwise(trees.split_ptr.tolist()))[number]
    nodes, parents = [0 if last > first else -1], [_NO_PARENT]
    rows = []
    for place, node in enumerate(nodes):  # which grows
        if node < 0:
            rows.append((-1, -1, trees.leaf[first + number - 1 - node].item(), 0, 0))
            continue
        split = splits[first + node]
        rows.append(
            (len(nodes), len(nodes) + 1, float32_above(split.threshold), split.feature, split.missing_left)
        )
        nodes += [int(trees.left[first + node]), int(trees.right[first + node])]
        parents += [place, place]
    left, right, conditions, features, missing_left = map(list, zip(*rows, strict=True))
    count = len(rows)
    return {
        "id": number,
        "tree_param": {
            "num_nodes": str(count),
            "num_deleted": "0",
            "num_feature": str(trees.n_features),
            "size_leaf_vector": "1",
        },
        "left_children": left,
        "right_children": right,
        "parents": parents,
        "split_conditions": conditions,
        "split_indices": features,
        "split_type": [0] * count,
        "default_left": [int(one) for one in missing_left],
        "base_weights": [0.0] * count,
        "loss_changes": [0.0] * count,
        "sum_hessian": [1.0] * count,
        **{f"categories{part}": [] for part in ("", "_nodes", "_segments", "_sizes")},
    }


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores by XGBoost."""
    import xgboost

    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(content))
    names = _names(formula) or None
    data = xgboost.DMatrix(X.astype(np.float32), feature_names=names, missing=np.nan)
    scores: Float64Array = booster.predict(data, output_margin=True).astype(np.float64)
    return scores


TARGET = ExportTarget("XGBoost's JSON", _write, _read, version_of("xgboost"), is_single=True)
