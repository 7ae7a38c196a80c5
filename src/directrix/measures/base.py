"""Base class of measures: fields and their checks, names, terms, and evaluation.

In: the fields of a measure, such as its cut-off. Out: a value that maps scores, labels and the boundaries of
queries to one number per query:

>>> from directrix import NDCG
>>> ndcg = NDCG(k=10)
>>> ndcg.name, ndcg([0.3, 0.2, 0.1], [0.0, 2.0, 1.0], [0, 3]).round(3)
('nDCG@10', array([0.659]))
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from importlib import import_module
from inspect import get_annotations
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from directrix.errors import InputError
from directrix.measures.convention import Convention, convention
from directrix.measures.prepared import Prepared, Ranking, Sees, Ties
from directrix.measures.terms import Between, Form, Terms, curve_through, over_queries, value_of
from directrix.parameters import Checks, check_fields, literal_words, option, positive, whole
from directrix.types import Float64Array, FloatArray, Int64Array

Empty = Literal["zero", "skip", "one"]

# A cut-off that no list reaches; it still fits into the int64 of the kernels.
_WHOLE_LIST = 2**62


# With the operator @ on the class itself, a measure is written with its cut-off: NDCG @ 10.
class _CutByAt(type):
    def __matmul__(cls, cut: Any) -> Any:
        return cls() @ cut


@dataclass(frozen=True, kw_only=True, repr=False)
class RankingMeasure(metaclass=_CutByAt):
    """A frozen, hashable value, made by `measure`, with a field for every point on which tools disagree.

    ``repr(m)`` shows all fields and ``m.name`` the short form; `directrix.measure` reads both.
    ``m @ 10`` and ``NDCG @ 10`` set the cut-off. A subclass either states its terms (`form`, `worth`,
    `discounts`, `norm`), from which everything else is derived (see `directrix.define_measure`), or defines
    `of_ranking`.
    """

    symbol: ClassVar[str] = ""
    """Short name, before the cut-off: ``"nDCG"``."""
    at: ClassVar[str] = "k"
    """Field that the short name writes after ``@``."""
    checks: ClassVar[Checks] = {
        "k": whole,
        "rel": partial(positive, example=1),
        "ties": partial(option, words=get_args(Ties), example="'expected'"),
        "empty": partial(option, words=get_args(Empty), example="'zero'"),
    }
    """Checks of the fields by name; see `directrix.parameters.check_fields`."""
    form: ClassVar[Form | None] = None
    """Form of the sum, see `Terms`; None if the measure has no terms."""
    compiled: ClassVar[str] = ""
    """Module and name of the kernel of `of_ranking` in `directrix.measures._kernels`; "": none."""
    highest: ClassVar[float] = 1.0
    """Largest possible value of a query."""
    sees: ClassVar[Sees] = "labels"
    """Input for each document, see `Prepared`."""
    instead: ClassVar[str] = ""
    """Measure to train for instead, if this one is for reports only."""
    unit: ClassVar[str] = ""
    """Name of the value of one query, if that is not a value of the measure itself."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Give a user's measure the fields of built-in ones: ``ties``, and with a form also ``empty``."""
        super().__init_subclass__(**more)
        added = {"ties": (Ties, "expected"), "empty": (Empty, "zero")}
        # Built-in classes state these fields themselves, and a subclass of a compiled measure inherits them.
        if cls.compiled or cls.__module__.startswith("directrix."):
            return
        stated = {name for kind in cls.__mro__ for name in get_annotations(kind)}
        for name, (kind, default) in added.items():
            if name not in stated and (name == "ties" or cls.form is not None):
                cls.__annotations__ = get_annotations(cls) | {name: kind}
                setattr(cls, name, vars(cls).get(name, default))

    def __post_init__(self) -> None:
        check_fields(self)

    def __call__(
        self, scores: FloatArray, labels: Float64Array, qptr: Int64Array, *, doc_ids: Any = None
    ) -> Float64Array:
        """Return the value of every query.

        Parameters
        ----------
        scores : float (n_docs,)
            Higher is better; -inf means not retrieved: such a document counts among the relevant ones and in
            the ideal ranking, but gains nothing.
        labels : float (n_docs,)
            Relevance, >= 0.
        qptr : int64 (n_queries + 1,)
            Query ``q`` has the documents ``qptr[q] <= i < qptr[q + 1]``.
        doc_ids : sequence of str (n_docs,), optional
            Needed by ``ties="trec"`` only.

        Returns
        -------
        float64 (n_queries,)
            NaN for a query that the measure skips.

        Raises
        ------
        InputError
            If the arrays do not fit together or hold values that cannot be ranked.
        """
        return self.prepare(labels, qptr, doc_ids=doc_ids)(scores)[0]

    def prepare(self, labels: Float64Array, qptr: Int64Array, *, doc_ids: Any = None) -> Prepared:
        """Precompute everything that depends on the labels alone; call the result with any number of scores.

        Examples
        --------
        >>> from directrix import NDCG
        >>> ready = NDCG(k=1).prepare([1.0, 0.0], [0, 2])
        >>> ready([0.3, 0.1])[0], ready([0.1, 0.3])[0]
        (array([1.]), array([0.]))
        """
        return Prepared((self,), labels, qptr, doc_ids)

    def __matmul__(self, cut: Any) -> Self:
        if self.at not in {field.name for field in fields(self)}:
            raise InputError(f"{self.name} @ {cut!r}: {self.symbol} has no cut-off; write {self.symbol!r}.")
        return replace(self, **{self.at: cut})

    def under(self, tool: str | Convention) -> Self:
        """Return the measure with the fields of a tool's convention.

        A field keeps its value if the measure does not support the tool's.

        Examples
        --------
        >>> from directrix import NDCG
        >>> NDCG(k=10).under("trec_eval")
        NDCG(k=10, gain='linear', discount='log2', ties='trec', empty='zero')
        """
        chosen = convention(tool).fields_for(type(self).__name__, frozenset(f.name for f in fields(self)))
        words = literal_words(type(self))
        # ``words`` lists the values that a field allows; a field that is not in it takes any value.
        return replace(self, **{f: v for f, v in chosen.items() if v in words.get(f, (v,))})

    @property
    def name(self) -> str:
        """Short name: omits fields at their defaults and writes the cut-off after ``@``.

        Examples
        --------
        >>> from directrix import AP, NDCG
        >>> NDCG(k=10).name, AP(rel=2, k=100).name
        ('nDCG@10', 'AP(rel=2)@100')
        """
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name != self.at and getattr(self, field.name) != field.default
        ]
        cut = getattr(self, self.at, None)
        return self.symbol + (f"({', '.join(shown)})" if shown else "") + ("" if cut is None else f"@{cut}")

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"{type(self).__name__}({shown})"

    @property
    def depth(self) -> int:
        """Cut-off as a number: ``k``, or a number larger than any list."""
        k = getattr(self, "k", None)
        return _WHOLE_LIST if k is None else int(k)

    @property
    def empty_value(self) -> float:
        """Value of a query without relevant documents."""
        return {"zero": 0.0, "skip": np.nan, "one": 1.0}[getattr(self, "empty", "skip")]

    @property
    def tie_rule(self) -> Ties:
        """Order in which the ranking must put tied documents."""
        rule: Ties = getattr(self, "ties", "expected")
        return rule

    @property
    def adds_gains(self) -> bool:
        """Whether the measure sums gains of any sign, without a divisor that depends on them.

        Only for such measures do unbiased estimates of the gains give an unbiased estimate of the value.
        """
        return False

    def check_labels(self, highest: float) -> None:
        """Raise `InputError` if the measure is not defined for labels up to ``highest``."""

    def summary(self, values: Float64Array) -> float:
        """Return the value for all queries together: the mean, without NaN."""
        defined = values[~np.isnan(values)]
        return float(np.add.reduce(defined) / len(defined)) if len(defined) else float("nan")

    def worth(self, labels: Float64Array) -> Float64Array:
        """Return each document's gain, relevance, or probability of stopping; float64 (n_docs,), >= 0."""
        raise NotImplementedError(f"{type(self).__name__} must define worth(labels)")

    def discounts(self, n: int) -> Float64Array:
        """Return the discounts of ranks 1..n: 1 unless a subclass defines them."""
        return np.ones(n)

    def discount_between(self, n: int) -> Between:
        """Return the discount as a smooth monotone curve over ranks from 1 to n, 0 past the cut-off.

        It passes through the discounts of the ranks (piecewise cubic, Fritsch and Carlson 1980).
        """
        # The slope of the curve at a rank depends on its neighbors, so two more ranks are needed. Without
        # them, the length of the list would change the curve up to rank n.
        values = np.array(self.discounts(n + 2), dtype=np.float64)
        values[self.depth :] = 0.0
        return curve_through(values.tobytes())

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return the divisor of every query's sum; 1 unless a subclass defines it."""
        return np.ones(len(qptr) - 1)

    def cutoff(self, worth: Float64Array, qptr: Int64Array) -> Int64Array:
        """Return the number of ranks that count, for every query."""
        return np.minimum(np.diff(qptr), self.depth)

    def terms(self, labels: Float64Array, qptr: Int64Array) -> Terms:
        """Return the measure as a sum over documents, for line search, `Lambda` and `ApproxMeasure`.

        Raises
        ------
        InputError
            If the measure is not such a sum (interpolated precision, Kendall's tau), or a label is too high.
        """
        self._check_terms(labels)
        worth, longest = self.worth(labels), int(np.diff(qptr).max(initial=0))
        return Terms(worth, self.discounts(longest), self.norm(worth, qptr), self.cutoff(worth, qptr))

    def document_values(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> Float64Array:
        """Return the gain of every document divided by the normalizer of its query; 0 where that is 0.

        Parameters
        ----------
        labels : float64 (n_docs,)
        qptr : int64 (n_queries + 1,)
        doc_weight : float64 (n_docs,), optional
            Factors >= 0 on the gains, also in the normalizer.
        """
        self._check_terms(labels)
        worth = self.worth(labels)
        if doc_weight is not None:
            worth = worth * doc_weight
        return over_queries(worth, self.norm(worth, qptr), qptr)

    def _check_terms(self, labels: Float64Array) -> None:
        if self.form is None:
            raise InputError(
                f"{self!r} is not a sum over the ranks of documents, which is needed here; choose for "
                "example nDCG, AP, RR, ERR or P: measure='nDCG@10'."
            )
        self.check_labels(float(labels.max(initial=0.0)))

    @property
    def label_key(self) -> Hashable:
        """Measures with the same key have the same `from_labels`; `Prepared` computes it once for all."""
        return self

    def from_labels(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Return the values that depend on the labels alone, usually one per query, or None."""
        return None

    def arguments(self, ranking: Ranking, prepared: Float64Array) -> tuple[Any, ...]:
        """Return the arguments of the measure's kernel, before the array of values that it fills."""
        raise NotImplementedError(f"{type(self).__name__} must define arguments(ranking, prepared)")

    def values_of(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query, by `of_ranking`, or by the terms that a subclass states."""
        # The inherited kernel computes other terms than a subclass that states its own.
        of_terms = self.form is not None and restates_terms(type(self))
        return self.by_terms(ranking) if of_terms else self.of_ranking(ranking, prepared)

    def of_ranking(self, ranking: Ranking, prepared: Float64Array) -> Float64Array:
        """Return the value of every query of a ranking; ``prepared`` is `from_labels` of these queries.

        It is computed by the measure's kernel, or from the terms of the labels in the order of the ranking.
        """
        if self.compiled:
            module, name = self.compiled.split(".")
            value = np.empty(len(ranking.qptr) - 1)
            kernel = getattr(import_module(f"directrix.measures._kernels.{module}"), name)
            kernel(*self.arguments(ranking, prepared), value)
            return value
        return self.by_terms(ranking)

    def by_terms(self, ranking: Ranking) -> Float64Array:
        """Return the value of every query, from the terms of the labels."""
        if self.form is None:
            raise TypeError(f"{type(self).__name__} must define its terms and `form`, or `of_ranking`")
        return value_of(self.form, self.terms(ranking.labels, ranking.qptr), ranking, self.empty_value)


def check_gains(q: Any, of: Any) -> None:
    """Raise `InputError` if the labels are gains and the measure or surrogate does not sum them."""
    if getattr(q, "counts", None) is None or getattr(of, "adds_gains", False):
        return
    raise InputError(
        f"the labels are mean gains of impressions, which {getattr(of, 'name', of)} does not sum, so its "
        "mean would be biased. Use DCG, the sum of the first gains, or the position of relevant documents: "
        "'DCG(gain=linear)@10', 'DCG(gain=linear, discount=none)@5', 'DCG(gain=linear, discount=position)', "
        "or ApproxMeasure, Lambda or YetiRank of one of these."
    )


@cache
def restates_terms(kind: type[RankingMeasure]) -> bool:
    """Whether a subclass states terms that the inherited kernel or `of_ranking` does not compute."""

    def depth(name: str) -> int:
        return next(i for i, base in enumerate(kind.__mro__) if name in vars(base))

    # A class that is nearer in the order of inheritance overrides one behind it. So terms are restated if
    # they come from a class before the one that says how values are computed.
    computed = min(depth("compiled"), depth("of_ranking"))
    return any(depth(name) < computed for name in ("worth", "discounts", "norm", "cutoff"))
