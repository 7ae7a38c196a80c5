"""Scales that disappear into the model that follows them, and models that are added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from directrix.errors import InputError
from directrix.export.formula import Input, Linear, Network, Summand
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN
from directrix.models.trees import Trees
from directrix.types import Array, Float64Array

_LARGEST = float(np.finfo(np.float64).max)


def folded(part: Summand, n_features: int) -> Summand:
    """Return the same model of the features themselves, as far as their scales can be folded into it."""
    model, inputs = part
    if isinstance(model, Trees):
        return _folded_trees(model, inputs, n_features)
    if isinstance(model, Network) and not model.layers:
        model = model.linear or Linear(model.last)
    if any(one.kind != "linear" for one in inputs) or len(inputs) > n_features:
        return Summand(model, inputs)
    centers, factors = np.array([one.center for one in inputs]), np.array([one.factor for one in inputs])
    plain = _unscaled(inputs)
    if isinstance(model, Linear):
        return Summand(_unscaled_linear(model, centers, factors), plain)
    weights = model.layers[0][0] * factors[:, None]
    first = weights, model.layers[0][1] - centers @ weights
    linear = None if model.linear is None else _unscaled_linear(model.linear, centers, factors)
    return Summand(model._replace(layers=(first, *model.layers[1:]), linear=linear), plain)


def _unscaled_linear(model: Linear, centers: Float64Array, factors: Float64Array) -> Linear:
    weights = model.weights * factors
    return Linear(weights, model.constant - float(weights @ centers))


def _unscaled(inputs: Sequence[Input]) -> tuple[Input, ...]:
    """Return the features as they are, where a missing one is what its column would have become."""
    return tuple(Input(one.feature, missing=_fill(one)) for one in inputs)


def _fill(one: Input) -> float | None:
    if one.missing is None:
        return None
    if one.missing == one.of(np.zeros(1))[0]:  # rounding would leave a rest below
        return 0.0
    return one.center + (one.missing / one.factor if one.factor else 0.0)


def _folded_trees(trees: Trees, inputs: Sequence[Input], n_features: int) -> Summand:
    """Move the scales, which keep the order of values, into thresholds and decisions."""
    feature, threshold, decision = trees.feature.copy(), trees.threshold.copy(), trees.decision.copy()
    for number, one in enumerate(inputs):
        own = np.flatnonzero(trees.feature == number)
        feature[own] = one.feature
        # without a bit for NaN the splits of trees take it for 0
        is_zero = one == Input(one.feature, missing=0.0) and not (decision[own] & (NAN | CATEGORICAL)).any()
        if not len(own) or one == Input(one.feature) or is_zero:
            continue
        if (decision[own] & CATEGORICAL).any():
            raise InputError(
                "a feature of categories is scaled, or 0 if it is missing; train the trees without that."
            )
        threshold[own] = _last_at_most(one, trees.threshold[own])
        if one.missing is not None:
            decision[own] = np.where(one.missing <= trees.threshold[own], NAN | LEFT, NAN)
    moved = replace(trees, n_features=n_features, feature=feature, threshold=threshold, decision=decision)
    return Summand(moved, tuple(Input(f) for f in range(n_features)))


def _last_at_most(one: Input, limits: Float64Array) -> Float64Array:
    """The largest number whose column is at most each limit; the lowest of all where there is none.

    Found by halving the range of all floats: then not one of them falls on another side than before.
    """
    low = np.full(len(limits), _order(np.array([-_LARGEST]))[0])
    high = np.full(len(limits), _order(np.array([_LARGEST]))[0])
    all_in = one.of(np.full(len(limits), _LARGEST)) <= limits
    for _ in range(64):  # bits of a float
        middle = low // 2 + high // 2 + (low % 2 + high % 2) // 2  # their sum could overflow
        inside = one.of(_float(middle)) <= limits
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(all_in, _LARGEST, _float(low))


def _order(values: Float64Array) -> Array:
    """Integers in the order of the floats."""
    bits = values.view(np.int64)
    numbers: Array = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
    return numbers


def _float(numbers: Array) -> Float64Array:
    """The floats that `_order` numbers."""
    floats: Float64Array = np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers).view(np.float64)
    return floats


def added_up(parts: Sequence[Summand]) -> list[Summand]:
    """Add up parts that are alike: trees, and linear models that fill missing features alike."""
    found: list[Summand] = []
    for part in parts:
        place = next((i for i, other in enumerate(found) if _are_alike(part, other)), None)
        if place is None:
            found.append(part)
        else:
            found[place] = _sum(found[place], part)
    return found


def _are_alike(part: Summand, other: Summand) -> bool:
    kinds = type(part.model), type(other.model)
    return kinds in ((Trees, Trees), (Linear, Linear)) and part.inputs == other.inputs


def _sum(first: Summand, second: Summand) -> Summand:
    one, two = first.model, second.model
    if isinstance(one, Linear) and isinstance(two, Linear):
        return Summand(Linear(one.weights + two.weights, one.constant + two.constant), first.inputs)
    assert isinstance(one, Trees), "`_are_alike` lets no others through"
    assert isinstance(two, Trees)
    return Summand(one.followed_by(two), first.inputs)
