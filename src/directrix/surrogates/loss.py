"""What surrogates share that are losses in their own right, tied to no measure by a limit."""

from __future__ import annotations

from typing import Literal

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.dcg import NDCG
from directrix.measures.gains import gains
from directrix.surrogates.base import KernelSurrogate, refuse_doc_weight
from directrix.types import Float64Array

__all__ = ["Loss", "Target", "check_flag", "targets"]

Target = Literal["gains", "labels"]


class Loss(KernelSurrogate):
    """Base of the losses in `listwise`, `pairwise` and `pointwise`."""

    @property
    def measure(self) -> RankingMeasure:
        """nDCG: what is reported when nothing else is asked.

        The loss does not tend to it, nor to any other measure: pass ``measure=`` for yours.
        """
        return NDCG()

    def check(self, labels: Float64Array, doc_weight: Float64Array | None) -> None:
        """Refuse labels that are too large for the measure, and document weights."""
        refuse_doc_weight(self, doc_weight)
        self.measure.check_labels(float(labels.max(initial=0.0)))


def targets(labels: Float64Array, target: str, owner: str) -> Float64Array:
    """Gains 2^l - 1 or the labels themselves.

    Raises
    ------
    InputError
        If ``target`` names neither.
    """
    if target not in ("gains", "labels"):
        raise InputError(f"{owner}(target={target!r}): type 'gains' for 2**label - 1, or 'labels'.")
    return gains(labels, "exp" if target == "gains" else "linear")


def check_flag(value: bool, name: str, owner: str) -> None:  # noqa: FBT001
    """Raise `InputError` unless the value is True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{owner}({name}={value!r}): {name} must be True or False; type e.g. {name}=True.")
