"""Measures along a line of scores, by trying a point between any two crossings."""

import numpy as np


def crossings(s, u, qptr):
    """All t at which two documents of a query change places."""
    found = set()
    for q in range(len(qptr) - 1):
        for i in range(qptr[q], qptr[q + 1]):
            for j in range(qptr[q], i):
                if u[i] != u[j]:
                    found.add((s[j] - s[i]) / (u[i] - u[j]))
    return np.array(sorted(found))


def points_between(s, u, qptr, apart=1e-9):
    """One t in every interval between crossings that are not the same but for rounding."""
    t = crossings(s, u, qptr)
    if not len(t):
        return np.array([0.37])
    points = np.concatenate([[t[0] - 1.0], 0.5 * (t[1:] + t[:-1]), [t[-1] + 1.0]])
    return points[[np.abs(t - p).min() > apart for p in points]]


def mean_at(measure, s, u, t, labels, qptr, weight):
    """Weighted mean over the queries for which the measure is defined."""
    value = measure(s + t * u, labels, qptr)
    there = ~np.isnan(measure(np.arange(len(s), dtype=float), labels, qptr))
    return np.average(value[there], weights=weight[there])
