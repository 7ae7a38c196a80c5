"""Columns of categories of a model and of the data that it meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from directrix.data.frames import Categories, spelled_name
from directrix.data.queries import Queries
from directrix.data.shards.queries import ShardedQueries
from directrix.errors import InputError, short_text, warn
from directrix.types import is_sparse

_ADVICE = {
    "python": "Train trees, which split by sets of categories: BoostedRanker() without a scale; or give each "
    "category a column of 0 and 1, e.g. pandas.get_dummies(frame).",
    "shell": "Type --method YetiRank, whose trees split by sets of categories, or name the other columns: "
    "--feature-columns NAME,OTHER.",
}


def matched(q: Queries, categories: Categories | None, which: str = "the data") -> Queries:
    """Return queries whose features hold places among these names: those of a model, or of training data.

    A category without a place becomes missing (NaN), and a note counts such values.

    Raises
    ------
    InputError
        If one has categories where the other has numbers.
    """
    if q.categories == categories:
        return q
    none = (None,) * q.n_features
    features, notes = q.features.copy(), []
    for column, (own, wanted) in enumerate(zip(q.categories or none, categories or none, strict=True)):
        if own == wanted:
            continue
        name = repr(column if q.feature_names is None else q.feature_names[column])
        if own is None or wanted is None:
            have, needed = ("numbers", "categories") if own is None else ("categories", "numbers")
            raise InputError(
                f"the column {name} of {which} holds {have}, the model was trained on {needed} in it; give "
                "a frame or a table with the columns of the training data."
            )
        exact = {text: float(i) for i, text in enumerate(wanted)}
        place = {spelled_name(text): i for text, i in exact.items()} | exact
        table = np.array([*(place.get(text, place.get(spelled_name(text), np.nan)) for text in own), np.nan])
        codes = np.nan_to_num(features[:, column], nan=len(own)).astype(np.int64)
        features[:, column] = table[codes]
        unseen = codes[np.isnan(table[codes]) & (codes < len(own))]
        if len(unseen):
            notes.append(
                f"{len(unseen):,} of {np.count_nonzero(codes < len(own)):,} values of {name} are categories "
                f"that the model has not seen (e.g. {short_text(own[unseen[0]])})"
            )
    if notes:
        warn(f"{which}: {'; '.join(notes)}; they count as missing.")
    return replace(q, features=features, categories=categories)


def refuse_categories(q: Queries | ShardedQueries, what: str) -> None:
    """Raise `InputError` if a column of the data holds categories, which ``what`` cannot use."""
    column = next((i for i, names in enumerate(q.categories or ()) if names is not None), None)
    if column is not None:
        name = column if q.feature_names is None else q.feature_names[column]
        raise InputError(
            f"the column {name!r} holds categories, whose order means nothing; {what} compares numbers.",
            **_ADVICE,
        )


def column_of(name: int | str, known: Sequence[str], n_features: int, parameter: str) -> int:
    """Return the column of a feature by its number from 0, or its name, as a ``parameter`` gives it."""
    if isinstance(name, str) and name in known:
        return known.index(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= name < n_features:
        return int(name)
    raise InputError(
        f"{parameter} has {short_text(name)}; the data have {n_features} features, numbered from 0"
        + (f", with the names {', '.join(known[:20])}." if known else " and without names.")
    )


def check_codes(q: Queries, column: int) -> None:
    """Raise `InputError` unless a column holds whole numbers from 0 to 2^31 - 1, or NaN."""
    values = q.features[:, [column]]
    values = (values.data if is_sparse(values) else values).astype(np.float64)
    bad = ~(np.isnan(values) | ((values >= 0.0) & (values < 1 << 31) & (values == np.floor(values))))
    if bad.any():
        raise InputError(
            f"categorical_features: column {column} holds {float(values[bad][0]):g}; categories in arrays "
            "are whole numbers >= 0. Or give a frame with a column of a categorical type."
        )
