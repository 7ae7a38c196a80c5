"""Soft ranks, and checks of what surrogates are given."""

from __future__ import annotations

from typing import Literal

import numpy as np

from directrix.data.validate import check_ranking
from directrix.errors import InputError
from directrix.parameters import positive
from directrix.surrogates.base import DOCS_PER_CHUNK, writable
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, FloatArray, Int64Array

Sigmoid = Literal["logistic", "tanh", "arctan", "erf"]
_SIGMOIDS: dict[str, tuple[int, float]] = {
    "logistic": (0, 1.0),
    "tanh": (0, 2.0),  # (1 + tanh z)/2 = logistic(2 z)
    "arctan": (1, 1.0),
    "erf": (2, 1.0),
}


def sigmoid_code(sigmoid: str) -> tuple[int, float]:
    """Kind of the sigmoid in the kernels, and the factor on its steepness; `InputError` if there is none."""
    if sigmoid not in _SIGMOIDS:
        known = ", ".join(map(repr, _SIGMOIDS))
        raise InputError(f"sigmoid={sigmoid!r}: there is no such sigmoid; type one of {known}.")
    return _SIGMOIDS[sigmoid]


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
