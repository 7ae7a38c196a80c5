"""Elasticsearch's own learning to rank: an ensemble of trees in double precision.

From 8.15 on, a query computes each feature; before, a field of the document of the same name could be one.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np

from directrix.data.columns import column_list
from directrix.errors import InputError
from directrix.export.formula import Formula
from directrix.export.target import ExportTarget, Version, last, titled
from directrix.export.trees import Node, nodes_of, tree_scores
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

_OLDEST, _FIRST = (8, 12), (8, 15)
"""First version with learning to rank, and the first that rejects names of fields and needs queries."""

_NO_FIELD = "directrix_no_field"
"""Name of a field for versions that need one where queries compute all features."""


def of_version(_: str, version: Version | None) -> ExportTarget:
    """Return the target for a version; None for the newest."""
    if version is not None and last(version) < _OLDEST:
        raise InputError(
            f"Elasticsearch {'.'.join(map(str, version))} has no learning to rank of its own; choose "
            "elastic:8.12 or later, or elasticsearch, the plugin."
        )
    has_fields = version is not None and last(version) < _FIRST

    def note(formula: Formula) -> str:
        queries = formula.queries or {}
        lacking = [name for name in map(formula.name, _features(formula)) if name not in queries]
        if has_fields or not lacking:
            return ""
        return (
            "Elasticsearch rejects empty queries; fill those of feature_extractors in the file, or give "
            f"queries for {column_list(lacking)}"
        )

    return ExportTarget(
        titled("the learning to rank of Elasticsearch", version),
        partial(_write, has_fields=has_fields),
        _read,
        "a reader of Elasticsearch's JSON",
        models=(Trees,),
        takes_queries=True,
        note=note,
    )


def _features(formula: Formula) -> list[int]:
    """Return the features that need a query; at least one."""
    return formula.used or [0]


def _write(formula: Formula, *, has_fields: bool) -> bytes:
    """Return the body of ``PUT _ml/trained_models/NAME``, for a ``learning_to_rank`` rescorer."""
    places, kind = {f: n for n, f in enumerate(_features(formula))}, {"target_type": "regression"}
    names, queries = [*map(formula.name, places)], formula.queries or {}
    # Trees that were made of stumps have no counts of documents, and the key may be left out.
    has_counts = bool(formula.model.count.all())
    models = [
        {
            "tree": {
                "feature_names": names,
                "tree_structure": [
                    _node(place, node, places, has_counts=has_counts) for place, node in enumerate(tree)
                ],
                **kind,
            }
        }
        for tree in nodes_of(formula.model)
    ]
    ensemble = {
        "feature_names": names,
        "trained_models": models,
        "aggregate_output": {"weighted_sum": {"weights": [1.0] * len(models)}},
        **kind,
    }
    # An empty query is an error there, and a feature without one would be missing for all documents.
    extractors = [
        {"query_extractor": {"feature_name": name, "query": queries.get(name, {})}}
        for name in names
        if name in queries or not has_fields
    ]
    # A field would be the value of a feature whose query does not match.
    fields = [name for name in names if name not in queries] or [_NO_FIELD]
    body = {
        **({"input": {"field_names": fields}} if has_fields else {}),
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors} if extractors else {}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    return json.dumps(body, allow_nan=False).encode()


def _node(place: int, node: Node, places: dict[int, int], *, has_counts: bool) -> dict[str, Any]:
    number = {"node_index": place} | ({"number_samples": node.n_docs} if has_counts else {})
    if node.split is None:
        return {**number, "leaf_value": node.value}
    return {
        **number,
        "split_feature": places[node.split.feature],
        "threshold": node.split.threshold,
        "decision_type": "lte",
        "default_left": node.split.missing_left,
        "left_child": node.left,
        "right_child": node.right,
    }


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores as Elasticsearch computes them."""
    ensemble = json.loads(content)["definition"]["trained_model"]["ensemble"]
    weights = ensemble["aggregate_output"]["weighted_sum"]["weights"]
    # The ensemble names the features it uses, in an order of its own.
    places = [formula.all_names.index(name) for name in ensemble["feature_names"]]
    roots = [(model["tree"]["tree_structure"], 0) for model in ensemble["trained_models"]]
    if not roots:
        raise InputError("Elasticsearch rejects an ensemble without trees.")

    def step(at: Any, rows: Array) -> Any:
        nodes, place = at
        node = nodes[place]
        if "left_child" not in node:
            return node["leaf_value"]
        values, threshold = X[rows, places[node["split_feature"]]], node["threshold"]
        below = values <= threshold if node["decision_type"] == "lte" else values < threshold
        is_left = np.where(np.isnan(values), node["default_left"], below)
        return is_left, (nodes, node["left_child"]), (nodes, node["right_child"])

    return tree_scores(zip(weights, roots, strict=True), len(X), step)
