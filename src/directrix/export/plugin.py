"""The learning-to-rank plugin of Elasticsearch and OpenSearch: linear models, and trees as XGBoost dumps.

Versions differ in what a missing feature is, a feature whose query does not match. In a linear model it is 0.
In trees it is 0 in old versions; it goes to the child that the split names in new ones; and OpenSearch 3.2 to
3.7 always send it to the child "no".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.export.formula import Formula, Linear
from directrix.export.target import ExportTarget, Version, last, sends_missing, titled
from directrix.export.trees import Below, Node, TreeSplit, nested, nodes_of, sum_in_float32, tree_scores
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

# A missing feature in trees is 0, goes to the child "no", or to the one that the split names, in the order
# of the versions.
_ZERO, _NO, _NAMED = "zero", "no", "named"
# Trees may have this number of times as many nodes after they were arranged.
_GROWTH = 20
# A text may have this number of characters in JSON for the engines.
_LONGEST = 50_000_000


def of_version(name: str, version: Version | None) -> ExportTarget:
    """Return the target for a version of OpenSearch, or of Elasticsearch or its plugin; None for all."""
    if name == "opensearch":
        product, first, rules = "OpenSearch", "3.2", [_ZERO, _NO, _NAMED]
        since: list[Version] = [(3, 2), (3, 8)]
    else:
        product, first, rules = "Elasticsearch", "1.5.9", [_ZERO, _NAMED]
        if version is not None and (2,) <= version < (5,):
            raise InputError(
                f"there is no version {'.'.join(map(str, version))} of Elasticsearch with this plugin, or of "
                "the plugin; type e.g. elasticsearch:8.14, elasticsearch:1.5.9, or opensearch:3.5."
            )
        # Versions of the plugin are 1.x, and 1.5.9 is the first for Elasticsearch 8.11.
        since = [(1, 5, 9)] if version is not None and version < (2,) else [(8, 11)]
    if version is not None:
        oldest, newest = (sum(limit >= start for start in since) for limit in (version, last(version)))
        rules = rules[oldest : newest + 1]

    def note(formula: Formula) -> str:
        is_for_some = isinstance(formula.model, Trees) and sends_missing(formula.model) and _ZERO in rules
        old = f"the file is for {product}'s plugin from {first} on; older ones read a missing feature as 0"
        return old if is_for_some else ""

    return ExportTarget(
        titled(f"the learning-to-rank plugin of {product}", version),
        partial(_write, is_arranged=_NO in rules),
        partial(_read, rules=rules),
        "a reader of the plugin's JSON",
        models=(Linear, Trees),
        is_single=True,
        takes_missing=() if rules == [_ZERO] else (Trees,),
        keeps_constant=False,
        note=note,
    )


def _write(formula: Formula, *, is_arranged: bool) -> bytes:
    """Return the body of ``POST _ltr/_featureset/NAME/_createmodel``."""
    model = formula.model
    if isinstance(model, Linear):
        kind = "model/linear"
        definition: Any = {formula.name(f): model.weights[f].item() for f in formula.used}
    else:
        kind = "model/xgboost+json"

        def split(branch: TreeSplit, left: Any, right: Any) -> Any:
            # JSON has no infinity, and the plugin reads it from a text.
            is_infinite = branch.threshold == np.inf
            below = Below(np.inf, is_swapped=False) if is_infinite else Below.of(branch, np.float32)
            return {
                "split": formula.name(branch.feature),
                "split_condition": "Infinity" if is_infinite else below.limit,
                "missing": branch.missing_left != below.is_swapped,
                "children": [*below.sides(left, right)],
            }

        trees = nodes_of(model)
        if is_arranged:
            room, arranged = _GROWTH * sum(map(len, trees)), []
            for nodes in trees:
                arranged.append(_arranged(nodes, room))
                room -= len(arranged[-1])
            trees = arranged
        definition = [_numbered(root) for root in nested(trees, lambda v: {"leaf": v}, split)]
    text = json.dumps(definition, allow_nan=False)
    if len(text) > _LONGEST:
        raise InputError(
            f"the plugin takes definitions of {_LONGEST:,} characters, and this model has {len(text):,}; "
            "train fewer trees or leaves."
        )
    body = {"model": {"name": "directrix", "model": {"type": kind, "definition": text}}}
    return json.dumps(body).encode()


def _arranged(nodes: list[Node], room: int) -> list[Node]:
    """Return a tree that scores the same where a missing feature always goes right.

    If it should go left, a second split on the right side separates missing features, for which the left
    side is repeated. Below it, no other split needs this for the same feature. Infinity counts as missing.
    """
    arranged = list[Node]()
    # An entry is the number of a node, the features that are known to be there and to be missing, and the
    # place and the side of its parent.
    waiting: list[tuple[int, frozenset[int], frozenset[int], int, str]]
    waiting = [(0, frozenset(), frozenset(), -1, "")]

    def add(node: Node, parent: int, side: str) -> int:
        arranged.append(node)
        if side:
            here = {side: len(arranged) - 1}
            arranged[parent] = Node(**{**arranged[parent]._asdict(), **here})
        return len(arranged) - 1

    while waiting:
        number, present, missing, parent, side = waiting.pop()
        node = nodes[number]
        # A feature that is known to be missing has one way down, so its splits are skipped.
        while (split := node.split) is not None and split.feature in missing:
            node = nodes[node.left if split.missing_left else node.right]
        if split is None:
            add(node, parent, side)
            continue
        is_last = split.threshold >= np.finfo(np.float32).max
        inner = split._replace(threshold=np.inf if is_last else split.threshold)
        place = add(node._replace(split=inner), parent, side)
        feature = frozenset([split.feature])
        waiting.append((node.left, present | feature, missing, place, "left"))
        if split.missing_left and split.feature not in present:
            # Every value is below infinity, so only missing features fail this test and go right.
            test = TreeSplit(split.feature, np.inf, None, missing_left=False)
            place = add(Node(test), place, "right")
            waiting.append((node.left, present, missing | feature, place, "right"))
            waiting.append((node.right, present | feature, missing, place, "left"))
        else:
            waiting.append((node.right, present, missing, place, "right"))
        if len(arranged) > room:
            raise InputError(
                "OpenSearch 3.2 to 3.7 send missing features to one side alone, and this model would need "
                f"more than {_GROWTH} times as many splits there; train fewer leaves, e.g. num_leaves=15, or "
                "choose opensearch:3.8 for that version and later ones."
            )
    return arranged


def _numbered(root: dict[str, Any]) -> dict[str, Any]:
    """Give the nodes of a tree the numbers by which splits name their children; the keys that are needed."""
    count, waiting = 0, [(root, 0)]
    root["nodeid"] = 0
    # The list grows while it is read, so the nodes are numbered level by level.
    for node, depth in waiting:
        if "leaf" in node:
            continue
        for child in node["children"]:
            count += 1
            child["nodeid"] = count
            waiting.append((child, depth + 1))
        yes, no = (child["nodeid"] for child in node["children"])
        node |= {"depth": depth, "yes": yes, "no": no, "missing": yes if node["missing"] else no}
    return root


def _read(content: bytes, formula: Formula, X: Array, *, rules: Sequence[str]) -> Float64Array:
    """Scores as the plugin computes them, in float32; NaN where versions differ."""
    model = json.loads(content)["model"]["model"]
    names, rows = formula.all_names, X.astype(np.float32)
    definition, zeros = json.loads(model["definition"]), np.nan_to_num(rows, nan=0.0)
    if model["type"] == "model/linear":
        places = [names.index(name) for name in definition]
        return sum_in_float32(zeros[:, places] * np.array([*definition.values()], np.float32))

    def scores(rule: str) -> Float64Array:
        def step(node: Any, reached: Array) -> Any:
            if "leaf" in node:
                return node["leaf"]
            left, right = node["children"]
            if (left["nodeid"], right["nodeid"]) != (node["yes"], node["no"]):
                raise InputError(
                    f"the plugin rejects node {node['nodeid']}: yes and no are not its children."
                )
            values = (zeros if rule == _ZERO else rows)[reached, names.index(node["split"])]
            below = np.float32(node["split_condition"]) > values
            is_named = np.isnan(values) & (rule == _NAMED)
            return np.where(is_named, node["missing"] == node["yes"], below), left, right

        return tree_scores(((1.0, root) for root in definition), len(X), step, np.float32)

    if not definition:
        raise InputError("the plugin rejects a model without trees.")
    # Versions that read a missing feature as 0 are not asked if there are others: rows of zeros show what
    # they do.
    first, *others = [scores(rule) for rule in rules if rule != _ZERO or len(rules) == 1]
    return np.where(np.all([other == first for other in others], axis=0), first, np.nan) if others else first
