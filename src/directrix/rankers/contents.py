"""What a model file holds for scoring: features, scales and models, checked. It needs NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from directrix.data.checks import MISSING
from directrix.data.frames import Categories, categories_from
from directrix.data.scale import Scale, ScaleUnion, scale_from_json
from directrix.errors import InputError, short_text
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel, check_count
from directrix.models.trees import MODEL, Trees
from directrix.rankers.kinds import KINDS, MODELS
from directrix.rankers.persistence import PARTS, SAVE_AGAIN, check, naming, weights
from directrix.types import Array, Float64Array

_LAYER = {"inputs": "number", "outputs": "number", "weights": "list", "bias": "list or null"}


class FittedModel(NamedTuple):
    """A model, and its parameters; of trees the values of their leaves."""

    model: LinearModel | MLPModel | StumpModel | Trees
    params: Float64Array


@dataclass(frozen=True)
class Contents:
    """A model file, or a member of an ensemble in it."""

    path: str
    """Which file, and which member of it, in messages."""
    kind: str
    """One of `KINDS`."""
    n_features: int
    names: Array | None
    categories: Categories | None
    missing: str
    """How missing values of the training data were read, one of `MISSING`."""
    scale: Scale | ScaleUnion | None
    fitted: FittedModel | None
    """None for an ensemble."""
    members: tuple[Contents, ...]
    training: Mapping[str, Any]
    """How it was trained, not checked."""
    weight: float = 1.0
    spread: float = 1.0
    """The scores of a member count weight / spread times."""


def contents_of(path: str, file: Mapping[str, Any], known: Iterable[str] = KINDS) -> Contents:
    """Check what scores features; ``path`` says in messages which file, or which member.

    Raises `InputError` if a part is missing or wrong, or the model is not of a ``known`` kind.
    """
    model, features = file["model"], file["features"]
    check(path, '"model"', model, {"type": "text"})
    kind = model["type"]
    if kind not in known:
        raise InputError(
            f'{path}: "model" has type {kind!r}; this version of directrix reads '
            f"{', '.join(map(repr, known))}. Update with `pip install -U directrix`."
        )
    parts = {"count": "number", "names": "list or null", "categories": "list or absent", "missing": "text"}
    check(path, '"features"', features, parts)
    count = features["count"]
    if type(count) is not int or not 1 <= count < 2**31:
        raise InputError(
            f'{path}: "count" of "features" is {count}, must be a whole number from 1 to '
            f"{2**31 - 1}. {SAVE_AGAIN}"
        )
    if (missing := features["missing"]) not in MISSING:
        raise InputError(
            f'{path}: "missing" of "features" is {short_text(missing)}, must be one of {", ".join(MISSING)}. '
            f"{SAVE_AGAIN}"
        )
    is_ensemble = kind == "ensemble"
    scale = None if is_ensemble else _scale(path, file["scale"], count)
    n_columns = count if scale is None else count * scale.n_columns
    fitted = None if is_ensemble else _READERS[kind](path, model, n_columns)
    members = _members(path, model, count) if is_ensemble else ()
    names = None if features["names"] is None else _names(path, features["names"], count)
    categories = _categories(path, features.get("categories"), count)
    return Contents(path, kind, count, names, categories, missing, scale, fitted, members, file["training"])


def _members(path: str, model: Mapping[str, Any], n_features: int) -> tuple[Contents, ...]:
    check(path, '"model"', model, {"members": "list"})
    members = []
    for number, member in enumerate(model["members"], start=1):
        place = f"{path}: member {number}"
        check(path, '"members"', {str(number): member}, {str(number): "object"})
        check(place, "the member", member, {"weight": "number", "spread": "number", **PARTS})
        for name in ("weight", "spread"):
            if not member[name] > 0.0:
                raise InputError(f'{place}: "{name}" is {member[name]}, must be above 0. {SAVE_AGAIN}')
        given = contents_of(place, member, MODELS)
        if given.n_features != n_features:
            raise InputError(
                f'{place}: "count" of "features" is {given.n_features}, that of the ensemble is '
                f"{n_features}; they must be equal. {SAVE_AGAIN}"
            )
        members.append(replace(given, weight=float(member["weight"]), spread=float(member["spread"])))
    if not members:
        raise InputError(f'{path}: "members" is empty; an ensemble has one at least. {SAVE_AGAIN}')
    return tuple(members)


def _names(path: str, names: list[Any], count: int) -> Array:
    if not all(isinstance(name, str) for name in names) or not len(names) == len(set(names)) == count:
        raise InputError(
            f'{path}: "names" of "features" must be null or {count} different texts. {SAVE_AGAIN}'
        )
    return np.array(names, dtype=object)


def _categories(path: str, listed: list[Any] | None, count: int) -> Categories | None:
    try:
        return None if listed is None else categories_from(listed, count)
    except ValueError as error:
        raise InputError(f'{path}: "categories" of "features": {error}. {SAVE_AGAIN}') from None


def _scale(path: str, content: dict[str, Any] | None, n_features: int) -> Scale | ScaleUnion | None:
    if content is None:
        return None
    with naming(path, '"scale"'):
        scale = scale_from_json(content)
    if scale.n_features not in (None, n_features):
        raise InputError(
            f'{path}: "scale" is for {scale.n_features} features, the model for {n_features}; both must '
            f"agree. {SAVE_AGAIN}"
        )
    return scale


def _linear(path: str, model: Mapping[str, Any], n_columns: int) -> FittedModel:
    check(path, '"model"', model, {"coef": "list"})
    return FittedModel(LinearModel(), weights(path, "coef", model["coef"], n_columns))


def _network(path: str, model: Mapping[str, Any], n_columns: int) -> FittedModel:
    check(path, '"model"', model, {"activation": "text", "dropout": "number or absent", "layers": "list"})
    parts: list[Float64Array] = []
    inputs, count, residual = n_columns, len(model["layers"]), False
    if not count:
        raise InputError(f'{path}: "layers" is empty; an output layer is needed. Train the model again.')
    for i, layer in enumerate(model["layers"]):
        where, last = f'"layers"[{i}]', i == count - 1
        check(path, where, layer if isinstance(layer, dict) else {}, _LAYER)
        if last and parts and layer["inputs"] == inputs + n_columns:
            inputs, residual = inputs + n_columns, True  # a linear term
        _check_shape(path, where, layer, inputs, last=last)
        n = layer["inputs"] * layer["outputs"]
        parts.append(weights(path, f"{where} weights", layer["weights"], n, per="connection"))
        if not last:
            parts.append(weights(path, f"{where} bias", layer["bias"], layer["outputs"], per="output"))
        inputs = layer["outputs"]
    hidden = tuple(layer["outputs"] for layer in model["layers"][:-1])
    with naming(path, '"model"'):
        network = MLPModel(hidden, model["activation"], residual, model.get("dropout", 0.0))
    return FittedModel(network, np.concatenate(parts))


def _check_shape(path: str, where: str, layer: dict[str, Any], inputs: int, *, last: bool) -> None:
    """Each layer takes what the one before gives; the last one gives a score and has no bias."""
    given = layer["inputs"], layer["outputs"]
    right = all(type(n) is int and n >= 1 for n in given) and given[0] == inputs
    if not right or (last and given[1] != 1) or last != (layer["bias"] is None):
        raise InputError(
            f"{path}: {where} has inputs {given[0]}, outputs {given[1]} and "
            f"{'no bias' if layer['bias'] is None else 'a bias'}; {inputs} inputs are needed, and "
            f"{'1 output without bias' if last else 'at least 1 output with a bias'}. Train the model again."
        )


def _stairs(path: str, model: Mapping[str, Any], n_columns: int) -> FittedModel:
    check(path, '"model"', model, {"stairs": "list"})
    with naming(path, '"features"'):
        check_count(n_columns)
    thresholds: list[Float64Array] = [np.empty(0)] * n_columns
    steps = thresholds.copy()
    for i, stair in enumerate(model["stairs"]):
        name = f"stairs[{i}]"
        where = f'"{name}"'
        check(path, '"model"', {name: stair}, {name: "object"})
        check(path, where, stair, {"feature": "number", "thresholds": "list", "steps": "list"})
        f = stair["feature"]
        if type(f) is not int or not 1 <= f <= n_columns or len(thresholds[f - 1]):
            raise InputError(
                f'{path}: "feature" of {where} is {f}; features from 1 to {n_columns} may appear once '
                "each. Save the model again with ranker.save(path), or train it again."
            )
        count = len(stair["thresholds"])
        thresholds[f - 1] = weights(path, "thresholds", stair["thresholds"], count)
        steps[f - 1] = weights(path, "steps", stair["steps"], count)
    with naming(path, '"stairs" of "model"'):
        stumps = StumpModel(thresholds)
    return FittedModel(stumps, np.concatenate(steps))


def _trees(path: str, model: Mapping[str, Any], n_columns: int) -> FittedModel:
    parts = {"text": "text"} if "text" in model else MODEL
    check(path, '"model"', model, parts)
    with naming(path, '"model"'):
        trees = Trees.of_json(model, n_columns)
    return FittedModel(trees, trees.leaf)


_READERS: dict[str, Callable[[str, Mapping[str, Any], int], FittedModel]] = {
    "linear": _linear,
    "mlp": _network,
    "stumps": _stairs,
    "trees": _trees,
}
"""From the model of a file, for that many scaled columns, to the model; see `Contents`."""
