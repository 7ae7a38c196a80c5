"""What surrogates of any measure that is a sum over documents share: `ApproxMeasure` and `SmoothMeasure`."""

from __future__ import annotations

from typing import Any

from directrix.errors import InputError
from directrix.measures.names import measure as parse_measure
from directrix.measures.terms import over_queries
from directrix.surrogates.base import KernelSurrogate, terms_of
from directrix.types import Float64Array, Int64Array


class SumSurrogate(KernelSurrogate):
    r"""Base of the smooth forms of a measure :math:`\frac1Z \sum_i w_i D(\pi(i))`, given as ``measure``."""

    measure: Any

    def _check_measure(self, for_ap: str) -> None:
        """Parse the measure, and refuse one that is no such sum; ``for_ap`` names a surrogate for AP."""
        owner, chosen = type(self).__name__, parse_measure(self.measure)
        if chosen.form != "sum" or not hasattr(chosen, "k"):
            raise InputError(
                f"{owner}({chosen.name!r}): this measure is not a sum of each document's worth times the "
                f"discount of its rank; use the surrogate made for it, such as {for_ap}, or "
                f"Lambda({chosen.name!r})."
            )
        object.__setattr__(self, "measure", chosen)

    def worths(self, labels: Float64Array, qptr: Int64Array) -> tuple[Float64Array, Float64Array]:
        """Worth of every document over the norm of its query, and the discounts of the ranks that count."""
        terms = terms_of(self, labels, qptr)
        return over_queries(terms.worth, terms.norm, qptr), terms.discount[: self.measure.depth]
