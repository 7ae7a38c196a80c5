"""User-defined measures: a gain and a discount, or terms, and a name.

In: functions of labels and of ranks. Out: a class of measures, which the rest of directrix treats as its own:

>>> TopHeavy = define_measure("TopHeavy", gain=np.sqrt, discount=lambda r: 1.0 / r, norm="ideal")
>>> (TopHeavy @ 1)([0.3, 0.2], [1.0, 4.0], [0, 2])  # sqrt(1) / sqrt(4)
array([0.5])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.fingerprint import fingerprint
from directrix.measures.base import Empty, RankingMeasure
from directrix.measures.names import defined, register
from directrix.measures.prepared import Ties
from directrix.measures.terms import FORMS, Between, Form, Terms
from directrix.types import Float64Array, Int64Array

Norm = Literal["ideal"]


class Definition(NamedTuple):
    """Arguments of `define_measure`."""

    name: str
    terms: Callable[..., Any] | None
    gain: Callable[..., Any] | None
    discount: Callable[..., Any] | None
    slope: Callable[..., Any] | None
    norm: Norm | None
    form: Form


@dataclass(frozen=True, kw_only=True, repr=False)
class DefinedMeasure(RankingMeasure):
    """Base of the measures that `define_measure` makes."""

    definition: ClassVar[Definition]
    k: int | None = None
    ties: Ties = "expected"
    empty: Empty = "zero"

    @property
    def highest(self) -> float:  # type: ignore[override]
        """1 for a sum divided by its ideal value; otherwise unknown."""
        return 1.0 if self.definition.norm == "ideal" else np.inf

    def worth(self, labels: Float64Array) -> Float64Array:
        """Return the values of the gain function, or the labels if there is none."""
        if self.definition.terms is not None:
            return self._given(labels, np.array([0, len(labels)])).worth
        gain = self.definition.gain
        return labels.copy() if gain is None else self._checked(gain(labels), len(labels), "gain", "label")

    def discounts(self, n: int) -> Float64Array:
        """Return the discounts of ranks 1..n; 1 without a discount function."""
        definition = self.definition
        if definition.terms is not None:
            return self._given(np.zeros(n), np.array([0, n])).discount
        if definition.discount is None:
            return np.ones(n)
        return self._checked(definition.discount(np.arange(1.0, n + 1.0)), n, "discount", "rank")

    def terms(self, labels: Float64Array, qptr: Int64Array) -> Terms:
        """Return the terms that the definition gives."""
        terms = self._given(labels, qptr) if self.definition.terms else super().terms(labels, qptr)
        # A user's function may leave out the cut-off and the norm, which then follow from the fields.
        if terms.cutoff is None:
            terms = terms._replace(cutoff=np.minimum(np.diff(qptr), self.depth))
        if terms.norm is None:
            terms = terms._replace(norm=self._norm(terms.worth, terms.discount, qptr))
        return terms

    def norm(self, worth: Float64Array, qptr: Int64Array) -> Float64Array:
        """Return the sum of the ideal ranking with ``norm="ideal"``, else 1."""
        return self._norm(worth, self.discounts(int(np.diff(qptr).max(initial=0))), qptr)

    def _given(self, labels: Float64Array, qptr: Int64Array) -> Terms:
        assert self.definition.terms is not None
        terms = Terms(*self.definition.terms(labels, qptr))
        longest = int(np.diff(qptr).max(initial=0))
        worth = self._checked(terms.worth, len(labels), "worth", "document")
        return terms._replace(
            worth=worth, discount=self._checked(terms.discount, longest, "discount", "rank")
        )

    def _norm(self, worth: Float64Array, discount: Float64Array, qptr: Int64Array) -> Float64Array:
        if self.definition.norm is None:
            return np.ones(len(qptr) - 1)
        if (np.diff(discount) > 0.0).any():
            raise InputError(
                f"{self.name}: norm='ideal' needs a discount that does not increase with the rank; for any "
                "other, terms= must return the norm."
            )
        from directrix.measures._kernels.dcg import ideal_dcg

        ideal, worth = np.empty(len(qptr) - 1), worth.copy()
        # Numba compiles a kernel for read-only arrays and again for others; the labels of nDCG are read-only.
        worth.flags.writeable = discount.flags.writeable = False
        ideal_dcg(worth, qptr, discount, False, self.depth, ideal)  # noqa: FBT003
        return ideal

    def _checked(self, values: Any, n: int, what: str, unit: str) -> Float64Array:
        array = np.array(values, dtype=np.float64)
        if array.shape != (n,) or not ((array >= 0.0) & (array < np.inf)).all():
            raise InputError(
                f"{self.symbol}: the {what} has shape {array.shape} for {n} {unit}s, or a value that is "
                f"negative or not finite; one finite number >= 0 for each {unit} is needed, e.g. "
                "gain=lambda labels: 2.0**labels - 1."
            )
        return array

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process define the measure again."""
        field_values = {field.name: getattr(self, field.name) for field in fields(self)}
        return _restored, (self.definition, field_values)

    def discount_between(self, n: int) -> Between:
        """Return the discount if its slope is known and all ranks count, else a curve."""
        slope, discount = self.definition.slope, self.definition.discount
        # The function continues below the cut-off, where the discount must be 0; a curve falls to 0 there.
        if slope is None or discount is None or self.k is not None:
            return super().discount_between(n)
        return lambda ranks: (np.asarray(discount(ranks)), np.asarray(slope(ranks)))


def _restored(definition: Definition, field_values: dict[str, Any]) -> DefinedMeasure:
    made: DefinedMeasure = define_measure(**definition._asdict())(**field_values)
    return made


def define_measure(
    name: Any,
    terms: Callable[[Float64Array, Int64Array], Any] | None = None,
    *,
    gain: Callable[[Float64Array], Any] | None = None,
    discount: Callable[[Float64Array], Any] | None = None,
    slope: Callable[[Float64Array], Any] | None = None,
    norm: Norm | None = None,
    form: Form = "sum",
) -> Any:
    r"""Define a measure that works like any built-in one.

    The returned class has the fields ``k`` (cut-off), ``ties`` and ``empty`` of `NDCG`. Its name can be used
    in text (``directrix.measure("LogNDCG@10")``, ``"my_module:LogNDCG"``). It supports all tie rules,
    line search, `Lambda`, `ApproxMeasure`, training and certification.

    Parameters
    ----------
    name : str, or class of measures
        Letters, digits and ``_``; or a subclass of `directrix.measures.RankingMeasure` with further fields,
        registered under its name and ``symbol``. `define_measure` can decorate it. It has the fields ``ties``
        and, with a form, ``empty`` too, with the same defaults.
    terms : callable, optional
        (labels, qptr) -> (worth, discount), or the full `directrix.measures.Terms`: the general form, if gain
        and discount do not suffice. Documents come in any order: a gain must not depend on the position.
    gain : callable, optional
        Labels (n,) -> gains (n,), >= 0. Default: the labels.
    discount : callable, optional
        Ranks 1.0, 2.0, ... (n,) -> factors (n,), >= 0. Default: 1 for each.
    slope : callable, optional
        Derivative of the discount, which must then accept any number >= 1. With it, `ApproxMeasure` uses the
        discount itself; without it, a smooth curve through the discounts of the ranks.
    norm : "ideal", or None
        Divide by the value of the ideal ranking, or do not divide.
    form : {"sum", "precision", "first_hit", "cascade", "pairs"}
        Form of the sum; see `directrix.measures.Terms`.

    Returns
    -------
    class
        Class of frozen, hashable values: ``LogNDCG()``, ``LogNDCG(k=10)``, ``LogNDCG @ 10``.

    Raises
    ------
    InputError
        If the name is invalid, or that of a built-in measure.

    Notes
    -----
    A second definition of a name replaces the first, as in a notebook. Worker processes define the measure
    again: its functions must be picklable, as those of a module are; joblib also accepts lambdas. A model
    file holds only the name: define the measure before you load the model.

    Examples
    --------
    >>> LogNDCG = define_measure(
    ...     "LogNDCG", gain=np.log1p, discount=lambda r: 1 / np.log2(1 + r), norm="ideal"
    ... )
    >>> LogNDCG(k=10)
    LogNDCG(k=10, ties='expected', empty='zero')
    >>> (LogNDCG @ 1)([0.3, 0.2], [1.0, 3.0], [0, 2])  # log(2) / log(4)
    array([0.5])
    """
    if isinstance(name, type):
        return _registered(name)
    definition = Definition(name, terms, gain, discount, slope, norm, form)
    _check(definition)
    earlier = getattr(defined(name), "definition", None)
    # A cell that runs twice, or a worker that defines the measure again, keeps the class and its values.
    if earlier is not None and fingerprint(definition) == fingerprint(earlier):
        return defined(name)
    document = f"{name}: a measure made by `directrix.define_measure`."
    members = {"symbol": name, "form": form, "definition": definition, "__doc__": document}
    kind = type(name, (DefinedMeasure,), members)
    register(kind)
    return kind


def _check(definition: Definition) -> None:
    name, terms, gain, discount, slope, norm, form = definition
    if not (isinstance(name, str) and name.isidentifier() and name.isascii() and name[0].isalpha()):
        raise InputError(
            f"define_measure({name!r}): a name of letters, digits and _ is needed, e.g. 'LogNDCG'."
        )
    if form not in FORMS or norm not in (None, "ideal") or (norm and form != "sum"):
        raise InputError(
            f"define_measure({name!r}, form={form!r}, norm={norm!r}): form must be one of "
            f"{', '.join(map(repr, FORMS))}, and norm must be None, or 'ideal' with form='sum'."
        )
    if terms is not None and (gain or discount or slope):
        raise InputError(
            f"define_measure({name!r}): terms= replaces gain=, discount= and slope=; leave those out."
        )


def _registered(kind: Any) -> Any:
    if not issubclass(kind, RankingMeasure):
        raise InputError(
            f"define_measure({kind.__name__}): a name, or a subclass of directrix.measures.RankingMeasure, "
            "is needed."
        )
    if kind.form is None and kind.of_ranking is RankingMeasure.of_ranking:
        raise InputError(
            f"define_measure({kind.__name__}): the class must define `form` and its terms, or `of_ranking`."
        )
    # A plain class gets the same constructor, equality and hash as a built-in measure.
    if "__dataclass_params__" not in vars(kind):
        kind = dataclass(frozen=True, kw_only=True, repr=False)(kind)
    if not kind.symbol:
        kind.symbol = kind.__name__
    register(kind)
    return kind
