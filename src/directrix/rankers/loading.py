"""`load`: a model file as the fitted estimator that it was saved from."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from directrix.errors import InputError
from directrix.measures.names import UndefinedMeasure, texts_of_a_file
from directrix.measures.names import measure as parse_measure
from directrix.rankers.bounds import CONSTRAINTS, from_entries
from directrix.rankers.kinds import KINDS
from directrix.rankers.named_trainers import trainer_from
from directrix.rankers.saved import SavedModel
from directrix.registry import SURROGATES
from directrix.schema import check
from directrix.types import Result

if TYPE_CHECKING:
    from directrix.rankers.ensemble import EnsembleRanker
    from directrix.rankers.stored import StoredRanker

_OBJECT = re.compile(r"<?(?P<name>[A-Za-z_][\w.]*)(?:\(.*\)| .*>)|(?P<own>\w[\w.]*:.+)", re.DOTALL)
"""The repr of some object, or of a user's after its module."""


def load(path: str | os.PathLike[str]) -> StoredRanker | EnsembleRanker:
    """Read a model that ``ranker.save`` or the command line wrote.

    Parameters
    ----------
    path : path
        The JSON file. Every entry is checked; nothing in it is ever executed.

    Returns
    -------
    ranker
        Fitted ranker of the class that was saved: it predicts the same bits, and ``fit`` trains it again in
        the same way. ``result_.trace`` is empty.

    Raises
    ------
    InputError
        If the file cannot be read, has a newer format, or any entry is missing or wrong.

    See Also
    --------
    load_scorer : For servers: it imports only NumPy and scores one list at a time.

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
    saved = SavedModel.read(path)
    with texts_of_a_file():
        try:
            ranker: StoredRanker | EnsembleRanker = _restored(saved)
        except InputError as error:
            raise InputError(f"{path}: training: {error} Train the model again.") from error
    return ranker


def _restored(saved: SavedModel) -> Any:
    ranker: Any = _ensemble(saved) if saved.members else _single(saved)
    ranker.n_features_in_, ranker.categories_ = saved.n_features, saved.categories
    ranker.calibration_ = saved.calibration
    if saved.names is not None:
        ranker.feature_names_in_ = np.array(saved.names, dtype=object)
    return ranker


def _ensemble(saved: SavedModel) -> Any:
    members = [(_restored(member), member.weight, member.spread) for member in saved.members]
    measure = parse_measure(saved.training["measure"])
    return KINDS[saved.type].load().restored(members, measure, saved.training)


def _single(saved: SavedModel) -> Any:
    training, stored = saved.training, saved.training["result"]
    ranker = _unfitted(KINDS[saved.type].load(), training)
    ranker.take_model(saved)
    ranker.measure_ = parse_measure(training["measure"])
    surrogate = _surrogate(ranker, training)
    if surrogate is not None:
        ranker.surrogate_ = surrogate
    ranker.result_ = Result(
        saved.params,
        math.nan if stored["value"] is None else float(stored["value"]),
        stored["status"],
        stored["message"],
        stored["counts"],
        dual=float(stored["dual"]) if "dual" in stored else None,
    )
    return ranker


def _unfitted(kind: Any, training: Any) -> Any:
    names, stored = kind.saved_parameters, training["parameters"]
    check(stored, {name: str if name == "trainer" else object for name in names}, "parameters")
    settings = {name: stored[name] for name in names}
    parsed: dict[str, Any] = {"surrogate": training["surrogate"]}
    try:
        settings |= {name: from_entries(name, settings[name]) for name in CONSTRAINTS if name in settings}
        if _OBJECT.fullmatch(settings.get("trainer", "")):
            # one that is not known here stays text, which fit rejects and predict does not need
            parsed["trainer"] = trainer_from(settings.pop("trainer"))
        ranker = kind(**settings, random_state=training["seed"])
        ranker.check_parameters()
    except ValueError as error:
        raise InputError(f"parameters: {error}") from error
    return ranker.set_params(**parsed)


def _surrogate(ranker: Any, training: Any) -> Any:
    """None for a surrogate, or with a measure, that the user defined: the model predicts but cannot train."""
    try:
        surrogate, smoothing = ranker._surrogate(), training["result"].get("smoothing")
        return surrogate if smoothing is None else surrogate.at(smoothing)
    except (InputError, AttributeError) as error:
        named = _OBJECT.fullmatch(training["surrogate"])
        is_users = isinstance(ranker.measure_, UndefinedMeasure) or (named and named["own"])
        if named and (is_users or named["name"].lower() not in {known.lower() for known in SURROGATES}):
            return None
        raise InputError(f"surrogate: {error}") from error
