"""Solr's JSON for its model store: linear models, trees, networks.

A missing feature is 0. From 9.2 on, trees may name the side of a missing one, if its default value is NaN.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from directrix.errors import Advice, InputError
from directrix.export.formula import Formula, Linear, Network
from directrix.export.target import ANY_MODEL, ExportTarget, Version, last, sends_missing, titled
from directrix.export.trees import TreeSplit, nested, nodes_of, sum_in_float32, tree_scores
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

_CLASS = "org.apache.solr.ltr.model."
# Solr adds this number to every threshold.
_SLACK = np.float32(1e-6)
# Thresholds of LightGBM that separate 0 from all other numbers are nearer to 0.
_ZERO = 1.1e-35
# The first version in which trees name the side of missing features.
_FIRST = 9, 2


def of_version(_: str, version: Version | None) -> ExportTarget:
    """Return the target for a version; None for all."""

    def note(formula: Formula) -> str:
        if not isinstance(formula.model, Trees) or not sends_missing(formula.model):
            return ""
        return (
            "the file is for Solr from 9.2 on; every feature that may be missing needs the parameter "
            '"defaultValue": "NaN" in the feature store'
        )

    return ExportTarget(
        titled("Solr", version),
        _write,
        _read,
        "a reader of Solr's JSON",
        models=(Linear, Network, Trees),
        is_single=True,
        takes_missing=() if version is not None and last(version) < _FIRST else (Trees,),
        keeps_constant=False,
        held=held,
        note=note,
    )


def _write(formula: Formula) -> bytes:
    """Return the model that is uploaded to ``/solr/COLLECTION/schema/model-store``."""
    model = formula.model
    features = formula.used or [0]
    if isinstance(model, Linear):
        name = "LinearModel"
        params: dict[str, Any] = {"weights": {formula.name(f): model.weights[f].item() for f in features}}
    elif isinstance(model, Network):
        name, params = "NeuralNetworkModel", {"layers": _layers(model, features)}
    else:
        names_side = sends_missing(model)

        def split(branch: TreeSplit, left: Any, right: Any) -> Any:
            name = formula.name(branch.feature)
            threshold = str(_threshold(np.float32(branch.threshold), name))
            side = {"missing": "left" if branch.missing_left else "right"} if names_side else {}
            return {"feature": name, "threshold": threshold, **side, "left": left, "right": right}

        roots = nested(nodes_of(model), lambda value: {"value": repr(value)}, split)
        name = "MultipleAdditiveTreesModel"
        # Older versions reject this key, and the one for the side.
        params = {"isNullSameAsZero": False} if names_side else {}
        params["trees"] = [{"weight": "1", "root": root} for root in roots]
    listed = [{"name": formula.name(f)} for f in features]
    content = {"class": _CLASS + name, "name": "directrix", "features": listed, "params": params}
    return json.dumps(content, indent=1).encode()


def _layers(model: Network, features: list[int]) -> list[dict[str, Any]]:
    if model.linear is not None:
        raise InputError(
            f"Solr's networks have no residual terms; choose {ANY_MODEL}.",
            Advice("no-residual"),
        )
    hidden = [
        {"matrix": weights.T.tolist(), "bias": bias.tolist(), "activation": model.activation}
        for weights, bias in model.layers
    ]
    # The inputs of the first layer are the features of the file, which lists those that are used.
    hidden[0]["matrix"] = model.layers[0][0][features].T.tolist()
    return [*hidden, {"matrix": [model.last.tolist()], "bias": [0.0], "activation": "identity"}]


def _threshold(threshold: np.float32, feature: str) -> np.float32:
    """Return what to write for a threshold; raise `InputError` if Solr's slack hides it."""
    written = _before_slack(threshold)
    if abs(written + _SLACK - threshold) > abs(threshold) / 4 and abs(threshold) > _ZERO:
        raise InputError(
            f"Solr adds {_SLACK:g} to thresholds, so it cannot compare the feature {feature!r} with "
            f"{threshold:.3g}; multiply the feature by a large number before training, or choose vespa, "
            "sql or python."
        )
    return written


def _before_slack(threshold: np.float32) -> np.float32:
    """The float32 from which Solr makes the threshold by adding its slack, or one near it of its sign."""
    best = threshold - _SLACK
    with np.errstate(over="ignore"):
        # Rounding may move the sum by one float, so the neighbors are tried, and a right sign counts most.
        near = [best, np.nextafter(best, np.float32(-np.inf)), np.nextafter(best, np.float32(np.inf))]
    return min(near, key=lambda x: ((x + _SLACK >= 0) != (threshold >= 0), abs(x + _SLACK - threshold)))


def held(thresholds: Array) -> Array:
    """Return the thresholds that Solr will use in place of these float32."""
    return np.array([_before_slack(threshold) + _SLACK for threshold in thresholds], dtype=np.float32)


def _read(content: bytes, formula: Formula, X: Array) -> Float64Array:
    """Scores as Solr's classes compute them, in float32."""
    model = json.loads(content)
    names = [feature["name"] for feature in model["features"]]
    places = [formula.all_names.index(name) for name in names]
    rows = X[:, places].astype(np.float32)
    kind, params = model["class"].removeprefix(_CLASS), model["params"]
    if params.get("isNullSameAsZero", True):
        rows = np.nan_to_num(rows, nan=0.0)
    if kind == "LinearModel":
        weights = np.array([params["weights"][name] for name in names], np.float32)
        return sum_in_float32(rows * weights)
    if kind == "NeuralNetworkModel":
        units = rows
        for layer in params["layers"]:
            units = units @ np.array(layer["matrix"], np.float32).T + np.array(layer["bias"], np.float32)
            if layer["activation"] != "identity":
                units = np.tanh(units) if layer["activation"] == "tanh" else np.maximum(units, 0)
        return units[:, 0].astype(np.float64)

    def step(node: Any, reached: Array) -> Any:
        if "feature" not in node:
            return float(node["value"])
        threshold = np.float32(node["threshold"]) + _SLACK
        values = rows[reached, names.index(node["feature"])]
        is_left = (values <= threshold) | (np.isnan(values) & (node.get("missing") == "left"))
        return is_left, node["left"], node["right"]

    trees = ((tree["weight"], tree["root"]) for tree in params["trees"])
    return tree_scores(trees, len(X), step, np.float32)
