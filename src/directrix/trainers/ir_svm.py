"""IR-SVM: a RankSVM whose pairs cost what their swap costs a measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from directrix.data.queries import Queries
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.names import measure as parse_measure
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import make_objective
from directrix.surrogates.base import reject_doc_weight
from directrix.surrogates.losses import GradedHinge
from directrix.trainers.cutting_plane import CuttingPlane
from directrix.trainers.progress import Settings, unpenalized_objective
from directrix.types import Callback, Float64Array, Objective, Result


@dataclass(frozen=True)
class IRSVM(Settings):
    r"""Minimize hinges of pairs, with a cost for each pair of grades and the same weight for each query.

    .. math:: \min_w \; \tfrac12 \lVert w \rVert^2
              + C \, \frac{\sum_q v_q \frac{1}{P_q} \sum_{l_i > l_j} \tau_{l_i l_j}
                \max(0,\, 1 - w \cdot (x_i - x_j))}{\sum_q v_q}

    with :math:`P_q` the number of pairs of different labels of query q, and its weight :math:`v_q`. The cost
    :math:`\tau_{ab}` says what it costs to swap a document of grade a with one of the lower grade b: the drop
    of a measure, from the perfect ranking of a query, as a mean over all such swaps of the query and over
    the queries that have both grades.

    Parameters
    ----------
    C : float > 0
        Weight of the errors.
    costs : measure or str
        The measure that the swaps lower: a sum over documents, such as nDCG or nDCG@1.
    epsilon : float > 0
        The gap at which it has converged, absolute, in units of the mean cost; see `CuttingPlane`.
    max_iter : int >= 1
        Cutting planes.

    Notes
    -----
    Costs are divided by the largest one, which C makes up for. Cao et al. estimate the mean drop from random
    swaps; for a sum over documents it follows exactly from the mean discount of each grade's ranks:
    :math:`(g_a - g_b)(\bar D_a - \bar D_b) / Z`. They weight a query by the largest number of pairs over its
    own, which is :math:`1/P_q` but for a factor. With two grades there is one cost, and this is RankSVM with
    a linear hinge and equal weights of the queries.

    Of the objective, only the queries, their weights and the model are used, not the surrogate.
    `CuttingPlane` minimizes the loss to a proven distance from its minimum (``Result.gap``), where the paper
    takes gradient steps or solves a quadratic program in as many variables as there are pairs. Computing the
    costs takes O(n log n + L^2) for every query with L grades; a step then costs what one of `CuttingPlane`
    does.

    References
    ----------
    Cao, Xu, Liu, Li, Huang & Hon (2006), Adapting ranking SVM to document retrieval,
    doi:10.1145/1148170.1148205.

    Examples
    --------
    >>> import directrix as dx
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = IRSVM().minimize(dx.linear_objective(q, "RankSVM"), np.zeros(4))
    >>> result.status, result.gap < 1e-3
    ('converged', True)
    """

    short_name: ClassVar[str] = "ir-svm"
    budget: ClassVar[str] = "max_iter"
    models: ClassVar[tuple[type, ...]] = (LinearModel, StumpModel)

    C: float = 1.0
    costs: RankingMeasure | str = "nDCG"
    epsilon: float = 1e-3
    max_iter: int = 2000

    def __post_init__(self) -> None:
        super().__post_init__()
        measure = parse_measure(self.costs)
        object.__setattr__(self, "costs", measure)
        if measure.form != "sum":
            raise InputError(
                f"IRSVM(costs={measure.name!r}): what a swap costs this measure is not a product of gains "
                "and discounts; a sum over documents is needed, e.g. IRSVM(costs='nDCG@10')."
            )

    def minimize(
        self, objective: Objective, start: Float64Array, *, callback: Callback | None = None
    ) -> Result:
        """Train; see `CuttingPlane.minimize`.

        The objective has a `LinearModel` or `StumpModel`, no penalty, for which there is C, and no weights
        of documents.
        """
        data = unpenalized_objective(objective, self)
        reject_doc_weight(self, data.doc_weight)
        hinge = pair_costs(parse_measure(self.costs), data.queries, data.query_weight)
        inner = make_objective(data.queries, hinge, data.model, query_weight=data.query_weight)
        trainer = CuttingPlane(self.epsilon, max_iter=self.max_iter, C=self.C)
        return replace(trainer.minimize(inner, start, callback=callback), own_loss=True)


def pair_costs(measure: RankingMeasure, q: Queries, weight: Float64Array) -> GradedHinge:
    """Return the hinge with the mean cost of a swap for each pair of grades, over the largest.

    O(L^2) for every query of L grades.
    """
    grades, grade = np.unique(q.labels, return_inverse=True)
    total, seen = np.zeros((2, len(grades), len(grades)))
    worth = measure.document_values(q.labels, q.qptr)
    discount = np.array(measure.discounts(int(np.diff(q.qptr).max())))
    discount[min(measure.depth, len(discount)) :] = 0.0
    sums = np.append(0.0, np.cumsum(discount))
    for first, last, v in zip(q.qptr[:-1], q.qptr[1:], weight, strict=True):
        present, one_of, counts = np.unique(grade[first:last], return_index=True, return_counts=True)
        above = np.append(np.cumsum(counts[::-1])[::-1], 0)[1:]  # documents of higher grades
        mean_discount = (sums[above + counts] - sums[above]) / counts
        gain = worth[first:last][one_of]
        drop = np.subtract.outer(gain, gain) * np.subtract.outer(mean_discount, mean_discount)
        pairs = np.ix_(present, present)
        total[pairs] += v * np.tril(np.maximum(drop, 0.0), -1)
        seen[pairs] += v
    costs = np.divide(total, seen, out=total, where=seen > 0.0)
    largest = costs.max(initial=0.0)
    scaled = costs / largest if largest > 0.0 else costs
    return GradedHinge(tuple(grades.tolist()), tuple(map(tuple, scaled.tolist())))
