"""Model files: a `FittedModel` as JSON, checked entry by entry when it is read.

.. code-block:: text

    {"format": "directrix/1",
     "model":    {"type": "linear", "coef": [one weight per scaled column]}, or of another type,
     "features": {"count": 45, "names": null or [one name per feature], "categories"?: [...],
                  "missing": how missing values count},
     "scale":    null or {the scaling that comes first},
     "calibration"?: {"slope", "intercept", "rel", "knots": [...], "values": [...]},
     "training": {"measure", "surrogate", "trainer", "seed", "parameters", "versions", "data", "result"}}

Numbers are written with the shortest text that reads back to the same bits. `read_model` needs no
scikit-learn; nothing in a file is executed.
"""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from directrix.data.files import decompressor, path_of, readable, replacing
from directrix.data.frames import Categories, categories_from
from directrix.data.missing import MISSING
from directrix.data.scale import Scale, ScaleUnion, scale_from_json
from directrix.errors import InputError, first_repeated, short_text
from directrix.models.linear import LinearModel
from directrix.models.mlp import Activation, MLPModel
from directrix.models.stumps import StumpModel, check_count
from directrix.models.trees import TREES, Trees
from directrix.parsing import json_of
from directrix.rankers.calibration import Calibration
from directrix.rankers.fitted import AnyModel, FittedModel
from directrix.schema import check
from directrix.types import Float64Array, Status

FORMAT = "directrix/1"
_HINT = "Save the model again with ranker.save(path), or train it again."
_COUNTS = range(1, 1 << 31)
# Counts in a record fit into signed integers of 64 bits, and those of a model into 32 bits.
_SIZES = range(1 << 63)

# JSON of numbers shrinks to a third or a tenth of its size; a small file may hold nothing but zeros
_LARGEST_UNPACKED, _MOST_PER_BYTE = 1 << 24, 20
_LARGE = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{200}")
"""A number that may be beyond all floats has one of these."""

_MODELS: dict[str, dict[str, Any]] = {
    "linear": {"coef": [float]},
    "mlp": {
        "hidden": [_COUNTS],
        "activation": frozenset(get_args(Activation)),
        "residual": bool,
        "dropout": float,
        "layers": [{"weights": [float], "bias": [float]}],
    },
    "stumps": {"stairs": [{"feature": _COUNTS, "thresholds": [float], "steps": [float]}]},
    "trees": TREES,
}
"""The form of the entries of each type of model that is no ensemble."""

_ENSEMBLE = {"members": [{"weight": float, "spread": float, "model": {"type": frozenset(_MODELS)}}]}

_PARTS = {
    "model": {"type": frozenset([*_MODELS, "ensemble"])},
    "features": {
        "count": _COUNTS,
        "names": ([str], None),
        "categories?": list,
        "missing": frozenset(MISSING),
    },
    "scale": (dict, None),
    "calibration?": {"slope": float, "intercept": float, "rel": float, "knots": [float], "values": [float]},
    "training": dict,
}
_TRAINED_ENSEMBLE = {"measure": str, "versions": dict, "data": {"columns?": {str: str}}}
_TRAINED = _TRAINED_ENSEMBLE | {
    "surrogate": str,
    "trainer": str,
    "seed": (range(1 << 32), None),
    "parameters": dict,
    "result": {
        "status": frozenset(get_args(Status)),
        "message": str,
        "value": (float, None),
        "dual?": float,
        "counts": {str: _SIZES},
        "smoothing?": float,
    },
}


def read_model(path: str | os.PathLike[str]) -> FittedModel:
    """Read a file that `write_model` wrote.

    Raises `InputError` if it cannot be read, is not JSON, repeats a key, holds NaN or infinity, has another
    format, or has a missing or wrong entry.
    """
    content = _parse(path_of(path))
    stated = content.get("format") if isinstance(content, dict) else None
    if not isinstance(stated, str) or not stated.startswith("directrix/"):
        raise InputError(
            f'{path}: is not a model, which begins with {{"format": "{FORMAT}", ...}}. Give a file that '
            "the command line or ranker.save wrote."
        )
    if stated != FORMAT:
        raise InputError(
            f"{path}: has format {stated!r}, this version of directrix reads {FORMAT!r}. "
            "Update with `pip install -U directrix`, or train the model again here."
        )
    return model_from_json(content, os.fspath(path))


def write_model(model: FittedModel, path: str | os.PathLike[str]) -> None:
    """Write a file atomically: a reader sees the old one or the complete new one.

    Raises `InputError` if the folder cannot be written to, ``path`` is a folder, or a number of the model is
    not finite.
    """
    try:
        text = json.dumps({"format": FORMAT, **model_to_json(model)}, indent=1, allow_nan=False) + "\n"
    except ValueError as error:
        raise InputError(
            f"{path}: not written, because the model holds NaN or infinite numbers.",
            "Train again with a lower learning rate, or with the scale 'standard'.",
        ) from error
    with replacing(path) as file:
        file.write(text.encode())


def model_to_json(model: FittedModel) -> dict[str, Any]:
    """Return a model in JSON types, which `model_from_json` reads back exactly."""
    listed = [None if names is None else list(names) for names in model.categories or ()]
    names = None if model.feature_names is None else list(model.feature_names)
    categories = {"categories": listed} if listed else {}
    return {
        "model": {"type": model.type, **_entries(model)},
        "features": {"count": model.n_features, "names": names, **categories, "missing": model.missing},
        "scale": None if model.scale is None else model.scale.to_json(),
        **({} if model.calibration is None else {"calibration": asdict(model.calibration)}),
        "training": dict(model.training),
    }


def _entries(fitted: FittedModel) -> dict[str, Any]:
    """Return the entries of one type of model, of the form in `_MODELS`."""
    model, params = fitted.model, fitted.params
    if model is None:
        return {"members": [
            {"weight": member.weight, "spread": member.spread, **model_to_json(member)}
            for member in fitted.members
        ]}  # fmt: skip
    if isinstance(model, LinearModel):
        return {"coef": params.tolist()}
    if isinstance(model, Trees):
        return model.to_json()
    if isinstance(model, MLPModel):
        layers = [
            {
                "weights": layer.weights.ravel().tolist(),
                "bias": [] if layer.bias is None else layer.bias.tolist(),
            }
            for layer in model.layers(params, fitted.n_columns)
        ]
        return {**asdict(model), "hidden": list(model.hidden), "layers": layers}
    pairs = zip(np.split(model.values, model.ptr[1:-1]), np.split(params, model.ptr[1:-1]), strict=True)
    stairs = [
        {"feature": f, "thresholds": values[steps != 0.0].tolist(), "steps": steps[steps != 0.0].tolist()}
        for f, (values, steps) in enumerate(pairs, start=1)
        if steps.any()
    ]
    return {"stairs": stairs}


def model_from_json(content: Any, where: Any = "the model") -> FittedModel:
    """Check JSON types entry by entry, and return the model.

    Raises `InputError`, which begins with ``where``, if an entry is missing or wrong.
    """
    try:
        return _model_of(content)
    except InputError as error:
        raise InputError(f"{where}: {error} {_HINT}") from error


def _model_of(content: Any) -> FittedModel:
    check(content, _PARTS)
    stored, features, kind = content["model"], content["features"], content["model"]["type"]
    is_ensemble = kind == "ensemble"
    check(stored, _ENSEMBLE if is_ensemble else _MODELS[kind], "model")
    check(content["training"], _TRAINED_ENSEMBLE if is_ensemble else _TRAINED, "training")
    count, names = features["count"], features["names"]
    if names is not None and not len(names) == len(set(names)) == count:
        raise InputError(f"features.names must be null or {count} different texts.")
    fitted = FittedModel(
        kind,
        None,
        np.empty(0),
        count,
        None if names is None else tuple(names),
        _categories(features.get("categories"), count),
        features["missing"],
        None if is_ensemble else _scale(content["scale"], count),
        content["training"],
        _members(stored["members"], count) if is_ensemble else (),
        calibration=_calibration(content.get("calibration")),
    )
    if is_ensemble:
        return fitted
    model, params = _READERS[kind](stored, fitted.n_columns)
    return replace(fitted, model=model, params=params)


def _members(stored: list[Any], count: int) -> tuple[FittedModel, ...]:
    members = []
    # A member is a whole model, so an ensemble is read by reading its members.
    for place, content in enumerate(stored):
        try:
            member = _model_of(content)
        except InputError as error:
            raise InputError(f"model.members[{place}]: {error}") from error
        weight, spread = float(content["weight"]), float(content["spread"])
        if member.n_features != count or not (weight > 0.0 and spread > 0.0):
            raise InputError(
                f"model.members[{place}] must have {count} features, and a weight and a spread above 0, got "
                f"{member.n_features}, {weight} and {spread}."
            )
        members.append(replace(member, weight=weight, spread=spread))
    if not members:
        raise InputError("model.members is empty.")
    return tuple(members)


def _read_linear(stored: Any, n_columns: int) -> tuple[AnyModel, Float64Array]:
    return LinearModel(), _weights("coef", stored["coef"], n_columns)


def _read_network(stored: Any, n_columns: int) -> tuple[AnyModel, Float64Array]:
    network = MLPModel(tuple(stored["hidden"]), stored["activation"], stored["residual"], stored["dropout"])
    params = [number for layer in stored["layers"] for number in layer["weights"] + layer["bias"]]
    weights = _weights("layers", params, network.n_params(n_columns))
    expected = [(layer.weights.size, 0 if layer.bias is None else len(layer.bias))
                for layer in network.layers(weights, n_columns)]  # fmt: skip
    sizes = [(len(layer["weights"]), len(layer["bias"])) for layer in stored["layers"]]
    if sizes != expected:
        raise InputError(f"model.layers have {sizes} weights and biases, must have {expected}.")
    return network, weights


def _read_stairs(stored: Any, n_columns: int) -> tuple[AnyModel, Float64Array]:
    check_count(n_columns)
    thresholds: list[Any] = [[]] * n_columns
    steps: list[Any] = [[]] * n_columns
    for stair in stored["stairs"]:
        f = stair["feature"]
        if f > n_columns or thresholds[f - 1]:
            raise InputError(f"model.stairs: feature {f} appears twice, or is not from 1 to {n_columns}.")
        thresholds[f - 1], steps[f - 1] = stair["thresholds"], stair["steps"]
        _weights(f"steps of feature {f}", stair["steps"], len(stair["thresholds"]))
    return StumpModel(thresholds), np.array([step for row in steps for step in row], dtype=np.float64)


def _read_trees(stored: Any, n_columns: int) -> tuple[AnyModel, Float64Array]:
    trees = Trees.of_json(stored, n_columns)
    return trees, trees.leaf


_READERS = {"linear": _read_linear, "mlp": _read_network, "stumps": _read_stairs, "trees": _read_trees}


def _weights(name: str, values: list[Any], count: int) -> Float64Array:
    if len(values) != count:
        raise InputError(f"model.{name} holds {len(values)} numbers, must hold {count}.")
    return np.array(values, dtype=np.float64)


def _categories(listed: list[Any] | None, count: int) -> Categories | None:
    try:
        return None if listed is None else categories_from(listed, count)
    except ValueError as error:
        raise InputError(f"features.categories: {error}.") from None


def _scale(content: Any, count: int) -> Scale | ScaleUnion | None:
    scale = None if content is None else scale_from_json(content)
    if scale is not None and scale.n_features not in (None, count):
        raise InputError(f"scale is for {scale.n_features} features, the model for {count}.")
    return scale


def _calibration(content: Any) -> Calibration | None:
    if content is None:
        return None
    knots, values = np.array(content["knots"], dtype=np.float64), np.array(content["values"])
    if len(knots) != len(values) or not (
        content["slope"] > 0.0
        and (np.diff(knots) > 0.0).all()
        and (np.diff(values, prepend=0.0, append=1.0) >= 0.0).all()
    ):
        raise InputError(
            "calibration must have a slope above 0, and as many ascending knots as values, which rise from 0 "
            "to 1 at most."
        )
    slope, intercept, rel = (float(content[name]) for name in ("slope", "intercept", "rel"))
    return Calibration(slope, intercept, rel, tuple(knots.tolist()), tuple(values.tolist()))


def _parse(path: Path) -> Any:
    with readable(path), path.open("rb") as file:
        opener = decompressor(file.peek())
        # Reading stops at this size, so a small file cannot unpack to more than the memory.
        most = _LARGEST_UNPACKED + _MOST_PER_BYTE * path.stat().st_size
        content = file.read() if opener is None else opener(file).read(most + 1)
    if opener and len(content) > most:
        raise InputError(
            f"{path}: unpacks to more than {most} bytes, over {_MOST_PER_BYTE} times its size; numbers of a "
            "model do not, so this is not a model. Unpack it and look at it, or give another file."
        )
    # numbers of Python take a third of the time of checked ones
    checks: dict[str, Any] = {"parse_float": _float, "parse_int": _int} if _LARGE.search(content) else {}
    try:
        text = content.decode("utf-8-sig")
        return json_of(text, object_pairs_hook=_unique, parse_constant=_no_constant, **checks)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}: is not JSON ({error.msg}, column {error.colno}); it may have been cut "
            f"off or overwritten. {_HINT}"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: is not a JSON model file ({error}). {_HINT}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError(f"the key {short_text(first_repeated(name for name, _ in pairs))} appears twice")
    return entries


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number that a model can hold")


def _float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_constant(text[:40])


def _int(text: str) -> int:
    _float(text)
    return int(text)
