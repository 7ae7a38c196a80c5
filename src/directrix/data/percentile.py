"""Percentiles of features within a query."""

from __future__ import annotations

import numpy as np

from directrix.types import Array, Float64Array

__all__ = ["percentiles"]


def percentiles(part: Array) -> Float64Array:
    r"""Share of the other documents that have a smaller value, by feature.

    .. math:: \frac{|\{j : x_j < x_i\}|}{n - 1}

    0 for the smallest value and 1 for the largest if only one document has it; equal values get the same
    share. All are 0 if all values are equal.

    Parameters
    ----------
    part : array (n, n_features)
        Documents of one query; NaN stays NaN and is not counted as smaller than any value.

    Returns
    -------
    float64 (n, n_features)

    Notes
    -----
    Every column is sorted, O(n log n) each.
    """
    order = np.argsort(part, axis=0)
    values = np.take_along_axis(part, order, axis=0)
    place = np.arange(len(part), dtype=np.float64)[:, None]
    begins = np.vstack([np.zeros((1, part.shape[1]), dtype=bool), values[1:] != values[:-1]])
    below = np.maximum.accumulate(np.where(begins, place, 0.0), axis=0)
    out = np.empty(part.shape)
    np.put_along_axis(out, order, below / max(len(part) - 1, 1), axis=0)
    out[np.isnan(part)] = np.nan
    return out
