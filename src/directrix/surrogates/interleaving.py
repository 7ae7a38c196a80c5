"""What structural surrogates share that tell rankings apart by pairs of relevant and irrelevant documents."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from directrix.measures.base import RankingMeasure
from directrix.measures.terms import query_sums
from directrix.parameters import positive
from directrix.surrogates.base import KernelSurrogate, refuse_doc_weight
from directrix.types import Float64Array, Int64Array

BoolArray: TypeAlias = npt.NDArray[np.bool_]


class Interleaving(NamedTuple):
    """What the search for the best interleaving of relevant and irrelevant documents needs of the labels."""

    relevant: Int64Array
    """0 or 1 (n_docs,)."""
    gains: Float64Array
    """What the k-th relevant document from above earns, at each query's start + k (n_docs,)."""
    discount: Float64Array
    """Factor on the gain at each rank, decreasing and convex (longest,)."""
    twice: Float64Array
    """2c (n_queries,)."""
    perfect: Float64Array
    """Value where all margins are kept (n_queries,)."""


class Known(NamedTuple):
    """What is counted before the measures differ."""

    labels: Float64Array
    relevant: BoolArray
    qptr: Int64Array
    n_relevant: Float64Array
    share: Float64Array
    """1/(R (n - R)), or 0 (n_queries,)."""

    @property
    def sizes(self) -> Int64Array:
        """Documents of every query (n_queries,)."""
        return np.diff(self.qptr)

    @property
    def ranks(self) -> Int64Array:
        """The documents of every query, counted from 0 (n_docs,)."""
        counted: Int64Array = np.arange(self.qptr[-1]) - np.repeat(self.qptr[:-1], self.sizes)
        return counted


# ``gains``, ``discount`` and ``perfect`` of `Interleaving`
Earnings: TypeAlias = tuple[Float64Array, Float64Array, Float64Array]


class Interleaved(KernelSurrogate):
    """Base of the surrogates in `structural` whose rankings interleave two lists."""

    entries: ClassVar[tuple[str, ...]] = ("document", "document", "data", "query", "query")
    rel: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rel", positive(self.rel, "rel", type(self).__name__))

    @property
    @abstractmethod
    def measure(self) -> RankingMeasure:
        """The measure whose loss is bounded."""

    @property
    def traits(self) -> frozenset[str]:
        """convex, bound, shift_invariant."""
        return frozenset({"convex", "bound", "shift_invariant"})

    def prepare(
        self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None
    ) -> Interleaving:
        """Relevance, gains and constants of every query.

        Raises
        ------
        InputError
            If a label is too large for the measure, or there are document weights.
        """
        refuse_doc_weight(self, doc_weight)
        relevant = labels >= self.rel
        sizes, n_relevant = np.diff(qptr).astype(np.float64), query_sums(relevant.astype(np.float64), qptr)
        pairs = n_relevant * (sizes - n_relevant)
        share = np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0.0)
        gain, discount, perfect = self.earnings(Known(labels, relevant, qptr, n_relevant, share))
        twice = 2.0 * self.margin(share, sizes)
        return Interleaving(relevant.astype(np.int64), gain, discount, twice, perfect)

    @abstractmethod
    def earnings(self, known: Known) -> Earnings:
        """Return ``gains``, ``discount`` and ``perfect`` of `Interleaving`."""

    def margin(self, share: Float64Array, sizes: Float64Array) -> Float64Array:
        """Return the constant c of every query."""
        return share

    def kernel(self) -> Any:
        """The compiled chunk."""
        from directrix.surrogates._kernels.structural import interleave_chunk

        return interleave_chunk
