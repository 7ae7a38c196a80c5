r"""DORM (Le, Smola 2007): a hinge over all rankings, with a linear assignment as its oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.names import measure as parse_measure
from directrix.measures.terms import over_queries
from directrix.surrogates.base import WHOLE_LIST, MeasureSurrogate, terms_of, writable
from directrix.types import Float64Array, FloatArray, Int64Array


class _Prepared(NamedTuple):
    """Arrays that depend on labels, and the coefficients of the perfect order if they are ``fixed``."""

    gains: Float64Array
    """Gains of the documents."""
    worth: Float64Array
    """Gains divided by the normalizers of their queries."""
    by_gain: Int64Array
    """Positions within each query, by descending gain."""
    discount: Float64Array
    """The function c of the ranks."""
    star: Float64Array
    """Coefficient of every document in the perfect ranking; 0 unless ``fixed``."""
    fixed: bool


@dataclass(frozen=True, repr=False)
class Dorm(MeasureSurrogate):
    r"""DORM's bound on nDCG@k, or on another sum over documents: one minus a hinge over all rankings.

    .. math:: 1 - \max_\pi \Big[ 1 - \mathrm{nDCG@}k(\pi)
                + \sum_i \big(c(\pi(i)) - c(\pi^*(i))\big) s_i \Big], \qquad c(p) = \frac{1}{\log_2(1 + p)}

    with :math:`\pi^*` a perfect ranking: documents by label.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off of nDCG; None = the whole list. In either case, c counts all ranks.
    ties : {"score", "mean"}
        Order of equal labels in the perfect ranking :math:`\pi^*`:

        - ``"score"``: by score. The hinge ignores the order of equal labels; it is a difference of
          convex functions, and convex once the ranking is fixed (see `convexify`);
        - ``"mean"``: the mean of c over all orders. The hinge is convex; equal labels add to it unless
          their scores are equal.
    bounds : measure or str, optional
        Another measure to bound in place of nDCG@k: a sum over documents of a gain times a discount D that
        does not increase with the rank. Then c = D at all ranks, but 0 past the cut-off if D does not
        decrease there, as for P@k. The perfect ranking is by gain. Le & Smola's winner takes all is "P@1";
        for their reciprocal rank and expected rank utility see docs/explanation/structural-svms.md.

    Notes
    -----
    The value never exceeds nDCG@k, whatever the order of tied scores. With ``ties="score"`` the value is
    never below that of ``"mean"``, and reaches 1 as documents of different labels move apart. Queries without
    a gain have the value 0, as in nDCG, and no gradient.

    The ranking that attains the maximum is found exactly, in O(n) memory. Without a cut-off, it is found by
    sorting: O(n log n). With one, shortest augmenting paths solve an assignment problem: O(k (n + L^2)) for L
    labels, or O(min(k, n - k) n^2) if that is less (docs/decisions/cut-offs.md).

    With ``ties="score"`` do not start at weights of 0, but e.g. at `directrix.trainers.regression_start`: at
    0 all scores tie, the fixed ranking is the mean over all orders, and rounds may stay there. If labels are
    far from separable, weights of 0 can be the optimum of ``"mean"``, and of both if k is small.

    Documents of equal label and score get the mean of their coefficients, so the gradient does not depend on
    their order. It is a subgradient (of the convexified loss, for ``"score"``) everywhere.

    References
    ----------
    Le & Smola (2007), Direct optimization of ranking measures, arXiv:0704.3359.

    Examples
    --------
    For the value 1, the scores would have to differ by 1; they tie, so both rankings are equally bad:

    >>> Dorm().value_and_grad(np.zeros(2), np.array([1.0, 0.0]), np.array([0, 2]))
    (array([0.63092975]), array([ 0.36907025, -0.36907025]))
    """

    compiled: ClassVar[str] = "dorm.dorm_chunk"
    entries: ClassVar[tuple[str, ...]] = ("document", "document", "document", "data", "document", "data")
    measured: ClassVar[type[RankingMeasure]] = NDCG
    k: int | None = None
    ties: Literal["score", "mean"] = "score"
    bounds: RankingMeasure | str | None = None

    def __post_init__(self) -> None:
        if self.bounds is None:
            super().__post_init__()
            return
        chosen = parse_measure(self.bounds)
        if self.k is not None:
            raise InputError(
                f"Dorm(k={self.k}, bounds={chosen.name!r}): k is the cut-off of nDCG; another measure has "
                "its own, e.g. Dorm(bounds='P@5')."
            )
        if chosen.form != "sum":
            raise InputError(
                f"Dorm(bounds={chosen.name!r}): this measure is not a sum over documents of a gain times a "
                "discount; take one that is, e.g. Dorm(bounds='P@1'), or SVMMap for AP."
            )
        # Three ranks tell whether the discount varies at all.
        if getattr(chosen, "k", None) is None and not np.ptp(chosen.discounts(3)) > 0.0:
            raise InputError(
                f"Dorm(bounds={chosen.name!r}): without a cut-off this measure does not depend on the "
                f"ranking; give one, e.g. Dorm(bounds='{chosen.symbol}@5')."
            )
        object.__setattr__(self, "bounds", chosen)
        super().__post_init__()

    def __repr__(self) -> str:
        if self.bounds is None:
            return f"Dorm(k={self.k!r}, ties={self.ties!r})"
        return f"Dorm(ties={self.ties!r}, bounds={self.measure.name!r})"

    @property
    def measure(self) -> Any:
        """The exact measure that is bounded."""
        return super().measure if self.bounds is None else self.bounds

    @property
    def properties(self) -> frozenset[str]:
        """bound, shift_invariant; convex with ties="mean", else convexifiable."""
        return frozenset({"bound", "shift_invariant", "convex" if self.ties == "mean" else "convexifiable"})

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> _Prepared:
        """Return gains, normalized gains, the documents by gain, and c."""
        terms = terms_of(self, labels, qptr)
        worth, sizes = over_queries(terms.worth, terms.norm, qptr), np.diff(qptr)
        by_gain = np.lexsort((-terms.worth, np.repeat(np.arange(len(sizes)), sizes)))
        # The kernels count the documents of a query from 0.
        by_gain -= np.repeat(qptr[:-1], sizes)
        k, c = self.measure.depth, np.array(terms.discount)
        if (np.diff(c) > 0.0).any():
            raise InputError(
                f"{self!r}: the discount rises with the rank, so sorting by scores is not the best "
                "ranking; a discount that does not rise is needed."
            )
        # A discount that stays level past the cut-off would not say where it is, so c drops to 0 there.
        if k < len(c) and c[k] == c[k - 1]:
            c[k:] = 0.0
        prepared = _Prepared(writable(terms.worth), worth, by_gain, c, np.zeros(len(labels)), fixed=False)
        # Scores that all tie: every order of equal labels is as good as another, and the coefficients are
        # their mean.
        return _fixed_at(np.zeros(len(labels)), prepared, qptr) if self.ties == "mean" else prepared

    def convexify(self, scores: FloatArray, prepared: _Prepared, qptr: Int64Array) -> _Prepared:
        """Fix the perfect ranking at these scores.

        The result replaces ``prepared``. With it the loss is convex, nowhere below the original loss, and
        equal to it at these scores in value and gradient. With ``ties="mean"`` there is nothing to fix.

        Parameters
        ----------
        scores : float (n_docs,)
        prepared
            Result of `prepare` for the same documents.
        qptr : int64 (n_queries + 1,)
        """
        return prepared if self.ties == "mean" else _fixed_at(scores, prepared, qptr)

    def arguments(self) -> tuple[Any, ...]:
        """The cut-off as a number."""
        return (min(self.measure.depth, WHOLE_LIST),)


def _fixed_at(scores: FloatArray, prepared: _Prepared, qptr: Int64Array) -> _Prepared:
    from directrix.surrogates._kernels.dorm import perfect_chunk

    star, qptr = np.empty(len(scores)), writable(qptr)
    arrays = prepared.gains, prepared.by_gain, prepared.discount
    perfect_chunk(writable(scores), *arrays, qptr, 0, len(qptr) - 1, star)
    return prepared._replace(star=star, fixed=True)
