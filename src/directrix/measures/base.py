"""Base class of measures: fields and their checks, names, terms, and how measures are called."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

import numpy as np

from directrix.errors import InputError, short_text
from directrix.measures.convention import Convention, convention
from directrix.measures.prepared import Prepared, Ranking, Sees, Ties
from directrix.measures.terms import Between, Form, Terms, curve_through, over_queries, value_of
from directrix.types import Float64Array, FloatArray, Int64Array

Empty = Literal["zero", "skip", "one"]

CHOICES: dict[str, tuple[str, ...]] = {
    "ties": ("expected", "order", "trec", "ranx", "worst"),
    "empty": ("zero", "skip", "one"),
    "gain": ("exp", "linear"),
    "discount": ("log2", "letor3"),
}
_WHOLE_LIST = 2**62
_TOO_LARGE = 10**300  # an integer above it may not fit into a float


class _CutByAt(type):  # lets a class be written with its cut-off: NDCG @ 10
    def __matmul__(cls, cut: Any) -> Any:
        return cls() @ cut


@dataclass(frozen=True, kw_only=True, repr=False)
class RankingMeasure(metaclass=_CutByAt):
    """A measure, made by `measure`: a frozen, hashable value; every point on which tools disagree is a field.

    ``repr(m)`` shows all fields and ``m.name`` the short form; `directrix.measure` reads both.
    ``m @ 10`` and ``NDCG @ 10`` set the cut-off. A subclass states its terms (`form`, `worth`, `discounts`,
    `norm`) and has everything else from them: see `directrix.define_measure`. Or it defines `of_ranking`.
    """

    symbol: ClassVar[str] = ""
    """Short name, before the cut-off: ``"nDCG"``."""
    at: ClassVar[str] = "k"
    """Field that the short name writes after ``@``."""
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Allowed values of fields that only this class has."""
    form: ClassVar[Form | None] = None
    """How documents earn, see `Terms`; None: the measure has no terms."""
    compiled: ClassVar[str] = ""
    """Module and name of the kernel of `of_ranking` in `directrix.measures._kernels`; "": none."""
    highest: ClassVar[float] = 1.0
    """Largest possible value of a query."""
    sees: ClassVar[Sees] = "labels"
    """Input for each document, see `Prepared`."""
    instead: ClassVar[str] = ""
    """Measure to train for, where this one is for reports alone."""
    unit: ClassVar[str] = ""
    """Name of the value of one query, where it is not a value of the measure itself."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            allowed = self.choices.get(field.name) or CHOICES.get(field.name)
            if allowed and value not in allowed:
                raise InputError(
                    f"{type(self).__name__}({field.name}={value!r}): {field.name} must be one of "
                    f"{', '.join(map(repr, allowed))}, e.g. {field.name}={allowed[0]!r}."
                )
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())
            if isinstance(field.default, bool) and not isinstance(value, bool | np.bool_):
                raise self._invalid(field.name, value, "must be True or False", not field.default)
        k: Any = getattr(self, "k", None)
        if k is not None and not (isinstance(k, int) and not isinstance(k, bool) and 1 <= k < _WHOLE_LIST):
            limit = " and < 2**62" if isinstance(k, int) and k > 1 else ""
            raise self._invalid("k", k, f"must be an integer >= 1{limit}, or None for the whole list", 10)
        rel: Any = getattr(self, "rel", 1)
        if not self._is_number(rel) or not 0 < rel < _TOO_LARGE:
            raise self._invalid("rel", rel, "is the lowest label that counts as relevant and must be > 0", 1)

    @staticmethod
    def _is_number(value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    def _invalid(self, field: str, value: object, need: str, example: object) -> InputError:
        name, shown = type(self).__name__, short_text(value)
        return InputError(f"{name}({field}={shown}): {field} {need}, e.g. {name}({field}={example!r}).")

    def __call__(
        self, scores: FloatArray, labels: Float64Array, qptr: Int64Array, *, doc_ids: Any = None
    ) -> Float64Array:
        """Value of every query.

        Parameters
        ----------
        scores : float (n_docs,)
            Higher is better; -inf = not retrieved: such a document counts among the relevant
            ones and in the ideal ranking, but earns nothing.
        labels : float (n_docs,)
            Relevance, >= 0.
        qptr : int64 (n_queries + 1,)
            Query ``q`` owns the documents ``qptr[q] <= i < qptr[q + 1]``.
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
        """Do once what depends on the labels alone; call the result on scores many times.

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

        A value that this measure cannot take leaves its field as it is.

        Examples
        --------
        >>> from directrix import NDCG
        >>> NDCG(k=10).under("trec_eval")
        NDCG(k=10, gain='linear', discount='log2', ties='trec', empty='zero')
        """
        chosen = convention(tool).fields_for(type(self).__name__, frozenset(f.name for f in fields(self)))
        return replace(self, **{f: v for f, v in chosen.items() if v in self.choices.get(f, (v,))})

    @property
    def name(self) -> str:
        """Short name: fields at their default are left out, the cut-off follows ``@``.

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
        """Cut-off as a number: ``k``, or more than any list is long."""
        k = getattr(self, "k", None)
        return _WHOLE_LIST if k is None else int(k)

    @property
    def fill(self) -> float:
        """Value of a query without relevant documents."""
        return {"zero": 0.0, "skip": np.nan, "one": 1.0}[getattr(self, "empty", "skip")]

    @property
    def tie_rule(self) -> Ties:
        """Order of tied documents that the ranking must have."""
        rule: Ties = getattr(self, "ties", "expected")
        return rule

    @property
    def adds_gains(self) -> bool:
        """Whether it adds up gains of any sign without a divisor that depends on them.

        Only for such measures do unbiased estimates of the gains give an unbiased estimate of the value.
        """
        return False

    def check_labels(self, highest: float) -> None:
        """Raise `InputError` if the measure is not defined for labels up to ``highest``."""

    def summary(self, values: Float64Array) -> float:
        """One number for the values of many queries: their mean, without NaN."""
        defined = values[~np.isnan(values)]
        return float(np.add.reduce(defined) / len(defined)) if len(defined) else float("nan")

    def worth(self, labels: Float64Array) -> Float64Array:
        """Return each document's worth: its gain, relevance, or chance to stop; float64 (n_docs,), >= 0."""
        raise NotImplementedError(f"{type(self).__name__} must define worth(labels)")

    def discounts(self, n: int) -> Float64Array:
        """Discount of the ranks 1..n; without a definition by a subclass 1 for each."""
        return np.ones(n)

    def discount_between(self, n: int) -> Between:
        """Return the discount for ranks between 1 and n, 0 past the cut-off: a smooth monotone curve.

        It passes through the discounts of the ranks (piecewise cubic, Fritsch and Carlson 1980).
        """
        values = np.array(self.discounts(n + 2), dtype=np.float64)  # with two more, n changes no rank up to n
        values[self.depth :] = 0.0
        return curve_through(values.tobytes())

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return the divisor of every query's sum; 1 unless a subclass defines it."""
        return np.ones(len(qptr) - 1)

    def cutoff(self, worth: Float64Array, qptr: Int64Array) -> Int64Array:
        """Number of ranks of every query that count."""
        return np.minimum(np.diff(qptr), self.depth)

    def terms(self, labels: Float64Array, qptr: Int64Array) -> Terms:
        """State the measure as a sum over documents: line search, `Lambda` and `ApproxMeasure` read it.

        Raises
        ------
        InputError
            If the measure is no such sum (interpolated precision, Kendall's tau), or a label is too high.
        """
        self._check_terms(labels)
        worth, longest = self.worth(labels), int(np.diff(qptr).max(initial=0))
        return Terms(worth, self.discounts(longest), self.norm(worth, qptr), self.cutoff(worth, qptr))

    def document_values(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> Float64Array:
        """Worth of every document over the norm of its query; 0 where the norm is 0.

        Parameters
        ----------
        labels : float64 (n_docs,)
        qptr : int64 (n_queries + 1,)
        doc_weight : float64 (n_docs,), optional
            Factors >= 0 on the worth, in the norm too.
        """
        self._check_terms(labels)
        worth = self.worth(labels)
        if doc_weight is not None:
            worth = worth * doc_weight
        return over_queries(worth, self.norm(worth, qptr), qptr)

    def _check_terms(self, labels: Float64Array) -> None:
        if self.form is None:
            raise InputError(
                f"{self!r} is not a sum over documents of what each earns at its rank, which is needed here; "
                "nDCG, AP, RR, ERR and P are, among others: measure='nDCG@10'."
            )
        self.check_labels(float(labels.max(initial=0.0)))

    @property
    def label_key(self) -> Hashable:
        """Measures with the same key have the same `label_part`; `Prepared` computes it once for all."""
        return self

    def label_part(self, labels: Float64Array, qptr: Int64Array) -> Any:
        """Whatever depends on the labels alone, usually one number per query; None if nothing does."""
        return None

    def settings(self, ranking: Ranking, part: Float64Array | None) -> tuple[Any, ...]:
        """Return the arguments of the measure's kernel, before the array of values that it fills."""
        raise NotImplementedError(f"{type(self).__name__} must define settings(ranking, part)")

    def values_of(self, ranking: Ranking, part: Float64Array | None) -> Float64Array:
        """Value of every query: `of_ranking`, or of terms that a subclass of it states."""
        of_terms = self.form is not None and restates_terms(type(self))
        return self.by_terms(ranking) if of_terms else self.of_ranking(ranking, part)

    def of_ranking(self, ranking: Ranking, part: Float64Array | None) -> Float64Array:
        """Value of every query of a ranking, with the queries' share of `label_part`.

        Computed by the measure's kernel, or from the terms of the labels in the order of the ranking.
        """
        if self.compiled:
            module, name = self.compiled.split(".")
            value = np.empty(len(ranking.qptr) - 1)
            kernel = getattr(import_module(f"directrix.measures._kernels.{module}"), name)
            kernel(*self.settings(ranking, part), value)
            return value
        return self.by_terms(ranking)

    def by_terms(self, ranking: Ranking) -> Float64Array:
        """Value of every query of a ranking, from the terms of the labels."""
        if self.form is None:
            raise TypeError(f"{type(self).__name__} must define its terms and `form`, or `of_ranking`")
        return value_of(self.form, self.terms(ranking.labels, ranking.qptr), ranking, self.fill)


def check_gains(q: Any, of: Any) -> None:
    """Raise `InputError` if labels of the data are gains, and a measure or surrogate does not add them up."""
    if getattr(q, "counts", None) is None or getattr(of, "adds_gains", False):
        return
    raise InputError(
        f"the labels are mean gains of impressions, and {getattr(of, 'name', of)} does not add them up as "
        "they are: its mean would not be that of the true gains. DCG, the sum of the first gains, and the "
        "position of relevant documents do: 'DCG(gain=linear)@10', 'DCG(gain=linear, discount=none)@5', "
        "'DCG(gain=linear, discount=position)', and ApproxMeasure, SmoothMeasure, Lambda or YetiRank of them."
    )


@cache
def restates_terms(kind: type[RankingMeasure]) -> bool:
    """Whether a class states terms below the class whose kernel or `of_ranking` computes other ones."""

    def depth(name: str) -> int:
        return next(i for i, base in enumerate(kind.__mro__) if name in vars(base))

    computed = min(depth("compiled"), depth("of_ranking"))
    return any(depth(name) < computed for name in ("worth", "discounts", "norm", "cutoff"))
