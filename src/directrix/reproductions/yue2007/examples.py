"""The small examples of Section 2: what a method optimizes decides which of two rankings it prefers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from directrix.measures.pairs import ROCArea
from directrix.measures.precision import AP
from directrix.types import Float64Array


def best_accuracy(scores: Float64Array, labels: Float64Array) -> float:
    r"""Highest accuracy of any threshold on the scores of one query (Section 2.2).

    .. math:: \max_t \frac1n \#\{i : [s_i > t] = [l_i \ge 1]\}

    Parameters
    ----------
    scores, labels : float64 (n,)

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> best_accuracy(np.array([2.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0]))
    0.6666666666666666
    """
    relevant = labels >= 1.0
    thresholds = np.append(-np.inf, scores)
    return max(float(((scores > t) == relevant).mean()) for t in thresholds)


class Hypothesis(NamedTuple):
    """Values of one of the two rankings of an example."""

    name: str
    ap: float
    other: float  # ROC area, or best accuracy
    published_ap: float
    published_other: float


def hypotheses(example: Mapping[str, Any]) -> tuple[list[str], Float64Array, list[Hypothesis]]:
    """Return the documents of an example, their labels, and the values of the rankings 1..n and n..1.

    ``example`` is one of those in ``published.toml``.
    """
    labels = np.array(example["labels"], dtype=np.float64)
    n = len(labels)
    rankings = {"h1": np.arange(n, 0.0, -1.0), "h2": np.arange(1.0, n + 1.0)}
    found = [
        Hypothesis(name, *_values(scores, labels, example["other"]), *example[name])
        for name, scores in rankings.items()
    ]
    return [str(i) for i in range(1, n + 1)], labels, found


def _values(scores: Float64Array, labels: Float64Array, other: str) -> Sequence[float]:
    qptr = np.array([0, len(labels)])
    ap = float(AP()(scores, labels, qptr)[0])
    if other == "ROCArea":
        return ap, float(ROCArea()(scores, labels, qptr)[0])
    return ap, best_accuracy(scores, labels)
