"""The rule for missing values: each is an error until the user states its meaning.

``missing="zero"`` reads a missing value as 0, and ``missing="nan"`` keeps it, for trees and for scales that
fill it. `Queries` carry what was stated, a model remembers that of its training data, and scoring applies it:

>>> import directrix as dx
>>> X, y = [[1.0], [None], [3.0], [4.0]], [0, 1, 1, 0]
>>> stated = dx.Queries.from_arrays(X, y, group=[4], missing="nan")
>>> ranker = dx.LinearRanker(scale="standard").fit_queries(stated)
>>> stated.missing, ranker.missing_, ranker.predict(X).shape
('nan', 'nan', (4,))

Every function that takes features calls one of these checks. Infinite values are always an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from directrix.data.checks import has_finite_sum
from directrix.data.columns import feature_label
from directrix.data.sparse import cell_of, entries
from directrix.data.stored import Flaw, flaws_of
from directrix.errors import Advice, InputError
from directrix.types import Array, Data

_Q = TypeVar("_Q", bound=Any)
"""Queries of any kind."""
MISSING = ("error", "zero", "nan")
"""Meanings of missing values: none was stated, 0, or NaN."""


def check_missing(missing: Any) -> None:
    """Raise `InputError` unless it is "error", "zero" or "nan"."""
    if missing not in MISSING:
        raise InputError(f"missing={missing!r}; choose 'error', 'zero' or 'nan'.")


def check_cells(
    features: Any, missing: str | None, names: Sequence[Any], place: Callable[[int], str], among: str = ""
) -> None:
    """Raise `InputError` at the first feature that is infinite, or missing if that is an error.

    ``missing=None`` is for functions that have no meaning for missing values. ``among`` names the rows if
    there are others.
    """
    if missing is not None:
        check_missing(missing)
    values = entries(features)
    # A finite sum proves that all values are finite, and needs no memory for a mask.
    if has_finite_sum(values):
        return
    bad = np.isinf(values) if missing in ("zero", "nan") else ~np.isfinite(values)
    if not bad.any():
        return
    entry = int(np.argmax(bad))
    (row, column), value = cell_of(features, entry), values.ravel()[entry].item()
    raise InputError(
        f"features: {value} at {place(row)}, {feature_label(column, names)}; finite numbers are needed "
        f"(values that are NaN or infinite{among}: {int(bad.sum()):,}).",
        Advice("clip-column", column=column)
        if np.isinf(value)
        else Advice("missing-values" if missing else "fill-missing"),
    )


def check_finite(
    q: Any, name: str, *, allow_missing: bool = False, rule: str = "error", unlearned: Array | None = None
) -> None:
    """Raise `InputError` at the first feature that is infinite, or missing without a meaning.

    A missing value has one if the method supports it, ``allow_missing``, and it was stated: with the data, or
    by the ``rule`` of the training data. A model with this rule has none for ``unlearned`` features.
    """
    gap, infinite = _first(q.flaws, np.isnan), _first(q.flaws, np.isinf)
    if infinite:
        raise _error(q, name, infinite, "this model takes no infinite values.", Advice("clip"))
    if gap and not allow_missing:
        raise _error(q, name, gap, "this model takes no missing values (NaN).", Advice("scale-or-trees"))
    if gap and q.missing == rule == "error" and unlearned is None:
        reason = "the meaning of missing values must be stated."
        raise _error(q, name, gap, reason, Advice("missing-values"))
    if not gap or q.missing != "error" or unlearned is None:
        return
    if gap := _first(flaws_of(q.features, q.qptr, q.rows, unlearned), np.isnan):
        is_whole = rule == "error"
        never = "nothing was" if is_whole else "this feature was never"
        reason = f"in the training data {never} missing, so the model has not learned what that means."
        advice = Advice("missing-or-zero" if is_whole else "missing")
        raise _error(q, name, gap, f"{reason} Give the value,", advice)


def _first(flaws: Iterable[Flaw], kind: Callable[[float], Any]) -> Flaw | None:
    return next((flaw for flaw in flaws if kind(flaw.value)), None)


def _error(q: Data, name: str, flaw: Flaw, reason: str, advice: Advice) -> InputError:
    value = "missing (NaN)" if np.isnan(flaw.value) else f"{flaw.value:g}"
    more = f", and {flaw.n - 1:,} more are" if flaw.n > 1 else ""
    column = feature_label(flaw.column, q.feature_names)
    return InputError(f"{flaw.where} of {name}: {column} is {value}{more}; {reason}", advice)


def missing_values(q: Data) -> int:
    """Return the number of features that are NaN."""
    return sum(flaw.n for flaw in q.flaws if np.isnan(flaw.value))


def check_rule(given: str | None, rule: str, which: str) -> None:
    """Raise `InputError` if missing values count as 0, and those of the training data were kept."""
    if rule == "nan" and given == "zero":
        raise InputError(
            f"{which}: missing values were read as 0, and those of the training data were kept; a model "
            "treats them as in its training.",
            Advice("keep-missing"),
        )


def read_as(q: Any, rule: str, which: str = "the data") -> Any:
    """Return data with missing values treated by the ``rule`` of the training data.

    Raises `InputError` if they were read as 0 and those of the training data were kept.
    """
    if rule == "zero":
        return filled(replace(q, missing=rule)) if q.held == "memory" or missing_values(q) else q
    check_rule(q.missing, rule, which)
    return q


def stated(q: _Q, missing: str) -> _Q:
    """Return queries with this meaning of missing values, or unchanged if they state one."""
    check_missing(missing)
    # A copy is checked again, which takes as long as to score a list.
    return q if q.missing != "error" or missing == "error" else filled(replace(q, missing=missing))


def filled(q: _Q) -> _Q:
    """Return queries with 0 for missing values if they were read with "zero", and others unchanged.

    Raises `InputError` if there are some, and the features are not in memory.
    """
    if q.missing != "zero":
        return q
    if q.held != "memory":
        if missing_values(q):
            raise q.features.refusal("reading missing values as 0")
        return q
    zeros = zeros_for_missing(q.features, q.categories)
    return q if zeros is q.features else replace(q, features=zeros)


def zeros_for_missing(features: Any, categories: Sequence[Any] | None) -> Any:
    """Return features with 0 for NaN, or the same object without NaN; a missing category stays NaN."""
    values: Any = entries(features)
    if has_finite_sum(values):
        return features
    gaps = np.isnan(values)
    if categories is not None:
        gaps[:, [names is not None for names in categories]] = False
    values = np.where(gaps, values.dtype.type(0.0), values)
    if values.ndim == 2:
        return values
    return type(features)((values, features.indices, features.indptr), shape=features.shape)
