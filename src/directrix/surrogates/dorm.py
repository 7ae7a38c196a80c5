r"""DORM (Le, Smola 2007): a hinge over all rankings, with a linear assignment as its oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.surrogates.base import WHOLE_LIST, MeasureSurrogate, writable
from directrix.types import Float64Array, FloatArray, Int64Array


class _Prepared(NamedTuple):
    """What depends on labels, and the coefficients of the perfect order if they are ``fixed``."""

    labels: Float64Array
    worth: Float64Array
    by_label: Int64Array
    discount: Float64Array
    star: Float64Array
    fixed: bool


@dataclass(frozen=True)
class Dorm(MeasureSurrogate):
    r"""DORM's bound of nDCG@k: one minus a hinge over all rankings.

    .. math:: 1 - \max_\pi \Big[ 1 - \mathrm{nDCG@}k(\pi)
                + \sum_i \big(c(\pi(i)) - c(\pi^*(i))\big) s_i \Big], \qquad c(p) = \frac{1}{\log_2(1 + p)}

    with :math:`\pi^*` a perfect ranking: documents by label.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off of nDCG; None = the whole list. c counts all ranks in either case.
    ties : {"score", "mean"}
        Which of the perfect rankings :math:`\pi^*` is: documents of equal labels stand

        - ``"score"``: by score. The hinge asks for nothing among equal labels; it is a difference of
          convex functions, and convex once the ranking is fixed (see `convexify`);
        - ``"mean"``: in all orders, and c is the mean over them. The hinge is convex; equal labels cost
          something unless their scores are equal.

    Notes
    -----
    Never above nDCG@k, whatever the order of tied scores. With ``ties="score"`` the value is never below that
    of ``"mean"``, and reaches 1 as documents of different labels move apart. Queries without a gain
    have the value 0, as nDCG has, and no gradient.

    The ranking that attains the maximum is found exactly, in memory O(n). Without a cut-off by sorting:
    O(n log n). With one, an assignment problem is solved by shortest augmenting paths: O(k (n + L^2)) for L
    labels, or O(min(k, n - k) n^2) where that is less (docs/decisions/0070).

    With ``ties="score"`` start anywhere but at weights of 0, e.g. at `directrix.trainers.regression_start`:
    at 0 all scores tie, the fixed ranking is the mean over all orders, and rounds may stay there. Where
    labels are far from separable, weights of 0 can be the optimum of ``"mean"``, and of both if k is small.

    Documents of equal label and score have the mean of their coefficients, so that the gradient does not
    depend on their order. It is a subgradient (of the convexified loss, for ``"score"``) everywhere.

    References
    ----------
    Le & Smola (2007), Direct optimization of ranking measures, arXiv:0704.3359.

    Examples
    --------
    The two documents would have to be apart by 1 in place of 0 for the value 1; both rankings are as bad:

    >>> Dorm().value_and_grad(np.zeros(2), np.array([1.0, 0.0]), np.array([0, 2]))
    (array([0.63092975]), array([ 0.36907025, -0.36907025]))
    """

    compiled: ClassVar[str] = "dorm.dorm_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document", "document", "document", "data", "document", "data")
    measured: ClassVar[type[RankingMeasure]] = NDCG
    k: int | None = None
    ties: Literal["score", "mean"] = "score"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in ("score", "mean"):
            raise InputError(
                f"Dorm(ties={self.ties!r}): there is no such rule for equal labels; type 'score' (by score) "
                "or 'mean' (all orders alike, which makes it convex)."
            )

    @property
    def traits(self) -> frozenset[str]:
        """bound, shift_invariant; convex with ties="mean", else convexifiable."""
        return frozenset({"bound", "shift_invariant", "convex" if self.ties == "mean" else "convexifiable"})

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> _Prepared:
        """Gains over the ideal DCG@k, the documents by label, and c."""
        worth = self.measure.document_values(labels, qptr)
        sizes = np.diff(qptr)
        by_label = np.lexsort((-labels, np.repeat(np.arange(len(sizes)), sizes)))
        by_label -= np.repeat(qptr[:-1], sizes)
        discount = writable(self.measure.discounts(int(sizes.max(initial=0))))
        prepared = _Prepared(writable(labels), worth, by_label, discount, np.zeros(len(labels)), fixed=False)
        # Scores that all tie: every order of equal labels is as good as another.
        return _fixed_at(np.zeros(len(labels)), prepared, qptr) if self.ties == "mean" else prepared

    def convexify(self, scores: FloatArray, prepared: _Prepared, qptr: Int64Array) -> _Prepared:
        """Fix the perfect ranking as it is at these scores.

        What is returned takes the place of ``prepared``. With it the loss is convex, nowhere below the loss
        as it was, and equal to it at these scores, in value and gradient. With ``ties="mean"`` nothing is
        left to fix.

        Parameters
        ----------
        scores : float (n_docs,)
        prepared
            What `prepare` returned, for the same documents.
        qptr : int64 (n_queries + 1,)
        """
        return prepared if self.ties == "mean" else _fixed_at(scores, prepared, qptr)

    def settings(self) -> tuple[Any, ...]:
        """The cut-off as a number."""
        return (self.k or WHOLE_LIST,)


def _fixed_at(scores: FloatArray, prepared: _Prepared, qptr: Int64Array) -> _Prepared:
    from directrix.surrogates._kernels.dorm import perfect_chunk

    star, qptr = np.empty(len(scores)), writable(qptr)
    arrays = prepared.labels, prepared.by_label, prepared.discount
    perfect_chunk(writable(scores), *arrays, qptr, 0, len(qptr) - 1, star)
    return prepared._replace(star=star, fixed=True)
