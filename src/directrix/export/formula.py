"""A formula: a fitted ranker as a sum of simple models of features, in the form that targets write.

A fitted ranker goes in. Out comes a sum of linear models, networks and trees, each with the columns that it
sees, into which its scale is folded as far as its scores stay the same::

    formula = formula_of(ranker)
    formula.parts[0].model, formula.parts[0].inputs
    formula.used
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from directrix.data.frames import Categories
from directrix.data.memory import check_room
from directrix.data.scale import Scale, ScaleUnion
from directrix.errors import Advice, InputError
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel
from directrix.models.trees import Trees
from directrix.rankers.calibration import Calibration
from directrix.rankers.fitted import FittedModel
from directrix.rankers.record import own_model
from directrix.types import Array, Float64Array

_LARGEST = float(np.finfo(np.float64).max)
# A column of an export takes these bytes: the input, its name and its line of code.
_BYTES_A_FEATURE = 3000


@dataclass(frozen=True)
class Input:
    """One column that a model sees: ``(g(x) - center) * factor`` of one feature x.

    Parameters
    ----------
    feature : int
    kind : {"linear", "log", "knots"}
        g is x itself, ``sign(x) log(1 + |x|)``, or linear between knots and constant beyond both ends.
    center, factor : float
    missing : float, or None
        Value of the column where the feature is missing; None if the model itself handles missing values, or
        rejects them.
    knots, scores : tuple of float
        Knots of kind "knots", and their scores.
    """

    feature: int
    kind: str = "linear"
    center: float = 0.0
    factor: float = 1.0
    missing: float | None = None
    knots: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()

    @property
    def is_feature(self) -> bool:
        """Whether the column is the unchanged feature, except where it is missing."""
        return self.kind == "linear" and self.center == 0.0 and self.factor == 1.0

    def of(self, values: Float64Array) -> Float64Array:
        """Return the values of the column for values of the feature, without missing ones."""
        if self.kind == "knots":
            return np.interp(values, self.knots, self.scores)
        if self.kind == "log":
            values = np.copysign(np.log1p(np.abs(values)), values)
        with np.errstate(over="ignore"):
            column: Float64Array = (values - self.center) * self.factor
        return column


class Linear(NamedTuple):
    """``constant`` + sum of ``weights`` times columns."""

    weights: Float64Array
    constant: float = 0.0


class Network(NamedTuple):
    """Hidden layers of (weights (n_in, n_out), bias), the weights of the last units, and a linear model.

    ``linear`` is None without residual terms; else a layer as wide as the previous hidden one adds its
    inputs.
    """

    layers: tuple[tuple[Float64Array, Float64Array], ...]
    last: Float64Array
    linear: Linear | None
    activation: str

    def adds_inputs(self, layer: int) -> bool:
        """Whether a hidden layer adds its inputs to its units."""
        n_in, n_out = self.layers[layer][0].shape
        return self.linear is not None and layer > 0 and n_in == n_out


class Summand(NamedTuple):
    """A model, and the columns that it sees."""

    model: Linear | Network | Trees
    inputs: tuple[Input, ...]


class Formula(NamedTuple):
    """The score of a document: the sum of parts.

    ``queries`` has queries of an engine that compute features, by the names of the features.
    """

    parts: tuple[Summand, ...]
    n_features: int
    names: tuple[str, ...] | None
    categories: Categories | None
    calibration: Calibration | None = None
    queries: Mapping[str, Any] | None = None

    @property
    def model(self) -> Any:
        """The model of a formula of one part."""
        return self.parts[0].model

    @property
    def used(self) -> list[int]:
        """Features on which the score depends, ascending."""
        features: set[int] = set()
        for model, inputs in self.parts:
            if isinstance(model, Trees):
                features |= {inputs[f].feature for f in model.feature.tolist()}
            else:
                weights = model.weights if isinstance(model, Linear) else np.ones(len(inputs))
                features |= {
                    entry.feature for entry, weight in zip(inputs, weights.tolist(), strict=True) if weight
                }
        return sorted(features)

    def name(self, feature: int) -> str:
        """Name of a feature; without names, a name made from its number, counted from 1 as in LETOR."""
        return f"feature_{feature + 1}" if self.names is None else self.names[feature]

    @property
    def all_names(self) -> list[str]:
        """Names of all features, in their order."""
        return [self.name(feature) for feature in range(self.n_features)]


def formula_of(ranker: Any) -> Formula:
    """Return the formula of a fitted ranker, folded as far as its scores stay the same.

    Linear scales are folded into the weights of a linear model and of the first layer of a network. Every
    scale is folded into the thresholds of trees, since it keeps the order of values; stumps become trees of
    one split.

    Raises
    ------
    InputError
        If features are scaled by query: the score of a document then depends on the others.
    """
    return formula_from(own_model(ranker))


def formula_from(saved: FittedModel) -> Formula:
    """Return the formula of a fitted model; see `formula_of`."""
    check_room(
        _BYTES_A_FEATURE * saved.n_columns,
        f"an export of a model with {saved.n_features:,} features",
        "Number the features without gaps, and train it again.",
    )
    # Parts that are alike are added up: trees, and linear models that fill missing features alike.
    sums: list[Summand] = []
    for member in saved.summands:
        summand = folded(_summand(member), saved.n_features)
        for place, other in enumerate(sums):
            if (total := _sum(other, summand)) is not None:
                sums[place] = total
                break
        else:
            sums.append(summand)
    return Formula(tuple(sums), saved.n_features, saved.feature_names, saved.categories, saved.calibration)


def _summand(saved: FittedModel) -> Summand:
    """Return a model that is not an ensemble, times its share, with the columns that it sees."""
    model, params, factor, scale = saved.model, saved.params, saved.share, saved.scale
    if scale is not None and scale.by_query:
        raise InputError(
            f"the features of this model are scaled by query ({scale.kind}): the score of a document depends "
            "on the other documents, which no target can say.",
            Advice("another-scale"),
        )
    scales = scale.parts if isinstance(scale, ScaleUnion) else (scale,)
    inputs = tuple(entry for single in scales for entry in inputs_of(single, saved.n_features))
    if saved.missing == "zero":
        named = saved.categories or [None] * saved.n_features
        inputs = tuple(
            entry if named[entry.feature] else replace(entry, missing=float(entry.of(np.zeros(1))[0]))
            for entry in inputs
        )
    if isinstance(model, Trees):
        return Summand(replace(model, leaf=factor * model.leaf), inputs)
    if isinstance(model, StumpModel):
        return Summand(_of_stairs(factor, model, params), inputs)
    if isinstance(model, MLPModel):
        return Summand(_network(factor, model, params, len(inputs)), inputs)
    return Summand(Linear(factor * params), inputs)


def inputs_of(scale: Scale | None, n_features: int) -> list[Input]:
    """Return the column of every feature under one scale."""
    if scale is None:
        return [Input(f) for f in range(n_features)]
    if scale.knots is not None and scale.scores is not None:
        pairs = zip(scale.knots, scale.scores, strict=True)
        return [Input(f, "knots", missing=0.0, knots=x, scores=z) for f, (x, z) in enumerate(pairs)]
    inputs = []
    for f, (center, width) in enumerate(zip(scale.center or (), scale.width or (), strict=True)):
        factor = 1.0 / width if width else 0.0
        kind = "log" if scale.kind == "log" else "linear"
        empty_value = center if scale.kind != "minmax" else None if scale.fill is None else scale.fill[f]
        inputs.append(
            Input(f, kind, center, factor, None if empty_value is None else (empty_value - center) * factor)
        )
    return inputs


def _network(factor: float, model: MLPModel, params: Float64Array, n_inputs: int) -> Network:
    all_layers: list[Any] = list(model.layers(params, n_inputs))
    *hidden, output = all_layers
    layers = tuple((layer.weights, np.asarray(layer.bias)) for layer in hidden)
    last = factor * output.weights[:, 0]
    n_units = model.hidden[-1] if hidden else 0
    linear = Linear(last[n_units:]) if len(last) > n_units else None
    return Network(layers, last[:n_units], linear, model.activation)


def _of_stairs(factor: float, model: StumpModel, params: Float64Array) -> Trees:
    """Return a tree of one split for every step: 0 up to the threshold, the step above it."""
    # A step of 0 changes no score.
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
        # Stumps do not keep the number of documents in their leaves.
        count=np.zeros(2 * count, np.uint32),
    )


def folded(summand: Summand, n_features: int) -> Summand:
    """Return the same model on unscaled features, as far as their scales can be folded into it."""
    model, inputs = summand
    if isinstance(model, Trees):
        return _folded_trees(model, inputs, n_features)
    # A network without hidden layers is linear.
    if isinstance(model, Network) and not model.layers:
        model = model.linear or Linear(model.last)
    if any(entry.kind != "linear" for entry in inputs) or len(inputs) > n_features:
        # Logarithms, quantiles and scales side by side stay, because weights cannot express them.
        return Summand(model, inputs)
    centers = np.array([entry.center for entry in inputs])
    factors = np.array([entry.factor for entry in inputs])
    plain = tuple(map(_unscaled, inputs))
    if isinstance(model, Linear):
        return Summand(_unscaled_linear(model, centers, factors), plain)
    weights = model.layers[0][0] * factors[:, None]
    first = weights, model.layers[0][1] - centers @ weights
    linear = None if model.linear is None else _unscaled_linear(model.linear, centers, factors)
    return Summand(model._replace(layers=(first, *model.layers[1:]), linear=linear), plain)


def _unscaled_linear(model: Linear, centers: Float64Array, factors: Float64Array) -> Linear:
    weights = model.weights * factors
    return Linear(weights, model.constant - float(weights @ centers))


def _unscaled(entry: Input) -> Input:
    """Return the feature itself; a missing value is the one that its column would have become."""
    missing = entry.missing
    if missing is not None:
        # Rounding would leave a remainder where a missing feature counts as 0.
        is_zero = missing == entry.of(np.zeros(1))[0]
        missing = 0.0 if is_zero else entry.center + (missing / entry.factor if entry.factor else 0.0)
    return Input(entry.feature, missing=missing)


def _folded_trees(trees: Trees, inputs: Sequence[Input], n_features: int) -> Summand:
    """Move the scales, which keep the order of values, into thresholds and decisions.

    A model without trees becomes a leaf of 0, because programs reject an empty list of trees.
    """
    if not trees.n_trees:
        ones = np.ones(1, np.int64)
        trees = replace(trees, n_leaves=ones, leaf=np.zeros(1), count=ones.astype(np.uint32))
    feature, threshold, decision = trees.feature.copy(), trees.threshold.copy(), trees.decision.copy()
    for number, entry in enumerate(inputs):
        splits = np.flatnonzero(trees.feature == number)
        feature[splits] = entry.feature
        # Without a bit for NaN, the splits of trees take it for 0.
        is_zero = (
            entry == Input(entry.feature, missing=0.0) and not (decision[splits] & (NAN | CATEGORICAL)).any()
        )
        if not len(splits) or entry == Input(entry.feature) or is_zero:
            continue
        if (decision[splits] & CATEGORICAL).any():
            raise InputError(
                "a feature of categories is scaled, or 0 if it is missing; train the trees without that."
            )
        # A scale keeps the order of values, so its split is a split of the unscaled feature at another
        # threshold.
        threshold[splits] = _last_at_most(entry, trees.threshold[splits])
        if entry.missing is not None:
            decision[splits] = np.where(entry.missing <= trees.threshold[splits], NAN | LEFT, NAN)
    moved = replace(trees, n_features=n_features, feature=feature, threshold=threshold, decision=decision)
    return Summand(moved, tuple(Input(f) for f in range(n_features)))


def _last_at_most(entry: Input, limits: Float64Array) -> Float64Array:
    """The largest number whose column is at most each limit; the lowest of all where there is none.

    Found by halving the range of all floats: then none of them changes its side.
    """
    low = np.full(len(limits), _order(np.array([-_LARGEST]))[0])
    high = np.full(len(limits), _order(np.array([_LARGEST]))[0])
    # The largest number needs a test of its own, because halving never reaches the upper end.
    all_in = entry.of(np.full(len(limits), _LARGEST)) <= limits
    # Each round halves the range of the 64-bit integers that number the floats.
    for _ in range(64):
        # The sum of low and high could overflow, so their halves are added.
        middle = low // 2 + high // 2 + (low % 2 + high % 2) // 2
        inside = entry.of(_float(middle)) <= limits
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(all_in, _LARGEST, _float(low))


def _order(values: Float64Array) -> Array:
    """Integers in the order of the floats."""
    # The bits of positive floats are in their order; those of negative floats are reversed.
    bits = values.view(np.int64)
    numbers: Array = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
    return numbers


def _float(numbers: Array) -> Float64Array:
    """The floats that `_order` numbers."""
    floats: Float64Array = np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers).view(np.float64)
    return floats


def _sum(first: Summand, second: Summand) -> Summand | None:
    """Return two parts as one; None if they are not alike."""
    model, other = first.model, second.model
    if first.inputs != second.inputs:
        return None
    if isinstance(model, Linear) and isinstance(other, Linear):
        return Summand(Linear(model.weights + other.weights, model.constant + other.constant), first.inputs)
    if isinstance(model, Trees) and isinstance(other, Trees):
        return Summand(model.followed_by(other), first.inputs)
    return None
