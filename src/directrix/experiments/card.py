"""Model cards: the contents of a model file, measured quality, and known limits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.data.scale import is_by_query
from directrix.experiments.importance import feature_labels, permutation_importance
from directrix.experiments.significance.pairs import t_interval
from directrix.measures.names import measure as parse_measure
from directrix.rankers.bounds import CONSTRAINTS
from directrix.rankers.kinds import KINDS
from directrix.rankers.loading import load
from directrix.rankers.means import mean_over_queries, values_of
from directrix.rankers.model_file import model_to_json
from directrix.rankers.record import own_model

# With fewer queries the card says that the figures may differ by chance.
_FEW_QUERIES = 50
# A training with one of these statuses ended before it converged.
_EARLY = ("max_iter", "not_finite")
# The importances on a card are computed from about this number of documents, in whole queries.
_DOCS = 20_000


def model_card(
    path: str | os.PathLike[str], q: Queries | None = None, measures: Sequence[str] = (), *, seed: int = 0
) -> dict[str, Any]:
    """Describe a model file: class, training, figures with intervals, important features, limits.

    Parameters
    ----------
    path : path
        Model file.
    q : Queries, optional
        Queries with labels, for measures and feature importances; training queries are recognized by their
        hash.
    measures : sequence of str
        Measures to report in addition to the training measure.
    seed : int >= 0
        Seed of the shuffles that measure the importances.

    Returns
    -------
    dict
        JSON types; docs/reference/json.md lists the keys.

    Raises
    ------
    InputError
        If the file is not a model, or the model cannot use the data.

    Notes
    -----
    Intervals are 95 % intervals of Student's t over queries. With data, the importance is that of
    `permutation_importance` on about 20,000 documents; without, it is the gain in trees, or the weight of the
    standardized feature.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import directrix as dx
    >>> from directrix.experiments import model_card
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
    >>> q, _ = dx.data.make_linear(20, 10, 4, seed=0)
    >>> dx.LinearRanker("ListNet").fit_queries(q, measure="nDCG@5").save(path)
    >>> card = model_card(path, q)
    >>> card["model"]["size"], card["figures"]["is_training_data"]
    ('4 weights', True)
    """
    return card_of(load(path), path, q, measures, seed=seed)


def card_of(
    ranker: Any, path: str | os.PathLike[str], q: Queries | None, measures: Sequence[str], *, seed: int
) -> dict[str, Any]:
    """Return the card of a ranker that was loaded from a file; see `model_card`."""
    record, content, file = ranker.training_, model_to_json(own_model(ranker)), Path(path)
    card = {
        "file": {
            "date": datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds"),
            "bytes": file.stat().st_size,
            "digest": f"sha256:{sha256(file.read_bytes()).hexdigest()}",
        },
        "model": _model(content),
        "features": {name: content["features"][name] for name in ("count", "names", "missing")},
        "training": {
            "measure": ranker.measure_.name,
            "convention": record["measure"],
            **{key: record[key] for key in ("data", "versions")},
        },
        "selection": _selection(record.get("selection")),
        "figures": None,
        "importance": _own_importance(ranker, content),
    }
    if q is not None:
        card["figures"] = _figures(ranker, q, measures)
        card["importance"] = _importance(ranker, q, seed)
    return {**card, "limits": list(_known_limits(ranker, card))}


def _model(content: dict[str, Any]) -> dict[str, Any]:
    """Return class, size, scale and training of a model, and of the members of an ensemble."""
    model, scale, record = content["model"], content["scale"], content["training"]
    kind = model["type"]
    described = {"class": KINDS[kind].load().__name__, "type": kind}
    if kind == "ensemble":
        members = [{"weight": member["weight"], **_model(member)} for member in model["members"]]
        return {**described, "members": members}
    sizes = {
        "linear": lambda: f"{len(model['coef'])} weights",
        "mlp": lambda: f"{sum(len(layer['weights']) for layer in model['layers'])} weights",
        "stumps": lambda: f"{sum(len(layer['steps']) for layer in model['stairs'])} steps",
        "trees": lambda: f"{len(model['n_leaves'])} trees, {len(model['leaf'])} leaves",
    }
    keys = ("surrogate", "trainer", "seed")
    result = {key: record["result"][key] for key in ("status", "message")}
    set_by_user = {name: record["parameters"].get(name) for name in CONSTRAINTS}
    return {
        **described,
        "size": sizes[kind](),
        "constraints": {name: value for name, value in set_by_user.items() if value},
        "scale": None if scale is None else record["parameters"].get("scale") or scale.get("kind"),
        **{key: record[key] for key in keys},
        **result,
    }


def _selection(record: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the record of the choice with an interval; None for a model that was not chosen."""
    if record is None:
        return None
    interval = None
    # Older model files hold 0 where all values are equal. No interval follows from that.
    if record["error"]:
        from scipy.special import stdtrit

        half = float(stdtrit(record["queries"] - 1, 0.975)) * record["error"]
        interval = [record["value"] - half, record["value"] + half]
    return {**record, "interval": interval}


def _figures(ranker: Any, q: Queries, measures: Sequence[str]) -> dict[str, Any]:
    scores, figures = ranker.predict_queries(q), []
    for goal in dict.fromkeys([ranker.measure_, *map(parse_measure, measures)]):
        values = values_of(goal, scores, q)
        low, high = t_interval(values, np.zeros_like(values)) if not np.isnan(values).all() else (None, None)
        figures.append({"measure": goal.name, "value": mean_over_queries(values), "interval": [low, high]})
    # The hash covers features and labels, so a renamed file of the training data is recognized, too.
    is_training = q.digest == ranker.training_["data"].get("digest")
    return {
        "queries": q.n_queries,
        "documents": q.n_docs,
        "is_training_data": is_training,
        "measures": figures,
    }


def _importance(ranker: Any, q: Queries, seed: int) -> dict[str, Any]:
    result = permutation_importance(ranker, q, n_docs=_DOCS, seed=seed)
    rows = [
        {
            "feature": result.names[j],
            "importance": float(result.mean[j]),
            "interval": list(result.interval(j)),
        }
        for j in result.ranked
    ]
    kind = f"fall of {result.measure} when the feature is shuffled"
    if result.n_queries < result.n_given:
        kind += f", on {result.n_queries} of {result.n_given} queries, drawn at random"
    return {"kind": kind, "features": rows}


def _own_importance(ranker: Any, content: dict[str, Any]) -> dict[str, Any] | None:
    """Return the importances in the model itself: gains of trees, or weights of standardized features."""
    model, scale = content["model"], content["scale"]
    if model["type"] == "trees":
        shares, kind = ranker.feature_importances_, "share in the gain of all splits"
    elif model["type"] == "linear" and scale is not None and scale.get("kind") == "standard":
        shares, kind = np.abs(ranker.coef_), "absolute weight per standard deviation"
    else:
        return None
    names = feature_labels(ranker)
    order = np.argsort(-shares, kind="stable")
    rows = [{"feature": names[j], "importance": float(shares[j])} for j in order if shares[j]]
    return {"kind": kind, "features": rows}


# The limits say in one sentence what the model does with missing values.
_MISSING = {
    "refused": "It rejects missing values (NaN); trees accept them, and the scale 'standard' fills them.",
    "error": "Its training data had no missing values (NaN); they need missing='nan' or 'zero'.",
    "zero": "A missing value (NaN) counts as 0, as in its training.",
    "nan": "Missing values (NaN) count as in its training: trees learned where they go, scales fill them.",
}


def _known_limits(ranker: Any, card: dict[str, Any]) -> Iterator[str]:
    members = card["model"].get("members", [card["model"]])
    kinds = {member["type"] for member in members}
    if any(is_by_query(member["scale"]) for member in members):
        yield (
            "Its features are scaled by query: the score of a document depends on the others of its list, so "
            "whole lists must be scored, and no engine takes it as an export."
        )
    takes_missing = ranker.takes_missing or ranker.missing_ == "zero"
    yield _MISSING[ranker.missing_ if takes_missing else "refused"]
    if kinds & {"trees", "stumps"}:
        yield "Trees do not extrapolate: beyond the values of the training data a feature changes nothing."
    for member in members:
        if member["status"] in _EARLY:
            yield f"The training of the {member['class']} ended early: {member['message']}."
    choice, figures = card["selection"], card["figures"]
    if choice is None:
        yield "The file has no figure on other queries than those of the training."
    else:
        count = choice["candidates"]
        chosen = " if its training kept its best step, which the same queries chose"
        if count > 1:
            chosen = (
                f": the same queries chose it among {count} candidates, and the step of each training that "
                "keeps its best one"
            )
        yield (
            f"Its figure on {choice['on']} is too high{chosen}. A comparison on test queries "
            "has the last word."
        )
    fewest = min(
        (figure["queries"] for figure in (choice, figures) if figure is not None), default=_FEW_QUERIES
    )
    if fewest < _FEW_QUERIES:
        yield f"{fewest} queries are few: a comparison on test queries says whether its lead may be chance."
    if figures is not None and figures["is_training_data"]:
        yield "The figures are of its training data, so overfitting cannot be detected."
    yield (
        f"Other tools may compute {ranker.measure_.name} differently: an evaluation under all conventions "
        "shows by how much."
    )
