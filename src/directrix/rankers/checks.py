"""What can be trained on, and with which surrogate: refusals before the work begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakSet

import numpy as np
import scipy.sparse as sp

from directrix.data.queries import Queries
from directrix.data.stored import StoredFeatures
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.registry import SURROGATES, classes
from directrix.surrogates.approx import ApproxNDCG
from directrix.surrogates.names import surrogate as parse_surrogate
from directrix.types import Float64Array

_HIGHEST_LABEL = 256  # squares of gains must stay far from the largest float
_FILL = {
    "python": "Read the file with missing='zero', or fill the values in before Queries.from_arrays.",
    "shell": "Add --missing zero, or fill the values in.",
}

_FINITE: WeakSet[Queries] = WeakSet()
"""Checked data whose features stay in a file: a search does not read them again for every candidate."""


def check_trainable(q: Queries) -> None:
    """Raise `InputError` for data without rows or features, or with labels that are too high for grades."""
    if q.n_features == 0 or q.n_docs == 0:
        raise InputError(
            f"the training data have {q.n_docs} rows and {q.n_features} features; at least one of each is "
            "needed. A row reads `label qid:ID 1:0.5`."
        )
    highest = float(q.labels.max())
    if highest > _HIGHEST_LABEL:
        raise InputError(
            f"the highest label of the training data is {highest:g}; labels are grades such as 0 to 4, not "
            f"above {_HIGHEST_LABEL}, because a gain is 2^label - 1.",
            python="Map them to grades, e.g. y = numpy.digitize(y, thresholds).",
            shell="Map them to grades.",
        )


def check_valid(valid: Queries, q: Queries) -> None:
    """Raise `InputError` for validation data that are missing values or have other features."""
    if valid.n_features != q.n_features:
        raise InputError(
            f"the validation data have {valid.n_features} features, the training data {q.n_features}; both "
            "must have the same ones.",
            python="Read files with read_letor(path, n_features=...).",
            shell="Give files with the same features.",
        )
    check_finite(valid, "the validation data")


def check_finite(q: Queries, name: str) -> None:
    """Raise `InputError` at the first feature that is NaN or infinite; one pass over the features."""
    if q in _FINITE:
        return
    if isinstance(q.features, StoredFeatures):
        for first, rows in q.features.blocks(q.qptr):
            check_finite(replace(q, features=rows, rows=q.rows[first : first + len(rows)]), name)
        _FINITE.add(q)
        return
    values = q.features.data if sp.issparse(q.features) else q.features
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # no copy; what only overflows is looked at again
            return
    bad = np.flatnonzero(~np.isfinite(values).ravel())
    if not bad.size:
        return
    if sp.issparse(q.features):
        row = int(np.searchsorted(q.features.indptr, bad[0], side="right")) - 1
        column = int(q.features.indices[bad[0]])
    else:
        row, column = divmod(int(bad[0]), q.n_features)
    raise InputError(
        f"row {q.rows[row]} of {name}: feature {column + 1} is {values.ravel()[bad[0]]:g}, and "
        f"{bad.size - 1:,} more are not finite; a model needs numbers.",
        **_FILL,
    )


def check_scores(scores: Float64Array, q: Queries) -> None:
    """Raise `InputError` at the first score that is NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise InputError(
            f"the score of row {q.rows[bad[0]]} is {scores[bad[0]]:g}, because one of its features is "
            f"missing or too large; {bad.size:,} of {len(scores):,} scores are not finite.",
            **_FILL,
        )


def check_measurable(measure: RankingMeasure, q: Queries) -> None:
    """Raise `InputError` for data on which a measure cannot be computed."""
    if measure.tie_rule == "trec" and q.doc_ids is None:
        raise InputError(
            f"{measure.name} breaks ties by document identifier, which the data do not have; add "
            f"`# docid = X` to every line (doc_ids= in Python), or break ties otherwise: "
            f"{type(measure).symbol}(ties=expected)."
        )
    measure.prepare(q.labels, q.qptr, doc_ids=q.doc_ids)


def surrogate_of(given: Any) -> Any:
    """Return the surrogate that a ranker was given, or named by text; without one `ApproxNDCG`.

    Raises `InputError` if it is a class, a measure, or a text that names no surrogate.
    """
    if given is None:
        return ApproxNDCG()
    if isinstance(given, type):
        raise InputError(
            f"surrogate={given.__name__} is a class; an object of it is needed: {given.__name__}()."
        )
    if not isinstance(given, str):
        return given
    try:
        return parse_surrogate(given)
    except InputError as error:
        raise _refusal(given, error) from None


def _refusal(given: str, error: InputError) -> InputError:
    """The error for a text that names no surrogate: another one if it names a measure."""
    try:
        measure = parse_measure(given)
    except InputError:
        return error
    twins = (n for n, cls in classes(SURROGATES).items() if type(cls().measure) is type(measure))
    twin = next(twins, "ApproxNDCG")
    return InputError(
        f"surrogate={given!r} is a measure, which has no gradient; a surrogate takes its place. Type "
        f"surrogate={twin!r}, and measure={measure.name!r} in fit to report the measure."
    )
