"""Trainings that cannot begin: at equal scores their surrogate has no slope."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import warn
from directrix.types import FloatArray

_DEAD = 1e-12


def is_dead(grad: FloatArray, objective: Any) -> bool:
    """Whether a gradient at equal scores is 0 although labels differ within a query of the objective."""
    queries = getattr(objective, "queries", None)
    return np.abs(grad).max(initial=0.0) <= _DEAD and bool(getattr(queries, "n_ordered", 1))


def warn_of_dead_start(surrogate: Any, consequence: str) -> None:
    """Warn that a training begins where its surrogate has no slope, and what follows from that."""
    warn(
        f"{surrogate!r} has no slope where all scores are equal, and the training begins there. "
        f"{consequence}. A surrogate without a cut-off, or with below=0.9, has a slope there.",
        stacklevel=4,
    )


def check_start(params: FloatArray, grad: FloatArray, objective: Any) -> None:
    """Warn if training begins at parameters of zero, so at equal scores, where the surrogate has no slope."""
    surrogate, queries = getattr(objective, "surrogate", None), getattr(objective, "queries", None)
    if surrogate is None or params.any() or np.abs(grad).max(initial=0.0) > _DEAD:
        return
    if queries is not None and hasattr(queries, "qptr"):  # constant features would hide a slope
        grad = surrogate.value_and_grad(np.zeros(len(queries.labels)), queries.labels, queries.qptr)[1]
    if is_dead(grad, objective):
        consequence = "It learns nothing; begin elsewhere, e.g. with LinearRanker(start='regression')"
        warn_of_dead_start(surrogate, consequence)
