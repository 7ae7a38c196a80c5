r"""Lambda gradients: LambdaRank (Burges et al. 2006; Donmez, Svore, Burges 2009), LambdaLoss, YetiRank.

When two documents of different labels swap ranks, the measure changes by :math:`\Delta M`. LambdaRank gives
each pair a gradient, its lambda, that grows with this change, and uses the sum of the lambdas of a document
as its gradient. It needs the measure only at sorted lists, never between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from directrix.data.checks import check_ranking
from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.prepared import Ranking
from directrix.measures.terms import Form
from directrix.surrogates.base import (
    WHOLE_LIST,
    Chunk,
    KernelSurrogate,
    MeasureSurrogate,
    Out,
    in_chunks,
    terms_of,
    writable,
)
from directrix.types import Float64Array, FloatArray, Int64Array

Construction = Literal[
    "ranknet-weight-pairs", "spring-smooth", "local-gradient", "local-cost", "discrete-bounded"
]
# The kernels know constructions and choices of pairs by their positions here.
_CONSTRUCTIONS: tuple[str, ...] = get_args(Construction)
Pairs = Literal["all", "misranked", "missed", "missed-level"]
_PAIRS: tuple[str, ...] = get_args(Pairs)
_SWAPPED: tuple[Form, ...] = ("sum", "precision", "first_hit", "cascade")
"""Forms of measures whose change by a swap the kernels know, in their order."""


class _Prepared(NamedTuple):
    """Arrays that depend on the labels alone; see `_kernels.lambdas.lambda_chunk`."""

    worth: Float64Array
    unit: Float64Array
    discount: Float64Array
    labels: Float64Array
    part: Float64Array | None
    """What the measure itself prepares from the labels; None if it prepares nothing."""


class SwapSurrogate(KernelSurrogate):
    """Base of `Lambda` and `YetiRank`, whose lambdas depend on the effect of swapping two documents.

    The measure, the field ``measure``, is a sum over documents. A subclass has a kernel with the same
    arguments as `Lambda`'s.
    """

    entries: ClassVar[tuple[str, ...]] = ("document", "query", "data", "document", "query")
    measure: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        owner, chosen = type(self).__name__, self.measure
        if chosen.form not in _SWAPPED or not hasattr(chosen, "k"):
            raise InputError(
                f"{owner}({chosen.name!r}): {owner} does not know how a swap of two documents changes this "
                "measure; it supports nDCG, AP, RR, P@k, ERR and measures of their forms: type e.g. "
                f"{owner}('nDCG@10')."
            )
        # Three ranks tell whether the discount varies at all.
        is_constant = chosen.form in ("sum", "first_hit") and not np.ptp(chosen.discounts(3)) > 0.0
        if chosen.k is None and is_constant:
            raise InputError(
                f"{owner}({chosen.name!r}): without a cut-off this measure does not depend on the ranking; "
                f"give a cut-off, e.g. {owner}('{chosen.symbol}@5')."
            )
        ties, empty = chosen.tie_rule, getattr(chosen, "empty", "zero")
        if ties not in ("expected", "order") or empty == "skip":
            what = f"empty={empty!r}" if empty == "skip" else f"ties={ties!r}"
            raise InputError(
                f"{owner}({chosen.name!r}): {what} is for evaluation; training needs a value for every "
                "query from scores alone: take empty='zero' and ties='expected' or 'order'."
            )

    @property
    def adds_gains(self) -> bool:
        """Whether the measure adds up gains of any sign.

        A lambda depends on which of two gains is larger, so unbiased gains do not make it unbiased.
        """
        return bool(self.measure.adds_gains)

    @property
    def properties(self) -> frozenset[str]:
        """value_free, shift_invariant; unit_interval if the measure lies in it."""
        in_unit_interval = {"unit_interval"} if self.measure.highest <= 1.0 else set()
        return frozenset({"value_free", "shift_invariant"} | in_unit_interval)

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Check the labels, and convert them to the form that the measure uses."""
        terms = terms_of(self, labels, qptr)
        sizes, depth, longest = np.diff(qptr), self.measure.depth, len(terms.discount)
        share = np.array(terms.discount)
        if self.is_cut:
            # Ranks below the cut-off earn nothing, so a swap of two documents there changes nothing.
            share[min(depth, longest) :] = 0.0
        # A query whose normalizer is 0 has no gain, and no lambdas.
        unit = np.divide(1.0, terms.norm, out=np.zeros(len(sizes)), where=terms.norm > 0.0)
        measure_arrays = self.measure.from_labels(labels, qptr)
        return _Prepared(terms.worth * np.repeat(unit, sizes), unit, share, labels.copy(), measure_arrays)

    @property
    def is_cut(self) -> bool:
        """Whether ranks below the cut-off are ignored."""
        return True

    @property
    def form(self) -> int:
        """Number of the measure's form in the kernels."""
        return _SWAPPED.index(self.measure.form)

    def fill(self, scores: FloatArray, prepared: Any, qptr: Int64Array, chunk: Chunk, out: Out) -> None:
        """Fill one chunk; see `KernelSurrogate.fill`."""
        first, last = chunk
        local = qptr[first : last + 1] - qptr[first]
        ranking = self.new_ranking(int(local[-1]))
        worth, unit, share, labels, measure_arrays, *more = prepared
        self.kernel()(scores, worth, unit, share, labels, *more, qptr, chunk, ranking, *self.outputs(out))
        # The kernel leaves the labels by rank in ``ranking``, from which the measure computes the value.
        in_chunk = None if measure_arrays is None else measure_arrays[first:last]
        out[0][first:last] += self.ranked_value(ranking, local, in_chunk)

    def new_ranking(self, n_docs: int) -> tuple[bool, Float64Array, Int64Array]:
        """Return whether ties form groups, and space for labels by rank and the ends of groups."""
        return self.measure.tie_rule == "expected", np.empty(n_docs), np.empty(n_docs, dtype=np.int64)

    def ranked_value(
        self, ranking: tuple[bool, Float64Array, Int64Array], qptr: Int64Array, part: Float64Array | None
    ) -> Float64Array:
        """Return the measure of every query of a ranking that kernels wrote, with its `from_labels`."""
        value: Float64Array = self.measure.of_ranking(Ranking(*ranking[1:], np.diff(qptr), qptr), part)
        return value


@dataclass(frozen=True, repr=False)
class Lambda(SwapSurrogate):
    r"""LambdaRank's gradient for a measure.

    .. math:: \lambda_{ij} = \frac{|\Delta M(i, j)|}{1 + e^{s_i - s_j}} \quad (l_i > l_j), \qquad
              \lambda_i = \sum_{j} \lambda_{ij} - \sum_j \lambda_{ji}

    (Donmez, Svore, Burges 2009, Section 4) with :math:`\Delta M(i, j)` the change of the measure M when
    documents i and j swap ranks. The value is M itself. The lambdas are not the gradient of any function of
    the scores, so a trainer that compares values needs another surrogate; ``SGD`` does not.

    Parameters
    ----------
    measure : measure or str
        A measure with terms and a field ``k``: NDCG, AP, RR, Precision, ERR, or your own, with any fields
        except ``ties="trec"``, ``ties="worst"`` and ``empty="skip"``. P needs a cut-off.
    construction : str
        How a lambda depends on the change of the measure: one of the five names in the notes.
    margin : float, 1e-30 to 1e30
        Margin of "local-gradient", in units of score. 1 is the unit of the logistic in the other
        constructions.
    pairs : {"all", "misranked", "missed", "missed-level"}
        Which pairs have lambdas.

        - "all": every pair of different l whose swap changes M.
        - "misranked": only those in the wrong order, as Eq. (8), (9) and (11) of the paper are written. For
          RR, these pair an irrelevant document above the first relevant one with that one, or with a relevant
          one below it; with "all", the first relevant document is also paired with those below.
        - "missed", for nDCG@k and DCG@k: every pair with a document of the first k ranks, or with a missed
          one, which an ideal ranking has there but this one lacks. Of several with the same label, the first
          in the ranking are missed; with "missed-level", all are. Their discounts are not cut at k. With
          "all", a document below k has k pairs and one above it n, so the less relevant of the two may get
          the larger lambda (Marcuzzi, Lucchese & Orlando 2023; these are their Lambda-eX "static" and "all").

    Notes
    -----
    The paper describes each construction in one sentence; choices that it leaves open are stated here. l is
    the label as the measure uses it: r for AP, RR and P.

    - ``"ranknet-weight-pairs"``: the formula above, which the paper found best.
    - ``"spring-smooth"``: the change is at least 1 before the measure divides by Z, R or k:
      :math:`\max(|\Delta M|, 1/Z)`. All pairs of different l have lambdas, at any rank.
    - ``"local-gradient"``: only neighbors in the ranking have lambdas, equal to
      :math:`|\Delta M| / (s_p - s_{p+1} + \text{margin})`.
    - ``"local-cost"``: only neighbors have lambdas, by the first formula: RankNet's cost against the
      neighbors, weighted.
    - ``"discrete-bounded"``: each document and the one at its ideal rank have the lambda
      :math:`\min(|\Delta M|, 1/Z)`, whatever the scores. Ideal ranks are by l, then by score. "Moved to
      its ideal position" is read as swapping ranks, so the lambdas of a query add up to 0.

    For the lambdas, tied documents are ranked in input order. The value follows the ``ties`` of the measure.

    The cost is O(n log n + n k) with a cut-off k, O(n^2) without, with one division per pair; O(n) memory.
    Each missed document adds n - k pairs. :math:`\Delta M` is O(1) per pair from sums over the ranking.

    Lambdas of misranked pairs alone shorten the weights w of a linear model with every small step, because
    :math:`w \cdot (x_i - x_j) = s_i - s_j < 0` for each of these pairs.

    References
    ----------
    Donmez, Svore & Burges (2009), doi:10.1145/1571941.1572021; Burges, Ragno & Le (2006); Marcuzzi, Lucchese
    & Orlando (2023), LambdaRank gradients are incoherent, CIKM, doi:10.1145/3583780.3614948.

    Examples
    --------
    >>> import numpy as np
    >>> value, grad = Lambda("RR").value_and_grad(
    ...     np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 2])
    ... )
    >>> value, grad.round(4)  # 1/2, and (1 - 1/2) / (1 + exp(-1))
    (array([0.5]), array([-0.3655,  0.3655]))
    """

    compiled: ClassVar[str] = "lambdas.lambda_chunk"
    measure: Any = "nDCG"
    construction: Construction = "ranknet-weight-pairs"
    margin: float = 1.0
    pairs: Pairs = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        is_discounted = self.measure.form == "sum" and np.ptp(self.measure.discounts(3)) > 0.0
        with_cut = is_discounted and self.measure.k is not None and self.construction == _CONSTRUCTIONS[0]
        if not (self.is_cut or with_cut):
            raise InputError(
                f"{self!r}: missed pairs need nDCG or DCG with a cut-off, and the construction "
                f"{_CONSTRUCTIONS[0]!r}, e.g. Lambda('nDCG@10', pairs='missed')."
            )

    def __repr__(self) -> str:
        more = "" if self.pairs == "all" else f", pairs={self.pairs!r}"
        return (
            f"Lambda({self.measure.name!r}, construction={self.construction!r}, margin={self.margin!r}{more})"
        )

    def arguments(self) -> tuple[Any, ...]:
        """See `KernelSurrogate.arguments`."""
        construction, pairs = _CONSTRUCTIONS.index(self.construction), _PAIRS.index(self.pairs)
        return ((self.form, construction, self.measure.depth, self.margin, pairs),)

    @property
    def is_cut(self) -> bool:
        """Whether ranks below the cut-off have no discount for a pair."""
        return self.pairs not in ("missed", "missed-level")

    def effective_pairs(self, scores: FloatArray, labels: Float64Array, qptr: Int64Array) -> Int64Array:
        """Count the pairs of documents with a lambda: the data that training learns from.

        Parameters
        ----------
        scores, labels, qptr
            As for `value_and_grad`.

        Returns
        -------
        int64 (n_queries,)
            Pairs with a lambda that is not 0, each counted once.

        Raises
        ------
        InputError
            If the arrays do not fit together.

        References
        ----------
        Donmez, Svore & Burges (2009), Section 7.2 and Figure 5.

        Examples
        --------
        >>> import numpy as np
        >>> data = np.array([5.0, 4.0, 3.0, 2.0]), np.array([0.0, 2.0, 0.0, 1.0]), np.array([0, 4])
        >>> [int(Lambda(m).effective_pairs(*data)[0]) for m in ("nDCG", "nDCG@1", "AP", "RR")]
        [5, 2, 4, 3]
        >>> int(Lambda("RR", pairs="misranked").effective_pairs(*data)[0])
        2
        """
        from directrix.surrogates._kernels.lambdas import count_chunk

        scores, labels, qptr = check_ranking(scores, labels, qptr)
        scores, qptr = writable(scores), writable(qptr)
        prepared, pairs = self.from_labels(labels, qptr), np.zeros(len(qptr) - 1, dtype=np.int64)
        arrays = prepared.worth, prepared.discount
        in_chunks(lambda *chunk: count_chunk(*self.arguments(), scores, *arrays, qptr, chunk, pairs), qptr)
        return pairs


Version = Literal["NDCG-Loss2++", "NDCG-Loss2"]


@dataclass(frozen=True)
class LambdaLoss(MeasureSurrogate):
    r"""NDCG-Loss2 and NDCG-Loss2++ of LambdaLoss, for nDCG@k; minus the loss, in bits.

    .. math:: -\sum_{l_i > l_j} |G_i - G_j|\, w_{ij} \log_2\big(1 + e^{-(s_i - s_j)}\big)

    .. math:: w_{ij} = \begin{cases} \delta_{ij} & \text{NDCG-Loss2} \\
              |D_i - D_j| + \mu\, \delta_{ij} & \text{NDCG-Loss2++} \end{cases}, \qquad
              \delta_{ij} = \frac{d(|r_i - r_j|) - d(|r_i - r_j| + 1)}{1 - [m > k]\, d(m)}

    with G the gain over the ideal DCG@k, r the ranks, m the larger rank of a pair,
    :math:`d(r) = 1/\log_2(1 + r)`, and D_i = d(r_i) for the first k ranks, 0 below.

    Parameters
    ----------
    k : int >= 1, or None
        Cut-off of nDCG; None = the whole list.
    version : {"NDCG-Loss2++", "NDCG-Loss2"}
        Weights of pairs.
    mu : float, 1e-30 to 1e30
        Weight of delta in NDCG-Loss2++, which also adds LambdaRank's \|D_i - D_j\|. If mu is small, the
        lambdas are LambdaRank's.

    Notes
    -----
    The deltas between a document and all those above it add up to :math:`1 - D_i`, the share of its gain that
    the ranking loses. This also holds below rank k, because pairs entirely below k count: every relevant
    document there is pulled up. A mask that keeps only pairs within the first k would leave it in place.

    Weights are computed at the current scores: the value jumps where two documents swap ranks, and the
    gradient is its slope elsewhere. Tied documents share the first of their ranks, and their distance is 1.
    Document weights are not supported; weight whole queries. Boosting divides by :math:`\sum w p (1 - p) /
    \ln 2`, at least 5 % of :math:`w p / \ln 2`, with the weight w of a pair and the probability :math:`p =
    1/(1 + e^{s_i - s_j})` of its wrong order.

    O(R n) time for R documents with a gain, O(n) memory.

    References
    ----------
    Wang, Li, Golbandi, Bendersky & Najork (2018), The LambdaLoss framework for ranking metric optimization,
    CIKM, doi:10.1145/3269206.3271784; the cut-off is that of Jagerman, Qin, Wang, Bendersky & Najork (2022),
    On optimizing top-K metrics for neural ranking models, SIGIR, doi:10.1145/3477495.3531849.

    Examples
    --------
    A tied pair loses one bit, with the weight mu (d(1) - d(2)) = 2 (1 - 1/log2(3)):

    >>> import numpy as np
    >>> LambdaLoss(mu=2.0).value_and_grad(np.zeros(2), np.array([1.0, 0.0]), np.array([0, 2]))[0].round(4)
    array([-0.7381])
    """

    compiled: ClassVar[str] = "lambdaloss.lambdaloss_chunk"
    fills_curvature: ClassVar[bool] = True
    measured: ClassVar[type[RankingMeasure]] = NDCG
    k: int | None = None
    version: Version = "NDCG-Loss2++"
    mu: float = 10.0

    @property
    def properties(self) -> frozenset[str]:
        """shift_invariant."""
        return frozenset({"shift_invariant"})

    def arguments(self) -> tuple[Any, ...]:
        """Return the cut-off, the weight of LambdaRank's part, and mu."""
        # NDCG-Loss2 is NDCG-Loss2++ with mu = 1 and without LambdaRank's part.
        is_sum = self.version == "NDCG-Loss2++"
        return ((self.k or WHOLE_LIST, float(is_sum), self.mu if is_sum else 1.0),)


Weights = Literal["labels", "measure"]


@dataclass(frozen=True, repr=False)
class YetiRank(SwapSurrogate):
    r"""YetiRank's gradient: the mean lambda of neighbors over rankings with noise.

    .. math:: \lambda_i = \frac1R \sum_{r=1}^R \sum_p w_p^r \, \frac{[i = a] - [i = b]}{1 + e^{s_a - s_b}},
              \qquad \pi_r \text{ sorts } s + \varepsilon \log\frac{u}{1 - u}

    where a and b are the documents at the ranks p and p + 1 of the permutation :math:`\pi_r`, a the one with
    the higher label, and u is uniform on (0, 1). The value is the measure itself. Lambdas are not the
    gradient of any function of the scores, so a trainer that compares values needs another surrogate.

    Parameters
    ----------
    measure : measure or str
        The value, which with ``weights="measure"`` also weights the pairs. As for `Lambda`.
    weights : {"labels", "measure"}
        "labels": :math:`w_p = \gamma^{p - 1} |l_a - l_b|`, as CatBoost computes YetiRank: every part of the
        list counts, whatever the measure. "measure": :math:`w_p = |\Delta M|`, the change of the measure when
        a and b swap ranks in :math:`\pi_r` (YetiLoss of Lyzhin et al.).
    permutations : int >= 1
        R, the number of rankings.
    decay : float in (0, 1]
        gamma: weight of a rank relative to that of the rank above.
    noise : float, 1e-30 to 1e30
        epsilon, in units of score.
    draw : int >= 0
        Seed of the noise. Boosting uses other noise for every tree, SGD and Adam for every epoch.

    Notes
    -----
    Noise belongs to ranks: it depends on ``draw`` and the labels of the query by rank, so a query has the
    same lambdas in any batch. Tied documents are ranked in input order. A pair's lambda is multiplied by the
    weights of both documents; the value does not depend on them. Boosting divides by :math:`\sum w p (1 -
    p)`, at least 5 % of w p, with the probability :math:`p = 1/(1 + e^{s_a - s_b})` that a pair is in the
    wrong order.

    O(R n log n) time, O(n) memory.

    References
    ----------
    Gulin, Kuralenok & Pavlov (2011), Winning the transfer learning track of Yahoo!'s learning to rank
    challenge with YetiRank, JMLR W&CP 14, 63-76; Lyzhin, Ustimenko, Gulin & Prokhorenkova (2023),
    Which tricks are important for learning to rank?, ICML, arXiv:2204.01500.

    Examples
    --------
    >>> scores, labels, qptr = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 2])
    >>> YetiRank().value_and_grad(scores, labels, qptr)[1].round(4)  # one pair: 1/(1 + exp(-1))
    array([-0.7311,  0.7311])
    """

    entries: ClassVar[tuple[str, ...]] = (*SwapSurrogate.entries, "document")
    compiled: ClassVar[str] = "yeti.yeti_chunk"
    fills_curvature: ClassVar[bool] = True
    measure: Any = "nDCG"
    weights: Weights = "labels"
    permutations: int = 3
    decay: float = 0.99
    noise: float = 1.0
    draw: int = 0

    @property
    def properties(self) -> frozenset[str]:
        """See `SwapSurrogate.properties`; also random, with noise of ranks, whatever the order of input."""
        return super().properties | {"random"}

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """See `KernelSurrogate.prepare`; the weight of a pair is the product of its documents' weights."""
        weights = np.ones(len(labels)) if doc_weight is None else np.array(doc_weight, dtype=np.float64)
        return (*self.from_labels(labels, qptr), weights)

    def arguments(self) -> tuple[Any, ...]:
        """See `KernelSurrogate.arguments`."""
        weighing = self.weights == "measure"
        setting = (
            self.form,
            self.measure.depth,
            self.permutations,
            float(self.decay),
            float(self.noise),
            weighing,
        )
        return ((setting, self.draw),)
