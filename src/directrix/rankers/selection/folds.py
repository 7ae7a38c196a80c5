"""On which queries trials are judged: validation queries, or folds of the training queries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from directrix.data.queries import Queries
from directrix.data.split import fold_numbers
from directrix.errors import InputError
from directrix.rankers.inputs import Weights
from directrix.types import Array

_FEWEST_TO_SPLIT = 10
_ENOUGH_TO_HOLD_BACK = 1000
_FOLDS = 5


class Fold(NamedTuple):
    """Queries to train on, their weights, and queries that judge."""

    train: Queries
    weights: Weights
    judge: Queries


def selection_folds(
    q: Queries, valid: Queries | None, weights: Weights, folds: int | None, seed: int
) -> tuple[list[Fold], str]:
    """Return the folds, and in words which queries choose; see `search`."""
    if valid is not None:
        return [Fold(q, weights, valid)], f"{valid.n_queries} validation queries"
    if q.n_queries < _FEWEST_TO_SPLIT:
        return [Fold(q, weights, q)], f"the training queries ({q.n_queries}, too few to hold some out)"
    if folds is None:
        folds = _FOLDS if q.n_queries < _ENOUGH_TO_HOLD_BACK else 1
    if folds > q.n_queries:
        raise InputError(
            f"folds={folds} for {q.n_queries} queries: every fold needs a validation query.",
            python=f"Type at most folds={q.n_queries}, or leave it out for {_FOLDS}.",
            shell=f"Type at most --folds {q.n_queries}, or leave it out for {_FOLDS}.",
        )
    number = fold_numbers(q.n_queries, max(folds, _FOLDS if folds == 1 else 2), seed=seed)
    parts = [_fold(q, weights, number == fold) for fold in range(folds)]
    if folds == 1:
        judged = f"{parts[0].judge.n_queries} of {q.n_queries} queries held back"
    else:
        judged = f"{q.n_queries} queries in {folds} folds"
    return parts, f"{judged} (seed {seed}), then trained on all"


def _fold(q: Queries, weights: Weights, is_held_back: Array) -> Fold:
    by_document, by_query = weights
    is_training = ~is_held_back
    rows = np.repeat(is_training, np.diff(q.qptr))
    part = (
        None if by_document is None else by_document[rows],
        None if by_query is None else by_query[is_training],
    )
    return Fold(q.take(np.flatnonzero(is_training)), part, q.take(np.flatnonzero(is_held_back)))
