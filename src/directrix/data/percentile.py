"""Percentiles of features within a query."""

from __future__ import annotations

import numpy as np

from directrix.types import Array, Float64Array

__all__ = ["percentiles"]


def percentiles(part: Array) -> Float64Array:
    r"""Share of the other documents that have a smaller value, by feature.

    .. math:: \frac{|\{j : x_j < x_i\}|}{n - 1}

    0 for the smallest, 1 for a largest that is alone, the same for equal values; 0 throughout where all are
    equal or there is one document.

    Parameters
    ----------
    part : array (n, n_features)
        Documents of one query; NaN stays NaN, and is smaller than nothing.

    Returns
    -------
    float64 (n, n_features)

    Notes
    -----
    A sort of every column, O(n log n) each.
    """
    order = np.argsort(part, axis=0)
    found = np.take_along_axis(part, order, axis=0)
    place = np.arange(len(part), dtype=np.float64)[:, None]
    begins = np.vstack([np.zeros((1, part.shape[1]), dtype=bool), found[1:] != found[:-1]])
    below = np.maximum.accumulate(np.where(begins, place, 0.0), axis=0)
    out = np.empty(part.shape)
    np.put_along_axis(out, order, below / max(len(part) - 1, 1), axis=0)
    out[np.isnan(part)] = np.nan
    return out
