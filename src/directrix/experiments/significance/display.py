"""Letters instead of a matrix of comparisons: systems that share one do not differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from directrix.types import Array

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(means: Any, differ: Any) -> tuple[str, ...]:
    """Give every system letters so that two systems share one exactly if they do not differ.

    Parameters
    ----------
    means : float (n_systems,)
        They order the letters: "a" goes to the best system.
    differ : bool (n_systems, n_systems)
        Symmetric, False on the diagonal.

    Returns
    -------
    tuple of str
        In the order given. After 52 letters numbers in brackets are used.

    Notes
    -----
    A letter is a group of systems of which no two differ and to which none can be added. Groups are grown
    from pairs that share none yet, best systems first, and a group is dropped if the others cover its pairs.
    This gives few letters, not always the fewest, which are NP-hard to find. On the purpose, see Piepho
    (2004). Cost at most O(n^4) for n systems.

    Examples
    --------
    >>> between = [[False, False, True], [False, False, False], [True, False, False]]
    >>> letters([0.5, 0.45, 0.4], between)  # first and last differ, the middle one does not
    ('a', 'ab', 'b')
    """
    order = np.argsort(-np.asarray(means, dtype=np.float64), kind="stable")
    alike = ~np.asarray(differ, dtype=bool)[np.ix_(order, order)]
    groups = _needed(_groups(alike))
    marks = [""] * len(order)
    for number, group in enumerate(sorted(groups)):
        for position in group:
            marks[order[position]] += _ALPHABET[number] if number < len(_ALPHABET) else f"({number + 1})"
    return tuple(marks)


def _groups(alike: Array) -> list[tuple[int, ...]]:
    """Maximal groups that cover every system and every pair that does not differ."""
    n = len(alike)
    covered = np.zeros((n, n), dtype=bool)
    groups = []
    for i in range(n):
        for j in range(i, n):
            if covered[i, j] or not alike[i, j] or (i == j and alike[i].sum() > 1):
                continue
            group = sorted({i, j})
            for k in [*range(i, n), *range(i)]:  # near ones first
                if k not in group and alike[k, group].all():
                    group.append(k)
            covered[np.ix_(group, group)] = True
            groups.append(tuple(sorted(group)))
    return groups


def _needed(groups: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Groups without those whose pairs are all in other groups."""
    remaining = list(groups)
    for group in reversed(groups):
        rest = [set(other) for other in remaining if other != group]
        pairs = [{i, j} for i in group for j in group]
        if all(any(pair <= other for other in rest) for pair in pairs):
            remaining.remove(group)
    return remaining
