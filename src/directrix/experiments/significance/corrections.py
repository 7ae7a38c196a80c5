"""Adjustment of p-values for the number of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.errors import InputError
from directrix.types import Float64Array

CORRECTIONS = ("holm", "bonferroni", "benjamini-hochberg")


def adjust(p_values: Any, correction: str = "holm") -> Float64Array:
    r"""Adjust p-values so that each can be compared with one level.

    With p_(1) <= ... <= p_(m):

    - holm: p'_(i) = max_{j <= i} min(1, (m - j + 1) p_(j)). The chance of any false finding is at most alpha.
    - bonferroni: p'_i = min(1, m p_i). The same guarantee; Holm's values are never larger.
    - benjamini-hochberg: p'_(i) = min_{j >= i} min(1, m p_(j) / j). The expected share of false findings
      among the findings is at most alpha, for independent or positively dependent tests.

    Parameters
    ----------
    p_values : float (m,)
        In [0, 1].
    correction : {"holm", "bonferroni", "benjamini-hochberg"}

    Returns
    -------
    float64 (m,)
        In the order given.

    Raises
    ------
    InputError
        If the correction is not known, or a p-value is not between 0 and 1.

    Notes
    -----
    Sources: Holm (1979); Bonferroni after Dunn (1961); Benjamini and Hochberg (1995). Cost O(m log m).

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).tolist()  # 3 x .01, 2 x .03, and no less for the largest
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64).ravel()
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise InputError("p_values must be between 0 and 1, without NaN; give p-values of tests.")
    check_correction(correction)
    m = len(p)
    if correction == "bonferroni":
        return np.minimum(1.0, m * p)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(m)
    if correction == "holm":
        adjusted[order] = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    else:
        scaled = p[order] * m / np.arange(1, m + 1)
        adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(1.0, adjusted)


def check_correction(correction: Any) -> None:
    """Raise `InputError` for a correction that is not known."""
    if correction not in CORRECTIONS:
        raise InputError(f"correction={correction!r}: the corrections are {', '.join(CORRECTIONS)}.")
