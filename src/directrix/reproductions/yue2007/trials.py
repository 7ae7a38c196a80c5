"""Repeated random splits in which every query is in every part equally often."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.types import Int64Array


class Trial(NamedTuple):
    """Positions of the queries of one split, in ascending order."""

    # train, valid, test: (n,): disjoint; together all queries
    train: Int64Array
    valid: Int64Array
    test: Int64Array


def balanced_trials(n_queries: int, n_train: int, n_valid: int, n_trials: int, *, seed: int) -> list[Trial]:
    r"""Split queries repeatedly so that each is equally often in training, validation and test.

    The queries are put around a circle at random. The first ``n_train`` of them are for training, the next
    ``n_valid`` for validation, the others for testing; then the circle turns by
    g = gcd(n_queries, n_train, n_valid). After n_queries / g trials every query has been in every position,
    and a new random circle is drawn.

    Parameters
    ----------
    n_queries : int
        At least ``n_train + n_valid + 1``.
    n_train, n_valid : int >= 1
        Training and validation queries.
    n_trials : int >= 1
        Balanced if it is a multiple of n_queries / g: of 10 for 50 queries, 10 and 5.
    seed : int >= 0
        For drawing the circles. Trial t does not depend on ``n_trials``.

    Returns
    -------
    list of Trial

    Raises
    ------
    InputError
        If there are too few queries.

    Examples
    --------
    >>> [trial.train.tolist() for trial in balanced_trials(6, 2, 2, 3, seed=0)]
    [[2, 3], [4, 5], [0, 1]]
    """
    if n_train + n_valid >= n_queries:
        raise InputError(
            f"{n_queries} queries cannot be split into {n_train} to train, {n_valid} to validate and "
            f"at least one to test: {n_train + n_valid + 1} or more are needed. Give smaller parts."
        )
    step = math.gcd(n_queries, n_train, n_valid)
    turns = n_queries // step
    trials = []
    for t in range(n_trials):
        circle = np.random.default_rng([seed, t // turns]).permutation(n_queries)
        turned = np.roll(circle, -(t % turns) * step).astype(np.int64)
        parts = np.split(turned, [n_train, n_train + n_valid])
        trials.append(Trial(*map(np.sort, parts)))
    return trials
