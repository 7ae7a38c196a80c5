"""What all surrogates backed by a compiled kernel share: preparation, chunks, threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from directrix.data.validate import check_ranking
from directrix.errors import InputError
from directrix.measures.terms import query_sums
from directrix.threads import query_chunks, run_chunks
from directrix.types import Float64Array, FloatArray, Int64Array

__all__ = [
    "DOCS_PER_CHUNK",
    "KernelSurrogate",
    "refuse_doc_weight",
    "spread_curvature",
    "writable",
]

DOCS_PER_CHUNK = 4096
"""Enough work to hide the cost of calling a kernel, little enough to share among threads."""


class KernelSurrogate(ABC):
    """A surrogate whose value and gradient a Numba kernel fills for a chunk of queries.

    A subclass says what depends on the labels alone (`prepare`) and how to fill a chunk
    (`fill`). Objectives call `prepare` once per data set and `fill` on every chunk, next to the
    chunk's features; `value_and_grad` puts the two together for everyone else.
    """

    entries: ClassVar[tuple[str, ...] | None] = None
    """What each array of `prepare` has entries for: each "document", each "query", or the "data" as a whole.

    Mini-batches take those of their queries. None: `prepare` is called for one query after another.
    """

    @property
    @abstractmethod
    def traits(self) -> frozenset[str]:
        """What is true of the surrogate; `directrix.laws.check_surrogate` tests it."""

    @abstractmethod
    def prepare(self, labels: Float64Array, qptr: Int64Array, doc_weight: Float64Array | None = None) -> Any:
        """Everything that depends on labels and document weights alone.

        Not on the smoothing: annealing uses it for all smoothings.

        Parameters
        ----------
        labels : float64 (n_docs,)
        qptr : int64 (n_queries + 1,)
        doc_weight : float64 (n_docs,), or None
            Factors >= 0 on what each document earns.
        """

    @abstractmethod
    def fill(
        self,
        scores: FloatArray,
        prepared: Any,
        qptr: Int64Array,
        chunk: tuple[int, int],
        out: tuple[Float64Array, FloatArray],
    ) -> None:
        """Fill value and gradient of the queries ``chunk[0] <= q < chunk[1]`` in ``out``."""

    @property
    def steepness(self) -> float:
        """How steep the surrogate is, in 1 / units of score: steps of 1/steepness change what it sees."""
        return 1.0

    def curvature(
        self, scores: FloatArray, prepared: Any, qptr: Int64Array, grad: FloatArray
    ) -> Float64Array:
        """Positive diagonal that makes minus gradient over curvature a sensible step; see `spread_curvature`.

        Boosting fits trees with it. A surrogate whose second derivatives have a positive part that is
        cheap, such as sums of delta p (1 - p) over pairs, gives that instead.

        Parameters
        ----------
        scores : float (n_docs,)
        prepared
            What `prepare` returned.
        qptr : int64 (n_queries + 1,)
        grad : float (n_docs,)
            As `fill` left it for these scores.

        Returns
        -------
        float64 (n_docs,)
            >= 0, in 1 / units of score squared.
        """
        return spread_curvature(grad, qptr, self.steepness)

    def value_and_grad(
        self, scores: FloatArray, labels: Float64Array, qptr: Int64Array
    ) -> tuple[Float64Array, FloatArray]:
        """Value of every query and its gradient with respect to the scores.

        Parameters
        ----------
        scores : float32 or float64 (n_docs,)
            Any finite numbers; higher is ranked first.
        labels : float64 (n_docs,)
            Grades >= 0.
        qptr : int64 (n_queries + 1,)
            Query ``q`` owns the documents ``qptr[q] <= i < qptr[q + 1]``.

        Returns
        -------
        value : float64 (n_queries,)
        grad : float (n_docs,)
            Of the dtype of the scores, in 1 / units of score.

        Raises
        ------
        InputError
            If the arrays do not fit together, or hold NaN or infinities.
        """
        scores, labels, qptr = check_ranking(scores, labels, qptr)
        scores, qptr = writable(scores), writable(qptr)
        prepared = self.prepare(labels, qptr)
        bounds = query_chunks(qptr, DOCS_PER_CHUNK)
        out = np.zeros(len(qptr) - 1), np.zeros_like(scores)
        run_chunks(
            lambda c: self.fill(scores, prepared, qptr, (int(bounds[c]), int(bounds[c + 1])), out),
            len(bounds) - 1,
        )
        return out


def writable(array: Any) -> Any:
    """Return the array, or a copy if it is read-only.

    Numba compiles a kernel once more for read-only arguments; this keeps it to one version.
    """
    return np.require(array, requirements=["C", "W"])


def refuse_doc_weight(surrogate: Any, doc_weight: Float64Array | None) -> None:
    """Raise `InputError` if there are document weights, for a surrogate that gives them no meaning."""
    if doc_weight is not None:
        raise InputError(
            f"{surrogate!r} takes no document weights; weigh whole queries instead: query_weight=."
        )


def spread_curvature(grad: FloatArray, qptr: Int64Array, steepness: float) -> Float64Array:
    r"""Steepness times the mean magnitude of the gradient in each query, the same for all its documents.

    .. math:: h_i = \frac{\gamma}{n_q} \sum_{k \in q} \lvert g_k \rvert

    It bounds the curvature in order of magnitude (a sigmoid of steepness gamma has
    :math:`|\sigma''| \le \gamma \sigma'`), is positive wherever something is to be gained, and makes steps of
    the order 1/gamma: training does not depend on the unit of score.

    Steps do not become shorter as the gradient does: a loss with its minimum at finite scores, such as
    squares, needs a curvature of its own.

    Parameters
    ----------
    grad : float (n_docs,)
    qptr : int64 (n_queries + 1,)
    steepness : float > 0
        gamma, in 1 / units of score.

    Returns
    -------
    float64 (n_docs,)
    """
    sizes = np.diff(qptr)
    total = query_sums(np.abs(grad, dtype=np.float64), qptr)
    return np.repeat(steepness * total / np.maximum(sizes, 1), sizes)
