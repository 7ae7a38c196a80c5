"""From the checked contents of a model file to a fitted ranker."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, get_args

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import UndefinedMeasure, texts_of_a_file
from directrix.measures.names import measure as parse_measure
from directrix.rankers.contents import Contents
from directrix.rankers.ensemble import EnsembleRanker
from directrix.rankers.kinds import KINDS
from directrix.rankers.limits import CONSTRAINTS, from_entries
from directrix.rankers.named_trainers import trainer_from
from directrix.rankers.persistence import SAVE_AGAIN, check, naming
from directrix.rankers.stored import StoredRanker
from directrix.rankers.training import sharpened
from directrix.registry import SURROGATES
from directrix.types import Float64Array, Result, Status

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
def restored(contents: Contents) -> Any:
    """Return the fitted ranker of a model file; `InputError` if the record of its training is wrong."""
    is_ensemble = contents.kind == "ensemble"
    ranker = _restored_ensemble(contents) if is_ensemble else _restored_model(contents)
    ranker.n_features_in_, ranker.categories_ = contents.n_features, contents.categories
    if contents.names is not None:
        ranker.feature_names_in_ = contents.names
    return ranker


def _restored_model(contents: Contents) -> Any:
    path, training, fitted = contents.path, contents.training, contents.fitted
    assert fitted is not None, "only ensembles have no model of their own"
    kind = KINDS[contents.kind].load()
    check(path, '"training"', training, _TRAINING)
    check(path, '"result" of "training"', training["result"], _RESULT)
    check(path, '"parameters" of "training"', training["parameters"], kind.saved_parameters)
    ranker = _unfitted(path, kind, training)
    ranker.scale_, ranker.missing_ = contents.scale, contents.missing
    ranker._take(fitted)
    ranker.measure_ = _measure(path, training)
    surrogate = _surrogate(path, ranker, training)
    if surrogate is not None:
        ranker.surrogate_ = surrogate
    ranker.training_ = training
    ranker.result_ = _result(path, training["result"], fitted.params)
    return ranker


def _restored_ensemble(contents: Contents) -> EnsembleRanker:
    path, training = contents.path, contents.training
    check(path, '"training"', training, {name: _TRAINING[name] for name in ("measure", "versions", "data")})
    parts = [(restored(member), member.weight, member.spread) for member in contents.members]
    return EnsembleRanker.restored(parts, _measure(path, training), training)


def _measure(path: str, training: Mapping[str, Any]) -> RankingMeasure:
    with naming(path, '"measure" of "training"'):
        return parse_measure(training["measure"])


def _unfitted(path: str, kind: type[StoredRanker], training: Mapping[str, Any]) -> Any:
    stored = training["parameters"]
    settings = {name: stored[name] for name in kind.saved_parameters if name in stored}
    parsed: dict[str, Any] = {"surrogate": training["surrogate"]}
    try:
        settings |= {name: from_entries(name, settings[name]) for name in CONSTRAINTS if name in settings}
        if _OBJECT.fullmatch(settings.get("trainer", "")):
            # one that is not known here stays text, which fit refuses and predict does not need
            parsed["trainer"] = trainer_from(settings.pop("trainer"))
        ranker = kind(**settings, random_state=training["seed"])
        ranker.check_parameters()
    except ValueError as error:
        raise InputError(f'{path}: "parameters" of "training": {error} {SAVE_AGAIN}') from error
    return ranker.set_params(**parsed)


def _surrogate(path: str, ranker: StoredRanker, training: Mapping[str, Any]) -> Any:
    """None for a surrogate, or with a measure, that the user defined: the model predicts but cannot train."""
    try:
        return sharpened(ranker._surrogate(), training["result"].get("smoothing"))
    except (InputError, AttributeError) as error:
        named = _OBJECT.fullmatch(training["surrogate"])
        is_users = isinstance(ranker.measure_, UndefinedMeasure)
        if named and (is_users or named["name"].lower() not in {known.lower() for known in SURROGATES}):
            return None
        raise InputError(f'{path}: "surrogate" of "training": {error} {SAVE_AGAIN}') from error


def _result(path: str, stored: dict[str, Any], coef: Float64Array) -> Result:
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
