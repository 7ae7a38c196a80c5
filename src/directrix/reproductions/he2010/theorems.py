"""The theorems on data that are made for them: bounds of Theorem 2, and the queries of Theorem 4."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from directrix.data.queries import Queries
from directrix.experiments.cells import Cell
from directrix.experiments.tendency import tendency
from directrix.experiments.tendency_on_data import model_values
from directrix.laws.bounds import ndcg_bound, noisy_rank_bounds
from directrix.reproductions.he2010.coefficients import DELTA, DOCS, STRUCTURAL

SIZES = (2, 4, 8, 16, 32)
"""Numbers of relevant documents of the queries of Theorem 4."""
SMOOTH = ("ApproxAP(alpha=1e5, beta=1e3)", "SoftNDCG(sigma=1e-5)")
"""Surrogates that can be made sharp, for comparison."""


def weak_query(n_relevant: int, power: int = 2) -> Queries:
    r"""Make the query of Theorem 4, on which no structural SVM follows its measure.

    It has R relevant documents among :math:`n = R^p`, and two features, which are the two models. By the
    first all relevant documents are at the top, except one that is n below all others: its rank is n, so the
    measure is high, but the hinge grows with its distance. By the second all relevant documents are 1/n below
    the others: the measure is the lowest possible, but the hinge is small.

    So the measure rises by :math:`\Delta` from the second model to the first while the surrogate falls, and
    by Lemma 3 the coefficient is at least :math:`\Delta`. Of AP,

    .. math:: \Delta = \frac1R \Big(R - 1 + \frac Rn\Big) - \frac1R \sum_{i=1}^R \frac{i}{n - R + i},

    which tends to 1 as R grows.

    Parameters
    ----------
    n_relevant : int >= 2
        R.
    power : int >= 2
        p.

    Returns
    -------
    Queries
        One query; features (n, 2), the relevant documents first.
    """
    n = n_relevant**power
    is_relevant = np.arange(n) < n_relevant
    first = np.where(is_relevant, 1.0, 0.0)
    first[n_relevant - 1] = -float(n)
    second = np.where(is_relevant, 0.0, 1.0 / n)
    return Queries.from_arrays(
        np.stack([first, second], axis=1), is_relevant.astype(np.float64), group=[len(is_relevant)]
    )


def by_mean_and_variance(n_docs: int, delta: float, sigma: float) -> float:
    r"""Bound of Theorem 2 by the steps of the paper: the mean and the variance of a noisy rank (Lemmas 2, 6).

    Both are at most :math:`p = \frac{n - 1}{2} \operatorname{erfc}(\delta/(2\sigma))` away from their values
    without noise, the rank and 0. The discount changes by at most 1/(2 ln 2) from rank to rank, and the gains
    add up to at most :math:`\log_2(1 + n)` times the ideal DCG. Twice the error of SoftNDCG (Lemma 1) is then

    .. math:: \varepsilon \le \frac{\log_2(1 + n)}{\ln 2} (p + \sqrt p).

    The paper's own constants are lost in our copy.
    """
    p = 0.5 * (n_docs - 1) * math.erfc(delta / (2.0 * sigma))
    return math.log2(1 + n_docs) / math.log(2.0) * (p + math.sqrt(p))


def by_flips(n_docs: int, delta: float, sigma: float) -> float:
    """Bound of Theorem 2 by `noisy_rank_bounds`."""
    return 2.0 * ndcg_bound(float(noisy_rank_bounds(delta * np.arange(n_docs), sigma).max()))


def example_bounds(sigma: float) -> tuple[float, float]:
    """Return both bounds for the paper's example: N = 200, delta = .1."""
    return by_mean_and_variance(DOCS, DELTA, sigma), by_flips(DOCS, DELTA, sigma)


def weak_cell() -> Cell:
    """Return the cell of `weak_tendencies`."""
    return Cell(("theorem 4", *SIZES), weak_tendencies)


def weak_tendencies() -> list[dict[str, Any]]:
    """Compute on the queries of Theorem 4 how measures and surrogates change, and the coefficients."""
    made = []
    for n_relevant in SIZES:
        q = weak_query(n_relevant)
        surrogates = [*STRUCTURAL.values(), *SMOOTH]
        values = model_values(surrogates, q, models=np.eye(2))
        for name, ours, theirs in zip(surrogates, *values, strict=True):
            made.append(
                {
                    "n_relevant": n_relevant,
                    "n_docs": q.n_docs,
                    "surrogate": name,
                    "rise": float(theirs[0, 0] - theirs[1, 0]),
                    "surrogate rise": float(ours[0, 0] - ours[1, 0]),
                    "coefficient": tendency(ours, theirs).coefficient,
                    "monotone": tendency(ours, theirs, transform="monotone").coefficient,
                }
            )
    return made
