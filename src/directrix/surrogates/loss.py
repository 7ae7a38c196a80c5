"""What losses such as ListNet share: surrogates that do not tend to a measure."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.gains import gains
from directrix.surrogates.base import KernelSurrogate
from directrix.types import Float64Array, Int64Array

Target = Literal["gains", "labels"]


class Loss(KernelSurrogate):
    """Base of the losses in `listwise`, `pairwise` and `pointwise`."""

    measure: ClassVar[RankingMeasure] = NDCG()
    """nDCG: the measure that is reported by default; the loss tends neither to it nor to any other."""

    @property
    def traits(self) -> frozenset[str]:
        """smooth, convex, shift_invariant, unless a loss states others."""
        return frozenset({"smooth", "convex", "shift_invariant"})

    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """See `KernelSurrogate.prepare`; refuses labels that are too large for the measure."""
        self.measure.check_labels(float(labels.max(initial=0.0)))
        return super().prepare(labels, qptr, doc_weight)


def by_label(labels: Float64Array, qptr: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Order the documents of every query by ascending label, equal labels by input order.

    Returns that order, and at every place of it the number of its label, from 0 on, over all queries.
    """
    query = np.repeat(np.arange(len(qptr) - 1), np.diff(qptr))
    order = np.lexsort((labels, query))
    is_first = np.ones(len(labels), dtype=bool)
    is_first[1:] = (np.diff(labels[order]) != 0.0) | (np.diff(query) != 0)
    return order, np.cumsum(is_first) - 1


def targets(labels: Float64Array, target: str, owner: str, also: str = "") -> Float64Array:
    """Gains 2^l - 1 or the labels themselves; `InputError` if ``target`` is neither "gains" nor "labels".

    ``also`` is what else the owner takes.
    """
    if target not in ("gains", "labels"):
        options = f"'gains' for 2**label - 1, {also + ', ' if also else ''}or 'labels'"
        raise InputError(f"{owner}(target={target!r}): type {options}.")
    return gains(labels, "exp" if target == "gains" else "linear")


def check_flag(value: bool, name: str, owner: str) -> None:  # noqa: FBT001
    """Raise `InputError` unless the value is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{owner}({name}={value!r}): {name} must be True or False; type e.g. {name}=True.")
