"""Losses over pairs of documents: RankNet, RankSVM, and the loss of IR-SVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.pairs import KendallTau
from directrix.measures.terms import query_sums
from directrix.surrogates.base import LossSurrogate, by_label
from directrix.types import Float64Array, Int64Array


class _Pairwise(LossSurrogate):
    """Minus the mean loss over a query's pairs of different labels."""

    measure: ClassVar[RankingMeasure] = KendallTau()
    """Kendall's tau-b, which counts the same pairs; not a limit."""
    entries: ClassVar[tuple[str, ...]] = ("document", "query")

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Rank of every document's label in its query, from 0, and 1/number of pairs of every query."""
        sizes = np.diff(qptr)
        order, level = by_label(labels, qptr)
        levels = np.empty(len(labels), dtype=np.int64)
        levels[order] = level - level[np.repeat(qptr[:-1], sizes)]
        # n^2 less the sum over documents of the number with the same label is twice the number of pairs
        alike = np.bincount(level)[level].astype(np.float64)
        pairs = 0.5 * (sizes.astype(np.float64) ** 2 - query_sums(alike, qptr))
        return levels, np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0.0)


@dataclass(frozen=True)
class RankNet(_Pairwise):
    r"""Cross entropy of pairs, minus it.

    .. math:: -\frac1P \sum_{l_i > l_j} \log\big(1 + e^{-(s_i - s_j)}\big)

    with P the number of pairs of different labels of the query; 0 if there is none.

    Notes
    -----
    Burges et al. add up all pairs of all queries; here all queries have the same weight, as in every
    measure. ``query_weight`` = P gives their sum, up to a factor.

    O(P) time, O(n) memory: four pairs share a division, and a document one logarithm.

    References
    ----------
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton, Hullender (2005), Eq. 3 with target 1,
    doi:10.1145/1102351.1102363.

    Examples
    --------
    >>> scores, labels, qptr = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 2.0]), np.array([0, 3])
    >>> RankNet().value_and_grad(scores, labels, qptr)[0]  # (log(2) + 2 log(1 + 1/e))/3
    array([-0.43989019])
    """

    compiled: ClassVar[str] = "pairwise.rank_net_chunk"


@dataclass(frozen=True)
class RankSVM(_Pairwise):
    r"""Squared hinge of pairs, minus it: RankSVM in the primal.

    .. math:: -\frac1P \sum_{l_i > l_j} \max(0,\, 1 - (s_i - s_j))^2

    with P the number of pairs of different labels of the query; 0 if there is none.

    Notes
    -----
    Together with ``l2`` > 0, which sets the scale of the margin, its minimum is unique. All queries have
    the same weight; ``query_weight`` = P adds up pairs as the original does, and l2 = 1/(2 C sum P) then
    corresponds to its C, in 1/2 \|w\|^2 + C sum of losses.

    The value bounds Kendall's tau-b from below: a pair in the wrong order or tied loses at least 1/P.

    O(n log n) time, O(n) memory, for any number of different labels: documents are sorted once, and runs of
    levels merged, neighbors first.

    References
    ----------
    Chapelle, Keerthi (2010), Efficient algorithms for ranking with SVMs, Eq. 4 (there with C in place of
    1/P), doi:10.1007/s10791-009-9109-9.

    Examples
    --------
    >>> scores, labels, qptr = np.array([0.0, 0.0, 1.5]), np.array([1.0, 0.0, 2.0]), np.array([0, 3])
    >>> RankSVM().value_and_grad(scores, labels, qptr)[0]  # only the tied pair has a loss: 1/3
    array([-0.33333333])
    """

    compiled: ClassVar[str] = "pairwise.rank_svm_chunk"

    @property
    def properties(self) -> frozenset[str]:
        """smooth, convex, shift_invariant, bound (of Kendall's tau-b)."""
        return super().properties | {"bound"}


@dataclass(frozen=True)
class GradedHinge(_Pairwise):
    r"""Minus the mean hinge of pairs, with a cost for each pair of grades: the loss of `IRSVM`.

    .. math:: -\frac1P \sum_{l_i > l_j} \tau_{l_i l_j} \max(0,\, 1 - (s_i - s_j))

    with P the number of pairs of different labels of the query; 0 if there is none.

    Parameters
    ----------
    grades : floats
        Labels that have costs, ascending; every label must be one of them.
    costs : tuples of floats >= 0, one for each grade
        ``costs[a][b]`` is tau of the grades a > b; the rest is not used.

    Raises
    ------
    InputError
        If grades are not ascending, or costs are not one number from 0 on for each pair of them; from
        ``value_and_grad`` if a label is not one of the grades.

    Notes
    -----
    O(n log n + L n) time for L different labels in the query, O(n) memory.

    References
    ----------
    Cao, Xu, Liu, Li, Huang & Hon (2006), doi:10.1145/1148170.1148205.
    """

    compiled: ClassVar[str] = "graded_hinge.graded_hinge_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document", "query", "data")
    grades: tuple[float, ...] = (0.0, 1.0)
    costs: tuple[tuple[float, ...], ...] = ((0.0, 0.0), (1.0, 0.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        n, costs = len(self.grades), np.array([row for row in self.costs if len(row) == len(self.grades)])
        if n == 0 or not (np.diff(self.grades) > 0.0).all() or costs.shape != (n, n) or len(self.costs) != n:
            raise InputError(
                f"{self!r}: ascending grades and a row of {n} costs for each of them are needed, e.g. "
                "GradedHinge(grades=(0, 1, 2), costs=((0, 0, 0), (1, 0, 0), (3, 1, 0)))."
            )
        if not (np.isfinite(costs).all() and (costs >= 0.0).all()):
            raise InputError(f"{self!r}: costs must be numbers from 0 on; a negative one is not convex.")

    @property
    def properties(self) -> frozenset[str]:
        """convex, shift_invariant."""
        return super().properties - {"smooth"}

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Number of every document's grade, 1/number of pairs of every query, and the costs."""
        _, shares = super().from_labels(labels, qptr)
        places = np.minimum(np.searchsorted(self.grades, labels), len(self.grades) - 1)
        unknown = np.unique(labels[np.array(self.grades)[places] != labels])
        if len(unknown):
            raise InputError(
                f"{self!r} has no costs for the label {unknown[0]:g}; give costs for every grade of the "
                f"data, grades={tuple(np.unique(labels).tolist())}, or train with IRSVM(), which finds them."
            )
        return places, shares, np.array(self.costs)
