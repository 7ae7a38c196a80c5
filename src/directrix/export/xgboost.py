"""XGBoost's JSON: the children of a node have consecutive numbers, and values below a threshold go left."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from directrix.export.formula import Formula
from directrix.export.target import ExportTarget, version_of
from directrix.export.trees import Below, Node, nodes_of
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

# XGBoost marks the root by the largest 32-bit integer as its parent.
_NO_PARENT = 2**31 - 1
# Features are not named in the file if a name has one of these characters.
_REJECTED = re.compile("[][<\x00-\x1f\ud800-\udfff]")


def _write(formula: Formula) -> bytes:
    """Return the JSON that ``xgboost.Booster(model_file=...)`` reads; also versions before 3."""
    written = [
        _tree(nodes, number, formula.n_features) for number, nodes in enumerate(nodes_of(formula.model))
    ]
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
                    "gbtree_model_param": {"num_trees": str(len(written)), "num_parallel_tree": "1"},
                    "iteration_indptr": list(range(len(written) + 1)),
                    "tree_info": [0] * len(written),
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
    # XGBoost takes an escape such as \u00e9 for six letters.
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()


def _names(formula: Formula) -> list[str]:
    """Names of features, or none where XGBoost rejects one."""
    names = formula.names or ()
    return [] if any(map(_REJECTED.search, names)) else list(names)


def _tree(nodes: list[Node], number: int, n_features: int) -> dict[str, Any]:
    """Return a tree, level by level, so that the right child comes after the left."""
    order, parents = [0], [_NO_PARENT]
    rows: list[tuple[Any, ...]] = []
    # The list grows while it is read, so children follow level by level.
    for place, node in enumerate(map(nodes.__getitem__, order)):
        if (split := node.split) is None:
            rows.append((-1, -1, node.value, 0, 0, node))
            continue
        below = Below.of(split, np.float32)
        is_missing_below = int(split.missing_left != below.is_swapped)
        # XGBoost needs the numbers of the children before they are visited: the next two of the list.
        rows.append((len(order), len(order) + 1, below.limit, split.feature, is_missing_below, node))
        order += below.sides(node.left, node.right)
        parents += [place, place]
    left, right, conditions, features, missing_below, ordered = map(list, zip(*rows, strict=True))
    count = len(rows)
    return {
        "id": number,
        "tree_param": {
            "num_nodes": str(count),
            "num_deleted": "0",
            "num_feature": str(n_features),
            "size_leaf_vector": "1",
        },
        "left_children": left,
        "right_children": right,
        "parents": parents,
        "split_conditions": conditions,
        "split_indices": features,
        "split_type": [0] * count,
        "default_left": missing_below,
        "base_weights": [node.value for node in ordered],
        "loss_changes": [node.gain for node in ordered],
        "sum_hessian": [float(node.n_docs) for node in ordered],
        **{f"categories{suffix}": [] for suffix in ("", "_nodes", "_segments", "_sizes")},
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


def _note(formula: Formula) -> str:
    lost = next(filter(_REJECTED.search, formula.names or ()), None)
    return "" if lost is None else f"the features have no names there, since XGBoost rejects {lost!r}"


TARGET = ExportTarget(
    "XGBoost's JSON",
    _write,
    _read,
    version_of("xgboost"),
    models=(Trees,),
    is_single=True,
    has_contributions=True,
    note=_note,
)
