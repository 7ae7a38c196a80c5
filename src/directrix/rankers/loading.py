"""`load`: a model file as the fitted estimator that it was saved from."""

from __future__ import annotations

import math
import os
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from directrix.errors import InputError
from directrix.measures.names import UndefinedMeasure, texts_of_a_file
from directrix.measures.names import measure as parse_measure
from directrix.models.mlp import MLPModel
from directrix.rankers.bounds import CONSTRAINTS, from_entries
from directrix.rankers.fitted import FittedModel
from directrix.rankers.kinds import KINDS
from directrix.rankers.model_file import read_model
from directrix.rankers.named_trainers import trainer_from
from directrix.registry import SURROGATES
from directrix.schema import check
from directrix.types import Result

if TYPE_CHECKING:
    from directrix.rankers.base import Ranker

_OBJECT = re.compile(r"<?(?P<name>[A-Za-z_][\w.]*)(?:\(.*\)| .*>)|(?P<own>\w[\w.]*:.+)", re.DOTALL)
"""The repr of some object, or of a user's after its module."""


def load(path: str | os.PathLike[str]) -> Ranker:
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
    model = read_model(path)
    with texts_of_a_file():
        try:
            ranker: Ranker = _restored(model)
        except InputError as error:
            raise InputError(f"{path}: training: {error} Train the model again.") from error
    return ranker


def _restored(model: FittedModel) -> Any:
    """Return the fitted ranker that holds a model, trained as its record says."""
    kind, training = KINDS[model.type].load(), model.training
    measure = parse_measure(training["measure"])
    if model.members:
        return kind.restored([_restored(member) for member in model.members], model, measure)
    ranker, stored = _unfitted(kind, model), training["result"]
    ranker.model_, ranker.measure_ = model, measure
    ranker._name_features(model)
    surrogate = _surrogate(ranker, training)
    if surrogate is not None:
        ranker.surrogate_ = surrogate
    ranker.result_ = Result(
        model.params,
        math.nan if stored["value"] is None else float(stored["value"]),
        stored["status"],
        stored["message"],
        stored["counts"],
        dual=float(stored["dual"]) if "dual" in stored else None,
    )
    return ranker


def _unfitted(kind: Any, model: FittedModel) -> Any:
    training = model.training
    names, stored = kind.saved_parameters, training["parameters"]
    check(stored, {name: str if name == "trainer" else object for name in names}, "parameters")
    hyperparameters = {name: stored[name] for name in names}
    # The layers are fields of the model and parameters of the ranker; the file holds them once.
    if isinstance(model.model, MLPModel):
        hyperparameters |= asdict(model.model)
    parsed: dict[str, Any] = {"surrogate": training["surrogate"]}
    try:
        hyperparameters |= {
            name: from_entries(name, hyperparameters[name]) for name in CONSTRAINTS if name in hyperparameters
        }
        if _OBJECT.fullmatch(hyperparameters.get("trainer", "")):
            # one that is not known here stays text, which fit rejects and predict does not need
            parsed["trainer"] = trainer_from(hyperparameters.pop("trainer"))
        # The constructor checks nothing, so the parameters are checked here, before texts are replaced by
        # objects.
        ranker = kind(**hyperparameters, random_state=training["seed"])
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
        # Without this distinction a damaged name of a surrogate of directrix would pass for one of the user.
        is_users = isinstance(ranker.measure_, UndefinedMeasure) or (named and named["own"])
        if named and (is_users or named["name"].lower() not in {name.lower() for name in SURROGATES}):
            return None
        raise InputError(f"surrogate: {error}") from error
