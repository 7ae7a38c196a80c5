"""From a fitted ranker to its formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.scale import Scale, ScaleUnion
from directrix.errors import InputError
from directrix.export.folding import added_up, folded
from directrix.export.formula import Formula, Input, Linear, Network, Summand
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel
from directrix.models.trees import Trees
from directrix.rankers.saved import SavedModel
from directrix.types import Float64Array


def formula_of(ranker: Any) -> Formula:
    """Return what a fitted ranker computes, folded as far as its scores stay the same.

    Linear scales go into the weights of a linear model and of the first layer of a network, every scale into
    the thresholds of trees, since it keeps the order of values; stumps become trees of one split.

    Raises
    ------
    InputError
        If features are scaled by query: the score of a document then depends on the others.
    """
    saved = ranker.saved_model()
    parts = [folded(_part(part), saved.n_features) for part in saved.parts]
    return Formula(tuple(added_up(parts)), saved.n_features, saved.names, saved.categories)


def _part(saved: SavedModel) -> Summand:
    model, params, factor = saved.model, saved.params, saved.share
    inputs = _inputs(saved.scale, saved.n_features)
    if saved.missing == "zero":
        named = saved.categories or [None] * saved.n_features
        inputs = tuple(one if named[one.feature] else _with_zero(one) for one in inputs)
    if isinstance(model, Trees):
        return Summand(replace(model, leaf=factor * model.leaf), inputs)
    if isinstance(model, StumpModel):
        return Summand(_of_stairs(factor, model, params), inputs)
    if isinstance(model, MLPModel):
        return Summand(_network(factor, model, params, len(inputs)), inputs)
    return Summand(Linear(factor * params), inputs)


def _inputs(scale: Scale | ScaleUnion | None, n_features: int) -> tuple[Input, ...]:
    if scale is not None and scale.by_query:
        raise InputError(
            f"the features of this model are scaled by query ({scale.kind}): the score of a document depends "
            "on the other documents, which no target can say.",
            python="Train it with another scale, e.g. scale='standard', or with no scale.",
            shell="Train it with another scale, e.g. --scale standard, or with --no-by-query.",
        )
    parts = scale.parts if isinstance(scale, ScaleUnion) else (scale,)
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


def _network(factor: float, model: MLPModel, params: Float64Array, n_inputs: int) -> Network:
    every: list[Any] = list(model.layers(params, n_inputs))
    *hidden, output = every
    layers = tuple((layer.weights, np.asarray(layer.bias)) for layer in hidden)
    last = factor * output.weights[:, 0]
    n_units = model.hidden[-1] if hidden else 0
    linear = Linear(last[n_units:]) if len(last) > n_units else None
    return Network(layers, last[:n_units], linear, model.activation)


def _of_stairs(factor: float, model: StumpModel, params: Float64Array) -> Trees:
    """Return a tree of one split for every step: 0 up to the threshold, the step above it."""
    feature = np.repeat(np.arange(model.n_features), np.diff(model.ptr))[params != 0.0]
    threshold, step = model.values[params != 0.0], params[params != 0.0]
    count = len(step)
    return Trees(
        model.n_features,
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
