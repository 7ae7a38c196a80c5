"""The record of a training in a model file, and what such a file cannot hold.

In: a training and its result. Out: the record in the model file, in JSON types.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from directrix import __version__
from directrix.data.missing import missing_values
from directrix.data.queries import Queries
from directrix.errors import InputError, short_text
from directrix.fingerprint import fingerprint
from directrix.measures.names import UndefinedMeasure, texts_of_a_file
from directrix.measures.names import measure as parse_measure
from directrix.parsing import IN_MODULE
from directrix.rankers.bounds import CONSTRAINTS, to_entries
from directrix.rankers.fitted import FittedModel
from directrix.rankers.inputs import TrainedModel, Training
from directrix.rankers.named_trainers import trainer_from
from directrix.registry import RANKERS
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.types import Result


def training_record(
    ranker: Any, training: Training, queries: Queries, surrogate: Any, trained: TrainedModel
) -> dict[str, Any]:
    """Everything to know about how a ranker was trained on queries, in JSON types only."""
    seed, result = ranker.random_state, trained.result
    smoothing = last_smoothing(result)
    used = {name: getattr(ranker, name) for name in ranker.saved_parameters}
    # Training may use other values than the parameters, such as the weights of a start; those are recorded.
    used |= {"patience": training.patience, **trained.parameters}
    return {
        "measure": repr(training.measure),
        "surrogate": _text(surrogate),
        "trainer": _text(trained.trainer),
        "seed": int(seed) if isinstance(seed, Integral) else None,
        "parameters": {name: _json_value(name, used[name]) for name in ranker.saved_parameters},
        "versions": dict(_versions()),
        "data": {"queries": queries.n_queries, "documents": queries.n_docs, "digest": queries.digest}
        | ({"missing": missing} if (missing := missing_values(queries)) else {}),
        "result": {
            "status": result.status,
            "message": result.message,
            "value": float(result.value) if math.isfinite(result.value) else None,
            "counts": {name: int(count) for name, count in result.counts.items()},
            **({} if result.dual is None else {"dual": float(result.dual)}),
            **({} if smoothing is None else {"smoothing": smoothing}),
        },
    }


def check_own(ranker: Any) -> None:
    """Raise `InputError` for a subclass of a ranker: a model file would be read as the class of directrix."""
    kind = type(ranker)
    if kind.__module__ != f"directrix.{RANKERS.get(kind.__name__)}":
        parent = next((base.__name__ for base in kind.__mro__[1:] if base.__name__ in RANKERS), "ranker")
        raise InputError(
            f"{kind.__name__} is a subclass of {parent}, whose own scores a model file and an export cannot "
            f"hold. Type joblib.dump(ranker, path) to keep it whole; or use {parent} itself, and change the "
            "features before fit and predict, e.g. in a scikit-learn pipeline."
        )


def own_model(ranker: Any) -> FittedModel:
    """Return the model of a fitted ranker, which alone computes its scores.

    Raises `InputError` for a subclass of the user, which may compute other scores.
    """
    check_is_fitted(ranker)
    check_own(ranker)
    check_own(ranker.trained())
    model: FittedModel = ranker.model_
    return model


def check_readable(ranker: Any, fitted: FittedModel) -> None:
    """Raise `InputError` if the model file of a fitted ranker would be read back as another one.

    Files hold texts of measure, surrogate and trainer. Those of a user's class have its module, or a name
    that is not known here, and are left out when the file is read. A class with the name of one of directrix
    would become that one.
    """
    for name, value in (
        ("model", fitted.model),
        ("scale", fitted.scale),
        ("calibration", fitted.calibration),
    ):
        if value is not None and not type(value).__module__.startswith("directrix."):
            raise _unreadable(name, value)
    record, trainer = fitted.training, getattr(ranker, "trainer", None)
    text, surrogate = record.get("surrogate", ""), getattr(ranker, "surrogate_", None)
    of_trainer = record.get("parameters", {}).get("trainer", "")
    with texts_of_a_file():
        _check_text("measure", ranker.measure_, repr(ranker.measure_), parse_measure)
        if surrogate not in (None, text) and not IN_MODULE.fullmatch(text):
            # of an unknown measure it cannot be read, and is left out
            is_lost = isinstance(parse_measure(repr(ranker.measure_)), UndefinedMeasure)
            smoothing = record["result"].get("smoothing")
            kept = parse_surrogate if smoothing is None else lambda t: parse_surrogate(t).at(smoothing)
            _check_text("surrogate", surrogate, text, kept, is_lost=is_lost)
        if trainer != of_trainer and _text(trainer) == of_trainer:
            _check_text("trainer", trainer, of_trainer, trainer_from)


def _check_text(
    name: str, value: Any, text: str, parse: Callable[[str], Any], *, is_lost: bool = False
) -> None:
    """Raise `InputError` unless a text is read back as the value, or stands for one that is not known."""
    try:
        again = parse(text)
    except InputError:  # it wraps one that is not known
        again = "" if is_lost else None
    if not isinstance(again, UndefinedMeasure | str) and fingerprint(again) != fingerprint(value):
        raise _unreadable(name, value)


def _unreadable(name: str, value: Any) -> InputError:
    return InputError(
        f"the {name} {short_text(value)} is of a class of your own, or holds one, and a model file with its "
        f"name would be read back with another {name} or not at all. Type joblib.dump(ranker, path), or give "
        "the class a name that nothing else has."
    )


def last_smoothing(result: Result) -> float | None:
    """Return the smoothing of the chosen step, or of the last one; None for a training without `Anneal`."""
    best = result.counts.get("best")
    # under Restarts a step is a whole run
    rows = [row for row in result.trace if row.get("restart", row["iteration"]) == best] or result.trace
    smoothing = rows[-1].get("smoothing") if rows else None
    return None if smoothing is None else float(smoothing)


def _json_value(name: str, value: Any) -> Any:
    if name in CONSTRAINTS:
        value = to_entries(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _json_value(name, entry) for key, entry in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [_json_value(name, entry) for entry in value]
    return _text(value) if name == "trainer" else value


def _text(value: Any) -> str:
    """A text as it is, else what it prints as, with NumPy's numbers as plain ones: it can be read back.

    The module precedes a user's class: its name alone may be that of a class of directrix.
    """
    if isinstance(value, str):
        return value
    module = type(value).__module__
    with np.printoptions(legacy="1.25"):
        return repr(value) if module.startswith("directrix.") else f"{module}:{value!r}"


# Reading the versions of packages opens files, which takes as long as growing some trees.
@cache
def _versions() -> dict[str, str]:
    """Return the versions on which numbers depend."""
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"directrix": __version__, **packages, "python": platform.python_version()}
