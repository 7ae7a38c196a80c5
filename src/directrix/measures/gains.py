"""What a label is worth, and what a rank is worth."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from directrix.errors import InputError
from directrix.types import Float64Array

HIGHEST_EXPONENT = 1000
"""Highest label whose gain 2**label - 1, and sums of such, are floats."""

_HIGHEST_SQUARED = 256

Gain = Literal["exp", "linear"]
Discount = Literal["log2", "letor3"]


def gains(labels: Float64Array, gain: Gain = "exp") -> Float64Array:
    r"""Gain of every label >= 0.

    ``"exp"``: :math:`2^l - 1` (Burges et al. 2005), `InputError` for a label above 1000, whose gain would be
    infinite; ``"linear"``: :math:`l` (Järvelin & Kekäläinen 2002).

    Examples
    --------
    >>> gains(np.array([0.0, 1.0, 2.0, 4.0]))
    array([ 0.,  1.,  3., 15.])
    """
    labels = np.asarray(labels, dtype=np.float64)
    if gain == "linear":
        return labels.copy()
    highest = float(labels.max(initial=0.0))
    if highest > HIGHEST_EXPONENT:
        raise InputError(
            f"the highest label is {highest:g}, whose gain 2**label - 1 is too large for a float; labels up "
            f"to {HIGHEST_EXPONENT} are needed. Map them to grades, e.g. y = numpy.minimum(y, 4)."
        )
    return np.exp2(labels) - 1.0


def check_squared_gains(labels: Float64Array) -> None:
    """Raise `InputError` for a label above 256: the square of its exponential gain would not be a float."""
    highest = float(labels.max(initial=0.0))
    if highest > _HIGHEST_SQUARED:
        raise InputError(
            f"the highest label is {highest:g}, and squares of its gain 2**label - 1 are too large for a "
            f"float; {_HIGHEST_SQUARED} is the most. Map the labels to grades, e.g. y = numpy.minimum(y, 4)."
        )


def discounts(n: int, discount: Discount = "log2") -> Float64Array:
    r"""Discount of the ranks 1..n, in (0, 1], read-only.

    ``"log2"``: :math:`D(p) = 1/\log_2(1 + p)`. ``"letor3"``: :math:`D(1) = 1` and :math:`D(p) = 1/\log_2 p`
    from 2 on (so D(2) = 1 too), as in the script Eval-Score-3.0 of LETOR 3.0 and in Järvelin & Kekäläinen
    (2002).

    Examples
    --------
    >>> discounts(3)
    array([1.        , 0.63092975, 0.5       ])
    >>> discounts(4, "letor3")
    array([1.        , 1.        , 0.63092975, 0.5       ])
    """
    # tables grow by doubling, so that lists of many lengths share a few of them
    return _table(max(64, 1 << (n - 1).bit_length()), discount)[:n]


def reciprocal_ranks(n: int) -> Float64Array:
    """One over the ranks 1..n."""
    return 1.0 / np.arange(1.0, n + 1.0)


@lru_cache(maxsize=32)
def _table(n: int, discount: Discount) -> Float64Array:
    rank = np.arange(1, n + 1, dtype=np.float64)
    if discount == "letor3":
        rank[0] = 2.0  # D(1) = D(2) = 1
        table = 1.0 / np.log2(rank)
    else:
        table = 1.0 / np.log2(1.0 + rank)
    table.flags.writeable = False
    return table
