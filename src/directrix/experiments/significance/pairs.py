"""Wins, losses and ties of two systems, and whether chance explains them."""

from __future__ import annotations

from typing import Any, NamedTuple

from directrix.experiments.significance.gaps import gaps_of
from directrix.experiments.significance.single import signed_rank_p


class Paired(NamedTuple):
    """A comparison of two systems, query by query.

    Parameters
    ----------
    wins, losses, ties : int
        Number of queries on which the first system is higher, lower, equal.
    p : float
        Two-tailed p-value of the Wilcoxon signed-rank test, in [0, 1]; 1 if all values are equal.
    """

    wins: int
    losses: int
    ties: int
    p: float

    @property
    def is_clear(self) -> bool:
        """Whether p is below .05, which tables mark with two stars."""
        return self.p < 0.05


def paired(first: Any, second: Any) -> Paired:
    """Compare two systems by their values on the same queries.

    Parameters
    ----------
    first, second : float (n_queries,)
        In the same order of queries.

    Returns
    -------
    Paired
        Wins, losses and ties of ``first``, and the p-value of their difference.

    Raises
    ------
    InputError
        If values are not finite, or their numbers differ.

    Notes
    -----
    Values that differ by at most 1e-12 are equal. The test is that of
    `directrix.experiments.significance.signed_rank`.

    Examples
    --------
    >>> paired([1, 2, 3], [0, 0, 0])  # 1 of the 8 signs is as extreme, in either tail: 2 / 8
    Paired(wins=3, losses=0, ties=0, p=0.25)
    >>> paired([0.5, 0.4, 0.2, 0.3], [0.1, 0.2, 0.3, 0.3])
    Paired(wins=2, losses=1, ties=1, p=0.5)
    """
    gaps = gaps_of(first, second, all_defined=True)
    wins, losses = int((gaps > 0.0).sum()), int((gaps < 0.0).sum())
    return Paired(wins, losses, len(gaps) - wins - losses, signed_rank_p(gaps))
