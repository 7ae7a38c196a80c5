"""From a fitted ranker to the content of its model file, and back."""

from __future__ import annotations

import math
import os
import re
from importlib import import_module
from typing import Any, get_args

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.rankers.named_trainers import trainer_from
from directrix.rankers.persistence import check, read_model_file
from directrix.rankers.scaling import scale_from
from directrix.rankers.stored import StoredRanker
from directrix.rankers.training import sharpened
from directrix.registry import SURROGATES
from directrix.types import Float64Array, Result, Status

__all__ = ["content_of", "load"]

_AGAIN = "Train the model again with `directrix train`, or save it again with ranker.save(path)."
_OWN = re.compile(r"<?(?P<name>[A-Za-z_][\w.]*)(?:\(.*\)| .*>)", re.DOTALL)  # the repr of some object
_TRAINING = {
    "measure": "text",
    "surrogate": "text",
    "trainer": "text",
    "seed": "number or null",
    "parameters": "object",
    "versions": "object",
    "data": "object",
    "result": "object",
}
_HOMES = {
    "lightgbm": ("boosted", "BoostedRanker"),
    "linear": ("linear", "LinearRanker"),
    "mlp": ("mlp", "MLPRanker"),
    "stumps": ("stumps", "StumpRanker"),
}
"""Module and class of every type of model; imported when a file asks for it."""
_RESULT = {
    "status": "text",
    "message": "text",
    "value": "number or null",
    "dual": "number or absent",
    "counts": "object",
    "smoothing": "number or absent",
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``ranker.save`` or ``directrix train`` wrote.

    Parameters
    ----------
    path : path
        The JSON file. It is checked entry by entry; nothing in it is ever executed.

    Returns
    -------
    ranker
        Of the class that was saved, fitted: it predicts the same bits. ``result_.trace`` is empty.

    Raises
    ------
    InputError
        If the file cannot be read, is of a newer format, or any entry is missing or wrong.
    """
    content = read_model_file(path)
    model, features, training = content["model"], content["features"], content["training"]
    check(path, '"model"', model, {"type": "text"})
    if model["type"] not in _HOMES:
        raise InputError(
            f'{path}: "model" has type {model["type"]!r}; this version of directrix reads '
            f"{', '.join(map(repr, _HOMES))}. Update with `pip install -U directrix`."
        )
    module, name = _HOMES[model["type"]]
    kind: type[StoredRanker] = getattr(import_module(f"directrix.rankers.{module}"), name)
    check(path, '"features"', features, {"count": "number", "names": "list or null"})
    check(path, '"training"', training, _TRAINING)
    check(path, '"result" of "training"', training["result"], _RESULT)
    check(path, '"parameters" of "training"', training["parameters"], kind.saved_parameters)
    if type(features["count"]) is not int or not 1 <= features["count"] < 2**31:
        raise InputError(
            f'{path}: "count" of "features" is {features["count"]}, must be a whole number from 1 to '
            f"{2**31 - 1}. {_AGAIN}"
        )
    ranker = _unfitted(path, kind, training)
    params = ranker._restore_model(path, model, features["count"])
    ranker.n_features_in_ = features["count"]
    names = _names(path, features["names"], features["count"])
    if names is not None:
        ranker.feature_names_in_ = np.array(names, dtype=object)
    ranker.measure_ = _measure(path, training["measure"])
    ranker.scale_ = scale_from(path, content["scale"], features["count"])
    surrogate = _surrogate(path, ranker, training)
    if surrogate is not None:
        ranker.surrogate_ = surrogate
    ranker.training_ = training
    ranker.result_ = _result(path, training["result"], params)
    return ranker


def content_of(ranker: StoredRanker) -> dict[str, Any]:
    """Everything that a fitted ranker's file holds but the format."""
    names = getattr(ranker, "feature_names_in_", None)
    return {
        "model": {"type": ranker.model_type, **ranker._model_json()},
        "features": {
            "count": ranker.n_features_in_,
            "names": None if names is None else [str(n) for n in names],
        },
        "scale": None if ranker.scale_ is None else ranker.scale_.to_json(),
        "training": ranker.training_,
    }


def _names(path: Any, names: list[Any] | None, count: int) -> list[str] | None:
    if names is None:
        return None
    if (
        len(names) != count
        or len(set(map(str, names))) != count
        or not all(isinstance(n, str) for n in names)
    ):
        raise InputError(f'{path}: "names" of "features" must be null or {count} different texts. {_AGAIN}')
    return names


def _unfitted(path: Any, kind: type[StoredRanker], training: dict[str, Any]) -> Any:
    kept = training["parameters"]
    chosen = {name: kept[name] for name in kind.saved_parameters if name in kept}
    own: dict[str, Any] = {}
    try:
        if _OWN.fullmatch(chosen.get("trainer", "")):
            # one that is not known here stays text, which fit refuses and predict does not need
            own["trainer"] = trainer_from(chosen.pop("trainer"))
        ranker = kind(**chosen, random_state=training["seed"])
        ranker.check_parameters()
    except ValueError as error:
        raise InputError(f'{path}: "parameters" of "training": {error} {_AGAIN}') from error
    return ranker.set_params(surrogate=training["surrogate"], **own)


def _measure(path: Any, text: str) -> RankingMeasure:
    try:
        return parse_measure(text)
    except InputError as error:
        raise InputError(f'{path}: "measure" of "training": {error}') from error


def _surrogate(path: Any, ranker: StoredRanker, training: dict[str, Any]) -> Any:
    """None for a surrogate of the user's own: the model predicts and scores, but trains no more."""
    try:
        return sharpened(ranker._surrogate(), training["result"].get("smoothing"))
    except (InputError, AttributeError) as error:
        own = _OWN.fullmatch(training["surrogate"])
        if own and own["name"].lower() not in {known.lower() for known in SURROGATES}:
            return None
        raise InputError(f'{path}: "surrogate" of "training": {error} {_AGAIN}') from error


def _result(path: Any, stored: dict[str, Any], coef: Float64Array) -> Result:
    statuses = get_args(Status)
    if stored["status"] not in statuses:
        raise InputError(
            f'{path}: "status" of "result" is {stored["status"]!r}, '
            f"must be one of {', '.join(statuses)}. {_AGAIN}"
        )
    for name, count in stored["counts"].items():
        if type(count) is not int or count < 0:
            raise InputError(
                f'{path}: "counts" of "result": {name} is {count!r}, must be a whole number >= 0. {_AGAIN}'
            )
    value = math.nan if stored["value"] is None else float(stored["value"])
    dual = float(stored["dual"]) if "dual" in stored else None
    return Result(coef, value, stored["status"], stored["message"], stored["counts"], dual=dual)
