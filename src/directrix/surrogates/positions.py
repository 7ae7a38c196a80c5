"""Soft ranks, and checks of what surrogates are given."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from directrix.data.validate import check_ranking
from directrix.errors import InputError
from directrix.surrogates.base import DOCS_PER_CHUNK, writable
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, FloatArray, Int64Array

__all__ = ["SMALLEST", "Sigmoid", "positive", "sigmoid_code", "soft_ranks", "whole"]

Sigmoid = Literal["logistic", "tanh", "arctan", "erf"]
_SIGMOIDS: dict[str, tuple[int, float]] = {
    "logistic": (0, 1.0),
    "tanh": (0, 2.0),  # (1 + tanh z)/2 = logistic(2 z)
    "arctan": (1, 1.0),
    "erf": (2, 1.0),
}
SMALLEST, _LARGEST = 1e-30, 1e30


def sigmoid_code(sigmoid: str) -> tuple[int, float]:
    """Kind of the sigmoid in the kernels, and the factor on its steepness.

    Raises
    ------
    InputError
        If there is no such sigmoid.
    """
    if sigmoid not in _SIGMOIDS:
        known = ", ".join(map(repr, _SIGMOIDS))
        raise InputError(f"sigmoid={sigmoid!r}: there is no such sigmoid; type one of {known}.")
    return _SIGMOIDS[sigmoid]


def positive(value: Any, name: str, owner: str, least: float = 0.0) -> float:
    """Return a steepness, smoothing or label as a Python number > 0.

    ``least`` is the smallest that is taken: `SMALLEST` for what is divided by.

    Raises
    ------
    InputError
        If it is not one, or so large (1e30) or small that float32 could not hold what is computed with it.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else 0.0
    if 0.0 < number <= _LARGEST and number >= least:
        return int(value) if isinstance(value, Integral) else number
    wanted = f"at least {least:g}" if least else "> 0"
    raise InputError(
        f"{owner}({name}={value!r}): {name} must be a number {wanted}, at most {_LARGEST:g}; "
        f"type e.g. {owner}({name}=10.0)."
    )


def whole(value: Any, name: str, owner: str) -> int:
    """Return a cut-off or highest label as a Python integer, 1 <= value < 2^31.

    Raises
    ------
    InputError
        If it is not one.
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and 1 <= int(value) < 2**31:
        return int(value)
    raise InputError(
        f"{owner}({name}={value!r}): {name} must be an integer >= 1; type e.g. {owner}({name}=10)."
    )


def soft_ranks(
    scores: FloatArray, qptr: Int64Array | None = None, *, alpha: float = 10.0, sigmoid: Sigmoid = "logistic"
) -> Float64Array:
    r"""Soft ranks :math:`\hat\pi_i = 1 + \sum_{j \ne i} \sigma(\alpha (s_j - s_i))`.

    Parameters
    ----------
    scores : float (n_docs,)
        Higher is ranked first.
    qptr : int64 (n_queries + 1,), or None
        Query boundaries; None = one query.
    alpha : float > 0
        Steepness, in 1 / units of score.
    sigmoid : {"logistic", "tanh", "arctan", "erf"}
        The smooth step.

    Returns
    -------
    float64 (n_docs,)
        1 <= rank <= number of documents of the query; ranks of a query add up to n (n + 1)/2.

    Raises
    ------
    InputError
        If the arrays do not fit together, alpha is not > 0, or the sigmoid is unknown.

    Notes
    -----
    O(n log n + n b) time for a band of b documents, O(n) memory.

    References
    ----------
    Qin, Liu, Li (2010), Eq. (20) and Table 1, doi:10.1007/s10791-009-9124-x.

    Examples
    --------
    >>> soft_ranks(np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330]), alpha=100).round(5)
    array([2.00118, 4.     , 1.     , 5.     , 2.99882])
    """
    alpha = positive(alpha, "alpha", "soft_ranks")
    scores = np.asarray(scores)
    bounds = np.array([0, len(scores)]) if qptr is None else qptr
    scores, _, bounds = check_ranking(scores, np.zeros(len(scores)), bounds)
    kind, factor = sigmoid_code(sigmoid)
    scores, bounds = writable(scores), writable(bounds)
    weights, ranks, grad = np.ones(len(scores)), np.zeros(len(scores)), np.zeros_like(scores)
    chunks = query_chunks(bounds, DOCS_PER_CHUNK)

    def work(c: int) -> None:
        from directrix.surrogates._kernels.approx import pull_chunk

        chunk = int(chunks[c]), int(chunks[c + 1])
        pull_chunk(kind, factor * alpha, scores, weights, bounds, *chunk, ranks, grad, False)  # noqa: FBT003

    run_chunks(work, len(chunks) - 1)
    return ranks
