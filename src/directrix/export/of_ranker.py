"""From a fitted ranker to its formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.scale import Scale, ScaleUnion, scale_from_json
from directrix.errors import InputError
from directrix.export.folding import added_up, folded
from directrix.export.formula import Formula, Input, Linear, Network, Summand
from directrix.models.trees import Trees


def formula_of(ranker: Any) -> Formula:
    """Return what a fitted ranker computes, folded as far as its scores stay the same.

    Linear scales go into the weights of a linear model and of the first layer of a network, every scale into
    the thresholds of trees, since it keeps the order of values; stumps become trees of one split.

    Raises
    ------
    InputError
        If features are scaled by query: the score of a document then depends on the others.
    """
    trained = ranker.trained()
    model = trained.to_json()
    n_features, names = model["features"]["count"], model["features"]["names"]
    members = model["model"].get("members")
    weighted = [(1.0, model)] if members is None else [(m["weight"] / m["spread"], m) for m in members]
    parts = [folded(_part(factor, member, n_features), n_features) for factor, member in weighted]
    named = None if names is None else tuple(names)
    return Formula(tuple(added_up(parts)), n_features, named, trained.categories_)


def _part(factor: float, member: Mapping[str, Any], n_features: int) -> Summand:
    model, inputs = member["model"], _inputs(member["scale"], n_features)
    if member["features"]["missing"] == "zero":
        named = member["features"].get("categories", [None] * n_features)
        inputs = tuple(one if named[one.feature] else _with_zero(one) for one in inputs)
    if model["type"] == "linear":
        return Summand(Linear(factor * np.array(model["coef"])), inputs)
    if model["type"] == "mlp":
        return Summand(_network(factor, model, len(inputs)), inputs)
    if model["type"] == "stumps":
        return Summand(_of_stairs(factor, model["stairs"], len(inputs)), inputs)
    trees = Trees.of_json(model, len(inputs))
    return Summand(replace(trees, leaf=factor * trees.leaf), inputs)


def _inputs(scale: Any, n_features: int) -> tuple[Input, ...]:
    read = None if scale is None else scale_from_json(scale)
    if read is not None and read.by_query:
        raise InputError(
            f"the features of this model are scaled by query ({read.kind}): the score of a document depends "
            "on the other documents, which no target can say.",
            python="Train it with another scale, e.g. scale='standard', or with no scale.",
            shell="Train it with another scale, e.g. --scale standard, or with --no-by-query.",
        )
    parts = read.parts if isinstance(read, ScaleUnion) else (read,)
    return tuple(one for part in parts for one in inputs_of(part, n_features))


def inputs_of(scale: Scale | None, n_features: int) -> list[Input]:
    """Return the column of every feature under one scale."""
    if scale is None:
        return [Input(f) for f in range(n_features)]
    if scale.knots is not None and scale.scores is not None:
        pairs = zip(scale.knots, scale.scores, strict=True)
        return [Input(f, "knots", missing=0.0, knots=x, scores=z) for f, (x, z) in enumerate(pairs)]
    found = []
    for f, (center, width) in enumerate(zip(scale.center or (), scale.width or (), strict=True)):
        factor = 1.0 / width if width else 0.0
        kind = "log" if scale.kind == "log" else "linear"
        fill = center if scale.kind != "minmax" else None if scale.fill is None else scale.fill[f]
        found.append(Input(f, kind, center, factor, None if fill is None else (fill - center) * factor))
    return found


def _with_zero(one: Input) -> Input:
    """Return a column whose feature is 0 where it is missing."""
    return replace(one, missing=float(one.of(np.zeros(1))[0]))


def _network(factor: float, model: Mapping[str, Any], n_inputs: int) -> Network:
    shaped = [np.array(one["weights"]).reshape(one["inputs"], one["outputs"]) for one in model["layers"]]
    hidden = zip(shaped[:-1], model["layers"], strict=False)
    layers = tuple((weights, np.array(one["bias"])) for weights, one in hidden)
    last = factor * shaped[-1][:, 0]
    n_units = layers[-1][0].shape[1] if layers else 0
    is_residual = len(last) > n_units
    linear = Linear(last[n_units:]) if is_residual else None
    return Network(layers, last[:n_units], linear, model["activation"])


def _of_stairs(factor: float, stairs: Sequence[Mapping[str, Any]], n_inputs: int) -> Trees:
    """Return a tree of one split for every step: 0 up to the threshold, the step above it."""
    steps = [
        (stair["feature"] - 1, threshold, step)
        for stair in stairs
        for threshold, step in zip(stair["thresholds"], stair["steps"], strict=True)
    ]
    feature, threshold, step = np.array(steps, dtype=np.float64).reshape(-1, 3).T
    count = len(step)
    return Trees(
        n_inputs,
        n_leaves=np.full(count, 2),
        feature=feature.astype(np.int32),
        threshold=threshold,
        decision=np.full(count, 0, np.uint8),
        left=np.full(count, -1, np.int32),
        right=np.full(count, -2, np.int32),
        gain=np.zeros(count),
        leaf=np.column_stack([np.zeros(count), factor * step]).ravel(),
        count=np.zeros(2 * count, np.uint32),  # not kept
    )
