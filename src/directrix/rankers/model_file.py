"""From a model file to a fitted ranker."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from typing import Any, get_args

import numpy as np

from directrix.data.categories import Categories, categories_from
from directrix.data.scale import Scale
from directrix.data.scaling import ScaleUnion, scale_from_json
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import UndefinedMeasure, texts_of_a_file
from directrix.measures.names import measure as parse_measure
from directrix.rankers.ensemble import EnsembleRanker
from directrix.rankers.kinds import KINDS, MODELS
from directrix.rankers.named_trainers import trainer_from
from directrix.rankers.persistence import PARTS, SAVE_AGAIN, check, naming, read_model_file
from directrix.rankers.stored import StoredRanker
from directrix.rankers.training import sharpened
from directrix.registry import SURROGATES
from directrix.types import Array, Float64Array, Result, Status

_OBJECT = re.compile(r"<?(?P<name>[A-Za-z_][\w.]*)(?:\(.*\)| .*>)", re.DOTALL)  # the repr of some object
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
_RESULT = {
    "status": "text",
    "message": "text",
    "value": "number or null",
    "dual": "number or absent",
    "counts": "object",
    "smoothing": "number or absent",
}


@texts_of_a_file()
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

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> ranker = dx.LinearRanker().fit_queries(q)
    >>> ranker.save(path)
    >>> bool((dx.load(path).predict_queries(q) == ranker.predict_queries(q)).all())
    True
    """
    return _restored(path, read_model_file(path))


def _restored(path: Any, content: dict[str, Any], known: Iterable[str] = KINDS) -> Any:
    """The fitted ranker; ``path`` says in messages which file, and which member of an ensemble."""
    model, features = content["model"], content["features"]
    check(path, '"model"', model, {"type": "text"})
    if model["type"] not in known:
        raise InputError(
            f'{path}: "model" has type {model["type"]!r}; this version of directrix reads '
            f"{', '.join(map(repr, known))}. Update with `pip install -U directrix`."
        )
    check(
        path,
        '"features"',
        features,
        {"count": "number", "names": "list or null", "categories": "list or absent"},
    )
    if type(features["count"]) is not int or not 1 <= features["count"] < 2**31:
        raise InputError(
            f'{path}: "count" of "features" is {features["count"]}, must be a whole number from 1 to '
            f"{2**31 - 1}. {SAVE_AGAIN}"
        )
    restore = _restored_ensemble if model["type"] == "ensemble" else _restored_model
    ranker = restore(path, content)
    ranker.n_features_in_ = features["count"]
    ranker.categories_ = _categories(path, features.get("categories"), features["count"])
    if features["names"] is not None:
        ranker.feature_names_in_ = _names(path, features["names"], features["count"])
    return ranker


def _restored_model(path: Any, content: dict[str, Any]) -> Any:
    model, training, n_features = content["model"], content["training"], content["features"]["count"]
    kind = KINDS[model["type"]].load()
    check(path, '"training"', training, _TRAINING)
    check(path, '"result" of "training"', training["result"], _RESULT)
    check(path, '"parameters" of "training"', training["parameters"], kind.saved_parameters)
    ranker = _unfitted(path, kind, training)
    ranker.scale_ = _scale(path, content["scale"], n_features)
    n_columns = 1 if ranker.scale_ is None else ranker.scale_.n_columns
    params = ranker._restore_model(path, model, n_features * n_columns)
    ranker.measure_ = _measure(path, training)
    surrogate = _surrogate(path, ranker, training)
    if surrogate is not None:
        ranker.surrogate_ = surrogate
    ranker.training_ = training
    ranker.result_ = _result(path, training["result"], params)
    return ranker


def _restored_ensemble(path: Any, content: dict[str, Any]) -> EnsembleRanker:
    model, training = content["model"], content["training"]
    check(path, '"model"', model, {"members": "list"})
    check(path, '"training"', training, {name: _TRAINING[name] for name in ("measure", "versions", "data")})
    parts = []
    for number, member in enumerate(model["members"], start=1):
        place = f"{path}: member {number}"
        check(path, '"members"', {str(number): member}, {str(number): "object"})
        check(place, "the member", member, {"weight": "number", "spread": "number", **PARTS})
        for name in ("weight", "spread"):
            if not member[name] > 0.0:
                raise InputError(f'{place}: "{name}" is {member[name]}, must be above 0. {SAVE_AGAIN}')
        ranker = _restored(place, member, MODELS)
        if ranker.n_features_in_ != content["features"]["count"]:
            raise InputError(
                f'{place}: "count" of "features" is {ranker.n_features_in_}, that of the ensemble is '
                f"{content['features']['count']}; they must be equal. {SAVE_AGAIN}"
            )
        parts.append((ranker, float(member["weight"]), float(member["spread"])))
    if not parts:
        raise InputError(f'{path}: "members" is empty; an ensemble has one at least. {SAVE_AGAIN}')
    return EnsembleRanker.restored(parts, _measure(path, training), training)


def _measure(path: Any, training: dict[str, Any]) -> RankingMeasure:
    with naming(path, '"measure" of "training"'):
        return parse_measure(training["measure"])


def _names(path: Any, names: list[Any], count: int) -> Array:
    if not all(isinstance(name, str) for name in names) or not len(names) == len(set(names)) == count:
        raise InputError(
            f'{path}: "names" of "features" must be null or {count} different texts. {SAVE_AGAIN}'
        )
    return np.array(names, dtype=object)


def _categories(path: Any, listed: list[Any] | None, count: int) -> Categories | None:
    try:
        return None if listed is None else categories_from(listed, count)
    except ValueError as error:
        raise InputError(f'{path}: "categories" of "features": {error}. {SAVE_AGAIN}') from None


def _unfitted(path: Any, kind: type[StoredRanker], training: dict[str, Any]) -> Any:
    stored = training["parameters"]
    settings = {name: stored[name] for name in kind.saved_parameters if name in stored}
    parsed: dict[str, Any] = {"surrogate": training["surrogate"]}
    try:
        if _OBJECT.fullmatch(settings.get("trainer", "")):
            # one that is not known here stays text, which fit refuses and predict does not need
            parsed["trainer"] = trainer_from(settings.pop("trainer"))
        ranker = kind(**settings, random_state=training["seed"])
        ranker.check_parameters()
    except ValueError as error:
        raise InputError(f'{path}: "parameters" of "training": {error} {SAVE_AGAIN}') from error
    return ranker.set_params(**parsed)


def _scale(path: Any, content: dict[str, Any] | None, n_features: int) -> Scale | ScaleUnion | None:
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


def _surrogate(path: Any, ranker: StoredRanker, training: dict[str, Any]) -> Any:
    """None for a surrogate, or with a measure, that the user defined: the model predicts but cannot train."""
    try:
        return sharpened(ranker._surrogate(), training["result"].get("smoothing"))
    except (InputError, AttributeError) as error:
        named = _OBJECT.fullmatch(training["surrogate"])
        is_users = isinstance(ranker.measure_, UndefinedMeasure)
        if named and (is_users or named["name"].lower() not in {known.lower() for known in SURROGATES}):
            return None
        raise InputError(f'{path}: "surrogate" of "training": {error} {SAVE_AGAIN}') from error


def _result(path: Any, stored: dict[str, Any], coef: Float64Array) -> Result:
    statuses = get_args(Status)
    if stored["status"] not in statuses:
        raise InputError(
            f'{path}: "status" of "result" is {stored["status"]!r}, '
            f"must be one of {', '.join(statuses)}. {SAVE_AGAIN}"
        )
    for name, count in stored["counts"].items():
        if type(count) is not int or count < 0:
            raise InputError(
                f'{path}: "counts" of "result": {name} is {count!r}, must be a whole number >= 0. '
                f"{SAVE_AGAIN}"
            )
    value = math.nan if stored["value"] is None else float(stored["value"])
    dual = float(stored["dual"]) if "dual" in stored else None
    return Result(coef, value, stored["status"], stored["message"], stored["counts"], dual=dual)
