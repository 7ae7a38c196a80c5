"""Checks of the data that a model scores, and its scores; they need no scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from directrix.data.columns import feature_label
from directrix.data.frames import Categories, spelled_name
from directrix.data.matching import match_data
from directrix.data.queries import Queries, take_columns
from directrix.data.sparse import entries
from directrix.data.stored import blocks
from directrix.errors import Advice, InputError, short_text, warn
from directrix.models.mlp import MLPModel
from directrix.models.rows import row_slice, scores_of
from directrix.models.trees import Trees
from directrix.types import Data, Float64Array


def check_same_features(q: Data, trained: Any, which: str = "the data") -> None:
    """Raise `InputError` unless data have the features of a model, or of training data, in their order."""
    if text := match_data(q, trained).problem(which, "the training data"):
        raise InputError(text, Advice("same-features"))


def take_features(q: Queries, trained: Any) -> Queries:
    """Return queries with the features of a model in its order; `InputError` if they differ."""
    match = match_data(q, trained)
    if match.lacking or match.surplus:
        raise InputError(match.problem("the data", "the training data"), Advice("same-features"))
    return take_columns(q, match.columns)


def check_scores(scores: Float64Array, q: Queries) -> None:
    """Raise `InputError` at the first score that is NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise InputError(
            f"the score of row {q.rows[bad[0]]} is {scores[bad[0]]:g}, because its features are too large; "
            f"{bad.size:,} of {len(scores):,} scores are not finite.",
            Advice("clip"),
        )


def recoded(q: Any, categories: Categories | None, which: str = "the data") -> Any:
    """Return queries with categories coded as positions in these names, of a model or of training data.

    An unknown category becomes missing (NaN), and a note counts such values.

    Raises
    ------
    InputError
        If one has categories where the other has numbers.
    """
    if q.categories == categories:
        return q
    none = (None,) * q.n_features
    features, notes = q.features.copy(), []
    for column, (ours, wanted) in enumerate(zip(q.categories or none, categories or none, strict=True)):
        if ours == wanted:
            continue
        name = feature_label(column, q.feature_names)
        if ours is None or wanted is None:
            have, needed = ("numbers", "categories") if ours is None else ("categories", "numbers")
            raise InputError(
                f"{name} of {which} holds {have}, the model was trained on {needed} in it; give "
                "a frame or a table with the columns of the training data."
            )
        # The table maps our codes to those of the model; its last entry is for missing values.
        table = np.array([*map(place_among(wanted), ours), np.nan])
        codes = np.nan_to_num(features[:, column], nan=len(ours)).astype(np.int64)
        features[:, column] = table[codes]
        unseen = codes[np.isnan(table[codes]) & (codes < len(ours))]
        if len(unseen):
            notes.append(unseen_text(name, len(unseen), int((codes < len(ours)).sum()), ours[unseen[0]]))
    if notes:
        warn(f"{which}: {'; '.join(notes)}; they count as missing.")
    return replace(q, features=features, categories=categories)


def unseen_text(name: str, n: int, n_values: int, example: Any) -> str:
    """Return a clause that counts the values of a feature whose categories the model has not seen."""
    return (
        f"{n:,} of {n_values:,} values of {name} are categories that the model has not seen "
        f"(e.g. {short_text(example)})"
    )


def place_among(names: Sequence[str]) -> Callable[[str], float]:
    """Return a function from the name of a category to its place among these names, NaN without one."""
    exact = {text: float(i) for i, text in enumerate(names)}
    place = {spelled_name(text): i for text, i in exact.items()} | exact
    return lambda text: place.get(text, place.get(spelled_name(text), np.nan))


def check_codes(q: Queries, column: int) -> None:
    """Raise `InputError` unless a column holds whole numbers from 0 to 2^31 - 1, or NaN."""
    values = q.features[:, [column]]
    values = entries(values).astype(np.float64)
    bad = ~(np.isnan(values) | ((values >= 0.0) & (values < 1 << 31) & (values == np.floor(values))))
    if bad.any():
        raise InputError(
            f"categorical_features: column {column} holds {float(values[bad][0]):g}; categories in arrays "
            "are whole numbers >= 0. Or give a frame with a column of a categorical type."
        )


def scores_by(model: Any, params: Float64Array, q: Queries) -> Float64Array:
    """Return the scores of scaled queries, computed as in training, in the precision of the features."""
    if isinstance(model, Trees):
        for column in model.categorical:
            check_codes(q, column)
        return model.predict(q.features)
    if isinstance(model, MLPModel):
        of_network: Float64Array = scores_of(model, params[None], q.features)[0]
        return of_network
    row_blocks = blocks(q.features, q.qptr)
    scores = [model.forward(params, row_slice(rows, 0, rows.shape[0]))[0] for _, rows in row_blocks]
    return np.concatenate(scores).astype(np.float64)


_FEW_QUERIES = 64
"""Queries that are scored first to see whether a trained model ranks anything: nearly always enough."""


def ranks_some(fitted: Any, scaled: Any) -> bool:
    """Return whether some documents of a scaled query have different scores; True for data on disk."""
    if scaled.held != "memory":
        return True
    for queries in (scaled.take(np.arange(min(scaled.n_queries, _FEW_QUERIES))), scaled):
        scores = scores_by(fitted.model, fitted.params, queries)
        # Empty queries have no first row, and reduceat would take that of the next query.
        first = queries.qptr[:-1][np.diff(queries.qptr) > 0]
        if (np.minimum.reduceat(scores, first) < np.maximum.reduceat(scores, first)).any():
            return True
    return False
