"""`SavedModel`: a fitted ranker as a value, and the JSON file that holds it.

`dx.load` makes an estimator from it, and `dx.load_scorer` a scorer for servers; explanations, exports and
cards read it. It needs only NumPy, and Numba for trees.

.. code-block:: text

    {"format": "directrix/1",
     "model":    {"type": "linear", "coef": [one weight per scaled column]}, or of another type,
     "features": {"count": 45, "names": null or [one name per feature], "categories"?: [...],
                  "missing": how missing values count},
     "scale":    null or {the scaling that comes first},
     "calibration"?: {"slope", "intercept", "rel", "knots": [...], "values": [...]},
     "training": {"measure", "surrogate", "trainer", "seed", "parameters", "versions", "data", "result"}}

Numbers are written with the shortest text that reads back to the same bits.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from directrix.data.checks import MISSING
from directrix.data.files import open_compressed, path_of, readable, replacing
from directrix.data.frames import Categories, categories_from
from directrix.data.scale import RAW, Scale, ScaleUnion, fills_missing, kinds_of, scale_from_json
from directrix.errors import Advice, InputError, first_repeated, short_text
from directrix.models.linear import LinearModel
from directrix.models.mlp import Activation, MLPModel
from directrix.models.stumps import StumpModel, check_count
from directrix.models.trees import TREES, Trees
from directrix.parsing import json_of
from directrix.rankers.calibration import Calibration
from directrix.schema import check
from directrix.types import Array, Float64Array, Status

if TYPE_CHECKING:
    from directrix.data.queries import Queries

FORMAT = "directrix/1"
_HINT = "Save the model again with ranker.save(path), or train it again."
_COUNTS = range(1, 1 << 31)
_SIZES = range(1 << 63)

# JSON of numbers shrinks to a third or a tenth of its size; a small file may hold nothing but zeros
_LARGEST_UNPACKED, _MOST_PER_BYTE = 1 << 24, 20
_LARGE = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{200}")
"""A number that may be beyond all floats has one of these."""

AnyModel = LinearModel | MLPModel | StumpModel | Trees


@dataclass(frozen=True)
class SavedModel:
    """A fitted ranker as a value: the content of its file."""

    type: str
    """Type of the model: a key of `directrix.rankers.kinds.KINDS`."""
    model: AnyModel | None
    """None for an ensemble."""
    params: Float64Array
    """Parameters of the model; of trees the values of their leaves, of an ensemble none."""
    n_features: int
    names: tuple[str, ...] | None
    categories: Categories | None
    missing: str
    """How missing values of the training data were read, one of `MISSING`."""
    scale: Scale | ScaleUnion | None
    training: Mapping[str, Any]
    """The record of the training, in JSON types."""
    members: tuple[SavedModel, ...] = ()
    weight: float = 1.0
    spread: float = 1.0
    calibration: Calibration | None = None
    """From scores to probabilities, see ``ranker.calibrate``."""

    @property
    def parts(self) -> tuple[SavedModel, ...]:
        """The models whose scores are added, each times its `share`: the members, or the model itself."""
        return self.members or (self,)

    @property
    def share(self) -> float:
        """Factor on the scores of a member."""
        return self.weight / self.spread

    @property
    def n_columns(self) -> int:
        """Number of scaled columns that the model sees."""
        return self.n_features * (1 if self.scale is None else self.scale.n_columns)

    @property
    def takes_missing(self) -> bool:
        """Whether a feature may be missing (NaN)."""
        return all(
            part.missing == "zero"
            or isinstance(part.model, Trees)
            or (part.scale is not None and part.scale.fills)
            for part in self.parts
        )

    @cached_property
    def unlearned(self) -> Array:
        """Whether a missing value of a feature has no meaning, since training had none: (n_features,)."""
        if self.members:
            of_any: Array = np.logical_or.reduce([member.unlearned for member in self.members])
            return of_any
        found = np.full(self.n_features, self.missing == "error" and self.takes_missing)
        if self.missing == "nan" and isinstance(self.model, Trees):
            kinds = kinds_of(None if self.scale is None else self.scale.kind) or (RAW,)
            for column in self.model.without_side:
                part, feature = divmod(column, self.n_features)
                found[feature] |= not fills_missing(kinds[part])
        return found

    def predict_queries(self, q: Queries) -> Float64Array:
        """Return the score of every document of `Queries`, with the same bits as its ranker.

        Raises `InputError` if the number, names or order of the features differ from training, or if features
        are missing or too large.
        """
        from directrix.rankers.scoring import check_scores, scores_by

        if not self.members:
            scores = scores_by(self.model, self.params, self.ready(q))
            check_scores(scores, q, allow_missing=self.takes_missing)
            return scores
        scores = np.zeros(q.n_docs)
        for member in self.members:
            with np.errstate(over="ignore", invalid="ignore"):
                scores += member.share * member.predict_queries(q)
        check_scores(scores, q, allow_missing=True)
        return scores

    def ready(self, q: Queries) -> Queries:
        """Return the checked and scaled queries."""
        from directrix.data.queries import need_data
        from directrix.rankers.scoring import check_finite, check_learned, check_names, matched, read_as

        need_data(q, "predict_queries")
        if q.n_features != self.n_features:
            raise InputError(
                f"the data have {q.n_features} features, the model was trained on {self.n_features}; "
                "give data with the same features in the same order."
            )
        check_names(q, self.names)
        check_learned(q, self.unlearned, self.missing, "the data")
        q = read_as(matched(q, self.categories), self.missing)
        # other models hide missing values, and relu(-inf) is 0
        hides = isinstance(self.model, MLPModel | StumpModel | Trees)
        if hides or (self.scale is not None and not self.scale.fills):
            check_finite(q, "the data", allow_missing=self.takes_missing)
        return q if self.scale is None else q.scaled(self.scale)

    def probabilities(self, scores: Float64Array) -> Float64Array:
        """Return the calibrated probabilities of scores; `InputError` if the model is not calibrated."""
        if self.calibration is None:
            raise InputError(
                "this model is not calibrated, so its scores are not probabilities.",
                Advice("calibrate"),
            )
        return self.calibration(scores)

    def to_json(self) -> dict[str, Any]:
        """Return the value in JSON types, which `from_json` reads back exactly."""
        if self.model is None:
            members = [{"weight": of.weight, "spread": of.spread, **of.to_json()} for of in self.members]
            body: dict[str, Any] = {"members": members}
        else:
            body = _STORED[self.type].write(self.model, self.params, self.n_columns)
        listed = [None if one is None else list(one) for one in self.categories or ()]
        features = {"count": self.n_features, "names": None if self.names is None else list(self.names)}
        return {
            "model": {"type": self.type, **body},
            "features": features | ({"categories": listed} if listed else {}) | {"missing": self.missing},
            "scale": None if self.scale is None else self.scale.to_json(),
            **({} if self.calibration is None else {"calibration": asdict(self.calibration)}),
            "training": dict(self.training),
        }

    @classmethod
    def from_json(cls, content: Any, where: Any = "the model") -> SavedModel:
        """Check JSON types entry by entry, and return the model; nothing in them is executed.

        Raises `InputError`, which begins with ``where``, if an entry is missing or wrong.
        """
        try:
            return _model_of(content)
        except InputError as error:
            raise InputError(f"{where}: {error} {_HINT}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically: a reader sees the old one or the complete new one.

        Raises `InputError` if the folder cannot be written to, ``path`` is a folder, or a number of the model
        is not finite.
        """
        try:
            text = json.dumps({"format": FORMAT, **self.to_json()}, indent=1, allow_nan=False) + "\n"
        except ValueError as error:
            raise InputError(
                f"{path}: not written, because the model holds NaN or infinite numbers.",
                "Train again with a lower learning rate, or with the scale 'standard'.",
            ) from error
        with replacing(path) as file:
            file.write(text.encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SavedModel:
        """Read a file that `save` wrote.

        Raises `InputError` if it cannot be read, is not JSON, repeats a key, holds NaN or infinity, has
        another format, or has a missing or wrong entry.
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
        return cls.from_json(content, os.fspath(path))


class _Stored(NamedTuple):
    """A type of model in a file: the form of its entries, and functions to and from them."""

    form: dict[str, Any]
    write: Callable[[Any, Float64Array, int], dict[str, Any]]
    read: Callable[[Any, int], tuple[AnyModel, Float64Array]]


def _read_linear(model: Any, n_columns: int) -> tuple[LinearModel, Float64Array]:
    return LinearModel(), _weights("coef", model["coef"], n_columns)


def _write_network(model: MLPModel, params: Float64Array, n_columns: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"hidden": list(model.hidden), "activation": model.activation}
    settings |= {"residual": model.residual, "dropout": model.dropout}
    layers = [
        {
            "weights": layer.weights.ravel().tolist(),
            "bias": [] if layer.bias is None else layer.bias.tolist(),
        }
        for layer in model.layers(params, n_columns)
    ]
    return {**settings, "layers": layers}


def _read_network(model: Any, n_columns: int) -> tuple[MLPModel, Float64Array]:
    network = MLPModel(tuple(model["hidden"]), model["activation"], model["residual"], model["dropout"])
    params = [number for layer in model["layers"] for number in layer["weights"] + layer["bias"]]
    weights = _weights("layers", params, network.n_params(n_columns))
    shapes = [(layer.weights.size, 0 if layer.bias is None else len(layer.bias))
              for layer in network.layers(weights, n_columns)]  # fmt: skip
    found = [(len(layer["weights"]), len(layer["bias"])) for layer in model["layers"]]
    if found != shapes:
        raise InputError(f"model.layers have {found} weights and biases, must have {shapes}.")
    return network, weights


def _write_stairs(model: StumpModel, params: Float64Array, n_columns: int) -> dict[str, Any]:
    pairs = zip(np.split(model.values, model.ptr[1:-1]), np.split(params, model.ptr[1:-1]), strict=True)
    stairs = [
        {"feature": f, "thresholds": values[steps != 0.0].tolist(), "steps": steps[steps != 0.0].tolist()}
        for f, (values, steps) in enumerate(pairs, start=1)
        if steps.any()
    ]
    return {"stairs": stairs}


def _read_stairs(model: Any, n_columns: int) -> tuple[StumpModel, Float64Array]:
    check_count(n_columns)
    thresholds: list[Any] = [[]] * n_columns
    steps: list[Any] = [[]] * n_columns
    for stair in model["stairs"]:
        f = stair["feature"]
        if f > n_columns or thresholds[f - 1]:
            raise InputError(f"model.stairs: feature {f} appears twice, or is not from 1 to {n_columns}.")
        thresholds[f - 1], steps[f - 1] = stair["thresholds"], stair["steps"]
        _weights(f"steps of feature {f}", stair["steps"], len(stair["thresholds"]))
    return StumpModel(thresholds), np.array([step for row in steps for step in row], dtype=np.float64)


def _read_trees(model: Any, n_columns: int) -> tuple[Trees, Float64Array]:
    trees = Trees.of_json(model, n_columns)
    return trees, trees.leaf


_STORED = {
    "linear": _Stored({"coef": [float]}, lambda _, coef, __: {"coef": coef.tolist()}, _read_linear),
    "mlp": _Stored(
        {
            "hidden": [_COUNTS],
            "activation": frozenset(get_args(Activation)),
            "residual": bool,
            "dropout": float,
            "layers": [{"weights": [float], "bias": [float]}],
        },
        _write_network,
        _read_network,
    ),
    "stumps": _Stored(
        {"stairs": [{"feature": _COUNTS, "thresholds": [float], "steps": [float]}]},
        _write_stairs,
        _read_stairs,
    ),
    "trees": _Stored(TREES, lambda trees, _, __: trees.to_json(), _read_trees),
}
"""The types of models."""

_PARTS = {
    "model": {"type": frozenset([*_STORED, "ensemble"])},
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
_ENSEMBLE = {"members": [{"weight": float, "spread": float, "model": {"type": frozenset(_STORED)}}]}
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


def _model_of(content: Any) -> SavedModel:
    check(content, _PARTS)
    stored, features, kind = content["model"], content["features"], content["model"]["type"]
    is_ensemble = kind == "ensemble"
    check(stored, _ENSEMBLE if is_ensemble else _STORED[kind].form, "model")
    check(content["training"], _TRAINED_ENSEMBLE if is_ensemble else _TRAINED, "training")
    count, names = features["count"], features["names"]
    if names is not None and not len(names) == len(set(names)) == count:
        raise InputError(f"features.names must be null or {count} different texts.")
    saved = SavedModel(
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
        return saved
    model, params = _STORED[kind].read(stored, saved.n_columns)
    return replace(saved, model=model, params=params)


def _members(stored: list[Any], count: int) -> tuple[SavedModel, ...]:
    members = []
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
    with readable(path):
        packed = open_compressed(path)
        most = _LARGEST_UNPACKED + _MOST_PER_BYTE * path.stat().st_size
        with packed or path.open("rb") as file:
            content = file.read() if packed is None else file.read(most + 1)
    if packed and len(content) > most:
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
